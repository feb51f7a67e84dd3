"""Each invariant is seen to fail on a model in which its property is broken."""

import keras
import pytest
import tensorflow as tf
from small_models import small_rnn

from seq2seq_cli.models import invariants, rnn
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.seq2seq import Seq2Seq, StepOutput
from seq2seq_cli.special_tokens import BOS, EOS, PAD

SOURCE = tf.constant([[5, 6, 7, EOS], [9, EOS, PAD, PAD]])
TARGET = tf.constant([[BOS, 4, 5, 6], [BOS, 7, 8, PAD]])


class SeesTheNextToken(RNN):
    def decode(self, target_BT, memory, training=False):
        return super().decode(tf.roll(target_BT, -1, axis=1), memory, training)


class LosesItsState(RNN):
    def decode_step(self, token_B, state, memory):
        return super().decode_step(token_B, self.initial_state(memory, 0), memory)


class MixesTheBatch(RNN):
    def decode(self, target_BT, memory, training=False):
        logits_BTV = super().decode(target_BT, memory, training)
        return logits_BTV + logits_BTV[:1]


class AttendsToHalf(RNN):
    def decode_step(self, token_B, state, memory):
        logits_BV, attention_BS, state = super().decode_step(token_B, state, memory)
        return StepOutput(logits_BV, attention_BS / 2, state)


class ChangesWhenCompiled(Seq2Seq):
    """A model of one table, which compiles fast."""

    def __init__(self, changes: bool):
        super().__init__("table")
        self.table = keras.layers.Embedding(16, 16)
        self.table.build()
        self.built, self.changes = True, changes

    def call(self, inputs, training=False):
        logits_BTV = self.table(inputs[1])
        return logits_BTV + 1e-3 * (self.changes and not tf.executing_eagerly())


class KeepsItsStateToItself(RNN):
    def decode_step(self, token_B, state, memory):
        if all((state[k].numpy() == memory[f"initial_{k}"].numpy()).all() for k in state):
            self.kept = state
        output = super().decode_step(token_B, self.kept, memory)
        self.kept = output.state
        return output


class GivesNoNumber(RNN):
    def decode_step(self, token_B, state, memory):
        output = super().decode_step(token_B, state, memory)
        nan = tf.fill(tf.shape(output.attention_BS), float("nan"))
        return output._replace(logits_BV=output.logits_BV * float("nan"), attention_BS=nan)


def violated(kind: type[RNN]) -> set[str]:
    """Return the names of the invariants that do not hold, but for compiling, which takes long."""
    model = small_rnn(kind=kind)
    return {
        f.__name__
        for f in invariants.INVARIANTS.values()
        if f is not invariants.compilation and not f(model, SOURCE, TARGET) < 1e-5
    }


def test_a_correct_model_passes_all_invariants():
    assert not violated(RNN)


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (SeesTheNextToken, {"stepping", "causality"}),
        (LosesItsState, {"stepping"}),
        (MixesTheBatch, {"stepping", "order"}),
        (KeepsItsStateToItself, {"reordering"}),
        (AttendsToHalf, {"attention"}),
        (GivesNoNumber, {"stepping", "reordering", "attention"}),
    ],
)
def test_a_broken_model_fails_only_the_invariants_it_breaks(kind, broken):
    assert violated(kind) == broken


@pytest.mark.parametrize("changes", [False, True])
def test_a_model_that_changes_when_compiled_is_found(changes):
    deviation = invariants.compilation(ChangesWhenCompiled(changes), SOURCE, TARGET)
    assert (deviation > 9e-4) == changes


def test_a_missing_padding_mask_is_found(monkeypatch):
    monkeypatch.setattr(rnn, "padding_mask", lambda ids: tf.ones_like(ids, tf.bool))
    assert violated(RNN) == {"padding", "attention"}
