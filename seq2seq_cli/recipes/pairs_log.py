"""A file of sentence pairs that grows by blocks and survives any interruption."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from seq2seq_cli.data.lines import canonical, tsv_cell
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.runs import disk, files
from seq2seq_cli.runs.disk import disk_errors, write_durably


@dataclass(frozen=True)
class Position:
    """The position of a log.

    Attributes:
        sentences: number of sentences that have been processed.
        pairs: number of pairs that were made from them.
        bytes: size of the pairs in the file.
        left_out: number of sentences or pairs that were left out, by reason.
        is_complete: whether there are no further sentences.
    """

    sentences: int = 0
    pairs: int = 0
    bytes: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    is_complete: bool = False


class PairsLog:
    """A TSV file of pairs, and beside it the position up to which the file counts.

    The position is written after the pairs, and both are on the disk before `append` returns. Data
    after the position is from an interrupted write, and is removed when the log is opened.

    Args:
        path: the file, which is created if it is missing.

    Attributes:
        path: the file.
        position: its position.

    Raises:
        DataError: if the file has lost pairs.
        DiskError: if it cannot be written.
    """

    def __init__(self, path: Path):
        self.path = path
        self._position_path = path.with_suffix(".json")
        self.position = self._read_position()
        with disk_errors(path):
            files.append(path, b"")
            files.sync(path.parent)  # or the position might be on the disk, and the file not
            size = files.size(path)
            if size > self.position.bytes:
                files.truncate(path, self.position.bytes)
        if size < self.position.bytes:
            raise self._damaged()

    def append(
        self, sentences: int, pairs: Iterable[Pair], left_out: Mapping[str, int] | None = None
    ) -> None:
        """Add the pairs that were made from the next sentences.

        Args:
            sentences: number of sentences.
            pairs: the pairs.
            left_out: numbers that were left out, by reason.

        Raises:
            DiskError: if they cannot be written.
        """
        lines = [tsv_line(pair) for pair in pairs]
        data = "".join(lines).encode()
        with disk_errors(self.path):
            files.append(self.path, data)
            files.sync(self.path)
        before = self.position
        self._set_position(
            Position(
                before.sentences + sentences,
                before.pairs + len(lines),
                before.bytes + len(data),
                dict(Counter(before.left_out) + Counter(left_out)),
            )
        )

    def complete(self) -> None:
        """Record that there are no further sentences."""
        self._set_position(replace(self.position, is_complete=True))

    def pairs(self) -> Iterator[Pair]:
        """Yield the pairs of the file."""
        with self.path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                source, _, target = line.removesuffix("\n").partition("\t")
                yield source, target

    def _read_position(self) -> Position:
        if not files.exists(self._position_path):
            return Position()
        try:
            return Position(**json.loads(files.read(self._position_path)))
        except (OSError, ValueError, TypeError) as error:
            raise self._damaged() from error

    def _set_position(self, position: Position) -> None:
        with disk_errors(self.path):
            write_durably(self._position_path, json.dumps(asdict(position)).encode())
        self.position = position

    def _damaged(self) -> DataError:
        return DataError(f"{self.path}: is damaged. Remove {self.path.parent} to start again")


def tsv_line(pair: Pair) -> str:
    """Return a pair as a line of a TSV file, which is read back as the same pair in NFC."""
    return "\t".join(canonical(tsv_cell(side)) for side in pair) + "\n"


def publish(partial: Path, output: Path) -> None:
    """Give a complete file its final name, and flush both to the disk.

    Raises:
        UsageError: if there is another file by now.
        DiskError: if that fails.
    """
    if files.exists(output):
        raise UsageError(
            f"{output}: was created in the meantime, and nothing is overwritten. Move it away, and "
            "repeat the command; the result is finished and only needs this name"
        )
    with disk_errors(output):
        disk.publish(partial, output)
