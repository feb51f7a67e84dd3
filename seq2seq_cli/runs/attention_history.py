"""The attention of a few dev sentences at each validation. Each validation has a small file."""

import re
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from seq2seq_cli.runs import files
from seq2seq_cli.runs.disk import disk_errors, make_durably, write_durably
from seq2seq_cli.runs.state import STRICT
from seq2seq_cli.work import Warn

_NAME = re.compile(r"step-(\d+)\.json")
_PARTIAL = re.compile(r"\.step-.*\.partial")


@dataclass(config=STRICT)
class Side:
    """A side of a sentence pair.

    Attributes:
        pieces: its tokens as written, EOS included.
        words: as written.
        word_of: the index of each token's word.
    """

    pieces: list[str]
    words: list[str]
    word_of: list[int]


@dataclass(config=STRICT)
class SentenceAttention:
    """The attention of a model that reads a dev sentence with its reference.

    Attributes:
        source, reference: the texts.
        source_side, target_side: the tokens and words of both.
        weights: of shape [target tokens, source tokens].
    """

    source: str
    reference: str
    source_side: Side
    target_side: Side
    weights: list[list[float]]


@dataclass(config=STRICT)
class Snapshot:
    """The attention of all kept sentences at one validation.

    Attributes:
        step: updates made.
        dev_bleu: of the validation.
        sentences: of a run, the same sentences in the same order at each validation.
    """

    step: int
    dev_bleu: float
    sentences: list[SentenceAttention]


_SNAPSHOT = TypeAdapter(Snapshot)


class AttentionHistory:
    """The files of a run. Each is written completely or not at all.

    Args:
        folder: of the files.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    def write(self, snapshot: Snapshot) -> None:
        """Write a snapshot to its file.

        Raises:
            DiskError: if it cannot be written.
        """
        path = self._folder / f"step-{snapshot.step:08d}.json"
        with disk_errors(path):
            make_durably(self._folder)
            write_durably(path, _SNAPSHOT.dump_json(snapshot))

    def read(self, warn: Warn = lambda text: None) -> list[Snapshot]:
        """Return the snapshots in the order of their updates.

        A file is left out if it is damaged, or has other sentences than the newest one.

        Args:
            warn: called with a message for each file that is left out.
        """
        found: list[Snapshot] = []
        for _, path in reversed(self._paths()):
            try:
                snapshot = _SNAPSHOT.validate_json(files.read(path))
            except (OSError, ValidationError):
                warn(f"{path}: cannot be read, and is left out")
                continue
            if found and _pairs(snapshot) != _pairs(found[0]):
                warn(f"{path}: has other sentences than the newest one, and is left out")
                continue
            found.append(snapshot)
        return found[::-1]

    def forget_after(self, step: int) -> None:
        """Delete the files of later updates, which resumed training repeats, and incomplete files.

        Args:
            step: the last update to keep.

        Raises:
            DiskError: if a file cannot be deleted.
        """
        with disk_errors(self._folder):
            for name in files.names(self._folder):
                match = _NAME.fullmatch(name)
                if (match and int(match[1]) > step) or _PARTIAL.fullmatch(name):
                    files.remove(self._folder / name)

    def _paths(self) -> list[tuple[int, Path]]:
        """Return the numbers of updates and the files, in the order of the updates."""
        matches = map(_NAME.fullmatch, files.names(self._folder))
        return sorted((int(match[1]), self._folder / match[0]) for match in matches if match)


def _pairs(snapshot: Snapshot) -> list[tuple[list[str], list[str]]]:
    """Return the source and target tokens of each sentence."""
    return [(each.source_side.pieces, each.target_side.pieces) for each in snapshot.sentences]
