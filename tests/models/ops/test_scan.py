import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.ops.scan import LINEAR, product, scan

RNG = np.random.default_rng(0)


def random(*shape: int) -> tf.Tensor:
    return tf.constant(RNG.normal(size=shape), tf.float32)


SEQUENCES = [random(5, 3, 4), random(5, 3, 4), tf.constant(RNG.random((5, 3, 1)) < 0.7)]
STATE = [random(3, 4), random(3, 6)]
FACTORS = {"kernel": random(4, 10), "values": random(3, 7, 4), "shift": random(3, 4)}
BIAS = tf.Variable(random(4))


def body(slices, state, factors, product):
    """A body with all that may occur: a mask, products of both kinds, a variable, an output."""
    first, second = product(LINEAR, state[0], factors["kernel"], [4, 6])
    weights = tf.nn.softmax(tf.tanh(state[1] + second))
    weights = tf.concat([weights, weights[:, :1]], axis=1)
    (context,) = product("bs,bsd->bd", weights, factors["values"])
    (again,) = product(LINEAR, context, factors["kernel"])
    new = tf.tanh(first + context * slices[0] + slices[1] + factors["shift"] + BIAS + again[:, :4])
    state = [tf.where(slices[2], new, state[0]), 0.5 * tf.tanh(state[1]) + again[:, 4:]]
    return state, [weights * 2.0]


def by_scan(sequences, state, factors):
    return scan(body, sequences, state, factors)


def by_python(sequences, state, factors):
    states, outputs = [], []
    for t in range(5):
        state, output = body([x[t] for x in sequences], state, factors, product)
        states.append(state)
        outputs.append(output)
    return [tf.stack(s) for s in zip(*states, strict=True)], [
        tf.stack(o) for o in zip(*outputs, strict=True)
    ]


def results_and_gradients(run):
    watched = [SEQUENCES[:2], STATE, FACTORS]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        states, outputs = run(SEQUENCES, STATE, FACTORS)
        loss = tf.add_n([tf.reduce_sum(x * tf.cos(x)) for x in (*states, *outputs)])
    return states, outputs, tape.gradient(loss, [*watched, BIAS])


@pytest.mark.parametrize("compiled", ["eager", "graph", "fused", "xla"])
@pytest.mark.few_cases(2)
def test_a_scan_is_a_loop_with_the_loop_s_gradient(compiled):
    def run(run):
        with computing(fuse=compiled == "fused"):
            return results_and_gradients(run)

    if compiled != "eager":
        run = tf.function(run, jit_compile=compiled == "xla")
    found, expected = run(by_scan), results_and_gradients(by_python)
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)


def test_a_factor_that_is_not_one_of_the_factors_is_refused():
    stranger = random(4, 4)

    def bad(slices, state, factors, product):
        return product(LINEAR, state[0], stranger), []

    with pytest.raises(ValueError, match="one of the factors"):
        scan(bad, [random(5, 3, 4)], [random(3, 4)], {"kernel": random(4, 4)})


def test_in_bfloat16_loops_are_exact_and_gradients_of_kernels_rounded():
    exact = results_and_gradients(by_scan)
    with computing(precision="bfloat16"):
        rounded = results_and_gradients(by_scan)
    for a, b in zip(tf.nest.flatten(rounded), tf.nest.flatten(exact), strict=True):
        assert a.dtype == tf.float32
        assert tf.norm(a - b) / tf.norm(b) < 0.01
    for a, b in zip(rounded[0], exact[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert tf.norm(rounded[2][2]["kernel"] - exact[2][2]["kernel"]) > 1e-3


def test_a_body_without_a_product_has_a_gradient_too():
    sequence, state = random(5, 3), random(3)
    with tf.GradientTape() as tape:
        tape.watch([sequence, state])
        (states,), _ = scan(lambda x, s, *_: ([x[0] * s[0]], []), [sequence], [state], {})
        last = states[-1]
    np.testing.assert_allclose(last, tf.reduce_prod(sequence, 0) * state, rtol=1e-5)
    dsequence, dstate = tape.gradient(last, [sequence, state])
    np.testing.assert_allclose(dstate, tf.reduce_prod(sequence, 0), rtol=1e-5)
    np.testing.assert_allclose(dsequence * sequence, [last] * 5, rtol=1e-4)
