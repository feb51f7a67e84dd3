"""A trained run, or several as an ensemble, as an object with methods."""

import warnings
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from seq2seq_cli.attention.maps import Attention
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.python.options import options_as_keywords, with_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from seq2seq_cli.attention.reader import AttentionReader
    from seq2seq_cli.decoding.loading import LoadedRun
    from seq2seq_cli.decoding.scoring import Scorer
    from seq2seq_cli.decoding.translator import Translation, Translator
    from seq2seq_cli.python.options import Options

_KEPT_TRANSLATORS = 8  # each may have its own graph
_NAMED = 40  # characters of a text in a warning


class ScoredTranslation(NamedTuple):
    """A translation, and its log-probability in nats after the penalties of `[decoding]`.

    The score of a blank sentence is NaN.
    """

    text: str
    score: float


class _Search(NamedTuple):
    """The key of a translator."""

    decoding: DecodingConfig
    prefix: str = ""
    replace_unknown: bool = False
    to: str | None = None


class Model:
    """A trained run, or several as an ensemble. `load` returns it."""

    def __init__(self, loaded: "LoadedRun"):
        self._loaded = loaded
        self._searched: Counter[_Search] = Counter()  # sentences
        self._translator = lru_cache(_KEPT_TRANSLATORS)(self._new_translator)
        self._scored = 0  # pairs
        self._scorer = lru_cache(self._new_scorer)
        self._reverse = lru_cache(1)(self._load_reverse)

    def __repr__(self) -> str:
        return f"<Model {self._loaded.name}, {self._loaded.checkpoint}>"

    @property
    def runs(self) -> tuple[Path, ...]:
        """The folders of the runs."""
        return self._loaded.paths

    @property
    def decoding(self) -> DecodingConfig:
        """The options of the run's config, which are the defaults of `translate`."""
        return self._loaded.decoding

    @overload
    def translate(  # type: ignore[overload-overlap]  # a string is an Iterable[str], too
        self,
        sentences: str,
        *,
        n_best: None = None,
        with_scores: Literal[False] = False,
        prefix: str = "",
        replace_unknown: bool = False,
        to: str | None = None,
        **options: "Unpack[Options]",
    ) -> str: ...

    @overload
    def translate(
        self,
        sentences: Iterable[str],
        *,
        n_best: None = None,
        with_scores: Literal[False] = False,
        prefix: str = "",
        replace_unknown: bool = False,
        to: str | None = None,
        **options: "Unpack[Options]",
    ) -> list[str]: ...

    @overload
    def translate(
        self,
        sentences: str | Iterable[str],
        *,
        n_best: int | None = None,
        with_scores: bool = False,
        prefix: str = "",
        replace_unknown: bool = False,
        to: str | None = None,
        **options: "Unpack[Options]",
    ) -> Any: ...

    def translate(
        self,
        sentences: str | Iterable[str],
        *,
        n_best: int | None = None,
        with_scores: bool = False,
        prefix: str = "",
        replace_unknown: bool = False,
        to: str | None = None,
        **options: Any,
    ) -> Any:
        """Translate a sentence, or several.

            >>> model.translate("I like apples.", beam=5)
            'Me gustan las manzanas.'
            >>> model.translate(["Good night.", "Thank you."])
            ['Buenas noches.', 'Gracias.']
            >>> model.translate("Good night.", beam=5, n_best=2, with_scores=True)
            [ScoredTranslation(text='Buenas noches.', score=-0.4), ...]

        After a few sentences, the search is compiled. This takes a second or more, and makes it
        faster.

        Args:
            sentences: a string, or any number of them.
            n_best: number of translations per sentence: at most `beam`, or any number of samples.
            with_scores: whether to return a ScoredTranslation instead of each string.
            prefix: the beginning of each translation.
            replace_unknown: whether to copy unknown words from the source, by attention.
            to: the language to translate into, of a run with several; None for its default.
            options: the other keys of `[decoding]`, such as `beam`, `length_penalty`, `sample`,
                `temperature`, `top_k`, `top_p`, `seed` and `max_length`.

        Returns:
            A translation for a string, and a list of translations for any other iterable. With
            `n_best`, each translation is replaced by a list of at most `n_best` translations, the
            best first. The translation of a blank sentence is empty, and its score NaN.

        Raises:
            UsageError: if an option has a wrong value, or contradicts another.
            TypeError: if a sentence is not a string, or there is no such option; the error names
                the nearest.
        """
        texts = _strings(sentences, "sentences")
        if n_best is not None:
            options["n_best"] = n_best
        with options_as_keywords():
            decoding = with_options(self.decoding, f"{self.runs[0]}/config.toml", options)
            found = self._translations(_Search(decoding, prefix, replace_unknown, to), texts)
        results: list[Any] = [
            [
                ScoredTranslation(each.text, each.score) if with_scores else each.text
                for each in (best, *best.others)
            ]
            for best in found
        ]
        if n_best is None:
            results = [best for best, *_ in results]
        return results[0] if isinstance(sentences, str) else results

    @overload
    def score(  # type: ignore[overload-overlap]  # see translate
        self, source: str, translation: str, *, to: str | None = None
    ) -> float: ...

    @overload
    def score(
        self, source: Iterable[str], translation: Iterable[str], *, to: str | None = None
    ) -> list[float]: ...

    def score(
        self,
        source: str | Iterable[str],
        translation: str | Iterable[str],
        *,
        to: str | None = None,
    ) -> float | list[float]:
        """Return the log-probability of a given translation, in nats, or of several.

            >>> model.score("I like apples.", "Me gustan las manzanas.")
            -0.52

        Args:
            source: a sentence, or several.
            translation: its translation, or that of each.
            to: the language of the translation, as in `translate`.

        Returns:
            A number for two strings, otherwise a list of numbers; NaN if both texts are blank.

        Raises:
            TypeError: if one is a string and the other is not, or a text is not a string.
            ValueError: if there are not as many translations as sources.
        """
        if isinstance(source, str) != isinstance(translation, str):
            raise TypeError("source and translation must be two strings, or two lists of them")
        sources, translations = _strings(source, "source"), _strings(translation, "translation")
        if len(sources) != len(translations):
            raise ValueError(
                f"there are {len(sources)} sources and {len(translations)} translations"
            )
        from seq2seq_cli.decoding.translator import COMPILED_FROM

        self._scored += len(sources)
        with options_as_keywords():
            scorer = self._scorer(self._scored >= COMPILED_FROM, to)
        found = scorer.score([*zip(sources, translations, strict=True)])
        texts = {"source": sources, "translation": translations}
        for number, each in enumerate(found):
            for side in each.cut:
                _warn_of_cut(f"{side} {number}", texts[side][number], self.decoding)
        scores = [
            float("nan") if each.log_probability is None else each.log_probability for each in found
        ]
        return scores[0] if isinstance(source, str) else scores

    def attention(
        self, sentence: str, translation: str | None = None, *, to: str | None = None
    ) -> Attention:
        """Return the model's attention while it reads a sentence and a translation.

            >>> found = model.attention("I like apples.")
            >>> found.weights.shape == (len(found.target_tokens), len(found.source_tokens))
            True
            >>> found.word_weights.shape == (len(found.target_words), len(found.source_words))
            True

        A notebook displays the result as a heat map.

        Args:
            sentence: the source.
            translation: a given translation, which the model reads token by token; None for the
                model's own.
            to: the language to translate into, as in `translate`.

        Raises:
            TypeError: if a text is not a string.
            UsageError: if the sentence is blank, or the members of an ensemble have different
                source vocabularies.
        """
        _strings([sentence, translation or ""], "sentence and translation")
        if not sentence.strip():
            raise UsageError("a blank sentence has no tokens to attend to")
        with options_as_keywords():
            reader = self._reader(to, translates=translation is None)
            (found,) = reader.read([(sentence, translation)])
        assert found is not None
        for side in found.cut:
            name, text = ("sentence", sentence) if side == "source" else (side, translation or "")
            _warn_of_cut(name, text, self.decoding)
        return found

    def _reader(self, to: str | None, translates: bool) -> "AttentionReader":
        from seq2seq_cli.attention.reader import AttentionReader

        loaded = self._loaded.towards(to)
        reverse = self._reverse_of(self.decoding, loaded) if translates else None
        return AttentionReader(loaded, reverse=reverse)

    def _new_scorer(self, compiled: bool, to: str | None) -> "Scorer":
        return self._loaded.towards(to).scorer(compiled)

    def _translations(self, search: _Search, texts: list[str]) -> "list[Translation]":
        from seq2seq_cli.decoding.translator import COMPILED_FROM

        self._searched[search] += len(texts)
        compiled = self._searched[search] >= COMPILED_FROM
        found = self._translator(search, compiled).translate(texts)
        for number, translation in enumerate(found):
            if translation.cut:
                _warn_of_cut(f"sentence {number}", texts[number], search.decoding)
        return found

    def _reverse_of(self, decoding: DecodingConfig, loaded: "LoadedRun") -> "LoadedRun | None":
        return self._reverse(decoding.rerank, loaded.languages) if decoding.rerank else None

    def _load_reverse(self, name: str, languages: tuple[str, str]) -> "LoadedRun":
        from seq2seq_cli.decoding.loading import load_reverse

        return load_reverse(name, languages, warn)

    def _new_translator(self, search: _Search, compiled: bool) -> "Translator":
        loaded = self._loaded.towards(search.to)
        return loaded.translator(
            search.decoding,
            reverse=self._reverse_of(search.decoding, loaded),
            prefix=search.prefix,
            replace_unknown=search.replace_unknown,
            compiled=compiled,
        )


def _strings(texts: str | Iterable[str], name: str) -> list[str]:
    """Return a list of texts.

    Raises:
        TypeError: if one is not a string.
    """
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, bytes):
        raise TypeError(f"{name}: bytes are not text; decode them, such as by .decode('utf-8')")
    found = list(texts)
    for number, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(f"{name}: all items must be strings; number {number} is {text!r}")
    return found


def _warn_of_cut(name: str, text: str, decoding: DecodingConfig) -> None:
    """Warn of a text that was cut. Python shows equal warnings once, so it names the text."""
    limit, begin = decoding.max_source_tokens, text.strip()[:_NAMED]
    warn(f"{name} was cut to {limit} tokens (decoding.max_source_tokens): {begin!r}…")


def warn(text: str) -> None:
    """Issue a Python warning."""
    warnings.warn(text, stacklevel=2)
