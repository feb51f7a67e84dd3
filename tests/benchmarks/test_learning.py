"""The figure of dev BLEU against minutes shows the runs that are given."""

import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = str(Path(__file__).parents[2] / "benchmarks" / "learning.py")


def run_script(*arguments: str, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["learning.py", *arguments])
    runpy.run_path(SCRIPT, run_name="__main__")


def a_run(folder: Path, *scores: float) -> Path:
    folder.mkdir()
    entries = [
        {"kind": "validation", "step": i, "seconds": 60.0 * i, "dev_bleu": score}
        for i, score in enumerate(scores)
    ]
    lines = [json.dumps(entry) for entry in [{"kind": "training", "step": 0}, *entries]]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def test_the_same_runs_give_the_same_figure(tmp_path, monkeypatch):
    one, two = a_run(tmp_path / "one", 1.0, 30.0), a_run(tmp_path / "two", 2.0, 20.0)
    first, again, other = (tmp_path / f"{name}.svg" for name in ("first", "again", "other"))
    for path in (first, again):
        run_script(str(path), f"A = B={one}", f"two={two}", monkeypatch=monkeypatch)
    run_script(str(other), f"A = B={one}", f"two={one}", monkeypatch=monkeypatch)
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()
    assert "A = B" in first.read_text("utf-8")


def test_a_run_without_validations_is_named(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="empty has no validations"):
        run_script(
            str(tmp_path / "x.svg"), f"x={a_run(tmp_path / 'empty')}", monkeypatch=monkeypatch
        )
    assert not (tmp_path / "x.svg").exists()
