"""Loss, learning rate and one update."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.config import TrainingConfig
from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.models.layers.regularisation import part_of_batch
from seq2seq_cli.models.ops.fusion import fused, fusing
from seq2seq_cli.models.ops.products import products_in
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runtime.devices import in_parallel
from seq2seq_cli.special_tokens import PAD, UNK


def cross_entropy(
    logits: tf.Tensor, labels: tf.Tensor, label_smoothing: float = 0.0
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sum the cross-entropy over all labels, of any rank, that are not PAD.

    With label smoothing e the label's probability is 1 - e + e/V and every other's e/V (Szegedy et
    al. 2016, section 7).

    Returns:
        The sum in nats, and the number of labels; both float32.
    """
    labels_X = tf.reshape(labels, [-1])
    real_X = tf.cast(tf.not_equal(labels_X, PAD), tf.float32)

    @tf.custom_gradient
    def losses(logits_XV: tf.Tensor) -> tuple:
        losses_X, logsumexp_X = _losses(logits_XV, labels_X, label_smoothing)

        def gradient(upstream_X: tf.Tensor) -> tf.Tensor:
            return _losses_gradient(logits_XV, labels_X, logsumexp_X, upstream_X, label_smoothing)

        return losses_X, gradient

    losses_X = losses(tf.reshape(logits, [-1, logits.shape[-1]]))
    return tf.reduce_sum(losses_X * real_X), tf.reduce_sum(real_X)


@fused
def _losses(
    logits_XV: tf.Tensor, labels_X: tf.Tensor, smoothing: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the cross-entropy of each label, and the logsumexp of the logits."""
    logits_XV = tf.cast(logits_XV, tf.float32)
    greatest_X = _greatest(logits_XV)
    sums_X = tf.reduce_sum(tf.exp(logits_XV - greatest_X[:, tf.newaxis]), axis=1)
    logsumexp_X = greatest_X + tf.math.log(sums_X)
    mean_X = tf.reduce_mean(logits_XV, axis=1)
    right_X = tf.gather(logits_XV, labels_X, batch_dims=1)
    # Over all V labels the mean cross-entropy is logsumexp(logits) - mean(logits).
    return logsumexp_X - (1 - smoothing) * right_X - smoothing * mean_X, logsumexp_X


def _greatest(logits_XV: tf.Tensor) -> tf.Tensor:
    """Return the greatest of each row.

    By the greater of two numbers, which XLA finds for many at a time; of a row it goes one by one.
    """
    while logits_XV.shape[1] > 64:
        half = (logits_XV.shape[1] + 1) // 2  # of an odd width the number in the middle is in both
        logits_XV = tf.maximum(logits_XV[:, :half], logits_XV[:, -half:])
    return tf.reduce_max(logits_XV, axis=1)


@fused
def _losses_gradient(
    logits_XV: tf.Tensor,
    labels_X: tf.Tensor,
    logsumexp_X: tf.Tensor,
    upstream_X: tf.Tensor,
    smoothing: float,
) -> tf.Tensor:
    """Return the gradient of `_losses` with respect to the logits, in their dtype."""
    probabilities_XV = tf.exp(tf.cast(logits_XV, tf.float32) - logsumexp_X[:, tf.newaxis])
    vocabulary = logits_XV.shape[1]
    is_right_XV = tf.range(vocabulary, dtype=labels_X.dtype) == labels_X[:, tf.newaxis]
    wanted_XV = tf.where(is_right_XV, 1 - smoothing, 0.0) + smoothing / vocabulary
    return tf.cast((probabilities_XV - wanted_XV) * upstream_X[:, tf.newaxis], logits_XV.dtype)


def real_places(labels_BT: tf.Tensor) -> tf.Tensor:
    """Return where the labels that are not PAD stand, and then some that are.

    Places are counted through all rows, int64. They are a multiple of 128, or all, so that what is
    compiled for each number of them is so seldom.
    """
    is_real = tf.reshape(tf.not_equal(labels_BT, PAD), [-1])
    places = tf.concat([tf.where(is_real), tf.where(~is_real)], axis=0)[:, 0]
    real = tf.reduce_sum(tf.cast(is_real, tf.int32))
    return places[: -(-real // 128) * 128]


class Schedule:
    """When training ends, and the learning rate on the way there.

    Progress runs from 0 to 1 at whichever of the limits (epochs, steps, time) is reached first. The
    rate rises in a straight line in the warm-up and falls along half a cosine to 0 at the end
    (Loshchilov and Hutter 2017, equation 5, without restarts).

    Args:
        config: limits, peak rate and warm-up.
        steps_per_epoch: batches in a pass over the data.
    """

    WARMUP_SHARE = 0.1

    def __init__(self, config: TrainingConfig, steps_per_epoch: int):
        self._peak = config.peak_learning_rate
        self._warmup_steps = config.warmup_steps
        self._budget_seconds = config.budget_seconds or math.inf
        epochs = config.epoch_limit
        self.total_steps = min(
            config.steps or math.inf, epochs * steps_per_epoch if epochs else math.inf
        )

    def progress(self, step: int, seconds: float) -> float:
        """Return how much is done after `step` updates and `seconds` of training, at most 1."""
        return min(1.0, max(step / self.total_steps, seconds / self._budget_seconds))

    def learning_rate(self, step: int, seconds: float) -> float:
        """Return the rate of the update that follows `step` updates."""
        progress = self.progress(step, seconds)
        # A short training does not spend itself on the warm-up.
        warm = max((step + 1) / max(self._warmup_steps, 1), progress / self.WARMUP_SHARE)
        return self._peak * min(1.0, warm) * 0.5 * (1 + math.cos(math.pi * progress))


class Adam(keras.optimizers.Adam):
    """Keras' Adam (Kingma and Ba 2015), a weight and its moments updated in one pass over memory.

    It takes gradients that are dense.
    """

    def apply(self, grads: list, trainable_variables: list | None = None) -> None:
        """See keras.optimizers.Optimizer.apply."""
        steps = tf.cast(self.iterations + 1, tf.float32)  # once, and not for each weight
        self._powers = self.beta_1**steps, self.beta_2**steps
        super().apply(grads, trainable_variables)

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """See keras.optimizers.Optimizer.update_step."""
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=self._powers[0],
            beta2_power=self._powers[1],
            lr=tf.cast(learning_rate, variable.dtype),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )


class Updater:
    """Runs updates: forward, backward, clipping, Adam.

    Args:
        model: its trainable variables are updated.
        config: clipping, label smoothing, seed and how the step is compiled.
        precision: dtype of matrix products, float32 or bfloat16.
        shards: parts of a batch that are computed at once.

    Attributes:
        precision, shards: as given.
    """

    def __init__(
        self, model: Seq2Seq, config: TrainingConfig, precision: str = "float32", shards: int = 1
    ):
        self._model = model
        self.precision = precision
        self.shards = shards
        self._config = config
        self._optimizer = Adam(beta_2=0.98, epsilon=1e-9, name="adam")
        self._optimizer.build(model.trainable_variables)
        self._xla = config.compile == "xla"
        self._step = self.compiled(self.update)

    @property
    def variables(self) -> list[keras.Variable]:
        """The optimizer's state: moments, number of updates, learning rate."""
        return self._optimizer.variables

    def step(self, batch: Batch, number: int, learning_rate: float) -> tuple[tf.Tensor, tf.Tensor]:
        """Make update `number`.

        Returns:
            The mean loss of a token, in nats, and the gradient's norm before clipping. Where either
            is not finite, neither is the model any more.
        """
        self._model.dropout_key.set(self._config.seed, number)
        self._optimizer.learning_rate.assign(learning_rate)
        return self._step(batch.source_BS, batch.target_BT)

    def compile_for(
        self,
        shapes: Iterable[tuple[int, int, int]],
        report: Callable[[int], None] = lambda done: None,
    ) -> None:
        """Have the step compiled for shapes of batches, for several at once; nothing is learned.

        Each is compiled by an update of which no trace remains.

        Args:
            shapes: (rows, source length, target length without BOS) of each.
            report: told how many are done, after each.
        """
        before = [variable.numpy() for variable in self.variables]
        self._optimizer.learning_rate.assign(0.0)  # weights stay as they are; moments do not

        def update(shape: tuple[int, int, int]) -> None:
            rows, source, target = shape
            self._step(tf.fill([rows, source], UNK), tf.fill([rows, target + 1], UNK))

        for done, _ in enumerate(in_parallel(update, shapes), start=1):
            report(done)
        for variable, value in zip(self.variables, before, strict=True):
            variable.assign(value)

    def compiled(self, part: Callable) -> Callable:
        """Compile `loss`, `gradients` or `update` as the config says."""

        def traced(source_BS: tf.Tensor, target_BT: tf.Tensor) -> Any:
            with products_in(self.precision), fusing(self._config.compile == "auto"):
                return part(source_BS, target_BT)

        # One trace for all shapes; XLA still compiles each of the few that come.
        return tf.function(
            traced,
            input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2,
            jit_compile=self._xla,
            autograph=False,
        )

    def predictions(
        self, source_BS: tf.Tensor, target_BT: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the logits of a batch and their labels, most of those of padding left out."""
        memory = self._model.encode(source_BS, training=True)
        hidden = self._model.hidden(target_BT[:, :-1], memory, training=True)
        labels = target_BT[:, 1:]
        if not self._xla:  # it knows no shape that depends on values
            places = real_places(labels)
            hidden = tf.gather(tf.reshape(hidden, [-1, hidden.shape[-1]]), places)
            labels = tf.gather(tf.reshape(labels, [-1]), places)
        return self._model.logits(hidden), labels

    def loss(self, source_BS: tf.Tensor, target_BT: tf.Tensor) -> tf.Tensor:
        """Return the mean loss of a token, in nats."""

        # One function for all parts, so that XLA compiles its kernels once.
        @functools.partial(tf.function, autograph=False)
        def sums(source_BS: tf.Tensor, target_BT: tf.Tensor, *part: tf.Tensor) -> tuple:
            with part_of_batch(*part):
                logits, labels = self.predictions(source_BS, target_BT)
            return cross_entropy(logits, labels, self._config.label_smoothing)

        numbers = tf.unstack(tf.range(self.shards))
        sources, targets = ([x[n :: self.shards] for n in numbers] for x in (source_BS, target_BT))
        sizes = [tf.math.count_nonzero(source != PAD, dtype=tf.float32) for source in sources]
        shares = [tf.math.divide_no_nan(size, tf.add_n(sizes)) for size in sizes]
        totals, tokens = zip(*map(sums, sources, targets, numbers, shares), strict=True)
        return tf.add_n(totals) / tf.add_n(tokens)

    def gradients(
        self, source_BS: tf.Tensor, target_BT: tf.Tensor
    ) -> tuple[list[tf.Tensor], tf.Tensor, tf.Tensor]:
        """Return the gradient of the loss, clipped, its norm before that, and the loss."""
        with tf.GradientTape() as tape:
            loss = self.loss(source_BS, target_BT)
        # Embeddings' gradients come as slices with repeated rows, of which neither the norm nor
        # Adam's second moment would be right; as tensors the repeated rows are summed.
        gradients = tape.gradient(loss, self._model.trainable_variables)
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        return *tf.clip_by_global_norm(gradients, self._config.gradient_clip_norm), loss

    def update(self, source_BS: tf.Tensor, target_BT: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Update the model once; return what `step` does."""
        gradients, norm, loss = self.gradients(source_BS, target_BT)
        self._optimizer.apply(gradients, self._model.trainable_variables)
        return loss, norm
