"""Write the splits of a corpus as plain files, which any other toolkit can read.

The files have one sentence per line. Lines n of the files of a split belong together.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from seq2seq_cli.data.corpus import Corpus
from seq2seq_cli.data.splits import Pair, group_references
from seq2seq_cli.errors import DiskError, UsageError, os_reason
from seq2seq_cli.runs.disk import publish

INDEX = "split.json"


@dataclass(frozen=True)
class ExportedSplit:
    """A split that was written.

    Attributes:
        lines: of each file.
        references: target sentences in all, each counted once.
        files: their names; the source, the first references, further references.
    """

    lines: int
    references: int
    files: list[str]


@dataclass(frozen=True)
class Export:
    """The content of `split.json`, about the files beside it.

    Attributes:
        corpus: its name and files.
        fingerprint: of the corpus.
        source_language, target_language: the languages.
        splits: the written splits, by name.
        line_breaks: number of sentences with line breaks in them, which became spaces.
    """

    corpus: str
    fingerprint: str
    source_language: str
    target_language: str
    splits: dict[str, ExportedSplit]
    line_breaks: int


def check_new_folder(folder: Path) -> None:
    """Check that a folder can be made, so that nothing is overwritten.

    Raises:
        UsageError: if it exists and is not empty, or is the current folder.
        DiskError: if its parent does not exist, or it cannot be read.
    """
    try:
        if os.path.isdir(folder) and not os.listdir(folder):
            if os.path.samefile(folder, os.curdir):
                raise UsageError(f"{folder}: is the current folder. Give the path of a new folder")
            return
    except OSError as error:
        raise DiskError(
            f"{folder}: cannot be read: {os_reason(error)}. Give another folder"
        ) from error
    if os.path.exists(folder) or os.path.islink(folder):
        raise UsageError(f"{folder}: exists already; nothing is overwritten. Give a new folder")
    if not os.path.isdir(folder.absolute().parent):
        raise DiskError(f"{folder}: there is no folder {folder.parent}. Create it first")


def export(corpus: Corpus, languages: tuple[str, str], folder: Path) -> Export:
    """Write the splits of a corpus to a new folder, completely or not at all.

    The train split is `train.SOURCE` and `train.TARGET`, a pair per line, `train.weights` if pairs
    have weights, and `train.tags` if they have tags. The dev and test splits have a line for each
    distinct source. Their first references are in `test.TARGET`, further ones in `test.TARGET.2`,
    `test.TARGET.3` and so on. A source with fewer references than others repeats its first
    one there.

    Args:
        corpus: to write.
        languages: (source, target), the endings of the files.
        folder: to create. It may exist if it is empty.

    Raises:
        UsageError: if the folder is not empty, or is the current one.
        DiskError: if it cannot be written.
    """
    check_new_folder(folder)
    with _complete_folder(folder) as partial:
        writer = _Writer(partial)
        splits = {
            "train": _export_train(writer, corpus, languages),
            **{name: _export_held_out(writer, corpus, name, languages) for name in ("dev", "test")},
        }
        exported = Export(
            corpus.description, corpus.fingerprint, *languages, splits, writer.line_breaks
        )
        index = json.dumps(asdict(exported), indent=2, ensure_ascii=False)
        (partial / INDEX).write_text(index + "\n", encoding="utf-8")
    return exported


def _export_train(writer: "_Writer", corpus: Corpus, languages: tuple[str, str]) -> ExportedSplit:
    files = [f"train.{language}" for language in languages]
    for side, name in enumerate(files):
        writer.write(name, (pair[side] for pair in corpus.train))
    if corpus.train.weights is not None:
        files.append("train.weights")
        writer.write(files[-1], (f"{weight:g}" for weight in corpus.train.weights.tolist()))
    if (tags := corpus.train.tags) is not None:
        files.append("train.tags")
        written = [" ".join(f"<{tag}>" for tag in sequence) for sequence in tags.sequences]
        writer.write(files[-1], (written[number] for number in tags.numbers.tolist()))
    return ExportedSplit(len(corpus.train), len(corpus.train), files)


def _export_held_out(
    writer: "_Writer", corpus: Corpus, name: str, languages: tuple[str, str]
) -> ExportedSplit:
    pairs: list[Pair] = getattr(corpus, name)
    sources, references = group_references(pairs)
    files = [f"{name}.{languages[0]}"]
    writer.write(files[0], sources)
    for rank in range(max(map(len, references))):
        files.append(f"{name}.{languages[1]}" + (f".{rank + 1}" if rank else ""))
        writer.write(files[-1], (each[rank if rank < len(each) else 0] for each in references))
    return ExportedSplit(len(sources), sum(map(len, references)), files)


class _Writer:
    """Writes files of one sentence per line into a folder.

    Attributes:
        line_breaks: number of sentences whose line breaks became spaces.
    """

    def __init__(self, folder: Path):
        self.line_breaks = 0
        self._folder = folder

    def write(self, name: str, sentences: Iterable[str]) -> None:
        with (self._folder / name).open("w", encoding="utf-8", newline="\n") as file:
            for sentence in sentences:
                if "\n" in sentence or "\r" in sentence:
                    self.line_breaks += 1
                    sentence = " ".join(sentence.replace("\r", "\n").split("\n"))
                file.write(sentence + "\n")


@contextmanager
def _complete_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to `folder` at the end."""
    folder = Path(os.path.realpath(folder))
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        if os.path.exists(partial):  # left by an export that was killed
            shutil.rmtree(partial)
        partial.mkdir()
        yield partial
        publish(partial, folder)
    except OSError as error:
        raise DiskError(
            f"{folder}: cannot be written: {os_reason(error)}. Free some space, or give another "
            "folder"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
