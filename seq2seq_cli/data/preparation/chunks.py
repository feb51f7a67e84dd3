"""The files of one chunk of the corpus, and the functions that a worker process calls with them.

A chunk at `path` has these files: `path`.pairs, its pairs; `path`.keys.npy, their keys
(`splits.pair_keys`); and `path`.sides.npy (int8), the split of each pair, from `splits.assign`.
"""

import pickle
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seq2seq_cli.data.splits import DEV, TEST, TRAIN, Pair, pair_keys
from seq2seq_cli.runtime.tensorflow import import_tensorflow


class Shard(NamedTuple):
    """The result of writing a shard.

    Attributes:
        dev, test: the dev and test pairs of the chunk, which are not in the file.
    """

    dev: list[Pair]
    test: list[Pair]


def write_chunk(pairs: list[Pair], path: Path, target_first: bool) -> None:
    """Write the pairs of a chunk, and their keys."""
    write_pairs(pairs, path)
    np.save(f"{path}.keys.npy", pair_keys(pairs, target_first))


def write_pairs(pairs: list[Pair], path: Path) -> None:
    """Write the pairs of a chunk."""
    Path(f"{path}.pairs").write_bytes(pickle.dumps(pairs))


def chunk_pairs(path: Path) -> list[Pair]:
    """Return the pairs of a chunk."""
    pairs: list[Pair] = pickle.loads(Path(f"{path}.pairs").read_bytes())
    return pairs


def write_shard(path: Path, shard: Path | None, languages: tuple[str, str]) -> Shard:
    """Write the train pairs of a chunk to an ArrayRecord file, and delete its pairs.

    Args:
        path: of the chunk.
        shard: the file to write, or None if the chunk has no train pair.
        languages: the names of (source, target) in the records.
    """
    made = copy_shard(path, shard, languages)
    Path(f"{path}.pairs").unlink()
    return made


def copy_shard(path: Path, shard: Path | None, languages: tuple[str, str]) -> Shard:
    """Do the same as `write_shard`, but keep the pairs, so that the call can be repeated."""
    pairs = chunk_pairs(path)
    sides = np.load(f"{path}.sides.npy")
    dev, test = ([pairs[i] for i in np.flatnonzero(sides == side)] for side in (DEV, TEST))
    if shard is not None:
        write_records(shard, [pairs[i] for i in np.flatnonzero(sides == TRAIN)], languages)
    return Shard(dev, test)


def write_records(path: Path, pairs: list[Pair], languages: tuple[str, str]) -> None:
    """Write pairs as tf.train.Example to an ArrayRecord file, which is read by index."""
    import_tensorflow()  # only here, because write_chunk does not need it
    import tensorflow as tf
    from array_record.python.array_record_module import ArrayRecordWriter

    writer = ArrayRecordWriter(str(path), "group_size:1")
    for pair in pairs:
        example = tf.train.Example()
        for language, text in zip(languages, pair, strict=True):
            example.features.feature[language].bytes_list.value.append(text.encode())
        writer.write(example.SerializeToString(deterministic=True))
    writer.close()
