"""The corpora with names, and their files."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from seq2seq_cli.bundled import bundled
from seq2seq_cli.data.tatoeba import downloaded_tatoeba


class Files(NamedTuple):
    """The files of a corpus; dev and test are None if it does not have its own."""

    train: Path
    dev: Path | None = None
    test: Path | None = None


def _phrasebook() -> Files:
    folder = bundled("data/phrasebook")
    return Files(*(folder / f"{side}.tsv.gz" for side in Files._fields))


NAMED: dict[str, Callable[[], Files]] = {
    "phrasebook": _phrasebook,
    "tatoeba": lambda: Files(downloaded_tatoeba()),
}

NAMED_COLUMNS = "en es"
"""The languages of their columns."""


def files_of(corpus: str) -> Files:
    """Return the files of a corpus that is given by name or by path.

    Raises:
        DataError: if it must be downloaded first.
    """
    return NAMED[corpus]() if corpus in NAMED else Files(Path(corpus))
