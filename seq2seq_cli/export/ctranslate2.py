"""Transformers for CTranslate2 (github.com/OpenNMT/CTranslate2), an engine in C++."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np

from seq2seq_cli.data.lines import canonical
from seq2seq_cli.data.tokenizers.pair import Tokenizer, Tokenizers
from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.errors import UsageError
from seq2seq_cli.export.program import Program, comparable
from seq2seq_cli.models.layers.blocks import Block, Residual
from seq2seq_cli.models.layers.embeddings import Positions
from seq2seq_cli.models.layers.normalisation import Norm
from seq2seq_cli.models.ops.layer_norm import EPSILON
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.special_tokens import BOS, EOS, PAD, UNK

PROMISED = {"float32": 0.995, "int16": 0.9, "bfloat16": 0.9, "int8": 0.9}
"""The smallest share of equal translations, by quantization."""

_MOST_POSITIONS = 4096  # rows of a learned table, whose last row counts for all later positions
_KNOWN: dict[str, tuple] = {  # values of these keys of [model]; any of the others
    "normalisation": ("layer",),
    "positions": ("sinusoidal", "learned"),
    "key_value_heads": (None,),
    "parallel_blocks": (False,),
}
_PIECES = ("unigram", "bpe")
_SELF = (("query", "key", "value"), ("output",))
_CROSS = (("query",), ("key", "value"), ("output",))

USAGE = """`pip install ctranslate2 sentencepiece`, then in Python, in this folder:

```python
import unicodedata
import ctranslate2, sentencepiece
translator = ctranslate2.Translator(".")
source = sentencepiece.SentencePieceProcessor("source.spm")
target = sentencepiece.SentencePieceProcessor("target.spm")
sentences = ["A sentence."]
texts = [unicodedata.normalize("NFC", sentence.strip()) for sentence in sentences]
pieces = [[{leading}*source.encode(text, out_type=str), "</s>"] for text in texts]
found = translator.translate_batch(
    pieces, beam_size=5, min_decoding_length=0, suppress_sequences={suppressed}
)
print([" ".join(target.decode(each.hypotheses[0]).split()) for each in found])
```

The weights are {quantization}. CTranslate2 divides the score of a translation by its length, unless
`length_penalty=0` is given."""


def import_ctranslate2() -> ModuleType:
    """Return the package.

    Raises:
        UsageError: if it is not installed.
    """
    try:
        import ctranslate2
    except ImportError as error:
        raise UsageError(
            "the export to CTranslate2 needs the package ctranslate2. Install it: "
            "pip install 's2s[ctranslate2]'"
        ) from error
    return ctranslate2


def check_model(model: Seq2Seq, tokenizers: Tokenizers) -> Transformer:
    """Return the model if CTranslate2 has layers for it.

    Raises:
        UsageError: if it has not, or if the tokenizer works in s2s alone.
    """
    remedy = "Take another --to: bundle keeps every model"
    if not isinstance(model, Transformer):
        raise UsageError(
            "--to ctranslate2: CTranslate2 has Transformers with an encoder and a decoder, and no "
            f"layers for a model of this kind ({model.name}). {remedy}"
        )
    for key, known in _KNOWN.items():
        value = getattr(model.config, key)
        if value not in known:
            raise UsageError(
                f"--to ctranslate2: does not write models with model.{key} = {value!r}, only with "
                f"{' or '.join(map(repr, known))}. {remedy}"
            )
    kind = tokenizers.source.kind
    if kind not in _PIECES:
        raise UsageError(
            "--to ctranslate2: translates pieces of SentencePiece, and tokenizer.kind is "
            f"{kind!r}. {remedy}"
        )
    return model


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """Return the piece of each id.

    Raises:
        UsageError: if two ids have the same one.
    """
    pieces = tokenizer.pieces(range(tokenizer.vocabulary_size))
    if len(set(pieces)) < len(pieces):
        twice = next(piece for piece in pieces if pieces.count(piece) > 1)
        raise UsageError(
            f"--to ctranslate2: the vocabulary has two ids for {twice!r}, and CTranslate2 knows "
            "ids by their pieces. Take another --to"
        )
    return pieces


def convert(
    model: Transformer,
    pieces: tuple[Sequence[str], Sequence[str]],
    folder: Path,
    quantization: str = "float32",
) -> None:
    """Write a model's weights, vocabularies and config.

    Args:
        model: the Transformer.
        pieces: the pieces of the source vocabulary and of the target vocabulary.
        folder: an existing folder.
        quantization: a key of PROMISED.
    """
    from ctranslate2.specs import TransformerSpec, common_spec

    first = model.decoder[0]
    activation = {
        "relu": common_spec.Activation.RELU,
        "gelu": common_spec.Activation.GELU,
        "swiglu": common_spec.Activation.SWISH,
    }[first.feed_forward.activation]
    spec = TransformerSpec.from_config(
        (len(model.encoder), len(model.decoder)),
        first.self_attention.heads,
        pre_norm=model.decoder_norm is not None,
        activation=activation,
        ffn_glu=first.feed_forward.activation == "swiglu",
    )
    tables = model.embeddings
    # A quantization changes arrays in place, so that none may be shared.
    spec.encoder.embeddings[0].weight = tables.source_table.numpy().copy()
    spec.decoder.embeddings.weight = tables.target_table.numpy().copy()
    spec.decoder.projection.weight = tables.output_table.numpy().copy()
    spec.decoder.projection.bias = tables.output_bias.numpy().copy()
    _set_stack(spec.encoder, model.encoder, model.encoder_norm, model.source_positions)
    _set_stack(spec.decoder, model.decoder, model.decoder_norm, model.target_positions)
    source, target = pieces
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    config = spec.config
    config.layer_norm_epsilon = EPSILON
    config.unk_token, config.bos_token, config.eos_token = (target[i] for i in (UNK, BOS, EOS))
    config.decoder_start_token = target[BOS]
    config.add_source_eos = False
    spec.validate()
    if quantization == "bfloat16":
        _round_to_bfloat16(spec)
    spec.optimize(quantization=None if quantization in ("float32", "bfloat16") else quantization)
    spec.save(str(folder))


def _set_stack(side: Any, blocks: Sequence[Block], last: Norm | None, at: Positions) -> None:
    """Set the weights of an encoder or a decoder but for the embeddings."""
    side.scale_embeddings = True
    if at.table is not None:  # CTranslate2 computes the sinusoidal ones by the same formula
        rows = np.arange(max(_MOST_POSITIONS, at.table.shape[0]))
        side.position_encodings.encodings = at(rows).numpy()
    if last is not None:
        _set_norm(side.layer_norm, last)
    for to, block in zip(side.layer, blocks, strict=True):
        _set_attention(to.self_attention, block.self_attention, block.self_residual, _SELF)
        if block.has_cross:
            _set_attention(to.attention, block.cross_attention, block.cross_residual, _CROSS)
        _set_norm(to.ffn.layer_norm, block.feed_forward_residual.norm)
        swiglu = block.feed_forward.activation == "swiglu"
        _set_dense(to.ffn.linear_0, block.feed_forward, "inner")
        if swiglu:
            _set_dense(to.ffn.linear_0_noact, block.feed_forward, "gate")
        _set_dense(to.ffn.linear_1, block.feed_forward, "output")


def _set_attention(
    to: Any, layer: keras.layers.Layer, residual: Residual, projections: Sequence[Sequence[str]]
) -> None:
    _set_norm(to.layer_norm, residual.norm)
    for linear, names in zip(to.linear, projections, strict=True):
        _set_dense(linear, layer, *names)


def _set_dense(to: Any, layer: keras.layers.Layer, *names: str) -> None:
    """Set a linear layer to the maps of these names, side by side. Its weights are [out, in]."""
    kernels = [getattr(layer, f"{name}_kernel").numpy().T for name in names]
    to.weight = np.concatenate(kernels).copy()
    to.bias = np.concatenate([getattr(layer, f"{name}_bias").numpy() for name in names])


def _set_norm(to: Any, layer: Norm) -> None:
    to.gamma, to.beta = layer.gamma.numpy(), layer.beta.numpy()


def _round_to_bfloat16(spec: Any) -> None:
    """Round all weights, which CTranslate2 itself does by PyTorch alone."""
    import ml_dtypes

    for _, variable in spec.variables(ordered=True):
        if not isinstance(variable, str) and variable.dtype == "float32" and variable.shape:
            variable.array = variable.array.astype(ml_dtypes.bfloat16)


def write_ctranslate2(loaded: LoadedRun, quantization: str, folder: Path) -> None:
    """Write a model for CTranslate2, with the SentencePiece models, into an existing folder.

    Raises:
        UsageError: if it cannot be written; see check_model.
    """
    model = check_model(loaded.model, loaded.tokenizers)
    source, target = loaded.tokenizers.source, loaded.tokenizers.target
    convert(model, (vocabulary(source), vocabulary(target)), folder, quantization)
    (folder / "source.spm").write_bytes(source.serialise())
    (folder / "target.spm").write_bytes(target.serialise())


def usage(tokenizers: Tokenizers, quantization: str) -> str:
    """Return how to use the export, in Markdown."""
    return USAGE.format(
        leading="".join(f'"{piece}", ' for piece in leading(tokenizers.source)),
        suppressed=suppressed(tokenizers.target),
        quantization=quantization,
    )


def leading(source: Tokenizer) -> list[str]:
    """Return the pieces that every source begins with."""
    return source.pieces(source.leading)


def suppressed(target: Tokenizer) -> list[list[str]]:
    """Return the pieces that no translation has, each as a sequence."""
    tags = range(target.text_size, target.vocabulary_size)
    return [[piece] for piece in target.pieces([PAD, BOS, *tags])]


def ctranslate2_program(folder: Path, tokenizers: Tokenizers) -> Program:
    """Return CTranslate2's search, with the SentencePiece models in the folder."""
    import sentencepiece

    translator = import_ctranslate2().Translator(str(folder), device="cpu")
    source, target = (
        sentencepiece.SentencePieceProcessor(str(folder / f"{side}.spm"))
        for side in ("source", "target")
    )
    before, excluded = leading(tokenizers.source), suppressed(tokenizers.target)

    def translate(sentences: Sequence[str], beam: int) -> list[str]:
        texts = [canonical(sentence) for sentence in sentences]
        pieces = [[*before, *source.encode(text, out_type=str), "</s>"] for text in texts]
        found = [""] * len(pieces)
        for length, chosen in _by_length(pieces).items():
            config = comparable(beam)
            results = translator.translate_batch(
                [pieces[i] for i in chosen],
                beam_size=beam,
                length_penalty=0,
                min_decoding_length=0,
                max_decoding_length=int(length * config.max_length_ratio) + config.max_length_extra,
                suppress_sequences=excluded,
            )
            for i, result in zip(chosen, results, strict=True):
                found[i] = " ".join(target.decode(result.hypotheses[0]).split())
        return found

    return translate


def _by_length(pieces: Sequence[Sequence[str]]) -> dict[int, list[int]]:
    """Return the indices of sentences by the number of their pieces."""
    found: dict[int, list[int]] = {}
    for i, each in enumerate(pieces):
        found.setdefault(len(each), []).append(i)
    return found
