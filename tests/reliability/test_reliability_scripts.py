"""A little of the long suite of faults; each script forks its trainings, and so runs by itself."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from long_suite import ROOT, TARGETS, Part, main, parts, run, table

RECORDED = ROOT / "docs/reliability.md"


def run_script(name: str, *arguments: str) -> list[dict]:
    """Run a script of this folder; return the lines of JSON that it prints."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, f"tests/reliability/{name}.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_killed_trainings_end_with_the_same_weights_and_each_update_once():
    last = run_script("kills", "--count", "4", "--in-saves", "1")[-1]
    assert last["count"] >= 4
    assert last["in_saves"] >= 1


@pytest.mark.slow
def test_trainings_resumed_in_new_processes_end_with_the_same_bits():
    (counted,) = run_script("resumptions", "--kind", "rnn", "--steps", "24", "--every", "20")
    assert counted["count"] >= 1


@pytest.mark.slow
def test_a_second_signal_in_any_phase_ends_a_process_at_once_and_loses_nothing():
    phases = ("import", "save")
    found = run_script("second_signals", "--signal", "SIGTERM", "--phases", *phases)
    assert [each["phase"] for each in found] == [*phases]


def part_of(code: str, count: str = r"did (\d+)") -> Part:
    return Part("x", "a fault", ["-c", code], count)


@pytest.mark.parametrize(
    ("code", "count", "passed"),
    [
        ("print('did 2'); print('did 3')", 5, True),
        ("print('did 2'); raise SystemExit(1)", 2, False),
        ("print('nothing')", 0, False),
    ],
)
def test_a_part_passes_if_it_ends_well_and_counts(code, count, passed):
    outcome = run(part_of(code))
    assert (outcome.count, outcome.passed) == (count, passed)


def test_the_table_leaves_out_what_failed():
    good, bad = (vars(run(part_of(f"print('did 7'); exit({code})"))) for code in (0, 1))
    assert "| a fault | 7 |" in table({"a": good, "b": bad})
    assert "| a fault |" not in table({"b": bad})


MEETING = """
import pathlib, sys, time
mine, other = map(pathlib.Path, sys.argv[1:])
mine.touch()
ends = time.monotonic() + 30
while not other.exists() and time.monotonic() < ends:
    time.sleep(0.01)
print("did", int(other.exists()))
"""


def test_two_parts_run_at_once_and_what_passed_does_not_run_again(tmp_path, monkeypatch):
    files = [str(tmp_path / name) for name in "ab"]
    met = [
        Part(f"part {number}", "a fault", ["-c", MEETING, *order], r"did ([1-9])")
        for number, order in enumerate((files, files[::-1]), start=1)
    ]
    failing = Part("part 3", "a fault", ["-c", "print('did 1'); exit(1)"], r"did (\d+)")
    monkeypatch.setattr("long_suite.parts", lambda quick: [*met, failing])
    results = tmp_path / "results.json"
    monkeypatch.setattr(sys, "argv", ["long_suite.py", str(results), "--jobs", "2"])
    with pytest.raises(SystemExit, match="failed: part 3"):
        main()
    passed = {name: each["passed"] for name, each in json.loads(results.read_text()).items()}
    assert passed == {"part 1": True, "part 2": True, "part 3": False}
    Path(files[0]).unlink()
    with pytest.raises(SystemExit, match="failed: part 3"):
        main()
    assert not Path(files[0]).exists()


def test_the_suite_has_the_documented_counts():
    long = [*parts(quick=False)]
    kills = [part.command for part in long if part.name.startswith("kills")]
    assert sum(int(each[each.index("--count") + 1]) for each in kills) == 1000
    assert sum(int(each[each.index("--in-saves") + 1]) for each in kills) >= 300
    for target in TARGETS:
        fuzzing = [part.command[-1] for part in long if part.name.startswith(f"fuzz {target} ")]
        assert sum(int(each.removeprefix("-runs=")) for each in fuzzing) == 1_000_000
    assert sum("examples of Hypothesis" in part.fault for part in long) == 8
    scripts = [part.command[0 if part.command[0] != "-m" else -1] for part in long]
    assert all((ROOT / name.split("::")[0]).exists() for name in scripts)
    command = re.search(r"python (tests/reliability/\S+) \S+", RECORDED.read_text("utf-8"))
    assert command
    assert (ROOT / command[1]).exists()
    assert Path(command[1]).name == "long_suite.py"


def test_the_documented_results_are_those_of_the_last_run():
    outcomes = json.loads((ROOT / "docs/reliability-results.json").read_text("utf-8"))
    recorded = RECORDED.read_text("utf-8").splitlines()
    rows = [line for line in table(outcomes).splitlines() if line.startswith("| ")]
    assert len(rows) > 1
    assert [row for row in rows if row not in recorded] == []


@pytest.mark.slow
def test_workers_of_any_number_go_on_with_a_training_and_come_to_the_same_end():
    (tried,) = run_script("workers", "--only", "elastic")
    assert tried["difference"] == 0


@pytest.mark.slow
def test_devices_of_one_process_come_to_the_weights_of_one_device():
    (found,) = run_script("mirrored", "graph")
    assert found["devices"] > 1
    assert found["difference"] < 1e-5
