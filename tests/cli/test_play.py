"""The command `play`, driven by Textual's own pilot."""

import asyncio
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import s2s

from seq2seq_cli.attention.maps import View

pytest.importorskip("textual", reason="it comes with the extra `play`")

from textual.widgets import Input, OptionList, Static

from seq2seq_cli.cli.play import play
from seq2seq_cli.cli.play_app import Play, Translation
from seq2seq_cli.errors import UsageError

PIECES = ["▁No", "▁inyectaré", "▁in", "yecto", "</s>", "[b]\u202e"]
BEST = {(): 0, (0,): 1, (0, 1): 4, (2,): 3, (2, 3): 4}


def alternative(token: int, probability: float) -> SimpleNamespace:
    return SimpleNamespace(token=token, piece=PIECES[token], probability=probability)


class Scripted:
    """Grows translations by a table; it notes what it was asked for."""

    name = "001-rnn"

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def grow(self, sentence: str, prefix: Sequence[int] = ()) -> Iterator[SimpleNamespace]:
        self.asked.append((sentence, tuple(prefix)))
        chosen: list[int] = list(prefix)
        while True:
            if chosen:
                yield SimpleNamespace(
                    text="",
                    chosen=[alternative(token, 0.9 if token else 0.3) for token in chosen],
                    alternatives=[
                        [
                            alternative(BEST[tuple(chosen[:i])], 0.5),
                            alternative(2, 0.25),
                            alternative(5, 0.01),
                        ]
                        for i in range(len(chosen))
                    ],
                    view=View(
                        [PIECES[token] for token in chosen],
                        sentence.split(),
                        np.full((len(chosen), len(sentence.split())), 0.5),
                        "",
                    ),
                    cut=len(sentence) > 50,
                )
            if chosen and chosen[-1] == 4:
                return
            chosen.append(BEST.get(tuple(chosen), 4))


def drive(script, sentence: str = "") -> Scripted:
    """Run the program with a script of what is pressed and seen."""
    grower = Scripted()

    async def run() -> None:
        app = Play(grower, sentence)
        async with app.run_test(size=(100, 30)) as pilot:
            await script(app, pilot)

    asyncio.run(run())
    return grower


async def settled(app: Play, pilot) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()


def shown(app: Play) -> str:
    return str(app.query_one(Translation).render())


def options(app: Play) -> list[str]:
    listed = app.query_one(OptionList)
    return [str(listed.get_option_at_index(i).prompt) for i in range(listed.option_count)]


def test_typed_text_is_translated_with_its_map_and_alternatives():
    async def script(app, pilot):
        assert "Type a sentence" in shown(app)
        await pilot.press(*"I eat", "enter")
        await settled(app, pilot)
        assert shown(app) == "No inyectaré</s>"
        assert options(app) == ["●  50.0%  ▁No", "   25.0%  ▁in", "    1.0%  [b]\\u202e"]
        assert app.focused is app.query_one(Translation)
        assert app.query_one("#heat-map", Static).size.height >= 4

    assert drive(script).asked == [("I eat", ())]


def test_the_cursor_moves_and_the_alternatives_follow():
    async def script(app, pilot):
        await settled(app, pilot)
        app.query_one(Translation).focus()
        await pilot.press("right")
        assert options(app)[0] == "●  50.0%  ▁inyectaré"
        await pilot.press("right", "right", "right")
        assert app.query_one(Translation).position == 2
        await pilot.press("left", "left", "left")
        assert app.query_one(Translation).position == 0

    drive(script, "I eat")


def test_the_translation_continues_from_a_chosen_alternative():
    async def script(app, pilot):
        await settled(app, pilot)
        app.query_one(OptionList).focus()
        await pilot.press("down", "down", "enter")
        await settled(app, pilot)
        assert shown(app) == "inyecto</s>"
        assert app.query_one(Translation).position == 0

    assert drive(script, "I eat").asked == [("I eat", ()), ("I eat", (2,))]


def test_escape_returns_to_the_sentence_and_an_empty_one_is_not_translated():
    async def script(app, pilot):
        await settled(app, pilot)
        app.query_one(Translation).focus()
        await pilot.press("escape")
        assert app.focused is app.query_one(Input)
        await pilot.press("ctrl+u", "enter")

    assert drive(script, "I").asked == [("I", ())]


def test_a_sentence_that_is_cut_gives_a_warning():
    async def script(app, pilot):
        await settled(app, pilot)
        (notification,) = app._notifications
        assert "was cut" in notification.message

    drive(script, "I eat " * 10)


def test_a_setting_that_changes_nothing_is_refused(home, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with pytest.raises(UsageError, match="--set decoding.beam changes nothing in play"):
        play("I eat", settings=["decoding.max_length=9", "decoding.beam=5"])


def test_without_a_terminal_there_is_an_error(home):
    code, _, err = s2s("play", "I eat")
    assert code == 2
    assert "play needs a terminal" in err


def test_without_textual_the_error_names_the_extra(home, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = s2s("play", "I eat")
    assert code == 2
    assert "pip install 's2s[play]'" in err
