"""A middleware: limits on sizes and times, disconnected clients, headers and errors."""

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Collection
from typing import Any

import anyio

from seq2seq_cli.serving.limits import Limits, RequestError
from seq2seq_cli.serving.metrics import Metrics

INTERNAL = "an internal error; see the server's log"

_LOG = logging.getLogger("s2s.serve")
_DISCARDED = 16  # a body that is too large is read and discarded up to this multiple of the limit
_METHODS = {"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"}
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """An ASGI application that wraps another one.

    It reads the whole body, and limits its size and time. It ends a request at a timeout, or when
    the client disconnects. It adds the security headers. Unexpected errors become status 500. The
    log gets the location of an error, but never its message, which could contain text of a request.

    Args:
        app: an ASGI application.
        limits: see Limits.
        metrics: counts the requests.
        paths: the paths of the routes. All other paths are counted together.
        logs_requests: whether to log method, route, status and time of each request.
    """

    def __init__(
        self,
        app: Any,
        limits: Limits,
        metrics: Metrics,
        paths: Collection[str],
        logs_requests: bool = False,
    ):
        self._app = app
        self._paths = paths
        self._limits = limits
        self._metrics = metrics
        self._logs_requests = logs_requests
        self._open = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request. Other events go to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        began = time.monotonic()
        self._open += 1
        try:
            await self._answer(scope, receive, answer)
        except RequestError as error:
            await answer.refuse(error)
        except Exception as error:
            _LOG.error("%s\n%s", type(error).__name__, _where(error))
            await answer.refuse(RequestError(500, INTERNAL))
        finally:
            self._open -= 1
            self._note(scope, answer.status, time.monotonic() - began)

    async def _answer(self, scope: Any, receive: Any, answer: "_Answer") -> None:
        if self._open > self._limits.requests:
            message = f"more than {self._limits.requests} requests at a time. Try again"
            raise RequestError(503, message, {"retry-after": "1", "connection": "close"})
        body = await self._body(receive)
        if body is None:
            return
        with anyio.move_on_after(self._limits.seconds) as waiting:
            leaving = asyncio.ensure_future(_cancel_when_left(receive, waiting))
            try:
                await self._app(scope, _replayed(body), answer.send)
            finally:
                has_left = leaving.done()
                leaving.cancel()
        if waiting.cancelled_caught and not has_left:
            raise RequestError(504, f"the request took longer than {self._limits.seconds:g} s")

    async def _body(self, receive: Any) -> bytes | None:
        """Return the whole body, or None if the client disconnected.

        Raises:
            RequestError: 413 if it is too large, 408 if it does not arrive in time.
        """
        closing = {"connection": "close"}
        seconds, most = self._limits.upload_seconds, self._limits.body_bytes
        try:
            with anyio.fail_after(seconds):
                body, size = await _read(receive, most)
        except TimeoutError:
            text = f"the body did not arrive within {seconds:g} s"
            raise RequestError(408, text, closing) from None
        if size > most:
            raise RequestError(413, f"the body has more than {most:,} bytes", closing)
        return body

    def _note(self, scope: Any, status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self._paths else "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.answered(method, path, status, seconds)
        if self._logs_requests:
            _LOG.info("%s %s %d %.3f s", method, path, status, seconds)


class _Answer:
    """Sends a response with the security headers. Status 499 means that none has begun."""

    def __init__(self, send: Any):
        self._send = send
        self._is_complete = False
        self.status = 499

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name.lower() for name, _ in message["headers"]}
            added = [(k.encode(), v.encode()) for k, v in _HEADERS.items()]
            message["headers"] = [
                *message["headers"],
                *((name, value) for name, value in added if name not in given),
            ]
        self._is_complete = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def refuse(self, error: RequestError) -> None:
        """Send an error, or end a response that has begun."""
        if self._is_complete:
            return
        if self.status != 499:
            await self.send({"type": "http.response.body", "body": b""})
            return
        body = json.dumps({"error": error.message}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        pairs = [(k.encode(), v.encode()) for k, v in {**headers, **error.headers}.items()]
        await self.send({"type": "http.response.start", "status": error.status, "headers": pairs})
        await self.send({"type": "http.response.body", "body": body})


def _replayed(body: bytes) -> Any:
    """Return an ASGI `receive` that returns the whole body, and then nothing more."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        return await asyncio.Event().wait()

    return receive


async def _read(receive: Any, most: int) -> tuple[bytes | None, int]:
    """Return a body of at most `most` bytes (None if the client disconnected), and its size."""
    parts, size, is_complete = [], 0, False
    while not is_complete and size <= _DISCARDED * most:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None, 0
        size += len(message.get("body", b""))
        if size <= most:
            parts.append(message.get("body", b""))
        is_complete = not message.get("more_body", False)
    return b"".join(parts), size


async def _cancel_when_left(receive: Any, waiting: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    waiting.cancel()


def _where(error: BaseException) -> str:
    return "".join(traceback.format_tb(error.__traceback__))
