"""The operations on files, on a real disk; all of s2s makes its results by them."""

import ast
import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import seq2seq_cli
from seq2seq_cli.cli.files import write_file
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.checking.check import check
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.export import export
from seq2seq_cli.errors import DiskError
from seq2seq_cli.runs import disk, files

PACKAGE = Path(seq2seq_cli.__file__).parent
FORBIDDEN = {"os.rename", "os.replace", "os.fsync", "os.truncate", "shutil.move", "shutil.copytree"}


@pytest.mark.parametrize("size", [0, 1, 5, 2_500_000])
@pytest.mark.parametrize("has_call", [True, False], ids=["Linux", "macOS"])
def test_the_bytes_that_are_set_aside_are_in_the_file(tmp_path, monkeypatch, size, has_call):
    if not has_call:
        monkeypatch.delattr(os, "posix_fallocate")
    path = tmp_path / "probe"
    files.reserve(path, size)
    assert path.stat().st_size == max(size, 1)
    assert path.stat().st_blocks * 512 >= size


def renames_and_syncs(path: Path) -> list[str]:
    """Return the calls of a module that rename or sync without the file layer."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        called = ast.unparse(node.func)
        # A path's replace has one argument, that of a text two, that of a time names them.
        one = len(node.args) == 1 and not node.keywords
        of_path = node.func.attr == "rename" or (node.func.attr == "replace" and one)
        if called in FORBIDDEN or (of_path and called != "files.rename"):
            found.append(f"{path}:{node.lineno}: {called}")
    return found


def test_only_the_file_layer_renames_and_syncs():
    modules = [path for path in PACKAGE.rglob("*.py") if path != Path(files.__file__)]
    assert [found for path in modules for found in renames_and_syncs(path)] == []


def test_a_rename_without_the_file_layer_is_found(tmp_path):
    path = tmp_path / "x.py"
    lines = ["a.rename(b)", "a.replace(b)", "os.fsync(1)", "'a'.replace('b', 'c')"]
    path.write_text("\n".join([*lines, "files.rename(a, b)", "replace(a, b=1)"]))
    found = [line.rsplit(": ", 1)[1] for line in renames_and_syncs(path)]
    assert found == ["a.rename", "a.replace", "os.fsync"]


def test_questions_about_a_path_are_those_that_never_raise():
    # Before Python 3.14, Path.exists and its like raise if a name is too long.
    raising = re.compile(r"\.(exists|is_file|is_dir|is_symlink)\(\)")
    assert [path for path in PACKAGE.rglob("*.py") if raising.search(path.read_text("utf-8"))] == []


def cleaned(folder: Path, name: str) -> None:
    """Check a corpus of parallel files, and write a cleaned copy."""
    for language in ("en", "es"):
        Path(f"c.{language}").write_text("I see.\nI eat.\n")
    check(DataConfig(corpus="c"), folder / name)


def exported(folder: Path, name: str) -> None:
    """Write the splits of a corpus."""
    lines = "".join(f"sentence {number}.\tfrase {number}.\n" for number in range(40))
    Path("c.tsv").write_text(lines)
    config = DataConfig(corpus="c.tsv", dev_pairs=4, test_pairs=4)
    export(read_corpus(config), ("en", "es"), folder / name)


MAKERS: dict[str, Callable[[Path, str], None]] = {
    "--output": lambda folder, name: write_file(folder / name, b"new", "--output"),
    "data check --fix": cleaned,
    "export-split": exported,
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_the_output_of_a_command_is_complete_or_absent_after_any_fault(
    maker, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    calls, fails_at = 0, -1

    def failing(operation):
        def fail(*arguments):
            nonlocal calls
            calls += 1
            if calls == fails_at:
                raise OSError(errno.EIO, "Input/output error")
            operation(*arguments)

        return fail

    for name in ("write", "sync", "rename"):
        monkeypatch.setattr(files, name, failing(getattr(files, name)))
    (tmp_path / "whole").mkdir()
    maker(tmp_path / "whole", "x")
    names = sorted(os.listdir(tmp_path / "whole"))
    operations = calls
    assert names
    assert operations >= 3
    for number in range(1, operations):  # after the last one all is there
        folder = tmp_path / f"{number}"
        folder.mkdir()
        calls, fails_at = 0, number
        with pytest.raises(DiskError):
            maker(folder, "x")
        assert os.listdir(folder) == []


def test_a_file_that_cannot_be_replaced_is_unchanged(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_text("before")

    def fail(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "sync", fail)
    with pytest.raises(OSError, match="No space"):
        disk.write_durably(path, b"after")
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"x": "before"}


def test_the_target_of_a_link_is_written_and_a_pipe_gets_the_content(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    for content in (b"new", b"newer"):
        write_file(tmp_path / "link", content, "--output")
        assert (tmp_path / "there" / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink()
    reading, writing = os.pipe()
    write_file(Path(f"/dev/fd/{writing}"), b"drawn", "--output")
    assert os.read(reading, 9) == b"drawn"
    os.close(reading)
    os.close(writing)
    assert sorted(os.listdir(tmp_path)) == ["link", "there"]
