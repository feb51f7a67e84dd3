import weakref
from types import SimpleNamespace

import pytest
from conftest import tiny_config
from scripted_runs import ScriptedTranslator, loading, scripted_run

from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.export import export
from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes import diversification
from seq2seq_cli.recipes.diversification import diversify


@pytest.fixture
def runs(corpus, tmp_path):
    """A forward run, and a backward run on the same split."""
    forward = tiny_config(corpus)
    export(read_corpus(forward.data), ("en", "es"), tmp_path / "split")
    side = {name: str(tmp_path / "split" / name) for name in ("train", "dev", "test")}
    backward = tiny_config(
        side["train"],
        data__dev=side["dev"],
        data__test=side["test"],
        data__source_language="es",
        data__target_language="en",
    )
    return [
        (scripted_run(name, fingerprint=read_corpus(config.data).fingerprint), config)
        for name, config in (("forward", forward), ("backward", backward))
    ]


@pytest.fixture
def make(runs, tmp_path, monkeypatch):
    """Return a function that diversifies with two forward runs and a backward one."""

    def made(*translators):
        monkeypatch.setattr(diversification, "load_run", loading(*translators))
        forward, backward = runs
        output = tmp_path / "made.tsv"
        return diversify([forward, forward], [backward], output, print)

    return made


def written(made) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in made.path.read_text().splitlines()]


def test_the_originals_come_first_and_each_run_adds_its_pairs(make, runs):
    translators = [ScriptedTranslator(lambda text, n=n: f"{n} {text}") for n in "abc"]
    made = make(*translators)
    train = list(read_corpus(runs[0][1].data).train)
    assert written(made) == [
        *train,
        *((source, f"a {source}") for source, _ in train),
        *((source, f"b {source}") for source, _ in train),
        *((f"c {target}", target) for _, target in train),
    ]
    assert (made.pairs, made.sentences) == (4 * len(train), 3 * len(train))
    assert made.columns == "en es"


def test_a_pair_made_by_two_runs_occurs_once(make, runs):
    train = list(read_corpus(runs[0][1].data).train)
    targets = dict(train)
    made = make(
        ScriptedTranslator(lambda text: f"a {text}"),
        ScriptedTranslator(lambda text: f"a {text}"),
        ScriptedTranslator({t: s for s, t in targets.items()}.__getitem__),
    )
    assert written(made) == [*train, *((source, f"a {source}") for source, _ in train)]
    assert made.left_out == {"duplicate": 2 * len(train)}


def test_only_the_training_side_is_translated_and_no_dev_or_test_sentence_is_made(make, runs):
    read = read_corpus(runs[0][1].data)
    source, target = read.dev[0]
    held_out = {text for pair in [*read.dev, *read.test] for text in pair}
    translators = [
        ScriptedTranslator(lambda text: target.upper()),
        ScriptedTranslator(lambda text: "b"),
        ScriptedTranslator(lambda text: source),
    ]
    made = make(*translators)
    assert held_out.isdisjoint(text for each in translators for _, text in each.seen)
    assert held_out.isdisjoint(text for pair in written(made) for text in pair)
    assert made.left_out == {"in dev or test": 2 * len(read.train)}


def test_completed_stages_are_not_repeated(make):
    first = [ScriptedTranslator(lambda text: "a"), ScriptedTranslator(lambda text: "b", 0)]
    with pytest.raises(KeyboardInterrupt):
        make(*first)
    rest = [ScriptedTranslator(lambda text: "b"), ScriptedTranslator(lambda text: f"c {text}")]
    found = written(make(*rest))
    assert [len({t for _, t in found if t == text}) for text in "ab"] == [1, 1]
    assert rest[0].seen
    assert rest[1].seen


def test_a_backward_run_of_the_same_direction_is_refused(runs, tmp_path):
    with pytest.raises(UsageError, match="must translate from es to en"):
        diversify(runs[:1], runs[:1], tmp_path / "x.tsv", print)


def test_a_re_ranking_run_and_backward_runs_exclude_each_other(runs, tmp_path):
    (run, config), backward = runs
    reranked = config.decoding.model_copy(update={"beam": 5, "rerank": "backward"})
    config = config.model_copy(update={"decoding": reranked})
    with pytest.raises(UsageError, match="Add --set decoding.rerank='', or leave out --backward"):
        diversify([(run, config)], [backward], tmp_path / "x.tsv", print)


def test_each_stage_loads_the_checkpoint_that_was_the_best_at_the_start(
    runs, tmp_path, monkeypatch
):
    (forward, _), (backward, _) = runs
    checkpoints = [run.best_checkpoint(print) for run in (forward, backward)]
    loaded, translators = [], []

    def translator(*_):
        made = ScriptedTranslator(str.upper)
        translators.append(weakref.ref(made))
        return made

    def load(run, warn, config, checkpoint):
        assert not any(each() for each in translators)  # one is in memory at a time
        loaded.append(checkpoint)
        backward.best_checkpoint = None  # a better one is saved meanwhile
        return SimpleNamespace(translator=translator)

    monkeypatch.setattr(diversification, "load_run", load)
    diversify(runs[:1], runs[1:], tmp_path / "made.tsv", print)
    assert loaded == checkpoints
