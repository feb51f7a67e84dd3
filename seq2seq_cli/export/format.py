"""What every format of an export has: files, a model card and a program that translates."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.tokenizers.sentencepiece import SentencePiece
from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.errors import UsageError
from seq2seq_cli.export.program import SEARCHES, Program
from seq2seq_cli.runs.run import Run

REMEDY = "Take another --to: saved-model and bundle take every model and tokenizer"

LIMITS = ("max_length", "max_length_ratio", "max_length_extra", "max_source_tokens")
"""The keys of `[decoding]` that limit the lengths of sources and translations."""


class Format(ABC):
    """A value of `--to`.

    Attributes:
        name: the value, and the extra of s2s that brings the package.
        suffix: what the name of the file ends in; empty for a folder.
        package: what the export needs besides s2s, as it is imported; empty for nothing.
        promised: the smallest share of equal translations that is accepted, from 0 to 1, by the
            type of the weights; the usual type first.
        searches: the beams that are compared, by the name of the search.
        kept: the keys of `[decoding]` that the export has from the run. The others have their
            defaults, where it knows them.
    """

    name: ClassVar[str]
    suffix: ClassVar[str] = ""
    package: ClassVar[str] = ""
    promised: ClassVar[dict[str, float]] = {"float32": 0.995}
    searches: ClassVar[dict[str, int]] = SEARCHES
    kept: ClassVar[tuple[str, ...]] = ()

    def check_path(self, path: Path) -> None:
        """Check the name of the file or folder to make.

        Raises:
            UsageError: if it has to be another one.
        """
        if path.suffix != (self.suffix or path.suffix):
            raise UsageError(
                f"{path}: the name of a {self.name} ends in {self.suffix}. Give {path}{self.suffix}"
            )

    def check_package(self) -> None:
        """Check that the package is installed that the export needs.

        Raises:
            UsageError: if it is not.
        """
        if self.package and find_spec(self.package) is None:
            raise UsageError(
                f"--to {self.name} needs the package {self.package.replace('_', '-')}. "
                f"Install it: pip install 's2s[{self.name}]'"
            )

    def check_model(self, loaded: LoadedRun) -> None:
        """Check that the format has a place for this model and its tokenizers.

        Raises:
            UsageError: if it does not.
        """
        del loaded  # every model can be exported so

    @abstractmethod
    def usage(self, loaded: LoadedRun, name: str, quantization: str) -> str:
        """Return how to use an export of this name, in Markdown."""

    @abstractmethod
    def write(
        self, loaded: LoadedRun, run: Run, texts: dict[str, str], quantization: str, path: Path
    ) -> None:
        """Write an export.

        Args:
            loaded: the run's model.
            run: the run.
            texts: contents of the files that every export has, by name.
            quantization: a key of `promised`.
            path: the file or folder to make.
        """

    @abstractmethod
    def program(self, path: Path, loaded: LoadedRun) -> Program:
        """Return the translator of an export, for its comparison with the run."""

    def check_quantization(self, quantization: str | None) -> str:
        """Return the type of the weights; None is the usual one.

        Raises:
            UsageError: if the format has no such weights.
        """
        usual, *others = self.promised
        if quantization is None:
            return usual
        if not others:
            raise UsageError(
                f"--quantization is not for --to {self.name}, whose weights are {usual}. "
                "Leave it out"
            )
        if quantization not in self.promised:
            raise UsageError(
                f"--quantization {quantization} is not for --to {self.name}. Take one of "
                f"{', '.join(self.promised)}"
            )
        return quantization

    def search(self, decoding: DecodingConfig, beam: int) -> DecodingConfig:
        """Return how run and export search where they are compared.

        It is in float32 and without a length penalty.

        Args:
            decoding: the run's.
            beam: 1 for greedy decoding.
        """
        kept: dict[str, Any] = {key: getattr(decoding, key) for key in self.kept}
        return DecodingConfig(**{**kept, "beam": beam, "length_penalty": 0.0})

    def expected(self, loaded: LoadedRun, sentences: Sequence[str]) -> dict[str, list[str]]:
        """Return the run's own translations by the name of the search."""
        found = {}
        for name, beam in self.searches.items():
            translator = loaded.translator(self.search(loaded.decoding, beam))
            found[name] = [each.text for each in translator.translate(sentences)]
        return found


def sentencepieces(tokenizers: Tokenizers, name: str) -> tuple[SentencePiece, SentencePiece]:
    """Return the tokenizers if they are models of SentencePiece, which work outside of s2s.

    Args:
        tokenizers: the run's.
        name: the format's.

    Raises:
        UsageError: if they are not.
    """
    source, target = tokenizers.source, tokenizers.target
    if isinstance(source, SentencePiece) and isinstance(target, SentencePiece):
        return source, target
    raise UsageError(
        f"--to {name}: translates pieces of SentencePiece, and tokenizer.kind is {source.kind!r}. "
        f"{REMEDY}"
    )


def write_texts(folder: Path, texts: dict[str, str]) -> None:
    """Write the files that every export has into a folder."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
