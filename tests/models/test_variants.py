"""Every option that a paper adds to the models: the invariants, and equality with the textbook."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config
from small_models import (
    RNN_SIZES,
    STACK_SIZES,
    assert_every_source_token_matters,
    both,
    few_of,
)
from test_reference import assert_same

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.config.model import MODELS, ModelConfig
from seq2seq_cli.decoding.constraints import exclude_special_tokens
from seq2seq_cli.decoding.scoring import forced_log_probabilities
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.models import build_model, count_weights, invariants
from seq2seq_cli.models.layers import regularisation
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.textbook import textbook_outputs
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.training.requirements import _most_weights
from seq2seq_cli.vocabularies import Vocabularies

SOURCE = tf.constant([[5, 6, 7, 8, 9, EOS], [9, 4, EOS, *[PAD] * 3], [EOS, *[PAD] * 5]])
TARGET = tf.constant([[BOS, 4, 5, 6, 7], [BOS, 7, 8, PAD, PAD], [BOS, 9, 10, 11, 4]])

NONE = {"attention": "none", "encoder_units": 4, "decoder_units": 7}
SUTSKEVER, CHO = NONE | {"wiring": "luong"}, NONE | {"wiring": "bahdanau"}
ONE_WAY, DEEP = {"bidirectional": False}, {"encoder_layers": 3, "decoder_layers": 3}
ZERO = {"bridge": "zero"}
LOCAL_M = {"attention": "general", "attention_span": "local_m", "attention_window": 1}
LOCAL_P = {"attention": "general", "attention_span": "local_p", "attention_window": 2}
MAXOUT = {"readout": "maxout", "wiring": "bahdanau"}
RNNS = {
    "none luong": SUTSKEVER,
    "none luong deep": SUTSKEVER | DEEP | {"cell": "lstm"},
    "none luong one way": SUTSKEVER | ONE_WAY,
    "none bahdanau": CHO | {"cell": "lstm"},
    "none bahdanau deep": CHO | DEEP | ZERO,
    "none bahdanau one way": CHO | ONE_WAY | {"decoder_layers": 2},
    "maxout": MAXOUT,
    "maxout deep": MAXOUT | DEEP | {"cell": "lstm", "attention": "general"},
    "maxout two layers": MAXOUT | ONE_WAY | {"decoder_layers": 2},
    "none bahdanau maxout": CHO | MAXOUT,
    "location": {"attention": "location", "attention_positions": 9},
    "location, few positions": {
        **{"attention": "location", "attention_positions": 3, "wiring": "bahdanau"},
    },
    "location without feeding": {
        **{"attention": "location", "attention_positions": 4, "input_feeding": False},
    },
    "local-m": LOCAL_M,
    "local-m without feeding": LOCAL_M | {"input_feeding": False} | DEEP,
    "local-m location": {
        **{"attention": "location", "attention_positions": 3, "wiring": "luong"},
        **{"attention_span": "local_m", "attention_window": 1},
    },
    "local-m bahdanau": LOCAL_M | {"wiring": "bahdanau", "cell": "lstm", "attention": "concat"},
    "local-m bahdanau maxout": LOCAL_M | MAXOUT | DEEP,
    "local-p": LOCAL_P | DEEP,
    "local-p without feeding": LOCAL_P | {"input_feeding": False, "attention": "additive"},
    "local-p bahdanau": LOCAL_P | {"wiring": "bahdanau", "attention": "location"},
    "local-p dot": LOCAL_P | {"attention": "dot", "encoder_units": 3, "decoder_units": 6},
}
STACK = {"kind": "transformer", "encoder_layers": 2, "decoder_layers": 2, "inner_units": 6}
STACKS = {
    "rms": STACK | {"normalisation": "rms"},
    "rms post": STACK | {"normalisation": "rms", "norm": "post", "tied_embeddings": False},
    "rms decoder only": {"kind": "decoder_only", "normalisation": "rms"},
    "rotary": STACK | {"positions": "rotary"},
    "rotary decoder only": {"kind": "decoder_only", "positions": "rotary", "heads": 1},
    "alibi": STACK | {"positions": "alibi"},
    "alibi decoder only": {"kind": "decoder_only", "positions": "alibi", "units": 12, "heads": 3},
    "relative": STACK | {"positions": "relative"},
    "relative decoder only": {"kind": "decoder_only", "positions": "relative"},
    "grouped": STACK | {"heads": 4, "key_value_heads": 2, "positions": "rotary"},
    "grouped alibi": STACK | {"heads": 4, "key_value_heads": 2, "positions": "alibi"},
    "wide heads": STACK | {"head_units": 6, "positions": "rotary"},
    "narrow heads": STACK | {"heads": 3, "head_units": 1, "norm": "post"},
    "narrow heads decoder only": {
        **{"kind": "decoder_only", "heads": 4, "head_units": 2, "key_value_heads": 2},
    },
    "multi-query": STACK | {"key_value_heads": 1},
    "shared layers": STACK | {"weight_sharing": "layers", "decoder_layers": 3},
    "shared stacks": STACK | {"weight_sharing": "stacks", "positions": "relative"},
    "shared stacks, grouped": STACK | {"weight_sharing": "stacks", "key_value_heads": 1},
    "shared decoder only": {"kind": "decoder_only", "weight_sharing": "layers", "layers": 3},
    "parallel": STACK | {"parallel_blocks": True},
    "parallel decoder only": {"kind": "decoder_only", "parallel_blocks": True},
    "palm": {  # all of that model's options
        **{"kind": "decoder_only", "parallel_blocks": True, "positions": "rotary"},
        **{"key_value_heads": 1, "activation": "swiglu", "normalisation": "rms"},
    },
    "grouped decoder only": {"kind": "decoder_only", "heads": 4, "key_value_heads": 2},
}
VARIANTS = RNNS | STACKS
SIZES = {"encoder_units", "decoder_units", "units", "inner_units", "heads", "layers"}
COMPILED = [  # together they have every option but `alibi`
    "local-m",
    "local-p bahdanau",
    "none bahdanau",
    "maxout deep",
    "shared stacks",
    "palm",
]


def config_of(name: str, dropout: float = 0.0) -> ModelConfig:
    options = VARIANTS[name]
    sizes = STACK_SIZES if "kind" in options else RNN_SIZES
    return MODELS[options.get("kind", "rnn")](**sizes | options | {"dropout": dropout})


def make(name: str, dropout: float = 0.0) -> Seq2Seq:
    """Return a tiny model with random weights."""
    model = build_model(config_of(name, dropout), both(13))
    rng = np.random.default_rng(0)
    for variable in model.trainable_variables:
        gain = variable.name == "gamma"
        variable.assign(rng.normal(size=variable.shape, scale=0.5) + gain)
    return model


def values(name: str) -> set[tuple[str, str, object]]:
    """Return what a variant has: a kind of model, an option and its value."""
    options = VARIANTS[name]
    kind = options.get("kind", "rnn")
    return {(kind, option, value) for option, value in options.items() if option not in SIZES}


@pytest.fixture(scope="module", params=few_of({name: values(name) for name in VARIANTS}))
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def model(name) -> Seq2Seq:
    return make(name)


@pytest.mark.few_cases(5)
def test_invariants_hold(model):
    for what, deviation in invariants.INVARIANTS.items():
        if deviation is not invariants.compilation:
            assert deviation(model, SOURCE, TARGET) < 2e-5, what


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_equals_not_compiled(name):
    model = make(name, dropout=0.3)
    model.dropout_key.set(3, 4)
    assert invariants.compilation(model, SOURCE, TARGET) < 2e-5


def test_models_equal_the_reference(model):
    assert_same(
        lambda: model((SOURCE, TARGET)),
        lambda: textbook_outputs(model, SOURCE, TARGET).logits_BTV,
        [],
        model.trainable_variables,
    )
    expected = textbook_outputs(model, SOURCE, TARGET)
    logits_BTV, attention_BTS = model.reported_attention(SOURCE, TARGET)
    np.testing.assert_allclose(logits_BTV, expected.logits_BTV, atol=3e-5)
    np.testing.assert_allclose(attention_BTS, expected.attention_BTS, atol=1e-5)
    maps = model.attention_maps(SOURCE, TARGET).maps
    assert {kind: len(layers) for kind, layers in maps.items()} == {
        kind: len(layers) for kind, layers in expected.maps.items()
    }
    real_BS = (SOURCE != PAD).numpy()  # queries of padding may attend to anything
    for kind, layers in expected.maps.items():
        for found_BHTS, expected_BHTS in zip(maps[kind], layers, strict=True):
            length = found_BHTS.shape[2]
            counted_BT = np.ones([len(SOURCE), length], bool)
            if kind in ("encoder", "stack"):
                counted_BT[:, : SOURCE.shape[1]] = real_BS
            both_BTH = (np.swapaxes(x, 1, 2)[counted_BT] for x in (found_BHTS, expected_BHTS))
            np.testing.assert_allclose(*both_BTH, atol=1e-5)


def test_every_weight_learns(model):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.log_softmax(model((SOURCE, TARGET)))[..., 5])
    variables = model.trainable_variables
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        assert np.any(tf.convert_to_tensor(gradient)), variable.path


@pytest.mark.few_cases(4)
def test_every_source_token_matters(model):
    assert_every_source_token_matters(model, SOURCE, TARGET)


@pytest.mark.few_cases(5)
def test_weights_have_unique_paths_and_bounded_values(name, model):
    paths = [variable.path for variable in model.variables]
    assert len(set(paths)) == len(paths)
    assert paths == [variable.path for variable in make(name).variables]
    config = tiny_config("x").model_copy(update={"model": config_of(name)})
    assert _most_weights(config, both(13)) >= count_weights(config.model, both(13))


@pytest.mark.few_cases(4)
def test_a_beam_of_one_is_greedy_and_scores_equal_teacher_forcing(model):
    longest = np.full(len(SOURCE), 6, np.int32)
    memory, token = model.encode(SOURCE), tf.fill([len(SOURCE)], BOS)
    state, chosen = model.initial_state(memory, 6), []
    for _ in range(6):
        logits_BV, _, state = model.decode_step(token, state, memory)
        token = tf.argmax(exclude_special_tokens(logits_BV, 0), axis=1, output_type=tf.int32)
        chosen.append(token.numpy())
    found = Search(model, DecodingConfig(beam=1, length_penalty=0.0), False, False)(SOURCE, longest)
    for ids, expected in zip(found.ids_BNT[:, 0].numpy(), np.stack(chosen, axis=1), strict=True):
        ended = [*np.flatnonzero(expected == EOS), 5][0] + 1
        assert ids[ids != PAD].tolist() == expected[:ended].tolist()
    config = DecodingConfig(beam=3, n_best=3, length_penalty=0.0)
    wide = Search(model, config, False, False)(SOURCE, longest)
    for n in range(3):
        given = forced_log_probabilities(model, SOURCE, wide.ids_BNT[:, n])
        total = tf.reduce_sum(given, axis=1)
        there = np.isfinite(wide.score_BN[:, n])
        np.testing.assert_allclose(
            total[there], wide.log_probability_BN[:, n][there], rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize("sharing", ["none", "layers"])
def test_source_and_target_of_a_decoder_only_model_have_different_dropout(sharing, monkeypatch):
    options = {"layers": 3, "weight_sharing": sharing, "dropout": 0.5, "attention_dropout": 0.5}
    config = MODELS["decoder_only"](**STACK_SIZES | options)
    model = build_model(config, Vocabularies(20, 20))
    drawn = []

    def drawing(key, counter, shape):
        drawn.append(int(counter[1]))
        return random_bytes(key, counter, shape)

    random_bytes = regularisation.random_bytes
    monkeypatch.setattr(regularisation, "random_bytes", drawing)
    model((SOURCE, TARGET), training=True)
    assert len(drawn) == len(set(drawn)) > 10
    assert max(drawn) < regularisation.LAYER_SITES


def test_layers_with_shared_weights_have_different_dropout():
    model = make("shared stacks", dropout=0.5)
    model.dropout_key.set(1, 2)
    x = tf.ones([2, 5, 8])
    first, same, second = (
        model.encoder[0](x, training=True, depth=depth).outputs_BTD for depth in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert not np.allclose(first, second)
    assert model.encoder[0].self_attention is model.decoder[1].self_attention
