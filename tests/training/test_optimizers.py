import inspect
from collections.abc import Callable
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import checkpoint_state, tiny_config
from small_models import small_decoder_only, small_rnn, small_transformer

from seq2seq_cli.models.ops.orthogonal import orthogonalise
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs import checkpoints, saving
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.training.adafactor import Adafactor
from seq2seq_cli.training.muon import Muon
from seq2seq_cli.training.optimizers import make_optimizer, muon_matrices

OPTIMIZERS = ["adam", "adamw", "muon", "lion", "adafactor"]


def optimizer_of(model: Seq2Seq, **settings) -> keras.optimizers.Optimizer:
    config = tiny_config("x", **settings).training
    return make_optimizer(config, model, model.trainable_variables)


def draws(shapes: list[tuple], count: int) -> list[list[tf.Tensor]]:
    rng = np.random.default_rng(0)
    return [[tf.constant(rng.normal(size=s), tf.float32) for s in shapes] for _ in range(count)]


def states(optimizers: list, shapes: list[tuple], steps: int = 5) -> list[list[np.ndarray]]:
    """Return weights and state after the same updates by each optimizer."""
    found = []
    for optimizer in optimizers:
        (first,), *gradients = draws(shapes, 1), *draws(shapes, steps)
        weights = [keras.Variable(value, name=f"weight_{i}") for i, value in enumerate(first)]
        optimizer.build(weights)
        apply = tf.function(optimizer.apply, autograph=False)
        for each in gradients:
            apply(each)
        found.append([v.numpy() for v in (*weights, *optimizer.variables)])
    return found


@pytest.mark.skipif(
    "adam_weight_decay" not in inspect.signature(keras.optimizers.Muon).parameters,
    reason="Keras 3.12, the last for Python 3.10, scales the updates otherwise",
)
def test_muon_is_that_of_keras_with_matrices_of_any_form():
    shapes = [(4, 6), (7, 3), (5, 5), (6,)]  # (7, 3) by products of the smaller side
    theirs = keras.optimizers.Muon(
        0.1, adam_beta_2=0.98, epsilon=1e-9, weight_decay=None, adam_weight_decay=None
    )
    ours = Muon(
        {f"weight_{i}": 1 for i in range(3)},
        0.95,
        "float32",
        learning_rate=0.1,
        beta_2=0.98,
        epsilon=1e-9,
    )
    for a, b in zip(*states([ours, theirs], shapes), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_muon_treats_matrices_side_by_side_separately():
    weights = draws([(4, 9)], 1)[0][0]
    ((gradients,),) = [draws([(4, 9)], 1)]
    together, alone = (
        keras.Variable(weights),
        [keras.Variable(part) for part in tf.split(weights, 3, axis=1)],
    )
    for variables, grads, parts in (
        ([together], gradients, 3),
        (alone, tf.split(gradients[0], 3, axis=1), 1),
    ):
        optimizer = Muon({v.path: parts for v in variables}, 0.9, "float32", learning_rate=0.1)
        optimizer.build(variables)
        optimizer.apply(grads, variables)
    np.testing.assert_allclose(
        together.numpy(), np.concatenate([v.numpy() for v in alone], 1), rtol=1e-5
    )


@pytest.mark.parametrize("shape", [(30, 20), (20, 90), (3, 20, 20)])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_singular_values_become_about_one(shape, precision):
    x = draws([shape], 1)[0][0]
    found = np.linalg.svd(orthogonalise(x, precision).numpy(), compute_uv=False)
    assert found.min() > 0.5
    assert found.max() < 1.3
    # The singular vectors stay: U^T x V is diagonal.
    u, _, v = np.linalg.svd(x.numpy(), full_matrices=False)
    inside = np.swapaxes(u, -1, -2) @ orthogonalise(x).numpy() @ np.swapaxes(v, -1, -2)
    np.testing.assert_allclose(inside, inside * np.eye(20), atol=1e-3)


def test_a_matrix_of_zeros_stays_one():
    np.testing.assert_array_equal(orthogonalise(tf.zeros([3, 4])).numpy(), 0)


def test_an_update_of_muon_is_about_as_large_as_one_of_adam():
    for rows, columns in ((64, 64), (64, 256), (256, 64)):
        gradient = draws([(rows, columns)], 1)[0]
        weight = keras.Variable(tf.zeros([rows, columns]))
        optimizer = Muon({weight.path: 1}, 0.95, "float32", learning_rate=1.0)
        optimizer.build([weight])
        optimizer.apply(gradient, [weight])
        assert 0.1 < np.sqrt(np.mean(weight.numpy() ** 2)) < 0.3


def test_muon_updates_the_matrices_inside_layers():
    found = muon_matrices(small_transformer(heads=4, key_value_heads=2))
    assert found["encoder_0/feed_forward/inner_kernel"] == 1
    assert found["encoder_0/self_attention/key_kernel"] == 4
    for attention in ("decoder_0/self_attention", "decoder_0/cross_attention"):
        assert found[f"{attention}/query_kernel"] == 4
        assert found[f"{attention}/key_kernel"] == found[f"{attention}/value_kernel"] == 2
        assert found[f"{attention}/output_kernel"] == 1
    assert not any("table" in path or "bias" in path or "norm" in path for path in found)
    found = muon_matrices(small_decoder_only(heads=4))
    assert found["block_1/self_attention/query_kernel"] == 4
    found = muon_matrices(small_rnn())
    assert found["decoder_1/recurrent_kernel"] == found["decoder/context_kernel"] == 3
    assert found["encoder_1_backward/kernel"] == 3
    assert found["readout/kernel"] == 1
    assert not any(
        name in path for path in found for name in ("embedding", "output_projection", "score/scale")
    )


def test_adafactor_equals_that_of_keras_except_for_the_scale():
    shapes = [(4, 6), (5,)]
    ours, theirs = Adafactor(), keras.optimizers.Adafactor(0.01)
    ours.learning_rate = 0.01
    weights = [[keras.Variable(tf.ones(shape)) for shape in shapes] for _ in range(2)]
    for optimizer, variables in zip((ours, theirs), weights, strict=True):
        optimizer.build(variables)
        for gradients in draws(shapes, 5):
            for variable in variables:  # a weight of ones has the scale 1
                variable.assign(tf.ones(variable.shape))
            optimizer.apply([g * 3 for g in gradients], variables)
    for a, b in zip(*weights, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def test_adafactor_stores_only_means_of_rows_and_columns():
    model = small_transformer()
    kept = optimizer_of(model, training__optimizer="adafactor")
    weights = sum(v.numpy().size for v in model.trainable_variables)
    assert sum(v.numpy().size for v in kept.variables) < weights / 2


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("make", [small_rnn, small_transformer])
def test_each_tensor_of_the_state_has_its_own_path(name, make):
    optimizer = optimizer_of(make(), training__optimizer=name)
    paths = [v.path for v in optimizer.variables]
    assert len(set(paths)) == len(paths)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.few_cases(2)
def test_updates_continue_from_a_checkpoint_with_the_same_bits(name, tmp_path):
    decay = {"training__weight_decay": 0.1} if name != "adam" else {}

    def made(seed: int) -> tuple[list, list, Callable]:
        model = small_rnn(seed=seed)
        optimizer = optimizer_of(model, training__optimizer=name, **decay)
        optimizer.learning_rate = 0.01
        apply = tf.function(optimizer.apply, autograph=False)
        return model.trainable_variables, optimizer.variables, apply

    weights, state, apply = made(seed=0)
    gradients = draws([weight.shape for weight in weights], 4)
    for each in gradients[:2]:
        apply(each)
    path = saving.save(tmp_path, weights, state, checkpoint_state(2))
    saved, (new_weights, new_state, apply_again) = Checkpoint(path), made(seed=9)
    saved.restore(checkpoints.MODEL, new_weights)
    saved.restore(checkpoints.OPTIMIZER, new_state)
    for each in gradients[2:]:
        apply(each)
        apply_again(each)
    for expected, found in zip([*weights, *state], [*new_weights, *new_state], strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("name", OPTIMIZERS[1:])
def test_only_matrices_decay(name):
    model = small_transformer()
    optimizer = optimizer_of(model, training__optimizer=name, training__weight_decay=0.5)
    optimizer.learning_rate = 0.1
    before = {v.path: v.numpy() for v in model.trainable_variables}
    zeros = [tf.zeros(v.shape) for v in model.trainable_variables]
    optimizer.apply(zeros, model.trainable_variables)
    for weight in model.trainable_variables:
        factor = 0.95 if weight.name.endswith("kernel") else 1
        np.testing.assert_allclose(weight.numpy(), factor * before[weight.path], rtol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("compiled", [False, True])
def test_every_optimizer_lowers_a_loss_from_plain_graphs_and_from_compiled_ones(name, compiled):
    (values,) = draws([(4, 6), (5,)], 1)
    weights = [keras.Variable(value, name=f"{i}_kernel") for i, value in enumerate(values)]
    model = SimpleNamespace(trainable_variables=weights, joined_matrices=dict)
    optimizer = optimizer_of(model, training__optimizer=name)
    optimizer.learning_rate = 0.01
    apply = tf.function(optimizer.apply, jit_compile=compiled, autograph=False)

    def length() -> float:
        return sum(float(tf.reduce_sum(weight**2)) for weight in weights)

    before = length()
    for _ in range(3):
        apply([2 * weight.value for weight in weights])
    assert length() < before
