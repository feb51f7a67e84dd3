"""The page without a browser: what is written into it."""

import base64
import json
import zlib
from html.parser import HTMLParser

import numpy as np
from sample_pages import HOSTILE, PAIRS, attention, run

from seq2seq_cli.attention.maps import ReadRun
from seq2seq_cli.attention.page.page import attention_page, packed


class Elements(HTMLParser):
    """Collects the elements of a page with their attributes and texts."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict, str]] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes), ""))

    def handle_data(self, data):
        if self.found:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)


def test_the_page_contains_the_weights():
    found = attention(PAIRS[0], "transformer")
    layers = [layer for weights in found.maps.values() for layer in weights]
    for text, layer in zip(packed(found).split(" "), layers, strict=True):
        planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(4, -1)
        numbers = planes.T.copy().view("<f4").ravel()
        np.testing.assert_array_equal(numbers, layer.ravel())


def test_the_page_loads_nothing_from_other_hosts():
    html = attention_page([run("a", "rnn", PAIRS)], "Attention")
    elements = Elements(html).found
    for tag, attributes, _ in elements:
        for name in ("src", "href"):
            assert attributes.get(name, "data:,") == "data:,", tag
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    (policy,) = (a["content"] for _, a, _ in elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_hostile_texts_create_no_elements():
    hostile = ("x</title><script>1</script>", "</script><i>")
    kept = Elements(attention_page([run("a", "rnn", [PAIRS[0]])], "t")).found
    found = Elements(attention_page([run(HOSTILE[0], "rnn", [hostile, HOSTILE])], HOSTILE[0])).found
    tags = [tag for tag, attributes, _ in kept if attributes.get("type") != "text/plain"]
    assert [tag for tag, attributes, _ in found if attributes.get("type") != "text/plain"] == tags
    data = next(text for _, attributes, text in found if attributes.get("id") == "data")
    assert json.loads(data)["sentences"][1]["source"] == HOSTILE[0]


def test_improbable_tokens_have_finite_numbers():
    found = attention(PAIRS[0], "rnn")
    found.log_probabilities[:2] = -np.inf, np.nan
    html = attention_page([ReadRun("a", "b", [found])], "t")
    assert "Infinity" not in html
    assert "NaN" not in html.partition('id="data"')[2].partition("</script>")[0]
