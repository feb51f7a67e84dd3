"""`s2s data prepare`: write a corpus as a data set on disk.

Chunks of pairs pass through files and several processes, and come back as shards. Process memory
does not grow with the corpus, except for about 20 bytes per pair during the split.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import CORPORA
from seq2seq_cli.data.corpus import Corpus, read_corpus
from seq2seq_cli.data.files import writable
from seq2seq_cli.data.lengths import token_lengths
from seq2seq_cli.data.pairs import Pairs
from seq2seq_cli.data.preparation.builder import PairsBuilder
from seq2seq_cli.data.preparation.chunked import read_in_chunks
from seq2seq_cli.data.preparation.chunks import write_shard
from seq2seq_cli.data.preparation.processes import Processes
from seq2seq_cli.data.prepared import VOCABULARY, is_prepared
from seq2seq_cli.data.remote import write_listing
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.vocabularies import learn_tokenizers
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.disk import publish
from seq2seq_cli.runs.lock import LOCK, locked
from seq2seq_cli.runtime.machine import cores
from seq2seq_cli.work import ShowWork, show_nothing

CHUNKS = "chunks"


def prepare(
    config: Config, path: Path, show: ShowWork = show_nothing, processes: int | None = None
) -> Corpus:
    """Read, split and write the corpus that `config` names. An error leaves no files behind.

    Args:
        config: its tables `[data]` and `[tokenizer]` are used.
        path: the folder to create.
        show: shows the stages, and the number of pairs that each has done.
        processes: number of processes; None for one per core.

    Returns:
        The corpus, read back from `path`.

    Raises:
        DataError: if it cannot be read, naming file, line and remedy; or is too small to be split.
        UsageError: if the folder exists already or has the name of a corpus, the corpus is a
            prepared one, or it has more than two languages.
        LockedError: if another process prepares the same folder.
        DiskError: if it cannot be written.
    """

    def write(partial: Path) -> Path:
        with Processes(processes or cores()) as pool:
            chunked = read_in_chunks(config, partial / CHUNKS, pool, show)
            made = PairsBuilder(partial, config, chunked, pool, show, write_shard).write()
        _learn(made, config, show)
        return made

    return prepare_by(write, config, path)


def prepare_by(write: Callable[[Path], Path], config: Config, path: Path) -> Corpus:
    """Prepare a corpus by a function, without files of a failure; see `prepare`.

    Args:
        write: takes a new folder, whose subfolder `CHUNKS` is for temporary files. Writes the data
            set below this folder, and returns the path of the data set.
        config: its tables `[data]` and `[tokenizer]` are used.
        path: the folder to create.
    """
    if str(path) in CORPORA:
        raise UsageError(
            f"{path}: is the name of a corpus, so --data {path} would not read this folder. Give "
            "the folder another name"
        )
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists already. Remove it, or prepare into another folder")
    for corpus in config.data.mixture:
        if is_prepared(corpus.corpus):
            raise UsageError(
                f"{corpus.corpus}: has been prepared already. Give the original corpus"
            )
    if more := [source.target_language for source in config.data.sources if source.target_language]:
        raise UsageError(
            f"a prepared corpus has two languages, but data.sources has {more[0]} as a further "
            "target_language. Train on the sources themselves"
        )
    partial = path.parent / f".{path.name}.partial"
    with writable(path):
        partial.mkdir(parents=True, exist_ok=True)
    with locked(partial, f"is preparing {path}", "prepare into another folder"), writable(path):
        try:
            _clear(partial)
            (partial / CHUNKS).mkdir()
            made = write(partial)
            write_listing(made)
            publish(made, path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return read_corpus(config.data.moved_to(str(path)))


def _clear(partial: Path) -> None:
    """Remove what a killed preparation has left, except the lock."""
    for path in partial.iterdir():
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


def _learn(made: Path, config: Config, show: ShowWork) -> None:
    """Learn the vocabulary of a data set, and count the tokens of its sentences."""
    train = read_corpus(config.data.moved_to(str(made))).train
    token_lengths(train, keep_vocabulary(made, train, config, show), show)


def keep_vocabulary(made: Path, train: Pairs, config: Config, show: ShowWork) -> Tokenizers:
    """Learn the vocabulary of the data set at `made`, and write it there."""
    tokenizers = learn_tokenizers(train, config.tokenizer, show)
    (made / VOCABULARY).mkdir()
    for name, content in tokenizers.files().items():
        (made / VOCABULARY / name).write_bytes(content)
    return tokenizers
