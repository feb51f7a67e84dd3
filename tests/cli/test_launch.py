"""Several processes on this machine, which need not be trainings here."""

import errno
import importlib
import json
import os
import signal
import sys
import threading
import time

import pytest
from conftest import s2s, s2s_process

from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.devices import LAUNCH_INDEX
from seq2seq_cli.runtime.machine import share_of_cores

LAUNCH = importlib.import_module("seq2seq_cli.cli.launch")  # the attribute is its function


@pytest.fixture
def workers(monkeypatch):
    """Let workers run a program; it knows `index` and `addresses`."""

    def run(program: str) -> None:
        begin = (
            "import json, os, signal, sys, time; config = json.loads(os.environ['TF_CONFIG']); "
            "index = config['task']['index']; addresses = config['cluster']['worker']\n"
        )
        monkeypatch.setattr(LAUNCH, "_S2S", [sys.executable, "-uc", begin + program])

    monkeypatch.setattr(LAUNCH, "_GRACE", 0.5)
    monkeypatch.setattr(LAUNCH, "_TERMINATION", 0.5)
    return run


def test_each_worker_knows_all_addresses_and_its_lines_have_its_number(workers, monkeypatch):
    monkeypatch.setattr(LAUNCH, "_GRACE", 60)
    workers("print(json.dumps([addresses, sys.argv[1:]]), file=sys.stderr)")
    code, out, error = s2s("launch", "--workers", "3", "--", "train", "--run", "x")
    assert (code, out) == (0, "")
    lines = dict(line.split(" | ", 1) for line in error.splitlines())
    assert sorted(lines) == ["0", "1", "2"]
    (said,) = set(lines.values())
    addresses, arguments = json.loads(said)
    assert len(set(addresses)) == 3
    assert arguments == ["train", "--run", "x"]


def test_two_workers_train_with_the_defaults(workdir, corpus):
    small = [f"--set=model.{side}_units=16" for side in ("embedding", "encoder", "decoder")]
    small += ["--set=training.batch_tokens=256", "--set=training.compile=graph"]
    options = ["--data", str(corpus), "--run", "r", "--steps", "3", "--device", "cpu", *small]
    code, out, error = s2s_process("launch", "--workers", "2", "--", "train", *options)
    assert (code, out) == (0, ""), error
    assert "0 | Ended after 3 steps" in error
    assert Run(workdir / "runs/r").resumable_checkpoint(print).state.step == 3


@pytest.mark.parametrize(
    ("ends", "code"),
    [("sys.exit(7)", 7), ("os.kill(os.getpid(), 9)", 137), ("sys.exit(143)", 143)],
)
def test_when_one_ends_all_end_even_one_that_ignores_it(ends, code, workers):
    ignores = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    workers(f"{ignores}\nif index == 1: {ends}\ntime.sleep(60)")
    found, out, error = s2s("launch", "--workers", "2", "--", "train")
    assert (found, out) == (code, "")
    assert "a worker ended with" in error


def test_shards_of_a_translation_may_take_longer_than_the_others(workers, tmp_path, monkeypatch):
    program = "import sys, time; a = sys.argv; n = a[a.index('--shard') + 1][0]\n"
    program += "time.sleep(2 * (n == '1')); open(a[a.index('--output') + 1], 'w').write(n)"
    monkeypatch.setattr(LAUNCH, "_GRACE", 0.3)
    monkeypatch.setattr(LAUNCH, "_TERMINATION", 0.3)
    monkeypatch.setattr(LAUNCH, "_S2S", [sys.executable, "-uc", program])
    (tmp_path / "in").write_text("a\nb\n")
    files = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    code, _, _ = s2s("launch", "--workers", "2", "--", "translate", *files)
    assert (code, (tmp_path / "out").read_text()) == (0, "12")


def test_a_document_is_not_divided(tmp_path):
    (tmp_path / "page.html").write_text("<p>a</p>")
    files = ["--input", str(tmp_path / "page.html"), "--output", str(tmp_path / "out.html")]
    code, _, error = s2s("launch", "--", "translate", *files)
    assert (code, "--input is html. Use --format lines" in " ".join(error.split())) == (2, True)


def test_a_signal_reaches_all(workers, workdir, monkeypatch):
    monkeypatch.setattr(LAUNCH, "_GRACE", 60)
    workers(
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('told', flush=True)))\n"
        "print('ready', flush=True)\nopen(f'ready-{index}', 'w').close()\ntime.sleep(60)"
    )

    def signal_when_ready():
        while len([*workdir.glob("ready-*")]) < 2:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=signal_when_ready, daemon=True)
    thread.start()
    code, _, error = s2s("launch", "--workers", "2", "--", "train")
    thread.join()
    assert code == 0
    assert sorted(error.splitlines()) == ["0 | ready", "0 | told", "1 | ready", "1 | told"]


def test_a_hangup_that_is_ignored_is_ignored_by_the_workers_too(workers, monkeypatch):
    monkeypatch.setattr(LAUNCH, "_GRACE", 60)
    workers("print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, flush=True)")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        code, _, error = s2s("launch", "--workers", "2", "--", "train")
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (code, sorted(error.splitlines())) == (0, ["0 | True", "1 | True"])


def test_a_shard_of_a_translation_is_not_divided_again(tmp_path):
    (tmp_path / "in").write_text("a\n")
    files = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    code, _, error = s2s("launch", "--", "translate", *files, "--shard", "1/2")
    assert (code, "launch divides the file itself" in " ".join(error.split())) == (2, True)


def test_only_a_training_or_a_translation_can_be_launched():
    code, _, error = s2s("launch", "--", "eval")
    assert code == 2
    assert "only train and translate" in error


def test_each_worker_knows_its_number_by_which_it_takes_a_gpu(workers, monkeypatch):
    monkeypatch.setattr(LAUNCH, "_GRACE", 60)
    workers(f"print(os.environ[{LAUNCH_INDEX!r}], flush=True)")
    code, _, error = s2s("launch", "--workers", "2", "--", "train")
    assert (code, sorted(error.splitlines())) == (0, ["0 | 0", "1 | 1"])


def test_workers_share_the_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 3, 5, 7}, raising=False)
    assert [share_of_cores(index, 2) for index in range(2)] == [{2, 3}, {5, 7}]
    assert [share_of_cores(index, 3) for index in range(3)] == [{2}, {3}, {5, 7}]
    assert [share_of_cores(index, 8) for index in (0, 3, 4)] == [{2}, {7}, {2}]


@pytest.mark.parametrize(("number", "code"), [(errno.EXDEV, 0), (errno.ENOSPC, 7)])
def test_an_output_on_another_disk_is_copied_and_a_full_disk_keeps_the_old_one(
    number, code, tmp_path, monkeypatch
):
    program = "import sys; a = sys.argv; open(a[a.index('--output') + 1], 'w').write('x')"
    monkeypatch.setattr(LAUNCH, "_S2S", [sys.executable, "-uc", program])

    def refuse(partial, final):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(LAUNCH, "publish", refuse)
    (tmp_path / "in").write_text("a\nb\n")
    (tmp_path / "out").write_text("old")
    files = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    assert s2s("launch", "--", "translate", *files)[0] == code
    assert (tmp_path / "out").read_text() == ("old" if code else "xx")


def test_a_translation_may_go_to_a_device(workers, tmp_path, monkeypatch):
    program = "import sys; a = sys.argv; open(a[a.index('--output') + 1], 'w').write('x')"
    monkeypatch.setattr(LAUNCH, "_S2S", [sys.executable, "-uc", program])
    monkeypatch.setattr(LAUNCH.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "in").write_text("a\nb\n")
    made = LAUNCH.tempfile.TemporaryDirectory

    def refused(prefix, dir=None):
        if dir is not None:
            raise PermissionError(13, "Permission denied")
        return made(prefix=prefix)

    monkeypatch.setattr(LAUNCH.tempfile, "TemporaryDirectory", refused)
    files = ["--input", str(tmp_path / "in"), "--output", "/dev/null"]
    assert s2s("launch", "--", "translate", *files)[0] == 0
