"""How attention forms: the numbers, the animated SVG and the animated GIF."""

import importlib.util
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from sample_evolutions import HOSTILE, snapshots

from seq2seq_cli.attention import heat_map_image as image_module
from seq2seq_cli.attention.animated_gif import animated_gif, check_pillow
from seq2seq_cli.attention.animated_svg import animated_svg
from seq2seq_cli.attention.evolution import MOST_FRAMES, evolutions
from seq2seq_cli.attention.heat_map_image import heat_map_image
from seq2seq_cli.attention.themes import DARK, LIGHT
from seq2seq_cli.errors import UsageError

SVG = "{http://www.w3.org/2000/svg}"


def hex_colours(weights, theme) -> list[str]:
    return ["#{:02x}{:02x}{:02x}".format(*theme.colour(weight)) for weight in weights]


def test_words_are_merged_and_rows_still_sum_to_1():
    kept = snapshots()
    (words, _), (pieces, _) = evolutions(kept), evolutions(kept, pieces=True)
    assert (words.queries, words.keys) == (["manzanas", "</s>"], ["apples", "</s>"])
    assert (pieces.queries, pieces.keys) == (
        ["▁man", "za", "nas", "</s>"],
        ["▁app", "les", "</s>"],
    )
    for frame, snapshot in zip(words.frames, kept, strict=True):
        np.testing.assert_allclose(frame.weights.sum(axis=1), 1, atol=2e-4)
        expected = np.array(snapshot.sentences[0].weights)
        assert frame.weights[0, 0] == pytest.approx(expected[:3, :2].sum() / 3)
    assert words.frames[1].caption == "update 2,000, dev BLEU 24.6"


def test_long_trainings_are_thinned_out_but_keep_first_and_last():
    (found, _) = evolutions(snapshots(200))
    steps = [frame.step for frame in found.frames]
    assert len(steps) == MOST_FRAMES
    assert (steps[0], steps[-1]) == (1000, 200_000)
    assert evolutions([]) == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_svg_animates_the_colours_of_all_validations(dark):
    (evolution, _) = evolutions(snapshots())
    theme = DARK if dark else LIGHT
    text = animated_svg(evolution, dark).decode()
    root = ElementTree.fromstring(text)
    record = json.loads(root.find(f"{SVG}metadata").text)
    assert record["keys"] == evolution.keys
    assert [each["step"] for each in record["validations"]] == [1000, 2000, 3000, 4000]
    assert root.find(f"{SVG}rect").get("fill") == theme.background
    cells = list(root.iter(f"{SVG}path"))
    assert len(cells) == 4
    for number, cell in enumerate(cells):
        weights = [frame.weights.flat[number] for frame in evolution.frames]
        colours = hex_colours(weights, theme)
        assert cell.get("fill") == colours[-1]  # what is seen without the animation
        name = cell.get("style").removeprefix("animation-name: ")
        (keyframes,) = re.findall(rf"@keyframes {name} \{{(.*)\}}", text)
        assert re.findall("#......", keyframes) == [*colours, colours[-1]]
    captions = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "shown"]
    assert captions == [frame.caption for frame in evolution.frames]
    assert "prefers-reduced-motion" in text


def test_chinese_characters_have_more_space_in_the_svg():
    (evolution, _) = evolutions(snapshots())
    latin, chinese = (
        animated_svg(evolution._replace(queries=[word] * len(evolution.queries)))
        for word in ("abcdefgh", "一二三四五六七八")
    )
    widths = [int(ElementTree.fromstring(each).get("width")) for each in (latin, chinese)]
    assert widths[1] - widths[0] >= 8 * 5


def test_hostile_texts_are_escaped_in_the_svg():
    evolution = evolutions(snapshots())[1]
    root = ElementTree.fromstring(animated_svg(evolution))
    assert not list(root.iter(f"{SVG}script"))
    assert root.find(f"{SVG}title").text.startswith("</title><script>")
    assert json.loads(root.find(f"{SVG}metadata").text)["keys"][0] == HOSTILE


def test_one_validation_gives_no_animation():
    (evolution, _) = evolutions(snapshots(1))
    root = ElementTree.fromstring(animated_svg(evolution))
    assert all(cell.get("style") is None for cell in root.iter(f"{SVG}path"))


def test_a_gif_has_a_frame_for_each_validation():
    image = pytest.importorskip("PIL.Image", reason="it comes with the extra `plot`")
    (evolution, _) = evolutions(snapshots())
    found = image.open(io.BytesIO(animated_gif(evolution)))
    assert (found.n_frames, found.info["loop"]) == (4, 0)
    durations = []
    for number, frame in enumerate(evolution.frames):
        found.seek(number)
        durations.append(found.info["duration"])
        pixels = np.asarray(found.convert("RGB")).reshape(-1, 3).tolist()
        for weight in frame.weights.flat:
            near = np.abs(np.array(pixels) - LIGHT.colour(weight)).sum(axis=1).min()
            assert near <= 15  # as near as the palette allows
    assert durations == [350, 350, 350, 2500]


def test_an_image_has_the_colours_of_the_cells(monkeypatch):
    weights = np.array([[0.0, 0.25, 1.0], [0.5, 0.1, 0.4]])
    monkeypatch.setattr(image_module, "can_write_words", lambda: False)
    plain = heat_map_image(weights, ["a", "b"], ["c", "d", "e"], LIGHT)
    assert plain.shape == (60, 90, 3)
    expected = [[LIGHT.colour(weight) for weight in row] for row in weights]
    assert plain[15::30, 15::30].tolist() == np.array(expected).tolist()


def test_words_stand_around_the_cells_of_an_image():
    pytest.importorskip("PIL", reason="it comes with the extra `plot`")
    pytest.importorskip("matplotlib", reason="it comes with the extra `plot`")
    weights = np.zeros([2, 3])
    few = heat_map_image(weights, ["a", "b"], ["c", "d", "e"], LIGHT)
    many = heat_map_image(weights, ["a", "b" * 20], ["c", "d" * 20, "e"], LIGHT)
    assert few.shape[0] > 60
    assert few.shape[1] > 90
    assert many.shape[0] > few.shape[0]
    assert many.shape[1] > few.shape[1]
    assert heat_map_image(np.ones([2, 3]), ["a", "b"], ["c", "d", "e"], LIGHT).shape == few.shape


def test_a_large_map_has_small_cells():
    found = heat_map_image(np.ones([300, 200]), ["q"] * 300, ["k"] * 200, LIGHT)
    assert max(found.shape) < 1400


def test_a_gif_without_pillow_is_refused(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 's2s\[plot\]'"):
        check_pillow()
