"""The command `compare` on files: it needs no model and no TensorFlow."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import s2s
from typer.testing import CliRunner

from seq2seq_cli.cli import app
from seq2seq_cli.errors import CheckpointError, DataError, UsageError

SOURCES = ["I see one apple.", "he eats two houses.", "she wants books.", "we sell"]
REFERENCES = ["yo miro una manzana.", "él come dos casas.", "ella quiere libros.", "vendemos"]
FIRST = ["yo miro una casa.", "él come tres casas.", "ella quiere gatos.", "vendemos"]
SECOND = ["yo miro una manzana.", "él bebe dos perros.", "ella quiere libros.", "vendemos"]
FAST = ["--resamples", "20", "--trials", "20"]


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.fixture
def test_set(tmp_path) -> list[str]:
    return [
        *("--source-file", write(tmp_path / "test.en", SOURCES)),
        *("--reference-file", write(tmp_path / "test.es", REFERENCES)),
    ]


@pytest.fixture
def saved(tmp_path, test_set) -> list[str]:
    """Two files of saved translations."""
    paths = []
    for name, lines in (("first", FIRST), ("second", SECOND)):
        found = write(tmp_path / name, lines)
        paths.append(str(tmp_path / f"{name}.jsonl"))
        run("eval", *test_set, "--hypotheses", found, "--save-translations", paths[-1])
    return paths


def test_saved_translations_are_compared(saved, tmp_path):
    training = write(tmp_path / "train.en", ["she wants books", "we sell"])
    record = json.loads(run("compare", *saved, *FAST, "--json", "--training-file", training))
    assert [Path(name).name for name in record["systems"]] == ["first", "second"]
    (difference,) = record["differences"]
    assert (difference["better"], difference["worse"], difference["equal"]) == (2, 1, 1)
    assert {each["number"] for each in difference["gained"]} == {1, 3}
    assert {each["name"] for each in record["by_rarest_word"]} == {"never seen", "seen 1-9 times"}
    bleu, *_ = record["metrics"]
    assert bleu["systems"][1]["difference"] > 0


def test_files_of_lines_are_compared_on_a_given_test_set(saved, test_set, tmp_path):
    files = [str(tmp_path / name) for name in ("first", "second")]
    by_files = json.loads(run("compare", *files, *test_set, *FAST, "--json"))
    by_saved = json.loads(run("compare", *saved, *FAST, "--json"))
    assert by_files["metrics"] == by_saved["metrics"]
    mixed = json.loads(run("compare", saved[0], files[1], *FAST, "--json"))
    assert mixed["metrics"] == by_saved["metrics"]


def test_metrics_are_chosen(saved):
    every = json.loads(run("compare", *saved, *FAST, "--json"))["metrics"]
    assert [each["metric"] for each in every] == ["BLEU", "chrF", "chrF++", "TER"]
    chosen = ["--metric", "chrF", "--metric", "BLEU", "--metric", "chrF"]
    assert json.loads(run("compare", *saved, *FAST, *chosen, "--json"))["metrics"] == [
        *(every[1], every[0])
    ]
    assert run("compare", *saved, *FAST, *chosen, "--markdown").startswith(
        "| system | chrF | BLEU |"
    )


def test_the_seed_determines_the_tests(saved):
    first, again, other = (
        json.loads(run("compare", *saved, *FAST, "--json", "--seed", seed))["metrics"]
        for seed in ("1", "1", "2")
    )
    assert first == again != other


def test_a_comparison_is_printed(saved):
    text = run("compare", *saved, *FAST)
    for part in ("BLEU", "0-3 words", "B matches more often", "largest gain"):
        assert part in text
    assert "vendemos" not in text  # it is equal in both


def test_tables_for_papers(saved):
    assert run("compare", *saved, *FAST, "--markdown").startswith("| system | BLEU |")
    assert r"\begin{tabular}" in run("compare", *saved, *FAST, "--latex")


def test_a_page_is_written(saved, tmp_path):
    run("compare", *saved, *FAST, "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<mark>manzana.</mark>" in page


def test_translations_of_different_sources_are_refused(saved, tmp_path):
    write(tmp_path / "other.en", [*SOURCES[:3], "we buy"])
    options = ["--source-file", str(tmp_path / "other.en")]
    options += ["--reference-file", str(tmp_path / "test.es")]
    third = str(tmp_path / "third.jsonl")
    found = ["--hypotheses", str(tmp_path / "second"), "--save-translations", third]
    run("eval", *options, *found)
    reason = "1 sources differ, the first in sentence 4: 'we sell' and 'we buy'"
    with pytest.raises(DataError, match=reason):
        run("compare", saved[0], third, *FAST)
    with pytest.raises(DataError, match="the test set has 4 sentences"):
        run("compare", saved[0], write(tmp_path / "short", FIRST[:2]), *FAST)


def test_inputs_that_cannot_be_compared_are_refused(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="only one system is given"):
        run("compare", saved[0])
    with pytest.raises(UsageError, match="--markdown and --latex exclude each other"):
        run("compare", *saved, "--markdown", "--latex")
    with pytest.raises(UsageError, match="do not contain the source sentences"):
        run("compare", str(tmp_path / "first"), str(tmp_path / "second"))
    with pytest.raises(CheckpointError, match="runs/none: no such run"):
        run("compare", saved[0], "none")


def test_no_tensorflow_is_imported(saved):
    code = (
        "import sys; from seq2seq_cli.cli import app; "
        f"app(['compare', *{saved + FAST!r}], standalone_mode=False); "
        "sys.exit('tensorflow' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        *(["--beam", "5"], ["--length-penalty", "0"], ["--set", "decoding.beam=banana"]),
        *(["--device", "tpu"], ["--source", "de"]),
    ],
)
def test_options_of_runs_are_refused_if_only_files_are_compared(workdir, options):
    for name in ("a", "b", "source", "reference"):
        (workdir / name).write_text("one\ntwo\n")
    files = ["a", "b", "--source-file", "source", "--reference-file", "reference"]
    code, _, error = s2s("compare", *files, *options)
    assert (code, f"{options[0]} applies only to runs" in " ".join(error.split())) == (2, True)
