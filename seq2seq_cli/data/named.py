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

_COLUMNS = "en es"


def files_of(corpus: str) -> Files:
    """Return the files of a corpus that is given by name or by path.

    Raises:
        DataError: if it must be downloaded first.
    """
    return NAMED[corpus]() if corpus in NAMED else Files(Path(corpus))


def columns_of(corpus: str, columns: str, key: str) -> tuple[str, str]:
    """Return the languages of a corpus' columns, and the config key that gives them.

    Args:
        corpus: its name or path.
        columns: of a corpus that is given by its path. Those of a corpus with a name are fixed.
        key: the config key that gives `columns`. A corpus with a name has none.
    """
    return (_COLUMNS, "") if corpus in NAMED else (columns, key)
