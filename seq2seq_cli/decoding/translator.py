"""Translates strings: tokenizes, searches and detokenizes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import RawIOBase

import numpy as np

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizer, Tokenizers
from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.decoding.alignment import Alignment, align, copy_unknown
from seq2seq_cli.decoding.encoding import (
    EncodedSentence,
    batches,
    encode_sentences,
    length_limits,
    memory_errors,
    padded_batch,
    token_ids,
)
from seq2seq_cli.decoding.lines import in_windows
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.special_tokens import EOS, PAD, UNK

COMPILED_FROM = 9
"""Number of sentences from which the search is compiled, which takes a second or more."""


@dataclass(frozen=True)
class Translation:
    """One translated sentence.

    Attributes:
        text: the translation, on one line; empty for an empty source.
        score: the log-probability in nats, EOS included, after the penalties of `[decoding]`; with
            re-ranking, the score of `Reranker`. It ranks the translation, except in minimum Bayes
            risk decoding. NaN for an empty source.
        log_probability: the same before the penalties.
        reverse_log_probability: that of the source given the translation, in nats, which is part
            of `score`; None without re-ranking.
        ids: its tokens, EOS included unless it was cut at the maximum length.
        cut: whether the source was longer than `decoding.max_source_tokens` and was cut.
        alignment: of its words to those of the source, if the translator gives alignments.
        others: the next best translations, at most `decoding.n_best` - 1. They have no others.
            Without `mbr` and `rerank`, a text may occur several times, in other segmentations.
    """

    text: str
    score: float = math.nan
    log_probability: float = math.nan
    reverse_log_probability: float | None = None
    ids: tuple[int, ...] = ()
    cut: bool = False
    alignment: Alignment | None = None
    others: tuple["Translation", ...] = ()

    @property
    def tokens(self) -> int:
        """The number of tokens, EOS included."""
        return len(self.ids)

    @property
    def is_complete(self) -> bool:
        """Whether the search ended it by EOS, instead of stopping it at the maximum length."""
        return not self.ids or self.ids[-1] == EOS


# (sources, hypotheses of each) -> the best hypotheses of each, the best first
Rerank = Callable[
    [Sequence[str], Sequence[Sequence[Translation]], int | None], list[list[Translation]]
]


class Translator:
    """Translates with a model at its current weights.

    Args:
        model: any Seq2Seq.
        tokenizers: of both languages.
        config: the options of the search, batch sizes and maximum lengths.
        alignments: whether translations have them.
        replace_unknown: whether to replace an unknown word by the source word with the highest
            attention.
        compiled: whether to search in a graph; see `Search`.
        member_tokenizers: the source tokenizer of each member of an ensemble, if they differ.
        prefix: a text that each translation begins with.
        search: made for the same model and config; None for a new one.
        rerank: ranks the hypotheses of `decoding.rerank`; None for no such ranking.

    Raises:
        UsageError: if the beam is wider than the vocabulary, the prefix too long, or the options
            need attention or words that the model does not have.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: Tokenizers,
        config: DecodingConfig,
        alignments: bool = False,
        replace_unknown: bool = False,
        compiled: bool = True,
        member_tokenizers: Sequence[Tokenizer] = (),
        prefix: str = "",
        search: Search | None = None,
        rerank: Rerank | None = None,
    ):
        assert bool(config.rerank) == (rerank is not None)
        _check_beam(config.beam, tokenizers.target.vocabulary_size)
        if replace_unknown and not isinstance(tokenizers.target, Words):
            raise UsageError(
                "--replace-unknown copies whole words, but this run's tokenizer.kind is "
                f"{tokenizers.target.kind!r}, not 'words'. Leave it out"
            )
        needs_attention = alignments or replace_unknown or config.coverage_penalty
        if len(member_tokenizers) > 1 and needs_attention:
            raise UsageError(
                "--alignments, --replace-unknown and decoding.coverage_penalty need attention to "
                "the same tokens, but the source vocabularies of these runs differ. Leave them out"
            )
        if needs_attention and not model.has_attention:
            raise UsageError(
                "--alignments, --replace-unknown and decoding.coverage_penalty need attention, and "
                "this model has none: model.attention is 'none'. Leave them out"
            )
        self._tokenizers = tokenizers
        self._source_tokenizers = member_tokenizers or [tokenizers.source]
        self._config = config
        self._alignments = alignments
        self._replace_unknown = replace_unknown
        self._prefix = prefix_ids(tokenizers.target, prefix)
        _check_prefix(len(self._prefix), config)
        self._rerank = rerank
        # The search finds all hypotheses that are compared or ranked.
        config = config.model_copy(update={"n_best": config.found_hypotheses})
        keeps_attention = alignments or replace_unknown
        self._search = search or Search(model, config, keeps_attention, compiled)

    def translate(
        self,
        sentences: Sequence[str],
        first_number: int = 0,
        progress: Callable[[int], None] = lambda done: None,
        parts: int | None = None,
        every: int = 1,
    ) -> list[Translation]:
        """Return a translation for each sentence, in order.

        Sentences are translated in batches of similar length; batches change results only by
        rounding.

        Args:
            sentences: the texts.
            first_number: the number of the first sentence in the whole input, which determines
                samples.
            progress: called with the number of sentences that are done, as it grows.
            parts: how many batches are computed in parallel; None for as many as suit the machine.
            every: the difference between the numbers of two consecutive sentences.
        """
        translations = [Translation("")] * len(sentences)
        wanted = [i for i, sentence in enumerate(sentences) if sentence.strip()]
        texts = [sentences[i] for i in wanted]
        encoded = dict(
            zip(wanted, encode_sentences(self._source_tokenizers, texts, self._config), strict=True)
        )

        def translate(chosen: list[int]) -> list[Translation]:
            return self._translate_batch(
                [sentences[i] for i in chosen],
                [encoded[i] for i in chosen],
                np.int32(first_number) + np.int32(every) * np.array(chosen, np.int32),
            )

        rows = list(batches({i: each.length for i, each in encoded.items()}, self._config, parts))
        done = len(sentences) - len(wanted)
        for chosen, found in zip(rows, in_parallel(translate, rows, parts), strict=True):
            for i, translation in zip(chosen, found, strict=True):
                translations[i] = translation
            done += len(chosen)
            progress(done)
        if self._rerank is not None:
            hypotheses = [
                [replace(translations[i], others=()), *translations[i].others] for i in wanted
            ]
            ranked = self._rerank([sentences[i] for i in wanted], hypotheses, parts)
            for i, (best, *others) in zip(wanted, ranked, strict=True):
                translations[i] = replace(best, others=tuple(others))
        return translations

    def _translate_batch(
        self, sentences: list[str], encoded: list[EncodedSentence], numbers: np.ndarray
    ) -> list[Translation]:
        lengths = np.array([each.length for each in encoded])
        maximum, minimum = length_limits(lengths, self._config, len(self._prefix))
        longest = int(lengths.max())
        with memory_errors(len(encoded), longest, self._config):
            found = self._search(
                padded_batch(encoded),
                maximum,
                minimum,
                np.tile(self._prefix, (len(encoded), 1)),
                numbers,
            )
        ids, scores, log_probabilities, attention = (tensor.numpy() for tensor in found)
        number = ids.shape[1]
        texts = self._tokenizers.target.detokenize(ids.reshape(-1, ids.shape[2]).tolist())
        translations = []
        for b, source in enumerate(encoded):
            each = [
                replace(
                    self._translation(
                        sentences[b], source, texts[b * number + n], ids[b, n], attention[b, n]
                    ),
                    score=float(scores[b, n]),
                    log_probability=float(log_probabilities[b, n]),
                )
                for n in range(number)
                if scores[b, n] != -math.inf
            ]
            if self._config.mbr:
                each = self._least_risk(each)
            # None is found only where the model's numbers are not finite.
            best, *others = each or [Translation("", -math.inf, -math.inf)]
            translations.append(replace(best, others=tuple(others)))
        return translations

    def _least_risk(self, found: list[Translation]) -> list[Translation]:
        """Return the hypotheses of a sentence by their expected similarity to all, best first.

        Equal texts count as often as they were found, but are returned once.
        """
        # It imports sacreBLEU, which other searches do not need.
        from seq2seq_cli.decoding.minimum_risk import expected_utilities

        if not found:
            return []
        # Samples represent their probabilities by how often they are drawn.
        logs = np.array([each.log_probability for each in found])
        weights = np.ones(len(found)) if self._config.sample else np.exp(logs - logs.max())
        texts = [each.text for each in found]
        utilities = expected_utilities(texts, weights, self._config.mbr_utility)
        ranked = [found[i] for i in np.argsort(-utilities, kind="stable")]
        return distinct(ranked)[: self._config.n_best]

    def _translation(
        self,
        sentence: str,
        source: EncodedSentence,
        text: str,
        ids_T: np.ndarray,
        attention_TS: np.ndarray,
    ) -> Translation:
        """Return a hypothesis as a translation, without its scores."""
        ids, alignment = tuple(ids_T[ids_T != PAD].tolist()), None
        weights = attention_TS[: len(ids), : source.length]
        if self._alignments:
            alignment = align(self._tokenizers, source.ids[0].tolist(), ids, weights)
        if self._replace_unknown:
            text = copy_unknown(self._tokenizers, sentence, text, ids, weights)
        # One line of text for each sentence, regardless of the bytes that the model composed.
        text = " ".join(text.replace("\0", "\N{REPLACEMENT CHARACTER}").split())
        return Translation(text, ids=ids, cut=source.cut, alignment=alignment)


def prefix_ids(tokenizer: Tokenizer, prefix: str) -> np.ndarray:
    """Return the ids (int32) of the beginning of a translation, without EOS.

    Raises:
        UsageError: if the vocabulary does not have all of its text.
    """
    ids = token_ids(tokenizer, [prefix])[0][:-1]
    if UNK in ids:
        raise UsageError(
            f"--prefix {prefix!r}: the target vocabulary (tokenizer.kind = {tokenizer.kind!r}) "
            "does not have all of its words or characters. Give another prefix"
        )
    return ids


def distinct(translations: Sequence[Translation]) -> list[Translation]:
    """Return the first translation of each text, in order."""
    first: dict[str, Translation] = {}
    for translation in translations:
        first.setdefault(translation.text, translation)
    return [*first.values()]


def _check_beam(beam: int, vocabulary: int) -> None:
    if beam > vocabulary:
        raise UsageError(
            f"decoding.beam (--beam) is {beam}, but the target vocabulary has only "
            f"{vocabulary} tokens. Lower the beam"
        )


def _check_prefix(tokens: int, config: DecodingConfig) -> None:
    """Check that a prefix of `tokens` tokens leaves space for the end of the sentence.

    Raises:
        UsageError: if it does not.
    """
    if config.max_length is not None and tokens >= config.max_length:
        raise UsageError(
            f"--prefix has {tokens:,} tokens, and EOS is one more, but "
            f"decoding.max_length (--max-length) is {config.max_length}. Raise it to at least "
            f"{tokens + 1}, or shorten the prefix"
        )
    if config.max_length is None and tokens > config.max_source_tokens:
        raise UsageError(
            f"--prefix has {tokens:,} tokens, but decoding.max_source_tokens allows only "
            f"{config.max_source_tokens:,}. Shorten the prefix, or raise the limit"
        )


def translate_lines(
    translator: Translator, stream: RawIOBase, name: str, before: int = 0
) -> Iterator[tuple[int, str, Translation]]:
    """Translate a stream line by line; see `lines.in_windows`.

    Yields:
        (line number, line, translation) for each line, in order.
    """
    return in_windows(stream, name, str, translator.translate, "translated", before)
