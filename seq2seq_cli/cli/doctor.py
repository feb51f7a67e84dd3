"""The command that checks the machine: doctor."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seq2seq_cli.cli.files import Result, emit
from seq2seq_cli.cli.options import DeviceOption, JsonOption, QuietOption
from seq2seq_cli.errors import RunInterruptedError, S2SError

if TYPE_CHECKING:
    from rich.text import Text

    from seq2seq_cli.runtime.health import Finding


def doctor(
    device: DeviceOption = None, quiet: QuietOption = False, as_json: JsonOption = False
) -> None:
    """Check this machine, and test that a killed training run resumes with the same bits.

    This takes less than two minutes. The exit code is 1 if there is a problem to fix.
    """
    from seq2seq_cli.runtime.devices import check_name

    device = "auto" if device is None else device
    check_name(device)
    findings = []
    for finding in _findings(device, quiet):
        findings.append(finding)
        if not as_json:
            emit(Result(None, _line(finding)), as_json=False)
    record = [{**vars(finding), "ok": not finding.remedy} for finding in findings]
    if as_json:
        emit(Result(record, None), as_json=True)
    if any(finding.remedy for finding in findings):
        raise typer.Exit(1)


def _findings(device: str, quiet: bool) -> "Iterator[Finding]":
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.runs.naming import RUNS
    from seq2seq_cli.runtime.health import Finding, examine

    can_train = True
    for finding in examine(RUNS, device):
        can_train &= not (finding.remedy and finding.name in ("versions", "device", "disk"))
        yield finding
    if not can_train:
        yield Finding("training", "not tried", "Fix the problems above first")
        return

    from seq2seq_cli.training.resume_check import STEPS, check_resuming

    try:
        with work_progress(not quiet) as show:
            check = check_resuming(Path.cwd(), device, show)
    except RunInterruptedError as error:
        raise RunInterruptedError("the check was interrupted", error.exit_code - 128) from error
    except S2SError as error:
        yield Finding("training", f"{STEPS} updates were not made", str(error))
        return
    value = f"{STEPS} updates, killed and resumed, in {check.seconds:.0f} s"
    if check.same_bits and check.same_steps:
        yield Finding("training", f"{value}: the same bits as without interruption")
        return
    differs = "other bits" if check.same_steps else "other entries in metrics.jsonl"
    yield Finding(
        "training",
        f"{value}: {differs} than without interruption",
        "A resumed training is not exact on this machine. Try --device cpu, and the versions that "
        "pyproject.toml names",
    )


def _line(finding: "Finding") -> "Text":
    """Return the line of a finding, with the remedy below it."""
    from rich.text import Text

    if not finding.remedy:
        return Text.assemble(("✓ ", "green"), (finding.name, "bold"), f": {finding.value}")
    return Text.assemble(
        ("✗ ", "bold red"), (finding.name, "bold"), f": {finding.value}\n  {finding.remedy}"
    )
