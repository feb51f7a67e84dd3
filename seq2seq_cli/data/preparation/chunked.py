"""A corpus in chunks on disk, with the split of each pair."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import READING, SPLITTING, describe, too_small
from seq2seq_cli.data.held_out import HeldOut
from seq2seq_cli.data.mixing import LEAKS, assign_mixture
from seq2seq_cli.data.preparation.chunks import write_chunk
from seq2seq_cli.data.preparation.processes import Processes
from seq2seq_cli.data.reader import OpenCorpus, Reader
from seq2seq_cli.data.splits import DEV, LEAKED, PAIR, REPEATED, TEST, TRAIN
from seq2seq_cli.work import ShowWork

CHUNK_PAIRS = 1 << 16


class Chunk(NamedTuple):
    """Some pairs of one corpus; the files at `path` are described in `chunks.py`."""

    path: Path
    pairs: int
    weight: float
    tags: tuple[str, ...]
    only_trains: bool

    @property
    def keys(self) -> np.ndarray:
        """The result of `splits.pair_keys` (uint64 of shape [pairs, 3]), left on disk."""
        return np.load(f"{self.path}.keys.npy", mmap_mode="r")

    @property
    def sides(self) -> np.ndarray:
        """The split of each pair (int8), from `splits.assign`, left on disk."""
        return np.load(f"{self.path}.sides.npy", mmap_mode="r")


class ChunkedCorpus(NamedTuple):
    """A corpus in chunks.

    Attributes:
        chunks: all pairs, in order.
        train_counts: number of train pairs of each chunk.
        held_out: the dev and test pairs that are given separately.
        metadata: the values that `Prepared` reads back.
    """

    chunks: list[Chunk]
    train_counts: list[int]
    held_out: HeldOut
    metadata: dict[str, Any]


def read_in_chunks(config: Config, folder: Path, pool: Processes, show: ShowWork) -> ChunkedCorpus:
    """Write all pairs into chunks below `folder`, and assign each pair to a split.

    Raises:
        DataError: if the corpus cannot be read, or is too small to be split.
    """
    reader = Reader(config.data)
    corpora = reader.corpora()
    total = reader.estimated_pairs()
    chunks = _write_chunks(corpora, config.data.target_first, total, folder, pool, show)
    held_out = HeldOut.read(reader, corpora, config.data)
    show(SPLITTING)
    only_train = [chunk.only_trains for chunk in chunks]
    assigned = assign_mixture(_Keys(chunks), only_train, held_out, config.data)
    sides = np.split(assigned.sides, np.cumsum([chunk.pairs for chunk in chunks])[:-1])
    for chunk, side in zip(chunks, sides, strict=True):
        np.save(f"{chunk.path}.sides.npy", side)
    return describe_chunks(config, describe(corpora), reader, chunks, held_out, assigned.groups)


def describe_chunks(
    config: Config,
    description: str,
    reader: Reader,
    chunks: list[Chunk],
    held_out: HeldOut,
    groups: int,
) -> ChunkedCorpus:
    """Return the corpus of chunks whose keys and splits are on disk.

    Args:
        config: of the corpus.
        description: the names of its corpora.
        reader: has counted the pairs that were left out.
        chunks: all pairs, in order.
        held_out: the dev and test pairs that are given separately.
        groups: number of groups of related pairs.

    Raises:
        DataError: if a split has no pairs.
    """
    digests = [held_out.digest(turned) for turned in (False, True)]
    train_counts, totals, shared = [], np.zeros(LEAKED + 1, np.int64), 0
    for chunk in chunks:
        keys, sides = chunk.keys, chunk.sides
        counts = np.bincount(sides, minlength=LEAKED + 1)
        train_counts.append(int(counts[TRAIN]))
        totals += counts
        for digest in digests:
            digest.update(keys[sides < REPEATED, PAIR].tobytes())
        shared += held_out.shared(keys[sides == TRAIN])
    for name, number in (("train", TRAIN), ("dev", DEV), ("test", TEST)):
        if not getattr(held_out, name, None) and not totals[number]:
            raise too_small(description, int(totals[:REPEATED].sum()), groups, name)
    reader.leave_out("duplicate", int(totals[REPEATED]))
    reader.leave_out(LEAKS, int(totals[LEAKED]))
    metadata = {
        "description": description,
        "fingerprint": digests[0].hexdigest(),
        "turned_fingerprint": digests[1].hexdigest(),
        "dropped": dict(+reader.dropped),
        "groups": groups,
        "shared": shared,
        "data": config.data.model_dump(),
        "tokenizer": config.tokenizer.model_dump(),
    }
    return ChunkedCorpus(chunks, train_counts, held_out, metadata)


def _write_chunks(
    corpora: Sequence[OpenCorpus],
    target_first: bool,
    total: int | None,
    folder: Path,
    pool: Processes,
    show: ShowWork,
) -> list[Chunk]:
    chunks: list[Chunk] = []
    done = 0
    show(READING, "pairs", done, total)
    for corpus in corpora:
        while pairs := list(islice(corpus.pairs, CHUNK_PAIRS)):
            path = folder / str(len(chunks))
            kind = corpus.weight, corpus.tags, corpus.only_trains
            chunks.append(Chunk(path, len(pairs), *kind))
            pool.submit(write_chunk, pairs, chunks[-1].path, target_first)
            done += len(pairs)
            show(READING, "pairs", done, total and max(done, total))
    pool.results()
    return chunks


class _Keys(Sequence[np.ndarray]):
    """The keys of chunks, each read from disk when it is used."""

    def __init__(self, chunks: list[Chunk]):
        self._chunks = chunks

    def __len__(self) -> int:
        return len(self._chunks)

    def __getitem__(self, index: Any) -> Any:
        return self._chunks[index].keys
