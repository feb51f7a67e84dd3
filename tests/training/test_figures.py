"""Figures that a training gathers for its diagnosis."""

import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import TINY_MODELS, tiny_config, toy_pairs

from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.data.tokenizers.pair import train_tokenizers
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.models import build_model
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.training.attention_figures import figures_of, reference_attention
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.setup import set_up
from seq2seq_cli.training.token_counts import TokenCounts
from seq2seq_cli.training.validation import Validator
from seq2seq_cli.vocabularies import Vocabularies

SOURCE = np.array([[True, True, True, True], [True, True, False, False]])
TARGET = np.array([[True, True, True], [True, True, False]])


def test_uniform_weights_have_the_largest_entropy_at_any_length():
    weights = np.zeros([2, 3, 4], np.float32)
    weights[0], weights[1, :, :2] = 1 / 4, 1 / 2
    found = figures_of(weights, SOURCE, TARGET)
    assert found.entropy == pytest.approx(1)
    assert found.still_share == 1


def test_weights_on_one_position_have_no_entropy_and_move_or_do_not():
    weights = np.zeros([2, 3, 4], np.float32)
    weights[0, np.arange(3), np.arange(3)] = 1
    weights[1, :, 1] = 1
    weights[1, 2] = [1, 0, 0, 0]  # on padding of the target
    found = figures_of(weights, SOURCE, TARGET)
    assert found.entropy == pytest.approx(0)
    assert found.still_share == 0.5


@pytest.mark.parametrize("kind", TINY_MODELS)
def test_attention_to_references_is_what_decoding_reports(kind):
    config = tiny_config(None, model__kind=kind)
    model = build_model(config.model, Vocabularies(30, 30, True), 1)
    source = np.array([[5, 6, 7, 8, EOS], [9, 10, EOS, PAD, PAD]], np.int32)
    target = np.array([[11, 12, 13, EOS], [14, 15, EOS, PAD]], np.int32)
    inputs = tf.constant([[BOS, 11, 12, 13], [BOS, 14, 15, EOS]])
    _, expected = model.reported_attention(tf.constant(source), inputs)
    found = reference_attention(model, source, target)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(found[1, :3], expected[1, :3], atol=1e-6)


def validator(run: Run, pairs: list | None = None) -> tuple[Validator, list]:
    loaded = load_run(run, ignore)
    dev = pairs or toy_pairs()[::10]
    return Validator(run.config(), loaded.model, loaded.tokenizers, dev, ignore), dev


@pytest.fixture(scope="module")
def learned(trained) -> tuple[Validator, list]:
    """The validation of a model that has learned the language, and its pairs."""
    return validator(Run(trained))


def test_attention_of_a_model_that_has_learned_moves(learned):
    figures = learned[0].attention()
    assert 0 < figures.entropy < 0.9
    assert figures.still_share < 0.5


def test_few_or_short_sentences_are_not_judged(trained):
    found, _ = validator(Run(trained), [("I see", "yo mirar")])
    assert found.attention() is None
    assert found.translate().faults.same_share == 0


def test_shares_of_the_outputs(learned, monkeypatch):
    found, dev = learned
    faults = found.translate().faults
    assert (faults.unknown_share, faults.copied_share) == (0, 0)
    assert 0 < faults.same_share < 0.5

    def broken(self, sentences, first_number, progress, every):
        few = self._translate(sentences, progress=progress)
        texts = ["<unk> <unk>", "<unk>", *sentences[2:12], *["x"] * (len(few) - 12)]
        return [each.__class__(text) for each, text in zip(few, texts, strict=True)]

    monkeypatch.setattr(Translator, "_translate", Translator.translate, raising=False)
    monkeypatch.setattr(Translator, "translate", broken)
    number = len(dev)
    assert found.translate().faults == pytest.approx(
        ((number - 12) / number, 2 / number, 10 / number)
    )


def test_shares_of_the_workers_make_the_whole_validation(learned):
    found, _ = learned
    for compute_share in found.shares.values():
        whole = compute_share(0, 1)
        shares = [compute_share(worker, 3) for worker in range(3)]
        assert [shares[i % 3][i // 3] for i in range(len(whole))] == whole
        assert json.loads(json.dumps(whole)) == [
            [*item] if isinstance(item, tuple) else item for item in whole
        ]


def test_samples_do_not_depend_on_the_number_of_workers(trained):
    loaded = load_run(Run(trained), ignore)
    config = loaded.decoding.model_copy(update={"sample": True})
    translator = Translator(loaded.model, loaded.tokenizers, config, compiled=False)
    sources = [source for source, _ in toy_pairs()[:9]]
    whole = [each.text for each in translator.translate(sources)]
    for worker in range(2):
        share = translator.translate(sources[worker::2], worker, every=2)
        assert [each.text for each in share] == whole[worker::2]


def test_tokens_are_counted():
    config = tiny_config(None, tokenizer__kind="words", tokenizer__vocabularies="separate")
    tokenizers = train_tokenizers(["a b c d"], ["x y"], config.tokenizer)
    counts = TokenCounts(tokenizers)
    source = tokenizers.source.tokenize(tf.constant(["a b"]))
    target = tf.concat([[[2]], tokenizers.target.tokenize(tf.constant(["x x x"])).to_tensor()], 1)
    batch = Batch(source.to_tensor(shape=[1, 5]), target, tf.constant(1))
    counts.add(batch)
    assert counts.unigram_loss() is None  # of too few tokens
    assert counts.untrained_share(batches=2) is None
    for _ in range(50):
        counts.add(batch)
    shares = np.array([3 / 4, 1 / 4])  # x and EOS
    assert counts.unigram_loss() == pytest.approx(-(shares * np.log(shares)).sum())
    learned = tokenizers.source.vocabulary_size + tokenizers.target.vocabulary_size - 8
    assert counts.untrained_share(batches=1) == pytest.approx(1 - 3 / learned)  # a, b and x


def test_pieces_for_single_bytes_are_not_untrained_pieces(corpus):
    setup = set_up(tiny_config(corpus))
    counts = TokenCounts(setup.tokenizers)
    for batch in setup.data.batches(0):
        counts.add(batch)
    assert counts.untrained_share(1) < 0.3
