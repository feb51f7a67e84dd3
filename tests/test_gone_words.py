"""One word for one thing: expressions that the project does not use, and what it says instead."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("seq2seq_cli", "benchmarks", "configs", "data", "docs", "tests")
FILES = [
    *sorted(ROOT.glob("*.md")),
    *(
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".toml") and path != Path(__file__)
    ),
]

PER = r"second|minute|step|update|token|pair|line|batch|sentence|trigram|epoch|core|command"
COUNTED = (
    r"pairs?|lines?|objects?|steps?|tokens?|sentences?|updates?|operations|bytes|figures?|nats"
)

INSTEAD = {
    r"\bsuited\b": "from_config",
    r"stepper": "make_step",
    r"\.widen\(|\bdef widen\b": "repeat_for_beams",
    r"\brounded_dtype\b|\brounded\(": "to_product_dtype",
    r"\bfactor_of\b": "the product itself",
    r"\breal_places\b": "non_padding_indices",
    r"\bpart_of_batch\b": "shard_scope",
    r"\bput_[a-z]": "set_...",
    r"\bplaces\b": "positions or indices",
    r"\bcaught_signals\b": "stop_requested",
    r"\bseq2seq_cli\.environment\b|\bimport environment\b": "flags",
    r"\balive\b|\bended_[A-Z]": "live, finished",
    r"\bas choices\b|`choices\b|`streams\b|\bdecoding\.(choices|streams|sentences)\b": (
        "strategies, lines, encoding"
    ),
    r"\brooms?\b": "capacity, package",
    r"\bseams?\b": "interface",
    r"\bdivisions?\b": "segmentation",
    r"\bthe great(er|est)\b": "the maximum",
    r"\bproducts of matrices\b": "matrix products",
    rf"\b({COUNTED}) an? ({PER})\b": "per ...",
    r"\b(what|whatever) is asked for\b": "the subject first: you get ..., the config names ...",
    r"\breport: Callable\b|(?<!asked\.)\b_?report\(|\bdef _?report\b": (
        "on_event (takes an Event), warn (takes a string), progress (takes amounts)"
    ),
    r"\btraining steps?\b": "update",
}

EXCEPTIONS = {
    r"\bplaces\b": (
        r"\.places\b|\bplaces: |data/phrasebook/",  # a JSON key; where somebody is
    ),
}


def test_words_that_have_gone_are_not_used():
    found = []
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text("utf-8").split("\n"), start=1):
            for gone, instead in INSTEAD.items():
                if re.search(gone, line) and not is_exception(gone, f"{name}: {line}"):
                    found.append(f"{name}:{number}: {line.strip()}\n    say: {instead}")
    assert not found, "\n".join(["these words have gone:", *found])


def is_exception(gone: str, line: str) -> bool:
    return any(re.search(exception, line) for exception in EXCEPTIONS.get(gone, ()))


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("def rows(x): put_on_device(x)", "set_..."),
        ("it trains 300 pairs a second", "per ..."),
        ("a pair a line", "per ..."),
        ("nats a token", "per ..."),
        ("of two numbers the greater", "the maximum"),
        ("def f(report: Callable[[str], None])", "on_event"),
    ],
)
def test_words_that_have_gone_are_recognised(line, instead):
    assert any(
        re.search(gone, line) and words.startswith(instead) for gone, words in INSTEAD.items()
    )
