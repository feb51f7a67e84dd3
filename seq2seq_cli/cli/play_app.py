"""A terminal program in which a translation is changed as it grows, by Textual (extra `play`)."""

from collections.abc import Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from seq2seq_cli.cli.heat_map import HeatMap, printable

if TYPE_CHECKING:
    from seq2seq_cli.attention.growing import Growth


class Grows(Protocol):
    """The translator of the program; see `growing.Grower`."""

    @property
    def name(self) -> str:
        """The run's name."""

    def grow(self, sentence: str, prefix: Sequence[int] = ()) -> "Iterator[Growth]":
        """Yield the translation after each token."""


class Translation(Widget, can_focus=True):
    """The tokens of the translation; one of them is under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "Word before"),
        Binding("right", "move(1)", "Word after"),
    ]

    class Moved(Message):
        """The cursor is at another token."""

        def __init__(self, position: int):
            super().__init__()
            self.position = position

    def __init__(self) -> None:
        super().__init__(id="translation")
        self.growth: Growth | None = None
        self.position = 0

    def show(self, growth: "Growth | None", position: int) -> None:
        """Show a translation with the cursor at a position."""
        self.growth = growth
        self.position = position
        self.refresh(layout=True)

    def action_move(self, steps: int) -> None:
        """Move the cursor by `steps` tokens."""
        if self.growth is None:
            return
        last = len(self.growth.chosen) - 1
        self.position = min(last, max(0, self.position + steps))
        self.refresh()
        self.post_message(self.Moved(self.position))

    def render(self) -> Text:
        """Return the tokens; those that the model was less sure of are yellow."""
        if self.growth is None:
            return Text("Type a sentence above, then Enter.", style="dim")
        text = Text()
        for number, token in enumerate(self.growth.chosen):
            style = "bold" if token.probability >= 0.5 else "bold yellow"
            piece = printable(token.piece)
            if piece.startswith("▁"):
                text.append(" " if number else "")
                piece = piece[1:] or "▁"
            text.append(piece, f"{style} reverse" if number == self.position else style)
        return text


class Play(App[None]):
    """Type a sentence, see its translation grow, look at alternatives and continue from one.

    Args:
        grower: translates.
        sentence: the first one; it may be empty.
    """

    TITLE = "s2s play"
    CSS = """
    #source { margin: 1 2 0 2; }
    #translation { height: auto; margin: 1 3; }
    #below { height: 1fr; margin: 0 2; }
    #map { width: 2fr; border: round $primary; padding: 0 1; }
    #side { width: 1fr; min-width: 26; }
    #alternatives { height: 1fr; border: round $primary; background: transparent; }
    #alternatives:focus { border: round $accent; }
    #translation:focus { background: $boost; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "focus('source')", "Sentence"),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(self, grower: Grows, sentence: str = ""):
        super().__init__()
        self._grower = grower
        self._sentence = sentence
        self._stopped = Event()
        self._growth: Growth | None = None

    def compose(self) -> ComposeResult:
        """Yield the parts of the screen."""
        yield Input(self._sentence, placeholder="A sentence", id="source")
        yield Translation()
        with Horizontal(id="below"):
            with VerticalScroll(id="map", can_focus=False):  # Tab goes on to the list
                yield Static(id="heat-map")
            with Vertical(id="side"):
                yield OptionList(id="alternatives")
        yield Footer()

    def on_mount(self) -> None:
        """Name the parts, and translate the first sentence."""
        self.sub_title = self._grower.name
        self.query_one("#map").border_title = "looked at (%)"
        self.query_one("#alternatives").border_title = "alternatives (Tab)"
        if self._sentence.strip():
            self._start(())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Translate the typed sentence."""
        if event.value.strip():
            self._sentence = event.value
            self._start(())
            self.query_one(Translation).focus()

    def on_translation_moved(self, event: Translation.Moved) -> None:
        """Show the alternatives at the cursor."""
        self._show_alternatives(event.position)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Continue from the chosen alternative, and keep the tokens before it."""
        if self._growth is None:
            return
        position = self.query_one(Translation).position
        before = [token.token for token in self._growth.chosen[:position]]
        alternative = self._growth.alternatives[position][event.option_index]
        self._start((*before, alternative.token))
        self.query_one(Translation).focus()

    def _start(self, prefix: tuple[int, ...]) -> None:
        """Grow a translation that begins with a prefix, instead of the current one."""
        self._stopped.set()
        self._stopped = Event()
        self._grow(self._sentence, prefix, self._stopped)

    @work(thread=True, exclusive=True)
    def _grow(self, sentence: str, prefix: tuple[int, ...], stopped: Event) -> None:
        position = max(0, len(prefix) - 1)
        for number, growth in enumerate(self._grower.grow(sentence, prefix)):
            if stopped.is_set():
                return
            if growth.cut and number == 0 and not prefix:
                text = "The sentence is longer than decoding.max_source_tokens and was cut."
                self.call_from_thread(self.notify, text, severity="warning")
            self.call_from_thread(self._show, growth, position, stopped)

    def _show(self, growth: "Growth", position: int, stopped: Event) -> None:
        if stopped.is_set():
            return
        self._growth = growth
        translation = self.query_one(Translation)
        translation.show(growth, position)
        self.query_one("#heat-map", Static).update(HeatMap(growth.view, coloured=True))
        self._show_alternatives(position)

    def _show_alternatives(self, position: int) -> None:
        if self._growth is None:
            return
        options = self.query_one(OptionList)
        options.clear_options()
        chosen = self._growth.chosen[position].token
        for alternative in self._growth.alternatives[position]:
            mark = "● " if alternative.token == chosen else "  "
            share = f"{100 * alternative.probability:5.1f}%  "
            options.add_option(Option(Text(mark + share + printable(alternative.piece))))
