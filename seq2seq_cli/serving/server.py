"""Uvicorn with a timeout for the headers of a request."""

import asyncio
import signal
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_HEADERS = 65_536  # bytes


def header_protocol(seconds: float) -> type[HttpToolsProtocol]:
    """Return a protocol that closes a connection if its headers do not arrive in time."""

    class HeaderProtocol(HttpToolsProtocol):
        """Starts a timer at the beginning of a connection, and at the end of each response."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._answering = 0  # requests whose headers have arrived
            self._await_headers()

        def data_received(self, data: bytes) -> None:
            if not self._answering:
                self._header_bytes += len(data)
                # More bytes than the limit for headers mean that a body arrived with them.
                if self._header_bytes > _MOST_HEADERS and b"\r\n\r\n" not in data:
                    self.transport.close()
                    return
            super().data_received(data)

        def on_headers_complete(self) -> None:
            self._answering += 1
            self._timer.cancel()
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            self._answering -= 1
            if not self._answering:
                self._await_headers()
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(exc)

        def _await_headers(self) -> None:
            self._header_bytes = 0
            self._timer = self.loop.call_later(seconds, self._close_idle)

        def _close_idle(self) -> None:
            if self.transport.get_write_buffer_size():
                self.transport.abort()  # the client does not read the response
            else:
                self.transport.close()

    return HeaderProtocol


def make_server(
    app: Any, host: str, port: int, header_seconds: float, stop_seconds: float
) -> uvicorn.Server:
    """Return a server.

    Args:
        app: an ASGI application.
        host: the address to listen on.
        port: the port; 0 for any free one.
        header_seconds: maximum time until the headers of a request have arrived.
        stop_seconds: maximum time, after a signal, to finish the responses that have begun.
    """
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=header_protocol(header_seconds),
            ws="none",
            loop="asyncio",
            lifespan="on",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            backlog=512,
            timeout_keep_alive=max(1, round(header_seconds)),
            timeout_graceful_shutdown=max(1, round(stop_seconds)),
        )
    )


def serve(server: uvicorn.Server) -> None:
    """Serve until SIGTERM or SIGINT. Accepted requests are finished first."""
    # uvicorn raises the signal again at its end. Nothing is left to do then.
    kept = {each: signal.signal(each, _ignore) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        asyncio.run(server.serve())
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _ignore(number: int, frame: Any) -> None:
    """Do nothing. SIG_IGN would be inherited by other processes."""
