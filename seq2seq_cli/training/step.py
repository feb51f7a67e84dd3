"""One update: loss, gradient, clipping, Adam."""

import functools
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import keras
import tensorflow as tf

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.special_tokens import PAD, UNK
from seq2seq_cli.training.adam import Adam
from seq2seq_cli.training.loss import cross_entropy


class Updater:
    """Updates a model by batches.

    Args:
        model: its trainable variables are updated.
        config: clipping, label smoothing, seed and how the update is compiled.
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
        self._compiled_update = self.compiled(self.update_weights)

    @property
    def variables(self) -> list[keras.Variable]:
        """The optimizer's state: moments, number of updates, learning rate."""
        return self._optimizer.variables

    def update(
        self, batch: Batch, number: int, learning_rate: float
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Make update `number`.

        Returns:
            The mean loss of a token, in nats, and the gradient's norm before clipping. Where either
            is not finite, neither is the model any more.
        """
        self._model.dropout_key.set(self._config.seed, number)
        self._optimizer.learning_rate.assign(learning_rate)
        return self._compiled_update(batch.source_BS, batch.target_BT)

    def update_weights(
        self, source_BS: tf.Tensor, target_BT: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Update the model once; return loss and norm as `update` does."""
        gradients, norm, loss = self.gradients(source_BS, target_BT)
        self._optimizer.apply(gradients, self._model.trainable_variables)
        return loss, norm

    def gradients(
        self, source_BS: tf.Tensor, target_BT: tf.Tensor
    ) -> tuple[list[tf.Tensor], tf.Tensor, tf.Tensor]:
        """Return the gradient of the loss, clipped, its norm before that, and the loss."""
        with self._computing():
            with tf.GradientTape() as tape:
                loss = self.loss(source_BS, target_BT)
            gradients = tape.gradient(loss, self._model.trainable_variables)
        # Embeddings' gradients come as slices with repeated rows, of which neither the norm nor
        # Adam's second moment would be right. A dense tensor sums the repeated rows.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        return *tf.clip_by_global_norm(gradients, self._config.gradient_clip_norm), loss

    def loss(self, source_BS: tf.Tensor, target_BT: tf.Tensor) -> tf.Tensor:
        """Return the mean loss of a token, in nats; the shards are computed at once."""

        # One function for all shards, so that XLA compiles its kernels once.
        @functools.partial(tf.function, autograph=False)
        def shard_loss(
            source_BS: tf.Tensor, target_BT: tf.Tensor, shard: tf.Tensor, share: tf.Tensor
        ) -> tuple[tf.Tensor, tf.Tensor]:
            with self._computing(shard=shard, share=share):
                memory = self._model.encode(source_BS, training=True)
                hidden_BTD = self._model.hidden(target_BT[:, :-1], memory, training=True)
                logits_BTV = self._model.logits(hidden_BTD)
                return cross_entropy(logits_BTV, target_BT[:, 1:], self._config.label_smoothing)

        numbers = tf.unstack(tf.range(self.shards))
        sources, targets = ([x[n :: self.shards] for n in numbers] for x in (source_BS, target_BT))
        sizes = [tf.math.count_nonzero(source != PAD, dtype=tf.float32) for source in sources]
        shares = [tf.math.divide_no_nan(size, tf.add_n(sizes)) for size in sizes]
        totals, tokens = zip(*map(shard_loss, sources, targets, numbers, shares), strict=True)
        return tf.add_n(totals) / tf.add_n(tokens)

    def compiled(self, part: Callable) -> Callable:
        """Compile `loss`, `gradients` or `update_weights` as the config says."""
        # One trace for all shapes; XLA still compiles each of the few that come.
        return tf.function(
            part,
            input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2,
            jit_compile=self._config.compile == "xla",
            autograph=False,
        )

    def _computing(self, **shard: tf.Tensor) -> AbstractContextManager[None]:
        fuse = self._config.compile == "auto"
        return computing(precision=self.precision, fuse=fuse, **shard)

    def compile_for(
        self,
        shapes: Iterable[tuple[int, int, int]],
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        """Have the update compiled for shapes of batches, for several at once; nothing is learned.

        Each is compiled by an update of which no trace remains.

        Args:
            shapes: (rows, source length, target length without BOS) of each.
            progress: told how many are done, after each.
        """
        before = [variable.numpy() for variable in self.variables]
        self._optimizer.learning_rate.assign(0.0)  # weights stay as they are; moments do not

        def update(shape: tuple[int, int, int]) -> None:
            rows, source, target = shape
            batch = tf.fill([rows, source], UNK), tf.fill([rows, target + 1], UNK)
            self._compiled_update(*batch)

        for done, _ in enumerate(in_parallel(update, shapes), start=1):
            progress(done)
        for variable, value in zip(self.variables, before, strict=True):
            variable.assign(value)
