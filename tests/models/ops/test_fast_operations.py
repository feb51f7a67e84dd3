"""Each fast operation against the textbook's form: outputs and gradients, eager, in a graph, fused.

`OPERATIONS` names every operation; a test sees that none is left out.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models import ops, reference, reference_training, reference_variants
from seq2seq_cli.models.ops.adam import adam_with_bfloat16_moments, apply_adam
from seq2seq_cli.models.ops.cache import KeysValues, attend_step
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.ops.cross_entropy import (
    _maximum,
    softmax_cross_entropy,
    symmetric_divergence,
)
from seq2seq_cli.models.ops.dropout import add_dropout, dropout, random_bytes
from seq2seq_cli.models.ops.layer_norm import layer_norm, rms_norm
from seq2seq_cli.models.ops.penalty import penalise
from seq2seq_cli.models.ops.philox import random_integers
from seq2seq_cli.models.ops.products import batched_matmul, column_sums, dense
from seq2seq_cli.models.ops.recompute import recomputed
from seq2seq_cli.models.ops.scan import LINEAR, scan
from seq2seq_cli.models.ops.softmax import masked_softmax

FILES = [path for path in Path(ops.__file__).parent.glob("*.py") if path.stem != "__init__"]
MASK = tf.sequence_mask([5, 2, 0], 5)  # of three sources, one of which is padding alone
LABELS = tf.constant([4, 0, 6, 3])
BYTES = tf.constant(np.random.default_rng(1).integers(0, 256, (3, 4)), tf.uint8)


def normal(*shape: int, seed: int = 0) -> tf.Tensor:
    return tf.constant(np.random.default_rng([seed, *shape]).normal(size=shape), tf.float32)


def gru_by_scan(x_BSD, h_BD, W_x, U_h, b_x, b_h):
    def body(slices, state, factors, product):
        (hz, hr, hn), (xz, xr, xn) = product(LINEAR, state[0], factors["U"], 3), slices
        bz, br, bn = tf.split(factors["b"], 3)
        z, r = tf.sigmoid(xz + hz + bz), tf.sigmoid(xr + hr + br)
        return [z * state[0] + (1 - z) * tf.tanh(xn + r * (hn + bn))], []

    projected = tf.split(tf.transpose(x_BSD, [1, 0, 2]) @ W_x + b_x, 3, axis=-1)
    (states_SBD,), _ = scan(body, projected, [h_BD], {"U": U_h, "b": b_h})
    return tf.transpose(states_SBD, [1, 0, 2])


def gru(x_BSD, h_BD, *weights):
    def cell(x_BD, state):
        return reference.gru(x_BD, state, *weights)

    return reference.unroll(x_BSD, tf.ones(x_BSD.shape[:2], tf.bool), [h_BD], cell)[0]


def attended(query_BTD, keys_BSD, values_BSD):
    scores = reference.scaled_dot(query_BTD, keys_BSD)
    return reference.attend(scores, values_BSD, MASK[:, tf.newaxis])


def attended_in_a_step(query_BTD, keys_BSD, values_BSD):
    """Two rows of each of three sentences ask; there is one head."""
    by_heads = KeysValues(keys_BSD[:, tf.newaxis], values_BSD[:, tf.newaxis])
    query_RHD = tf.reshape(query_BTD, [6, 1, 4])
    found = attend_step(query_RHD, tf.repeat(MASK, 2, axis=0), by_heads)
    return [tf.reshape(x, [3, 2, -1]) for x in found]


def divergence(first_XV, second_XV):
    """KL(p || q) + KL(q || p)."""
    log_p_XV, log_q_XV = tf.nn.log_softmax(first_XV), tf.nn.log_softmax(second_XV)
    return tf.reduce_sum((tf.exp(log_p_XV) - tf.exp(log_q_XV)) * (log_p_XV - log_q_XV), axis=-1)


KERNEL, BIAS = normal(4, 6), normal(6)
OPERATIONS = {
    "dense": (dense, lambda x, w, b: x @ w + b, [normal(3, 5, 4), KERNEL, BIAS]),
    "dense with relu": (
        lambda x, w, b: dense(x, w, b, relu=True),
        lambda x, w, b: tf.maximum(x @ w + b, 0),
        [normal(3, 5, 4), KERNEL, BIAS],
    ),
    "dense by a table": (
        lambda x, w, b: dense(x, tf.transpose(w), b, transpose=True),
        lambda x, w, b: x @ w + b,
        [normal(3, 5, 4), KERNEL, BIAS],
    ),
    "batched_matmul": (
        lambda q, k: batched_matmul(q, k, transpose_b=True),
        reference.dot,
        [normal(3, 2, 4), normal(3, 5, 4)],
    ),
    "batched_matmul, and masked_softmax": (
        lambda s, v: batched_matmul(masked_softmax(s, MASK[:, tf.newaxis]), v),
        lambda s, v: reference.attend(s, v, MASK[:, tf.newaxis])[0],
        [normal(3, 2, 5), normal(3, 5, 4)],
    ),
    "recomputed": (
        lambda x, w: recomputed(lambda x, w: [tf.tanh(x @ w)], x, w)[0],
        lambda x, w: tf.tanh(x @ w),
        [normal(3, 5, 4), KERNEL],
    ),
    "column_sums": (column_sums, lambda x: tf.reduce_sum(x, [0, 1]), [normal(3, 5, 4)]),
    "layer_norm": (layer_norm, reference.layer_norm, [3 * normal(3, 6) + 1, normal(6), BIAS]),
    "rms_norm": (rms_norm, reference_variants.rms_norm, [3 * normal(3, 6) + 1, normal(6)]),
    "softmax_cross_entropy": (
        lambda x: tf.reduce_sum(softmax_cross_entropy(x, LABELS, 0.1)),
        lambda x: reference_training.cross_entropy(x[tf.newaxis], LABELS[tf.newaxis], True, 0.1),
        [9 * normal(4, 131)],
    ),
    "symmetric_divergence": (
        symmetric_divergence,
        divergence,
        [normal(4, 131), normal(4, 131, seed=1)],
    ),
    "dropout": (
        lambda x: dropout(x, BYTES, 64),
        lambda x: reference_training.dropout(x, BYTES >= 64, 0.25),
        [normal(3, 4)],
    ),
    "add_dropout": (
        lambda x, y: add_dropout(x, y, BYTES, 64),
        lambda x, y: x + reference_training.dropout(y, BYTES >= 64, 0.25),
        [normal(3, 4), normal(3, 4, seed=1)],
    ),
    "attend_step": (
        attended_in_a_step,
        attended,
        [normal(3, 2, 4), normal(3, 5, 4), normal(3, 5, 4, seed=1)],
    ),
    "scan": (
        gru_by_scan,
        gru,
        [normal(3, 5, 4), normal(3, 2), normal(4, 6), normal(2, 6), normal(6), normal(6, seed=1)],
    ),
}
# Those of which the textbook has no form of the same shape have tests of their own, below or in
# test_stochastic_rounding.py.
OTHERS = [
    *("apply_adam", "random_bytes", "penalise", "KeysValues", "_maximum"),
    *("adam_with_bfloat16_moments", "random_integers", "round_stochastically"),
]


def outputs_and_gradients(f, inputs):
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = tf.nest.flatten(f(*inputs))
        # Not the square: a sum of squares of weights that sum to 1 hides an error's sign.
        loss = tf.add_n([tf.reduce_sum(tf.sin(x)) for x in outputs])
    return outputs, tape.gradient(loss, inputs)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_and_its_gradient_equal_the_reference(name):
    fast, plain, inputs = OPERATIONS[name]
    expected = outputs_and_gradients(plain, inputs)
    for fuse in (None, False, True):

        def run(fuse=fuse):
            with computing(fuse=bool(fuse)):
                return outputs_and_gradients(fast, inputs)

        found = run() if fuse is None else tf.function(run, autograph=False)()
        for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_every_fast_operation_is_tested():
    special = ("custom_gradient", "raw_ops", "fused")
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and path.stem != "compute":
                text = ast.unparse(node)
                public = not node.name.startswith("_")
                if public and any(word in text for word in special):
                    tested = any(node.name in key for key in [*OPERATIONS, *OTHERS])
                    assert tested, f"{path.name}: {node.name}"


def test_all_fast_operations_are_in_ops():
    package = Path(ops.__file__).parents[2]
    for path in package.rglob("*.py"):
        if path.parent != Path(ops.__file__).parent:
            text = path.read_text()
            for word in ("tf.custom_gradient", "raw_ops", "@fused"):
                assert word not in text, f"{path}: {word}"


def test_adam_equals_the_reference():
    betas, alpha = (0.9, 0.98), 0.01
    theta, m, v = normal(3, 2), tf.zeros([3, 2]), tf.zeros([3, 2])
    weight, moments = tf.Variable(theta), (tf.Variable(m), tf.Variable(v))
    for t in range(1, 4):
        g = normal(3, 2, seed=t)
        theta, m, v = reference_training.adam(theta, m, v, g, t, alpha, betas)
        powers = tuple(tf.constant(beta**t) for beta in betas)
        apply_adam(weight, moments, g, tf.constant(alpha), betas, powers, 0.0)
    for found, expected in zip((weight, *moments), (theta, m, v), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_adam_with_bfloat16_moments_equals_the_reference_up_to_rounding():
    betas, alpha, g, theta = (0.9, 0.98), 0.01, normal(3, 2, seed=1), normal(3, 2)
    zeros = tf.zeros([3, 2], tf.bfloat16)
    keys_22 = tf.constant([[1, 2], [3, 4]])
    expected = reference_training.adam(
        theta, tf.zeros([3, 2]), tf.zeros([3, 2]), g, 1, alpha, betas
    )
    for fuse in (False, True):
        with computing(fuse=fuse):
            weight, *moments = adam_with_bfloat16_moments(
                theta, (zeros, zeros), g, tf.constant(alpha), betas, betas, 0.0, keys_22
            )
        np.testing.assert_allclose(weight, expected[0], rtol=1e-5)
        for found, wanted in zip(moments, expected[1:], strict=True):
            assert found.dtype == tf.bfloat16
            np.testing.assert_allclose(tf.cast(found, tf.float32), wanted, rtol=2**-7)


def test_random_integers_are_uniform_and_depend_only_on_key_and_counter():
    key = tf.constant([7], tf.int64)
    found = random_integers(key, [1, 2], [10_000]).numpy()
    assert abs((found < 0).mean() - 0.5) < 0.02
    np.testing.assert_array_equal(found, random_integers(key, [1, 2], [10_000]))
    for other in (
        random_integers(key + 1, [1, 2], [10_000]),
        random_integers(key, [2, 2], [10_000]),
    ):
        assert (found == other.numpy()).mean() < 0.01


def test_random_bytes_are_uniform_and_depend_only_on_key_and_counter():
    key, shape = tf.constant([7], tf.int64), tf.constant([100, 256])
    found = random_bytes(key, [1, 2], shape).numpy()
    np.testing.assert_array_equal(found, random_bytes(key, [1, 2], shape))
    np.testing.assert_array_equal(found[:10], random_bytes(key, [1, 2], tf.constant([10, 256])))
    counts = np.bincount(found.ravel(), minlength=256)
    assert counts.min() > 50
    assert counts.max() < 160
    for other in (random_bytes(key + 1, [1, 2], shape), random_bytes(key, [2, 2], shape)):
        assert (found == other.numpy()).mean() < 0.02


def test_a_penalty_changes_only_the_gradient():
    h, weights = normal(3, 4), normal(3, 1) ** 2
    with tf.GradientTape() as tape:
        tape.watch(h)
        penalised = penalise(h, weights)
        loss = tf.reduce_sum(penalised)
    np.testing.assert_array_equal(penalised, h)
    np.testing.assert_allclose(tape.gradient(loss, h), 1 + weights * h, rtol=1e-6)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_cache_is_written_at_one_position(in_place):
    keys, values, new = normal(3, 2, 5, 4), normal(3, 2, 5, 4, seed=1), normal(3, 2, 4)
    expected = keys.numpy()
    expected[:, :, 3] = new

    @tf.function
    def write(keys, values):
        cache = KeysValues(tf.identity(keys) + 0, tf.identity(values) + 0)
        return cache.write(KeysValues(new, new), tf.constant(3), in_place)

    np.testing.assert_array_equal(write(keys, values).keys_BHSD, expected)
    grown = write(keys, values).grow(tf.constant(7)).values_BHSD
    assert grown.shape == (3, 2, 7, 4)
    np.testing.assert_array_equal(grown[:, :, 3], new)


def test_attention_to_shared_and_own_keys_is_that_to_all():
    query, keys, values = normal(3, 2, 4), normal(3, 5, 4), normal(3, 5, 4, seed=1)
    query_RHD, mask_RX = tf.reshape(query, [6, 1, 4]), tf.repeat(MASK, 2, axis=0)

    def part(begin, end, times=1):
        """Keys and values of the sentences, or of each of their two rows."""
        parts = (x[:, tf.newaxis, begin:end] for x in (keys, values))
        return KeysValues(*(tf.repeat(x, times, axis=0) for x in parts))

    whole = attend_step(query_RHD, mask_RX, part(0, 5))
    for found in (
        attend_step(query_RHD, mask_RX, part(0, 2), part(2, 5, times=2)),
        attend_step(query_RHD, mask_RX, own=part(0, 5, times=2)),
    ):
        for a, b in zip(found, whole, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("width", [1, 64, 65, 128, 263])
def test_the_maximum_is_found_at_any_position(width):
    np.testing.assert_array_equal(_maximum(tf.eye(width)), 1)


def test_a_divergence_is_float32_and_its_gradient_of_the_dtype_of_the_logits():
    first, second = (tf.cast(normal(3, 9, seed=seed), tf.bfloat16) for seed in (1, 2))
    with tf.GradientTape() as tape:
        tape.watch(first)
        found = symmetric_divergence(first, second)
    assert found.dtype == tf.float32
    assert tape.gradient(found, first).dtype == tf.bfloat16
