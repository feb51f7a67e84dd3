import os

import pytest

from seq2seq_cli.errors import DataError, DiskError, LockedError, UsageError
from seq2seq_cli.recipes.work_folder import work_folder


def interrupted(output, settings):
    with pytest.raises(KeyboardInterrupt), work_folder(output, settings) as folder:
        (folder / "done").write_text("1")
        raise KeyboardInterrupt


def test_the_folder_remains_after_an_interruption_and_is_removed_at_the_end(tmp_path):
    output = tmp_path / "x.tsv"
    interrupted(output, {"beam": 4})
    with work_folder(output, {"beam": 4}) as folder:
        assert (folder / "done").read_text() == "1"
    assert list(tmp_path.iterdir()) == []


def test_other_settings_are_reported_with_both_values(tmp_path):
    output = tmp_path / "x.tsv"
    interrupted(output, {"beam": 4, "top_k": None, "seed": 1})
    with (
        pytest.raises(UsageError) as caught,
        work_folder(output, {"beam": 5, "top_k": None, "input": "new"}),
    ):
        pass
    assert str(caught.value) == (
        f"{output}.partial: was started with other settings:\n"
        "  beam: 4 there, 5 now\n  seed: 1 there, None now\n  input: None there, 'new' now\n"
        "To continue, give the same settings; or remove the folder to start again"
    )
    assert (tmp_path / "x.tsv.partial" / "done").exists()


def test_damaged_settings_are_refused(tmp_path):
    interrupted(tmp_path / "x.tsv", {})
    (tmp_path / "x.tsv.partial" / "settings.json").write_text("[1")
    with pytest.raises(DataError, match="is damaged. Remove"), work_folder(tmp_path / "x.tsv", {}):
        pass


def test_a_foreign_folder_is_neither_used_nor_removed(tmp_path):
    (tmp_path / "x.tsv.partial").mkdir()
    (tmp_path / "x.tsv.partial" / "mine").write_text("1")
    with (
        pytest.raises(DataError, match="x.tsv.partial: has mine, but no settings.json"),
        work_folder(tmp_path / "x.tsv", {}),
    ):
        pass
    assert (tmp_path / "x.tsv.partial" / "mine").read_text() == "1"


def test_an_output_that_exists_is_not_overwritten(tmp_path):
    (tmp_path / "x.tsv").write_text("mine")
    with pytest.raises(UsageError, match="exists already"), work_folder(tmp_path / "x.tsv", {}):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["x.tsv"]


def test_one_process_at_a_time_makes_an_output(tmp_path):
    with work_folder(tmp_path / "x.tsv", {}):
        with (
            pytest.raises(LockedError, match=f"process {os.getpid()} is making .*/x.tsv, on "),
            work_folder(tmp_path / "x.tsv", {}),
        ):
            pass
        assert (tmp_path / "x.tsv.partial").is_dir()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(DiskError, match=r"x\.tsv\.partial: cannot be written"),
        work_folder(tmp_path / "file" / "x.tsv", {}),
    ):
        pass
