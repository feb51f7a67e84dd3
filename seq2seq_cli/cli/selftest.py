"""The command that checks a model: selftest."""

from typing import TYPE_CHECKING

import typer

from seq2seq_cli.cli.files import Result, emit, finite
from seq2seq_cli.cli.options import (
    AttentionOption,
    ConfigOption,
    DeviceOption,
    JsonOption,
    ModelOption,
    QuietOption,
    RunOption,
    SetOption,
    config_layers,
    warn,
)
from seq2seq_cli.cli.resources import start_tensorflow
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from seq2seq_cli.evaluation.selftest import Check


def selftest(
    run: RunOption = None,
    config: ConfigOption = None,
    model: ModelOption = None,
    attention: AttentionOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check properties that every model must have, with a run's model or a new one.

    The exit code is 1 if a property does not hold.
    """
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.runs.naming import find_run

    layers = config_layers(config, settings, model=model, attention=attention)
    if run is not None and any(layers):
        raise UsageError("--run has its own config; leave out the other options")
    resolved = load_config(*layers)
    chosen = find_run(run, warn) if run is not None else None
    start_tensorflow(device)

    import tensorflow as tf

    # GPUs would round the factors of products to 10 bits, and the formulas compare in float32.
    tf.config.experimental.enable_tensor_float_32_execution(False)

    from seq2seq_cli.evaluation.selftest import check_fresh, check_run

    with work_progress(not quiet) as show:
        checks = check_run(chosen, warn, show) if chosen else check_fresh(resolved, show)
    record = [
        {"property": check.name, "deviation": finite(check.deviation), "holds": check.holds}
        for check in checks
    ]
    emit(Result(record, _table(checks)), as_json)
    if not all(check.holds for check in checks):
        raise typer.Exit(1)


def _table(checks: "list[Check]") -> "Table":
    """Return a table of the properties, the model's deviations, and whether they hold."""
    from rich.table import Table
    from rich.text import Text

    table = Table("property", "largest deviation", "", box=None, header_style="bold cyan")
    table.columns[1].justify = "right"
    for check in checks:
        verdict = Text("holds", style="green") if check.holds else Text("FAILS", style="bold red")
        table.add_row(check.name, f"{check.deviation:.1e}", verdict)
    return table
