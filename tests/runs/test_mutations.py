"""Without any one sync, rename or verification, the tests of faults fail."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated_disk import NO_FAULT, Fault, SimulatedDisk, Site
from simulated_training import (
    LOSSES,
    Training,
    check_after,
    faults,
    power_losses,
    scenarios,
)

from seq2seq_cli.errors import S2SError
from seq2seq_cli.runs import saving
from seq2seq_cli.runs.checkpoints import Checkpoint

CODE = Path(saving.__file__).parents[1]
SCENARIOS = scenarios()


def sites() -> list[Site]:
    """Return the lines of the code that sync or rename in some scenario."""
    found = set()
    for scenario in SCENARIOS:
        found |= scenario.run()[0].sites
        for kind in ("kill", "late"):  # what is done after an error
            for number in range(0, len(scenario.operations()), 3):
                found |= scenario.run(Fault(number, kind))[0].sites
    return sorted(found)


SITES = sites()


def cases(left_out: Site | None) -> Iterator[tuple[SimulatedDisk, Training]]:
    """Yield what is left by faults, those first that many mutations fail by."""
    for scenario in SCENARIOS:
        yield scenario.run(NO_FAULT, left_out)
    for scenario in SCENARIOS:
        for fault in faults(scenario.run(left_out=left_out)[0].log):
            if fault.kind == "lost":
                yield scenario.run(fault, left_out)
    for number in reversed(range(len(LOSSES))):  # chance finds more
        for scenario in SCENARIOS:
            for _, disk, training in power_losses(scenario, left_out, LOSSES[number : number + 1]):
                yield disk, training
    for scenario in SCENARIOS:
        for fault in faults(scenario.run(left_out=left_out)[0].log):
            yield scenario.run(fault, left_out)


def fails(left_out: Site | None = None) -> bool:
    """Return whether a case fails; of an unchanged code none does, as the other tests show.

    It fails by what is checked or by an error of the disk, and not by a bug of these tests.
    """
    try:
        for disk, training in cases(left_out):
            check_after(disk, training)
    except (AssertionError, S2SError) as error:
        assert isinstance(error.__cause__, AssertionError | S2SError | OSError)
        return True
    return False


@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{site.operation} in {site.function}")
def test_no_sync_and_no_rename_can_be_left_out(site):
    assert fails(site)


def test_all_sites_of_the_code_are_tried():
    others = {  # of the whole package
        "runs/files.py": "the disk itself",
        "recipes/pairs_log.py": "tests/recipes/test_recipe_faults.py",
        "cli/runs.py": "without the rename nothing can be removed",
        "data/preparation/beam_calls.py": "without the rename there is no shard",
        "data/preparation/beam_workers.py": "without the rename there is no result",
    }
    names = {path.relative_to(CODE).as_posix() for path in CODE.rglob("*.py")} - others.keys()
    text = "".join((CODE / name).read_text("utf-8") for name in names)
    text = text.replace("files.sync(probed)", "")  # of a file that is removed at once
    assert len(SITES) == text.count("files.sync(") + text.count("files.rename(")


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (saving, "_check_written"),
        (Checkpoint, "verify"),
        (Checkpoint, "verify_all"),
        (Checkpoint, "_compare"),
    ],
)
def test_no_verification_can_be_left_out(monkeypatch, owner, name):
    monkeypatch.setattr(owner, name, lambda *args: None)
    assert fails()
