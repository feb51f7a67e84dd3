"""LibreTranslate's routes, by its own client, unchanged."""

import urllib.error

import pytest
from scripted_server import running

libretranslatepy = pytest.importorskip("libretranslatepy", reason="it comes with the extra `test`")


@pytest.fixture(scope="module")
def shared():
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def client(shared):
    return libretranslatepy.LibreTranslateAPI(shared.url)


def test_the_client_translates(client, shared):
    assert client.translate("I like apples.", "en", "es") == "I LIKE APPLES."
    assert shared.engine.batches[-1][0].run == "001-a"
    assert client.translate("¿Qué? ñ", "es", "en") == "¿QUÉ? Ñ"
    assert shared.engine.batches[-1][0].run == "002-b"


def test_each_line_is_translated_to_a_line(client):
    assert client.translate("a\n\nb c\n") == "A\n\nB C"
    assert client.translate("a\r\nb\u2028c\x85d\x0ce") == "A\nB C D E"
    assert client.translate("") == ""


def test_the_client_lists_languages(client):
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["es"]},
        {"code": "es", "name": "Spanish", "targets": ["en"]},
    ]


def test_the_client_detects_among_the_source_languages(client):
    for text, code in (("I would like two books.", "en"), ("Me gustan las manzanas.", "es")):
        first, second = client.detect(text)
        assert first["language"] == code
        assert first["confidence"] > second["confidence"]
        assert first["confidence"] + second["confidence"] == pytest.approx(100, abs=0.2)


def test_the_source_can_be_detected(shared):
    asked = {"q": ["Me gustan las manzanas."], "source": "auto", "target": "en"}
    status, answer = shared.post("/translate", asked)
    assert (status, answer["translatedText"]) == (200, ["ME GUSTAN LAS MANZANAS."])
    assert answer["detectedLanguage"]["language"] == "es"


def test_only_source_languages_of_the_target_are_detected(shared):
    asked = {"q": "Me gustan las manzanas.", "source": "auto", "target": "es"}
    status, answer = shared.post("/translate", asked)
    assert (status, answer["detectedLanguage"]["language"]) == (200, "en")


def test_the_client_sends_a_key():
    with running(keys=("key",)) as server:
        client = libretranslatepy.LibreTranslateAPI(server.url, "key")
        assert client.translate("a") == "A"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            libretranslatepy.LibreTranslateAPI(server.url, "other").translate("a")
        asked = {"q": "a", "source": "en", "target": "es"}
        assert server.post("/translate", asked, x_api_key="key")[0] == 200
        assert server.post("/translate", asked, x_api_key="other")[0] == 401


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 400),
        ({"q": 3}, 400),
        ({"q": ["a", 3]}, 400),
        ({"q": "a", "source": 3}, 400),
        ({"q": "a", "format": "html"}, 400),
        ({"q": "a", "target": "fr"}, 404),
        ({"q": "a\0"}, 422),
        ({"q": "a\ud800"}, 422),
        ({"q": "a", "target": "\ud800"}, 422),
        ({"q": "a", "source": "\udc00", "target": "es"}, 422),
        ({"q": "a\n" * 500}, 413),
        ([], 400),
    ],
)
def test_wrong_requests_are_refused(shared, asked, status):
    answered, answer = shared.post("/translate", asked)
    assert answered == status
    assert answer["error"]


def test_a_form_that_is_not_text_is_refused(shared):
    assert shared.raw("POST", "/translate", b"q=\xff")[0] == 400
    assert shared.raw("POST", "/detect", b"{", content_type="application/json")[0] == 400
    multipart = "multipart/form-data; boundary=b"
    assert shared.raw("POST", "/translate", b"--b--", content_type=multipart)[0] == 415
