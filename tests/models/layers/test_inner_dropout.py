"""Dropout inside the feed-forward networks."""

import numpy as np
import pytest
import tensorflow as tf
from small_models import small_decoder_only, small_transformer

from seq2seq_cli.models import reference_training
from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.layers.feed_forward import FeedForward
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.ops.dropout import random_bytes
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.special_tokens import BOS, EOS, PAD

SOURCE = tf.constant([[5, 6, 7, EOS], [8, 9, EOS, PAD]])
TARGET = tf.constant([[BOS, 5, 6], [BOS, 7, EOS]])
SITE = 3

both_stacks = pytest.mark.parametrize("make", [small_transformer, small_decoder_only])


def dropouts(model: Seq2Seq) -> list[tuple[type, int]]:
    """Return the kind of layer that has each dropout, and its site."""
    return [
        (type(layer), value.site)
        for layer in [model, *model._flatten_layers(include_self=False)]
        for value in vars(layer).values()
        if isinstance(value, Dropout)
    ]


def logits(model: Seq2Seq, update: int = 1, training: bool = True) -> np.ndarray:
    model.dropout_key.set(0, update)
    return model((SOURCE, TARGET), training=training).numpy()


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_units_are_dropped_between_the_activation_and_the_second_product(activation):
    key = DropoutKey()
    layer = FeedForward(4, 6, activation, seed=0, dropout=Dropout(0.25, key, SITE))
    for variable in layer.trainable_variables:
        variable.assign(tf.random.stateless_normal(variable.shape, [1, len(variable.path)]))
    x = tf.random.stateless_normal([2, 5, 4], [1, 2])

    def affine(name: str, inputs: tf.Tensor) -> tf.Tensor:
        return inputs @ getattr(layer, f"{name}_kernel") + getattr(layer, f"{name}_bias")

    inner = {"relu": tf.nn.relu, "gelu": tf.nn.gelu, "swiglu": tf.nn.silu}[activation](
        affine("inner", x)
    )
    if activation == "swiglu":
        inner *= affine("gate", x)
    kept = random_bytes(key.value, [0, SITE], tf.shape(inner)) >= 64
    assert 0.5 < np.mean(kept) < 0.95
    expected = affine("output", reference_training.dropout(inner, kept, 0.25))
    np.testing.assert_allclose(layer(x, training=True), expected, atol=1e-5)
    np.testing.assert_allclose(layer(x), affine("output", inner), atol=1e-5)


@both_stacks
def test_each_feed_forward_network_has_its_own_dropout(make):
    found = dropouts(make(inner_dropout=0.1))
    assert len({site for _, site in found}) == len(found)
    assert sum(owner is FeedForward for owner, _ in found) == 2


@both_stacks
def test_a_rate_of_0_changes_no_other_mask(make):
    found = dropouts(make())
    # Each attention has two and each feed-forward network one; the embeddings have two or one.
    assert sorted(site for _, site in found) == [*range(10 if make is small_transformer else 7)]
    assert not any(owner is FeedForward for owner, _ in found)
    rates = {"dropout": 0.2, "attention_dropout": 0.2}
    np.testing.assert_array_equal(logits(make(**rates)), logits(make(**rates, inner_dropout=0.0)))


@both_stacks
def test_masks_depend_on_the_update_and_the_part_of_the_batch(make):
    model = make(inner_dropout=0.5)
    first = logits(model)
    np.testing.assert_array_equal(logits(model), first)
    assert not np.allclose(logits(model, update=2), first)
    with computing(shard=1):
        assert not np.allclose(logits(model), first)


@both_stacks
def test_nothing_is_dropped_in_translations(make):
    found = logits(make(inner_dropout=0.5), training=False)
    np.testing.assert_array_equal(found, logits(make(), training=False))
