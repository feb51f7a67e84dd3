"""The API of a server that translates by a script."""

import concurrent.futures
import json
import sys
import time

import pytest
from scripted_server import ScriptedEngine, running, wait_until

from seq2seq_cli.serving.limits import Limits


@pytest.fixture(scope="module")
def shared():
    with running(limits=Limits(streams=1)) as server:
        yield server


def texts(answer):
    return [each["text"] for each in answer["translations"]]


def test_a_text_and_a_list_are_translated_in_order(shared):
    status, answer = shared.post("/v1/translate", {"text": "a b"})
    assert (status, texts(answer)) == (200, ["A B"])
    assert (answer["model"], answer["source"], answer["target"]) == ("001-a", "en", "es")
    many = [f"a{n}" for n in range(40)]
    _, answer = shared.post("/v1/translate", {"text": many})
    assert texts(answer) == [text.upper() for text in many]


def test_a_run_is_chosen_by_its_name_or_its_languages(shared):
    for asked in ({"model": "002-b"}, {"source": "es"}, {"target": "en"}):
        _, answer = shared.post("/v1/translate", {"text": "x", **asked})
        assert answer["model"] == "002-b"
    status, answer = shared.post("/v1/translate", {"text": "x", "model": "\ud800"})
    assert (status, "\ud800" in answer["error"]) == (404, True)
    status, answer = shared.post("/v1/translate", {"text": "x", "target": "fr"})
    assert status == 404
    assert "/v1/models" in answer["error"]


def test_options_reach_the_search(shared):
    asked = {"beam": 4, "n_best": 3, "length_penalty": 0.0, "prefix": "yo"}
    _, answer = shared.post("/v1/translate", {"text": "a b", **asked})
    work, _ = shared.engine.batches[-1]
    assert (work.decoding.beam, work.decoding.n_best, work.decoding.length_penalty) == (4, 3, 0.0)
    assert texts(answer) == ["yo B"]
    assert [each["text"] for each in answer["translations"][0]["others"]] == ["2", "3"]


def test_samples_of_different_requests_are_not_batched_together(shared):
    asked = {"text": ["a", "b"], "sample": True, "temperature": 2.0, "seed": 3}
    for _ in range(2):
        assert shared.post("/v1/translate", asked)[0] == 200
    (first, items), (second, _) = shared.engine.batches[-2:]
    assert first != second
    assert items == ["a", "b"]
    assert first.decoding.seed == 3


def test_attention_is_between_words_with_alternatives(shared):
    _, answer = shared.post("/v1/translate", {"text": ["a b", " "], "attention": True})
    found, blank = (each["attention"] for each in answer["translations"])
    assert blank is None
    assert found["source_words"] == ["a", "b", "</s>"]
    assert found["target_words"] == ["A", "B", "</s>"]
    assert [sum(row) for row in found["weights"]] == pytest.approx([1, 1, 1], abs=1e-4)
    assert found["alternatives"][0] == [{"text": "otra", "probability": 0.25}]
    assert found["alternatives"][-1] == found["alternatives"][0]  # </s> begins a word, too


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "text: Field required"),
        ({"text": 3}, "text"),
        ({"text": ["a", None]}, "text"),
        ({"text": "a", "beem": 3}, "beem: Extra inputs"),
        ({"text": "a", "\ud800": 3}, "unicode string"),
        ({"text": "a", "beam": "3"}, "beam: Input should be a valid integer"),
        ({"text": "a", "beam": 0}, "beam must be a whole number"),
        ({"text": "a", "beam": 13}, "beam is 13"),
        ({"text": "a", "beam": 17}, "beam is 17; the limit is 16"),
        ({"text": "a", "max_length": 100_000}, "max_length is 100,000; the limit is 512"),
        ({"text": "a", "top_k": 2}, "sample"),
        ({"text": "a\0b"}, "NUL"),
        ({"text": "a\ud800"}, "surrogate"),
        ({"text": "a", "prefix": "a\udc00"}, "surrogate"),
        ({"text": "a", "temperature": float("nan"), "sample": True}, "temperature"),
        ({"text": ["a", "b"], "stream": True}, "one sentence"),
        ({"text": "a", "beam": 4, "stream": True}, "leave out beam"),
    ],
)
def test_what_is_wrong_is_named(shared, asked, message):
    status, answer = shared.post("/v1/translate", asked)
    assert status == 422
    assert message in answer["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'"text"', b"[" * 100_000])
def test_invalid_json_is_refused(shared, body):
    status, _, answer = shared.raw("POST", "/v1/translate", body, content_type="application/json")
    assert status in (400, 422)
    assert json.loads(answer)["error"]
    assert shared.get("/health")[0] == 200


def test_a_stream_has_an_event_for_each_token(shared):
    asked = json.dumps({"text": "a b", "stream": True, "attention": True}).encode()
    status, headers, body = shared.raw(
        "POST", "/v1/translate", asked, content_type="application/json"
    )
    assert (status, headers["content-type"].split(";")[0]) == (200, "text/event-stream")
    events = [event.split("\ndata: ") for event in body.decode().strip().split("\n\n")]
    assert [name for name, _ in events] == ["event: token", "event: token", "event: done"]
    records = [json.loads(data) for _, data in events]
    assert [record["text"] for record in records] == ["A", "A B", "A B"]
    assert records[0]["weights"] == [0.25, 0.75]
    assert [record.get("cut") for record in records] == [None, None, False]


def test_scores_are_in_order(shared):
    asked = {"source_text": ["a", " "], "translation": ["bcd", ""]}
    _, answer = shared.post("/v1/score", asked)
    assert [each["log_probability"] for each in answer["scores"]] == [-3.0, None]
    assert shared.post("/v1/score", {**asked, "translation": "b"})[0] == 422


def test_models_are_listed_with_their_directions_and_defaults(shared):
    _, answer = shared.get("/v1/models")
    first, second = answer["models"]
    assert (first["name"], first["directions"]) == ("001-a", [{"source": "en", "target": "es"}])
    assert second["decoding"]["beam"] == 2
    assert answer["limits"]["sentences"] == 128


def test_the_description_names_every_route(shared):
    _, description = shared.get("/openapi.json")
    routes = {"/v1/translate", "/v1/score", "/v1/models", "/health", "/ready", "/metrics"}
    assert description["paths"].keys() == {*routes, "/translate", "/languages", "/detect"}
    page = shared.raw("GET", "/docs")[2].decode()
    for path in description["paths"]:
        assert f" {path}</code>" in page
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page


def test_metrics_count_by_route(shared):
    shared.post("/v1/translate", {"text": "a"})
    shared.get("/no/such/page")
    text = shared.raw("GET", "/metrics")[2].decode()
    assert 's2s_requests_total{method="POST",path="/v1/translate",status="200"}' in text
    assert 'path="other",status="404"' in text
    assert "no/such" not in text
    assert "s2s_batch_sentences_bucket" in text
    assert "process_resident_memory_bytes" in text or sys.platform != "linux"


def test_ready_reports_when_the_warm_up_is_done():
    engine = ScriptedEngine()
    engine.warm.clear()
    with running(engine) as server:
        assert server.get("/health") == (200, {"status": "ok"})
        assert server.get("/ready") == (503, {"status": "warming up"})
        engine.warm.set()
        wait_until(lambda: server.get("/ready") == (200, {"status": "ready"}))


def test_requests_that_arrive_together_are_translated_together():
    engine = ScriptedEngine()
    engine.free.clear()
    with running(engine, batch=64) as server, concurrent.futures.ThreadPoolExecutor(33) as pool:
        first = pool.submit(server.post, "/v1/translate", {"text": "first"})
        wait_until(lambda: engine.batches)
        asked = [
            pool.submit(server.post, "/v1/translate", {"text": f"text {n}"}) for n in range(32)
        ]
        wait_until(lambda: len(server.service._queue) == 32)
        engine.free.set()
        assert [texts(each.result()[1]) for each in asked] == [[f"TEXT {n}"] for n in range(32)]
        assert first.result()[0] == 200
        assert [len(items) for _, items in engine.batches] == [1, 32]


def test_a_single_client_waits_little():
    with running() as server:
        server.post("/v1/translate", {"text": "a"})
        times = []
        for _ in range(20):
            began = time.monotonic()
            server.post("/v1/translate", {"text": "a"})
            times.append(time.monotonic() - began)
    assert sorted(times)[10] < 0.25  # on a busy machine; it is a few milliseconds
