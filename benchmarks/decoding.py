r"""Decoding speed of a run, of CTranslate2 with the same weights, and of Joey NMT, in turns.

    pip install ctranslate2
    python benchmarks/decoding.py --run quality/s2s-transformer --batch 256 \
        --joey joey/bin/python --joey-model quality/joey-transformer

CTranslate2 takes a Transformer with a joint vocabulary, as `s2s export` writes it. It and s2s
translate ids to ids, so no time is spent in a tokenizer. Both translate the run's test
split in batches of similar length. s2s computes as many batches in parallel as there are cores.
CTranslate2 is measured with that and with one batch at a time. Joey NMT translates the same
sentences in the same order with its own model of similar architecture, size and training, from
quality.py. Its time is the one that it logs for its search. Beam search has no length penalty.
CTranslate2 and Joey NMT compute in float32, and do not exclude PAD and BOS.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from peers import Joey, describe

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.splits import group_references
from seq2seq_cli.decoding.encoding import padded, token_ids
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.export.ctranslate2_weights import convert
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.runs.naming import run_path
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.devices import use_device
from seq2seq_cli.runtime.machine import cores
from seq2seq_cli.runtime.parallel import in_parallel, parts_at_once, share_threads
from seq2seq_cli.special_tokens import PAD

Batch = list[np.ndarray]  # the ids of each sentence
Program = Callable[[], tuple[list[list[int]], float]]  # the translations' ids and the seconds


def s2s(model: Seq2Seq, config: DecodingConfig, batches: list[Batch]) -> Program:
    """Return the search of s2s."""
    search = Search(model, config)

    def one(batch: Batch) -> list[list[int]]:
        maximum = np.array([2 * len(row) + 10 for row in batch], np.int32)
        ids = search(padded(batch), maximum).ids_BNT.numpy()[:, 0]
        return [[i for i in row if i != PAD] for row in ids.tolist()]

    def translate() -> tuple[list[list[int]], float]:
        began = time.perf_counter()
        found = list(itertools.chain(*in_parallel(one, batches)))
        return found, time.perf_counter() - began

    return translate


def ctranslate(
    model: Transformer, vocabulary: int, beam: int, batches: list[Batch], at_once: int
) -> Program:
    """Return CTranslate2's search with the same float32 weights, `at_once` batches at a time."""
    import ctranslate2

    tokens = ["<pad>", "<unk>", "<s>", "</s>", *(str(i) for i in range(4, vocabulary))]
    with tempfile.TemporaryDirectory() as folder:
        convert(model, (tokens, tokens), Path(folder))
        translator = ctranslate2.Translator(
            folder,
            device="cpu",
            compute_type="float32",
            inter_threads=at_once,
            intra_threads=cores() // at_once,
        )
    ids_of = {token: i for i, token in enumerate(tokens)}

    def one(batch: Batch) -> list[list[int]]:
        results = translator.translate_batch(
            [[tokens[i] for i in row] for row in batch],
            beam_size=beam,
            length_penalty=0,
            min_decoding_length=0,
            max_decoding_length=max(2 * len(row) + 10 for row in batch),
            return_end_token=True,
        )
        return [[ids_of[t] for t in result.hypotheses[0]] for result in results]

    def translate() -> tuple[list[list[int]], float]:
        began = time.perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            found = list(itertools.chain(*pool.map(one, batches)))
        return found, time.perf_counter() - began

    return translate


def joey(python: str, folder: Path, beam: int, batch: int, sentences: list[str]) -> Program:
    """Return Joey NMT's search with its own model; its time excludes loading.

    It translates the sentences in this order, and scores them, for which any file will do.
    """
    model = Joey.load(python, folder)
    split = folder / "by-length"
    for language in ("en", "es"):
        lines = "".join(f"{sentence}\n" for sentence in sentences)
        split.with_name(f"{split.name}.{language}").write_text(lines, "utf-8")

    def translate() -> tuple[list[list[int]], float]:
        translations, seconds = model.translate(split, beam, batch)
        return [[] for _ in translations], seconds

    return translate


def main() -> None:
    """Print a row for each beam and program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", required=True)
    parser.add_argument("--joey", help="the Python of a virtual environment with Joey NMT")
    parser.add_argument("--joey-model", type=Path, help="the folder of its model, by quality.py")
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64, help="sentences")
    options = parser.parse_args()
    if options.joey and not options.joey_model:
        parser.error("--joey needs --joey-model")
    use_device("cpu")
    share_threads(parts_at_once())
    run = Run(run_path(options.run))
    loaded = load_run(run, print)
    sentences, _ = group_references(read_corpus(run.config().data).test)
    ids = token_ids(loaded.tokenizers.source, sentences)
    longest_first = sorted(range(len(ids)), key=lambda k: len(ids[k]), reverse=True)
    rows = [ids[k] for k in longest_first]
    batches = [rows[i : i + options.batch] for i in range(0, len(rows), options.batch)]
    transformer = isinstance(loaded.model, Transformer)
    programs: dict[tuple[int, str], Program] = {}
    for beam in options.beam:
        for precision in ("float32", "bfloat16") if transformer else ("float32",):
            config = DecodingConfig(beam=beam, length_penalty=0.0, precision=precision)
            programs[beam, f"s2s, {precision}"] = s2s(loaded.model, config, batches)
        if transformer:
            size = loaded.tokenizers.target.vocabulary_size
            for at_once in sorted({1, parts_at_once()}):
                program = ctranslate(loaded.model, size, beam, batches, at_once)
                programs[beam, f"CTranslate2, {at_once} at once"] = program
        if options.joey:
            ordered = [sentences[k] for k in longest_first]
            given = (options.joey, options.joey_model, beam, options.batch, ordered)
            programs[beam, "Joey NMT"] = joey(*given)
    first = {key: program()[0] for key, program in programs.items()}  # warms up
    rates: dict[tuple[int, str], list[float]] = {key: [] for key in programs}
    for _ in range(options.trials):
        for key, program in programs.items():
            found, seconds = program()
            rates[key].append(len(found) / seconds)
    print("| beam | program | sentences/s | spread | same as s2s |\n|---|---|---|---|---|")
    for (beam, name), each in rates.items():
        pairs = zip(first[beam, name], first[beam, "s2s, float32"], strict=True)
        same = "" if name == "Joey NMT" else f"{np.mean([a == b for a, b in pairs]):.1%}"
        spread = f"{min(each):.0f} to {max(each):.0f}"
        print(f"| {beam} | {name} | {statistics.median(each):.0f} | {spread} | {same} |")
    print(f"\n{describe(options.joey, *(['ctranslate2'] if transformer else []))}")


if __name__ == "__main__":
    main()
