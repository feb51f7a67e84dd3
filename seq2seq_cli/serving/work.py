"""The interface between the service and an engine."""

from collections.abc import Generator, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from seq2seq_cli.config.decoding import DecodingConfig


class Direction(NamedTuple):
    """Source and target language."""

    source: str
    target: str


class ServedRun(NamedTuple):
    """The facts about a served run.

    Attributes:
        name: the name of its folder.
        description: a description of its model.
        checkpoint: the name of its checkpoint.
        directions: its source and target languages; the default direction comes first.
        decoding: the defaults of a search.
    """

    name: str
    description: str
    checkpoint: str
    directions: tuple[Direction, ...]
    decoding: DecodingConfig


class Work(NamedTuple):
    """The computation for an item. A batch contains only items of equal work.

    Attributes:
        kind: `translate` takes sentences; `score` and `attention` take pairs of source and
            translation.
        run: the name of the run.
        target: the language to translate into.
        decoding: the search.
        prefix: the beginning of each translation.
        sample_id: a number that keeps sampled items apart from those of other requests, because
            draws depend on the order of a batch; 0 if nothing is sampled.
        first: the number of the first sentence, which determines samples.
    """

    kind: Literal["translate", "score", "attention"]
    run: str
    target: str
    decoding: DecodingConfig
    prefix: str = ""
    sample_id: int = 0
    first: int = 0


class Engine(Protocol):
    """Translates by trained runs."""

    @property
    def runs(self) -> Sequence[ServedRun]:
        """The runs. The first one is the default."""

    @property
    def workers(self) -> int:
        """The number of batches that are computed at a time."""

    def warm_up(self) -> None:
        """Compile everything that the first request would otherwise wait for."""

    def compute(self, work: Work, items: list[Any]) -> Sequence[Any]:
        """Return a Translation, Score or Attention (None for a blank source) for each item."""

    def check(self, work: Work) -> None:
        """Check that the run supports the work.

        Raises:
            UsageError: if an option does not fit the run.
        """

    def grow(self, run: str, target: str, sentence: str, prefix: str) -> Generator[Any, None, None]:
        """Yield a Growth after each token of a greedy translation."""
