from pathlib import Path

import pytest
from conftest import tiny_config
from scripted_runs import scripted_run

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.export import export
from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.recipes import training_side
from seq2seq_cli.recipes.training_side import read_training_side
from seq2seq_cli.work import show_nothing

REVERSE = {"data__source_language": "es", "data__target_language": "en"}


def runs_of(*configs) -> list:
    return [
        scripted_run(f"r{i}", fingerprint=read_corpus(config.data).fingerprint)
        for i, config in enumerate(configs)
    ]


def read(*configs, data=None):
    return read_training_side(runs_of(*configs), configs, data, show_nothing)


def test_runs_of_one_split_read_it_once(corpus, monkeypatch):
    config = tiny_config(corpus)
    runs = runs_of(config, config)
    calls = []

    def counted(data, *arguments):
        calls.append(data.corpus)
        return read_corpus(data)

    monkeypatch.setattr(training_side, "read_same_corpus", counted)
    found = read_training_side(runs, [config, config], None, show_nothing)
    assert list(found.train) == list(read_corpus(config.data).train)
    assert calls == [str(corpus)]


@pytest.mark.parametrize("options", [{"data__split_seed": 1}, {"data__dev_pairs": 3}])
def test_a_run_of_another_split_is_refused_with_the_number_of_pairs_that_would_leak(
    corpus, options
):
    first, other = tiny_config(corpus), tiny_config(corpus, **options)
    ours, theirs = read_corpus(first.data), read_corpus(other.data)
    leaking = {*theirs.train} & {*ours.dev, *ours.test}
    assert leaking
    message = rf"r1: {len(leaking)} of the {len(ours.dev) + len(ours.test)} dev and test pairs of"
    with pytest.raises(UsageError, match=message):
        read(first, other)


def test_a_run_of_the_other_direction_has_the_same_split(corpus):
    first, other = tiny_config(corpus), tiny_config(corpus, **REVERSE)
    assert list(read(first, other).train) == list(read_corpus(first.data).train)


def test_a_run_of_the_other_direction_on_the_exported_split_is_taken(corpus, tmp_path):
    first = tiny_config(corpus)
    ours = read_corpus(first.data)
    export(ours, ("en", "es"), tmp_path / "split")
    side = {name: str(tmp_path / "split" / name) for name in ("train", "dev", "test")}
    given = {"data__dev": side["dev"], "data__test": side["test"]}
    other = tiny_config(side["train"], **REVERSE, **given)
    assert list(read(first, other).train) == list(ours.train)


def test_a_corpus_that_has_moved_is_recognised(corpus, tmp_path):
    config = tiny_config(corpus)
    (tmp_path / "moved.tsv").write_bytes(Path(corpus).read_bytes())
    (tmp_path / "other.tsv").write_bytes(Path(corpus).read_bytes()[200:].partition(b"\n")[2])
    assert len(read(config, data=str(tmp_path / "moved.tsv")).train)
    with pytest.raises(DataError, match="is not the corpus that runs/r0 was trained on"):
        read(config, data=str(tmp_path / "other.tsv"))


def test_a_moved_corpus_is_also_that_of_other_runs(corpus, tmp_path):
    gone = str(tmp_path / "gone.tsv")
    first = tiny_config(gone)
    same, turned = tiny_config(gone), tiny_config(gone, **REVERSE)
    runs = [
        scripted_run(name, fingerprint=read_corpus(tiny_config(corpus, **options).data).fingerprint)
        for name, options in (("first", {}), ("same", {}), ("turned", REVERSE))
    ]
    configs = [first, same, turned]
    to_read = training_side.data_to_read(runs, configs, str(corpus))
    assert [(run.name, data.corpus) for run, data in to_read] == [
        ("first", str(corpus)),
        ("turned", str(corpus)),
    ]
    assert len(read_training_side(runs, configs, str(corpus), show_nothing).train)


def test_pairs_of_a_third_language_are_left_out(corpus, tmp_path):
    lines = (f"i{n} am here\tich{n} bin da\n" for n in range(20))
    (tmp_path / "german.tsv").write_text("".join(lines))
    german = {"corpus": str(tmp_path / "german.tsv"), "columns": "en de", "target_language": "de"}
    mixed = {"corpus": None, "sources": [{"corpus": str(corpus)}, german]}
    config = tiny_config(corpus)
    data = DataConfig.model_validate({**config.data.model_dump(exclude_none=True), **mixed})
    config = config.model_copy(update={"data": data})
    everything = [*read_corpus(data).train]
    found = [*read(config).train]
    assert len(everything) == len(found) + 20
    assert not any("bin da" in target for _, target in found)
    assert {*found} < {*everything}
