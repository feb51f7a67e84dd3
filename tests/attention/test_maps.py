"""Views of a sentence's attention: kinds, layers, heads, words."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from seq2seq_cli.attention.maps import Attention
from seq2seq_cli.attention.tokens import Tokens
from seq2seq_cli.errors import UsageError

SOURCE = Tokens(
    ["▁I", "▁like", "▁app", "les", "</s>"], ["I", "like", "apples", "</s>"], [0, 1, 2, 2, 3]
)
TARGET = Tokens(["▁me", "▁gus", "tan", "</s>"], ["me", "gustan", "</s>"], [0, 1, 1, 2])
INPUTS = Tokens(["<s>", "▁me", "▁gus", "tan"], ["<s>", "me", "gustan"], [0, 1, 2, 2])


def rows(*shape: int) -> np.ndarray:
    weights = np.random.default_rng(len(shape) + shape[-1]).random(shape).astype(np.float32)
    return weights / weights.sum(axis=-1, keepdims=True)


def attention(maps: dict[str, np.ndarray]) -> Attention:
    logs = np.log([0.5, 0.5, 0.8, 1.0])
    return Attention("I like apples", "me gustan", SOURCE, TARGET, INPUTS, logs, maps, [(2, 0)])


TRANSFORMER = attention(
    {"cross": rows(2, 3, 4, 5), "encoder": rows(1, 3, 5, 5), "decoder": rows(2, 3, 4, 4)}
)
DECODER_ONLY = attention({"stack": rows(2, 3, 9, 9)})


def test_the_usual_view_is_of_the_last_layer_and_the_mean_of_its_heads():
    view = TRANSFORMER.view(pieces=True)
    np.testing.assert_allclose(view.weights, TRANSFORMER.maps["cross"][1].mean(axis=0), atol=1e-7)
    assert view.title == "cross-attention, layer 2 of 2, mean of 3 heads"
    np.testing.assert_array_equal(TRANSFORMER.weights, view.weights)
    assert view.queries == TRANSFORMER.target_tokens
    assert view.keys == TRANSFORMER.source_tokens


def test_a_layer_and_a_head_are_counted_from_one():
    view = TRANSFORMER.view("decoder", layer=1, head=3, pieces=True)
    np.testing.assert_array_equal(view.weights, TRANSFORMER.maps["decoder"][0, 2])
    assert view.keys == ["<s>", "▁me", "▁gus", "tan"]
    assert view.title == "decoder self-attention, layer 1 of 2, head 3 of 3"


@pytest.mark.parametrize("head", ["mean", 1, 3])
@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_rows_of_words_sum_to_one(kind, head):
    view = TRANSFORMER.view(kind, layer=1, head=head)
    assert view.weights.shape == (len(view.queries), len(view.keys))
    np.testing.assert_allclose(view.weights.sum(axis=1), 1, atol=1e-6)


def test_the_maximum_is_taken_over_the_word_maps_of_the_heads():
    heads = [TRANSFORMER.view("cross", head=head).weights for head in (1, 2, 3)]
    np.testing.assert_allclose(TRANSFORMER.view("cross", head="max").weights, np.max(heads, axis=0))


def test_the_cross_attention_of_a_stack_is_its_part_over_the_source_scaled_to_one():
    view = DECODER_ONLY.view(pieces=True)
    part = DECODER_ONLY.maps["stack"][1, :, 5:, :5].mean(axis=0)
    np.testing.assert_allclose(view.weights, part / part.sum(axis=1, keepdims=True), atol=1e-6)
    assert DECODER_ONLY.kinds == ["cross", "stack"]
    stack = DECODER_ONLY.view("stack")
    assert stack.queries == [*SOURCE.words, *TARGET.words]
    assert stack.keys == [*SOURCE.words, *INPUTS.words]
    np.testing.assert_allclose(stack.weights.sum(axis=1), 1, atol=1e-6)


def test_probabilities_of_words_are_products_of_those_of_tokens():
    np.testing.assert_allclose(TRANSFORMER.probabilities, [0.5, 0.4, 1.0])
    assert TRANSFORMER.confidence == pytest.approx(0.2**0.25)
    assert TRANSFORMER.log_probability == pytest.approx(np.log(0.2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "stack"}, "kind stack: this model has no such attention. It has cross, enc"),
        ({"layer": 3}, "layer 3: the layers of cross are 1 to 2"),
        ({"kind": "encoder", "layer": 2}, "layer 2: the layers of encoder are 1 to 1"),
        ({"head": 4}, "head 4: the heads of cross are 1 to 3, mean and max"),
        ({"head": 0}, "head 0"),
    ],
)
def test_a_layer_or_head_that_the_model_lacks_is_an_error(options, message):
    with pytest.raises(UsageError, match=message):
        TRANSFORMER.view(**options)


def test_a_notebook_shows_the_map_of_words_as_a_table():
    html = TRANSFORMER._repr_html_()
    rows = [re.findall(r'<td title="([\d.]+)"', row) for row in html.split("<tr>")[2:]]
    np.testing.assert_allclose(np.array(rows, float), TRANSFORMER.word_weights, atol=1e-6)
    words = [unescape(word) for word in re.findall(r"<th [^>]*><bdi>(.*?)</bdi>", html)]
    assert words == [*SOURCE.words, *TARGET.words]
    assert "I like apples → me gustan (cross-attention, layer 2 of 2, mean of 3 heads)" in html


def test_a_notebook_shows_hostile_words_as_text():
    words = ["<script>", '"&', "\u202e", "</s>"]
    hostile = replace(TRANSFORMER, source="<b>", source_side=replace(SOURCE, words=words))
    html = hostile._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html
