"""A corpus that `s2s data prepare` wrote: a data set of TensorFlow Datasets, read by index.

Its folder has the data set's files, the vocabulary in tokenizer/, and for each vocabulary that has
been used the number of tokens of each sentence in tokens-LANGUAGE-FINGERPRINT.npy.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq_cli.config.data import CORPORA, DataConfig, TokenizerConfig, is_address
from seq2seq_cli.data.files import is_file
from seq2seq_cli.data.pairs import Tags
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.runs.disk import publish

METADATA = "metadata.json"
WEIGHTS = "weights.npy"
TAGS = "tags.npy"
VOCABULARY = "tokenizer"
_SPLITS = ("dev", "test", "dev_pairs", "test_pairs", "split_seed")
_FIXED = (*_SPLITS, "skip_bad_lines")
_READ_AT_ONCE = 4096


class Prepared:
    """The folder of a prepared corpus.

    Args:
        path: the folder.
        config: names the source language. Keys of the splits must be the same as in the
            preparation, or have their defaults.

    Attributes:
        metadata: description, fingerprint, dropped, groups, shared, the tables `data` and
            `tokenizer` of the preparation's config, and the sequences of tags, if there are any.
        fingerprint: of the corpus in the direction and with the splits that are read.
        train: the pairs to learn from.
        dev, test: the held-out pairs.

    Raises:
        DataError: if it is damaged.
        UsageError: if it was prepared with other settings than `config`.
    """

    def __init__(self, path: Path, config: DataConfig):
        import tensorflow_datasets as tfds
        from google.protobuf.json_format import ParseError

        self._path = path
        self._languages = config.source_language, config.target_language
        try:
            self.metadata: dict[str, Any] = json.loads((path / METADATA).read_text("utf-8"))
            builder = tfds.builder_from_directory(path)
            shards = {
                name: [Path(file) for file in split.filepaths]
                for name, split in builder.info.splits.items()
            }
            sizes = self.metadata["shard_bytes"]
            weights = np.load(path / WEIGHTS) if os.path.isfile(path / WEIGHTS) else None
            tags = None
            if sequences := self.metadata.get("tags"):
                tags = Tags([*map(tuple, sequences)], np.load(path / TAGS))
        except (OSError, EOFError, ValueError, KeyError, TypeError, ParseError) as error:
            raise DataError(f"{path}: is damaged ({error}). Prepare it again") from error
        _check_sizes(path, shards, sizes)
        self._check(config)
        self.fingerprint = self._fingerprint(config)
        self.train = PreparedPairs(path, shards["train"], self._languages, weights, tags)
        self.dev, self.test = (
            list(PreparedPairs(path, shards[name], self._languages)) for name in ("dev", "test")
        )

    def vocabulary(self, config: TokenizerConfig) -> Path | None:
        """Return the folder of the vocabulary if it was learned with `config`, else None."""
        prepared = self.metadata["data"]
        turned = self._languages[0] != prepared["source_language"]
        if turned and config.vocabularies == "separate":
            return None
        training_only = {"sampling_alpha"}
        learned = TokenizerConfig(**self.metadata["tokenizer"]).model_dump(exclude=training_only)
        same = learned == config.model_dump(exclude=training_only)
        return self._path / VOCABULARY if same else None

    def _fingerprint(self, config: DataConfig) -> str:
        """Return the fingerprint; other splits than those that `config` describes change it.

        So a run that was trained on this folder does not accept the same pairs in other splits.
        """
        prepared = self.metadata["data"]
        fingerprint: str = self.metadata["fingerprint"]
        if self._languages[0] != prepared["source_language"]:
            # Folders of earlier versions have only one.
            fingerprint = self.metadata.get("turned_fingerprint", fingerprint)
        splits = {key: prepared[key] for key in _SPLITS if key in prepared}
        if all(getattr(config, key) == value for key, value in splits.items()):
            return fingerprint
        return hashlib.sha256(json.dumps([fingerprint, splits]).encode()).hexdigest()

    def _check(self, config: DataConfig) -> None:
        prepared = self.metadata["data"]
        languages = [prepared["source_language"], prepared["target_language"]]
        if sorted(languages) != sorted(self._languages):
            raise UsageError(
                f"{self._path}: its languages are {' and '.join(languages)}, but "
                "data.source_language and data.target_language are "
                f"{' and '.join(self._languages)}. Give --source {languages[0]} --target "
                f"{languages[1]}"
            )
        usual = DataConfig()
        for key in _FIXED:
            wanted = getattr(config, key)
            if wanted not in (getattr(usual, key), prepared.get(key)):
                raise UsageError(
                    f"{self._path}: was prepared with data.{key} = {prepared.get(key)!r}, but the "
                    f"config has {wanted!r}. Prepare it again, or leave out data.{key}"
                )


def is_prepared(corpus: str | None) -> bool:
    """Return whether a corpus is a prepared one: its folder, or the address of its folder.

    A name of a corpus never means a folder.

    Raises:
        DataError: see `is_file`.
    """
    if corpus is None or corpus in CORPORA:
        return False
    if is_address(corpus):
        return True
    return not is_file(Path(corpus)) and is_file(Path(corpus) / METADATA)


def _check_sizes(path: Path, shards: dict[str, list[Path]], sizes: dict[str, int]) -> None:
    """Raise a DataError if a shard is missing or truncated, without reading it."""
    for files in shards.values():
        for file in files:
            found = file.stat().st_size if os.path.isfile(file) else None
            if found != sizes.get(file.name):
                state = "is missing" if found is None else f"has {found:,} bytes"
                raise DataError(
                    f"{file}: {state}, where {sizes.get(file.name, 0):,} bytes were written. "
                    f"{path} is damaged; prepare it again"
                )


class PreparedPairs:
    """Pairs in ArrayRecord files.

    Args:
        path: the folder of the prepared corpus.
        shards: the files, in order.
        languages: (source, target), the names of the sides in the records.
        weights: float32 of shape [pairs], or None.
        tags: of the pairs, or None.
    """

    def __init__(
        self,
        path: Path,
        shards: Sequence[Path],
        languages: tuple[str, str],
        weights: np.ndarray | None = None,
        tags: Tags | None = None,
    ):
        from array_record.python.array_record_data_source import ArrayRecordDataSource

        self.weights = weights
        self.tags = tags
        self._path = path
        self._languages = languages
        self._records = ArrayRecordDataSource([str(shard) for shard in shards])
        for name, column in ((WEIGHTS, weights), (TAGS, tags and tags.numbers)):
            if column is not None and len(column) != len(self):
                raise DataError(
                    f"{path / name}: has {len(column):,} values for {len(self):,} pairs. Prepare "
                    "the corpus again"
                )

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Pair]:
        for start in range(0, len(self), _READ_AT_ONCE):
            yield from zip(
                *self.take(range(start, min(start + _READ_AT_ONCE, len(self)))), strict=True
            )

    def take(self, indices: Sequence[int] | np.ndarray) -> tuple[list[str], list[str]]:
        """Return the source and the target sentences at `indices`."""
        from tensorflow.train import Example

        sources, targets = [], []
        for record in self._records.__getitems__([int(i) for i in indices]):
            feature = Example.FromString(record).features.feature
            sources.append(feature[self._languages[0]].bytes_list.value[0].decode())
            targets.append(feature[self._languages[1]].bytes_list.value[0].decode())
        return sources, targets

    def known_lengths(self, side: int, fingerprint: str) -> np.ndarray | None:
        """Return the number of tokens of each sentence of a side (uint16), if they were stored."""
        try:
            lengths: np.ndarray = np.load(self._lengths_path(side, fingerprint))
        except (OSError, EOFError, ValueError):
            return None
        return lengths if len(lengths) == len(self) else None

    def keep_lengths(self, side: int, fingerprint: str, lengths: np.ndarray) -> None:
        """Store the number of tokens of each sentence of a side, if the folder is writable."""
        path = self._lengths_path(side, fingerprint)
        partial = path.with_suffix(f".{os.getpid()}.partial.npy")
        try:
            np.save(partial, lengths)
            publish(partial, path)
        except OSError:
            partial.unlink(missing_ok=True)

    def _lengths_path(self, side: int, fingerprint: str) -> Path:
        return self._path / f"tokens-{self._languages[side]}-{fingerprint[:16]}.npy"
