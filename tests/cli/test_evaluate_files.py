"""The command `eval` on files: it needs no model and no TensorFlow."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seq2seq_cli.cli import app
from seq2seq_cli.errors import DataError, UsageError

SOURCES = ["I see one apple.", "he eats two of the houses now.", "she wants books.", "we sell"]
REFERENCES = ["yo miro una manzana.", "él come dos casas.", "ella quiere libros.", "vendemos"]
FOUND = ["yo miro una manzana.", "él come come come casas.", "she wants books.", ""]


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def evaluate(*options: str) -> str:
    done = CliRunner().invoke(app, ["eval", *options], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def options_of(folder: Path, sources: list[str], references: list[str], found: list[str]) -> list:
    return [
        *("--source-file", write(folder / "test.en", sources)),
        *("--reference-file", write(folder / "test.es", references)),
        *("--hypotheses", write(folder / "found.es", found)),
    ]


@pytest.fixture
def files(tmp_path) -> list[str]:
    """The options of a test set and a file of translations."""
    return options_of(tmp_path, SOURCES, REFERENCES, FOUND)


def test_scores_are_those_of_sacrebleus_command_line(tmp_path):
    files = options_of(tmp_path, [*SOURCES * 5], [*REFERENCES * 5], [*FOUND[:3], "vendemos"] * 5)
    record = json.loads(evaluate("--json", "--confidence", "--seed", "3", *files))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sacrebleu", files[3], "-i", files[5], "-m", "bleu", "chrf"),
            *("ter", "--confidence", "--format", "json", "-w", "17"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SACREBLEU_SEED": "3"},
    )
    for wanted, key in zip(json.loads(done.stdout), ("bleu", "chrf", "ter"), strict=True):
        assert record[key] == wanted["score"]
        assert record[f"{key}_signature"] == wanted["signature"]
        assert record[f"{key}_mean"] == wanted["confidence_mean"]
        assert record[f"{key}_half_width"] == wanted["confidence_var"]
    assert record["chrf_plus_plus"] != record["chrf"]
    assert record["outputs"] == {"empty": 0.0, "repeated": 0.25, "copied": 0.25, "cut": None}


def test_rows_of_a_written_file_have_one_line_each(tmp_path):
    texts = ["a\tb", "c\x0bd"]
    out = tmp_path / "out.tsv"
    evaluate(*options_of(tmp_path, texts, texts, texts), "--output", str(out))
    assert out.read_text("utf-8") == "a b\ta b\ta b\nc\x0bd\tc\x0bd\tc\x0bd\n"


def test_a_file_name_may_have_any_bytes(tmp_path):
    tsv = tmp_path / "caf\udce9.tsv"
    tsv.write_bytes(b"a\tb\n")
    found = write(tmp_path / "found", ["c"])
    page, saved = tmp_path / "a.html", tmp_path / "a.jsonl"
    files = ["--html", str(page), "--save-translations", str(saved)]
    evaluate("--tsv", str(tsv), "--hypotheses", found, *files)
    assert "caf\ufffd.tsv" in page.read_text("utf-8")
    assert "caf\ufffd.tsv" in saved.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "dev"], "--split is for the splits of a run, and excludes --source-file"),
        (["--output", "a", "--html", "./a"], "--output and --html have the same file"),
        (["--training-file", os.devnull], "--training-file is for --details and --html"),
    ],
)
def test_options_without_effect_are_refused(files, options, message):
    with pytest.raises((UsageError, DataError), match=message):
        evaluate(*files, *options)


def test_intervals_of_resamples_without_any_match(tmp_path):
    files = options_of(tmp_path, SOURCES[:2], REFERENCES[:2], [REFERENCES[0], "no"])
    record = json.loads(evaluate("--json", "--confidence", *files))
    assert 0 < record["bleu_mean"] < 100


def test_details_of_another_systems_translations(files, tmp_path):
    training = write(tmp_path / "train.en", ["I see one apple", *["she wants books"] * 20])
    options = ["--details", "--training-file", training, *files]
    record = json.loads(evaluate("--json", *options))
    assert [each["sentences"] for each in record["by_length"]] == [2, 1, 1]
    assert [(each["name"], each["sentences"]) for each in record["by_rarest_word"]] == [
        ("never seen", 2),
        ("seen 1-9 times", 1),
        ("seen 10-99 times", 1),
    ]
    assert [each["number"] for each in record["worst"]] == [4, 3, 2, 1]
    assert record["calibration"] is None
    text = evaluate(*options)
    assert "rarest source word" in text
    assert text.rindex("I see one apple.") > text.rindex("she wants books.")


def test_a_page_has_details_that_are_not_printed(files, tmp_path):
    printed = evaluate("--html", str(tmp_path / "page.html"), *files)
    assert "lowest chrF" not in printed
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "The 4 sentences with the lowest chrF" in page
    assert "4-6 words" in page


def test_interval_is_shown_beside_the_score(files):
    assert " ± " in evaluate("--confidence", *files)
    assert " ± " not in evaluate(*files)


def test_a_tsv_is_a_test_set(files, tmp_path):
    rows = [f"{s}\t{r}" for s, r in zip(SOURCES, REFERENCES, strict=True)]
    tsv = write(tmp_path / "test.tsv", rows)
    by_tsv = json.loads(evaluate("--json", "--tsv", tsv, *files[4:]))
    assert by_tsv["bleu"] == json.loads(evaluate("--json", *files))["bleu"]


def test_translations_are_saved_and_written(files, tmp_path):
    saved, out = tmp_path / "saved.jsonl", tmp_path / "out.tsv"
    evaluate("--save-translations", str(saved), "--output", str(out), *files)
    assert out.read_text("utf-8").split("\n")[0] == "\t".join([SOURCES[0], FOUND[0], REFERENCES[0]])
    rows = [json.loads(line) for line in saved.read_text("utf-8").splitlines()]
    assert [row["translation"] for row in rows[1:]] == FOUND


def test_what_does_not_fit_together_is_refused(files, tmp_path):
    with pytest.raises(UsageError, match="--source-file and --reference-file need each other"):
        evaluate(*files[:2])
    with pytest.raises(UsageError, match="--source-file and --tsv exclude each other"):
        evaluate("--tsv", files[1], *files)
    with pytest.raises(UsageError, match="--beam is for a run"):
        evaluate("--beam", "3", *files)
    with pytest.raises(UsageError, match="--length-penalty is for a run"):
        evaluate("--length-penalty", "0", *files)
    with pytest.raises(UsageError, match="--hypotheses .*: no such file"):
        evaluate(*files[:5], str(tmp_path / "none"))
    with pytest.raises(DataError, match="has 3 lines, and the test set has 4 sentences"):
        evaluate(*files[:5], write(tmp_path / "short", FOUND[:3]))
    with pytest.raises(UsageError, match="--test-set needs the languages"):
        evaluate("--test-set", "wmt13", *files[4:])


def test_no_tensorflow_is_imported(files):
    code = (
        "import sys; from seq2seq_cli.cli import app; "
        f"app(['eval', '--details', *{files!r}], standalone_mode=False); "
        "sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
