"""The splits of `mixing.assign_mixture`, computed on the workers of Apache Beam.

Only keys pass between workers, in arrays for each chunk and partition of the keys; so the text of
a corpus stays where it is. The components of related pairs are found by hash-to-min.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.held_out import HeldOut
from seq2seq_cli.data.preparation.beam_workers import BeamWorkers, save
from seq2seq_cli.data.preparation.chunked import Chunk
from seq2seq_cli.data.preparation.components import (
    distinct,
    hash_to_min,
    labels,
    partitions,
    stars,
)
from seq2seq_cli.data.splits import (
    DEV,
    LEAKED,
    PAIR,
    REPEATED,
    SOURCE,
    TARGET,
    TEST,
    TRAIN,
    draw_sides,
    held_out_shares,
    shares_a_sentence,
)

_PARTITION_PAIRS = 1 << 20  # approximate number of keys of a partition in a large corpus
_LEAST_BITS = 3  # at least 8 partitions, so that all workers of a small machine have some

Ranked = tuple[int, str]
"""The rank of a chunk in the corpus, and its path."""
Sent = tuple[int, str, bytes]
"""The same, and those of its keys that are in one partition (uint64)."""
Answer = Callable[[int, np.ndarray], np.ndarray]
"""Takes the number of a partition and its keys in the corpus' order; gives each one an int8."""
KeyedRows = beam.typehints.KV[int, bytes]
"""The number of a partition, and rows of two keys (uint64) for it."""
Keep = Callable[[str, np.ndarray], None]
"""Takes the path of a chunk, and the int8 of each of its pairs."""


def assign_chunks(
    chunks: list[Chunk], given: HeldOut, config: DataConfig, workers: BeamWorkers, folder: Path
) -> int:
    """Write the split of each pair of the chunks, as `mixing.assign_mixture` assigns it.

    Args:
        chunks: all pairs, in order. Their keys are on disk.
        given: the dev and test pairs that are given separately.
        config: has the numbers of pairs to split off, and the seed.
        workers: do the work.
        folder: an existing folder that all workers share.

    Returns:
        The number of groups of related pairs.
    """
    split = [(rank, str(chunk.path)) for rank, chunk in enumerate(chunks) if not chunk.only_trains]
    # Train-only pairs come last: they repeat the others, wherever these are.
    rest = [
        (len(chunks) + rank, str(chunk.path))
        for rank, chunk in enumerate(chunks)
        if chunk.only_trains
    ]
    bits = max(_LEAST_BITS, (sum(chunk.pairs for chunk in chunks) // _PARTITION_PAIRS).bit_length())
    workers.run(partial(_find_repeated, chunks=[*split, *rest], bits=bits))
    clusters = _connect(split, bits, workers, folder)
    different = sum(int((~_repeated(path)).sum()) for _, path in split)
    shares = held_out_shares(different, *given.to_split_off(config))
    draw = partial(_drawn, clusters, shares, config.split_seed, folder / "groups")
    workers.run(partial(_draw, chunks=split, bits=bits, draw=draw))
    if rest:
        _leave_out_leaks(chunks, given, workers, folder / "held-out.npy")
    return sum(int(np.load(path)) for path in folder.glob("groups-*.npy"))


def _leave_out_leaks(chunks: list[Chunk], given: HeldOut, workers: BeamWorkers, path: Path) -> None:
    """Write the splits of the train-only chunks. `path` is a file for the keys of dev and test."""
    held_out = [given.keys]
    for chunk in chunks:
        if not chunk.only_trains:
            held_out.append(chunk.keys[np.isin(chunk.sides, (DEV, TEST))])
    save(path, np.concatenate(held_out))
    for chunk in chunks:
        if chunk.only_trains:
            workers.submit(_keep_train_only, str(chunk.path), path)
    workers.results()


def _keep_train_only(path: str, held_out: Path) -> None:
    leaked = shares_a_sentence(_keys(path), np.load(held_out))
    sides = np.where(leaked, LEAKED, TRAIN).astype(np.int8)
    sides[_repeated(path)] = REPEATED
    save(Path(f"{path}.sides.npy"), sides)


def _keys(path: str) -> np.ndarray:
    return np.load(f"{path}.keys.npy", mmap_mode="r")


def _repeated(path: str) -> np.ndarray:
    return np.load(f"{path}.repeated.npy")


# Questions about each pair, which the partition of one of its keys answers.


def _ask(chunks: Any, column: int, bits: int, answer: Answer, keep: Keep) -> None:
    """Let partitions of keys give each pair an answer, and each chunk keep the answers.

    Args:
        chunks: a PCollection of the ranks and paths of chunks.
        column: of the keys.
        bits: as for `partitions`.
        answer: of a partition to its keys.
        keep: writes the answers to a chunk.
    """
    asked = chunks | f"Send {column}" >> beam.FlatMap(_send, column, bits).with_output_types(
        beam.typehints.KV[int, tuple[int, str, bytes]]
    )
    answered = (
        asked
        | f"Group {column}" >> beam.GroupByKey()
        | f"Answer {column}"
        >> beam.FlatMap(_answer, answer).with_output_types(
            beam.typehints.KV[str, tuple[int, bytes]]
        )
    )
    collected = answered | f"Collect {column}" >> beam.GroupByKey()
    collected | f"Keep {column}" >> beam.Map(_keep, column, bits, keep)


def _send(chunk: Ranked, column: int, bits: int) -> Iterator[tuple[int, Sent]]:
    rank, path = chunk
    keys = _keys(path)[:, column]
    for number, which in partitions(keys, bits):
        yield number, (rank, path, keys[which].tobytes())


def _answer(
    partition: tuple[int, Iterable[Sent]], answer: Answer
) -> Iterator[tuple[str, tuple[int, bytes]]]:
    number, rows = partition
    ordered = sorted(rows)
    keys = [np.frombuffer(content, np.uint64) for _, _, content in ordered]
    lengths = [len(part) for part in keys]
    answers = np.split(answer(number, np.concatenate(keys)), np.cumsum(lengths)[:-1])
    for (_, path, _), part in zip(ordered, answers, strict=True):
        yield path, (number, part.tobytes())


def _keep(
    answered: tuple[str, Iterable[tuple[int, bytes]]], column: int, bits: int, keep: Keep
) -> None:
    path, parts = answered
    keys = _keys(path)[:, column]
    answers = np.empty(len(keys), np.int8)
    received = dict(parts)
    for number, which in partitions(keys, bits):
        answers[which] = np.frombuffer(received[number], np.int8)
    keep(path, answers)


def _find_repeated(pipeline: beam.Pipeline, chunks: list[Ranked], bits: int) -> None:
    """Write for each pair whether it has occurred before, in the order of the chunks' ranks."""
    spread = pipeline | beam.Create(chunks) | beam.Reshuffle()
    _ask(spread, PAIR, bits, _are_repeated, _keep_repeated)


def _are_repeated(number: int, keys: np.ndarray) -> np.ndarray:
    repeated = np.ones(len(keys), np.int8)
    repeated[np.unique(keys, return_index=True)[1]] = 0
    return repeated


def _keep_repeated(path: str, repeated: np.ndarray) -> None:
    save(Path(f"{path}.repeated.npy"), repeated.astype(bool))


def _draw(pipeline: beam.Pipeline, chunks: list[Ranked], bits: int, draw: Answer) -> None:
    """Write the split of each pair; count the groups of each partition in groups-NUMBER.npy."""
    spread = pipeline | beam.Create(chunks) | beam.Reshuffle()
    _ask(spread, SOURCE, bits, draw, _keep_sides)


def _drawn(
    clusters: Path,
    shares: tuple[float, float],
    seed: int,
    groups: Path,
    number: int,
    keys: np.ndarray,
) -> np.ndarray:
    sources, which = np.unique(keys, return_inverse=True)
    found = labels(_clusters(clusters, number), sources)
    save(groups.with_name(f"{groups.name}-{number}.npy"), np.array((found == sources).sum()))
    return draw_sides(found, shares, seed)[which]


def _keep_sides(path: str, sides: np.ndarray) -> None:
    sides[_repeated(path)] = REPEATED
    save(Path(f"{path}.sides.npy"), sides)


# Clusters: those of partition NUMBER are in CLUSTERS-NUMBER.npy. It is missing if there are none.


def _connect(chunks: list[Ranked], bits: int, workers: BeamWorkers, folder: Path) -> Path:
    """Find the components of related pairs; return CLUSTERS, whose labels are those of `labels`."""
    clusters = folder / "clusters-0"
    workers.run(partial(_start, chunks=chunks, bits=bits, clusters=clusters))
    number = 0
    while any(folder.glob(f"{clusters.name}-*.changed")):
        number += 1
        before, clusters = clusters, folder / f"clusters-{number}"
        workers.run(partial(_round, bits=bits, before=before, clusters=clusters))
    return clusters


def _start(pipeline: beam.Pipeline, chunks: list[Ranked], bits: int, clusters: Path) -> None:
    """Connect the sources of each target."""
    spread = pipeline | beam.Create(chunks) | beam.Reshuffle()
    pairs = spread | beam.FlatMap(_send_pairs, bits).with_output_types(KeyedRows)
    sent = (
        pairs
        | "By target" >> beam.GroupByKey()
        | beam.FlatMap(_send_stars, bits).with_output_types(KeyedRows)
    )
    _receive(sent, clusters, None)


def _round(pipeline: beam.Pipeline, bits: int, before: Path, clusters: Path) -> None:
    """Do a round of hash-to-min."""
    spread = pipeline | beam.Create(range(1 << bits)) | beam.Reshuffle()
    sent = spread | beam.FlatMap(_send_clusters, bits, before).with_output_types(KeyedRows)
    _receive(sent, clusters, before)


def _receive(sent: Any, clusters: Path, before: Path | None) -> None:
    """Give rows to the partitions of their first keys, which keep them as their clusters.

    Args:
        sent: a PCollection of `KeyedRows`.
        clusters: the files to write.
        before: those of the round before, or None.
    """
    received = sent | "By receiver" >> beam.GroupByKey()
    received | beam.Map(_keep_clusters, clusters, before)


def _send_pairs(chunk: Ranked, bits: int) -> Iterator[tuple[int, bytes]]:
    return _sent(_keys(chunk[1])[:, [TARGET, SOURCE]], bits)


def _send_stars(partition: tuple[int, Iterable[bytes]], bits: int) -> Iterator[tuple[int, bytes]]:
    return _sent(stars(_joined(partition[1])), bits)


def _send_clusters(number: int, bits: int, before: Path) -> Iterator[tuple[int, bytes]]:
    return _sent(hash_to_min(_clusters(before, number)), bits)


def _keep_clusters(
    partition: tuple[int, Iterable[bytes]], clusters: Path, before: Path | None
) -> None:
    number, sent = partition
    rows = distinct(_joined(sent))
    save(_file(clusters, number), rows)
    if before is None or not np.array_equal(rows, _clusters(before, number)):
        _file(clusters, number).with_suffix(".changed").touch()


def _sent(rows: np.ndarray, bits: int) -> Iterator[tuple[int, bytes]]:
    for number, which in partitions(rows[:, 0], bits):
        yield number, rows[which].tobytes()


def _joined(sent: Iterable[bytes]) -> np.ndarray:
    return np.concatenate([np.frombuffer(rows, np.uint64) for rows in sent]).reshape(-1, 2)


def _clusters(clusters: Path, number: int) -> np.ndarray:
    path = _file(clusters, number)
    return np.load(path) if os.path.exists(path) else np.empty((0, 2), np.uint64)


def _file(clusters: Path, number: int) -> Path:
    return clusters.with_name(f"{clusters.name}-{number}.npy")
