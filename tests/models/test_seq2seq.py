"""What holds for every architecture behind the seam."""

import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.special_tokens import BOS, EOS, PAD

VOCABULARY = 30
SOURCE = tf.constant([[5, 6, 7, 8, EOS], [9, 4, EOS, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]])
TARGET = tf.constant([[BOS, 4, 5, 6], [BOS, 7, 8, PAD], [BOS, 9, 10, 11]])


def rnn() -> RNN:
    return RNN(VOCABULARY, VOCABULARY, 6, 5, 7, 4, dropout=0.3, seed=3)


@pytest.fixture(scope="module", params=[rnn], ids=lambda make: make.__name__)
def model(request):
    model = request.param()
    rng = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.4))
    return model


def steps(model, source, target) -> tuple[np.ndarray, np.ndarray]:
    memory = model.encode(source)
    state = model.initial_state(memory, target.shape[1])
    logits, attention = [], []
    for t in range(target.shape[1]):
        output = model.decode_step(target[:, t], state, memory)
        state = output.state
        logits.append(output.logits_BV)
        attention.append(output.attention_BS)
    return np.stack(logits, 1), np.stack(attention, 1)


def test_stepping_equals_teacher_forcing(model):
    logits, _ = steps(model, SOURCE, TARGET)
    np.testing.assert_allclose(logits, model((SOURCE, TARGET)), atol=1e-5)


def test_later_target_tokens_change_no_earlier_logit(model):
    before = model((SOURCE, TARGET)).numpy()
    changed = tf.concat([TARGET[:, :2], TARGET[:, 2:] + 3], axis=1)
    after = model((SOURCE, changed)).numpy()
    np.testing.assert_allclose(after[:, :2], before[:, :2], atol=1e-6)
    assert not np.allclose(after[:, 2:], before[:, 2:], atol=1e-3)


def test_more_source_padding_changes_nothing(model):
    padded = tf.pad(SOURCE, [[0, 0], [0, 4]], constant_values=PAD)
    np.testing.assert_allclose(model((padded, TARGET)), model((SOURCE, TARGET)), atol=1e-5)


def test_every_source_token_matters(model):
    before = model((SOURCE, TARGET)).numpy()[0]
    for place in range(SOURCE.shape[1]):
        changed = SOURCE.numpy()
        changed[0, place] += 7
        after = model((tf.constant(changed), TARGET)).numpy()[0]
        assert not np.allclose(after, before, atol=1e-6)


def test_the_order_of_the_batch_changes_nothing(model):
    order = [2, 0, 1]
    found = model((tf.gather(SOURCE, order), tf.gather(TARGET, order)))
    np.testing.assert_allclose(found, tf.gather(model((SOURCE, TARGET)), order), atol=1e-5)


def test_attention_sums_to_one_off_the_padding_and_is_zero_on_it(model):
    _, attention = steps(model, SOURCE, TARGET)
    np.testing.assert_allclose(attention.sum(-1), 1, atol=1e-6)
    padding = np.broadcast_to((SOURCE.numpy() == PAD)[:, None], attention.shape)
    assert (attention[padding] == 0).all()


@pytest.mark.parametrize("training", [False, True])
def test_compiled_equals_not_compiled(model, training):
    model.dropout_key.set(5, 1)
    plain = model((SOURCE, TARGET), training=training)
    compiled = tf.function(lambda: model((SOURCE, TARGET), training=training), jit_compile=True)()
    np.testing.assert_allclose(compiled, plain, atol=1e-5)


def test_memory_and_state_lead_with_the_batch(model):
    memory = model.encode(SOURCE)
    state = model.initial_state(memory, 8)
    for tensor in [*memory.values(), *(s for s in state.values() if s.shape.rank)]:
        assert tensor.shape[0] == SOURCE.shape[0]
    after = model.decode_step(TARGET[:, 0], state, memory).state
    assert {k: (v.shape, v.dtype) for k, v in after.items()} == {
        k: (v.shape, v.dtype) for k, v in state.items()
    }


def test_dropout_is_a_function_of_seed_and_step(model):
    def logits(seed: int, step: int) -> np.ndarray:
        model.dropout_key.set(seed, step)
        return model((SOURCE, TARGET), training=True).numpy()

    assert np.array_equal(logits(1, 2), logits(1, 2))
    assert not np.allclose(logits(1, 2), logits(1, 3))
    assert not np.allclose(logits(1, 2), logits(2, 2))


def test_without_training_nothing_is_dropped(model):
    model.dropout_key.set(1, 1)
    before = model((SOURCE, TARGET))
    model.dropout_key.set(1, 2)
    assert np.array_equal(before, model((SOURCE, TARGET)))
