"""A recipe on a disk that fails at any operation: its output is whole or absent, and it goes on."""

import copy
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from simulated_disk import NO_FAULT, Fault, SimulatedDisk, Site
from simulated_training import LOSSES, Scenario, faults, go_on, power_losses

from seq2seq_cli.errors import DataError, S2SError, UsageError
from seq2seq_cli.recipes import pairs_log, work_folder
from seq2seq_cli.recipes.pairs_log import PairsLog, publish
from seq2seq_cli.runs import files

OUTPUT = Path("out/synthetic.tsv")
FOLDER = Path("out/synthetic.tsv.partial")
SETTINGS = {"beam": 5}
PAGE = (Path(__file__).parents[2] / "docs/reliability.md").read_text("utf-8")
BLOCKS = [[("I see.", "Veo."), ("He sees.", "Ve.")], [], [("We see.", "Vemos.")]]
WHOLE = "".join(pairs_log.tsv_line(pair) for block in BLOCKS for pair in block).encode()


@dataclass
class Recipe:
    """A process that makes the output.

    Attributes:
        done: the number of blocks that it has said are safe.
        published: whether it has said that the output is.
    """

    done: int = 0
    published: bool = False

    def copy(self) -> "Recipe":
        return copy.copy(self)

    def make(self) -> None:
        with work_folder.work_folder(OUTPUT, SETTINGS) as folder:
            log = PairsLog(folder / "pairs.tsv")
            for block in BLOCKS[log.position.sentences :]:
                log.append(1, block)
                self.done = log.position.sentences
            log.complete()
            publish(log.path, OUTPUT)
            self.published = True


@pytest.fixture(autouse=True)
def no_lock(monkeypatch):
    """The lock is the system's; no disk is simulated for it."""
    monkeypatch.setattr(work_folder, "locked", lambda *arguments: nullcontext())


def scenarios() -> list[Scenario]:
    """Return what is tried with every fault: a recipe begins, and goes on after a kill."""

    def make(recipe: Recipe, disk: SimulatedDisk) -> None:
        recipe.make()

    begin = Scenario("begin", SimulatedDisk(), Recipe(), make)
    appended = begin.position("append", "pairs.tsv") + 5
    return [begin, Scenario("go on", *begin.run(Fault(appended, "half")), make)]


def check_nothing_is_taken_by_another_recipe() -> None:
    """Check that what is left of a folder is not used with other settings."""
    files.remove(OUTPUT)
    with (
        suppress(UsageError, DataError),
        work_folder.work_folder(OUTPUT, {**SETTINGS, "beam": 4}) as folder,
    ):
        assert files.names(folder) == ["settings.json"]


def check_after(disk: SimulatedDisk, recipe: Recipe, text: str) -> None:
    """Check what a fault has left, and that the same command ends as if there had been none."""
    try:
        with disk.installed():
            if recipe.published or files.exists(OUTPUT):
                assert files.read(OUTPUT) == WHOLE
                check_nothing_is_taken_by_another_recipe()
                return
            if recipe.done:
                assert PairsLog(FOLDER / "pairs.tsv").position.sentences >= recipe.done
            recipe.make()
            assert files.read(OUTPUT) == WHOLE
            assert not files.exists(FOLDER)
    except Exception as error:
        raise AssertionError(text) from error


def cases(left_out: Site | None = None):
    """Yield what is left by every fault of each scenario, and by a loss of power at any moment."""
    for scenario in scenarios():
        for fault in (NO_FAULT, *faults(scenario.run(left_out=left_out)[0].log)):
            yield f"{scenario.name}, {fault}", *scenario.run(fault, left_out)
        yield from power_losses(scenario, left_out, LOSSES)


def test_no_fault_loses_a_block_or_leaves_a_part_of_the_output():
    count = 0
    for text, disk, recipe in cases():
        check_after(disk, recipe, text)
        count += 1
    assert f"| {count:,} |" in PAGE


def test_a_second_fault_during_recovery_loses_nothing():
    begin, count = scenarios()[0], 0
    for first in list(faults(begin.operations()))[::7]:
        disk, recipe = begin.run(first)
        if disk.exists(OUTPUT):
            continue
        clean = disk.copy()
        go_on(clean, recipe.copy(), recipe.copy().make)
        for second in list(faults(clean.log))[::5]:
            again, later = disk.copy(), recipe.copy()
            go_on(again, later, later.make, second)
            check_after(again, later, f"{first}, then {second}")
            count += 1
    assert f"| {count:,} |" in PAGE


def test_no_sync_and_no_rename_can_be_left_out():
    sites = {site for scenario in scenarios() for site in scenario.run()[0].sites}
    own = [site for site in sites if site.file == "pairs_log.py"]
    assert len(own) == Path(pairs_log.__file__).read_text("utf-8").count("files.sync(")
    assert {"publish", "make_durably", "_sync_tree"} <= {site.function for site in sites}
    for site in sites:
        with pytest.raises(AssertionError) as caught:
            for text, disk, recipe in cases(site):
                check_after(disk, recipe, text)
        assert isinstance(caught.value.__cause__, AssertionError | S2SError | OSError)
