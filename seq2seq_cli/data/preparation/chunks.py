"""The work of a worker process on one chunk of the corpus."""

import pickle
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seq2seq_cli.data.splits import DEV, TEST, TRAIN, Pair, pair_keys
from seq2seq_cli.runtime.tensorflow import import_tensorflow


class Shard(NamedTuple):
    """The size of a chunk's shard, and the chunk's dev and test pairs, which are not in it."""

    bytes: int
    dev: list[Pair]
    test: list[Pair]


def keep_chunk(pairs: list[Pair], path: Path, target_first: bool) -> None:
    """Write pairs to `path`.pairs, and their keys (`splits.pair_keys`) to `path`.keys.npy."""
    Path(f"{path}.pairs").write_bytes(pickle.dumps(pairs))
    np.save(f"{path}.keys.npy", pair_keys(pairs, target_first))


def write_shard(
    path: Path, sides: np.ndarray, shard: Path | None, languages: tuple[str, str]
) -> Shard:
    """Write the train pairs of a chunk to an ArrayRecord file, and delete the chunk.

    Args:
        path: as for `keep_chunk`.
        sides: int8, the split of each of its pairs, from `splits.assign`.
        shard: the file to write, or None if the chunk has no train pair.
        languages: the names of (source, target) in the records.
    """
    chunk = Path(f"{path}.pairs")
    pairs: list[Pair] = pickle.loads(chunk.read_bytes())
    dev, test = ([pairs[i] for i in np.flatnonzero(sides == side)] for side in (DEV, TEST))
    if shard is not None:
        write_records(shard, [pairs[i] for i in np.flatnonzero(sides == TRAIN)], languages)
    chunk.unlink()
    return Shard(shard.stat().st_size if shard else 0, dev, test)


def write_records(path: Path, pairs: list[Pair], languages: tuple[str, str]) -> None:
    """Write pairs as tf.train.Example to an ArrayRecord file, which is read by index."""
    import_tensorflow()  # only here, because keep_chunk does not need it
    import tensorflow as tf
    from array_record.python.array_record_module import ArrayRecordWriter

    writer = ArrayRecordWriter(str(path), "group_size:1")
    for pair in pairs:
        example = tf.train.Example()
        for language, text in zip(languages, pair, strict=True):
            example.features.feature[language].bytes_list.value.append(text.encode())
        writer.write(example.SerializeToString())
    writer.close()
