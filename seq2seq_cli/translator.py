"""Strings to translations: tokenize, search, detokenize."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import RawIOBase
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli import checkpoints
from seq2seq_cli.config import DecodingConfig
from seq2seq_cli.data.lines import BadLineError, canonical, decode_line
from seq2seq_cli.data.tokenizers import Tokenizers
from seq2seq_cli.decoding import GreedySearch
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models import build_model
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.run import Run
from seq2seq_cli.special_tokens import EOS


@dataclass(frozen=True)
class Translation:
    """One translated sentence.

    Attributes:
        text: the translation; empty for an empty source.
        score: its log-probability in nats, EOS included.
        cut: whether the source was longer than `decoding.max_source_tokens` and was cut.
    """

    text: str
    score: float = 0.0
    cut: bool = False


class Translator:
    """Translates with a model at its present weights.

    Args:
        model: any implementation of the seam.
        tokenizers: of both languages.
        config: batch size and maximum lengths.
    """

    def __init__(self, model: Seq2Seq, tokenizers: Tokenizers, config: DecodingConfig):
        self._tokenizers = tokenizers
        self._config = config
        self._search = GreedySearch(model)

    def translate(self, sentences: Sequence[str]) -> list[Translation]:
        """Return a translation for each sentence, in order.

        Sentences are translated in batches of like length; batches change no result beyond
        rounding.
        """
        translations = [Translation("")] * len(sentences)
        wanted = [i for i, sentence in enumerate(sentences) if sentence.strip()]
        sources = tf.constant([canonical(sentences[i]) for i in wanted], tf.string)
        ids = self._tokenizers.source.tokenize(sources)
        rows = dict(zip(wanted, (row.numpy() for row in ids), strict=True)) if wanted else {}
        by_length = sorted(wanted, key=lambda i: len(rows[i]))
        for start in range(0, len(by_length), self._config.batch_sentences):
            chosen = by_length[start : start + self._config.batch_sentences]
            batch = self._translate_batch([rows[i] for i in chosen])
            for i, translation in zip(chosen, batch, strict=True):
                translations[i] = translation
        return translations

    def _translate_batch(self, rows: list[np.ndarray]) -> list[Translation]:
        limit = self._config.max_source_tokens
        cut = [row if len(row) <= limit else np.append(row[: limit - 1], EOS) for row in rows]
        source = tf.ragged.constant(cut, dtype=tf.int32).to_tensor()
        lengths = np.array([len(row) for row in cut])
        longest = lengths * self._config.max_length_ratio + self._config.max_length_extra
        found = self._search(source, tf.constant(longest.astype(np.int32)))
        texts = self._tokenizers.target.detokenize(found.ids_BT.numpy().tolist())
        scores = found.log_probability_B.numpy().tolist()
        return [
            # One line for each sentence, whatever bytes the model composed.
            Translation(" ".join(text.split()), score, len(row) > limit)
            for text, score, row in zip(texts, scores, rows, strict=True)
        ]


class LoadedRun(NamedTuple):
    """A run's model and tokenizers, the name of its checkpoint, and the training's state there."""

    model: Seq2Seq
    tokenizers: Tokenizers
    decoding: DecodingConfig
    checkpoint: str
    state: dict[str, Any]

    def translator(self) -> Translator:
        """Return what translates with the model."""
        return Translator(self.model, self.tokenizers, self.decoding)


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
        tokenizers.source.vocabulary_size,
        tokenizers.target.vocabulary_size,
        joint_vocabulary=tokenizers.joint,
    )
    checkpoints.restore(checkpoint, checkpoints.MODEL, model.trainable_variables)
    return LoadedRun(
        model, tokenizers, config.decoding, checkpoint.name, checkpoints.read_state(checkpoint)
    )


def translate_lines(
    translator: Translator, stream: RawIOBase, name: str
) -> Iterator[tuple[int, str, Translation]]:
    """Translate a stream line by line.

    What has arrived is translated at once, so a pipe is answered as it asks and a file goes through
    in large pieces.

    Args:
        translator: does it.
        stream: UTF-8 text, unbuffered.
        name: of the stream, for errors.

    Yields:
        (line number, line, translation) for each line, in order.

    Raises:
        UsageError: at a line that is not text, after all those before it.
    """
    number = 0
    for window in _windows(stream):
        lines: list[str] = []
        bad: UsageError | None = None
        for raw in window:
            if number + len(lines) == 0:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                lines.append(decode_line(raw))
            except BadLineError as error:
                place = f"{name}:{number + len(lines) + 1}"
                bad = UsageError(f"{place}: {error}. The lines before it have been translated")
                break
        for line, translation in zip(lines, translator.translate(lines), strict=True):
            number += 1
            yield number, line, translation
        if bad:
            raise bad


def _windows(stream: RawIOBase) -> Iterator[list[bytes]]:
    """Yield the lines of each read that has any; a read of a pipe takes what is there."""
    rest = b""
    while block := stream.read(1 << 18):
        *lines, rest = (rest + block).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]
