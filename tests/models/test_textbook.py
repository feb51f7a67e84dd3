"""Whole models against the textbook with the same weights."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config
from small_models import both, small_decoder_only, small_rnn, small_transformer
from test_reference import assert_same, randomised

from seq2seq_cli.models import reference_training
from seq2seq_cli.models.ensemble import Ensemble
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.textbook import textbook_outputs
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.training.step import Updater
from seq2seq_cli.vocabularies import Vocabularies

SOURCE = tf.constant([[5, 6, 7, EOS], [9, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
TARGET = tf.constant([[BOS, 4, 5, EOS], [BOS, 7, EOS, PAD], [BOS, 9, 10, EOS]])


def rnn(cell: str, layers: int, attention: str, wiring: str, **options) -> RNN:
    options |= {"wiring": wiring.split()[0], "input_feeding": "feeding" in wiring}
    options |= {"cell": cell, "encoder_layers": layers, "decoder_layers": layers}
    sizes = {"embedding_units": 4, "encoder_units": 3, "attention_units": 5}
    sizes["decoder_units"] = 3 if options.get("bidirectional") is False else 6
    return small_rnn(both(11), attention=attention, **sizes, **options)


def stack(make: Callable, *choices: str, joint: bool = True, **options) -> Seq2Seq:
    options |= dict(zip(("norm", "activation", "positions"), choices, strict=True))
    return make(Vocabularies(11, 12, joint), inner_units=6, **options)


transformer = partial(stack, small_transformer, encoder_layers=2)
decoder_only = partial(stack, small_decoder_only)


# Every value of every option; RNNs of three layers have a residual connection.
UNTIED, SEPARATE = {"tied_embeddings": False}, {"joint": False}
FEW = {"max_positions": 3}
ONE_WAY, ZERO = {"bidirectional": False}, {"bridge": "zero"}
MODELS = {
    "gru bahdanau": lambda: rnn("gru", 1, "additive", "bahdanau"),
    "lstm bahdanau": lambda: rnn("lstm", 3, "dot", "bahdanau", **ONE_WAY),
    "gru luong": lambda: rnn("gru", 3, "scaled_dot", "luong", **ZERO),
    "lstm luong": lambda: rnn("lstm", 2, "concat", "luong", **ONE_WAY),
    "gru luong with feeding": lambda: rnn("gru", 3, "additive", "luong with feeding", **ONE_WAY),
    "lstm luong with feeding": lambda: rnn("lstm", 2, "general", "luong with feeding", **ZERO),
    "transformer": lambda: transformer("pre", "relu", "sinusoidal", **SEPARATE),
    "transformer gelu": lambda: transformer("post", "gelu", "learned", **FEW, **UNTIED),
    "transformer swiglu": lambda: transformer("pre", "swiglu", "learned", **SEPARATE, **UNTIED),
    "decoder only": lambda: decoder_only("post", "relu", "sinusoidal", **UNTIED),
    "decoder only gelu": lambda: decoder_only("pre", "gelu", "learned", **FEW, **SEPARATE),
    "decoder only swiglu": lambda: decoder_only("post", "swiglu", "learned"),
}


def by_steps(model: Seq2Seq) -> tuple[tf.Tensor, tf.Tensor]:
    """Return logits and attention of each decoding step."""
    memory = model.encode(SOURCE)
    state, step = model.initial_state(memory, TARGET.shape[1]), model.make_step()
    logits, attention = [], []
    for token_B in tf.unstack(TARGET, axis=1):
        logits_BV, attention_BS, state = step(token_B, state, memory)
        logits.append(logits_BV)
        attention.append(attention_BS)
    return tf.stack(logits, axis=1), tf.stack(attention, axis=1)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.few_cases(5)
def test_models_equal_the_reference(name):
    model = randomised(MODELS[name]())
    assert_same(
        lambda: model((SOURCE, TARGET)),
        lambda: textbook_outputs(model, SOURCE, TARGET).logits_BTV,
        [],
        model.trainable_variables,
    )
    logits_BTV, attention_BTS, _ = textbook_outputs(model, SOURCE, TARGET)
    for found, expected in zip(by_steps(model), (logits_BTV, attention_BTS), strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_attention_maps_equal_the_reference_in_every_layer_and_head(name):
    model = randomised(MODELS[name]())
    found = model.attention_maps(SOURCE, TARGET)
    expected = textbook_outputs(model, SOURCE, TARGET)
    np.testing.assert_allclose(found.logits_BTV, expected.logits_BTV, atol=2e-5)
    assert found.maps.keys() == expected.maps.keys()
    for kind, layers in expected.maps.items():
        assert len(found.maps[kind]) == len(layers)
        for weights_BHTS, expected_BHTS in zip(found.maps[kind], layers, strict=True):
            np.testing.assert_allclose(
                _real(kind, weights_BHTS), _real(kind, expected_BHTS), atol=1e-6
            )


def _real(kind: str, weights_BHTS: tf.Tensor) -> np.ndarray:
    """Return the rows of queries that are no padding of the source, in whatever order."""
    queries = tf.cast(SOURCE != PAD, tf.float32)
    if kind == "stack":
        queries = tf.concat([queries, tf.ones(TARGET.shape)], axis=1)
    is_of_source = kind in ("encoder", "stack")
    return weights_BHTS * queries[:, tf.newaxis, :, tf.newaxis] if is_of_source else weights_BHTS


def test_the_reference_refuses_ensembles():
    with pytest.raises(TypeError, match="Received: Ensemble"):
        textbook_outputs(Ensemble([MODELS["transformer"]()]), SOURCE, TARGET)


# XLA compiles parts of an update, which takes seconds.
@pytest.mark.parametrize("name", ["gru bahdanau", "transformer"])
@pytest.mark.few_cases(1)
def test_loss_and_gradient_of_training_equal_the_reference(name):
    model = randomised(MODELS[name]())
    settings = {"compile": "auto", "label_smoothing": 0.1, "gradient_clip_norm": 1e9}
    config = tiny_config("x", **{f"training__{key}": value for key, value in settings.items()})
    updater = Updater(model, config.training)
    gradients, loss = updater.compiled(updater.objective.gradients)(SOURCE, TARGET)
    labels = TARGET[:, 1:]
    tokens = tf.math.count_nonzero(labels, dtype=tf.float32)
    with tf.GradientTape() as tape:
        logits = textbook_outputs(model, SOURCE, TARGET[:, :-1]).logits_BTV
        expected_loss = (
            reference_training.cross_entropy(logits, labels, labels != PAD, 0.1) / tokens
        )
    expected_gradients = tape.gradient(expected_loss, model.trainable_variables)
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    for a, b in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(a, tf.convert_to_tensor(b), rtol=1e-5, atol=1e-5)
