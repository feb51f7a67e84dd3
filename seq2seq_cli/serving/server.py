"""Listen, answer and leave: uvicorn with a limit on the time of a request's headers."""

import asyncio
import signal
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_HEADERS = 65_536  # bytes


def header_protocol(seconds: float) -> type[HttpToolsProtocol]:
    """Return a protocol that closes a connection whose headers do not arrive in so many seconds."""

    class HeaderProtocol(HttpToolsProtocol):
        """Counts the time from the beginning of a connection, and from the end of an answer."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._answering = 0  # requests whose headers have arrived
            self._await_headers()

        def data_received(self, data: bytes) -> None:
            if not self._answering:
                self._header_bytes += len(data)
                # More than the headers can be here only with a body that came at once.
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
                self.transport.abort()  # the client does not read its answer
            else:
                self.transport.close()

    return HeaderProtocol


def make_server(
    app: Any, host: str, port: int, header_seconds: float, stop_seconds: float
) -> uvicorn.Server:
    """Return a server.

    Args:
        app: an ASGI application.
        host: the address to listen at.
        port: 0 for any that is free.
        header_seconds: in which the headers of a request must arrive.
        stop_seconds: after a signal, for the answers that were begun.
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
    """Answer until SIGTERM or SIGINT; what was accepted is finished first."""
    # uvicorn raises the signal again when it has ended. There is nothing left to do then.
    kept = {each: signal.signal(each, _ignore) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        asyncio.run(server.serve())
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _ignore(number: int, frame: Any) -> None:
    """Do nothing; SIG_IGN would be inherited by other processes."""
