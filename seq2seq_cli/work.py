"""Progress and warnings: long functions report them, and commands show them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

EVERY = 4096
"""Number of items between two calls of the function that shows progress."""

Item = TypeVar("Item")
Warn = Callable[[str], None]  # takes a warning as one sentence


class ShowWork(Protocol):
    """Shows the progress of an operation."""

    def __call__(self, stage: str, unit: str = "", done: int = 0, total: int | None = None) -> None:
        """Show the progress of a stage.

        Args:
            stage: its name; another stage ends the previous one.
            unit: what is counted, such as "pairs"; empty if nothing is.
            done: the number that is done.
            total: the total number, or an estimate; None if it is not known.
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
    """Yield the items, and show at intervals how many were taken.

    Args:
        items: the items to process.
        show: shows the progress.
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
