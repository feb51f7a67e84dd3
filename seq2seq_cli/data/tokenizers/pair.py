"""The tokenizers of both languages: trained, written into files, and read from them."""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.data.tokenizers.sentencepiece import SentencePiece, train_sentencepiece
from seq2seq_cli.data.tokenizers.tokenizer import Bytes, Tokenizer
from seq2seq_cli.data.tokenizers.words import (
    WordPiece,
    Words,
    learn_wordpieces,
    learn_words,
    read_vocabulary,
)
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.vocabularies import Vocabularies

_INDEX = "tokenizer.json"
_NAMES = {
    "unigram": "SentencePiece unigram pieces",
    "bpe": "SentencePiece BPE pieces",
    "wordpiece": "WordPieces",
    "words": "words",
    "bytes": "bytes",
}
Item = TypeVar("Item")


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizer of the source language and that of the target language, maybe the same."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether both languages share one vocabulary."""
        return self.source is self.target

    @property
    def vocabularies(self) -> Vocabularies:
        """The sizes of the vocabularies, as models take them."""
        source, target = self.source.vocabulary_size, self.target.vocabulary_size
        return Vocabularies(source, target, self.joint)

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprints by name: `joint`, or `source` and `target`."""
        return {name: tokenizer.fingerprint for name, tokenizer in self._by_name().items()}

    def __str__(self) -> str:
        """Return the size and kind of the vocabularies in words."""
        name = _NAMES[self.source.kind]
        if self.joint:
            return f"{self.source.vocabulary_size:,} {name}, shared by both languages"
        sizes = f"{self.source.vocabulary_size:,} source and {self.target.vocabulary_size:,} target"
        return f"{sizes} {name}"

    def files(self) -> dict[str, bytes]:
        """Return the contents of the files that `load` reads back, by name."""
        index = {"kind": self.source.kind, "sha256": self.fingerprints}
        files = {
            _file_name(name, tokenizer.kind): tokenizer.serialise()
            for name, tokenizer in self._by_name().items()
            if tokenizer.kind != Bytes.kind
        }
        return {**files, _INDEX: json.dumps(index, indent=2).encode()}

    @classmethod
    def load(cls, folder: Path) -> "Tokenizers":
        """Read the files of a folder.

        Raises:
            CheckpointError: naming the file that is missing or damaged.
        """
        path = folder / _INDEX
        try:
            index = json.loads(path.read_bytes())
            kind, hashes = index["kind"], index["sha256"]
            if kind not in _NAMES or list(hashes) not in (["joint"], ["source", "target"]):
                raise ValueError(f"unknown kind or names: {index}")
            found = {}
            for name, fingerprint in hashes.items():
                path = folder / _file_name(name, kind)
                found[name] = _read(path, kind)
                if found[name].fingerprint != fingerprint:
                    raise ValueError(f"not what {_INDEX} says")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{path}: missing or damaged: {error}. Put it back from a copy of the run, or "
                "train a new one"
            ) from error
        return cls(found.get("source") or found["joint"], found.get("target") or found["joint"])

    def _by_name(self) -> dict[str, Tokenizer]:
        if self.joint:
            return {"joint": self.source}
        return {"source": self.source, "target": self.target}


def train_tokenizers(
    sources: Iterable[str], targets: Iterable[str], config: TokenizerConfig
) -> Tokenizers:
    """Learn the vocabularies, or read the given models.

    The same sentences always give the same vocabularies.

    Args:
        sources: sentences of the source language, from the training side only.
        targets: sentences of the target language.
        config: the table `[tokenizer]`.

    Raises:
        DataError: if there are too few sentences.
        UsageError: if a given model cannot be read, or is of another kind.
    """
    if config.vocabularies == "joint":
        joint = _tokenizer(itertools.chain(sources, targets), config, "model")
        return Tokenizers(joint, joint)
    return Tokenizers(
        _tokenizer(sources, config, "model"), _tokenizer(targets, config, "target_model")
    )


def spread(items: Sequence[Item], at_most: int) -> list[Item]:
    """Return at most so many of the items, evenly spaced."""
    taken = min(len(items), at_most)
    return [items[i * len(items) // taken] for i in range(taken)]


def _tokenizer(sentences: Iterable[str], config: TokenizerConfig, key: str) -> Tokenizer:
    """Return the tokenizer of the model that the config names, or learn one from the sentences."""
    given = getattr(config, key)
    if given is not None:
        return _given(Path(given), f"tokenizer.{key}", config.kind)
    if config.kind == "bytes":
        return Bytes()
    if config.kind == "words":
        return Words(learn_words(sentences, config.vocabulary_size))
    if config.kind == "wordpiece":
        return WordPiece(learn_wordpieces(sentences, config.vocabulary_size))
    return SentencePiece(train_sentencepiece(sentences, config))


def _given(path: Path, key: str, kind: str) -> SentencePiece:
    try:
        tokenizer = SentencePiece(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{key}: {path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{key}: {path}: {error}") from error
    if tokenizer.kind != kind:
        raise UsageError(
            f"{key}: {path}: is a {tokenizer.kind} model, and tokenizer.kind is {kind!r}. "
            "Set tokenizer.kind to the model's; unigram and bpe can be used"
        )
    return tokenizer


def _read(path: Path, kind: str) -> Tokenizer:
    if kind == "bytes":
        return Bytes()
    if kind == "words":
        return Words(read_vocabulary(path.read_bytes()))
    if kind == "wordpiece":
        return WordPiece(read_vocabulary(path.read_bytes()))
    return SentencePiece(path.read_bytes())


def _file_name(name: str, kind: str) -> str:
    return f"{name}.model" if kind in ("unigram", "bpe") else f"{name}.json"
