"""One model for both directions, from training to translating."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from conftest import invoke, s2s, tiny_config, toy_pairs

from seq2seq_cli.data.splits import group_references
from seq2seq_cli.decoding.loading import load_ensemble, load_run
from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.python import load
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Summary, Validation, ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.word_dropout import SOURCE, drop_words

pytestmark = pytest.mark.usefixtures("uncompiled")
EN, ES = map(list, zip(*toy_pairs()[::37], strict=True))
SETTINGS = {
    "data__both_directions": True,
    "training__steps": 400,
    "training__peak_learning_rate": 0.02,
    "training__label_smoothing": 0.0,
    "training__patience": 100,
    "training__validate_every_steps": 200,
}


@pytest.fixture(scope="module")
def both(corpus, tmp_path_factory) -> tuple[Path, list]:
    """The folder of a finished training of both directions, and its events."""
    before, folder = Path.cwd(), tmp_path_factory.mktemp("both")
    os.chdir(folder)
    events: list = []
    try:
        result = train(tiny_config(corpus, **SETTINGS), events.append)
    finally:
        os.chdir(before)
    return folder / result.run, events


@pytest.fixture
def run(both, monkeypatch) -> Path:
    monkeypatch.chdir(both[0].parents[1])
    return both[0]


def test_the_loss_falls_and_the_vocabulary_has_the_tags(both):
    losses = [event.dev_loss for event in both[1] if isinstance(event, Validation)]
    assert losses[-1] < losses[0] / 2
    (summary,) = (event for event in both[1] if isinstance(event, Summary))
    assert summary.vocabulary.endswith("; tags <2es> <2en>")


def test_one_model_translates_both_ways(run):
    model = load(str(run), device="cpu")
    assert np.mean([a == b for a, b in zip(model.translate(EN), ES, strict=True)]) > 0.7
    assert np.mean([a == b for a, b in zip(model.translate(ES, to="en"), EN, strict=True)]) > 0.7
    assert model.translate(EN, to="es") == model.translate(EN)
    forth, back = model.score(EN, ES), model.score(ES, EN, to="en")
    assert np.mean(forth) > np.mean(model.score(EN, ES, to="en"))
    assert np.mean(back) > np.mean(model.score(ES, EN))


def test_no_translation_has_a_tag(run):
    loaded = load_run(Run(run), ignore)
    sampled = loaded.decoding.model_copy(update={"sample": True, "temperature": 50.0, "n_best": 8})
    found = loaded.translator(sampled, compiled=False).translate(EN)
    tags = {loaded.tokenizers.source.tag_id(tag) for tag in ("2es", "2en")}
    ids = {i for each in found for other in (each, *each.others) for i in other.ids}
    assert len(ids) > 200
    assert not ids & tags


def test_the_tag_is_a_token_of_its_own_and_belongs_to_no_word(run):
    attention = load(str(run), device="cpu").attention(ES[0], EN[0], to="en")
    assert attention.source_tokens[0] == attention.source_words[0] == "<2en>"
    assert attention.source_words[1:-1] == ES[0].split()
    assert {i for i, _ in attention.words} <= set(range(len(ES[0].split())))


def test_an_ensemble_and_a_resumed_run_keep_the_direction(run, corpus):
    model = load_ensemble([Run(run), Run(run)], ignore).towards("en")
    one = load_run(Run(run), ignore).towards("en")
    found = [each.translator(compiled=False).translate(ES) for each in (model, one)]
    assert [each.text for each in found[0]] == [each.text for each in found[1]]


@pytest.mark.slow
def test_a_resumed_training_equals_an_uninterrupted_one(corpus, workdir):
    made = workdir / "made.tsv"
    made.write_text("".join(f"made {s}\t{t} hecho\n" for s, t in toy_pairs()), "utf-8")
    sources = [{"corpus": str(corpus)}, {"corpus": str(made), "tag": "bt", "weight": 0.5}]

    def config(steps):
        return tiny_config(
            None,
            data__sources=sources,
            data__both_directions=True,
            tokenizer__sampling_alpha=0.2,
            training__steps=steps,
            training__validate_every_steps=4,
            training__source_word_dropout=0.1,
        )

    through = Run(Path(train(config(8), ignore).run).absolute())
    assert json.loads((through.tokenizer / "tokenizer.json").read_text())["tags"] == [
        *("2es", "2en", "bt")
    ]
    for path in (through.checkpoints).glob("step-*8"):
        expected = {f.name: f.read_bytes() for f in path.glob("*.safetensors")}
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    train(config(8), ignore, resume=through)
    (again,) = through.checkpoints.glob("step-*8")
    assert {f.name: f.read_bytes() for f in again.glob("*.safetensors")} == expected


class TestCommands:
    def test_translate_and_score_take_the_language(self, run):
        model = load(str(run), device="cpu")
        assert invoke("translate", "--to", "en", ES[0], "-q") == [model.translate(ES[0], to="en")]
        (line,) = invoke("score", "--to", "en", ES[0], EN[0])
        assert float(line) == pytest.approx(model.score(ES[0], EN[0], to="en"), abs=1e-3)

    def test_eval_scores_the_same_pairs_reversed(self, run):
        from seq2seq_cli.data.corpus import read_corpus

        config = Run(run).config()
        turned = [pair[::-1] for pair in read_corpus(config.data).test]
        (line,) = invoke("eval", "--to", "en", "--json", "-q", "-o", "rows.tsv")
        rows = [row.split("\t") for row in Path("rows.tsv").read_text().splitlines()]
        assert [row[0] for row in rows] == group_references(turned)[0]
        assert json.loads(line)["bleu"] > 50

    def test_compare_takes_the_language(self, run, tmp_path):
        saved = tmp_path / "saved.jsonl"
        (line,) = invoke("eval", "--to", "en", "--json", "--save-translations", str(saved))
        fast = ["--to", "en", "--json", "--resamples", "20", "--trials", "20"]
        record = json.loads(invoke("compare", run.name, str(saved), *fast)[0])
        assert record["test_set"] == "test es-en"
        bleu, *_ = record["metrics"]
        assert [each["score"] for each in bleu["systems"]] == [json.loads(line)["bleu"]] * 2
        with pytest.raises(DataError, match="did not translate the same test set"):
            invoke("compare", run.name, str(saved), *fast[2:])

    def test_report_takes_the_language(self, run, tmp_path):
        page = tmp_path / "page.html"
        invoke("report", "--to", "en", "--output", str(page), run.name)
        assert "test es-en: " in page.read_text("utf-8")
        with pytest.raises(UsageError, match="--to applies to the test scores"):
            invoke("report", "--to", "en", "--no-test", "--output", str(page))

    @pytest.mark.parametrize("command", ["attention", "explain"])
    def test_attention_and_explain_take_the_language(self, run, command, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(run / "cache"))
        (line,) = invoke(command, "--to", "en", "--json", "-q", ES[0])
        found = json.loads(line)
        assert found["translation"] == load(str(run), device="cpu").translate(ES[0], to="en")

    @pytest.mark.parametrize(
        "command", ["translate", "eval", "score", "attention", "explain", "compare", "report"]
    )
    def test_an_unknown_language_is_an_error_that_names_the_known_ones(self, run, command):
        several = {"eval": [], "report": [], "score": ["a", "b"], "compare": [run.name] * 2}
        texts = several.get(command, ["a"])
        code, _, error = s2s(command, "--to", "fr", *texts)
        assert code == 2
        assert "'fr' (--to)" in error
        assert "en to es and back" in error

    def test_a_run_of_one_direction_accepts_only_its_own_language(self, trained, home):
        (line,) = invoke("translate", "--to", "es", EN[0], "-q")
        assert invoke("translate", EN[0], "-q") == [line]
        code, _, error = s2s("translate", "--to", "en", EN[0])
        assert (code, "data.both_directions" in error) == (2, True)


def test_python_names_an_unknown_language(run):
    with pytest.raises(UsageError, match="does not translate into 'fr'"):
        load(str(run), device="cpu").translate("a", to="fr")


@pytest.mark.slow
def test_a_training_begins_with_a_run_of_the_same_tags(run, corpus, trained):
    settings = {**SETTINGS, "training__steps": 2}
    begun = train(tiny_config(corpus, **settings, training__initial_run=str(run)), ignore)
    assert Run(Path(begun.run)).config().data.both_directions
    with pytest.raises(UsageError, match="no tag <2es> <2en>"):
        train(tiny_config(corpus, **settings, training__initial_run=str(trained)), ignore)


@pytest.mark.slow
def test_a_run_with_tags_can_be_tuned_for_one_direction(run, corpus):
    settings = {**SETTINGS, "training__steps": 1}
    one = {**settings, "data__both_directions": False, "training__initial_run": str(run)}
    begun = train(tiny_config(corpus, **one), ignore)
    model = load(begun.run, device="cpu")
    assert np.mean([a == b for a, b in zip(model.translate(EN), ES, strict=True)]) > 0.5


def test_word_dropout_leaves_tags():
    key = DropoutKey()
    ids = np.tile(np.array([[2, 9, 8, 5, 6, 7, 3, 0]], np.int32), (500, 1))
    found = drop_words(ids, 0.5, key, SOURCE, 8).numpy()
    plain = drop_words(ids, 0.5, key, SOURCE).numpy()
    kept = (ids >= 8) | (ids <= 3)
    np.testing.assert_array_equal(found[kept], ids[kept])
    np.testing.assert_array_equal(found[~kept], plain[~kept])
    assert (plain[ids >= 8] == 1).mean() > 0.3
