import subprocess
import sys

import pytest
from conftest import tiny_config

from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import LockedError
from seq2seq_cli.runs.run import Run


def fail(message: str) -> None:
    raise AssertionError(message)


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


def test_the_config_contains_the_defaults(trained):
    options = Overrides()
    options.set("decoding.beam", 4, "--beam")
    assert Run(trained).config(options).decoding.beam == 4
