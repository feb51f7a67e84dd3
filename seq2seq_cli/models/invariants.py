"""Properties of every architecture behind the interface, measured on a model and a batch.

Each function returns the largest deviation from its property: 0 except for rounding. `source` and
`target` are int32 ids, right-padded with PAD; the target begins with BOS.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from seq2seq_cli.models.masks import padding_mask
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.special_tokens import BOS, PAD, UNK


def stepping(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """Decoding steps give the logits of teacher forcing."""
    logits, _ = _steps(model, source, target)
    return _difference(logits, model((source, target)))


def causality(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """Later target tokens do not change earlier logits."""
    half = target.shape[1] // 2
    others = tf.where(target == UNK, BOS, UNK)
    changed = tf.concat([target[:, :half], others[:, half:]], axis=1)
    before, after = model((source, target)), model((source, changed))
    return _difference(before[:, :half], after[:, :half])


def padding(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """More padding of the source changes nothing."""
    padded = tf.pad(source, [[0, 0], [0, 2]], constant_values=PAD)
    return _difference(model((source, target)), model((padded, target)))


def order(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """The order of the batch changes only the order of the results."""
    reversed_logits = model((tf.reverse(source, [0]), tf.reverse(target, [0])))
    return _difference(model((source, target)), tf.reverse(reversed_logits, [0]))


def reordering(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """The state holds everything that a step passes on: it can be reordered between steps.

    A beam search reorders the state at each step.
    """
    half = target.shape[1] // 2
    memory = model.encode(source)
    state = model.initial_state(memory, target.shape[1])
    for token in tf.unstack(target[:, :half], axis=1):
        state = model.decode_step(token, state, memory).state
    went_on = model.decode_step(target[:, half], state, memory).logits_BV
    reordered = model.decode_step(
        tf.reverse(target[:, half], [0]), _reversed(state), _reversed(memory)
    ).logits_BV
    return _difference(went_on, tf.reverse(reordered, [0]))


def attention(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """Attention sums to 1, and is 0 on padding. It is all 0 if a source is only padding.

    It is 0 everywhere in a model without attention.
    """
    _, weights = _steps(model, source, target)
    mask = padding_mask(source).numpy() & model.has_attention
    sums = np.broadcast_to(mask.any(axis=1)[:, np.newaxis], weights.shape[:2])
    on_padding = np.where(mask[:, np.newaxis], 0, weights)
    return _largest([_difference(weights.sum(-1), sums), _difference(on_padding, 0)])


def compilation(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """XLA, with one trace for all shapes, gives the training logits and gradients of plain TF."""

    def run(source: tf.Tensor, target: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            logits = model((source, target), training=True)
            loss = tf.reduce_mean(tf.nn.log_softmax(logits)[..., BOS])
        gradients = tape.gradient(loss, model.trainable_variables)
        return [logits, *(tf.convert_to_tensor(g) for g in gradients)]

    signature = [tf.TensorSpec([None, None], tf.int32)] * 2
    compiled = tf.function(run, input_signature=signature, jit_compile=True)
    pairs = zip(compiled(source, target), run(source, target), strict=True)
    return _largest([_difference(a, b) for a, b in pairs])


Invariant = Callable[[Seq2Seq, tf.Tensor, tf.Tensor], float]
INVARIANTS: dict[str, Invariant] = {
    "stepping equals teacher forcing": stepping,
    "later target tokens change no earlier logit": causality,
    "more source padding changes nothing": padding,
    "the order of the batch changes nothing": order,
    "the state can be reordered between steps": reordering,
    "attention sums to 1 off the padding and is 0 on it": attention,
    "compiled by XLA equals not compiled": compilation,
}


def _steps(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and attention of each step, stacked over time."""
    memory = model.encode(source)
    state = model.initial_state(memory, target.shape[1])
    logits, weights = [], []
    for token in tf.unstack(target, axis=1):
        output = model.decode_step(token, state, memory)
        state = output.state
        logits.append(output.logits_BV)
        weights.append(output.attention_BS)
    return np.stack(logits, axis=1), np.stack(weights, axis=1)


def _reversed(tensors: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Reverse the batch, the first axis of every tensor that is not a scalar."""
    return {k: v if v.shape.rank == 0 else tf.reverse(v, [0]) for k, v in tensors.items()}


def _largest(differences: list[float]) -> float:
    return float(np.max(differences))  # unlike max(), it keeps NaN


def _difference(a: tf.Tensor | np.ndarray, b: tf.Tensor | np.ndarray | int) -> float:
    """Return the largest absolute difference; NaN if either has a NaN."""
    return float(np.max(np.abs(np.subtract(a, b, dtype=np.float64)), initial=0.0))
