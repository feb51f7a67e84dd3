"""The check of clean runs fails where a detector speaks."""

import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = str(Path(__file__).parents[2] / "benchmarks" / "clean_runs.py")


def exit_code(run: Path, monkeypatch) -> int:
    monkeypatch.setattr(sys, "argv", ["clean_runs.py", str(run)])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(SCRIPT, run_name="__main__")
    return left.value.code


def test_a_problem_in_a_run_is_an_exit_code(tmp_path, monkeypatch, capsys):
    figures = {"loss": 1.0, "learning_rate": 0.1, "gradient_norm": 1.0, "pairs_per_second": 9.0}
    for share, code in ((0.1, 0), (0.4, 1)):
        entry = {"kind": "training", "step": 10, "padding_share": share, **figures}
        (tmp_path / "metrics.jsonl").write_text(json.dumps(entry) + "\n", "utf-8")
        assert exit_code(tmp_path, monkeypatch) == code
    clean, found, problem = capsys.readouterr().out.splitlines()
    assert clean.endswith("10 updates, problems: 0")
    assert found.endswith("10 updates, problems: 1")
    assert problem.startswith("  update 10: padding: 40% of the positions")


def test_a_run_without_figures_is_no_clean_run(tmp_path, monkeypatch):
    assert "has no figures" in str(exit_code(tmp_path, monkeypatch))
