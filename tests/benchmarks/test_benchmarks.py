"""The scripts of benchmarks/ start: what they take of the package is there."""

import itertools
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
OPTIONAL = ("ctranslate2", "joeynmt", "psutil", "torch")  # which the extra `test` does not install
LIBRARIES = ("differences", "peers", "versions")  # of the scripts, and no scripts themselves


@pytest.fixture
def started_as_a_script(monkeypatch):
    """Let scripts find each other, as Python does, and none of the optional packages."""
    monkeypatch.syspath_prepend(FOLDER)
    for package in OPTIONAL:
        monkeypatch.setitem(sys.modules, package, None)
    for library in LIBRARIES:
        monkeypatch.delitem(sys.modules, library, raising=False)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_a_benchmark_is_imported_without_optional_packages(name, started_as_a_script):
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name=name)


@pytest.mark.parametrize("name", sorted({path.stem for path in FOLDER.glob("*.py")} - {*LIBRARIES}))
def test_a_benchmark_tells_its_options(name, started_as_a_script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {name}.py")


def test_the_fast_paths_that_a_benchmark_replaces_exist(started_as_a_script):
    worth = runpy.run_path(str(FOLDER / "worth.py"), run_name="worth")
    patches = [each for rows in (worth["TRAINING"], worth["DECODING"]) for each in rows.values()]
    for owner, name, _ in itertools.chain.from_iterable(patches):
        assert hasattr(owner, name), name
