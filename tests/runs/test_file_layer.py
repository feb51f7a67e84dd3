"""The operations on files, on a real disk."""

import os

import pytest

from seq2seq_cli.runs import files


@pytest.mark.parametrize("size", [0, 1, 5, 2_500_000])
@pytest.mark.parametrize("has_call", [True, False], ids=["Linux", "macOS"])
def test_the_bytes_that_are_set_aside_are_in_the_file(tmp_path, monkeypatch, size, has_call):
    if not has_call:
        monkeypatch.delattr(os, "posix_fallocate")
    path = tmp_path / "probe"
    files.reserve(path, size)
    assert path.stat().st_size == max(size, 1)
    assert path.stat().st_blocks * 512 >= size
