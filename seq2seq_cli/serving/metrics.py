"""The metrics of a server, for Prometheus."""

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counts and times of one server. They contain no text of a request.

    Args:
        waiting: returns how many sentences wait.
    """

    def __init__(self, waiting: Callable[[], int]):
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)  # memory, processor time, open files
        self._requests = Counter(
            "s2s_requests",
            "Answered requests",
            ["method", "path", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "s2s_request_seconds",
            "Time of a request",
            ["path"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._sentences = Counter("s2s_sentences", "Computed sentences", registry=self.registry)
        self._batch = Histogram(
            "s2s_batch_sentences",
            "Sentences of a batch",
            buckets=_SENTENCES,
            registry=self.registry,
        )
        self._batch_seconds = Histogram(
            "s2s_batch_seconds", "Time of a batch", buckets=_SECONDS, registry=self.registry
        )
        Gauge("s2s_waiting_sentences", "Sentences that wait", registry=self.registry).set_function(
            waiting
        )

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request. The path is that of a route, so the number of paths stays small."""
        self._requests.labels(method, path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def computed(self, sentences: int, seconds: float) -> None:
        """Count a batch."""
        self._sentences.inc(sentences)
        self._batch.observe(sentences)
        self._batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
