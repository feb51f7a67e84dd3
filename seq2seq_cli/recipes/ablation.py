"""`s2s ablate`: different models trained with the same settings, compared in one table."""

import dataclasses
import json
import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from seq2seq_cli.config import Config
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.errors import DataError, os_reason
from seq2seq_cli.evaluation.test_split import evaluate
from seq2seq_cli.recipes.continuing import check_same_config, interruptions
from seq2seq_cli.recipes.parameter_matching import with_equal_parameters
from seq2seq_cli.runs.disk import disk_errors, write_durably
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Heading, Notice, OnEvent, Phase, showing_phases
from seq2seq_cli.training.loop import train


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result of one variant.

    Attributes:
        name: of the variant and its run's folder.
        bleu, chrf: on the test split, by the search of `[decoding]`.
        dev_bleu: of the best validation.
        pairs_per_second: the median of the progress events.
        parameters: number of trainable weights.
        steps, seconds: of training, validation included.
        bleu_signature, chrf_signature: sacreBLEU's.
        versions: of the packages that trained and scored it; empty if they are not known.
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
    versions: str = ""


def ablate(
    configs: dict[str, Config],
    folder: Path,
    on_event: OnEvent,
    equal_parameters: bool = False,
    device: str = "",
) -> list[Row]:
    """Train each variant that has not been trained yet, and score all on the test split.

    Called again with the same folder, it continues after the interruption.

    Args:
        configs: of the variants, by name; they differ in `[model]` and the keys that depend on it.
        folder: receives the runs, results.json and results.md.
        on_event: receives the events of each run.
        equal_parameters: change the widths of each variant until it has as many weights as the
            first.
        device: a description of it, for the summaries.

    Raises:
        UsageError: if the folder has runs of other configs.
        DataError: if a stored result is damaged.
        RunInterruptedError: if a signal came, after a checkpoint.
    """
    if equal_parameters:
        on_event(Phase("Fitting the widths"))
        configs = with_equal_parameters(configs)
    rows = []
    for number, (name, config) in enumerate(configs.items(), start=1):
        on_event(Heading(f"Variant {number} of {len(configs)}: {name}"))
        rows.append(_row(name, config, folder / name, on_event, device))
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
    signatures = f"BLEU `{rows[0].bleu_signature}`, chrF `{rows[0].chrf_signature}`"
    versions = rows[0].versions
    if any(row.versions != versions for row in rows):
        versions = "; ".join(f"{row.name}: {row.versions or 'versions not known'}" for row in rows)
    lines += ["", f"{signatures}; {versions or 'versions not known'}."]
    return "\n".join(lines) + "\n"


def _row(name: str, config: Config, path: Path, on_event: OnEvent, device: str) -> Row:
    """Return the result of a variant; train it first unless it has been trained."""
    result_file = path / "result.json"
    run = Run(path)
    if run.has_config:
        check_same_config(run, config)
        if os.path.isfile(result_file):
            return _read_row(result_file)
    with interruptions(name):
        resumed = run if run.has_config else None
        result = train(config, on_event, resumed, str(path.absolute()), device)

    def warn(text: str) -> None:
        on_event(Notice(text))

    loaded = load_run(run, warn)
    show = showing_phases(on_event)
    scores = evaluate(loaded, config.data, "test", show=show).scores
    weights = loaded.model.trainable_variables
    rates = [entry["pairs_per_second"] for entry in run.metrics() if "pairs_per_second" in entry]
    row = Row(
        name=name,
        bleu=scores.bleu,
        chrf=scores.chrf,
        dev_bleu=result.best_dev_bleu or 0.0,
        pairs_per_second=statistics.median(rates),
        parameters=sum(math.prod(variable.shape) for variable in weights),
        steps=result.step,
        seconds=result.seconds,
        bleu_signature=scores.bleu_signature,
        chrf_signature=scores.chrf_signature,
        versions=", ".join(f"{each} {version(each)}" for each in ("tensorflow", "keras", "s2s")),
    )
    with disk_errors(result_file):
        write_durably(result_file, json.dumps(dataclasses.asdict(row)).encode())
    return row


def _read_row(path: Path) -> Row:
    """Read the result of a variant.

    Raises:
        DataError: if the file cannot be read, or is not a complete result.
    """
    try:
        return Row(**json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {os_reason(error)}") from error
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}: is damaged. Remove it, and the run is scored again") from error


def _write(rows: Sequence[Row], folder: Path) -> None:
    """Write the rows so far as JSON and as Markdown."""
    records = [dataclasses.asdict(row) for row in rows]
    with disk_errors(folder):
        write_durably(folder / "results.json", json.dumps(records, indent=1).encode())
        write_durably(folder / "results.md", to_markdown(rows).encode())
