import itertools

import numpy as np
import pytest
import tensorflow as tf
from small_models import both, small_rnn

from seq2seq_cli.models import invariants
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.special_tokens import BOS, EOS, PAD

SCORES = ["additive", "dot", "general", "concat", "scaled_dot"]
WIRINGS = [("bahdanau", False), ("luong", False), ("luong", True)]
GRID = list(itertools.product(["gru", "lstm"], [1, 3], [False, True], SCORES, WIRINGS))
PAIRWISE = GRID[::7]  # has every pair of choices
# Models that cover the choices, for what takes long.
COVERING = [
    ("gru", 1, False, "general", ("luong", True)),
    ("gru", 1, True, "additive", ("bahdanau", False)),
    ("lstm", 1, False, "dot", ("luong", False)),
    ("lstm", 2, True, "concat", ("luong", True)),
    ("gru", 3, False, "scaled_dot", ("bahdanau", False)),
]
SOURCE = tf.constant([[5, 6, EOS], [9, EOS, PAD], [EOS, PAD, PAD]])
TARGET = tf.constant([[BOS, 4, 5], [BOS, 7, PAD], [BOS, 9, 10]])


def make(
    cell="gru",
    layers=1,
    bidirectional=True,
    score="additive",
    wiring=("bahdanau", False),
    **options,
) -> RNN:
    """Return a tiny model with random weights, biases included."""
    sizes = {
        **{"embedding_units": 4, "encoder_units": 3, "decoder_units": 6 if bidirectional else 3},
        **{"attention_units": 5, "encoder_layers": layers, "decoder_layers": layers},
    }
    choices = {
        **{"cell": cell, "bidirectional": bidirectional, "attention": score},
        **{"wiring": wiring[0], "input_feeding": wiring[1], "dropout": 0.3},
    }
    model = small_rnn(both(16), **sizes | choices | options)
    rng = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.5))
    return model


def test_every_pair_of_choices_is_tried():
    def pairs(models) -> set:
        numbered = (enumerate(choices) for choices in models)
        return {pair for each in numbered for pair in itertools.combinations(each, 2)}

    assert pairs(PAIRWISE) == pairs(GRID)


@pytest.mark.parametrize("choices", PAIRWISE, ids=str)
@pytest.mark.few_cases(4)
def test_invariants_hold(choices):
    model = make(*choices)
    for name, deviation in invariants.INVARIANTS.items():
        if deviation is not invariants.compilation:
            assert deviation(model, SOURCE, TARGET) < 1e-5, name


@pytest.mark.parametrize("choices", COVERING[1:4], ids=str)
@pytest.mark.few_cases(1)
def test_compiled_equals_not_compiled_forward_and_backward(choices):
    assert invariants.compilation(make(*choices), SOURCE, TARGET) < 1e-5


@pytest.mark.parametrize("choices", COVERING, ids=str)
def test_every_parameter_learns(choices):
    model = make(*choices)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.log_softmax(model((SOURCE, TARGET), training=True))[..., 5])
    for variable, gradient in zip(
        model.trainable_variables,
        tape.gradient(loss, [v.value for v in model.trainable_variables]),
        strict=True,
    ):
        assert np.any(tf.convert_to_tensor(gradient)), variable.path


def test_bahdanau_wiring_by_its_equations():
    """Two steps of the paper's equations, with Keras' cell and no projection taken out."""
    model = make()
    memory = model.encode(SOURCE)
    decoder, mask = model.decoder, (SOURCE != PAD).numpy()
    values, state = memory["values"].numpy(), memory["initial_h1"].numpy()
    kernel = np.concatenate([decoder.cell.kernel, decoder.context_kernel])
    logits = model((SOURCE, TARGET))
    for t in range(TARGET.shape[1]):
        embedded = tf.gather(model.target_embedding.embeddings, TARGET[:, t]).numpy()
        hidden = np.tanh(
            (state @ decoder.score.query_kernel.numpy())[:, None]
            + values @ decoder.score.key_kernel.numpy()
            + decoder.score.bias.numpy()
        )
        exponentials = np.exp(hidden @ decoder.score.scale.numpy())[..., 0] * mask
        weights = exponentials / exponentials.sum(-1, keepdims=True)
        context = (weights[..., None] * values).sum(1)
        inputs = np.concatenate([embedded, context], -1) @ kernel + decoder.cell.bias.numpy()
        (next_state,) = decoder.cell(tf.split(inputs, 3, axis=-1), [tf.constant(state)])
        state = next_state.numpy()
        joined = np.concatenate([state, embedded, context], -1)
        kernel_bias = decoder.readout.kernel.numpy(), decoder.readout.bias.numpy()
        readout = np.tanh(joined @ kernel_bias[0] + kernel_bias[1])
        np.testing.assert_allclose(model.output_projection(readout), logits[:, t], atol=1e-5)


@pytest.mark.parametrize("feeding", [False, True])
def test_luong_wiring_by_its_equations(feeding):
    model = make(score="general", wiring=("luong", feeding), bidirectional=False)
    decoder, mask = model.decoder, (SOURCE != PAD).numpy()
    memory = model.encode(SOURCE)
    embedded = model.source_embedding(SOURCE)
    values = model.encoder(embedded, tf.constant(mask))[0].numpy()
    state, fed = memory["initial_h1"].numpy(), np.zeros([3, 3], np.float32)
    logits = model((SOURCE, TARGET))
    for t in range(TARGET.shape[1]):
        inputs = tf.gather(model.target_embedding.embeddings, TARGET[:, t]).numpy()
        kernel = decoder.cell.kernel.numpy()
        if feeding:
            inputs = np.concatenate([inputs, fed], -1)
            kernel = np.concatenate([kernel, decoder.feed_kernel])
        projected = tf.constant(inputs @ kernel + decoder.cell.bias.numpy())
        (next_state,) = decoder.cell(tf.split(projected, 3, axis=-1), [tf.constant(state)])
        state = next_state.numpy()
        scores = np.einsum("bq,kq,bsk->bs", state, decoder.score.kernel.numpy(), values)
        exponentials = np.exp(scores) * mask
        weights = exponentials / exponentials.sum(-1, keepdims=True)
        context = (weights[..., None] * values).sum(1)
        fed = np.tanh(np.concatenate([context, state], -1) @ decoder.attentional_kernel.numpy())
        np.testing.assert_allclose(model.output_projection(fed), logits[:, t], atol=1e-5)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_bridge_projects_the_state_of_the_cell_that_ends_at_the_first_word(cell):
    model = make(cell, layers=2)
    memory = model.encode(SOURCE)
    _, last = model.encoder(model.source_embedding(SOURCE), SOURCE != PAD)
    names = ["h1", "h2"] if cell == "gru" else ["h1", "c1", "h2", "c2"]
    assert model.decoder.state_names == names
    for name, bridge, state in zip(names, model.bridges, last * 2, strict=True):
        expected = np.tanh(state @ bridge.kernel.numpy() + bridge.bias.numpy())
        np.testing.assert_allclose(memory[f"initial_{name}"], expected, atol=1e-6)


def test_bridge_of_zeros_begins_with_zeros():
    model = make("lstm", bridge="zero")
    memory = model.encode(SOURCE)
    assert all(not np.any(state) for state in model.initial_state(memory, 5).values())
    assert not model.bridges


def test_variational_dropout_drops_the_same_units_of_each_word():
    model = make(variational_dropout=True, dropout=0.5)
    dropped = model.target_dropout(tf.ones([4, 9, 50]), training=True).numpy() == 0
    assert (dropped == dropped[:, :1]).all()
    assert (dropped[0] != dropped[1]).any()


@pytest.mark.parametrize("wiring", ["luong", "bahdanau"])
def test_the_penalty_acts_without_attention(wiring):
    ids = tf.random.stateless_uniform([4, 6], [1, 2], 4, 20, tf.int32)

    def gradient_norm(penalty: float) -> float:
        model = small_rnn(attention="none", wiring=wiring, activation_penalty=penalty)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model((ids, ids), training=True))
        gradients = tape.gradient(loss, model.encoder.trainable_variables)
        return float(tf.linalg.global_norm(gradients))

    assert gradient_norm(5.0) != gradient_norm(0.0)


def test_the_penalty_makes_the_encoders_values_smaller():
    source = tf.random.stateless_uniform([4, 6], [1, 2], 4, 20, tf.int32)

    def shrunk_by(penalty: float, training: bool = True) -> tf.Tensor:
        model = small_rnn(activation_penalty=penalty)
        weights = model.encoder.trainable_variables
        with tf.GradientTape() as tape:
            values = model.encode(source, training)["values"]
        for weight, gradient in zip(
            weights, tape.gradient(values, weights, tf.zeros_like(values)), strict=True
        ):
            weight.assign_sub(gradient)
        return tf.norm(values) - tf.norm(model.encode(source)["values"])

    assert shrunk_by(0.1) > 0
    assert shrunk_by(0.0) == 0
    assert shrunk_by(0.1, training=False) == 0


def test_the_same_seed_gives_the_same_weights():
    first, same, other = (small_rnn(seed=seed) for seed in (1, 1, 2))
    pairs = list(zip(first.trainable_variables, same.trainable_variables, strict=True))
    assert all(np.array_equal(a, b) for a, b in pairs)
    assert any(
        not np.array_equal(a, b)
        for a, b in zip(first.trainable_variables, other.trainable_variables, strict=True)
    )


@pytest.mark.parametrize("choices", PAIRWISE, ids=str)
@pytest.mark.few_cases(3)
def test_variables_have_unique_stable_paths(choices):
    first, second = make(*choices), make(*choices)
    paths = [v.path for v in first.variables]
    assert len(set(paths)) == len(paths)
    assert paths == [v.path for v in second.variables]


@pytest.mark.parametrize("wiring", WIRINGS, ids=str)
def test_a_row_of_only_padding_gives_no_nan(wiring):
    model = make(wiring=wiring)
    source, target = tf.constant([[PAD, PAD], [5, 3]]), tf.constant([[PAD, PAD], [2, 6]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model((source, target)))
    gradients = tape.gradient(loss, model.trainable_variables)
    assert np.isfinite(loss)
    assert all(np.isfinite(tf.convert_to_tensor(g)).all() for g in gradients)
