import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from conftest import tiny_config, toy_pairs

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import read_corpus, read_same_corpus
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.preparation import chunked
from seq2seq_cli.data.preparation import prepare as prepare_module
from seq2seq_cli.data.preparation.prepare import prepare
from seq2seq_cli.data.preparation.processes import Processes
from seq2seq_cli.data.prepared import is_prepared
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.vocabularies import learn_tokenizers, tokenizers_of
from seq2seq_cli.errors import DataError, DiskError, LockedError, UsageError, WorkerError
from seq2seq_cli.runs.lock import locked

PAIRS = [*toy_pairs(), *toy_pairs()[:7], ("tab and\u2028line", "¿Ñ?")]


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Config:
    path = tmp_path_factory.mktemp("corpus") / "toy.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
    return tiny_config(path)


@pytest.fixture(scope="module")
def prepared(config, tmp_path_factory):
    """A prepared corpus of several shards."""
    path = tmp_path_factory.mktemp("prepared") / "toy"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked, "CHUNK_PAIRS", 100)
        prepare(config, path, processes=2)
    return path


def opened(config: Config, path, **options):
    return read_corpus(config.data.moved_to(str(path)).model_copy(update=options))


def test_a_prepared_corpus_equals_the_original(config, prepared):
    found, expected = opened(config, prepared), read_corpus(config.data)
    assert list(found.train) == list(expected.train)
    for name in ("dev", "test", "fingerprint", "dropped", "groups", "description"):
        assert getattr(found, name) == getattr(expected, name)
    indices = np.array([400, 3, 3, 77])
    assert found.train.take(indices) == expected.train.take(indices)
    assert len(list(prepared.glob("pairs-train.array_record-*"))) == 6


def test_a_reversed_corpus_has_the_same_splits_and_fingerprint(config, tmp_path, small_chunks):
    turned = {"source_language": "es", "target_language": "en"}
    config = config.model_copy(update={"data": config.data.model_copy(update=turned)})
    found, expected = prepare(config, tmp_path / "turned"), read_corpus(config.data)
    assert (found.dev, found.test) == (expected.dev, expected.test)
    assert found.fingerprint == expected.fingerprint


def test_batches_are_those_of_the_corpus_in_memory(config, prepared):
    found, expected = opened(config, prepared), read_corpus(config.data)
    tokenizers = Tokenizers.load(found.vocabulary(config.tokenizer))
    assert (
        tokenizers.fingerprints == learn_tokenizers(expected.train, config.tokenizer).fingerprints
    )
    data = [TrainingData(c.train, tokenizers, config.training) for c in (found, expected)]
    for a, b in zip(*(d.batches(1) for d in data), strict=True):
        assert (a.source_BS.numpy() == b.source_BS.numpy()).all()
        assert (a.target_BT.numpy() == b.target_BT.numpy()).all()


def test_tensorflow_datasets_reads_it_without_this_project(config, prepared):
    builder = tfds.builder_from_directory(prepared)
    rows = builder.as_data_source("train")
    first = (rows[0]["en"].decode(), rows[0]["es"].decode())
    assert first == next(iter(opened(config, prepared).train))
    assert builder.info.splits["train"].num_examples == len(rows)


def test_both_directions_can_be_read(config, prepared):
    turned = opened(config, prepared, source_language="es", target_language="en")
    there = opened(config, prepared)
    assert turned.test == [(t, s) for s, t in there.test]
    assert turned.train.take([5]) == there.train.take([5])[::-1]


def test_the_fingerprint_in_the_other_direction_is_that_of_the_original(config, prepared):
    turned = {"source_language": "es", "target_language": "en"}
    original = read_corpus(config.data.model_copy(update=turned))
    assert opened(config, prepared, **turned).fingerprint == original.fingerprint
    assert original.fingerprint != read_corpus(config.data).fingerprint


def test_other_splits_than_those_of_the_config_have_another_fingerprint(
    config, tmp_path, small_chunks
):
    seed = config.data.model_copy(update={"split_seed": 1})
    prepare(config.model_copy(update={"data": seed}), tmp_path / "out")
    named, unnamed = (opened(config, tmp_path / "out", split_seed=each) for each in (1, 0))
    assert named.test == unnamed.test == read_corpus(seed).test
    assert named.fingerprint == read_corpus(seed).fingerprint
    assert unnamed.fingerprint != named.fingerprint
    skipping = config.data.model_copy(update={"skip_bad_lines": True})
    prepare(config.model_copy(update={"data": skipping}), tmp_path / "skipping")
    assert opened(config, tmp_path / "skipping").fingerprint == read_corpus(skipping).fingerprint
    with pytest.raises(DataError, match="is not the corpus that r was trained on"):
        read_same_corpus(config.data, unnamed.fingerprint, "r")


def test_the_name_of_a_corpus_is_never_a_folder(config, prepared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^tatoeba: is the name of a corpus.* another name$"):
        prepare(config, Path("tatoeba"))
    os.symlink(prepared, "tatoeba")
    assert not is_prepared("tatoeba")
    assert is_prepared(str(tmp_path / "tatoeba"))


def test_two_processes_do_not_prepare_the_same_folder(config, tmp_path, small_chunks):
    partial = tmp_path / ".out.partial"
    partial.mkdir()
    (partial / "old").write_text("left by a killed preparation")
    with locked(partial), pytest.raises(LockedError, match="is preparing .*out.* another folder"):
        prepare(config, tmp_path / "out")
    assert (partial / "old").is_file()
    prepare(config, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not (tmp_path / "out" / "lock").exists()


def test_a_damaged_vocabulary_is_an_error_of_the_data(config, tmp_path, small_chunks):
    corpus = prepare(config, tmp_path / "out")
    (tmp_path / "out/tokenizer/tokenizer.json").write_text("{")
    with pytest.raises(DataError, match="out/tokenizer is missing or damaged. Prepare the corpus"):
        tokenizers_of(corpus, config.tokenizer)


def test_token_counts_are_stored_for_a_vocabulary(config, prepared):
    train = opened(config, prepared).train
    tokenizers = Tokenizers.load(prepared / "tokenizer")
    source = train.known_lengths(0, tokenizers.source.fingerprint)
    sentences = tf.constant([sentence for sentence, _ in train])
    expected = tokenizers.source.tokenize(sentences).row_lengths().numpy().tolist()
    assert source.tolist() == expected
    assert train.known_lengths(0, "0" * 64) is None
    train.keep_lengths(0, "0" * 64, source)
    assert train.known_lengths(0, "0" * 64).tolist() == expected
    (damaged,) = prepared.glob("tokens-*-0000*.npy")
    damaged.write_bytes(damaged.read_bytes()[:50])
    assert train.known_lengths(0, "0" * 64) is None
    damaged.unlink()


def test_another_vocabulary_is_learned_again(config, prepared):
    other = config.tokenizer.model_copy(update={"vocabulary_size": 350})
    assert opened(config, prepared).vocabulary(other) is None


def test_weights_are_kept(tmp_path, small_chunks):
    for name, pairs in (("a", PAIRS[:200]), ("b", PAIRS[200:450])):
        (tmp_path / name).write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    sources = [
        {"corpus": str(tmp_path / "a"), "weight": 2.5},
        {"corpus": str(tmp_path / "b")},
    ]
    config = tiny_config(None, data__sources=sources)
    prepare(config, tmp_path / "out")
    found, expected = opened(config, tmp_path / "out"), read_corpus(config.data)
    assert found.train.weights.tolist() == expected.train.weights.tolist()
    assert set(found.train.weights.tolist()) == {2.5, 1.0}


def test_pairs_only_for_training_are_kept_as_in_memory(tmp_path, small_chunks):
    shared = [(source, f"made {i}") for i, (source, _) in enumerate(PAIRS[:300])]
    for name, pairs in (("made", [*shared, ("x", "y"), ("x", "y")]), ("real", PAIRS[:450])):
        (tmp_path / name).write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    made = {"corpus": str(tmp_path / "made"), "train_only": True, "weight": 0.5}
    config = tiny_config(None, data__sources=[made, {"corpus": str(tmp_path / "real")}])
    prepare(config, tmp_path / "out")
    found, expected = opened(config, tmp_path / "out"), read_corpus(config.data)
    for name in ("train", "dev", "test"):
        assert list(getattr(found, name)) == list(getattr(expected, name))
    assert found.fingerprint == expected.fingerprint
    assert found.dropped == expected.dropped
    assert found.dropped["in dev or test"] > 10
    assert found.train.weights.tolist() == expected.train.weights.tolist()


def test_existing_files_are_not_overwritten(config, prepared):
    with pytest.raises(UsageError) as caught:
        prepare(config, prepared)
    assert str(caught.value) == (
        f"{prepared}: exists already. Remove it, or prepare into another folder"
    )


def test_nothing_remains_of_a_failed_preparation(config, tmp_path, monkeypatch, small_chunks):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepare_module, "write_shard", full)
    with pytest.raises(DiskError, match=r"out: cannot be written: No space left on device"):
        prepare(config, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_bad_line_is_named_and_nothing_remains(tmp_path, small_chunks):
    (tmp_path / "x.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS) + "one\n")
    with pytest.raises(DataError, match=r"x\.tsv:509: 1 column where 2 are expected"):
        prepare(tiny_config(tmp_path / "x.tsv"), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["x.tsv"]


def test_a_corpus_too_small_is_refused(tmp_path, small_chunks):
    (tmp_path / "x.tsv").write_text("a\tb\n")
    with pytest.raises(DataError, match="its 1 pairs, in 1 independent groups, leave nothing for"):
        prepare(tiny_config(tmp_path / "x.tsv"), tmp_path / "out")


def test_other_settings_are_refused(config, prepared):
    with pytest.raises(UsageError) as caught:
        opened(config, prepared, split_seed=3)
    assert str(caught.value) == (
        f"{prepared}: was prepared with data.split_seed = 0, but the config has 3. Prepare it "
        "again, or leave out data.split_seed"
    )
    with pytest.raises(UsageError) as caught:
        opened(config, prepared, target_language="fr")
    assert str(caught.value) == (
        f"{prepared}: its languages are en and es, but data.source_language and "
        "data.target_language are en and fr. Give --source en --target es"
    )


def test_a_damaged_shard_is_named(config, tmp_path, small_chunks):
    path = tmp_path / "out"
    prepare(config, path)
    shard = sorted(path.glob("pairs-train*"))[1]
    size = shard.stat().st_size
    with shard.open("r+b") as file:
        file.truncate(100)
    with pytest.raises(DataError) as caught:
        opened(config, path)
    assert str(caught.value) == (
        f"{shard}: has 100 bytes, where {size:,} bytes were written. {path} is damaged; prepare it "
        "again"
    )
    for name in ("dataset_info.json", "metadata.json"):
        (path / name).write_text("{")
        with pytest.raises(DataError, match="out: is damaged .* Prepare it again"):
            opened(config, path)


def test_a_broken_link_where_the_folder_would_be_is_refused_at_once(config, tmp_path):
    (tmp_path / "out").symlink_to("nowhere")
    with pytest.raises(UsageError, match="out: exists already"):
        prepare(config, tmp_path / "out")


def test_a_folder_name_that_the_disk_rejects_is_a_disk_error(config, tmp_path):
    with pytest.raises(DiskError, match="cannot be written: File name too long"):
        prepare(config, tmp_path / ("x" * 300))


def test_a_prepared_corpus_is_not_prepared_again(config, prepared, tmp_path):
    again = config.model_copy(update={"data": config.data.moved_to(str(prepared))})
    with pytest.raises(UsageError, match="has been prepared already"):
        prepare(again, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_is_an_error():
    with pytest.raises(WorkerError, match="a worker process was killed"), Processes(1) as processes:
        processes.submit(os._exit, 1)
        processes.results()
