"""The page of an evaluation: scores, groups, calibration and the worst sentences."""

from collections.abc import Sequence
from pathlib import Path

from seq2seq_cli.evaluation.analysis import ScoredOutput
from seq2seq_cli.evaluation.pages.comparison import marked
from seq2seq_cli.evaluation.systems import EvaluationSet
from seq2seq_cli.html.single_file import SingleFilePage

_PAGE = SingleFilePage(Path(__file__).parent, "evaluation.html.j2", ["style.css"])


def evaluation_page(test_set: EvaluationSet, results: Sequence[ScoredOutput]) -> str:
    """Return the page as HTML.

    Args:
        test_set: the sentences and their references.
        results: of one or more systems or checkpoints, with their details.
    """
    return _PAGE.render(
        f"Scores on {test_set.name}",
        sentences=len(test_set.sources),
        references=sum(map(len, test_set.references)),
        results=results,
        marked=marked,
    )
