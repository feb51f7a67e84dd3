"""R-Drop and word dropout in the loss of an update."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config
from small_batches import batch
from small_models import small_rnn, small_transformer

from seq2seq_cli.errors import UsageError
from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.special_tokens import EOS, PAD, UNK
from seq2seq_cli.training.setup import set_up
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.tokens import Tokens
from seq2seq_cli.training.word_dropout import SOURCE, TARGET, drop_words


def updater_of(model, shards: int = 1, **settings) -> Updater:
    return Updater(model, tiny_config("x", **settings).training, shards=shards)


@pytest.mark.parametrize("make", [small_rnn, small_transformer])
@pytest.mark.slow
def test_r_drop_changes_no_loss_without_dropout(make):
    source, target, _ = batch()
    found = []
    for weight, shards in ((0.0, 1), (5.0, 2)):
        updater = updater_of(make(), shards, training__r_drop=weight)
        found.append(tf.nest.flatten(updater.compiled(updater.objective.gradients)(source, target)))
    for plain, twice in zip(*found, strict=True):
        np.testing.assert_allclose(plain, twice, rtol=1e-4, atol=1e-6)


def test_r_drop_adds_the_divergence_of_two_predictions():
    model = small_transformer(dropout=0.4)
    model.dropout_key.set(0, 3)
    source, target, _ = batch()
    found = updater_of(model, training__r_drop=5.0, training__label_smoothing=0.0).objective.loss(
        source, target
    )
    with computing(shard=0):
        memory = model.encode(tf.concat([source, source], 0), training=True)
        inputs = tf.concat([target, target], 0)[:, :-1]
        log_p, log_q = tf.split(
            tf.nn.log_softmax(model.logits(model.hidden(inputs, memory, training=True))), 2
        )
    assert not np.allclose(log_p, log_q)
    labels = target[:, 1:]
    real = tf.cast(labels != PAD, tf.float32)
    likelihood = tf.gather(log_p + log_q, labels, batch_dims=2)
    divergence = tf.reduce_sum((tf.exp(log_p) - tf.exp(log_q)) * (log_p - log_q), -1)
    # Liang et al. (2021), equation 4, for a mean of two predictions in place of their sum.
    terms = (-likelihood + 5 * divergence / 2) / 2
    expected = tf.reduce_sum(terms * real) / tf.reduce_sum(real)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_r_drop_counts_each_token_once_in_an_update_by_several_batches():
    source, target, _ = batch()
    model = small_transformer()
    updater = updater_of(model, training__r_drop=5.0)
    whole = updater.objective.loss(source, target)
    part = updater.objective.loss(source, target, tokens=Tokens.of([batch(), batch()]))
    np.testing.assert_allclose(part, whole / 2, rtol=1e-6)


def test_words_are_dropped_at_their_rate_and_special_tokens_are_kept():
    ids = tf.constant(np.random.default_rng(0).integers(0, 50, size=(200, 100)), tf.int32)
    key = DropoutKey()
    key.set(1, 2)
    found = drop_words(ids, 0.25, key, SOURCE).numpy()
    words = ids.numpy() > EOS
    np.testing.assert_array_equal(found[~words], ids.numpy()[~words])
    dropped = found[words] == UNK
    assert dropped.mean() == pytest.approx(0.25, abs=0.01)
    np.testing.assert_array_equal(found[words][~dropped], ids.numpy()[words][~dropped])
    np.testing.assert_array_equal(drop_words(ids, 0.25, key, SOURCE), found)
    assert not np.array_equal(drop_words(ids, 0.25, key, TARGET), found)
    with computing(shard=1):
        assert not np.array_equal(drop_words(ids, 0.25, key, SOURCE), found)
    key.set(1, 3)
    assert not np.array_equal(drop_words(ids, 0.25, key, SOURCE), found)
    assert drop_words(ids, 0.0, key, SOURCE) is ids


@pytest.mark.parametrize("side", ["source", "target"])
def test_dropped_words_are_read_and_not_predicted(side, monkeypatch):
    read, predicted = {}, []
    model = small_rnn()
    for name in ("encode", "hidden"):
        plain = getattr(model, name)

        def recording(ids, *args, plain=plain, name=name, **kwargs):
            read[name] = ids
            return plain(ids, *args, **kwargs)

        monkeypatch.setattr(model, name, recording)
    from seq2seq_cli.training import objective

    plain_loss = objective.cross_entropy
    monkeypatch.setattr(
        objective, "cross_entropy", lambda *args: predicted.append(args[1]) or plain_loss(*args)
    )
    tf.config.run_functions_eagerly(True)
    try:
        source, target, _ = batch()
        updater_of(model, **{f"training__{side}_word_dropout": 0.9}).objective.loss(source, target)
    finally:
        tf.config.run_functions_eagerly(False)
    assert (UNK in read["encode"].numpy()) == (side == "source")
    assert (UNK in read["hidden"].numpy()) == (side == "target")
    np.testing.assert_array_equal(predicted[0], target[:, 1:])


def test_r_drop_without_any_dropout_is_refused():
    settings = {"model__dropout": 0.0, "training__r_drop": 5.0}
    with pytest.raises(UsageError, match=r"training.r_drop \(5.0\) compares two predictions"):
        tiny_config("x", **settings)
    tiny_config("x", **settings, training__source_word_dropout=0.1)
    layers = {"model__kind": "transformer", "model__encoder_layer_drop": 0.2}
    layers["model__attention_dropout"] = 0.0
    config = tiny_config("x", **settings, **layers)  # older runs have it
    with pytest.raises(UsageError, match="with different dropout, and there is none"):
        set_up(config)  # the same layers in both predictions
