"""The models of `s2s recipe figures`, and the figures that need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import changed_config

_ADDITIVE = {
    "model.kind": "rnn",
    "model.attention": "additive",
    "model.wiring": "bahdanau",
    "model.attention_span": "global",
}
_TRANSFORMER = {"model.kind": "transformer"}


@dataclass(frozen=True)
class PaperFigure:
    """A figure or a table of a paper.

    Attributes:
        title: what it shows, and its number in the paper.
        models: the config values of each model, by the model's name.
    """

    title: str
    models: dict[str, dict[str, Any]]


def _luong(score: str, span: str = "global") -> dict[str, Any]:
    return {
        "model.kind": "rnn",
        "model.attention": score,
        "model.wiring": "luong",
        "model.attention_span": span,
    }


FIGURES = {
    "lengths": PaperFigure(
        "BLEU by source length, with and without attention (Bahdanau et al. 2015, figure 2)",
        {
            "no-attention": {**_ADDITIVE, "model.attention": "none"},
            "additive": _ADDITIVE,
        },
    ),
    "alignments": PaperFigure(
        "Attention in four sentences (Bahdanau et al. 2015, figure 3)", {"additive": _ADDITIVE}
    ),
    "scores": PaperFigure(
        "Attention scores, spans and wirings (Luong et al. 2015, table 4)",
        {
            "global-location": _luong("location"),
            "global-dot": _luong("dot"),
            "global-general": _luong("general"),
            "local-m-general": _luong("general", "local_m"),
            "local-p-dot": _luong("dot", "local_p"),
            "local-p-general": _luong("general", "local_p"),
            "additive": _ADDITIVE,
            "additive-luong": {**_ADDITIVE, "model.wiring": "luong"},
        },
    ),
    "heads": PaperFigure(
        "Variations of a Transformer (Vaswani et al. 2017, table 3)",
        {
            "transformer": _TRANSFORMER,
            "1-head": {**_TRANSFORMER, "model.heads": 1},
            "2-heads": {**_TRANSFORMER, "model.heads": 2},
            "8-heads": {**_TRANSFORMER, "model.heads": 8},
            "16-heads": {**_TRANSFORMER, "model.heads": 16},
            "16-units-per-head": {**_TRANSFORMER, "model.head_units": 16},
            "32-units-per-head": {**_TRANSFORMER, "model.head_units": 32},
            "no-dropout": {**_TRANSFORMER, "model.dropout": 0.0, "model.attention_dropout": 0.0},
            "dropout-0.2": {**_TRANSFORMER, "model.dropout": 0.2},
            "no-smoothing": {**_TRANSFORMER, "training.label_smoothing": 0.0},
            "learned-positions": {**_TRANSFORMER, "model.positions": "learned"},
        },
    ),
}
"""The figures, by the values of --figure."""


def configs_of(names: Sequence[str], base: Config, seeds: int) -> dict[str, Config]:
    """Return the config of each run that the figures need, by the run's name.

    Args:
        names: of the figures.
        base: the config that all models have in common.
        seeds: number of runs of each model.

    Raises:
        UsageError: if the base config contradicts a model.
    """
    models = {name: values for each in names for name, values in FIGURES[each].models.items()}
    return {
        run_name(name, seed): changed_config(
            base, {**values, "training.seed": base.training.seed + seed}, f"model {name}"
        )
        for seed in range(seeds)
        for name, values in models.items()
    }


def run_name(model: str, seed: int) -> str:
    """Return the name of a run; seeds count from 0."""
    return f"{model}-{seed}"
