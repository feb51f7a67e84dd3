"""Functions that Beam's workers call. Repeating a call, even in parallel, is safe."""

import os
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.preparation.beam_workers import save
from seq2seq_cli.data.preparation.chunks import Shard, chunk_pairs, copy_shard, write_pairs
from seq2seq_cli.data.prepared import PreparedPairs
from seq2seq_cli.data.reader import Reader
from seq2seq_cli.data.splits import pair_keys
from seq2seq_cli.runs import files
from seq2seq_cli.runtime.tensorflow import import_tensorflow


def write_corpus(config: DataConfig, prefix: Path, size: int) -> tuple[list[int], Counter[str]]:
    """Write the pairs of the only corpus of a config into chunks at PREFIX-NUMBER.

    Args:
        config: names the corpus.
        prefix: the beginning of the chunks' paths.
        size: number of pairs of a chunk.

    Returns:
        The number of pairs of each chunk, and the number of pairs that were left out, by reason.

    Raises:
        DataError: if it cannot be read.
    """
    reader = Reader(config)
    [corpus] = reader.corpora()
    reader.dropped.clear()  # the launcher has counted those of the corpus' dev and test pairs
    pairs: list[int] = []
    while chunk := list(islice(corpus.pairs, size)):
        write_pairs(chunk, Path(f"{prefix}-{len(pairs)}"))
        pairs.append(len(chunk))
    return pairs, reader.dropped


def write_keys(path: Path, target_first: bool) -> None:
    """Write the keys of the pairs of a chunk."""
    save(Path(f"{path}.keys.npy"), pair_keys(chunk_pairs(path), target_first))


def write_shard(path: Path, shard: Path | None, languages: tuple[str, str]) -> Shard:
    """Do the same as `chunks.write_shard`, but keep the pairs. Repeating it is safe."""
    if shard is None:
        return copy_shard(path, None, languages)
    partial = Path(f"{path}.{os.uname().nodename}.{os.getpid()}.shard")
    made = copy_shard(path, partial, languages)
    files.rename(partial, shard)
    return made


def count_tokens(
    folder: Path, shards: list[Path], languages: tuple[str, str], vocabulary: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of `token_lengths` for the pairs of some shards.

    Args:
        folder: an existing folder, which is not changed.
        shards: the files, in order.
        languages: the names of (source, target) in the records.
        vocabulary: the folder of the vocabulary.
    """
    import_tensorflow()  # only here, because the other functions start faster without it
    from seq2seq_cli.data.lengths import token_lengths
    from seq2seq_cli.data.tokenizers.pair import Tokenizers

    pairs = PreparedPairs(folder / "not kept", shards, languages)
    return token_lengths(pairs, Tokenizers.load(vocabulary))
