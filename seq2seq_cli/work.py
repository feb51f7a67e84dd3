"""How far a piece of work is: what long functions tell, and commands show."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

EVERY = 4096
"""Items between two calls of what shows the work."""

Item = TypeVar("Item")


class ShowWork(Protocol):
    """Shows how far a piece of work is."""

    def __call__(self, stage: str, unit: str = "", done: int = 0, total: int | None = None) -> None:
        """Show how far a stage of the work is.

        Args:
            stage: what is being done, in words; another stage ends the one before.
            unit: what is counted, such as "pairs"; empty if nothing is.
            done: how many are done.
            total: how many there are, or about how many; None if that is not known.
        """


def show_nothing(stage: str, unit: str = "", done: int = 0, total: int | None = None) -> None:
    """Show nothing; see ShowWork."""


def shown(
    items: Iterable[Item],
    show: ShowWork,
    stage: str,
    unit: str,
    total: int | None = None,
    done: int = 0,
) -> Iterator[Item]:
    """Yield the items, and show every so often how many were taken.

    Args:
        items: what is worked on.
        show: shows it.
        stage: as in ShowWork.
        unit: the same.
        total: the same.
        done: items of the stage that were taken before.
    """
    show(stage, unit, done, total)
    for count, item in enumerate(items, done + 1):
        yield item
        if count % EVERY == 0:
            show(stage, unit, count, total if total is None else max(count, total))
