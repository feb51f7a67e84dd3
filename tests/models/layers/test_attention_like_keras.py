"""The layers of attention against Keras' own: learned scales, dropout, masks, groups."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.layers.attention import AdditiveAttention, LuongAttention
from seq2seq_cli.models.layers.multi_head_attention import MultiHeadAttention

BATCH, QUERIES, KEYS, UNITS = 3, 4, 5, 6
MASK = tf.sequence_mask([5, 2, 1], KEYS)
QUERY_MASK = tf.sequence_mask([4, 1, 3], QUERIES)


def normal(*shape: int, seed: int = 0) -> tf.Tensor:
    return tf.constant(np.random.default_rng((seed, *shape)).normal(size=shape), tf.float32)


QUERY, VALUE, KEY = (
    normal(BATCH, QUERIES, UNITS),
    normal(BATCH, KEYS, 7),
    normal(BATCH, KEYS, UNITS),
)


def outputs_and_gradients(call, inputs, weights) -> list[np.ndarray]:
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = call(*inputs)
        loss = tf.reduce_sum(outputs * normal(*outputs.shape, seed=9))
    gradients = tape.gradient(loss, [*inputs, *weights])
    return [outputs, *(tf.convert_to_tensor(gradient) for gradient in gradients)]


def assert_same(found, expected, weights, oracle_weights, inputs=(QUERY, VALUE, KEY)) -> None:
    """Compare outputs and gradients; the weights correspond, in maybe other shapes."""
    found = outputs_and_gradients(found, list(inputs), weights)
    expected = outputs_and_gradients(expected, list(inputs), oracle_weights)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.reshape(a, np.shape(b)), b, atol=2e-5)


def additive(use_scale: bool, **options) -> tuple:
    """Return a layer, Keras', and the weights of each that correspond."""
    oracle = keras.layers.AdditiveAttention(use_scale=use_scale, **options)
    oracle.build([QUERY.shape, VALUE.shape, KEY.shape])
    dropout = keras.layers.Dropout(options["dropout"], seed=7) if options else None
    layer = AdditiveAttention(UNITS, UNITS, UNITS, use_scale=use_scale, dropout=dropout)
    layer.score.query_kernel.assign(np.eye(UNITS))
    layer.score.key_kernel.assign(np.eye(UNITS))
    if not use_scale:
        return layer, oracle, [], []
    layer.score.scale.assign(oracle.scale[:, tf.newaxis])
    return layer, oracle, [layer.score.scale], [oracle.scale]


def dot(use_scale: bool, **options) -> tuple:
    oracle = keras.layers.Attention(use_scale=use_scale, **options)
    oracle.build([QUERY.shape, VALUE.shape, KEY.shape])
    dropout = keras.layers.Dropout(options["dropout"], seed=7) if options else None
    layer = LuongAttention("dot", UNITS, UNITS, use_scale=use_scale, dropout=dropout)
    for variable in (*layer.trainable_variables, *oracle.trainable_variables):
        variable.assign(0.6)
    return layer, oracle, layer.trainable_variables, oracle.trainable_variables


def concat(use_scale: bool, **options) -> tuple:
    oracle = keras.layers.Attention(use_scale=use_scale, score_mode="concat", **options)
    oracle.build([QUERY.shape, VALUE.shape, KEY.shape])
    oracle.concat_score_weight.assign(0.7)
    dropout = keras.layers.Dropout(options["dropout"], seed=7) if options else None
    layer = LuongAttention("concat", UNITS, UNITS, use_scale=use_scale, dropout=dropout)
    layer.score.query_kernel.assign(np.eye(UNITS))
    layer.score.key_kernel.assign(np.eye(UNITS))
    layer.score.scale.assign(np.full((UNITS, 1), 0.7))
    if not use_scale:
        return layer, oracle, [], []
    layer.score.gain.assign(1.3)
    oracle.scale.assign(1.3)
    return layer, oracle, [layer.score.gain], [oracle.scale]


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("use_scale", [False, True])
@pytest.mark.parametrize("make", [additive, dot, concat])
def test_scales_dropout_and_masks_equal_those_of_keras(make, use_scale, dropout):
    options = {"dropout": dropout, "seed": 7} if dropout else {}
    layer, oracle, weights, oracle_weights = make(use_scale, **options)

    def found(query, value, key):
        return layer(
            query,
            value,
            key,
            mask_BS=MASK,
            causal=True,
            query_mask=QUERY_MASK,
            training=True,
            return_weights=False,
        )

    def expected(query, value, key):
        masks = [QUERY_MASK, MASK]
        return oracle([query, value, key], mask=masks, use_causal_mask=True, training=True)

    assert_same(found, expected, weights, oracle_weights)
    # Not in training nothing is dropped, and the weights come on demand.
    context, attention = layer(QUERY, VALUE, KEY, mask_BS=MASK)
    theirs = oracle([QUERY, VALUE, KEY], mask=[None, MASK], return_attention_scores=True)
    np.testing.assert_allclose(context, theirs[0], atol=1e-5)
    np.testing.assert_allclose(attention, theirs[1], atol=1e-5)


def test_a_scale_of_general_is_refused():
    with pytest.raises(ValueError, match="'general' already includes a learned scale"):
        LuongAttention("general", 2, 2, use_scale=True)


def multi_head(groups: int | None, dropout: float) -> tuple[MultiHeadAttention, keras.layers.Layer]:
    """Return our layer and Keras', with 4 heads, and maybe fewer of keys and values."""
    options = {"dropout": dropout, "seed": 7}
    if groups is None:
        oracle = keras.layers.MultiHeadAttention(4, 3, **options)
    else:
        oracle = keras.layers.GroupQueryAttention(3, 4, groups, **options)
    oracle.build(QUERY.shape, VALUE.shape, KEY.shape)
    layer = MultiHeadAttention(
        *(12, 4, UNITS, UNITS, 7, keras.layers.Dropout(dropout, seed=7)), key_value_heads=groups
    )
    for number, (ours, theirs) in enumerate(
        zip(layer.trainable_variables, oracle.trainable_variables, strict=True)
    ):
        theirs.assign(0.5 * normal(*theirs.shape, seed=number))
        ours.assign(np.reshape(theirs, ours.shape))
    return layer, oracle


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("groups", [None, 4, 2, 1])
def test_heads_and_groups_equal_those_of_keras(groups, dropout):
    layer, oracle = multi_head(groups, dropout)
    mask = MASK[:, tf.newaxis] & (normal(BATCH, QUERIES, KEYS) < 1)
    mask |= tf.one_hot(tf.zeros([BATCH, QUERIES], tf.int32), KEYS, True, False)

    def found(query, value, key):
        return layer(query, key, value, mask, training=True, return_weights=False)

    def expected(query, value, key):
        return oracle(query, value, key, attention_mask=mask, training=True)

    assert_same(found, expected, layer.trainable_variables, oracle.trainable_variables)
    outputs, weights = layer(QUERY, KEY, VALUE, mask, causal=True)
    theirs, their_weights = oracle(
        *(QUERY, VALUE, KEY),
        attention_mask=mask,
        use_causal_mask=True,
        return_attention_scores=True,
    )
    np.testing.assert_allclose(outputs, theirs, atol=1e-5)
    np.testing.assert_allclose(weights, their_weights, atol=1e-5)


@pytest.mark.parametrize("groups", [None, 2])
def test_a_masked_query_gives_zeros_and_changes_no_other_query(groups):
    layer, oracle = multi_head(groups, 0.0)
    outputs, weights = layer(QUERY, KEY, VALUE, MASK, query_mask=QUERY_MASK)
    theirs = oracle(QUERY, VALUE, KEY, attention_mask=MASK[:, tf.newaxis])
    np.testing.assert_allclose(outputs[QUERY_MASK], theirs[QUERY_MASK], atol=1e-5)
    assert not np.any(outputs[~QUERY_MASK])
    one, _ = layer(QUERY[:, 1], KEY, VALUE, MASK, query_mask=QUERY_MASK[:, 1])
    np.testing.assert_allclose(one, outputs[:, 1], atol=1e-6)
    assert weights.shape == (BATCH, 4, QUERIES, KEYS)


def test_key_heads_that_do_not_divide_the_query_heads_are_an_error():
    with pytest.raises(ValueError, match="key_value_heads=3, heads=4"):
        MultiHeadAttention(8, 4, key_value_heads=3)
