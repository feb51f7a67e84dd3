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


def test_the_figure_is_drawn_again_without_the_runs(tmp_path, monkeypatch):
    one, two = a_run(tmp_path / "one", 1.0, 30.0), a_run(tmp_path / "two", 2.0, 20.0)
    kept, first, again, other = (tmp_path / name for name in ("kept", "first", "again", "other"))
    run_script(str(kept), str(first), f"A = B={one}", monkeypatch=monkeypatch)
    run_script(str(kept), str(first), f"two={two}", monkeypatch=monkeypatch)
    assert json.loads(kept.read_text()) == {"A = B": [[0, 1], [1, 30]], "two": [[0, 2], [1, 20]]}
    run_script(str(kept), str(again), monkeypatch=monkeypatch)
    run_script(str(kept), str(other), f"two={one}", monkeypatch=monkeypatch)
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()
    assert "A = B" in first.read_text("utf-8")


@pytest.mark.parametrize(("scores", "runs"), [((), 1), ((1.0,), 0)])
def test_without_a_validation_nothing_is_written(scores, runs, tmp_path, monkeypatch, capsys):
    run = a_run(tmp_path / "run", *scores)
    with pytest.raises(SystemExit) as left:
        arguments = [str(tmp_path / "kept"), str(tmp_path / "svg"), *[f"x={run}"][:runs]]
        run_script(*arguments, monkeypatch=monkeypatch)
    assert (
        "run has no validations" in str(left.value) or "no run is given" in capsys.readouterr().err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
