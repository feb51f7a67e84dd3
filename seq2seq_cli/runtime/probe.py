"""Finds the fastest precision for a model's matrix products."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

import tensorflow as tf

Clock = Callable[[], float]

# The time of the measurement. The shortest time of a few runs alone is wrong if another process is
# busy during these runs.
BUDGET_SECONDS = 1.0
# Bfloat16 must be faster by this factor. A gain that matters is larger. If the gain is small, the
# same seed should always train the same model.
MARGIN = 1.25
_ROWS = 256  # of a measured product; more rows take longer and give the same result
_WIDEST = 1024
PRECISIONS = ("float32", "bfloat16")  # the default first


class Model(Protocol):
    """The part of a model that is measured: the shapes of its weights."""

    @property
    def trainable_variables(self) -> Iterable[Any]:
        """The weights, each with a `shape`."""


def fastest_precision(
    model: Model, parts: int, clock: Clock = time.perf_counter
) -> tuple[str, dict[str, float]]:
    """Return float32, or bfloat16 if it is clearly faster, and the milliseconds of both.

    Args:
        model: products of its widths are measured.
        parts: number of parts that are multiplied in parallel.
        clock: returns seconds.
    """
    products = Products(widths_of(model))
    candidates = {name: partial(products.multiply, name, parts) for name in PRECISIONS}
    seconds = measure(candidates, BUDGET_SECONDS, clock)
    default, best = PRECISIONS[0], min(seconds, key=lambda name: seconds[name])
    chosen = best if seconds[best] * MARGIN < seconds[default] else default
    return chosen, {name: round(1000 * s, 3) for name, s in seconds.items()}


def widths_of(model: Model) -> list[tuple[int, int]]:
    """Return (inputs, outputs) of the model's three largest matrices, limited in width."""
    shapes = {tuple(v.shape) for v in model.trainable_variables if len(v.shape) == 2}
    capped = {(min(a, _WIDEST), min(b, _WIDEST)) for a, b in shapes}
    return sorted(capped, key=lambda shape: (math.prod(shape), shape), reverse=True)[:3]


def measure(
    candidates: Mapping[str, Callable[[], None]],
    budget_seconds: float,
    clock: Clock = time.perf_counter,
) -> dict[str, float]:
    """Return the shortest time of each candidate, in seconds.

    Each runs once to warm up. Then all run alternately, at least once, until the budget is used up.
    """
    for run in candidates.values():
        run()
    began = clock()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    while True:
        for name, run in candidates.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
        if clock() - began >= budget_seconds:
            return {name: min(times) for name, times in seconds.items()}


class Products:
    """Matrix products like those of an update, for measuring.

    Parts of the rows are computed like the parts of a batch in an update: by one graph, in which
    no part waits for another.

    Args:
        widths: (inputs, outputs) of some of the model's linear maps.
    """

    def __init__(self, widths: list[tuple[int, int]]):
        self._factors = [
            (_numbers(_ROWS, inputs), _numbers(inputs, outputs), _numbers(_ROWS, outputs))
            for inputs, outputs in widths
        ]
        self._graphs: dict[tuple[str, int], Callable] = {}

    def multiply(self, dtype: str, parts: int) -> None:
        """Compute the linear maps and their gradients, with the rows split into parallel parts."""
        if (dtype, parts) not in self._graphs:
            products = partial(self._products, dtype, parts)
            self._graphs[dtype, parts] = tf.function(products, autograph=False)
        products = self._graphs[dtype, parts]()
        # A device computes one after the other, so the last product is the end of all. TensorFlow's
        # own synchronisation of devices fails if several workers are connected.
        products[-1][0, 0].numpy()

    def _products(self, dtype: str, parts: int) -> list[tf.Tensor]:
        """Return all products, so that the graph does not omit any."""
        found = []
        for number in range(parts):
            for x, kernel, gradient in self._factors:
                x, gradient = (tf.cast(rows[number::parts], dtype) for rows in (x, gradient))
                kernel = tf.cast(kernel, dtype)
                found.append(tf.matmul(x, kernel))
                found.append(tf.matmul(gradient, kernel, transpose_b=True))
                found.append(tf.matmul(x, gradient, transpose_a=True))
        return found


def _numbers(rows: int, columns: int) -> tf.Tensor:
    return tf.random.stateless_normal((rows, columns), [0, 0])
