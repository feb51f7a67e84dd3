import pytest

from seq2seq_cli.errors import DataError
from seq2seq_cli.evaluation.systems import (
    EvaluationSet,
    SystemOutput,
    is_saved,
    read_translations,
    to_jsonl,
)

OF = EvaluationSet("test", ["a\tb", "c\u2028d"], [["x", "y"], ["z"]])


def test_what_is_saved_is_read(tmp_path):
    path = tmp_path / "saved.jsonl"
    output = SystemOutput("mine", ["é\t", ""], [False, True], {"run": "runs/1"})
    path.write_text(to_jsonl(OF, output), encoding="utf-8")
    assert is_saved(path)
    assert read_translations(path) == (OF, output)


def test_what_is_not_known_of_cuts_stays_so(tmp_path):
    path = tmp_path / "saved"
    path.write_text(to_jsonl(OF, SystemOutput("mine", ["1", "2"])), encoding="utf-8")
    assert read_translations(path)[1].cut is None


@pytest.mark.parametrize("content", ["", "hola\n", "{}\n", "[]\n", "\xff"])
def test_other_files_are_not_taken_for_saved_ones(content, tmp_path):
    (tmp_path / "text").write_text(content, encoding="latin-1")
    assert not is_saved(tmp_path / "text")


@pytest.mark.parametrize(
    ("line", "message"), [('{"source": "a"}', ":3: is damaged"), ("{", ":3: ")]
)
def test_a_damaged_line_is_named(line, message, tmp_path):
    path = tmp_path / "saved.jsonl"
    path.write_text(to_jsonl(OF, SystemOutput("mine", ["1", "2"])), encoding="utf-8")
    lines = path.read_text("utf-8").split("\n")
    path.write_text("\n".join([*lines[:2], line]), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_translations(path)


def test_another_version_and_an_empty_file_are_refused(tmp_path):
    path = tmp_path / "saved.jsonl"
    path.write_text(to_jsonl(OF, SystemOutput("mine", ["1", "2"])), encoding="utf-8")
    head = path.read_text("utf-8").split("\n")[0]
    path.write_text(head.replace('"version": 1', '"version": 2'), encoding="utf-8")
    with pytest.raises(DataError, match="another version"):
        read_translations(path)
    path.write_text(head + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="no translation in it"):
        read_translations(path)
