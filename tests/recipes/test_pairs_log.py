import pytest

from seq2seq_cli.errors import DataError, DiskError, UsageError
from seq2seq_cli.recipes import pairs_log
from seq2seq_cli.recipes.pairs_log import PairsLog, publish, tsv_line

PAIRS = [("a b", "ä"), ("c", "d\u2028e")]


def test_a_reopened_log_has_what_was_appended(tmp_path):
    log = PairsLog(tmp_path / "x.tsv")
    log.append(2, PAIRS, {"empty": 1})
    log.append(3, [("f", "g")], {"empty": 1, "too long": 2})
    again = PairsLog(tmp_path / "x.tsv")
    assert list(again.pairs()) == [*PAIRS, ("f", "g")]
    assert (again.position.sentences, again.position.pairs) == (5, 3)
    assert again.position.left_out == {"empty": 2, "too long": 2}
    assert not again.position.is_complete
    again.complete()
    assert PairsLog(tmp_path / "x.tsv").position.is_complete


def test_a_line_without_a_recorded_position_is_removed(tmp_path, monkeypatch):
    log = PairsLog(tmp_path / "x.tsv")
    log.append(2, PAIRS)
    whole = log.path.read_bytes()

    def full(path, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pairs_log, "write_durably", full)
        with pytest.raises(DiskError, match="No space left on device. Free some space and repeat"):
            log.append(1, [("lost", "lost")])
    assert log.path.read_bytes() != whole
    again = PairsLog(tmp_path / "x.tsv")
    assert again.path.read_bytes() == whole
    again.append(1, [("f", "g")])
    assert list(again.pairs()) == [*PAIRS, ("f", "g")]


def test_a_file_that_has_lost_pairs_is_refused(tmp_path):
    log = PairsLog(tmp_path / "x.tsv")
    log.append(2, PAIRS)
    log.path.write_bytes(log.path.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"x\.tsv: is damaged. Remove .* to start again"):
        PairsLog(log.path)


def test_a_position_that_cannot_be_read_is_refused(tmp_path):
    PairsLog(tmp_path / "x.tsv").append(2, PAIRS)
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        PairsLog(tmp_path / "x.tsv")


def test_a_file_that_was_made_meanwhile_is_not_overwritten(tmp_path):
    (tmp_path / "partial").write_text("ours")
    (tmp_path / "out.tsv").write_text("theirs")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        publish(tmp_path / "partial", tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text() == "theirs"


def test_a_line_has_two_columns_for_any_sentences():
    assert tsv_line((" a\tb\nc\0 ", "e\u0301\r")) == "a b c\N{REPLACEMENT CHARACTER}\té\n"
