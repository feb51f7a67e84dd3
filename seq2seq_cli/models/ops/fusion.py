"""Operations on every value of a tensor, done in one pass over memory."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import tensorflow as tf

_FUSES: ContextVar[bool] = ContextVar("whether functions are fused", default=False)


@contextmanager
def fusing(fuses: bool = True) -> Iterator[None]:
    """Compile what is `fused` by XLA, where the block traces a plain graph.

    It is for graphs that see few shapes, since each is compiled. Within a function that XLA
    compiles as a whole it must be off: one inside another is many times slower.
    """
    token = _FUSES.set(fuses)
    try:
        yield
    finally:
        _FUSES.reset(token)


def fused(function: Callable) -> Callable:
    """Let a function of tensors be compiled by XLA inside `fusing`, so that it is one kernel.

    A plain graph reads and writes the whole tensor at each of its operations. The gradient should
    be given, as another such function: derived, it would make this one write all that it needs.
    """

    def alone(*arguments: Any) -> Any:
        with fusing(False):
            return function(*arguments)

    compiled = tf.function(alone, jit_compile=True, autograph=False)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return (compiled if _FUSES.get() else function)(*arguments)

    return call
