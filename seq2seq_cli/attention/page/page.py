"""Write the page: a template, styles, scripts and numbers in one file."""

import base64
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq_cli.attention.maps import Attention, ReadRun
from seq2seq_cli.attention.tokens import Tokens
from seq2seq_cli.html.single_file import SingleFilePage

PAGE = SingleFilePage(
    Path(__file__).parent,
    "attention.html.j2",
    ("page.css", "panels.css", "explain.css"),
    (
        "dom.js",
        "state.js",
        "colours.js",
        "maps.js",
        "canvas.js",
        "matrix.js",
        "lines.js",
        "words.js",
        "heads.js",
        "explain.js",
        "panel.js",
        "list.js",
        "main.js",
    ),
)
"""The files of the page; each module comes after those that it imports."""


def attention_page(runs: Sequence[ReadRun], title: str) -> str:
    """Return the page as HTML. It needs no other file and no network.

    Args:
        runs: their attention in the same sentences.
        title: of the page.
    """
    numbers = range(len(runs[0].attentions))
    sentences = [_sentence(runs, number) for number in numbers]
    return PAGE.render(
        title,
        data={
            "runs": [{"name": run.name, "description": run.description} for run in runs],
            "sentences": sentences,
        },
        subtitle=", ".join(run.name for run in runs),
        runs=runs,
        sentences=len(sentences),
        explained=any(run.explanations for run in runs),
        weights=_weights(runs),
    )


def packed(attention: Attention) -> str:
    """Return the float32 weights of all maps, to be unpacked by maps.js.

    Each layer of each kind is a separate text, separated by spaces: first the lowest byte of each
    number, then the second of each and so on, which compresses better; then deflate and base64.
    """
    layers = [layer for weights in attention.maps.values() for layer in weights]
    planes = [layer.astype("<f4").ravel().view(np.uint8).reshape(-1, 4).T for layer in layers]
    return " ".join(base64.b64encode(zlib.compress(each.tobytes())).decode() for each in planes)


def _weights(runs: Sequence[ReadRun]) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of the element with the weights of each sentence."""
    for run, read in enumerate(runs):
        for number, attention in enumerate(read.attentions):
            if attention is not None:
                yield f"weights-{number}-{run}", packed(attention)


def _sentence(runs: Sequence[ReadRun], number: int) -> dict[str, Any]:
    """Return the data of a sentence for the page, except the weights."""
    attentions = [run.attentions[number] for run in runs]
    sources = [attention.source for attention in attentions if attention is not None]
    explanations = [run.explanations[number] if run.explanations else None for run in runs]
    return {
        "source": sources[0] if sources else "",
        "runs": [
            _read(attention, explanation) if attention else None
            for attention, explanation in zip(attentions, explanations, strict=True)
        ],
    }


def _read(attention: Attention, explanation: dict[str, Any] | None) -> dict[str, Any]:
    logs = np.nan_to_num(attention.log_probabilities, nan=-1e9, neginf=-1e9)  # as a JSON value
    return {
        "translation": attention.translation,
        "confidence": float(np.exp(logs.mean())),
        "log_probability": float(logs.sum()),
        "log_probabilities": logs.tolist(),
        "source": _side(attention.source_side),
        "target": _side(attention.target_side),
        "input": _side(attention.input_side),
        "explanation": explanation,
        "maps": {kind: list(weights.shape[:2]) for kind, weights in attention.maps.items()},
    }


def _side(tokens: Tokens) -> dict[str, Any]:
    return {"pieces": tokens.pieces, "words": tokens.words, "word_of": tokens.word_of}
