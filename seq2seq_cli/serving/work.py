"""What the service asks of an engine, and what it gets."""

from collections.abc import Generator, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from seq2seq_cli.config.decoding import DecodingConfig


class Direction(NamedTuple):
    """Source and target language."""

    source: str
    target: str


class ServedRun(NamedTuple):
    """What is known of a run that is served.

    name: of its folder.
    description: of its model.
    checkpoint: its name.
    directions: the languages that it translates from and to, the usual ones first.
    decoding: the defaults of a search.
    """

    name: str
    description: str
    checkpoint: str
    directions: tuple[Direction, ...]
    decoding: DecodingConfig


class Work(NamedTuple):
    """What is done with items; only items of equal work are computed together.

    kind: `translate` takes sentences, `score` and `attention` pairs of source and translation.
    run: its name.
    target: the language to translate to.
    decoding: how to search.
    prefix: a text that each translation begins with.
    alone: a number of its own for samples, whose draws depend on the order; else 0.
    """

    kind: Literal["translate", "score", "attention"]
    run: str
    target: str
    decoding: DecodingConfig
    prefix: str = ""
    alone: int = 0


class Engine(Protocol):
    """Translates by trained runs."""

    @property
    def runs(self) -> Sequence[ServedRun]:
        """The runs, the first being the default."""

    @property
    def workers(self) -> int:
        """How many batches are computed at the same time."""

    def warm_up(self) -> None:
        """Compile what the first request would otherwise wait for."""

    def compute(self, work: Work, items: list[Any]) -> Sequence[Any]:
        """Return a Translation, a Score or an Attention (None for a blank source) for each item."""

    def check(self, work: Work) -> None:
        """Check that the run can do the work.

        Raises:
            UsageError: if an option does not fit to the run.
        """

    def grow(self, run: str, target: str, sentence: str, prefix: str) -> Generator[Any, None, None]:
        """Yield a Growth after each token of a greedy translation."""
