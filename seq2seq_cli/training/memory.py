"""An estimate of the memory that training takes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.models import build_model
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.runtime.liveness import peak_bytes
from seq2seq_cli.runtime.parallel import parts_at_once
from seq2seq_cli.training.parts import trained_weights
from seq2seq_cli.training.step import Updater
from seq2seq_cli.vocabularies import Vocabularies

# Bytes of XLA and LLVM, and of the code for each batch shape. They were measured with a Transformer
# of 16 units, whose tensors take almost nothing.
_COMPILER, _CODE = 215_000_000, 4_000_000

Shape = tuple[int, int, int]
"""Rows, source length, and target length without BOS, of a part of a batch."""


class MemoryEstimate(NamedTuple):
    """The memory that training takes, in bytes, by what it is for.

    Attributes:
        process: of Python, the libraries, the corpus and the compiled code.
        weights: of the weights, with their averages if there are any.
        optimizer: of the optimizer's state, and of its copy while XLA compiles.
        gradients: of the sums of gradients over shards and parts.
        batch: of the activations, the logits and the gradients of all shards.
    """

    process: int
    weights: int
    optimizer: int
    gradients: int
    batch: int

    @property
    def total(self) -> int:
        """The sum."""
        return sum(self)


class _Traced(NamedTuple):
    """Bytes of the weights, of those that are trained, of the optimizer's state, and of a shard."""

    weights: int
    trained: int
    optimizer: int
    batch: int


def estimate_memory(
    config: Config,
    vocabularies: Vocabularies,
    shapes: Sequence[Shape],
    computation: Computation,
    process: int = 0,
) -> MemoryEstimate:
    """Estimate the maximum memory of training on a CPU, without allocating it.

    The memory of a shard comes from the graph of its gradient. Shards are computed in parallel.
    When the first one is done, its gradients wait for the others. Their sum and the clipped sum are
    new tensors. While XLA compiles, several updates are computed in parallel, and the state of the
    optimizer is copied. Validation is not included.

    Args:
        config: everything that determines an update.
        vocabularies: their sizes.
        shapes: of the parts of batches.
        computation: precision and shards.
        process: what the process takes without model and batches, in bytes.
    """
    training = config.training
    compiles = training.compile != "graph"
    updates = min(parts_at_once(), len(shapes)) if compiles else 1
    at_once = training.parts_at_once(computation.shards)
    cuts = max(1, computation.shards // at_once)
    shards = at_once * cuts
    by_size = max(shapes, key=lambda shape: shape[0] * sum(shape[1:]))
    by_scores = max(shapes, key=lambda shape: shape[0] * shape[1] * shape[2])
    found = []
    for rows, source, target in {by_size, by_scores}:
        shape = -(-rows // cuts), source, target
        found.append(_traced(config, vocabularies, shape, computation.precision))
    weights, trained, optimizer, _ = found[0]
    sums = 2 * updates if shards > 1 else 0
    return MemoryEstimate(
        process + (_COMPILER + _CODE * len(shapes) if compiles else 0),
        weights * (2 if training.ema else 1),
        optimizer * (2 if compiles else 1),
        trained * (sums + (training.parts > at_once)),
        updates * shards * max(each.batch for each in found),
    )


def _traced(config: Config, vocabularies: Vocabularies, shape: Shape, precision: str) -> _Traced:
    """Return the bytes of an update that is traced, but not computed."""
    alone = {"parts": 1, "shards": 1, "ema": 0.0, "strategy": "one"}
    training = config.training.model_copy(update=alone)
    rows, source, target = shape
    with tf.Graph().as_default():  # in which variables are described but not allocated
        model = build_model(config.model, vocabularies, seed=None)
        updater = Updater(model, training, precision)
        lengths = source, target + 1  # with BOS
        ids = [tf.TensorSpec([rows, length], tf.int32) for length in lengths]
        traced = tf.function(updater.objective.gradients, autograph=False).get_concrete_function(
            *ids
        )
        batch = peak_bytes(traced.graph.outputs, unknown_length=max(source, target))
        return _Traced(
            _size(model.trainable_variables),
            _size(trained_weights(training, model)),
            _size(updater.variables),
            batch,
        )


def _size(variables: Sequence) -> int:
    """Return the bytes of variables."""
    return sum(math.prod(v.shape) * tf.as_dtype(v.dtype).size for v in variables)
