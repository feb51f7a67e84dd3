"""The attention that a training keeps at each validation."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import tiny_config, toy_pairs

from seq2seq_cli.attention.reader import AttentionReader
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.runs.checkpoints import checkpoint_folders
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.kept_attention import KeptAttention
from seq2seq_cli.training.loop import train


def trained_run(corpus, folder: Path, kept: int) -> Run:
    config = tiny_config(
        corpus,
        training__steps=9,
        training__validate_every_steps=3,
        training__keep_checkpoints=3,
        training__keep_attention_history=kept,
    )
    return Run(Path(train(config, ignore, name=str(folder / f"kept-{kept}")).run))


@pytest.fixture(scope="module")
def run(trained) -> Run:
    return Run(trained)


@pytest.fixture(scope="module")
def short(corpus, tmp_path_factory) -> Run:
    """A run that has ended after nine updates."""
    return trained_run(corpus, tmp_path_factory.mktemp("runs"), 2)


def steps(run: Run) -> list[int]:
    return [snapshot.step for snapshot in run.attention.read()]


def test_it_is_the_attention_of_teacher_forcing(run):
    loaded = load_run(run, ignore, None)
    (kept,) = [each for each in run.attention.read() if each.step == loaded.state.step]
    pairs = [(each.source, each.reference) for each in kept.sentences]
    assert len(pairs) == 3
    read = AttentionReader(loaded).read(pairs)
    for sentence, attention in zip(kept.sentences, read, strict=True):
        assert sentence.source_side.pieces == attention.source_tokens
        assert sentence.target_side.words == attention.target_words
        np.testing.assert_allclose(sentence.weights, attention.weights, atol=1e-4)


def test_each_validation_is_kept_once_with_the_same_sentences(run):
    assert steps(run) == [100, 200, 300]
    bleu = [entry["dev_bleu"] for entry in run.metrics() if entry["kind"] == "validation"]
    assert [snapshot.dev_bleu for snapshot in run.attention.read()] == bleu
    first, *_, last = run.attention.read()
    assert first.sentences != last.sentences  # the weights
    assert {each.source for each in last.sentences} <= {source for source, _ in toy_pairs()}


@pytest.mark.slow
def test_after_a_lost_checkpoint_later_maps_are_removed(short, tmp_path):
    killed = Run(Path(shutil.copytree(short.path, tmp_path / "killed")))
    newest = checkpoint_folders(killed.checkpoints)[0]
    assert newest.name.endswith("9")
    shutil.rmtree(newest)
    (killed.path / "attention/.step-00000009.json.partial").write_text("{")
    lost = killed.attention.read()[-1].sentences
    (killed.path / "attention/step-00000009.json").rename(
        killed.path / "attention/step-00000008.json"
    )
    train(killed.config(), ignore, resume=killed)
    assert steps(killed) == [3, 6, 9]
    assert killed.attention.read()[-1].sentences == lost  # made again, with the same bits
    assert len(list((killed.path / "attention").iterdir())) == 3


@pytest.mark.slow
def test_keeping_changes_no_bit_of_the_weights(short, corpus, tmp_path):
    without = trained_run(corpus, tmp_path, 0)
    assert steps(without) == []
    assert not (without.path / "attention").exists()
    weights = [
        (checkpoint_folders(each.checkpoints)[0] / "model.safetensors").read_bytes()
        for each in (short, without)
    ]
    assert weights[0] == weights[1]


def test_sentences_too_long_for_training_are_not_kept(run):
    config = run.config().training.model_copy(update={"max_source_tokens": 8})
    pairs = [("I see " * 40, "yo mirar"), ("I see", "yo mirar")]
    loaded = load_run(run, ignore, None)
    tokenizers = Tokenizers.load(run.tokenizer)
    (kept,) = KeptAttention(tokenizers, pairs, config).read(loaded.model)
    assert kept.source == "I see"
    assert KeptAttention(tokenizers, pairs[:1], config).read(loaded.model) == []
