"""Several models as one."""

import math
from collections.abc import Sequence

import tensorflow as tf

from seq2seq_cli.models.seq2seq import Memory, Seq2Seq, State, Step, StepOutput


class Ensemble(Seq2Seq):
    """Predicts the mean of its members' probabilities, with the mean of their attention.

    Members without attention count for the probabilities alone.

    Args:
        members: models with the same target vocabulary.
        separate: whether their source vocabularies differ. A source then holds the ids for each of
            them side by side, with equal lengths; so does attention.
    """

    def __init__(self, members: Sequence[Seq2Seq], separate: bool = False):
        super().__init__("ensemble")
        self.members = list(members)
        self.separate = separate
        self.has_attention = any(member.has_attention for member in members)
        self.target_tags = self.members[0].target_tags
        self.built = True

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode."""
        number = len(self.members)
        sources = tf.split(source_BS, number, axis=1) if self.separate else [source_BS] * number
        pairs = zip(self.members, sources, strict=True)
        return _join([member.encode(source, training) for member, source in pairs])

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden: the log-probabilities."""
        return _mean_logits([m.decode(target_BT, x, training) for m, x in self._parts(memory)])

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """See Seq2Seq.logits."""
        return hidden

    def initial_state(self, memory: Memory, max_length: int | tf.Tensor) -> State:
        """See Seq2Seq.initial_state."""
        return _join([m.initial_state(part, max_length) for m, part in self._parts(memory)])

    def repeat_for_beams(self, memory: Memory, times: int | tf.Tensor) -> Memory:
        """See Seq2Seq.repeat_for_beams."""
        return _join([m.repeat_for_beams(part, times) for m, part in self._parts(memory)])

    def grow_cache(self, state: State, max_length: tf.Tensor) -> State:
        """See Seq2Seq.grow_cache."""
        return _join([m.grow_cache(part, max_length) for m, part in self._parts(state)])

    def make_step(self, in_place: bool = False) -> Step:
        """See Seq2Seq.make_step. The logits are log-probabilities."""
        steps = [member.make_step(in_place) for member in self.members]
        attending = max(1, sum(member.has_attention for member in self.members))

        def step(token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
            parts = self._parts(state, memory)
            outputs = [step(token_B, *own) for step, (_, *own) in zip(steps, parts, strict=True)]
            weights = [output.attention_BS for output in outputs]
            attention_BS = tf.concat(weights, axis=1) if self.separate else tf.add_n(weights)
            return StepOutput(
                _mean_logits([output.logits_BV for output in outputs]),
                attention_BS / attending,
                _join([output.state for output in outputs]),
            )

        return step

    def _parts(self, *joined: dict[str, tf.Tensor]) -> list[tuple]:
        """Return each member with its part of a result of `_join`."""
        parts = [
            [
                {name.partition("/")[2]: x for name, x in bag.items() if name.startswith(f"{i}/")}
                for bag in joined
            ]
            for i in range(len(self.members))
        ]
        return [(member, *own) for member, own in zip(self.members, parts, strict=True)]


def _join(parts: list[dict[str, tf.Tensor]]) -> dict[str, tf.Tensor]:
    return {f"{i}/{name}": tensor for i, part in enumerate(parts) for name, tensor in part.items()}


def _mean_logits(logits: list[tf.Tensor]) -> tf.Tensor:
    """Return the logarithm of the mean probability; finite where a logit is."""
    logs = tf.stack([tf.nn.log_softmax(each) for each in logits])
    return tf.reduce_logsumexp(logs, axis=0) - math.log(len(logits))
