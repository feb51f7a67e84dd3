from pathlib import Path

import numpy as np
import pytest
from conftest import checkpoint_state, tiny_config

from seq2seq_cli.errors import CheckpointError, LockedError, UsageError
from seq2seq_cli.runs import saving
from seq2seq_cli.runs.averaging import Tensor
from seq2seq_cli.runs.naming import (
    check_startable,
    find_changeable_run,
    find_run,
    new_run,
    next_path,
)
from seq2seq_cli.runs.resuming import resumed_config
from seq2seq_cli.runs.run import Run

pytestmark = pytest.mark.usefixtures("workdir")


def with_checkpoint(name: str, saved_at: str) -> Run:
    run = Run(Path("runs") / name)
    saving.save(run.checkpoints, [], [], checkpoint_state(1, saved_at=saved_at))
    return run


def test_runs_are_numbered():
    assert [new_run(None, "rnn-additive").name for _ in range(2)] == [
        "001-rnn-additive",
        "002-rnn-additive",
    ]
    Path("runs/041-other").mkdir()
    assert new_run(None, "rnn").name == "042-rnn"


def test_a_name_means_a_folder_in_runs_and_a_path_any_folder(tmp_path):
    assert new_run("mine", "x").path == Path("runs/mine")
    assert new_run(str(tmp_path / "elsewhere"), "x").path == tmp_path / "elsewhere"
    assert new_run("sub/folder", "x").path == Path("sub/folder")


def test_a_folder_that_is_not_empty_is_refused():
    run = new_run("mine", "x")
    new_run("mine", "x")  # still empty
    (run.path / "file").touch()
    with pytest.raises(UsageError, match="runs/mine: exists already. It is not the folder of a"):
        new_run("mine", "x")


def test_an_existing_run_is_not_started_again(corpus):
    run = new_run("mine", "x")
    run.write(tiny_config(corpus), {})
    with pytest.raises(UsageError, match="exists already. Continue it: s2s train --resume --run r"):
        new_run("mine", "x")
    with pytest.raises(UsageError, match="exists already"):
        run.write(tiny_config(corpus), {})


def test_a_folder_without_a_config_is_reused():
    run = new_run("mine", "x")
    run.tokenizer.mkdir()
    with run.lock():
        pass
    with pytest.raises(CheckpointError, match="Start one: s2s train --run runs/m"):
        resumed_config(run)
    assert new_run("mine", "x").path == run.path


@pytest.mark.parametrize("name", ["", " ", ".", "..", "...", "a/..", "a\nb", "\x1b[1m", "/"])
def test_unsafe_names_are_refused(name):
    for use in (find_run, lambda name: new_run(name, "x")):
        with pytest.raises(UsageError, match="the name of a run must not"):
            use(name)
    assert not Path("runs").exists()


def test_a_name_that_the_file_system_rejects_is_refused():
    with pytest.raises(UsageError, match="is too long"):
        new_run("a" * 256, "x")


def test_a_locked_run_is_refused_before_anything_else():
    with new_run("mine", "x").lock(), pytest.raises(LockedError):
        check_startable(None, "mine")
    check_startable(None, "mine")
    check_startable(None, "yours")
    check_startable(None, None)


def test_the_default_is_the_run_of_the_newest_checkpoint():
    with_checkpoint("002-b", "2026-01-02T00:00:00")
    with_checkpoint("003-c", "2026-01-01T00:00:00")
    new_run(None, "empty")
    assert find_run(None).name == "002-b"


def test_training_continues_in_the_newest_run_that_is_no_average():
    older = with_checkpoint("001-a", "2026-01-01T00:00:00")
    newer = with_checkpoint("002-average", "2026-01-02T00:00:00")
    with pytest.raises(CheckpointError, match="no run with a checkpoint from which training can"):
        find_changeable_run(None)
    state = checkpoint_state(2, saved_at="2026-01-01T00:00:00")
    saving.save(older.checkpoints, [], [Tensor("adam/iteration", np.int64(1))], state)
    assert find_changeable_run(None).name == older.name
    assert find_run(None).name == newer.name


def test_a_run_that_is_being_removed_is_not_found():
    with_checkpoint("old", "2026-01-01T00:00:00")
    with_checkpoint(".removed-new-1", "2026-01-02T00:00:00")
    assert find_run(None).name == "old"
    with pytest.raises(CheckpointError, match="no such run.*: old$"):
        find_run("new")


def test_no_run_is_an_error_with_a_remedy():
    with pytest.raises(CheckpointError, match="no run with a checkpoint. Train one with"):
        find_run(None)


def test_an_unknown_run_is_an_error_that_lists_the_runs():
    new_run("mine", "x")
    with pytest.raises(CheckpointError, match=r"runs/yours: no such run. Runs in .*: mine"):
        find_run("yours")


def test_a_folder_that_is_not_a_run_is_named(tmp_path):
    (tmp_path / "runs" / "folder" / "other").mkdir(parents=True)
    with pytest.raises(CheckpointError, match="is not the folder of a run"):
        find_run("folder").config()


def test_the_next_folder_is_named_without_being_created(workdir):
    assert next_path(None, "x") == Path("runs/001-x")
    assert list(workdir.iterdir()) == []
    assert new_run(None, "x").path == Path("runs/001-x")
    assert next_path(None, "y") == Path("runs/002-y")
    assert next_path("mine", "y") == Path("runs/mine")
