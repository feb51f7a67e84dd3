"""`s2s ablate`: the same training with different models, and one table of what became of them."""

import dataclasses
import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import Overrides
from seq2seq_cli.config.model import MOST_UNITS, ModelConfig, RNNConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.pipeline import tokenizers_of
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.errors import UsageError
from seq2seq_cli.evaluation.test_split import evaluate
from seq2seq_cli.models import count_weights
from seq2seq_cli.runs.disk import disk_errors, write_durably
from seq2seq_cli.runs.run import Run, resumed_config
from seq2seq_cli.training.events import Notice
from seq2seq_cli.training.loop import Report, train

PARAMETERS_TOLERANCE = 0.03


@dataclass(frozen=True)
class Row:
    """What became of one variant.

    Attributes:
        name: of the variant and its run's folder.
        bleu, chrf: on the test split, greedy.
        dev_bleu: the best of the validations.
        pairs_per_second: median over the training's reports.
        parameters: number of trainable weights.
        steps, seconds: of training, validation included.
        bleu_signature, chrf_signature: sacreBLEU's.
    """

    name: str
    bleu: float
    chrf: float
    dev_bleu: float
    pairs_per_second: float
    parameters: int
    steps: int
    seconds: float
    bleu_signature: str
    chrf_signature: str


def ablate(
    configs: dict[str, Config],
    folder: Path,
    report: Report,
    equal_parameters: bool = False,
    device: str = "",
) -> list[Row]:
    """Train each variant that has not been trained yet, and score all on the test split.

    Done again with the same folder, it goes on where it was interrupted.

    Args:
        configs: of the variants, by name; they differ in `[model]` and what follows from it.
        folder: where the runs, results.json and results.md come.
        report: told of what a training tells.
        equal_parameters: give each variant as many weights as the first, by its widths.
        device: a description of it, for the trainings' summaries.

    Raises:
        UsageError: if the folder has runs of other configs.
    """
    if equal_parameters:
        report(Notice("Fitting the widths"))
        configs = _with_equal_parameters(configs)
    rows = []
    for number, (name, config) in enumerate(configs.items(), start=1):
        report(Notice(f"Variant {number} of {len(configs)}: {name}"))
        rows.append(_row(name, config, folder / name, report, device))
        _write(rows, folder)
    return rows


def to_markdown(rows: Sequence[Row]) -> str:
    """Return the table as Markdown, with signatures and versions."""
    lines = [
        "| model | BLEU | chrF | dev BLEU | pairs/s | parameters | steps | minutes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.bleu:.2f} | {row.chrf:.2f} | {row.dev_bleu:.2f} | "
        f"{row.pairs_per_second:,.0f} | {row.parameters:,} | {row.steps:,} | "
        f"{row.seconds / 60:.1f} |"
        for row in rows
    ]
    packages = ", ".join(f"{name} {version(name)}" for name in ("tensorflow", "keras", "s2s"))
    lines += ["", f"BLEU `{rows[0].bleu_signature}`, chrF `{rows[0].chrf_signature}`; {packages}."]
    return "\n".join(lines) + "\n"


def _row(name: str, config: Config, path: Path, report: Report, device: str) -> Row:
    """Return the result of a variant, training it as far as that has not been done."""
    result_file = path / "result.json"
    run = Run(path)
    if run.has_config:
        resumed_config(run, _as_overrides(config))
        if result_file.is_file():
            return Row(**json.loads(result_file.read_text("utf-8")))
    result = train(config, report, run if run.has_config else None, str(path.absolute()), device)

    def notice(text: str) -> None:
        report(Notice(text))

    loaded = load_run(run, notice)
    scores = evaluate(loaded, config.data, "test").scores
    weights = loaded.model.trainable_variables
    rates = [entry["pairs_per_second"] for entry in run.metrics() if "pairs_per_second" in entry]
    row = Row(
        name,
        scores.bleu,
        scores.chrf,
        result.best_dev_bleu or 0.0,
        statistics.median(rates),
        sum(math.prod(variable.shape) for variable in weights),
        result.step,
        result.seconds,
        scores.bleu_signature,
        scores.chrf_signature,
    )
    write_durably(result_file, json.dumps(dataclasses.asdict(row)).encode())
    return row


def _as_overrides(config: Config) -> Overrides:
    """Return all values of a config, to be compared with those that a run was begun with."""
    overrides = Overrides()
    for key, value in config.flat().items():
        if value is not None:
            overrides.set(key, value, "ablate")
    return overrides


def _write(rows: Sequence[Row], folder: Path) -> None:
    """Write what is known so far, for programs and for people."""
    records = [dataclasses.asdict(row) for row in rows]
    with disk_errors(folder):
        write_durably(folder / "results.json", json.dumps(records, indent=1).encode())
        write_durably(folder / "results.md", to_markdown(rows).encode())


def _with_equal_parameters(configs: dict[str, Config]) -> dict[str, Config]:
    """Widen or narrow each variant but the first until it has as many weights as that."""
    first = next(iter(configs.values()))
    tokenizers = tokenizers_of(read_corpus(first.data), first.tokenizer)

    def count(model: ModelConfig) -> int:
        sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
        return count_weights(model, *sizes, tokenizers.joint)

    wanted = count(first.model)
    return {
        name: config.model_copy(update={"model": fit_parameters(config.model, wanted, count)})
        for name, config in configs.items()
    }


def fit_parameters(
    model: ModelConfig, wanted: int, count: Callable[[ModelConfig], int]
) -> ModelConfig:
    """Return the model with its widths changed by one factor, so that it has `wanted` weights.

    Args:
        model: its heads, layers and kind stay.
        wanted: number of weights.
        count: counts them.

    Raises:
        UsageError: if no factor comes within 3 %.
    """
    best = _nearest(model, _widened, wanted, count)
    if not isinstance(best, RNNConfig):  # their units, divided among the heads, go in large steps
        best = _nearest(best, _widened_inside, wanted, count)
    if abs(count(best) / wanted - 1) > PARAMETERS_TOLERANCE:
        raise UsageError(
            f"{model.label} cannot have {wanted:,} parameters within "
            f"{PARAMETERS_TOLERANCE:.0%}: the nearest is {count(best):,}"
        )
    return best


def _nearest(
    model: ModelConfig,
    widen: Callable[[ModelConfig, float], ModelConfig],
    wanted: int,
    count: Callable[[ModelConfig], int],
) -> ModelConfig:
    """Return what comes nearest to `wanted` weights of the model widened by factors."""
    low, high = 0.1, 10.0
    best, distance = model, abs(count(model) - wanted)
    for _ in range(16):
        factor = math.sqrt(low * high)
        tried = widen(model, factor)
        found = count(tried)
        if abs(found - wanted) <= distance:
            best, distance = tried, abs(found - wanted)
        low, high = (factor, high) if found < wanted else (low, factor)
    return best


def _widened(model: ModelConfig, factor: float) -> ModelConfig:
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
        step = 2 * model.heads
        widths = {
            "units": _width(model.units * factor, step=step),
            "inner_units": _width(model.inner_units * factor, 4 * MOST_UNITS),
        }
    return type(model)(**{**model.model_dump(), **widths})


def _width(wanted: float, most: int = MOST_UNITS, step: int = 1) -> int:
    """Return the multiple of `step` nearest to a width that a config may have."""
    return step * min(max(1, round(wanted / step)), most // step)


def _widened_inside(model: ModelConfig, factor: float) -> ModelConfig:
    """Return a Transformer with its feed-forward networks wider by about `factor`."""
    values = model.model_dump()
    return type(model)(
        **{**values, "inner_units": _width(values["inner_units"] * factor, 4 * MOST_UNITS)}
    )
