"""`s2s doctor`: what it finds, and what to do."""

import json
from pathlib import Path

import pytest
from conftest import s2s

from seq2seq_cli.errors import DiskError, RunInterruptedError
from seq2seq_cli.runtime import health
from seq2seq_cli.training import resume_check
from seq2seq_cli.training.resume_check import ResumeCheck, ResumeCheckError, check_resuming

SOUND = ResumeCheck(same_bits=True, same_steps=True, seconds=30.0)
pytestmark = pytest.mark.usefixtures("workdir")


def doctor(monkeypatch, check: ResumeCheck | Exception = SOUND) -> tuple[int, list]:
    """Examine with a resume check that is given; return the exit code and the record."""

    def give(folder, device, show):
        if isinstance(check, Exception):
            raise check
        return check

    monkeypatch.setattr(resume_check, "check_resuming", give)
    code, out, _ = s2s("doctor", "--device", "cpu", "--json")
    return code, json.loads(out)


def test_a_healthy_machine_gets_no_advice(monkeypatch):
    monkeypatch.setattr(health, "available_memory", lambda: 8 * 10**9)
    monkeypatch.setattr(health, "most_memory", lambda: 9 * 10**9)
    code, found = doctor(monkeypatch)
    names = ["Python", "versions", "processor", "device", "memory", "disk", "cache", "training"]
    assert [finding["name"] for finding in found] == names
    assert [finding["remedy"] for finding in found if not finding["ok"]] == []
    assert code == 0
    assert "20 updates, killed and resumed, in 30 s: the same bits" in found[-1]["value"]
    code, out, _ = s2s("doctor", "--device", "cpu")
    marked = [line.split(":")[0] for line in out.splitlines() if line.startswith(("✓", "✗"))]
    assert marked == [f"✓ {name}" for name in names]
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (ResumeCheck(False, True, 1.0), "other bits than without interruption"),
        (ResumeCheck(True, False, 1.0), "other entries in metrics.jsonl than without interruption"),
        (ResumeCheckError("a training ended with 1"), "20 updates were not made"),
        (DiskError("full"), "20 updates were not made"),
    ],
)
def test_an_inexact_resumption_is_detected(check, value, monkeypatch):
    code, found = doctor(monkeypatch, check)
    assert code == 1
    assert value in found[-1]["value"]
    assert found[-1]["remedy"]


def test_an_interruption_is_not_a_problem_of_the_machine(monkeypatch):
    def stop(folder, device, show):
        raise RunInterruptedError("stopped; continue with s2s train --resume", 2)

    monkeypatch.setattr(resume_check, "check_resuming", stop)
    code, _, error = s2s("doctor", "--device", "cpu")
    assert (code, error) == (130, "the check was interrupted\n")


def test_an_unknown_device_is_wrong_usage():
    code, _, error = s2s("doctor", "--device", "foo")
    assert (code, "--device foo: must be auto" in error) == (2, True)


def test_each_problem_has_a_remedy(monkeypatch):
    monkeypatch.setattr(health, "available_memory", lambda: 10**9)
    monkeypatch.setattr(health, "_LEAST_DISK", 1e18)
    monkeypatch.setattr(health, "cache_problem", lambda folder: "cannot be written (no)")
    monkeypatch.setattr(health, "_PACKAGES", ("tensorflow", "no-such-package"))
    code, found = doctor(monkeypatch)
    remedies = {finding["name"]: finding["remedy"] for finding in found if not finding["ok"]}
    assert remedies.keys() >= {"versions", "memory", "disk", "cache", "training"}
    assert remedies["versions"] == "Install what is missing: pip install no-such-package"
    assert remedies["training"] == "Fix the problems above first"
    assert code == 1


def test_the_reason_for_using_no_gpu_is_given(monkeypatch, tmp_path):
    monkeypatch.setattr(health, "use_device", lambda device: "CPU (A, 2 cores)")
    monkeypatch.setattr(health, "why_no_gpu", lambda: "no driver")
    monkeypatch.setattr(health, "_PCI_DEVICES", tmp_path)
    assert health._device("auto").value == "CPU (A, 2 cores); no GPU is used: no driver"
    (tmp_path / "0").mkdir()
    (tmp_path / "0/class").write_text("0x030200\n")
    (tmp_path / "0/vendor").write_text("0x10de\n")
    found = health._device("auto")
    assert found.value == "CPU (A, 2 cores), although there is an NVIDIA GPU"
    assert found.remedy == "no driver"


def test_a_tensorflow_that_cannot_be_imported_is_reported(monkeypatch):
    def fail() -> None:
        raise ImportError("libfoo.so is missing")

    monkeypatch.setattr(health, "import_tensorflow", fail)
    found = health._device("auto")
    assert found.value == "TensorFlow cannot be imported: libfoo.so is missing"
    assert found.remedy


@pytest.mark.slow
def test_a_training_that_is_killed_and_resumed_has_the_same_bits():
    check = check_resuming(Path.cwd(), "cpu")
    assert (check.same_bits, check.same_steps) == (True, True)
    assert list(Path.cwd().iterdir()) == []


def test_a_process_that_is_not_killed_is_reported(monkeypatch):
    monkeypatch.setattr(resume_check, "_CHILD", "import sys; sys.exit('it broke')")
    with pytest.raises(ResumeCheckError, match="a run ended with 1 and printed: it broke"):
        resume_check._train_until_killed("folder", "cpu", "float32", "1")
