"""The data set of a corpus, in the format of TensorFlow Datasets."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tensorflow_datasets as tfds

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import tag_sequences
from seq2seq_cli.data.preparation.chunked import ChunkedCorpus
from seq2seq_cli.data.preparation.chunks import Shard, write_records
from seq2seq_cli.data.prepared import TAGS, WEIGHTS
from seq2seq_cli.work import ShowWork

WriteShard = Callable[[Path, Path | None, tuple[str, str]], Shard]
"""`chunks.write_shard`, or another function that does the same."""


class Pool(Protocol):
    """Runs functions elsewhere, and keeps their results in order; see `Processes`."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call, or note it for `results`."""

    def results(self) -> list[Any]:
        """Wait for all calls, and return their results in the order of submission."""


class PairsBuilder(  # type: ignore[call-arg]  # tfds is untyped, so mypy knows no class arguments
    tfds.core.dataset_builder.FileReaderBuilder, skip_registration=True
):
    """Writes a corpus in its order, one shard for each chunk that has train pairs.

    Args:
        folder: the parent of the data set's folder.
        config: of the corpus.
        corpus: the corpus in chunks.
        pool: the processes that write.
        show: shows the number of pairs that are written or being written.
        write_shard: writes the shard of a chunk.
    """

    name = "pairs"
    VERSION = tfds.core.Version("1.0.0")

    def __init__(
        self,
        folder: Path,
        config: Config,
        corpus: ChunkedCorpus,
        pool: Pool,
        show: ShowWork,
        write_shard: WriteShard,
    ):
        self._languages = config.data.source_language, config.data.target_language
        self._corpus = corpus
        self._pool = pool
        self._show = show
        self._write_shard = write_shard
        super().__init__(data_dir=str(folder), file_format="array_record")

    def write(self) -> Path:
        """Write the data set, and return its folder."""
        with contextlib.redirect_stdout(io.StringIO()):  # TensorFlow Datasets prints to it
            self.download_and_prepare()
        return Path(self.data_dir)

    def _info(self) -> Any:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Sentence pairs, split without leaks.",
            features=tfds.features.Translation(languages=self._languages),
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(self._corpus.metadata),
        )

    def _download_and_prepare(self, dl_manager: Any, download_config: Any) -> None:
        """Write shards, weights and tags, and describe the shards in the data set's info."""
        counts = self._corpus.train_counts
        self._describe(self._write_shards())
        weights = np.array([chunk.weight for chunk in self._corpus.chunks], np.float32)
        if (weights != 1).any():
            np.save(self.data_path / WEIGHTS, np.repeat(weights, counts))
        sequences, numbers = tag_sequences([chunk.tags for chunk in self._corpus.chunks])
        if len(sequences) > 1:
            np.save(self.data_path / TAGS, np.repeat(numbers, counts))
            self.info.metadata["tags"] = sequences

    def _write_shards(self) -> dict[str, list[int]]:
        """Write all shards; return the number of pairs of each, by split."""
        chunks, counts, held_out, _ = self._corpus
        total = sum(count > 0 for count in counts)
        total_pairs = sum(chunk.pairs for chunk in chunks)
        number = done = 0
        for chunk, count in zip(chunks, counts, strict=True):
            shard = self._shard("train", number, total) if count else None
            self._pool.submit(self._write_shard, chunk.path, shard, self._languages)
            number += count > 0
            done += chunk.pairs
            self._show("Writing", "pairs", done, total_pairs)
        shards = self._pool.results()
        lengths = {"train": [count for count in counts if count]}
        for name in ("dev", "test"):
            given = getattr(held_out, name)
            pairs = given or [pair for shard in shards for pair in getattr(shard, name)]
            write_records(self._shard(name, 0, 1), pairs, self._languages)
            lengths[name] = [len(pairs)]
        return lengths

    def _describe(self, lengths: dict[str, list[int]]) -> None:
        """Add the sizes of the shards to the data set's info."""
        self.info.metadata["shard_bytes"] = {
            file.name: file.stat().st_size for file in Path(self.data_path).glob("*.array_record-*")
        }
        splits = []
        for name, shard_lengths in lengths.items():
            count = len(shard_lengths)
            sizes = [self._shard(name, i, count).stat().st_size for i in range(count)]
            template = self._get_filename_template(name)
            splits.append(
                tfds.core.splits.SplitInfo(
                    name=name,
                    shard_lengths=shard_lengths,
                    num_bytes=sum(sizes),
                    filename_template=template,
                )
            )
        self.info.set_splits(tfds.core.splits.SplitDict(splits))

    def _shard(self, split: str, number: int, total: int) -> Path:
        template = self._get_filename_template(split)
        return Path(template.sharded_filepath(shard_index=number, num_shards=total))
