"""Limits, keys, headers, slow clients and those that leave; a server that stops."""

import concurrent.futures
import gc
import json
import logging
import time

import pytest
from scripted_server import SECONDS, ScriptedEngine, running, wait_until

from seq2seq_cli.errors import OutOfMemoryError
from seq2seq_cli.serving.limits import Limits

TEXT = {"text": "a"}


def held_engine():
    engine = ScriptedEngine()
    engine.free.clear()
    return engine


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"text": ["a"] * 6}, "6 sentences; the limit per request is 5"),
        ({"text": "a" * 101}, "101 characters; the limit per request is 100"),
        ({"text": "a" * 2000}, "more than 1,000 bytes"),
        ({"text": "a" * 10_000_000}, "more than 1,000 bytes"),
    ],
)
def test_too_large_a_request_is_413(asked, message):
    with running(limits=Limits(body_bytes=1000, sentences=5, characters=100)) as server:
        try:
            status, answer = server.post("/v1/translate", asked)
        except (BrokenPipeError, ConnectionResetError):  # the server stopped reading
            assert len(asked["text"]) > 16_000
        else:
            assert status == 413
            assert message in answer["error"]
        assert server.post("/v1/translate", TEXT)[0] == 200


def test_more_requests_at_a_time_are_503():
    engine = held_engine()
    with (
        running(engine, Limits(requests=1), batch=1) as server,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        first = pool.submit(server.post, "/v1/translate", TEXT)
        wait_until(lambda: engine.batches)
        status, headers, answer = server.raw("GET", "/health")
        engine.free.set()
        assert (status, headers["retry-after"]) == (503, "1")
        assert b"more than 1 requests at a time" in answer
        assert first.result()[0] == 200


def test_a_full_queue_is_503_and_says_when_to_try_again():
    engine = held_engine()
    with (
        running(engine, Limits(waiting=2), batch=1) as server,
        concurrent.futures.ThreadPoolExecutor(3) as pool,
    ):
        asked = [pool.submit(server.post, "/v1/translate", TEXT)]
        wait_until(lambda: engine.batches)
        asked += [pool.submit(server.post, "/v1/translate", TEXT) for _ in range(2)]
        wait_until(lambda: len(server.service._queue) == 2)
        body = json.dumps(TEXT).encode()
        status, headers, answer = server.raw(
            "POST", "/v1/translate", body, content_type="application/json"
        )
        assert (status, headers["retry-after"]) == (503, "1")
        assert "too many sentences wait" in json.loads(answer)["error"]
        engine.free.set()
        assert [each.result()[0] for each in asked] == [200] * 3


def test_a_request_that_takes_too_long_is_504_and_not_computed():
    engine = held_engine()
    with running(engine, Limits(seconds=0.3), batch=1) as server:
        assert server.post("/v1/translate", TEXT)[0] == 504
        assert server.post("/v1/translate", {"text": "late"})[0] == 504
        engine.free.set()
        assert server.post("/v1/translate", {"text": "b"})[0] == 200
    assert [items for _, items in engine.batches] == [["a"], ["b"]]


def test_the_request_of_a_disconnected_client_is_not_computed():
    engine = held_engine()
    with running(engine, batch=1) as server:
        sockets = [server.connection() for _ in range(2)]
        for i, each in enumerate(sockets):
            body = json.dumps({"text": f"left {i}"})
            head = f"POST /v1/translate HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}"
            each.sendall(f"{head}\r\ncontent-type: application/json\r\n\r\n{body}".encode())
            wait_until(lambda: engine.batches)
        wait_until(lambda: len(server.service._queue) == 1)
        sockets[1].close()
        time.sleep(0.2)
        engine.free.set()
        assert server.post("/v1/translate", {"text": "b"})[0] == 200
        sockets[0].close()
    assert [items for _, items in engine.batches] == [["left 0"], ["b"]]


def test_slow_headers_and_bodies_are_ended():
    with running(limits=Limits(upload_seconds=0.5)) as server:
        slow = [server.connection() for _ in range(200)]
        for each in slow[:100]:
            each.sendall(b"POST /v1/translate HTTP/1.1\r\nhost:")
        for each in slow[100:]:
            head = b"POST /v1/translate HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"
            each.sendall(head)
        assert server.post("/v1/translate", TEXT)[0] == 200  # meanwhile
        answers = [each.makefile("rb").read() for each in slow]
        assert set(answers[:100]) == {b""}
        assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in answers[100:])
        for each in slow:
            each.close()


def test_slow_headers_are_ended_in_later_requests_too():
    with running(limits=Limits(upload_seconds=0.5)) as server:
        slow = server.connection()
        slow.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        assert slow.recv(10_000).startswith(b"HTTP/1.1 200 ")
        began, is_open = time.monotonic(), True
        while is_open and time.monotonic() - began < SECONDS:
            try:
                slow.sendall(b"GET /health HTTP/1.1\r\n" if is_open is True else b"a: b\r\n")
                is_open = "still"
                slow.settimeout(0.1)
                is_open = slow.recv(10) != b"" and "still"
            except TimeoutError:
                pass
            except OSError:
                is_open = False
        assert time.monotonic() - began < 5
        slow.close()


def test_the_number_of_streams_is_limited():
    engine = held_engine()
    asked = {"text": "a b", "stream": True}
    with (
        running(engine, Limits(streams=1)) as server,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        body, json_type = json.dumps(asked).encode(), {"content_type": "application/json"}
        first = pool.submit(server.raw, "POST", "/v1/translate", body, **json_type)
        wait_until(lambda: server.service._streams == 1)
        assert server.post("/v1/translate", asked)[0] == 503
        engine.free.set()
        assert first.result()[0] == 200
        wait_until(lambda: server.service._streams == 0)
        assert server.raw("POST", "/v1/translate", body, **json_type)[0] == 200


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "key"}, {"x_api_key": ""}]
)
def test_without_a_key_nothing_is_translated(headers):
    with running(keys=("key", "other")) as server:
        assert server.post("/v1/translate", TEXT, **headers)[0] == 401
        assert server.post("/translate", {"q": "a"}, **headers)[0] == 401
        assert server.get("/v1/models", **headers)[0] == 401
        assert server.raw("GET", "/metrics", **headers)[0] == 401
        assert server.engine.batches == []
        for path in ("/health", "/ready", "/languages", "/docs", "/openapi.json"):
            assert server.raw("GET", path, **headers)[0] == 200
        for right in ({"authorization": "Bearer other"}, {"x_api_key": "key"}):
            assert server.post("/v1/translate", TEXT, **right)[0] == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/health", "/no/such/page", "/v1/translate"])
def test_every_answer_has_the_security_headers(path):
    with running() as server:
        _, headers, _ = server.raw("GET", path, origin="https://other.example")
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    assert not [name for name in headers if name.startswith("access-control")]


def test_other_sites_may_use_the_api_only_if_they_are_named():
    with running(origins=["https://a.example"]) as server:
        for origin, allowed in (("https://a.example", "https://a.example"), ("https://b", None)):
            headers = server.raw("GET", "/v1/models", origin=origin)[1]
            assert headers.get("access-control-allow-origin") == allowed
    site = "https://a.example"
    with running(origins=[site], limits=Limits(body_bytes=10)) as server:
        status, headers, _ = server.raw("POST", "/v1/translate", b"x" * 20, origin=site)
        assert (status, headers["access-control-allow-origin"]) == (413, site)
        assert headers["x-content-type-options"] == "nosniff"


def test_a_lack_of_memory_is_the_servers_and_not_the_clients():
    class Small(ScriptedEngine):
        def compute(self, work, items):
            raise OutOfMemoryError("lower decoding.batch_tokens")

    with running(Small()) as server:
        status, answer = server.post("/v1/translate", {"text": "a"})
    assert status == 503
    assert "Send fewer or shorter ones" in answer["error"]


def test_an_error_of_the_translator_is_500_and_shows_and_logs_no_text(caplog):
    with caplog.at_level(logging.DEBUG), running(logs_requests=True) as server:
        texts = {"text": ["fail secret", "fail secret too"]}
        status, answer = server.post("/v1/translate", texts, x_api_key="my-key")
        assert status == 500
        assert "fail" not in answer["error"]
        assert server.post("/v1/translate", {"text": "a-text"})[0] == 200
    gc.collect()  # asyncio logs an error that nobody retrieved when its future is deleted
    messages = "\n".join(record.getMessage() for record in caplog.records)
    assert "ValueError" in messages
    assert "POST /v1/translate 500" in messages
    for text in ("secret", "a-text", "my-key"):
        assert text not in messages
