"""Models of different kinds with the same number of weights."""

import math
from collections.abc import Callable

from seq2seq_cli.config import Config
from seq2seq_cli.config.model import MOST_UNITS, ModelConfig, RNNConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models import count_weights
from seq2seq_cli.training.setup import read_and_learn

TOLERANCE = 0.03
"""The maximum deviation from the wanted number of weights, as a share of that number."""


def with_equal_parameters(configs: dict[str, Config]) -> dict[str, Config]:
    """Change the widths of each model until it has as many weights as the first.

    Args:
        configs: by name; all have the data and the tokenizer of the first.

    Raises:
        DataError: if the corpus cannot be used.
        UsageError: if a model cannot have that number of weights.
    """
    first = next(iter(configs.values()))
    _, tokenizers = read_and_learn(first)

    def count(model: ModelConfig) -> int:
        return count_weights(model, tokenizers.vocabularies)

    wanted = count(first.model)
    return {
        name: config.model_copy(update={"model": fit_parameters(config.model, wanted, count)})
        for name, config in configs.items()
    }


def fit_parameters(
    model: ModelConfig, wanted: int, count: Callable[[ModelConfig], int]
) -> ModelConfig:
    """Return the model with widths at which it has about `wanted` weights.

    Args:
        model: keeps its kind, layers and heads.
        wanted: number of weights.
        count: returns the number of weights of a model.

    Raises:
        UsageError: if no widths come within 3 % of that.
    """
    best = _nearest(model, _scaled, wanted, count)
    if not isinstance(best, RNNConfig):  # its units are multiples of its heads
        best = _nearest(best, _scaled_inside, wanted, count)
    if abs(count(best) / wanted - 1) > TOLERANCE:
        raise UsageError(
            f"{model.label} cannot have {wanted:,} parameters within "
            f"{TOLERANCE:.0%}: the nearest is {count(best):,}"
        )
    return best


def _nearest(
    model: ModelConfig,
    scale: Callable[[ModelConfig, float], ModelConfig],
    wanted: int,
    count: Callable[[ModelConfig], int],
) -> ModelConfig:
    """Return the scaled model whose number of weights is nearest to `wanted`, by bisection."""
    low, high = 0.1, 10.0
    best, distance = model, abs(count(model) - wanted)
    for _ in range(16):
        factor = math.sqrt(low * high)
        tried = scale(model, factor)
        found = count(tried)
        if abs(found - wanted) <= distance:
            best, distance = tried, abs(found - wanted)
        low, high = (factor, high) if found < wanted else (low, factor)
    return best


def _scaled(model: ModelConfig, factor: float) -> ModelConfig:
    """Return the model with all its widths multiplied by about `factor`."""
    if isinstance(model, RNNConfig):
        encoder = _width(model.encoder_units * factor)
        widths = {
            "embedding_units": _width(model.embedding_units * factor),
            "encoder_units": encoder,
            "decoder_units": _width(
                encoder * model.decoder_units // model.encoder_units, 2 * MOST_UNITS
            ),
            "attention_units": _width(model.attention_units * factor),
        }
    else:
        widths = {
            "units": _width(model.units * factor, multiple_of=2 * model.heads),
            "inner_units": _width(model.inner_units * factor, 4 * MOST_UNITS),
        }
    return type(model)(**{**model.model_dump(), **widths})


def _width(wanted: float, most: int = MOST_UNITS, multiple_of: int = 1) -> int:
    """Return the multiple that is nearest to `wanted`, at most `most` and not 0."""
    return multiple_of * min(max(1, round(wanted / multiple_of)), most // multiple_of)


def _scaled_inside(model: ModelConfig, factor: float) -> ModelConfig:
    """Return a Transformer with the width of its feed-forward networks multiplied by `factor`."""
    values = model.model_dump()
    return type(model)(
        **{**values, "inner_units": _width(values["inner_units"] * factor, 4 * MOST_UNITS)}
    )
