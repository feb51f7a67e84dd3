"""Measures how fast a model translates."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.runtime.memory import peak_memory


@dataclass(frozen=True, kw_only=True)
class DecodingSpeed:
    """Time and memory of translating the same sentences several times.

    Attributes:
        sentences: number of sentences.
        tokens: of the translations, EOS included.
        first_seconds: of the first trial, compilation included.
        seconds: the median of the other trials.
        fastest_seconds, slowest_seconds: of the other trials.
        sentences_per_second, tokens_per_second: at the median.
        peak_memory_mb: the maximum of the process' resident memory, in 10^6 bytes.
        memory_above_import_mb: the same, minus the memory after the import of TensorFlow.
    """

    sentences: int
    tokens: int
    first_seconds: float
    seconds: float
    fastest_seconds: float
    slowest_seconds: float
    sentences_per_second: float
    tokens_per_second: float
    peak_memory_mb: float
    memory_above_import_mb: float


def measure_decoding(
    translator: Translator,
    sentences: Sequence[str],
    trials: int,
    memory_before: int,
    on_time: Callable[[str], None],
) -> DecodingSpeed:
    """Translate the sentences once to warm up, then measure `trials` times.

    Args:
        translator: the one to measure.
        sentences: the texts.
        trials: at least 1.
        memory_before: `resident_memory` with TensorFlow imported and nothing else.
        on_time: called with each time, as text.
    """
    times = []
    for trial in range(trials + 1):
        began = time.perf_counter()
        translations = translator.translate(sentences)
        times.append(time.perf_counter() - began)
        on_time(f"{'warm-up' if trial == 0 else f'trial {trial}'}: {times[-1]:.2f} s")
    tokens = sum(translation.tokens for translation in translations)
    first, *others = times
    median = statistics.median(others)
    peak = peak_memory()
    return DecodingSpeed(
        sentences=len(sentences),
        tokens=tokens,
        first_seconds=first,
        seconds=median,
        fastest_seconds=min(others),
        slowest_seconds=max(others),
        sentences_per_second=len(sentences) / median,
        tokens_per_second=tokens / median,
        peak_memory_mb=peak / 1e6,
        memory_above_import_mb=(peak - memory_before) / 1e6,
    )
