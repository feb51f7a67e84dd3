"""The tokenizers of both languages: trained, written to files, and read from them."""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from seq2seq_cli.special_tokens import TO
from seq2seq_cli.vocabularies import Vocabularies

_INDEX = "tokenizer.json"
_NAMES = {
    "unigram": "SentencePiece unigram pieces",
    "bpe": "SentencePiece BPE pieces",
    "wordpiece": "WordPieces",
    "words": "words",
    "bytes": "bytes",
}


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of the source and the target language, which may be the same."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether both languages share one vocabulary."""
        return self.source.original is self.target.original

    @property
    def vocabularies(self) -> Vocabularies:
        """The sizes of the vocabularies, as models take them."""
        source, target = self.source.vocabulary_size, self.target.vocabulary_size
        return Vocabularies(source, target, self.joint, len(self.source.tags))

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprints by name: `joint`, or `source` and `target`."""
        return {name: tokenizer.fingerprint for name, tokenizer in self._by_name().items()}

    def __str__(self) -> str:
        """Return the size and kind of the vocabularies as text."""
        name, tags = _NAMES[self.source.kind], ""
        if self.source.tags:
            tags = f"; tags {' '.join(f'<{tag}>' for tag in self.source.tags)}"
        if self.joint:
            return f"{self.source.text_size:,} {name}, shared by both languages{tags}"
        sizes = f"{self.source.text_size:,} source and {self.target.text_size:,} target"
        return f"{sizes} {name}{tags}"

    def with_tags(self, tags: Sequence[str]) -> "Tokenizers":
        """Return tokenizers of the same texts; that of the source has these tags.

        That of the target also has them, if it is the same.
        """
        source = self.source.with_tags(tags)
        return Tokenizers(source, source if self.joint else self.target)

    def towards(self, language: str) -> "Tokenizers":
        """Return tokenizers whose source sentences begin with the tag of a target language.

        Without tags of languages, the tokenizers themselves are returned.

        Raises:
            UsageError: if only other languages have tags.
        """
        if not self.source.languages:
            return self
        if language not in self.source.languages:
            raise UsageError(
                f"there is no tag <{TO}{language}> in the vocabulary, which has tags of "
                f"{' and '.join(self.source.languages)}. Give one of these languages"
            )
        return Tokenizers(self.source.beginning_with([TO + language]), self.target)

    def files(self) -> dict[str, bytes]:
        """Return the contents of the files that `load` reads back, by name."""
        index: dict[str, Any] = {"kind": self.source.kind, "sha256": self.fingerprints}
        if self.source.tags:
            index["tags"] = self.source.tags
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
            CheckpointError: naming the missing or damaged file.
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
                found[name] = _read(path, kind).with_tags(_tags_of(index, name))
                if found[name].fingerprint != fingerprint:
                    raise ValueError(f"not what {_INDEX} says")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{path}: missing or damaged: {error}. Restore it from a copy of the run, or "
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


def _tags_of(index: dict[str, Any], name: str) -> list[str]:
    """Return the tags of a tokenizer from the index of its folder; only sources have tags."""
    tags = [] if name == "target" else index.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError(f"tags: {tags!r}")
    return tags


def _file_name(name: str, kind: str) -> str:
    return f"{name}.model" if kind in ("unigram", "bpe") else f"{name}.json"
