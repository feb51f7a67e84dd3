"""`s2s data prepare`: any corpus, however large, to a data set of TensorFlow Datasets on disk.

Pairs go in chunks through files and several processes and come back as shards. What is in memory
does not grow with the corpus, but for some 20 bytes a pair while it is split.
"""

import contextlib
import io
import multiprocessing
import os
import shutil
import signal
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from seq2seq_cli.config import Config
from seq2seq_cli.data.chunks import keep_chunk, write_records, write_shard
from seq2seq_cli.data.corpus import Corpus, HeldOut, describe, read_corpus, too_small
from seq2seq_cli.data.files import writable
from seq2seq_cli.data.pipeline import learn_tokenizers, token_lengths
from seq2seq_cli.data.prepared import VOCABULARY, WEIGHTS, is_prepared
from seq2seq_cli.data.sources import Reader
from seq2seq_cli.data.splits import DEV, PAIR, REPEATED, TEST, TRAIN, assign
from seq2seq_cli.errors import UsageError

Report = Callable[[str, int], None]

CHUNK_PAIRS = 1 << 16
_IGNORE_INTERRUPTS = (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the main process' to handle


def prepare(config: Config, path: Path, report: Report, processes: int | None = None) -> Corpus:
    """Read, split and write the corpus that `config` names; all of it or nothing.

    Args:
        config: its `[data]` and `[tokenizer]` count.
        path: the folder to make.
        report: told of what is being done, and how many pairs that has been done with.
        processes: how many work at once; None for one on each core.

    Returns:
        The corpus as it is read back.

    Raises:
        DataError: if it cannot be read, naming file, line and remedy; or is too small to be split.
        UsageError: if the folder is there already, or the corpus is a prepared one.
        DiskError: if it cannot be written.
    """
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists already. Remove it, or prepare into another folder")
    for source in config.data.mixture:
        if is_prepared(source.corpus):
            raise UsageError(
                f"{source.corpus}: has been prepared already. Give what it was prepared from"
            )
    partial = path.parent / f".{path.name}.partial"
    with writable(path):
        shutil.rmtree(partial, ignore_errors=True)  # what a preparation left that was killed
        (partial / "chunks").mkdir(parents=True)
        try:
            with _Processes(processes or os.cpu_count() or 1) as pool:
                read = _read(config, partial / "chunks", pool, report)
                builder = PairsBuilder(partial, config, read, pool, report)
                with contextlib.redirect_stdout(io.StringIO()):  # where TFDS tells of itself
                    builder.download_and_prepare()
            made = Path(builder.data_dir)
            _learn(made, config, report)
            for file in [*made.rglob("*"), made]:
                _sync(file)
            made.rename(path)
            _sync(path.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return read_corpus(config.data.moved_to(str(path)))


class _Chunk(NamedTuple):
    """A part of one source; `path` is that of `keep_chunk`."""

    path: Path
    pairs: int
    weight: float

    @property
    def keys(self) -> np.ndarray:
        """What `splits.pair_keys` gives, left on disk."""
        return np.load(f"{self.path}.keys.npy", mmap_mode="r")


class _Read(NamedTuple):
    """A corpus in chunks; sides has an array for each."""

    chunks: list[_Chunk]
    sides: list[np.ndarray]
    held_out: HeldOut
    metadata: dict[str, Any]


def _read(config: Config, folder: Path, pool: "_Processes", report: Report) -> _Read:
    """Put all pairs into chunks, and decide where each belongs."""
    reader = Reader(config.data)
    sources = reader.sources()
    chunks: list[_Chunk] = []
    done = 0
    for source in sources:
        while pairs := list(islice(source.pairs, CHUNK_PAIRS)):
            chunks.append(_Chunk(folder / str(len(chunks)), len(pairs), source.weight))
            pool.submit(keep_chunk, pairs, chunks[-1].path)
            done += len(pairs)
            report("Reading", done)
    pool.results()
    held_out = HeldOut.read(reader, sources)
    report("Splitting", done)
    assigned = assign(_Keys(chunks), *held_out.to_split_off(config.data), config.data.split_seed)
    for name, number in (("train", TRAIN), ("dev", DEV), ("test", TEST)):
        if not getattr(held_out, name, None) and not (assigned.sides == number).any():
            distinct = int((assigned.sides != REPEATED).sum())
            raise too_small(describe(sources), distinct, assigned.groups, name)
    sides = np.split(assigned.sides, np.cumsum([chunk.pairs for chunk in chunks])[:-1])
    reader.dropped["duplicate"] += int((assigned.sides == REPEATED).sum())
    digest = held_out.digest()
    shared = 0
    for chunk, side in zip(chunks, sides, strict=True):
        keys = chunk.keys
        digest.update(keys[side != REPEATED, PAIR].tobytes())
        shared += held_out.shared(keys[side == TRAIN])
    metadata = {
        "description": describe(sources),
        "fingerprint": digest.hexdigest(),
        "dropped": dict(+reader.dropped),
        "groups": assigned.groups,
        "shared": shared,
        "data": config.data.model_dump(),
        "tokenizer": config.tokenizer.model_dump(),
    }
    return _Read(chunks, sides, held_out, metadata)


class _Keys(Sequence[np.ndarray]):
    """The keys of chunks, each read when it is asked for."""

    def __init__(self, chunks: list[_Chunk]):
        self._chunks = chunks

    def __len__(self) -> int:
        return len(self._chunks)

    def __getitem__(self, index: Any) -> Any:
        return self._chunks[index].keys


class PairsBuilder(  # type: ignore[call-arg]
    tfds.core.dataset_builder.FileReaderBuilder, skip_registration=True
):
    """Writes a corpus in its order, a shard for each chunk that has pairs for train.

    Args:
        folder: where the data set's own folder is made.
        config: of the corpus.
        read: the corpus.
        pool: the processes that write.
        report: told how far they are.
    """

    name = "pairs"
    VERSION = tfds.core.Version("1.0.0")

    def __init__(
        self, folder: Path, config: Config, read: _Read, pool: "_Processes", report: Report
    ):
        self._languages = config.data.source_language, config.data.target_language
        self._read = read
        self._pool = pool
        self._report = report
        super().__init__(data_dir=str(folder), file_format="array_record")

    def _info(self) -> Any:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Sentence pairs, split without leaks.",
            features=tfds.features.Translation(languages=self._languages),
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(self._read.metadata),
        )

    def _download_and_prepare(self, dl_manager: Any, download_config: Any) -> None:
        """Write the shards, and tell the data set's info of them."""
        chunks, sides, held_out, _ = self._read
        counts = [int((side == TRAIN).sum()) for side in sides]
        total = sum(count > 0 for count in counts)
        number = done = 0
        for chunk, side, count in zip(chunks, sides, counts, strict=True):
            shard = self._shard("train", number, total) if count else None
            self._pool.submit(write_shard, chunk.path, side, shard, self._languages)
            number += count > 0
            done += chunk.pairs
            self._report("Writing", done)
        shards = self._pool.results()
        files = {"train": [count for count in counts if count]}
        for name in ("dev", "test"):
            given = getattr(held_out, name)
            pairs = given or [pair for shard in shards for pair in getattr(shard, name)]
            write_records(self._shard(name, 0, 1), pairs, self._languages)
            files[name] = [len(pairs)]
        weights = np.array([chunk.weight for chunk in chunks], np.float32)
        if (weights != 1).any():
            np.save(self.data_path / WEIGHTS, np.repeat(weights, counts))
        self.info.metadata["shard_bytes"] = {
            file.name: file.stat().st_size for file in Path(self.data_path).glob("*.array_record-*")
        }
        self.info.set_splits(
            tfds.core.splits.SplitDict(
                [
                    tfds.core.SplitInfo(
                        name=name,
                        shard_lengths=lengths,
                        num_bytes=sum(
                            self._shard(name, i, len(lengths)).stat().st_size
                            for i in range(len(lengths))
                        ),
                        filename_template=self._get_filename_template(name),
                    )
                    for name, lengths in files.items()
                ]
            )
        )

    def _shard(self, split: str, number: int, total: int) -> Path:
        template = self._get_filename_template(split)
        return Path(template.sharded_filepath(shard_index=number, num_shards=total))


def _learn(made: Path, config: Config, report: Report) -> None:
    """Learn the vocabulary of a data set, and count the tokens of its sentences."""
    train = read_corpus(config.data.moved_to(str(made))).train
    report("Learning the vocabulary", 0)
    tokenizers = learn_tokenizers(train, config.tokenizer)
    (made / VOCABULARY).mkdir()
    for name, content in tokenizers.files().items():
        (made / VOCABULARY / name).write_bytes(content)
    token_lengths(train, tokenizers, lambda done: report("Counting tokens", done))


class _Processes:
    """Runs functions in other processes, not too many at once, and keeps their results in order.

    Args:
        count: how many processes.
    """

    def __init__(self, count: int):
        self._at_once = 2 * count
        self._executor = ProcessPoolExecutor(
            count, multiprocessing.get_context("spawn"), signal.signal, _IGNORE_INTERRUPTS
        )
        self._pending: deque[Future[Any]] = deque()
        self._results: list[Any] = []

    def __enter__(self) -> "_Processes":
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have it done; wait while too much is waiting."""
        if len(self._pending) == self._at_once:
            self._results.append(self._pending.popleft().result())
        self._pending.append(self._executor.submit(function, *arguments))

    def results(self) -> list[Any]:
        """Wait for all, and return what they returned, in the order of submission."""
        done = [*self._results, *(future.result() for future in self._pending)]
        self._pending.clear()
        self._results = []
        return done


def _sync(path: Path) -> None:
    """Have the disk keep what has been written to a file or a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
