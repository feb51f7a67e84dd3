"""What holds for every architecture behind the interface."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from small_models import (
    RNN_SIZES,
    STACK_SIZES,
    assert_every_source_token_matters,
    both,
    few_of,
    small_decoder_only,
    small_rnn,
    small_transformer,
)

from seq2seq_cli.config.model import DecoderOnlyConfig, RNNConfig, TransformerConfig
from seq2seq_cli.models import build_model, invariants
from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.special_tokens import BOS, EOS, PAD

VOCABULARY = 30
SOURCE = tf.constant([[5, 6, 7, 8, EOS], [9, 4, EOS, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]])
TARGET = tf.constant([[BOS, 4, 5, 6], [BOS, 7, 8, PAD], [BOS, 9, 10, 11]])
SIGNATURE = [tf.TensorSpec([None, None], tf.int32)] * 2


GRID = [
    (architecture, norm, activation, positions, (n + a + p) % 2 == 0)  # tying alternates
    for architecture in (Transformer, DecoderOnly)
    for n, norm in enumerate(["pre", "post"])
    for a, activation in enumerate(["relu", "gelu", "swiglu"])
    for p, positions in enumerate(["sinusoidal", "learned"])
]
PAIRS = {choices: set(itertools.combinations(enumerate(choices), 2)) for choices in GRID}


def build(
    architecture,
    norm="pre",
    activation="relu",
    positions="sinusoidal",
    tied=True,
    layers=2,
):
    depth = ("layers",) if architecture is DecoderOnly else ("encoder_layers", "decoder_layers")
    make = small_decoder_only if architecture is DecoderOnly else small_transformer
    model = make(
        both(VOCABULARY),
        inner_units=6,
        norm=norm,
        activation=activation,
        positions=positions,
        max_positions=16,
        dropout=0.3,
        attention_dropout=0.2,
        inner_dropout=0.2,
        tied_embeddings=tied,
        **dict.fromkeys(depth, layers),
    )
    rng = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.4) + (variable.name == "gamma"))
    return model


def rnn() -> RNN:
    model = small_rnn(both(VOCABULARY), dropout=0.3)
    rng = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.4))
    return model


@pytest.fixture(
    scope="module",
    params=[None, *few_of(PAIRS)],
    ids=lambda p: f"{p[0].__name__}-{'-'.join(p[1:4])}-{p[4]}" if p else "RNN",
)
def model(request):
    return build(*request.param) if request.param else rnn()


@pytest.fixture(scope="module", params=[None, Transformer, DecoderOnly])
def one_of_each(request):
    return build(request.param, activation="swiglu", layers=1) if request.param else rnn()


def test_invariants_hold(model):
    for what, deviation in invariants.INVARIANTS.items():
        if deviation is not invariants.compilation:
            assert deviation(model, SOURCE, TARGET) < 1e-5, what


def test_every_source_token_matters(model):
    assert_every_source_token_matters(model, SOURCE, TARGET)


def test_a_larger_capacity_changes_nothing(one_of_each):
    memory = one_of_each.encode(SOURCE)
    state = one_of_each.initial_state(memory, TARGET.shape[1] + 3)
    logits = []
    for token in tf.unstack(TARGET, axis=1):
        logits_BV, _, state = one_of_each.decode_step(token, state, memory)
        logits.append(logits_BV)
    np.testing.assert_allclose(np.stack(logits, 1), one_of_each((SOURCE, TARGET)), atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.few_cases(2)
def test_compiled_equals_not_compiled(one_of_each, training):
    one_of_each.dropout_key.set(5, 1)
    plain = one_of_each((SOURCE, TARGET), training=training)
    for jit in (False, True):

        @tf.function(input_signature=SIGNATURE, jit_compile=jit)
        def compiled(source, target):
            return one_of_each((source, target), training=training)

        np.testing.assert_allclose(compiled(SOURCE, TARGET), plain, atol=1e-5)


def test_memory_and_state_have_the_batch_as_first_axis(model):
    memory = model.encode(SOURCE)
    state = model.initial_state(memory, 8)
    for tensor in [*memory.values(), *(s for s in state.values() if s.shape.rank)]:
        assert tensor.shape[0] == SOURCE.shape[0]
    after = model.decode_step(TARGET[:, 0], state, memory).state
    assert {k: (v.shape, v.dtype) for k, v in after.items()} == {
        k: (v.shape, v.dtype) for k, v in state.items()
    }


def test_dropout_is_a_function_of_seed_and_step(one_of_each):
    def logits(seed: int, step: int) -> np.ndarray:
        one_of_each.dropout_key.set(seed, step)
        return one_of_each((SOURCE, TARGET), training=True).numpy()

    assert np.array_equal(logits(1, 2), logits(1, 2))
    assert not np.allclose(logits(1, 2), logits(1, 3))
    assert not np.allclose(logits(1, 2), logits(2, 2))


def test_without_training_nothing_is_dropped(one_of_each):
    one_of_each.dropout_key.set(1, 1)
    before = one_of_each((SOURCE, TARGET))
    one_of_each.dropout_key.set(1, 2)
    assert np.array_equal(before, one_of_each((SOURCE, TARGET)))


@pytest.mark.parametrize(
    "config",
    [
        RNNConfig(**RNN_SIZES, attention="general"),
        RNNConfig(**RNN_SIZES, wiring="luong", cell="lstm"),
        TransformerConfig(**STACK_SIZES, positions="learned", tied_embeddings=False),
        DecoderOnlyConfig(**STACK_SIZES),
    ],
    ids=lambda config: config.label,
)
def test_building_without_a_seed_draws_no_weights(config):
    models = (build_model(config, both(VOCABULARY), seed) for seed in (1, 2, None))
    for one, other, undrawn in zip(*(m.trainable_variables for m in models), strict=True):
        assert one.path == undrawn.path
        # Biases and scales begin the same with any seed.
        same = np.array_equal(one, other)
        np.testing.assert_array_equal(undrawn, one if same else np.zeros(one.shape))
