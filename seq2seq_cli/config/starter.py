"""A config to start from, with comments; the corpus determines its sizes and schedule.

The numbers are rules of thumb. A larger corpus gets a larger vocabulary and model, fewer epochs and
less dropout.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import tomli_w

from seq2seq_cli.config.model import DOT_PRODUCTS, ModelConfig, RNNConfig


class Size(NamedTuple):
    """Values that suit corpora of up to `pairs` training pairs.

    Attributes:
        layers: of a Transformer's encoder, and of its decoder.
        validate_every: updates between validations; None for an epoch.
    """

    pairs: float
    vocabulary: int
    units: int
    layers: int
    dropout: float
    epochs: int
    batch_tokens: int
    validate_every: int | None = None


SIZES = (
    Size(10_000, 1_000, 128, 2, 0.3, 30, 512),
    Size(50_000, 3_000, 256, 2, 0.2, 12, 1024),
    Size(300_000, 8_000, 256, 3, 0.2, 10, 2048),
    Size(2_000_000, 16_000, 512, 4, 0.1, 4, 4096, 2000),
    Size(math.inf, 32_000, 512, 6, 0.1, 2, 8192, 5000),
)

_HEAD_UNITS = 64  # of an attention head
_TOKENS_PER_WORD = 1.5
# The speed of training on two cores, validations included; docs/speed.md has more exact figures.
_OPERATIONS_PER_SECOND = 200e9
_START_SECONDS = 60.0  # reading, the vocabulary and compilation

_COMMENTS = {
    "data": "The sentence pairs. Dev and test are split off, unless `dev` and `test` name files.",
    "tokenizer": "How text becomes ids. The vocabulary is learned from the training pairs.",
    "tokenizer.vocabulary_size": "A larger corpus allows more: each id needs examples.",
    "model": "The architecture: rnn, transformer or decoder_only.",
    "model.attention": "additive, dot, general, concat, scaled_dot, location or none.",
    "model.dropout": "Use more for a small corpus, which a model otherwise memorises.",
    "training": "It ends after the epochs, or when dev BLEU stops rising (`patience`).",
    "training.epochs": "Alternatives: `steps` limits the updates, `budget_seconds` the time.",
    "training.batch_tokens": "Larger batches are faster, need more memory, and give fewer updates.",
    "training.peak_learning_rate": (
        "Larger batches allow a higher rate; wider models need a lower one."
    ),
    "training.max_source_tokens": "Pairs with a longer source or target are left out.",
    "training.validate_every_steps": "Epochs are long with this corpus, so validate more often.",
    "decoding": "The search for translations, also in validations.",
    "decoding.beam": "1 is greedy decoding, the fastest. `s2s translate --beam 5` is better.",
}


def starter_values(model: ModelConfig, pairs: int, words: int) -> dict[str, Any]:
    """Return the values of a config by dotted key.

    Args:
        model: the model, whose sizes do not count.
        pairs: of the training side.
        words: the number that one sentence in a hundred exceeds.
    """
    size = next(size for size in SIZES if pairs <= size.pairs)
    # Multiples of 16 fit the batch shapes.
    tokens = min(max(16 * math.ceil(_TOKENS_PER_WORD * (words + 1) / 16), 32), 256)
    values: dict[str, Any] = {
        "tokenizer.vocabulary_size": size.vocabulary,
        **_model_values(model, size),
        "model.dropout": size.dropout,
        "training.epochs": size.epochs,
        "training.batch_tokens": size.batch_tokens,
        "training.peak_learning_rate": 0.004 if isinstance(model, RNNConfig) else 0.002,
        "training.max_source_tokens": tokens,
        "training.max_target_tokens": tokens,
        "decoding.beam": 1,
    }
    if size.validate_every:
        values["training.validate_every_steps"] = size.validate_every
    return values


def _model_values(model: ModelConfig, size: Size) -> dict[str, Any]:
    if isinstance(model, RNNConfig):
        widths = ["embedding_units", "encoder_units", "decoder_units", "attention_units"]
        if model.attention in DOT_PRODUCTS:
            widths.remove("decoder_units")  # its default has the width that the score needs
        return {
            "model.kind": model.kind,
            "model.attention": "additive",
            **{f"model.{width}": size.units for width in widths},
        }
    stacks = {"layers": 2 * size.layers}
    if model.kind == "transformer":
        stacks = {"encoder_layers": size.layers, "decoder_layers": size.layers}
    return {
        "model.kind": model.kind,
        "model.units": size.units,
        "model.heads": size.units // _HEAD_UNITS,
        "model.inner_units": 4 * size.units,
        **{f"model.{key}": value for key, value in stacks.items()},
    }


def rough_seconds(values: Mapping[str, Any], pairs: int, words: float) -> float:
    """Return roughly how long training takes on two CPU cores, within a factor of three.

    An update takes three times the operations of the forward pass. The formulas count the products
    of the model's widths, and leave out small terms.

    Args:
        values: of a config, by dotted key.
        pairs: of the training side.
        words: of a sentence, on average.
    """
    tokens = _TOKENS_PER_WORD * (words + 1)
    if values["model.kind"] == "rnn":
        width = values["model.decoder_units"]
        # For a source token, and for a target token.
        products = 20 * values["model.encoder_units"] ** 2 + 11 * width**2
    else:
        width = values["model.units"]
        inner = 2 * width * values["model.inner_units"]
        if values["model.kind"] == "transformer":
            encoder = values["model.encoder_layers"] * (4 * width**2 + inner)
            products = encoder + values["model.decoder_layers"] * (8 * width**2 + inner)
        else:
            products = 2 * values["model.layers"] * (4 * width**2 + inner)
    products += width * values["tokenizer.vocabulary_size"]
    shown = pairs * values["training.epochs"]
    return _START_SECONDS + 3 * 2 * products * tokens * shown / _OPERATIONS_PER_SECOND


def in_words(seconds: float) -> str:
    """Return a rough time in a suitable unit, such as 20 minutes or 3 days."""
    for unit, size in (("day", 86_400), ("hour", 3600)):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.1g}'):.0f} {unit}s"
    minutes = max(2.0, seconds / 60)
    return f"{float(f'{minutes:.1g}'):.0f} minutes"


def to_commented_toml(values: Mapping[str, Any], heading: str) -> str:
    """Return values by dotted key as TOML, with a comment above tables and keys that need one.

    Args:
        values: of the config.
        heading: the comment at the beginning, in lines.
    """
    lines = [f"# {line}".rstrip() for line in heading.split("\n")]
    there = {key.partition(".")[0] for key in values}
    for table in (name for name in _COMMENTS if name in there):
        lines += ["", f"# {_COMMENTS[table]}", f"[{table}]"]
        # In TOML, an array of tables ends the table that contains it.
        for key, value in sorted(values.items(), key=lambda item: isinstance(item[1], list)):
            name = key.removeprefix(f"{table}.")
            if name != key:
                lines += [f"# {_COMMENTS[key]}"] if key in _COMMENTS else []
                lines.append(_assignment(table, name, value))
    return "\n".join(lines) + "\n"


def _assignment(table: str, name: str, value: Any) -> str:
    return tomli_w.dumps({table: {name: value}}).removeprefix(f"[{table}]\n").strip()
