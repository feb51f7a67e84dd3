"""What is published: the source distribution and the wheel."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="it comes with the extra `test`")

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]


def build_wheel(source: Path, folder: Path) -> Path:
    (path,) = WheelBuilder(str(source)).build(directory=str(folder), versions=["standard"])
    return Path(path)


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_the_package_and_its_licence(wheel):
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "seq2seq_cli").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(package) > 100
    assert names(wheel) >= package
    assert any(name.endswith("/licenses/LICENSE") for name in names(wheel))


def test_the_wheel_runs_outside_the_repository_with_the_files_in_it(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-m", "seq2seq_cli", "config", "check", "phrasebook-transformer"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "phrasebook-transformer: valid\n"), done.stderr


def test_the_source_distribution_gives_the_same_wheel(wheel, tmp_path):
    (path,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path))
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert names(build_wheel(source, tmp_path)) == names(wheel)
    assert (source / "tests/test_packages.py").is_file()
