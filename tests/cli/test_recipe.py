"""The commands `recipe back-translate`, `distill` and `diversify`."""

import json

import pytest
from conftest import invoke, s2s, toy_pairs

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.recipes import synthetic
from seq2seq_cli.runs.naming import find_run

pytestmark = pytest.mark.usefixtures("uncompiled")
SAMPLED = ["--sample", "--temperature", "2", "--seed", "3", "--max-length", "12"]


@pytest.fixture
def mono(home, tmp_path) -> str:
    """A text of 30 sentences."""
    path = tmp_path / "mono.en"
    path.write_text("".join(f"{source}\n" for source, _ in toy_pairs()[::17]), encoding="utf-8")
    return str(path)


def lines(path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


def test_back_translations_are_those_of_translate_with_their_originals(mono, tmp_path):
    output = tmp_path / "made.tsv"
    printed = invoke("recipe", "back-translate", "--input", mono, "--output", str(output), *SAMPLED)
    translated = invoke("translate", "--input", mono, *SAMPLED, "--scores")
    found = [line.split("\t")[1] for line in translated]
    originals = [source for source, _ in toy_pairs()[::17]]
    expected = [[text, source] for text, source in zip(found, originals, strict=True)]
    assert lines(output)
    assert [pair for pair in expected if pair in lines(output)] == lines(output)
    assert printed[0] == f"# {output}: {len(lines(output))} pairs of 30 sentences"
    assert printed[2:] == [
        "[[data.sources]]",
        f'corpus = "{output}"',
        'columns = "es en"',
        "weight = 1.0",
        "train_only = true",
        'tag = "bt"',
    ]


def test_a_killed_back_translation_continues_to_the_same_file(mono, tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "_WINDOW", 7)
    command = ["recipe", "back-translate", "--input", mono, *SAMPLED, "--output"]
    invoke(*command, str(tmp_path / "whole.tsv"))
    output = tmp_path / "made.tsv"
    translate, numbers = Translator.translate, []

    def interrupted(self, sentences, first_number=0, *arguments):
        numbers.append(first_number)
        if len(numbers) == 3:
            raise KeyboardInterrupt
        return translate(self, sentences, first_number, *arguments)

    monkeypatch.setattr(Translator, "translate", interrupted)
    code, _, errors = s2s(*command, str(output), "--quiet")
    assert code == 130
    assert "the same command continues" in " ".join(errors.split())
    assert not output.exists()
    code, _, errors = s2s(*command, str(output), "--quiet", "--temperature", "3")
    assert code == 2
    assert "decoding.temperature: 2.0 there, 3.0 now" in " ".join(errors.split())
    invoke(*command, str(output), "--quiet")
    assert numbers == [0, 7, 14, 14, 21, 28]
    assert output.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert not (tmp_path / "made.tsv.partial").exists()


def test_an_output_that_exists_or_is_the_input_is_refused(mono, tmp_path):
    (tmp_path / "made.tsv").write_text("mine")
    code, _, errors = s2s(
        "recipe", "back-translate", "--input", mono, "--output", str(tmp_path / "made.tsv")
    )
    assert (code, "nothing is overwritten" in " ".join(errors.split())) == (2, True)
    code, _, _ = s2s("recipe", "back-translate", "--input", mono, "--output", mono)
    assert code == 2
    assert (tmp_path / "made.tsv").read_text() == "mine"


def test_a_student_trains_on_distilled_pairs_with_the_splits_of_its_teachers(
    home, trained, tmp_path
):
    output = tmp_path / "made.tsv"
    run = str(trained)
    printed = invoke(
        *("recipe", "distill", "--teacher", run, "--teacher", run, "--set", "decoding.beam=3"),
        *("--closest-to-reference", "--output", str(output)),
    )
    data = find_run(run).config().data
    read = read_corpus(data)
    translated = [pair[0] for pair in lines(output)]
    assert [source for source, _ in read.train if source in translated] == translated
    right = sum(tuple(pair) in set(toy_pairs()) for pair in lines(output))
    assert right > 0.5 * len(read.train)
    (tmp_path / "c.toml").write_text(
        f"[data]\ndev_pairs = {data.dev_pairs}\ntest_pairs = {data.test_pairs}\n"
        f'[[data.sources]]\ncorpus = "{data.corpus}"\n' + "\n".join(printed),
        encoding="utf-8",
    )
    student = read_corpus(load_config(Overrides.read(tmp_path / "c.toml")).data)
    assert (student.dev, student.test) == (read.dev, read.test)
    assert {tuple(pair) for pair in lines(output)} <= set(student.train)


def test_the_original_pairs_are_kept_and_a_run_adds_its_own(home, trained, tmp_path):
    output = tmp_path / "made.tsv"
    (record,) = invoke(
        *("recipe", "diversify", "--forward", str(trained)),
        *("--output", str(output), "--json"),
    )
    train = [list(pair) for pair in read_corpus(find_run(str(trained)).config().data).train]
    found = json.loads(record)
    assert lines(output)[: len(train)] == train
    assert found["pairs"] == len(lines(output))
    assert found["sentences"] == len(train)
    assert found["left_out"]["duplicate"] > 0.5 * len(train)
    code, _, errors = s2s(
        *("recipe", "diversify", "--forward", str(trained), "--backward", str(trained)),
        *("--output", str(tmp_path / "x.tsv")),
    )
    assert code == 2
    assert "A backward run must translate from es to en" in " ".join(errors.split())
