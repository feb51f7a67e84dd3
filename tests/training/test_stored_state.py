"""Optimizers whose state is stored in bfloat16."""

import shutil
from collections.abc import Callable
from types import SimpleNamespace

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from conftest import checkpoint_state, tiny_config
from small_batches import batch
from small_models import small_rnn, small_transformer

from seq2seq_cli.models.layers.regularisation import LAYER_SITES
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.runs import checkpoints, saving
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.naming import run_path
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training import stored_state
from seq2seq_cli.training.adam import Adam
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.exchange import Exchange
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.optimizers import make_optimizer
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.word_dropout import TARGET

OPTIMIZERS = ["adam", "adamw", "muon", "lion", "adafactor"]
SHAPES = [(30, 20), (40,)]
WEIGHTS = {"kernel": (40, 30), "bias": (30,), "embeddings": (50, 30)}


def made(name: str, states: str, **settings) -> tuple[list[keras.Variable], list, Callable]:
    """Return weights, the optimizer's state, and the function of an update."""
    model = SimpleNamespace(
        trainable_variables=[
            keras.Variable(tf.ones(shape), name=name) for name, shape in WEIGHTS.items()
        ],
        joined_matrices=dict,
    )
    config = tiny_config(
        "x", training__optimizer=name, training__optimizer_states=states, **settings
    ).training
    optimizer = make_optimizer(config, model, model.trainable_variables)
    optimizer.learning_rate = 0.001
    return (
        model.trainable_variables,
        optimizer.variables,
        tf.function(optimizer.apply, autograph=False),
    )


def gradients(weights: list, count: int) -> list[list[tf.Tensor]]:
    rng = np.random.default_rng(0)
    return [
        [tf.constant(rng.normal(size=w.shape), tf.float32) for w in weights] for _ in range(count)
    ]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_state_and_weights_are_those_of_float32_to_the_precision_of_bfloat16(name):
    found = {}
    for states in ("float32", "bfloat16"):
        weights, state, apply = made(name, states)
        before = [weight.numpy() for weight in weights]
        for each in gradients(weights, 10):
            apply(each)
        moved = [w.numpy() - old for w, old in zip(weights, before, strict=True)]
        found[states] = moved, state
    for state, exact in zip(found["bfloat16"][1], found["float32"][1], strict=True):
        if state.name in ("iteration", "learning_rate"):
            assert state.numpy() == exact.numpy()
            continue
        assert state.numpy().dtype == ml_dtypes.bfloat16
        ours, scale = state.numpy().astype(np.float32), np.sqrt(np.mean(exact.numpy() ** 2))
        np.testing.assert_allclose(ours, exact.numpy(), rtol=0.03, atol=0.03 * scale)
    ours, exact = (np.concatenate([*map(np.ravel, moved)]) for moved, _ in found.values())
    # Lion's sign changes where the mean is almost 0.
    assert np.isclose(ours, exact, rtol=0.1, atol=0.1 * np.abs(exact).max()).mean() > 0.95


@pytest.mark.parametrize("fuse", [False, True])
def test_adam_is_that_of_the_paper_computed_in_numpy(fuse):
    rng = np.random.default_rng(0)
    start = [rng.normal(size=shape).astype(np.float32) for shape in SHAPES]
    weights = [keras.Variable(value, name=f"w{i}") for i, value in enumerate(start)]
    optimizer = Adam(states="bfloat16", learning_rate=0.1, beta_2=0.98, epsilon=1e-9)
    optimizer.build(weights)
    expected = [value.astype(np.float64) for value in start]
    m, v = ([np.zeros(shape) for shape in SHAPES] for _ in range(2))
    apply = tf.function(optimizer.apply, autograph=False)
    for t in range(1, 21):
        drawn = [rng.normal(1.0, 0.1, size=shape).astype(np.float32) for shape in SHAPES]
        with computing(fuse=fuse):
            apply([tf.constant(g) for g in drawn])
        for i, g in enumerate(drawn):
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.98 * v[i] + 0.02 * g**2
            m_hat, v_hat = m[i] / (1 - 0.9**t), v[i] / (1 - 0.98**t)
            expected[i] -= 0.1 * m_hat / (np.sqrt(v_hat) + 1e-9)
    for weight, value in zip(weights, expected, strict=True):
        # Twenty updates of about 0.1 each, whose errors of at most a percent do not add up.
        np.testing.assert_allclose(weight.numpy(), value, rtol=0, atol=0.02)


def test_a_slow_mean_decays_although_a_step_is_less_than_bfloat16_resolves():
    weight = keras.Variable(np.zeros(20_000, np.float32))
    optimizer = Adam(states="bfloat16", learning_rate=0.0, beta_2=0.999)
    optimizer.build([weight])
    velocity = optimizer.variables[-1]
    velocity.assign(np.ones(20_000))
    apply = tf.function(optimizer.apply, autograph=False)
    for _ in range(300):
        apply([tf.zeros([20_000])])
    left = velocity.numpy().astype(np.float64).mean()
    assert left == pytest.approx(0.999**300, rel=0.003)
    # To the nearest, 0.999 is rounded to 1.
    assert np.float32(0.999).astype(ml_dtypes.bfloat16) == 1


def test_each_moment_of_each_weight_is_rounded_by_random_numbers_of_its_own():
    weights = [keras.Variable(np.zeros(500, np.float32), name=f"w{i}") for i in range(2)]
    optimizer = Adam(states="bfloat16", beta_1=0.9, beta_2=0.9)
    optimizer.build(weights)
    apply = tf.function(optimizer.apply, autograph=False)
    # With gradients of 1, all moments have the same exact values.
    kept = []
    for _ in range(2):
        for state in optimizer.variables[2:]:
            state.assign(np.zeros(500))
        apply([tf.ones([500])] * 2)
        kept += [state.numpy() for state in optimizer.variables[2:]]
    for i, one in enumerate(kept):
        assert all((one != other).any() for other in kept[:i])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_continue_from_a_checkpoint_with_the_same_bits(name, tmp_path):
    weights, state, apply = made(name, "bfloat16")
    drawn = gradients(weights, 4)
    for each in drawn[:2]:
        apply(each)
    path = saving.save(tmp_path, weights, state, checkpoint_state(2))
    new_weights, new_state, apply_again = made(name, "bfloat16")
    apply_again(drawn[3])
    Checkpoint(path).restore(checkpoints.MODEL, new_weights)
    Checkpoint(path).restore(checkpoints.OPTIMIZER, new_state)
    for each in drawn[2:]:
        apply(each)
        apply_again(each)
    for expected, found in zip([*weights, *state], [*new_weights, *new_state], strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize(
    ("compiled", "parts"),
    [
        ("graph", 1),
        ("auto", 3),
        ("xla", 1),
    ],
)
@pytest.mark.slow
def test_updates_have_the_same_bits_twice_and_another_seed_has_others(compiled, parts):
    found = []
    for seed in (1, 1, 2):
        model = small_transformer(dropout=0.0)
        config = tiny_config(
            "x",
            training__optimizer_states="bfloat16",
            training__compile=compiled,
            training__parts=parts,
            training__ema=0.9,
            training__seed=seed,
        ).training
        updater = Updater(model, config)
        updater.compile_for([(6, 5, 5)])
        for number in range(3):
            updater.update([batch(6)] * parts, number, 0.01)
        found.append([v.numpy() for v in (*updater.variables, *updater.averages)])
    for first, again in zip(*found[:2], strict=True):
        np.testing.assert_array_equal(first, again)
    assert any((one != other).any() for one, other in zip(found[0], found[2], strict=True))


@pytest.mark.slow
def test_a_training_continues_with_the_same_bits(corpus, workdir):
    config = tiny_config(
        corpus,
        training__optimizer_states="bfloat16",
        training__steps=4,
        training__validate_every_steps=2,
        training__keep_checkpoints=9,
    )
    train(config, ignore, name="whole")
    shutil.copytree(run_path("whole"), run_path("resumed"))
    newest, *_ = checkpoints.checkpoint_folders(Run(run_path("resumed")).checkpoints)
    shutil.rmtree(newest)
    train(config, ignore, resume=Run(run_path("resumed")))
    found = []
    for name in ("whole", "resumed"):
        newest, *_ = checkpoints.checkpoint_folders(Run(run_path(name)).checkpoints)
        found.append({path.name: path.read_bytes() for path in newest.glob("*.safetensors")})
    assert found[0] == found[1]


def test_workers_get_the_same_bits_of_the_state(monkeypatch):
    weights, state, apply = made("adam", "bfloat16")
    apply(gradients(weights, 1)[0])
    before = [v.numpy() for v in state]
    exchange = object.__new__(Exchange)
    monkeypatch.setattr(Exchange, "__call__", lambda self, values: values)  # of one worker
    exchange.give(state, gives=True)
    for value, variable in zip(before, state, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def test_rounding_shares_no_random_counter_with_dropout():
    assert max(TARGET, LAYER_SITES + 64) < stored_state._SITE


def test_the_state_takes_half_the_bytes():
    sizes = {}
    for states in ("float32", "bfloat16"):
        model = small_rnn()
        config = tiny_config("x", training__optimizer_states=states).training
        kept = make_optimizer(config, model, model.trainable_variables).variables[2:]
        sizes[states] = sum(v.numpy().nbytes for v in kept)
    assert 2 * sizes["bfloat16"] == sizes["float32"]
