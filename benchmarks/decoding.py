"""A run's translation against CTranslate2 with the very same weights, side by side.

    pip install ctranslate2
    python benchmarks/decoding.py --run runs/001-transformer --beam 1 5 --trials 3

The run is a Transformer with ReLU, pre-norm, sinusoidal positions and joint embeddings. Both read
ids, translate the run's test split in batches of like length, and give ids; so no time is that of a
tokenizer. Trials alternate. Beam search has no length penalty. CTranslate2 computes in float32 (or
int8 with --compute-type int8), and does not forbid the tokens that no translation has.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec

from seq2seq_cli.config import DecodingConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.splits import group_references
from seq2seq_cli.decoding import Search
from seq2seq_cli.models.blocks import EPSILON
from seq2seq_cli.models.embeddings import Positions
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.run import Run, run_path
from seq2seq_cli.sentences import padded, token_ids
from seq2seq_cli.special_tokens import PAD
from seq2seq_cli.translator import load_run


def convert(model: Transformer, vocabulary: int, folder: Path) -> list[str]:
    """Write the model for CTranslate2; return the names of its tokens."""
    heads = model.decoder[0].self_attention.heads
    spec = TransformerSpec.from_config(
        (len(model.encoder), len(model.decoder)),
        heads,
        pre_norm=True,
        activation=common_spec.Activation.RELU,
    )

    def dense(to, layer, *names):
        kernels = [getattr(layer, f"{name}_kernel").numpy().T for name in names]
        to.weight = np.concatenate(kernels).copy()
        to.bias = np.concatenate([getattr(layer, f"{name}_bias").numpy() for name in names])

    def norm(to, layer):
        to.gamma, to.beta = layer.gamma.numpy(), layer.beta.numpy()

    def attention(to, layer, residual, *projections):
        norm(to.layer_norm, residual.norm)
        for linear, names in zip(to.linear, projections, strict=True):
            dense(linear, layer, *names)

    table, bias = model.embeddings.target_table.numpy(), model.embeddings.output_bias.numpy()
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight, spec.decoder.projection.bias = table, bias
    positions = Positions("sinusoidal", table.shape[1], 0)(np.arange(1024)).numpy()
    for side, blocks, last in (
        (spec.encoder, model.encoder, model.encoder_norm),
        (spec.decoder, model.decoder, model.decoder_norm),
    ):
        side.scale_embeddings = True
        side.position_encodings.encodings = positions
        norm(side.layer_norm, last)
        for to, block in zip(side.layer, blocks, strict=True):
            all_of_self = (("query", "key", "value"), ("output",))
            attention(to.self_attention, block.self_attention, block.self_residual, *all_of_self)
            if block in model.decoder:
                all_of_cross = (("query",), ("key", "value"), ("output",))
                attention(to.attention, block.cross_attention, block.cross_residual, *all_of_cross)
            norm(to.ffn.layer_norm, block.feed_forward_residual.norm)
            dense(to.ffn.linear_0, block.feed_forward, "inner")
            dense(to.ffn.linear_1, block.feed_forward, "output")
    tokens = ["<blank>", "<unk>", "<s>", "</s>", *(str(i) for i in range(4, vocabulary))]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.layer_norm_epsilon = EPSILON
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = False
    spec.validate()
    spec.optimize(quantization=None)
    spec.save(str(folder))
    return tokens


def main() -> None:
    """Print a row for each beam and program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--batch", type=int, default=64, help="sentences")
    parser.add_argument("--compute-type", default="float32")
    parser.add_argument("--precision", default="float32", help="of s2s: float32 or bfloat16")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    run = Run(run_path(options.run))
    loaded = load_run(run, print)
    corpus = read_corpus(run.config().data)
    sentences, _ = group_references(corpus.test)
    rows = sorted(token_ids(loaded.tokenizers.source, sentences[: options.sentences]), key=len)
    batches = [rows[i : i + options.batch] for i in range(0, len(rows), options.batch)]
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = loaded.tokenizers.target.vocabulary_size
        tokens = convert(loaded.model, vocabulary, Path(folder))
        threads = len(os.sched_getaffinity(0))
        peer = ctranslate2.Translator(
            folder,
            device="cpu",
            compute_type=options.compute_type,
            inter_threads=1,
            intra_threads=threads,
        )
    ids_of = {token: i for i, token in enumerate(tokens)}

    for beam in options.beam:
        config = DecodingConfig(beam=beam, length_penalty=0.0, precision=options.precision)
        search = Search(loaded.model, config)

        def ours(search=search) -> list[list[int]]:
            found = []
            for batch in batches:
                maximum = np.array([2 * len(row) + 10 for row in batch], np.int32)
                ids = search(padded(batch), maximum).ids_BNT.numpy()[:, 0]
                found += [[i for i in row if i != PAD] for row in ids.tolist()]
            return found

        def theirs(beam=beam) -> list[list[int]]:
            found = []
            for batch in batches:
                results = peer.translate_batch(
                    [[tokens[i] for i in row] for row in batch],
                    beam_size=beam,
                    length_penalty=0,
                    min_decoding_length=0,
                    max_decoding_length=max(2 * len(row) + 10 for row in batch),
                    return_end_token=True,
                )
                found += [[ids_of[t] for t in result.hypotheses[0]] for result in results]
            return found

        programs = {"s2s": ours, "CTranslate2": theirs}
        seconds = {name: [] for name in programs}
        found = {name: program() for name, program in programs.items()}  # warms up
        for _ in range(options.trials):
            for name, program in programs.items():
                began = time.perf_counter()
                program()
                seconds[name].append(time.perf_counter() - began)
        same = np.mean([a == b for a, b in zip(*found.values(), strict=True)])
        for name in programs:
            median = statistics.median(seconds[name])
            row = {
                "beam": beam,
                "program": name,
                "seconds": round(median, 3),
                "fastest": round(min(seconds[name]), 3),
                "slowest": round(max(seconds[name]), 3),
                "sentences_per_second": round(len(rows) / median, 1),
                "tokens_per_second": round(sum(map(len, found[name])) / median),
                "same_translations": round(float(same), 4),
            }
            print(json.dumps(row) if options.json else row, flush=True)


if __name__ == "__main__":
    main()
