import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq_cli.models.layers.attention import (
    AdditiveAttention,
    LuongAttention,
    ScoredAttention,
    attend,
    attention_weights,
)
from seq2seq_cli.models.layers.local_attention import MonotonicWindow
from seq2seq_cli.models.layers.multi_head_attention import MultiHeadAttention
from seq2seq_cli.models.layers.scores import AdditiveScore, DotScore, GeneralScore, make_score

SHAPES = st.tuples(*(st.integers(1, 5) for _ in range(5)))
SEEDS = st.integers(0, 2**31 - 1)
KINDS = ["additive", "dot", "general", "concat", "scaled_dot"]
keras_warns_of_one_key = pytest.mark.filterwarnings("ignore:.*You are using a softmax over axis")


def normal(rng, *shape: int) -> tf.Tensor:
    return tf.constant(rng.normal(size=shape), tf.float32)


def make_attention(kind: str, query_units: int, key_units: int) -> ScoredAttention:
    layer = ScoredAttention(make_score(kind, 4, query_units, key_units, seed=1))
    for number, variable in enumerate(layer.trainable_variables):
        variable.assign(np.random.default_rng(number).normal(size=variable.shape))
    return layer


def assert_equal_to_keras(layer, oracle, query, key, shape, seed, causal=False, oracle_query=None):
    """Compare contexts, weights and the gradients of query, key and value."""
    batch, queries, keys, _, value_units = shape
    rng = np.random.default_rng(seed + 1)
    value = normal(rng, batch, keys, value_units)
    mask = rng.random((batch, keys)) < 0.6
    mask[:, 0] = True
    mask = tf.constant(mask)
    towards = normal(rng, batch, queries, value_units)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([query, key, value])
        context, weights = layer(query, value, key, mask_BS=mask, causal=causal)
        expected, expected_weights = oracle(
            [query if oracle_query is None else oracle_query(query), value, key],
            mask=[None, mask],
            return_attention_scores=True,
            use_causal_mask=causal,
        )
        found_loss = tf.reduce_sum(context * towards)
        expected_loss = tf.reduce_sum(expected * towards)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    np.testing.assert_allclose(context, expected, atol=1e-5)
    for a, b in zip(
        tape.gradient(found_loss, [query, key, value]),
        tape.gradient(expected_loss, [query, key, value]),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-5)


@keras_warns_of_one_key
@settings(max_examples=20)
@given(SHAPES, SEEDS, st.booleans())
def test_additive_equals_keras(shape, seed, causal):
    batch, queries, keys, units, _ = shape
    rng = np.random.default_rng(seed)
    query, key = normal(rng, batch, queries, units), normal(rng, batch, keys, units)
    oracle = keras.layers.AdditiveAttention()
    oracle.build([query.shape, key.shape, key.shape])
    # Keras has no projections of its own: identities here, and its scale as v.
    layer = AdditiveAttention(units, units, units, seed=0)
    layer.score.query_kernel.assign(np.eye(units))
    layer.score.key_kernel.assign(np.eye(units))
    layer.score.scale.assign(oracle.scale.numpy()[:, None])
    assert_equal_to_keras(layer, oracle, query, key, shape, seed, causal)


@keras_warns_of_one_key
@settings(max_examples=20)
@given(SHAPES, SEEDS, st.booleans(), st.booleans())
def test_dot_and_scaled_dot_equal_keras(shape, seed, causal, scaled):
    batch, queries, keys, units, _ = shape
    rng = np.random.default_rng(seed)
    query, key = normal(rng, batch, queries, units), normal(rng, batch, keys, units)
    oracle = keras.layers.Attention(use_scale=scaled)
    oracle.build([query.shape, key.shape, key.shape])
    if scaled:
        oracle.scale.assign(units**-0.5)
    layer = ScoredAttention(DotScore(scaled))
    assert_equal_to_keras(layer, oracle, query, key, shape, seed, causal)


@keras_warns_of_one_key
@settings(max_examples=20)
@given(SHAPES, SEEDS, st.integers(1, 5))
def test_general_equals_keras_with_a_projected_query(shape, seed, query_units):
    batch, queries, keys, key_units, _ = shape
    rng = np.random.default_rng(seed)
    query, key = normal(rng, batch, queries, query_units), normal(rng, batch, keys, key_units)
    layer = LuongAttention("general", query_units, key_units, seed=seed)
    assert_equal_to_keras(
        layer,
        keras.layers.Attention(),
        query,
        key,
        shape,
        seed,
        oracle_query=lambda q: tf.einsum("btq,kq->btk", q, layer.score.kernel),
    )


@keras_warns_of_one_key
@settings(max_examples=20)
@given(SHAPES, SEEDS)
def test_concat_equals_keras(shape, seed):
    batch, queries, keys, units, _ = shape
    rng = np.random.default_rng(seed)
    query, key = normal(rng, batch, queries, units), normal(rng, batch, keys, units)
    oracle = keras.layers.Attention(score_mode="concat")
    oracle.build([query.shape, key.shape, key.shape])
    oracle.concat_score_weight.assign(0.7)
    # Keras has one number for v, and no projections.
    layer = LuongAttention("concat", units, units, seed=0)
    layer.score.query_kernel.assign(np.eye(units))
    layer.score.key_kernel.assign(np.eye(units))
    layer.score.scale.assign(np.full((units, 1), 0.7))
    assert_equal_to_keras(layer, oracle, query, key, shape, seed)


def test_additive_score_by_hand():
    score = AdditiveScore(2, 1, 1)
    score.query_kernel.assign([[1.0, 0.0]])
    score.key_kernel.assign([[0.0, 2.0]])
    score.bias.assign([0.5, 0.0])
    score.scale.assign([[3.0], [-1.0]])
    # 3 tanh(1*0.2 + 0.5) - tanh(2*0.4) = 3*0.6043678 - 0.6640368
    keys = score.project_keys(tf.constant([[[0.4]]]))
    np.testing.assert_allclose(score(tf.constant([[0.2]]), keys), [[1.1490666]], rtol=1e-6)


def test_concat_score_by_hand():
    score = make_score("concat", 2, 1, 1)
    score.query_kernel.assign([[1.0, 0.0]])
    score.key_kernel.assign([[0.5, 2.0]])
    score.scale.assign([[3.0], [-1.0]])
    # 3 tanh(1*0.2 + 0.5*0.4) - tanh(0*0.2 + 2*0.4) = 3*0.3799490 - 0.6640368
    keys = score.project_keys(tf.constant([[[0.4]]]))
    np.testing.assert_allclose(score(tf.constant([[0.2]]), keys), [[0.4758102]], rtol=1e-6)


def test_dot_scores_by_hand():
    query, keys = tf.constant([[1.0, 2.0]]), tf.constant([[[3.0, 0.5], [-1.0, 0.25]]])
    # 1*3 + 2*0.5 = 4 and 1*-1 + 2*0.25 = -0.5; divided by sqrt(2) = 1.4142136 where scaled
    dot, scaled = make_score("dot", 0, 2, 2), make_score("scaled_dot", 0, 2, 2)
    np.testing.assert_allclose(dot(query, dot.project_keys(keys)), [[4.0, -0.5]])
    np.testing.assert_allclose(
        scaled(query, scaled.project_keys(keys)), [[2.8284271, -0.3535534]], rtol=1e-6
    )


def test_general_score_by_hand():
    score = GeneralScore(2, 1)
    score.scaled_kernel.assign(np.sqrt(2) * np.array([[3.0, -1.0]]))
    np.testing.assert_allclose(score.kernel, [[3.0, -1.0]], rtol=1e-6)
    # W k = [3*0.5, -1*0.5]; q . W k = 1*1.5 + 2*-0.5
    keys = score.project_keys(tf.constant([[[0.5]]]))
    np.testing.assert_allclose(score(tf.constant([[1.0, 2.0]]), keys), [[0.5]], rtol=1e-5)


def test_attention_by_hand():
    # scores 0 and ln 3, hence weights 1/4 and 3/4, and the context 10/4 + 3*20/4
    layer = LuongAttention("dot", 1, 1)
    values, keys = tf.constant([[[10.0], [20.0]]]), tf.constant([[[0.0], [np.log(3.0)]]])
    context, weights = layer(tf.constant([[1.0]]), values, keys)
    np.testing.assert_allclose(weights, [[0.25, 0.75]], rtol=1e-6)
    np.testing.assert_allclose(context, [[17.5]], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_query_equals_one_of_several(kind):
    key_units = 3 if "dot" in kind else 5
    layer, rng = make_attention(kind, 3, key_units), np.random.default_rng(0)
    queries, keys, values = normal(rng, 2, 6, 3), normal(rng, 2, 7, key_units), normal(rng, 2, 7, 8)
    mask = tf.constant([[True] * 7, [True] * 4 + [False] * 3])
    contexts, weights = layer(queries, values, keys, mask_BS=mask)
    assert contexts.shape == (2, 6, 8)
    for t in range(6):
        context, weight = layer(queries[:, t], values, keys, mask_BS=mask)
        np.testing.assert_allclose(weight, weights[:, t], atol=1e-6)
        np.testing.assert_allclose(context, contexts[:, t], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_half_precision_is_weighted_in_float32(kind, dtype):
    layer, rng = make_attention(kind, 3, 3), np.random.default_rng(0)
    query, values = normal(rng, 2, 4, 3), normal(rng, 2, 5, 3)
    mask = tf.constant([[True] * 5, [True, True, False, False, False]])
    expected, expected_weights = layer(query, values, mask_BS=mask)
    half_context, weights = layer(tf.cast(query, dtype), tf.cast(values, dtype), mask_BS=mask)
    assert (half_context.dtype, weights.dtype) == (dtype, tf.float32)
    np.testing.assert_allclose(tf.reduce_sum(weights, -1), np.ones((2, 4)), atol=1e-6)
    tolerance = 0.01 if dtype == tf.float16 else 0.08
    np.testing.assert_allclose(weights, expected_weights, atol=tolerance)
    np.testing.assert_allclose(tf.cast(half_context, tf.float32), expected, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_only_padding_gives_zeros_and_finite_gradients(kind):
    layer, rng = make_attention(kind, 3, 3), np.random.default_rng(0)
    query, values = normal(rng, 1, 2, 3), normal(rng, 1, 4, 3)
    with tf.GradientTape() as tape:
        tape.watch([query, values])
        context, weights = layer(query, values, mask_BS=tf.zeros([1, 4], tf.bool))
        loss = tf.reduce_sum(context)
    assert not np.any(context)
    assert not np.any(weights)
    for gradient in tape.gradient(loss, [query, values]):
        assert np.isfinite(gradient).all()


def test_causal_queries_see_no_later_positions():
    layer, rng = make_attention("additive", 3, 3), np.random.default_rng(0)
    states = normal(rng, 2, 4, 3)
    mask = tf.constant([[True] * 4, [False, True, True, True]])
    _, weights = layer(states, states, mask_BS=mask, causal=True)
    visible = np.tril(np.ones((4, 4), bool)) & mask.numpy()[:, None]
    assert (weights.numpy()[~visible] == 0).all()
    np.testing.assert_allclose(tf.reduce_sum(weights, -1), visible.any(-1), atol=1e-6)


def test_a_causal_query_needs_a_position():
    with pytest.raises(ValueError, match="causal=True needs queries of shape BTD"):
        LuongAttention("dot", 2, 2)(tf.ones([1, 2]), tf.ones([1, 3, 2]), causal=True)


def test_dot_product_of_unequal_widths_is_an_error():
    with pytest.raises(ValueError, match="query_units=3, key_units=4"):
        LuongAttention("dot", 3, 4)


@pytest.mark.parametrize(
    "make", [lambda: make_score("cosine", 1, 1, 1), lambda: LuongAttention("additive", 1, 1)]
)
def test_unknown_score_is_an_error(make):
    with pytest.raises(ValueError, match="Expected one of .* Received: '(cosine|additive)'"):
        make()


def test_padding_gets_no_weight_and_the_rest_sums_to_one():
    scores = tf.constant([[1e4, -1e4, 3.0], [0.0, 0.0, 0.0]])
    mask = tf.constant([[False, True, True], [True, True, False]])
    weights = attention_weights(scores, mask).numpy()
    np.testing.assert_allclose(weights, [[0, 0, 1], [0.5, 0.5, 0]], atol=1e-7)


def test_a_source_of_only_padding_gives_zeros():
    weights = attention_weights(tf.constant([[1.0, 2.0]]), tf.constant([[False, False]]))
    np.testing.assert_array_equal(weights, [[0.0, 0.0]])


def test_weights_are_float32_for_scores_of_any_dtype():
    scores = tf.constant([[1.0, 2.0]], tf.bfloat16)
    assert attention_weights(scores, tf.constant([[True, True]])).dtype == tf.float32


def test_attend_returns_the_weighted_mean():
    values = tf.constant([[[1.0, 2.0], [3.0, 6.0]]])
    np.testing.assert_allclose(attend(tf.constant([[0.5, 0.5]]), values), [[2.0, 4.0]])


@pytest.mark.parametrize("rank", [2, 3])
def test_a_query_mask_equals_that_of_keras(rank):
    query = tf.random.stateless_normal([2, 3, 4], [1, 2])
    values = tf.random.stateless_normal([2, 5, 4], [3, 4])
    mask, query_mask = tf.sequence_mask([5, 2], 5), tf.sequence_mask([1, 3], 3)
    expected = keras.layers.Attention()([query, values], mask=[query_mask, mask])
    if rank == 2:
        query, query_mask, expected = query[:, 1], query_mask[:, 1], expected[:, 1]
    layer = LuongAttention("dot", query_units=4, key_units=4)
    context, _ = layer(query, values, mask_BS=mask, query_mask=query_mask)
    np.testing.assert_allclose(context, expected, atol=1e-5)
    assert not np.any(context[0, 1:] if rank == 3 else context[0])


def test_a_window_stays_at_the_positions_that_have_a_score():
    scores = tf.fill([1, 6], tf.float32.min) + tf.constant([[0, 1, 2, 0, 0, 0]], tf.float32)
    scores = tf.where(tf.range(6) < 3, [[0.0, 1, 2, 0, 0, 0]], scores)
    for padding in (0, 2):
        mask = tf.constant([[True] * 6 + [False] * padding])
        padded = tf.pad(scores, [[0, 0], [0, padding]], constant_values=tf.float32.min)
        (weights,) = MonotonicWindow(1, positions=3)(padded, mask, tf.constant([[5.0]])).numpy()
        assert weights[:3].sum() == pytest.approx(1)
        assert not weights[3:].any()


@pytest.mark.parametrize(
    "arguments", [{"value": tf.zeros([1, 2, 4])}, {"key": tf.zeros([1, 2, 4]), "causal": True}]
)
def test_arguments_that_do_not_fit_are_refused(arguments):
    layer = MultiHeadAttention(4, 2)
    with pytest.raises(ValueError, match="needs"):
        layer(tf.zeros([1, 4]), **arguments)
