"""`s2s selftest`: what must hold for every model, measured on one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.models import build_model
from seq2seq_cli.models.invariants import INVARIANTS
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import BOS, EOS, PAD

TOLERANCE = 1e-3
"""Of logits, log-probabilities' gradients and weights: float32's rounding stays well below."""
FRESH_VOCABULARY = 100
_LENGTHS = (12, 7, 3, 1)  # of the sentences tried


@dataclass(frozen=True)
class Check:
    """One property: how far the model is from it, and whether that is more than rounding."""

    name: str
    deviation: float

    @property
    def holds(self) -> bool:
        """Whether it holds; not, where a number is none."""
        return self.deviation <= TOLERANCE


def check_run(run: Run, report: Callable[[str], None]) -> list[Check]:
    """Check a run's model at its best checkpoint.

    Args:
        run: the run's folder.
        report: told of damaged checkpoints, which are passed over.

    Raises:
        CheckpointError: if there is no valid checkpoint.
    """
    loaded = load_run(run, report)
    tokenizers = loaded.tokenizers
    return check_model(
        loaded.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
    )


def check_fresh(config: Config) -> list[Check]:
    """Check a new model of `config`, with a small vocabulary."""
    model = build_model(config.model, FRESH_VOCABULARY, FRESH_VOCABULARY, config.training.seed)
    return check_model(model, FRESH_VOCABULARY, FRESH_VOCABULARY)


def check_model(model: Seq2Seq, source_vocabulary: int, target_vocabulary: int) -> list[Check]:
    """Measure every invariant on a batch of random sentences of different lengths."""
    rng = np.random.default_rng(0)
    source = np.full((len(_LENGTHS), max(_LENGTHS)), PAD, np.int32)
    target = np.full((len(_LENGTHS), max(_LENGTHS)), PAD, np.int32)
    for row, length in enumerate(_LENGTHS):
        source[row, :length] = rng.integers(EOS + 1, source_vocabulary, length)
        source[row, length - 1] = EOS
        target[row, :length] = rng.integers(EOS + 1, target_vocabulary, length)
        target[row, 0] = BOS
    batch = tf.constant(source), tf.constant(target)
    return [Check(name, measure(model, *batch)) for name, measure in INVARIANTS.items()]
