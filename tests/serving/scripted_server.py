"""A server that translates by a script, for tests without TensorFlow."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from seq2seq_cli.attention.maps import Attention, RunnerUp
from seq2seq_cli.attention.tokens import Tokens
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.serving.app import make_app
from seq2seq_cli.serving.limits import Limits
from seq2seq_cli.serving.server import make_server
from seq2seq_cli.serving.service import Service
from seq2seq_cli.serving.work import Direction, ServedRun

SECONDS = 20


def translated(text: str, prefix: str = "") -> str:
    """Return the translation of the script: capital letters after the prefix."""
    words = text.upper().split()
    return " ".join([*prefix.split(), *words[len(prefix.split()) :]])


class ScriptedEngine:
    """Writes capital letters; it notes its batches, and waits while it is held."""

    workers = 1

    def __init__(self):
        self.runs = [
            ServedRun("001-a", "a", "c-1", (Direction("en", "es"),), DecodingConfig()),
            ServedRun("002-b", "b", "c-2", (Direction("es", "en"),), DecodingConfig(beam=2)),
        ]
        self.batches: list[tuple[Any, list[Any]]] = []
        self.free, self.warm = threading.Event(), threading.Event()
        self.free.set()
        self.warm.set()

    def warm_up(self):
        assert self.warm.wait(SECONDS)

    def check(self, work):
        if work.decoding.beam == 13:
            raise UsageError("decoding.beam (--beam) is 13")

    def compute(self, work, items):
        self.batches.append((work, items))
        assert self.free.wait(SECONDS)
        if any("fail" in item for item in items):
            raise ValueError(" ".join(map(str, items)))
        return [getattr(self, f"_{work.kind}")(work, item) for item in items]

    def grow(self, run, target, sentence, prefix):
        words: list[str] = []
        for word in translated(sentence, prefix).split():
            assert self.free.wait(SECONDS)
            words.append(word)
            token = SimpleNamespace(piece=f"▁{word}", probability=0.5)
            view = SimpleNamespace(weights=np.array([[0.25, 0.75]]))
            yield SimpleNamespace(text=" ".join(words), chosen=[token], view=view, cut=False)

    def _translate(self, work, text):
        others = tuple(
            SimpleNamespace(text=f"{n}", score=-float(n), log_probability=-float(n))
            for n in range(2, work.decoding.n_best + 1)
        )
        best = {"text": translated(text, work.prefix), "score": -1.0, "log_probability": -2.0}
        return SimpleNamespace(**best, cut=len(text) > 1000, is_complete=True, others=others)

    def _score(self, work, pair):
        blank = not any(side.strip() for side in pair)
        number = None if blank else -float(len(pair[1]))
        return SimpleNamespace(
            log_probability=number, tokens=["a"], token_log_probabilities=[-1.0], cut=()
        )

    def _attention(self, work, pair):
        if not pair[0].strip():
            return None
        source, target = (self._tokens(text) for text in pair)
        size = len(target.pieces), len(source.pieces)
        weights = np.full((1, 1, *size), 0.1, np.float32)
        for i in range(min(size)):
            weights[0, 0, i, i] = 1
        weights /= weights.sum(axis=-1, keepdims=True)
        logs = np.log(np.linspace(0.3, 0.9, size[0]))
        others = ((RunnerUp("▁otra", 0.25), RunnerUp("s", 0.2), RunnerUp("</s>", 0.1)),) * size[0]
        return Attention(
            *pair, source, target, target, logs, {"cross": weights}, [], runners_up=others
        )

    def _tokens(self, text):
        words = [*text.split(), "</s>"]
        pieces = [*(f"▁{word}" for word in words[:-1]), words[-1]]
        return Tokens(pieces, words, [*range(len(words))])


class Running:
    """A server that runs in a thread of the test."""

    def __init__(self, engine: Any, port: int, service: Service):
        self.engine, self.port, self.service = engine, port, service

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def raw(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Any:
        """Return status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        status, _, body = self.raw("GET", path, **headers)
        return status, json.loads(body)

    def post(self, path: str, record: Any, **headers: str) -> tuple[int, Any]:
        body = json.dumps(record).encode()
        status, _, answer = self.raw(
            "POST", path, body, **{"content_type": "application/json", **headers}
        )
        return status, json.loads(answer)

    def connection(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)


@contextmanager
def running(
    engine: Any = None,
    limits: Limits | None = None,
    keys: tuple[str, ...] = (),
    batch: int = 8,
    delay: float = 0.005,
    **options: Any,
) -> Iterator[Running]:
    """Yield a server at a free port; it is stopped at the end."""
    engine, limits = engine or ScriptedEngine(), limits or Limits()
    service = Service(engine, limits, batch, delay, keys)
    app = make_app(service, **options)
    server = make_server(app, "127.0.0.1", 0, limits.upload_seconds, 5)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Running(engine, port, service)
    finally:
        for event in ("free", "warm"):
            getattr(engine, event, threading.Event()).set()
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()


def wait_until(condition: Any) -> None:
    """Wait until something is so.

    Raises:
        AssertionError: if it takes too long.
    """
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
