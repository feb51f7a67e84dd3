"""The common part of all export formats: files, a model card and a translator."""

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

REMEDY = "Use another --to: saved-model and bundle support every model and tokenizer"

LENGTHS = ("max_length", "max_length_ratio", "max_length_extra")
"""The keys of `[decoding]` that limit the lengths of translations."""

LIMITS = (*LENGTHS, "max_source_tokens")
"""The keys of `[decoding]` that limit the lengths of sources and translations."""

CONSTRAINTS = (
    *LIMITS,
    "min_length",
    "min_length_ratio",
    "repetition_penalty",
    "no_repeat_ngram",
)
"""The keys of `[decoding]` that constrain any search, greedy or with a beam."""

BEAM_CONSTRAINTS = ("length_penalty_kind", "coverage_penalty")
"""The keys of `[decoding]` that affect only a search with a beam."""


class Format(ABC):
    """A value of `--to`.

    Attributes:
        name: the value, and the extra of s2s that installs the package.
        suffix: the extension of the file; empty for a folder.
        package: the import name of a package that the export needs besides s2s; empty for none.
        promised: the minimum share of equal translations, from 0 to 1, for each type of weights.
            The usual type comes first.
        searches: the beams that are compared, by the name of the search.
        kept: those of CONSTRAINTS and BEAM_CONSTRAINTS that the export takes from the run.
    """

    name: ClassVar[str]
    suffix: ClassVar[str] = ""
    package: ClassVar[str] = ""
    promised: ClassVar[dict[str, float]] = {"float32": 0.995}
    searches: ClassVar[dict[str, int]] = SEARCHES
    kept: ClassVar[tuple[str, ...]] = ()

    def check_path(self, path: Path) -> None:
        """Check the name of the file or folder to create.

        Raises:
            UsageError: if the extension is wrong.
        """
        if self.suffix and path.suffix != self.suffix:
            raise UsageError(
                f"{path}: the name of a {self.name} must end in {self.suffix}. "
                f"Use {path}{self.suffix}"
            )

    def check_package(self) -> None:
        """Check that the package that the export needs is installed.

        Raises:
            UsageError: if it is not.
        """
        if self.package and find_spec(self.package) is None:
            raise UsageError(
                f"--to {self.name} needs the package {self.package.replace('_', '-')}. "
                f"Install it: pip install 's2s[{self.name}]'"
            )

    def check_model(self, loaded: LoadedRun) -> None:
        """Check that the format supports this model and its tokenizers.

        Raises:
            UsageError: if it does not.
        """
        del loaded  # by default, a format supports every model

    @abstractmethod
    def usage(self, loaded: LoadedRun, name: str, quantization: str) -> str:
        """Return instructions for using an export of this name, in Markdown."""

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
            path: the file or folder to create.
        """

    @abstractmethod
    def program(self, path: Path, loaded: LoadedRun) -> Program:
        """Return the translator of an export, for its comparison with the run."""

    def check_quantization(self, quantization: str | None) -> str:
        """Return the type of the weights. None selects the usual type.

        Raises:
            UsageError: if the format has no such weights.
        """
        usual, *others = self.promised
        if quantization is None:
            return usual
        if not others:
            raise UsageError(
                f"--quantization does not apply to --to {self.name}, whose weights are {usual}. "
                "Leave it out"
            )
        if quantization not in self.promised:
            raise UsageError(
                f"--quantization {quantization} does not apply to --to {self.name}. Use one of "
                f"{', '.join(self.promised)}"
            )
        return quantization

    def search(self, decoding: DecodingConfig, beam: int) -> DecodingConfig:
        """Return the search by which the run and the export are compared.

        It uses float32 and no length penalty.

        Args:
            decoding: the run's.
            beam: 1 for greedy decoding.
        """
        kept: dict[str, Any] = {key: getattr(decoding, key) for key in self.kept}
        return DecodingConfig(**{**kept, "beam": beam, "length_penalty": 0.0})

    def unsupported(self, decoding: DecodingConfig) -> list[str]:
        """Return the constraints of a run's search that the export does not have, with values."""
        usual = DecodingConfig()
        has_beam = max(self.searches.values()) > 1
        return [
            f"decoding.{key} = {getattr(decoding, key)}"
            for key in (*CONSTRAINTS, *(BEAM_CONSTRAINTS if has_beam else ()))
            if key not in self.kept and getattr(decoding, key) != getattr(usual, key)
        ]

    def expected(self, loaded: LoadedRun, sentences: Sequence[str]) -> dict[str, list[str]]:
        """Return the run's own translations, by the name of the search."""
        found = {}
        for name, beam in self.searches.items():
            translator = loaded.translator(self.search(loaded.decoding, beam))
            found[name] = [each.text for each in translator.translate(sentences)]
        return found


def sentencepieces(tokenizers: Tokenizers, name: str) -> tuple[SentencePiece, SentencePiece]:
    """Return the tokenizers if they are SentencePiece models, which work outside s2s.

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
        f"--to {name}: needs SentencePiece models, and tokenizer.kind is {source.kind!r}. {REMEDY}"
    )


def write_texts(folder: Path, texts: dict[str, str]) -> None:
    """Write the files that every export contains to a folder."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
