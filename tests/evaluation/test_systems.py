import json
from pathlib import Path

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


def test_saved_translations_are_read_back(tmp_path):
    path = tmp_path / "saved.jsonl"
    output = SystemOutput("mine", ["é\t", ""], [False, True], {"run": "runs/1"})
    path.write_text(to_jsonl(OF, output), encoding="utf-8")
    assert is_saved(path)
    assert read_translations(path) == (OF, output)


@pytest.mark.parametrize(("name", "split"), [("dev es-en", "dev"), ("test set.tsv", "")])
def test_a_split_is_known_whatever_the_name_of_the_test_set(name, split, tmp_path):
    path = tmp_path / "saved.jsonl"
    test_set = EvaluationSet(name, ["a"], [["b"]], split)
    path.write_text(to_jsonl(test_set, SystemOutput("mine", ["c"])), encoding="utf-8")
    assert read_translations(path)[0] == test_set
    head, row = path.read_text("utf-8").splitlines()
    older = {key: value for key, value in json.loads(head).items() if key != "split"}
    path.write_text(f"{json.dumps(older)}\n{row}\n", encoding="utf-8")
    assert read_translations(path)[0].split == name.split(" ")[0]


def test_unknown_cuts_stay_unknown(tmp_path):
    path = tmp_path / "saved"
    path.write_text(to_jsonl(OF, SystemOutput("mine", ["1", "2"])), encoding="utf-8")
    assert read_translations(path)[1].cut is None


@pytest.mark.parametrize("content", ["", "hola\n", "{}\n", "[]\n", "\xff"])
def test_other_files_are_not_mistaken_for_saved_translations(content, tmp_path):
    (tmp_path / "text").write_text(content, encoding="latin-1")
    assert not is_saved(tmp_path / "text")


def damaged(path: Path, number: int, line: str) -> None:
    """Write a file of saved translations in which a line is another one."""
    path.write_text(to_jsonl(OF, SystemOutput("mine", ["1", "2"])), encoding="utf-8")
    lines = path.read_text("utf-8").split("\n")
    path.write_text("\n".join([*lines[: number - 1], line, *lines[number:]]), encoding="utf-8")


@pytest.mark.parametrize(
    "changed",
    [{"source": 1}, {"translation": None}, {"references": []}, {"references": "x"}, {"cut": 1}],
)
def test_a_damaged_line_is_named(changed, tmp_path):
    row = {"source": "a", "translation": "b", "references": ["c"], "cut": None}
    path = tmp_path / "saved.jsonl"
    damaged(path, 3, json.dumps({**row, **changed}))
    (key,) = changed
    with pytest.raises(DataError, match=rf"saved.jsonl:3: the line is damaged \({key}.*Save the"):
        read_translations(path)


@pytest.mark.parametrize("line", ["{", "", '{"source": "a"}', "[]"])
def test_an_invalid_line_is_named(line, tmp_path):
    damaged(tmp_path / "saved.jsonl", 2, line)
    with pytest.raises(DataError, match="saved.jsonl:2: the line is damaged"):
        read_translations(tmp_path / "saved.jsonl")


@pytest.mark.parametrize(
    "origin", ["[]", '{"minutes": "x"}', '{"minutes": NaN}', '{"command": 1}', '{"trained_on": []}']
)
def test_a_damaged_header_is_named(origin, tmp_path):
    head = '{"format": "s2s translations", "version": 1, "name": "a", "test_set": "b", "origin": '
    damaged(tmp_path / "saved.jsonl", 1, f"{head}{origin}}}")
    with pytest.raises(DataError, match=r"saved.jsonl:1: the line is damaged \(origin"):
        read_translations(tmp_path / "saved.jsonl")


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
