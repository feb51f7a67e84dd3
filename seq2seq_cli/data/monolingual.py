"""Text in one language, of any size."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seq2seq_cli.data.files import is_file
from seq2seq_cli.data.lines import BadLineError, open_text, read_lines
from seq2seq_cli.errors import DataError
from seq2seq_cli.work import ShowWork, show_nothing, shown


@dataclass(frozen=True)
class MonolingualText:
    """A text file with one sentence per line, gzipped or not, that has been read once.

    Attributes:
        path: the file.
        count: number of its lines.
        sha256: of its lines.
    """

    path: Path
    count: int
    sha256: str

    @classmethod
    def read(
        cls, path: Path, skip_bad_lines: bool = False, show: ShowWork = show_nothing
    ) -> "MonolingualText":
        """Read a file to the end, so that its problems are known before the work begins.

        Raises:
            DataError: if it cannot be read, is a pipe, has no sentence, or has a line that is not
                text and bad lines are not skipped.
        """
        is_file(path)  # refuses a pipe, which has its lines only once
        digest, count, some = hashlib.sha256(), 0, False
        with open_text(path) as stream:
            found = read_lines(str(path), stream)
            for line in shown(found, show, "Reading the text", "lines"):
                count += 1
                if isinstance(line, BadLineError):
                    if not skip_bad_lines:
                        raise DataError(
                            f"{path}:{count}: {line}. Correct the line, or leave out such lines "
                            "with --skip-bad-lines"
                        )
                    line = ""
                some = some or bool(line.strip())
                digest.update(f"{line}\n".encode())
        if not some:
            raise DataError(f"{path}: has no sentences")
        return cls(path, count, digest.hexdigest())

    def lines(self) -> Iterator[str | BadLineError]:
        """Yield the lines; for a line that cannot be read, yield the error."""
        with open_text(self.path) as stream:
            yield from read_lines(str(self.path), stream)
