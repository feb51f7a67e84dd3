"""The page of a comparison: scores, groups, n-grams, and all outputs side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from seq2seq_cli.evaluation.comparison import Comparison
from seq2seq_cli.evaluation.metrics import sentence_chrf
from seq2seq_cli.evaluation.significance import LEVEL
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput
from seq2seq_cli.html.single_file import SingleFilePage

_PAGE = SingleFilePage(
    Path(__file__).parent, "comparison.html.j2", ["style.css"], ["comparison.js"]
)


@dataclass(frozen=True)
class Part:
    """Successive words of an output, and whether they differ from the words of another output."""

    text: str
    differs: bool


def comparison_page(
    comparison: Comparison, test_set: EvaluationSet, outputs: Sequence[SystemOutput]
) -> str:
    """Return the page as HTML.

    Args:
        comparison: of the systems.
        test_set: the sentences and their references.
        outputs: of the systems, the baseline first.
    """
    letters = [chr(ord("A") + k) for k in range(len(outputs))]
    return _PAGE.render(
        f"Comparison on {test_set.name}",
        comparison=comparison,
        letters=letters,
        level=LEVEL,
        rows=list(_rows(test_set, outputs)),
    )


def marked(text: str, other: str) -> list[Part]:
    """Return a text in parts. Parts that differ from another text are marked."""
    words, others = text.split(), other.split()
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    return [
        Part(" ".join(words[start:end]), kind != "equal")
        for kind, start, end, _, _ in matcher.get_opcodes()
        if end > start
    ]


def _rows(test_set: EvaluationSet, outputs: Sequence[SystemOutput]) -> Iterator[dict]:
    chrf = [sentence_chrf(output.translations, test_set.references) for output in outputs]
    for i, source in enumerate(test_set.sources):
        texts = [output.translations[i] for output in outputs]
        gains = [each[i] - chrf[0][i] for each in chrf]
        yield {
            "number": i + 1,
            "source": source,
            "references": test_set.references[i],
            "gain": max(gains[1:]),
            "loss": min(gains[1:]),
            "differs": len(set(texts)) > 1,
            "outputs": [
                {
                    "chrf": chrf[k][i],
                    "class": "better" if gains[k] > 0 else "worse" if gains[k] < 0 else "",
                    "parts": marked(text, _compared_with(k, texts)),
                }
                for k, text in enumerate(texts)
            ],
        }


def _compared_with(k: int, texts: Sequence[str]) -> str:
    """Return the text that the output of system k is compared with."""
    if k > 0:
        return texts[0]
    return texts[1] if len(texts) == 2 else texts[0]
