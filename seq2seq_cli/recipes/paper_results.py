"""The numbers behind the figures of `s2s recipe figures`."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq_cli.evaluation.tables import markdown_text


@dataclass(frozen=True)
class Estimate:
    """The mean of a figure over several seeds, and its lowest and highest value."""

    mean: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Estimate":
        """Return the estimate from at least one value."""
        return cls(statistics.mean(values), min(values), max(values))

    def __str__(self) -> str:
        """Return the mean, and the range unless there is one value only."""
        if self.lowest == self.highest:
            return f"{self.mean:.2f}"
        return f"{self.mean:.2f} ({self.lowest:.2f} to {self.highest:.2f})"


@dataclass(frozen=True)
class LengthResult:
    """BLEU of a model on the test sentences whose sources have similar lengths.

    Attributes:
        model: its name.
        group: the lengths.
        sentences: their number.
        bleu: over the seeds.
    """

    model: str
    group: str
    sentences: int
    bleu: Estimate

    def cells(self) -> dict[str, str]:
        """Return a row of a table, by column."""
        return {
            "model": self.model,
            "source": self.group,
            "sentences": f"{self.sentences:,}",
            "BLEU": str(self.bleu),
        }


@dataclass(frozen=True)
class ModelResult:
    """The scores of a model.

    Attributes:
        model: its name.
        perplexity: per token of the dev split, over the seeds.
        bleu: of the test split, over the seeds.
        parameters: number of trainable weights.
    """

    model: str
    perplexity: Estimate
    bleu: Estimate
    parameters: int

    def cells(self) -> dict[str, str]:
        """Return a row of a table, by column."""
        return {
            "model": self.model,
            "dev perplexity": str(self.perplexity),
            "BLEU": str(self.bleu),
            "parameters": f"{self.parameters:,}",
        }


@dataclass(frozen=True)
class AlignmentResult:
    """A sentence whose attention is drawn, and the file of the drawing."""

    source: str
    translation: str
    file: str

    def cells(self) -> dict[str, str]:
        """Return a row of a table, by column."""
        return {
            "source": markdown_text(self.source),
            "translation": markdown_text(self.translation),
            "file": self.file,
        }


AnyResult = LengthResult | ModelResult | AlignmentResult


def table(results: Sequence[AnyResult]) -> str:
    """Return a Markdown table of results of one kind, of which there is at least one."""
    rows = [result.cells() for result in results]
    lines = [[*rows[0]], ["---" for _ in rows[0]], *([*row.values()] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
