"""An explanation of a translation in the terminal, drawn by Rich."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from seq2seq_cli.cli.heat_map import printable

if TYPE_CHECKING:
    from seq2seq_cli.attention.explanation import Explanation, Hypothesis
    from seq2seq_cli.attention.neighbours import Neighbour

_SURE = 0.5  # words with at least this probability are not marked
_STYLES = {"kept": "", "finished": "bold green", "dropped": "dim"}


class ExplanationDisplay:
    """Words with their alternatives, the tree of the search, and the nearest training pairs.

    Args:
        run: its name.
        explanation: what is drawn.
    """

    def __init__(self, run: str, explanation: "Explanation"):
        self._run = run
        self._explanation = explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts that exist."""
        explanation = self._explanation
        attention = explanation.attention
        yield Text(self._run, style="dim")
        yield Text(printable(attention.source), style="bold")
        yield Text(printable(attention.translation), style="bold cyan")
        yield Text()
        yield self._words()
        if explanation.search:
            yield Text("\nThe search (log-probabilities; finished hypotheses: score)", style="bold")
            yield _Paths(explanation.search).tree()
        if explanation.nearest:
            yield Text("\nThe most similar training pairs", style="bold")
            yield _nearest(explanation.nearest)
        yield from self._news()
        yield Text()

    def _words(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("word", overflow="fold")
        table.add_column("", justify="right", no_wrap=True)
        table.add_column("looked at", overflow="fold")
        table.add_column("alternatives", overflow="fold")
        for word in self._explanation.words:
            style = "bold" if word.probability >= _SURE else "bold yellow"
            looked_at = [f"{printable(key)} {_per_cent(weight)}" for key, weight in word.looked_at]
            table.add_row(
                Text(printable(word.word), style=style),
                Text(_per_cent(word.probability)),
                Text(", ".join(looked_at)),
                Text("\n").join(self._alternatives(word.pieces)),
            )
        return table

    @staticmethod
    def _alternatives(pieces: Sequence) -> Iterator[Text]:
        """Yield a line for each piece, with its runners-up and their probabilities."""
        for piece in pieces:
            line = Text()
            if len(pieces) > 1:
                line.append(f"{printable(piece.piece)} {_per_cent(piece.probability)}: ", "dim")
            others = [f"{printable(o.piece)} {_per_cent(o.probability)}" for o in piece.runners_up]
            yield line.append(", ".join(others))

    def _news(self) -> Iterator[Text]:
        """Yield the words and pairs of words that training did not have."""
        explanation = self._explanation
        sources = explanation.training_sources
        if explanation.unseen:
            words = ", ".join(map(printable, explanation.unseen))
            yield Text.assemble("\n", (f"Not in {sources}: ", "bold"), words)
        if explanation.never_together:
            pairs = ", ".join(
                f"{printable(first)} + {printable(second)}"
                for first, second in explanation.never_together
            )
            yield Text.assemble("\n", (f"Not together in {sources}: ", "bold"), pairs)


class _Paths:
    """Hypotheses as a few long paths: that of the best finished one, and branches from it.

    A path continues with the child that has the most descendants, so branches are never deep.
    """

    def __init__(self, search: "Sequence[Hypothesis]"):
        self._search = search
        self._children: dict[int | None, list[int]] = {}
        self._sizes = [1] * len(search)
        for number, hypothesis in enumerate(search):
            self._children.setdefault(hypothesis.parent, []).append(number)
        for number in reversed(range(len(search))):  # parents come first
            if (parent := search[number].parent) is not None:
                self._sizes[parent] += self._sizes[number]
        finished = [i for i, each in enumerate(search) if each.fate == "finished"]
        best = max(finished, key=lambda i: search[i].score, default=None)
        while best is not None:
            self._sizes[best] += len(search)
            best = search[best].parent

    def tree(self) -> Tree:
        """Return the tree; each branch begins with its position."""
        tree = Tree(Text("<s>", style="dim"), guide_style="dim")
        waiting: list[tuple[Tree, list[int], int]] = [(tree, self._children.get(None, []), 1)]
        while waiting:
            branch, numbers, position = waiting.pop()
            going_on = [i for i in numbers if self._search[i].fate != "dropped"]
            for number in sorted(going_on, key=lambda i: -self._search[i].total):
                waiting += self._path(branch, number, position)
            if dropped := [self._search[i] for i in numbers if self._search[i].fate == "dropped"]:
                shown = ", ".join(f"{printable(h.text)} {h.total:.2f}" for h in dropped)
                branch.add(Text(f"{position} dropped: {shown}", style=_STYLES["dropped"]))
        return tree

    def _path(
        self, tree: Tree, number: int, position: int
    ) -> Iterator[tuple[Tree, list[int], int]]:
        """Add a path to the tree, and yield its branches, the last one first."""
        line = Text(f"{position} ", style="dim").append_text(_node(self._search[number]))
        branch = tree.add(line)
        leaving = []
        while children := self._children.get(number, []):
            position += 1
            going_on = [i for i in children if self._search[i].fate != "dropped"]
            number = max(going_on, key=lambda i: self._sizes[i], default=-1)
            leaving.append((branch, [i for i in children if i != number], position))
            if number < 0:
                break
            line.append("  ").append_text(_node(self._search[number]))
        yield from reversed(leaving)


def _node(hypothesis: "Hypothesis") -> Text:
    number = hypothesis.score if hypothesis.fate == "finished" else hypothesis.total
    text = Text()
    text.append(printable(hypothesis.text), _STYLES[hypothesis.fate] or "not dim")
    return text.append(f" {number:.2f}", style="dim")


def _nearest(neighbours: "Sequence[Neighbour]") -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="cyan")
    for neighbour in neighbours:
        source = Text()
        for part in neighbour.parts:
            source.append(printable(part.text), "bold" if part.is_shared else None)
        table.add_row(_per_cent(neighbour.similarity), source, printable_text(neighbour.target))
    return table


def printable_text(text: str) -> Text:
    """Return a text without markup, in printable characters."""
    return Text(printable(text))


def _per_cent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{math.floor(100 * share + 0.5)}%"
