"""`s2s selftest`: checks the invariants of a model, and compares it with the equations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.models import build_model, reference_training
from seq2seq_cli.models.invariants import INVARIANTS, Invariant, compilation
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.textbook import textbook_outputs
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.vocabularies import Vocabularies
from seq2seq_cli.work import ShowWork, Warn, show_nothing

TOLERANCE = 1e-3
"""The maximum deviation. It is well above the rounding of float32.

An invariant's deviation is absolute. A deviation from the textbook is relative: it is the maximum
absolute difference, divided by the maximum absolute value of the textbook's tensor. Of a gradient
that is tiny all over, such as that of a bias which cancels in a softmax, the divisor is 1 % of the
maximum of all gradients.
"""
FRESH_VOCABULARY = 100
_LENGTHS = (12, 7, 3, 1)  # of the sentences tried
_TRIES = 3


@dataclass(frozen=True)
class Check:
    """A property, and the deviation of the model from it; see TOLERANCE."""

    name: str
    deviation: float

    @property
    def holds(self) -> bool:
        """Whether the deviation is within TOLERANCE; False for NaN."""
        return self.deviation <= TOLERANCE


def check_run(run: Run, warn: Warn, show: ShowWork = show_nothing) -> list[Check]:
    """Check a run's model at its best checkpoint.

    Args:
        run: the run's folder.
        warn: called for each damaged checkpoint, which is skipped.
        show: shows the number of properties that have been checked.

    Raises:
        CheckpointError: if there is no valid checkpoint.
    """
    loaded = load_run(run, warn)
    tokenizers = loaded.tokenizers
    return check_model(
        loaded.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size, show
    )


def check_fresh(config: Config, show: ShowWork = show_nothing) -> list[Check]:
    """Check a new model of `config`, with a small vocabulary.

    Random numbers are added to its biases and gains, which would hide errors if all were 0 or 1.
    """
    joint = config.tokenizer.vocabularies == "joint"
    vocabularies = Vocabularies(FRESH_VOCABULARY, FRESH_VOCABULARY, joint)
    model = build_model(config.model, vocabularies, config.training.seed)
    rng = np.random.default_rng(config.training.seed)
    for variable in model.trainable_variables:
        if len(variable.shape) == 1:
            variable.assign_add(rng.normal(size=variable.shape, scale=0.1))
    return check_model(model, FRESH_VOCABULARY, FRESH_VOCABULARY, show)


def check_model(
    model: Seq2Seq,
    source_vocabulary: int,
    target_vocabulary: int,
    show: ShowWork = show_nothing,
) -> list[Check]:
    """Measure every property of a model on random sentences of different lengths.

    The properties are the invariants, and equality with the textbook's equations without dropout.
    """
    batches = [_batch(source_vocabulary, target_vocabulary, seed) for seed in range(_TRIES)]
    measures = INVARIANTS | AS_IN_THE_TEXTBOOK
    checks: list[Check] = []
    for name, measure in measures.items():
        show("Checking", "properties", len(checks), len(measures))
        checks.append(Check(name, _measure(measure, model, batches)))
    return checks


def _batch(source_vocabulary: int, target_vocabulary: int, seed: int) -> tuple:
    """Return random sentences of different lengths."""
    rng = np.random.default_rng(seed)
    source = np.full((len(_LENGTHS), max(_LENGTHS)), PAD, np.int32)
    target = np.full((len(_LENGTHS), max(_LENGTHS)), PAD, np.int32)
    for row, length in enumerate(_LENGTHS):
        source[row, :length] = rng.integers(EOS + 1, source_vocabulary, length)
        source[row, length - 1] = EOS
        target[row, :length] = rng.integers(EOS + 1, target_vocabulary, length)
        target[row, 0] = BOS
    return tf.constant(source), tf.constant(target)


def _measure(measure: Invariant, model: Seq2Seq, batches: list[tuple]) -> float:
    """Return the deviation on the first batch; for a gradient, the smallest over several batches.

    Rounding may change the sign of the input of a ReLU, and then the gradient differs a lot. This
    is rare, so a correct model passes on one of the batches.
    """
    deviations: list[float] = []
    for batch in batches if measure in _OF_GRADIENTS else batches[:1]:
        deviations.append(measure(model, *batch))
        if not deviations[-1] > TOLERANCE:  # so for NaN too, which is a failure
            return deviations[-1]
    return min(deviations)


def logits(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """Teacher forcing gives the textbook's logits."""
    return _relative(model((source, target)), textbook_outputs(model, source, target).logits_BTV)


def gradient(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """The loss and its gradient, compiled as in training, are the textbook's."""
    found = compiled(lambda *batch: _loss_and_gradient(model, model, *batch))(source, target)
    expected = _loss_and_gradient(
        model, lambda batch: textbook_outputs(model, *batch).logits_BTV, source, target
    )
    least = 0.01 * max(np.max(np.abs(each), initial=0.0) for each in expected[1:])
    pairs = zip(found[1:], expected[1:], strict=True)
    deviations = [_relative(a, b, least) for a, b in pairs]
    return float(np.max([_relative(found[0], expected[0]), *deviations]))


def decoding_steps(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> float:
    """Decoding steps give the textbook's logits and attention."""
    memory = model.encode(source)
    state, step = model.initial_state(memory, target.shape[1]), model.make_step()
    deviations = []
    expected = textbook_outputs(model, source, target)
    by_position = [tf.unstack(tensor, axis=1) for tensor in (target, *expected[:2])]
    for token_B, logits_BV, attention_BS in zip(*by_position, strict=True):
        output = step(token_B, state, memory)
        state = output.state
        deviations.append(_relative(output.logits_BV, logits_BV))
        deviations.append(_relative(output.attention_BS, attention_BS))
    return float(np.max(deviations))


AS_IN_THE_TEXTBOOK: dict[str, Invariant] = {
    "logits equal the textbook's": logits,
    "the loss and its gradient equal the textbook's": gradient,
    "decoding steps equal the textbook's": decoding_steps,
}
_OF_GRADIENTS = (compilation, gradient)


def compiled(function: Callable) -> Callable:
    """Compile a function of source and target as `training.compile = "auto"` does."""

    def traced(source_BS: tf.Tensor, target_BT: tf.Tensor) -> list[tf.Tensor]:
        with computing(fuse=True):
            return function(source_BS, target_BT)

    signature = [tf.TensorSpec([None, None], tf.int32)] * 2
    return tf.function(traced, input_signature=signature, autograph=False)


def _loss_and_gradient(
    model: Seq2Seq, logits_of: Callable, source_BS: tf.Tensor, target_BT: tf.Tensor
) -> Sequence[tf.Tensor]:
    """Return the loss of the logits that `logits_of` returns, and its gradient."""
    labels_BT = target_BT[:, 1:]
    with tf.GradientTape() as tape:
        logits_BTV = logits_of((source_BS, target_BT[:, :-1]))
        loss = reference_training.cross_entropy(logits_BTV, labels_BT, labels_BT != PAD)
    gradients = tape.gradient(loss, model.trainable_variables, unconnected_gradients="zero")
    return [loss, *(tf.convert_to_tensor(gradient) for gradient in gradients)]


def _relative(found: tf.Tensor, expected: tf.Tensor, least: float = 0.0) -> float:
    """Return the maximum difference, relative to the size of the expected values, or to `least`.

    It is NaN if one of the tensors contains a NaN.
    """
    size = np.max(np.abs(expected), initial=least)
    return float(np.max(np.abs(np.subtract(found, expected, dtype=np.float64))) / max(size, 1e-30))
