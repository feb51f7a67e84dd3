"""Strings to translations: tokenize, search, detokenize."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import RawIOBase
from typing import Any, NamedTuple

import numpy as np

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizer, Tokenizers
from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.decoding.alignment import Alignment, align, copy_unknown
from seq2seq_cli.decoding.encoding import (
    Source,
    batches,
    memory_errors,
    read_sources,
    source_batch,
    token_ids,
)
from seq2seq_cli.decoding.lines import in_windows
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models import build_model
from seq2seq_cli.models.ensemble import Ensemble
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.checkpoints import State
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.special_tokens import PAD


@dataclass(frozen=True)
class Translation:
    """One translated sentence.

    Attributes:
        text: the translation; empty for an empty source.
        score: its log-probability in nats, EOS included, after the penalties of `[decoding]`.
        log_probability: the same before them.
        tokens: how many it has, EOS included.
        cut: whether the source was longer than `decoding.max_source_tokens` and was cut.
        alignment: of its words to those of the source, if it was asked for.
        others: the next best translations, as many as were asked for and found.
    """

    text: str
    score: float = 0.0
    log_probability: float = 0.0
    tokens: int = 0
    cut: bool = False
    alignment: Alignment | None = None
    others: tuple["Translation", ...] = ()


class Translator:
    """Translates with a model at its present weights.

    Args:
        model: any Seq2Seq.
        tokenizers: of both languages.
        config: how to search, batch sizes and maximum lengths.
        alignments: whether translations shall have them.
        replace_unknown: whether an unknown word shall be that of the source which got the most
            attention.
        compiled: whether to search in a graph; see `decoding.Search`.
        sources: of an ensemble whose members have other source vocabularies, the tokenizers of all.
        prefix: a text that each translation begins with.

    Raises:
        UsageError: if the beam is wider than the vocabulary, the prefix too long, or what is asked
            for cannot be told.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: Tokenizers,
        config: DecodingConfig,
        alignments: bool = False,
        replace_unknown: bool = False,
        compiled: bool = True,
        sources: Sequence[Tokenizer] = (),
        prefix: str = "",
    ):
        vocabulary = tokenizers.target.vocabulary_size
        if config.beam > vocabulary:
            raise UsageError(
                f"decoding.beam (--beam) is {config.beam}, and the target vocabulary has "
                f"{vocabulary} tokens; a beam cannot be wider. Lower it"
            )
        if replace_unknown and not isinstance(tokenizers.target, Words):
            raise UsageError(
                "--replace-unknown copies whole words, and this run's tokenizer.kind is "
                f"{tokenizers.target.kind!r}, not 'words'. Leave it out"
            )
        if len(sources) > 1 and (alignments or replace_unknown or config.coverage_penalty):
            raise UsageError(
                "--alignments, --replace-unknown and decoding.coverage_penalty need attention to "
                "the same tokens, and these runs' source vocabularies differ. Leave them out"
            )
        self._tokenizers = tokenizers
        self._sources = sources or [tokenizers.source]
        self._config = config
        self._alignments = alignments
        self._replace_unknown = replace_unknown
        self._prefix = token_ids(tokenizers.target, [prefix])[0][:-1]
        _check_prefix(len(self._prefix), config)
        self._search = Search(model, config, alignments or replace_unknown, compiled)

    def translate(self, sentences: Sequence[str], first_number: int = 0) -> list[Translation]:
        """Return a translation for each sentence, in order.

        Sentences are translated in batches of like length; batches change no result beyond
        rounding.

        Args:
            sentences: the texts.
            first_number: the number of the first sentence in the whole input, by which samples are
                drawn.
        """
        translations = [Translation("")] * len(sentences)
        wanted = [i for i, sentence in enumerate(sentences) if sentence.strip()]
        read = read_sources(self._sources, [sentences[i] for i in wanted], self._config)
        sources = dict(zip(wanted, read, strict=True))
        numbers = np.arange(first_number, first_number + len(sentences), dtype=np.int32)

        def translate(chosen: list[int]) -> list[Translation]:
            return self._translate_batch(
                [sentences[i] for i in chosen], [sources[i] for i in chosen], numbers[chosen]
            )

        rows = list(batches({i: each.length for i, each in sources.items()}, self._config))
        for chosen, found in zip(rows, in_parallel(translate, rows), strict=True):
            for i, translation in zip(chosen, found, strict=True):
                translations[i] = translation
        return translations

    def _translate_batch(
        self, sentences: list[str], sources: list[Source], numbers: np.ndarray
    ) -> list[Translation]:
        config = self._config
        lengths = np.array([source.length for source in sources])
        maximum = np.floor(lengths * config.max_length_ratio) + config.max_length_extra
        maximum = np.minimum(maximum, config.max_length or math.inf)
        maximum = np.maximum(maximum, len(self._prefix) + 1)
        minimum = np.maximum(np.ceil(lengths * config.min_length_ratio), config.min_length)
        with memory_errors(len(sources), lengths.max(), config):
            found = self._search(
                source_batch(sources),
                maximum.astype(np.int32),
                np.minimum(minimum, maximum).astype(np.int32),
                np.tile(self._prefix, (len(sources), 1)),
                numbers,
            )
        ids, scores, totals, attention = (tensor.numpy() for tensor in found)
        number = ids.shape[1]
        texts = self._tokenizers.target.detokenize(ids.reshape(-1, ids.shape[2]).tolist())
        translations = []
        for b, source in enumerate(sources):
            each = []
            for n in range(number):
                if scores[b, n] == -math.inf:
                    continue
                text, alignment = texts[b * number + n], None
                length = int((ids[b, n] != PAD).sum())
                if self._alignments:
                    weights = attention[b, n, :length, : source.length]
                    found_ids = ids[b, n, :length].tolist()
                    alignment = align(self._tokenizers, source.ids[0].tolist(), found_ids, weights)
                if self._replace_unknown:
                    text = copy_unknown(
                        self._tokenizers, sentences[b], text, ids[b, n, :length], attention[b, n]
                    )
                # One line for each sentence, whatever bytes the model composed.
                text = " ".join(text.split())
                score, total = float(scores[b, n]), float(totals[b, n])
                each.append(Translation(text, score, total, length, source.cut, alignment))
            # None is found only where the model gives no numbers.
            best, *others = each or [Translation("", -math.inf, -math.inf)]
            translations.append(replace(best, others=tuple(others)))
        return translations


def _check_prefix(tokens: int, config: DecodingConfig) -> None:
    """See that a prefix leaves room for the end of the sentence.

    Raises:
        UsageError: if not.
    """
    if config.max_length is not None and tokens >= config.max_length:
        raise UsageError(
            f"--prefix has {tokens:,} tokens, and the end of a translation is one more; "
            f"decoding.max_length (--max-length) is {config.max_length}. Raise it to at least "
            f"{tokens + 1}, or shorten the prefix"
        )
    if config.max_length is None and tokens > config.max_source_tokens:
        raise UsageError(
            f"--prefix has {tokens:,} tokens; decoding.max_source_tokens allows "
            f"{config.max_source_tokens:,}. Shorten the prefix, or raise the limit"
        )


class LoadedRun(NamedTuple):
    """A run's model and tokenizers, the name of its checkpoint, and the training's state there.

    Of an ensemble they are the first run's, but for the model; `sources` are the tokenizers of all
    runs where they are not the same.
    """

    model: Seq2Seq
    tokenizers: Tokenizers
    decoding: DecodingConfig
    checkpoint: str
    state: State
    sources: tuple[Tokenizer, ...] = ()

    def translator(self, config: DecodingConfig | None = None, **options: Any) -> Translator:
        """Return what translates with the model; the options are those of Translator."""
        return Translator(
            self.model, self.tokenizers, config or self.decoding, sources=self.sources, **options
        )


def load_run(run: Run, report: Callable[[str], None]) -> LoadedRun:
    """Rebuild a run's model at its best checkpoint.

    Args:
        run: the run's folder.
        report: told of damaged checkpoints, which are passed over.

    Raises:
        CheckpointError: if there is no valid checkpoint, or it is not this model's.
    """
    config = run.config()
    tokenizers = Tokenizers.load(run.tokenizer)
    checkpoint = checkpoints.best_valid(run.checkpoints, report)
    model = build_model(
        config.model,
        tokenizers.vocabularies,
    )
    checkpoints.restore(checkpoint, checkpoints.MODEL, model.trainable_variables)
    return LoadedRun(
        model, tokenizers, config.decoding, checkpoint.name, checkpoints.read_state(checkpoint)
    )


def load_ensemble(runs: Sequence[Run], report: Callable[[str], None]) -> LoadedRun:
    """Rebuild several runs' models as one, or a single run's.

    Raises:
        CheckpointError: see load_run.
        UsageError: if their target vocabularies are not the same.
    """
    loaded = [load_run(run, report) for run in runs]
    first = loaded[0]
    if len(loaded) == 1:
        return first
    for run, other in zip(runs, loaded, strict=True):
        if other.tokenizers.target.fingerprint != first.tokenizers.target.fingerprint:
            raise UsageError(
                f"--run {runs[0].path} --run {run.path}: only runs with the same target vocabulary "
                "make an ensemble, and these have others. Train with the same data and tokenizer"
            )
    sources = tuple(each.tokenizers.source for each in loaded)
    separate = len({source.fingerprint for source in sources}) > 1
    model = Ensemble([each.model for each in loaded], separate)
    return first._replace(model=model, sources=sources if separate else ())


def translate_lines(
    translator: Translator, stream: RawIOBase, name: str
) -> Iterator[tuple[int, str, Translation]]:
    """Translate a stream line by line; see `streams.in_windows`.

    Yields:
        (line number, line, translation) for each line, in order.
    """
    return in_windows(stream, name, str, translator.translate, "translated")
