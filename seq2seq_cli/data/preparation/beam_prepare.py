"""`s2s data prepare --beam`: the same as `prepare`, on the workers of Apache Beam.

Workers read, split, write and count. The launcher reads the files that are given for dev and test,
computes the fingerprint, and learns the vocabulary. The text passes from worker to worker in files.
"""

from pathlib import Path

import numpy as np

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import READING, SPLITTING, Corpus, describe, read_corpus
from seq2seq_cli.data.held_out import HeldOut
from seq2seq_cli.data.lengths import TOKENIZING
from seq2seq_cli.data.preparation import chunked
from seq2seq_cli.data.preparation.beam_calls import (
    count_tokens,
    write_corpus,
    write_keys,
    write_shard,
)
from seq2seq_cli.data.preparation.beam_splits import assign_chunks
from seq2seq_cli.data.preparation.beam_workers import BeamWorkers
from seq2seq_cli.data.preparation.builder import PairsBuilder
from seq2seq_cli.data.preparation.chunked import Chunk, ChunkedCorpus, describe_chunks
from seq2seq_cli.data.preparation.prepare import CHUNKS, keep_vocabulary, prepare_by
from seq2seq_cli.data.prepared import VOCABULARY
from seq2seq_cli.data.reader import OpenCorpus, Reader
from seq2seq_cli.work import ShowWork, show_nothing

_SHARDS_AT_ONCE = 16  # whose tokens one call counts


def prepare_with_beam(
    config: Config, path: Path, options: str = "", show: ShowWork = show_nothing
) -> Corpus:
    """Do the same as `prepare`, on the workers of Apache Beam.

    Args:
        config: its tables `[data]` and `[tokenizer]` are used.
        path: the folder to create. All workers must share the file system of its parent.
        options: flags of Beam, such as --runner, separated as in a shell.
        show: shows the stages.

    Returns:
        The corpus, read back from `path`.

    Raises:
        WorkerError: if Beam fails.
        S2SError: as `prepare` does; a UsageError if Beam does not accept `options`.
    """

    def write(partial: Path) -> Path:
        folder = (partial / CHUNKS).absolute()
        (folder / "results").mkdir()
        with BeamWorkers(options, folder / "results") as workers:
            corpus = _read(config, folder, workers, show)
            made = PairsBuilder(
                partial.absolute(), config, corpus, workers, show, write_shard
            ).write()
            _learn(made, config, workers, folder, show)
        return made

    return prepare_by(write, config, path)


def _read(config: Config, folder: Path, workers: BeamWorkers, show: ShowWork) -> ChunkedCorpus:
    """Write all pairs into chunks below `folder`, and assign each pair to a split."""
    reader = Reader(config.data)
    corpora = reader.corpora()
    show(READING)
    chunks = _write_chunks(reader, corpora, config.data, folder, workers)
    held_out = HeldOut.read(reader, corpora, config.data)
    show(SPLITTING)
    groups = assign_chunks(chunks, held_out, config.data, workers, folder)
    return describe_chunks(config, describe(corpora), reader, chunks, held_out, groups)


def _write_chunks(
    reader: Reader,
    corpora: list[OpenCorpus],
    config: DataConfig,
    folder: Path,
    workers: BeamWorkers,
) -> list[Chunk]:
    """Read the corpora at the same time, and add the pairs that are left out to the reader's."""
    for number, corpus in enumerate(config.mixture):
        one = config.model_copy(update={"corpus": None, "sources": [corpus]})
        workers.submit(write_corpus, one, folder / str(number), chunked.CHUNK_PAIRS)
    chunks: list[Chunk] = []
    for number, (pairs, dropped) in enumerate(workers.results()):
        reader.dropped.update(dropped)
        opened = corpora[number]
        kind = opened.weight, opened.tags, opened.only_trains
        chunks += [Chunk(folder / f"{number}-{i}", n, *kind) for i, n in enumerate(pairs)]
    for chunk in chunks:
        workers.submit(write_keys, chunk.path, config.target_first)
    workers.results()
    return chunks


def _learn(made: Path, config: Config, workers: BeamWorkers, folder: Path, show: ShowWork) -> None:
    """Learn the vocabulary of a data set, and count the tokens of its sentences."""
    train = read_corpus(config.data.moved_to(str(made))).train
    tokenizers = keep_vocabulary(made, train, config, show)
    show(TOKENIZING)
    shards = sorted(made.glob("*-train.array_record-*"))
    languages = config.data.source_language, config.data.target_language
    for first in range(0, len(shards), _SHARDS_AT_ONCE):
        some = shards[first : first + _SHARDS_AT_ONCE]
        workers.submit(count_tokens, folder, some, languages, made / VOCABULARY)
    counted = workers.results()
    for side, tokenizer in enumerate((tokenizers.source, tokenizers.target)):
        lengths = np.concatenate([both[side] for both in counted])
        train.keep_lengths(side, tokenizer.original.fingerprint, lengths)
