"""The service behind the routes: it chooses a run, queues sentences and returns results."""

import asyncio
import contextlib
import hashlib
import hmac
import itertools
import threading
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.errors import OutOfMemoryError, S2SError, UsageError
from seq2seq_cli.python.options import options_as_keywords, with_options
from seq2seq_cli.serving.limits import Limits, RequestError, check_texts
from seq2seq_cli.serving.metrics import Metrics
from seq2seq_cli.serving.queue import BatchQueue, Chunk, QueueClosedError, QueueFullError
from seq2seq_cli.serving.work import Direction, Engine, ServedRun, Work

_END = object()


class Chosen(NamedTuple):
    """A run and its direction."""

    run: ServedRun
    direction: Direction


class Service:
    """Translates for requests.

    Args:
        engine: translates.
        limits: see Limits.
        batch: maximum number of sentences in a batch.
        delay: maximum time that a sentence waits for others, in seconds.
        keys: the API keys of clients; if empty, no key is required.
    """

    def __init__(
        self, engine: Engine, limits: Limits, batch: int, delay: float, keys: Sequence[str] = ()
    ):
        self.engine = engine
        self.limits = limits
        self.metrics = Metrics(lambda: len(self._queue))
        self._queue = BatchQueue(
            engine.compute, batch, limits.waiting, delay, self.metrics.computed, engine.workers
        )
        self._keys = [_digest(key) for key in keys]
        self._batch = batch
        self._samples = itertools.count(1)
        self._streams = 0
        self._stream_threads = ThreadPoolExecutor(max(1, limits.streams), "streams")
        self._warm = threading.Event()
        self.failure: str | None = None

    @property
    def is_ready(self) -> bool:
        """Whether everything is compiled."""
        return self._warm.is_set()

    def warm_up(self) -> None:
        """Warm up the engine, and store an error in `failure`."""
        try:
            self.engine.warm_up()
        except Exception as error:
            self.failure = type(error).__name__
            raise
        self._warm.set()

    def close(self) -> None:
        """Finish the accepted work."""
        self._queue.close()
        self._stream_threads.shutdown()

    def check_key(self, given: str | None) -> None:
        """Check the key of a client in constant time.

        Raises:
            RequestError: 401 if a key is required and this one is not valid.
        """
        if not self._keys:
            return
        digest = _digest(given or "")
        found = [hmac.compare_digest(digest, key) for key in self._keys]
        if not any(found):
            raise RequestError(
                401,
                "the API key is missing or wrong: send Authorization: Bearer KEY",
                {"www-authenticate": "Bearer"},
            )

    def choose(self, model: str | None, source: str | None, target: str | None) -> Chosen:
        """Return the first run with this name and these languages.

        Raises:
            RequestError: 404 if there is none.
        """
        for run in self.engine.runs:
            for direction in run.directions:
                wanted = (model, run.name), (source, direction.source), (target, direction.target)
                if all(given in (None, "auto", is_) for given, is_ in wanted):
                    return Chosen(run, direction)
        asked = (model, source and f"from {source}", target and f"to {target}")
        words = " ".join(each for each in asked if each)
        raise RequestError(404, f"no run translates {words}. See /v1/models"[:500])

    async def translate(
        self, chosen: Chosen, texts: Sequence[str], options: dict[str, Any], prefix: str = ""
    ) -> list[Any]:
        """Return the Translation of each sentence, in order.

        Args:
            chosen: see `choose`.
            texts: the sentences.
            options: values of keys of `[decoding]`.
            prefix: the beginning of each translation.

        Raises:
            RequestError: 422 if an option is invalid or exceeds a limit, or for another error that
                the client can correct; 503 if the queue is full, the server is stopping, or
                memory is lacking.
        """
        return await self._run(self._search(chosen, options, prefix), texts)

    async def score(self, chosen: Chosen, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        """Return the Score of each pair of a sentence and a translation; raises as `translate`."""
        return await self._run(_reading("score", chosen), pairs)

    async def attention(self, chosen: Chosen, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        """Return the Attention of each pair, None for a blank one; raises as `translate`."""
        return await self._run(_reading("attention", chosen), pairs)

    def check_prefix(self, chosen: Chosen, prefix: str) -> None:
        """Check that a translation can begin with a text.

        Raises:
            RequestError: 422 if not.
        """
        self._search(chosen, {}, prefix)

    def _search(self, chosen: Chosen, options: dict[str, Any], prefix: str) -> Work:
        decoding = self._decoding(chosen.run, options)
        work = Work("translate", chosen.run.name, chosen.direction.target, decoding, prefix)
        try:
            with options_as_keywords():
                self.engine.check(work)
        except UsageError as error:
            raise RequestError(422, str(error)) from None
        return work

    def _decoding(self, run: ServedRun, options: dict[str, Any]) -> DecodingConfig:
        most = {"beam": self.limits.hypotheses, "n_best": self.limits.hypotheses}
        for key, limit in {**most, "max_length": self.limits.tokens}.items():
            if options.get(key, 0) > limit:
                raise RequestError(422, f"{key} is {options[key]:,}; the limit is {limit:,}")
        try:
            with options_as_keywords():
                return with_options(run.decoding, run.name, options)
        except (UsageError, TypeError) as error:
            raise RequestError(422, str(error).replace("translate(): ", "")) from None

    async def _run(self, work: Work, items: Sequence[Any]) -> list[Any]:
        futures: list[asyncio.Future[Any]] = []
        try:
            futures = self._queue.submit(self._chunks(work, items))
            return [await future for future in futures]
        except QueueFullError:
            raise RequestError(
                503, "too many sentences wait. Try again", {"retry-after": "1"}
            ) from None
        except QueueClosedError:
            raise RequestError(503, "the server is stopping", {"retry-after": "10"}) from None
        except OutOfMemoryError:
            raise RequestError(
                503,
                "the server lacks memory for these sentences. Send fewer or shorter ones, or try "
                "again",
                {"retry-after": "1"},
            ) from None
        except S2SError as error:
            raise RequestError(422, str(error)) from None
        finally:
            for future in futures:
                future.cancel()  # without it, asyncio logs errors that nobody retrieves

    def _chunks(self, work: Work, items: Sequence[Any]) -> Iterator[Chunk]:
        """Yield all items; if they are sampled, in batches that keep their numbers."""
        lengths = [len(it) if isinstance(it, str) else sum(map(len, it)) for it in items]
        if work.kind != "translate" or not work.decoding.sample:
            yield Chunk(work, items, lengths)
            return
        for first in range(0, len(items), self._batch):
            part = slice(first, first + self._batch)
            key = work._replace(sample_id=next(self._samples), first=first)
            yield Chunk(key, items[part], lengths[part])

    async def grow(self, chosen: Chosen, sentence: str, prefix: str) -> AsyncIterator[Any]:
        """Yield a Growth after each token of a greedy translation.

        Raises:
            RequestError: 503 if too many translations are streamed at a time.
        """
        if self._streams >= self.limits.streams:
            raise RequestError(503, "too many streams. Try again", {"retry-after": "1"})
        self._streams += 1
        loop = asyncio.get_running_loop()
        growths: Generator[Any, None, None] | None = None
        try:
            growths = self.engine.grow(chosen.run.name, chosen.direction.target, sentence, prefix)
            while True:
                step = loop.run_in_executor(self._stream_threads, next, growths, _END)
                growth = await step
                if growth is _END:
                    return
                yield growth
        except S2SError as error:
            raise RequestError(422, str(error)) from None
        finally:
            self._streams -= 1
            with contextlib.suppress(ValueError):  # its current step still runs; no other follows
                if growths is not None:
                    growths.close()

    def texts(self, given: str | list[str], name: str) -> list[str]:
        """Return the texts of a field as a list; see `check_texts`."""
        texts = [given] if isinstance(given, str) else given
        check_texts(texts, name, self.limits)
        return texts


def _reading(kind: Literal["score", "attention"], chosen: Chosen) -> Work:
    return Work(kind, chosen.run.name, chosen.direction.target, chosen.run.decoding)


def _digest(key: str) -> bytes:
    """Return a hash of a key. All hashes have the same length."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
