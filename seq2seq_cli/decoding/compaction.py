"""The loop of a search: finished sentences leave the batch, and caches grow with the output.

Otherwise, a batch of sentences of different lengths would compute until its longest is done, and
attend to positions that are still empty.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.decoding.hypotheses import Tensors
from seq2seq_cli.models.seq2seq import Memory, Seq2Seq, State

_CAPACITY_STEP = 8  # decoding steps by which the caches grow
_STAY = 0.75  # while at least this share of the sentences is unfinished, none leaves the batch


class Progress(NamedTuple):
    """The progress of the search for the sentences in the batch.

    Attributes:
        t: int32 scalar, decoding steps made.
        capacity: int32 scalar, decoding steps that the caches in `state` hold.
        memory: of the encoder, for each sentence.
        state: of the decoder, for each of the R hypotheses.
        sentences: for each sentence row_B (int32, its index in `results`), done_B (bool), and
            further values of the search.
        live: the hypotheses that continue; the first axes of every tensor are B K.
        finished: the best hypotheses that have ended; the first axes of every tensor are B N.
        results: `finished` of all sentences, including those that have left the batch.
    """

    t: tf.Tensor
    capacity: tf.Tensor
    memory: Memory
    state: State
    sentences: Tensors
    live: Tensors
    finished: Tensors
    results: Tensors


Advance = Callable[[Progress, Memory], Progress]


def first_capacity(longest: tf.Tensor) -> tf.Tensor:
    """Return the initial capacity of the caches, for outputs of `longest` tokens."""
    return tf.minimum(longest, _CAPACITY_STEP)


def run_compacted(
    progress: Progress, model: Seq2Seq, beams: int | tf.Tensor, advance: Advance
) -> Tensors:
    """Advance until every sentence is done, and return the `results`.

    Args:
        progress: at the beginning.
        model: the owner of the state.
        beams: hypotheses of each sentence.
        advance: makes one decoding step, given the memory of all R hypotheses.
    """

    def advance_and_compact(p: Progress) -> Progress:
        p = _advance_until_compaction(p, model.repeat_for_beams(p.memory, beams), advance)
        p = _if(tf.reduce_any(p.sentences["done_B"]), lambda p: _without_done(p, beams), p)
        return _if(p.t >= p.capacity, lambda p: _with_capacity(p, model), p)

    return _while(
        lambda p: tf.size(p.sentences["row_B"]) > 0,
        advance_and_compact,
        progress,
    ).results


def gather_rows(tensors: Tensors, rows: tf.Tensor) -> Tensors:
    """Return the rows of every tensor that is not a scalar."""
    return {
        name: tensor if tensor.shape.rank == 0 else tf.gather(tensor, rows)
        for name, tensor in tensors.items()
    }


def _advance_until_compaction(p: Progress, memory: Memory, advance: Advance) -> Progress:
    """Advance while the caches have capacity and enough sentences are unfinished."""

    def has_capacity_and_work(p: Progress) -> tf.Tensor:
        open_B = tf.logical_not(p.sentences["done_B"])
        share = tf.reduce_mean(tf.cast(open_B, tf.float32))
        return (p.t < p.capacity) & (share >= _STAY)

    # Memory and results stay the same, so they are not loop variables.
    start = p._replace(memory={}, results={})
    after = _while(has_capacity_and_work, lambda p: advance(p, memory), start)
    rows_B1 = after.sentences["row_B"][:, tf.newaxis]
    results = {
        name: tf.tensor_scatter_nd_update(tensor, rows_B1, after.finished[name])
        for name, tensor in p.results.items()
    }
    return after._replace(memory=p.memory, results=results)


def _without_done(p: Progress, beams: int | tf.Tensor) -> Progress:
    left = tf.cast(tf.where(tf.logical_not(p.sentences["done_B"]))[:, 0], tf.int32)
    hypotheses_left = tf.reshape(left[:, tf.newaxis] * beams + tf.range(beams), [-1])
    return p._replace(
        memory=gather_rows(p.memory, left),
        state=gather_rows(p.state, hypotheses_left),
        sentences=gather_rows(p.sentences, left),
        live=gather_rows(p.live, left),
        finished=gather_rows(p.finished, left),
    )


def _with_capacity(p: Progress, model: Seq2Seq) -> Progress:
    capacity = p.capacity + _CAPACITY_STEP
    return p._replace(capacity=capacity, state=model.grow_cache(p.state, capacity))


def _if(condition: tf.Tensor, change: Callable[[Progress], Progress], p: Progress) -> Progress:
    return tf.cond(condition, lambda: change(p), lambda: p)


def _while(
    condition: Callable[[Progress], tf.Tensor],
    body: Callable[[Progress], Progress],
    begin: Progress,
) -> Progress:
    """Loop while the number of rows, the caches' length and all lengths may change."""
    if tf.executing_eagerly():
        while condition(begin):
            begin = body(begin)
        return begin
    shapes = tf.nest.map_structure(_changing, begin)

    def keep_shapes(progress: Progress) -> tuple[Progress]:
        after = body(progress)
        return (tf.nest.map_structure(tf.ensure_shape, after, shapes),)

    return tf.while_loop(condition, keep_shapes, (begin,), shape_invariants=(shapes,))[0]


def _changing(tensor: tf.Tensor) -> tf.TensorShape:
    return tf.TensorShape([None, *tensor.shape[1:]]) if tensor.shape.rank else tensor.shape
