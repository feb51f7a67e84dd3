"""An explanation in the terminal."""

import io
import re
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from seq2seq_cli.attention.neighbours import Neighbour, Part
from seq2seq_cli.cli.explanation_display import ExplanationDisplay

KEPT, FINISHED, DROPPED = "kept", "finished", "dropped"


def node(parent: int | None, text: str, total: float, fate: str = KEPT) -> SimpleNamespace:
    return SimpleNamespace(parent=parent, text=text, total=total, score=total / 2, fate=fate)


def drawn(width: int = 80, **parts) -> list[str]:
    other = SimpleNamespace(piece="▁otro", probability=0.25)
    pieces = [SimpleNamespace(piece="▁a", probability=0.5, runners_up=[other])]
    word = SimpleNamespace(
        word="[b]a\u202e", probability=0.005, looked_at=[("x", 1)], pieces=pieces
    )
    usual = {"search": [], "nearest": [], "unseen": [], "never_together": []}
    usual["training_sources"] = "any training source"
    explanation = SimpleNamespace(
        attention=SimpleNamespace(source="[b]s", translation="t"),
        words=[word],
        **{**usual, **parts},
    )
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(ExplanationDisplay("run", explanation))
    return console.file.getvalue().split("\n")


def test_the_tree_has_long_paths_with_branches_at_their_positions():
    search = [
        node(None, "A", -1),
        node(None, "B", -2),
        node(None, "X", -9, DROPPED),
        node(0, "C", -3),
        node(0, "D", -4),
        node(3, "E", -5),
        node(5, "</s>", -6, FINISHED),
        node(4, "Y", -8, DROPPED),
        node(4, "Z", -7),
        node(8, "W", -8),
        node(9, "</s>", -9, FINISHED),
    ]
    lines = drawn(search=search)
    begin = next(i for i, line in enumerate(lines) if line.startswith("<s>"))
    assert [line.rstrip() for line in lines[begin : begin + 7]] == [
        "<s>",
        "├── 1 A -1.00  C -3.00  E -5.00  </s> -3.00",
        "│   └── 2 D -4.00  Z -7.00  W -8.00  </s> -4.50",
        "│       └── 3 dropped: Y -8.00",
        "├── 1 B -2.00",
        "└── 1 dropped: X -9.00",
        "",
    ]


@given(st.lists(st.tuples(st.integers(-1, 60), st.sampled_from([KEPT, DROPPED])), max_size=60))
def test_each_hypothesis_is_shown_once_within_the_width(choices):
    search: list[SimpleNamespace] = []
    for i, (wanted, fate) in enumerate(choices):
        kept = [None, *(j for j, each in enumerate(search) if each.fate == KEPT)]
        search.append(node(kept[(wanted + 1) % len(kept)], f"<{i}>", -float(i), fate))
    lines = drawn(search=search)
    assert all(cell_len(line) <= 80 for line in lines)
    found = re.findall(r"<(\d+)>", "\n".join(lines))
    assert sorted(map(int, found)) == list(range(len(search)))


def test_hostile_texts_are_escaped():
    source = "[red]s\x1b[0m"
    neighbour = Neighbour(source, "[i]t", 0.5, ["s"], [Part(source, True)])
    text = "\n".join(drawn(nearest=[neighbour], unseen=["[b]"], never_together=[("[c]", "\u202e")]))
    for shown in ["[b]s", "[b]a\\u202e", "[red]s\\u001b[0m", "[i]t", "[c] + \\u202e", "<1%", "25%"]:
        assert shown in text
