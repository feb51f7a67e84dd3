"""The queue of batches, with functions that only count."""

import asyncio
import threading
import time

import pytest

from seq2seq_cli.serving.queue import BatchQueue, Chunk, QueueClosedError, QueueFullError

SECONDS = 10


class Counting:
    """Doubles items; it notes its batches, and waits in the first until it may go on."""

    def __init__(self, waits: bool = True):
        self.batches: list[tuple[str, list[int]]] = []
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        if not waits:
            self.may_go_on.set()

    def __call__(self, key, items):
        self.batches.append((key, items))
        self.begun.set()
        assert self.may_go_on.wait(SECONDS)
        if -1 in items:
            raise ValueError("an item is -1")
        return [2 * item for item in items]


class Submitting:
    """A queue whose items are submitted in an event loop, which runs in another thread.

    `submit` returns futures of threads, whose results the tests can wait for.
    """

    def __init__(self, queue, loop):
        self.queue, self.loop = queue, loop

    def __len__(self):
        return len(self.queue)

    def submit(self, key, items, lengths):
        return self.submit_chunks([Chunk(key, items, lengths)])

    def submit_chunks(self, chunks):
        async def submitted():
            return self.queue.submit(chunks)

        futures = self.in_loop(submitted())
        return [asyncio.run_coroutine_threadsafe(awaited(each), self.loop) for each in futures]

    def in_loop(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(SECONDS)


async def awaited(future):
    return await future


@pytest.fixture
def queue_of():
    loop, queues = asyncio.new_event_loop(), []
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def make(compute, batch=4, capacity=100, delay=0.0, **options):
        queues.append(BatchQueue(compute, batch, capacity, delay, **options))
        return Submitting(queues[-1], loop)

    yield make
    for queue in queues:
        queue._compute.may_go_on.set()
        queue.close()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def blocked(queue, compute):
    """Let the first batch run until `may_go_on`, so that all others wait."""
    future = queue.submit("a", [0], [0])
    assert compute.begun.wait(SECONDS)
    return future


def results(futures):
    return [future.result(SECONDS) for future in futures]


def test_waiting_items_are_computed_together_and_get_their_own_results(queue_of):
    compute = Counting()
    queue = queue_of(compute)
    blocked(queue, compute)
    futures = [future for i in range(1, 5) for future in queue.submit("a", [i], [i])]
    compute.may_go_on.set()
    assert results(futures) == [2, 4, 6, 8]
    assert compute.batches == [("a", [0]), ("a", [1, 2, 3, 4])]


def test_a_single_item_waits_at_most_the_delay(queue_of):
    compute = Counting(waits=False)
    queue = queue_of(compute, delay=0.2)
    began = time.monotonic()
    assert results(queue.submit("a", [1], [1])) == [2]
    assert 0.19 < time.monotonic() - began < 5
    began = time.monotonic()
    assert len(results(queue_of(compute, delay=60).submit("a", [1, 2, 3, 4], [1] * 4))) == 4
    assert time.monotonic() - began < 5  # a full batch does not wait


def test_the_next_batch_waits_for_items_that_follow_results(queue_of):
    compute = Counting()
    queue = queue_of(compute, batch=100, delay=0.5)
    first = blocked(queue, compute)
    futures = queue.submit("a", [1, 2], [1, 1])
    time.sleep(0.6)  # these have waited long enough
    compute.may_go_on.set()
    assert results(first) == [0]
    began = time.monotonic()
    futures += queue.submit("a", [3], [1])
    results(futures)
    assert compute.batches[1:] == [("a", [1, 2, 3])]
    assert time.monotonic() - began < 2  # and not 4, as all have asked again


def test_a_batch_has_items_of_the_same_key_and_similar_length(queue_of):
    compute = Counting()
    queue = queue_of(compute, batch=3)
    blocked(queue, compute)
    futures = queue.submit("a", [50, 9, 51, 8, 52], [50, 9, 51, 8, 52])
    futures += queue.submit("b", [50], [50])
    compute.may_go_on.set()
    results(futures)
    assert compute.batches[1:] == [("a", [50, 51, 52]), ("a", [9, 8]), ("b", [50])]


def test_the_oldest_of_equal_length_goes_first(queue_of):
    compute = Counting()
    queue = queue_of(compute, batch=1)
    blocked(queue, compute)
    futures = queue.submit("a", [1, 2, 3], [7, 7, 7])
    compute.may_go_on.set()
    results(futures)
    assert [items for _, items in compute.batches] == [[0], [1], [2], [3]]


def test_a_full_queue_takes_all_items_or_none(queue_of):
    compute = Counting()
    queue = queue_of(compute, capacity=3)
    blocked(queue, compute)
    queue.submit("a", [1, 2], [1, 1])
    with pytest.raises(QueueFullError):
        queue.submit("a", [3, 4], [1, 1])
    with pytest.raises(QueueFullError):
        queue.submit_chunks([Chunk("b", [6], [1]), Chunk("c", [7], [1])])
    assert len(queue) == 2
    queue.submit("a", [5], [1])


def test_cancelled_items_are_not_computed_and_take_no_capacity(queue_of):
    compute = Counting()
    queue = queue_of(compute, capacity=2)
    blocked(queue, compute)
    for future in queue.submit("a", [1, 2], [1, 1]):
        assert future.cancel()
    queue.in_loop(asyncio.sleep(0))  # until the loop has passed it on
    futures = queue.submit("a", [3, 4], [1, 1])
    compute.may_go_on.set()
    assert results(futures) == [6, 8]
    assert compute.batches[1:] == [("a", [3, 4])]


def test_an_error_affects_only_its_own_batch(queue_of):
    compute = Counting(waits=False)
    queue = queue_of(compute)
    (wrong,) = queue.submit("a", [-1], [1])
    with pytest.raises(ValueError, match="is -1"):
        wrong.result(SECONDS)
    assert results(queue.submit("a", [4], [1])) == [8]


def test_several_batches_are_computed_at_once_and_each_item_once(queue_of):
    compute = Counting()
    queue = queue_of(compute, batch=2, workers=2)
    futures = [blocked(queue, compute)]
    compute.begun.clear()
    futures.append(queue.submit("a", [1], [1]))
    assert compute.begun.wait(SECONDS)  # while the first batch is not done
    futures += [queue.submit("a", [i], [i]) for i in range(2, 40)]
    compute.may_go_on.set()
    assert [result for each in futures for result in results(each)] == [*range(0, 80, 2)]
    assert sorted(i for _, items in compute.batches for i in items) == [*range(40)]


def test_a_worker_takes_only_its_share_of_all_items(queue_of):
    compute = Counting()
    queue = queue_of(compute, batch=100, delay=0.05, workers=2)

    async def submitted():
        return [queue.queue.submit([Chunk("a", [i], [1])])[0] for i in range(1, 40)]

    first = blocked(queue, compute)
    compute.begun.clear()
    futures = queue.in_loop(submitted())
    assert compute.begun.wait(SECONDS)  # by the second worker, while the first one is busy
    assert [len(items) for _, items in compute.batches] == [1, 20]
    compute.may_go_on.set()
    done = [asyncio.run_coroutine_threadsafe(awaited(each), queue.loop) for each in futures]
    assert results(first + done) == [*range(0, 80, 2)]


def test_items_that_were_submitted_together_stay_together(queue_of):
    compute = Counting()
    queue = queue_of(compute, batch=100, workers=2)
    first = blocked(queue, compute)
    compute.begun.clear()
    futures = queue.submit("a", [*range(1, 40)], [1] * 39)
    assert compute.begun.wait(SECONDS)
    assert [len(items) for _, items in compute.batches] == [1, 39]
    compute.may_go_on.set()
    assert results(first + futures) == [*range(0, 80, 2)]


def test_closing_finishes_accepted_items(queue_of):
    compute = Counting()
    queue = queue_of(compute, delay=60)
    futures = queue.submit("a", [1], [1])
    threading.Timer(0.1, compute.may_go_on.set).start()
    queue.queue.close()
    assert results(futures) == [2]
    with pytest.raises(QueueClosedError):
        queue.submit("a", [1], [1])


def test_each_batch_is_reported(queue_of):
    told = []
    queue = queue_of(Counting(waits=False), on_batch=lambda *batch: told.append(batch))
    results(queue.submit("a", [1, 2], [1, 1]))
    queue.queue.close()
    assert told[0][0] == 2
    assert 0 <= told[0][1] < SECONDS
