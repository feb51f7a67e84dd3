import subprocess
import sys
from pathlib import Path

import pytest
from conftest import checkpoint_state, tiny_config

from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import CheckpointError, LockedError, UsageError
from seq2seq_cli.runs import saving
from seq2seq_cli.runs.resuming import resumed_config
from seq2seq_cli.runs.run import (
    Run,
    check_startable,
    find_run,
    new_run,
    next_path,
)


def fail(message: str) -> None:
    raise AssertionError(message)


def with_checkpoint(name: str, saved_at: str) -> Run:
    run = Run(Path("runs") / name)
    saving.save(run.checkpoints, [], [], checkpoint_state(1, saved_at=saved_at))
    return run


@pytest.mark.usefixtures("workdir")
class TestFolders:
    def test_runs_are_numbered(self):
        assert [new_run(None, "rnn-additive").name for _ in range(2)] == [
            "001-rnn-additive",
            "002-rnn-additive",
        ]
        Path("runs/041-other").mkdir()
        assert new_run(None, "rnn").name == "042-rnn"

    def test_a_name_means_a_folder_in_runs_and_a_path_any_folder(self, tmp_path):
        assert new_run("mine", "x").path == Path("runs/mine")
        assert new_run(str(tmp_path / "elsewhere"), "x").path == tmp_path / "elsewhere"
        assert new_run("sub/folder", "x").path == Path("sub/folder")

    def test_a_folder_that_is_not_empty_is_refused(self):
        run = new_run("mine", "x")
        new_run("mine", "x")  # empty still
        (run.path / "file").touch()
        with pytest.raises(UsageError, match="runs/mine: exists already. It is not a run's folder"):
            new_run("mine", "x")

    def test_an_existing_run_is_not_started_again(self, corpus):
        run = new_run("mine", "x")
        run.write(tiny_config(corpus), {})
        with pytest.raises(UsageError, match="exists already. Go on .* s2s train --resume --run r"):
            new_run("mine", "x")
        with pytest.raises(UsageError, match="exists already"):  # who was slower, once it may write
            run.write(tiny_config(corpus), {})

    def test_a_folder_without_a_config_is_reused(self):
        run = new_run("mine", "x")
        run.tokenizer.mkdir()
        with run.lock():
            pass
        with pytest.raises(CheckpointError, match="Begin one: s2s train --run runs/m"):
            resumed_config(run)
        assert new_run("mine", "x").path == run.path

    @pytest.mark.parametrize("name", ["", " ", ".", "..", "...", "a/..", "a\nb", "\x1b[1m", "/"])
    def test_unsafe_names_are_refused(self, name):
        for use in (find_run, lambda name: new_run(name, "x")):
            with pytest.raises(UsageError, match="a run's name"):
                use(name)
        assert not Path("runs").exists()

    def test_a_name_that_the_file_system_rejects_is_refused(self):
        with pytest.raises(UsageError, match="is too long"):
            new_run("a" * 256, "x")

    def test_a_locked_run_is_refused_before_anything_else(self):
        with new_run("mine", "x").lock(), pytest.raises(LockedError):
            check_startable(None, "mine")
        check_startable(None, "mine")
        check_startable(None, "yours")
        check_startable(None, None)

    def test_the_default_is_the_run_of_the_newest_checkpoint(self):
        with_checkpoint("002-b", "2026-01-02T00:00:00")
        with_checkpoint("003-c", "2026-01-01T00:00:00")
        new_run(None, "empty")
        assert find_run(None).name == "002-b"

    def test_no_run_is_an_error_with_a_remedy(self):
        with pytest.raises(CheckpointError, match="no run with a checkpoint. Train one by"):
            find_run(None)

    def test_an_unknown_run_is_an_error_that_lists_the_runs(self):
        new_run("mine", "x")
        with pytest.raises(CheckpointError, match=r"runs/yours: no such run. Runs in .*: mine"):
            find_run("yours")

    def test_a_folder_that_is_not_a_run_is_named(self, tmp_path):
        (tmp_path / "runs" / "folder" / "other").mkdir(parents=True)
        with pytest.raises(CheckpointError, match="is not a run's folder"):
            find_run("folder").config()


def test_the_config_is_read_back_unchanged(tmp_path, corpus):
    run = Run(tmp_path / "r")
    config = tiny_config(corpus)
    run.write(config, {"a": b"one", "b": b"two"})
    assert run.config() == config
    assert {file.name: file.read_bytes() for file in run.tokenizer.iterdir()} == {
        "a": b"one",
        "b": b"two",
    }


def test_metrics_of_later_steps_are_removed(tmp_path):
    run = Run(tmp_path)
    for step in (1, 2, 3):
        run.append_metrics({"step": step})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "lo')  # a process was killed here
    run.go_back_to(2, fail)
    assert run.metrics() == [{"step": 1}, {"step": 2}]


def test_broken_lines_of_metrics_are_skipped_with_a_warning(tmp_path):
    run = Run(tmp_path)
    run.append_metrics({"step": 1})
    broken = b'{"st\n\xff\n[]\n{"loss": 1}\n{"step": "x"}\n\n'
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(broken)
    run.append_metrics({"step": 2})
    told = []
    run.go_back_to(9, told.append)
    assert told == [f"{tmp_path}/metrics.jsonl:2: left out a broken line, and 5 more"]
    assert run.metrics(fail) == [{"step": 1}, {"step": 2}]


def test_only_one_process_trains_in_a_folder(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from seq2seq_cli.runs.run import Run\n"
        f"with Run(Path({str(tmp_path)!r})).lock():\n"
        "    print('locked', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"locked\n"
        with (
            pytest.raises(LockedError, match=f"process {process.pid} is training here"),
            Run(tmp_path).lock(),
        ):
            pass
        process.kill()
        process.wait()
    with Run(tmp_path).lock():  # a killed process holds nothing
        pass


def put(key: str, value: object) -> Overrides:
    overrides = Overrides()
    overrides.set(key, value, "test")
    return overrides


def test_resuming_accepts_the_same_config_or_none(tmp_path, corpus):
    run = Run(tmp_path)
    config = tiny_config(corpus)
    run.write(config, {})
    assert resumed_config(run) == config
    assert resumed_config(run, put("training.batch_tokens", 512)) == config
    with pytest.raises(UsageError) as caught:
        resumed_config(run, put("training.batch_tokens", 600), put("model.dropout", 0.5))
    assert "  model.dropout: 0.1 there, 0.5 now\n" in str(caught.value)
    assert "  training.batch_tokens: 512 there, 600 now\n" in str(caught.value)


def test_resuming_with_another_kind_of_model_names_both(tmp_path, corpus):
    run = Run(tmp_path)
    run.write(tiny_config(corpus), {})
    with pytest.raises(UsageError, match="model.kind: 'rnn' there, 'transformer' now"):
        resumed_config(run, put("model.kind", "transformer"))
    assert resumed_config(run, put("model.kind", "rnn")).model.kind == "rnn"


def test_resuming_may_change_the_device(tmp_path, corpus):
    run = Run(tmp_path)
    run.write(tiny_config(corpus, training__device="auto"), {})
    assert resumed_config(run, put("training.device", "cpu")).training.device == "cpu"


def test_the_config_contains_the_defaults(trained):
    options = Overrides()
    options.set("decoding.beam", 4, "--beam")
    assert Run(trained).config(options).decoding.beam == 4


def test_the_next_folder_is_named_without_being_created(workdir):
    assert next_path(None, "x") == Path("runs/001-x")
    assert list(workdir.iterdir()) == []
    assert new_run(None, "x").path == Path("runs/001-x")
    assert next_path(None, "y") == Path("runs/002-y")
    assert next_path("mine", "y") == Path("runs/mine")
