"""A queue that collects items into batches. It does not depend on translation."""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

_AGAIN = 8

Compute = Callable[[Any, list[Any]], Sequence[Any]]


class QueueFullError(Exception):
    """The queue has no capacity for so many items."""


class QueueClosedError(Exception):
    """The queue is closed and accepts no items."""


class Chunk(NamedTuple):
    """Items that are submitted together.

    Attributes:
        key: only items with equal keys are computed together.
        items: the items for `compute`.
        lengths: the lengths of the items, in any unit.
    """

    key: Hashable
    items: Sequence[Any]
    lengths: Sequence[int]


class _Waiting(NamedTuple):
    key: Hashable
    item: Any
    length: int
    arrived: float
    future: "asyncio.Future[Any]"


class BatchQueue:
    """Computes items in batches, each in a thread, the oldest first.

    A batch contains the item that has waited longest, the items that were submitted with it, and
    items with the same key that are closest to it in length. It is computed as soon as it is full,
    or when its oldest item has waited `delay`. Later items form the next batches. A worker takes
    only its share of the items that wait or are computed, so that all workers have work; but it
    does not divide the items that were submitted with the oldest. Clients often send the next
    request as soon as they get a response. So a worker waits longer, at most `_AGAIN` times
    `delay`, until as many items have arrived as it has just computed.

    Args:
        compute: called with a key and a list of items; returns a result for each, in order.
        batch: maximum number of items in a batch.
        capacity: maximum number of items that wait.
        delay: maximum waiting time of an item, in seconds.
        on_batch: called with the number of items of each batch, and its time in seconds.
        workers: number of batches that are computed at a time.
    """

    def __init__(
        self,
        compute: Compute,
        batch: int,
        capacity: int,
        delay: float,
        on_batch: Callable[[int, float], None] = lambda items, seconds: None,
        workers: int = 1,
    ):
        self._compute = compute
        self._batch = batch
        self._capacity = capacity
        self._delay = delay
        self._on_batch = on_batch
        self._waiting: list[_Waiting] = []
        self._arrived = 0
        self._computing = 0
        self._workers = workers
        self._changed = threading.Condition()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"batches {number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        """Return the number of waiting items."""
        return len(self._waiting)

    def submit(self, chunks: Iterable[Chunk]) -> "list[asyncio.Future[Any]]":
        """Accept the items of all chunks or none, and return a future for each, in order.

        Call it in an event loop.

        An item whose future is cancelled before its batch begins is not computed. The results of a
        batch are handed to the loop together, because its thread would compete with the worker for
        the interpreter after each of them.

        Raises:
            QueueFullError: if the number of waiting items would exceed the capacity.
            QueueClosedError: after `close`.
        """
        now, loop = time.monotonic(), asyncio.get_running_loop()
        added = [
            _Waiting(chunk.key, item, length, now, loop.create_future())
            for chunk in chunks
            for item, length in zip(chunk.items, chunk.lengths, strict=True)
        ]
        with self._changed:
            if self._is_closed:
                raise QueueClosedError
            if len(self._waiting) + len(added) > self._capacity:
                self._waiting = [each for each in self._waiting if not each.future.cancelled()]
            if len(self._waiting) + len(added) > self._capacity:
                raise QueueFullError
            self._waiting += added
            self._arrived += len(added)
            self._changed.notify()
        return [each.future for each in added]

    def close(self) -> None:
        """Accept no more items, and return when all accepted items have been computed."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        expected, until = 0, 0.0
        while chosen := self._next_batch(expected, until):
            if running := [each for each in chosen if not each.future.cancelled()]:
                began = time.monotonic()
                results, failure = self._computed(running)
                now = time.monotonic()
                expected, until = self._arrived + len(running), now + _AGAIN * self._delay
                loop = running[0].future.get_loop()
                loop.call_soon_threadsafe(_resolve, running, results, failure)
                self._on_batch(len(running), now - began)
            with self._changed:
                self._computing -= len(chosen)

    def _computed(self, running: list[_Waiting]) -> tuple[Sequence[Any], Exception | None]:
        """Return the results, or None for each item and the error."""
        try:
            return self._compute(running[0].key, [each.item for each in running]), None
        except Exception as error:
            return [None] * len(running), error

    def _next_batch(self, expected: int, until: float) -> list[_Waiting]:
        """Wait for a batch, and remove it from the queue. It is empty if the queue is closed.

        Args:
            expected: the count of arrived items to wait for; it counts from the start.
            until: the time at which to stop waiting for them.
        """
        with self._changed:
            while True:
                while not self._waiting:
                    if self._is_closed:
                        return []
                    self._changed.wait()
                oldest = self._waiting[0]
                ready = oldest.arrived + self._delay
                if self._arrived < expected:
                    ready = max(ready, until)
                left = ready - time.monotonic()
                if self._is_closed or left <= 0 or self._is_full(oldest.key):
                    return self._take(oldest)
                self._changed.wait(left)

    def _is_full(self, key: Hashable) -> bool:
        return sum(each.key == key for each in self._waiting) >= self._batch

    def _take(self, oldest: _Waiting) -> list[_Waiting]:
        same = [i for i, each in enumerate(self._waiting) if each.key == oldest.key]
        same.sort(key=lambda i: _distance(self._waiting[i], oldest))  # stable: 0 is first
        share = -(-(len(self._waiting) + self._computing) // self._workers)
        together = sum(self._waiting[i].arrived == oldest.arrived for i in same)
        most = min(self._batch, max(share, together))
        taken = sorted({0, *same[:most]})[:most]
        chosen = [self._waiting[i] for i in taken]
        self._computing += len(chosen)
        for i in reversed(taken):
            del self._waiting[i]
        if self._waiting:  # for another worker
            self._changed.notify()
        return chosen


def _distance(item: _Waiting, oldest: _Waiting) -> tuple[bool, int]:
    """Return by what items are chosen: those submitted with the oldest first, then by length."""
    return item.arrived != oldest.arrived, abs(item.length - oldest.length)


def _resolve(
    computed: Sequence[_Waiting], results: Sequence[Any], failure: Exception | None
) -> None:
    """Set the result of each item, or the error of all. It runs in the event loop."""
    for each, result in zip(computed, results, strict=True):
        if each.future.cancelled():
            continue
        if failure is None:
            each.future.set_result(result)
        else:
            each.future.set_exception(failure)
