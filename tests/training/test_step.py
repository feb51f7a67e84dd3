import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config
from small_batches import batch
from small_models import small_rnn, small_transformer

from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.training.loss import cross_entropy
from seq2seq_cli.training.step import Updater


def model() -> RNN:
    return small_rnn(dropout=0.2)


def updated(compile_: str, steps: int = 3, **settings) -> tuple[list[float], list[np.ndarray]]:
    config = tiny_config("x", training__compile=compile_, **settings).training
    m = model()
    updater = Updater(m, config)
    losses = [float(updater.update([batch()], n, 0.01)[0]) for n in range(steps)]
    return losses, [v.numpy() for v in m.trainable_variables]


@pytest.mark.parametrize("compiled", ["auto", pytest.param("xla", marks=pytest.mark.slow)])
def test_compiled_and_plain_graphs_make_the_same_updates(compiled):
    (losses, weights), (plain_losses, plain_weights) = updated(compiled), updated("graph")
    np.testing.assert_allclose(losses, plain_losses, rtol=1e-5)
    for a, b in zip(weights, plain_weights, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)


def gradients_in_shards(kind: str, shards: int, rows: int, dtype: str) -> list[np.ndarray]:
    config = tiny_config("x", training__compile="graph").training
    model = small_rnn(activation_penalty=0.1) if kind == "rnn" else small_transformer()
    updater = Updater(model, config, dtype, shards)
    found = updater.compiled(updater.objective.gradients)(*batch(rows)[:2])
    return [tensor.numpy() for tensor in tf.nest.flatten(found)]


@pytest.mark.parametrize(
    ("kind", "rows", "dtype", "shards", "bound"),
    [
        ("transformer", 7, "float32", 3, 1e-6),
        ("transformer", 1, "float32", 2, 1e-6),  # one of them has no sentence
        ("transformer", 7, "bfloat16", 2, 0.01),
        ("rnn", 7, "float32", 2, 1e-6),
        ("rnn", 7, "bfloat16", 2, 0.01),
    ],
)
@pytest.mark.few_cases(1)
def test_shards_give_the_gradient_of_the_whole_batch(kind, rows, dtype, shards, bound):
    whole, parts = (gradients_in_shards(kind, n, rows, dtype) for n in (1, shards))
    for a, b in zip(parts, whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=10 * bound, atol=bound)


def compiled_parts(shards: int) -> int:
    """Return how many functions of an update XLA compiles."""
    model = small_rnn()
    updater = Updater(model, tiny_config("x", training__compile="auto").training, shards=shards)
    traced = updater.compiled(updater.objective.gradients).get_concrete_function()
    functions = traced.graph.as_graph_def().library.function
    return sum(function.attr["_XlaMustCompile"].b for function in functions)


def test_what_all_shards_compute_is_compiled_once():
    assert compiled_parts(shards=3) == compiled_parts(shards=1) > 1


def test_an_update_is_that_of_adam_on_the_clipped_summed_gradient():
    config = tiny_config("x", model__dropout=0.0, training__gradient_clip_norm=0.1).training
    m = small_rnn()
    before = [v.numpy() for v in m.trainable_variables]
    source, target, _ = batch()
    with tf.GradientTape() as tape:
        total, tokens = cross_entropy(m((source, target[:, :-1])), target[:, 1:], 0.1)
        loss = total / tokens
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, m.trainable_variables)]
    norm = np.sqrt(sum(float(tf.reduce_sum(g**2)) for g in gradients))
    assert norm > 0.1

    updater = Updater(m, config)
    found_loss, found_norm = updater.update([batch()], 0, 0.01)
    np.testing.assert_allclose(found_loss, loss, rtol=1e-6)
    np.testing.assert_allclose(found_norm, norm, rtol=1e-5)
    for old, new, gradient in zip(before, m.trainable_variables, gradients, strict=True):
        clipped = gradient.numpy() * 0.1 / norm
        # Adam's first step, bias corrections included, is rate * g / (|g| + eps').
        step = 0.01 * clipped / (np.abs(clipped) + 1e-9 / np.sqrt(1 - 0.98))
        np.testing.assert_allclose(new.numpy(), old - step, atol=1e-4)
    moments = [v.numpy() for v in updater.variables if "momentum" in v.path]
    for moment, gradient in zip(moments, gradients, strict=True):
        expected = (1 - config.beta_1) * gradient.numpy() * 0.1 / norm
        np.testing.assert_allclose(moment, expected, rtol=1e-3, atol=1e-8)


def test_rows_of_padding_change_no_update():
    def after(extra: int) -> list[np.ndarray]:
        config = tiny_config("x").training
        m = small_rnn()
        source, target, pairs = batch()
        padded = Batch(
            tf.pad(source, [[0, extra], [0, 0]]), tf.pad(target, [[0, extra], [0, 0]]), pairs
        )
        Updater(m, config).update([padded], 0, 0.001)
        return [v.numpy() for v in m.trainable_variables]

    for a, b in zip(after(0), after(3), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_compiling_ahead_says_how_many_shapes_are_done():
    done = []
    updater = Updater(model(), tiny_config("x", training__compile="graph").training)
    updater.compile_for([(2, 3, 4), (2, 4, 4), (2, 5, 4)], done.append)
    assert done == [1, 2, 3]


@pytest.mark.slow
def test_compiling_ahead_changes_no_update():
    def train(ahead: bool) -> list[np.ndarray]:
        trained, made = model(), batch()
        updater = Updater(trained, tiny_config("x", training__compile="auto").training, shards=2)
        rows, source, target = *made.source_BS.shape, made.target_BT.shape[1] - 1
        for number in range(2):
            if ahead:
                updater.compile_for([(rows, source, target), (rows, source + 1, target)])
            updater.update([made], number, 0.01)
        return [v.numpy() for v in (*trained.trainable_variables, *updater.variables)]

    for plain, prepared in zip(train(ahead=False), train(ahead=True), strict=True):
        np.testing.assert_array_equal(plain, prepared)
