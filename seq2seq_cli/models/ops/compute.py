"""How operations are computed: their precision, fusion, and the shard of a batch."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import tensorflow as tf


class Compute(NamedTuple):
    """The settings of all operations in a block of code that traces a graph; see `computing`.

    Attributes:
        precision: dtype of matrix products of float32 tensors: float32 or bfloat16. Only the
            factors, the product and a bias added to it are rounded. The sums inside a product stay
            float32, and so does everything that is not a product: softmax, normalisation, loss,
            weights and their updates. The products of `batched_matmul`, and those inside a `scan`,
            also stay float32.
        fuse: whether XLA compiles each function marked `fused` into one kernel. This is for plain
            graphs that see few shapes, since XLA compiles for each shape. It must be off inside a
            function that XLA compiles as a whole: nested compilation is many times slower.
        shard: int32, the number of the shard of a batch that is computed, from 0 on. Each shard
            draws dropout masks of its own.
        share: how much of the batch's source tokens are in that shard, from 0 to 1.
        depth: how often the same layers have been applied before: layers with shared weights, and
            those of a decoder-only model to the source. Each time they draw dropout masks of their
            own.
        recompute: whether the blocks of a Transformer are computed again for their gradients.
    """

    precision: str = "float32"
    fuse: bool = False
    shard: tf.Tensor | int = 0
    share: tf.Tensor | float = 1.0
    depth: int = 0
    recompute: bool = False


_DEFAULT = Compute()
_CURRENT: ContextVar[Compute] = ContextVar("compute", default=_DEFAULT)


def current() -> Compute:
    """Return the settings of the innermost `computing` block."""
    return _CURRENT.get()


@contextmanager
def computing(**changes: Any) -> Iterator[None]:
    """Change fields of the current Compute for the operations of a block."""
    token = _CURRENT.set(current()._replace(**changes))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def fused(function: Callable) -> Callable:
    """Let XLA compile a function of tensors into one kernel if `Compute.fuse` is set.

    A plain graph reads and writes the whole tensor at each operation; one kernel does so once. The
    function's gradient should be another such function: an automatic gradient would make the
    kernel write everything that the gradient needs.
    """

    def alone(*arguments: Any) -> Any:
        with computing(fuse=False):
            return function(*arguments)

    compiled = tf.function(alone, jit_compile=True, autograph=False)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return (compiled if current().fuse else function)(*arguments)

    return call
