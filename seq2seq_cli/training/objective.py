"""The loss of a batch and its gradient, computed in shards."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import keras
import tensorflow as tf

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.training.exchange import Share, pairwise_sum
from seq2seq_cli.training.loss import cross_entropy, divergence
from seq2seq_cli.training.tokens import Tokens, count_tokens
from seq2seq_cli.training.word_dropout import SOURCE, TARGET, drop_words


class Objective:
    """The training loss of a model and its gradient. Shards of a batch are computed at once.

    Args:
        model: computes the logits.
        config: label smoothing, R-Drop, word dropout and compilation.
        weights: those that are trained.
        precision: dtype of matrix products, float32 or bfloat16.
        shards: how many parts, or shares of a part, are computed at once.
        share: the shards that this worker computes, if there are several workers.
        devices: the devices of this process, which share the shards; none for the default one.
    """

    def __init__(
        self,
        model: Seq2Seq,
        config: TrainingConfig,
        weights: Sequence[keras.Variable],
        precision: str,
        shards: int,
        share: Share | None,
        devices: Sequence[str],
    ):
        self._model, self._config, self._weights = model, config, weights
        self._precision, self._shards = precision, shards
        self._share, self._devices = share, devices

    def loss(
        self, *ids: tf.Tensor, tokens: Tokens | None = None, chosen: slice | None = None
    ) -> tf.Tensor:
        """Return the mean loss per token, in nats.

        Args:
            ids: `source_BS` and `target_BT` of each part, as `Updater.groups` yields them. If there
                are more shards than parts, each part is cut into shards. All are computed at once.
            tokens: the tokens of the whole update, if these parts are only a share of it. The
                result is then their share of the mean.
            chosen: the shards to compute; None for all. Any other value needs `tokens`.
        """
        losses = self._shard_losses(ids, tokens, chosen or slice(None))
        return pairwise_sum([shard_loss() for shard_loss in losses])

    def gradients(
        self, *ids: tf.Tensor, tokens: Tokens | None = None, chosen: slice | None = None
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """Return the gradient of the loss, and the loss. The arguments are those of `loss`.

        With several workers, each gets its part. The parts sum to the whole gradient and loss. The
        order of the sums is that of `pairwise_sum`, so it does not depend on the workers.
        """
        if self._devices and chosen is None:
            return self._gradients_of_devices(ids, tokens or Tokens.of_ids(*ids))
        found = []
        with self.computing():
            for shard_loss in self._shard_losses(ids, tokens, chosen or self._chosen):
                with tf.GradientTape() as tape:
                    loss = shard_loss()
                gradients = tape.gradient(loss, self._weights)
                # Gradients of embeddings come as slices with repeated rows, whose norm and second
                # moment would be wrong. A dense tensor sums the repeated rows.
                found.append([*map(tf.convert_to_tensor, gradients), loss])
        *gradients, loss = map(pairwise_sum, zip(*found, strict=True))
        return gradients, loss

    def _gradients_of_devices(
        self, ids: Sequence[tf.Tensor], tokens: Tokens
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """Return the sums of what the devices of this process compute."""
        found = []
        for number, device in enumerate(self._devices):
            with tf.device(device):
                chosen = slice(number, None, len(self._devices))
                gradients, loss = self.gradients(*ids, tokens=tokens, chosen=chosen)
            found.append([*gradients, loss])
        *gradients, loss = map(pairwise_sum, zip(*found, strict=True))
        return gradients, loss

    @property
    def _chosen(self) -> slice:
        """The shards that this worker computes."""
        return slice(self._share.worker, None, self._share.workers) if self._share else slice(None)

    def _shard_losses(
        self, ids: Sequence[tf.Tensor], tokens: Tokens | None, chosen: slice
    ) -> Iterator[Callable[[], tf.Tensor]]:
        """Yield functions that return the loss of each chosen shard, as a share of the mean."""
        tokens = tokens or Tokens.of_ids(*ids)
        cuts = max(1, self._shards // (len(ids) // 2))
        sources, targets = (
            [x[n::cuts] for x in side for n in range(cuts)] for side in (ids[::2], ids[1::2])
        )
        numbers = tf.unstack(tf.range(len(sources)))
        shares = [
            tf.math.divide_no_nan(count_tokens(source_BS), tokens.source) for source_BS in sources
        ]
        # One function for several shards, so that they are traced and compiled once.
        several = len(sources) > 1
        compute: Callable[..., tf.Tensor] = self._shard_loss
        if several:
            compute = tf.function(compute, autograph=False)
        every = [sources, targets, numbers, shares]
        for shard in zip(*(values[chosen] for values in every), strict=True):
            yield functools.partial(compute, *shard, tokens.target)

    def _shard_loss(
        self,
        source_BS: tf.Tensor,
        target_BT: tf.Tensor,
        shard: tf.Tensor,
        share: tf.Tensor,
        target_tokens: tf.Tensor,
    ) -> tf.Tensor:
        """Return a shard's share of the mean loss per token.

        Args:
            source_BS: the source ids of its pairs.
            target_BT: the target ids of its pairs.
            shard: its number in the update, which determines dropout.
            share: of the update's source tokens.
            target_tokens: number of tokens of the update to predict.
        """
        config, model, key = self._config, self._model, self._model.dropout_key
        with self.computing(shard=shard, share=share):
            once_BT = target_BT[:, 1:]
            if config.r_drop:  # each pair twice, with different dropout
                source_BS = tf.concat([source_BS, source_BS], 0)
                target_BT = tf.concat([target_BT, target_BT], 0)
            rate, first_tag = config.source_word_dropout, model.first_tag
            source_BS = drop_words(source_BS, rate, key, SOURCE, first_tag)
            inputs_BT = drop_words(target_BT[:, :-1], config.target_word_dropout, key, TARGET)
            memory = model.encode(source_BS, training=True)
            logits_BTV = model.logits(model.hidden(inputs_BT, memory, training=True))
            total, _ = cross_entropy(logits_BTV, target_BT[:, 1:], config.label_smoothing)
            if config.r_drop:
                total += config.r_drop / 2 * divergence(logits_BTV, once_BT)
                total /= 2
            return total / target_tokens

    def computing(self, **shard: tf.Tensor) -> AbstractContextManager[None]:
        """Compute as the config requires in a block; `shard` has further fields of Compute."""
        # A kernel of XLA cannot read a weight of another device.
        fuse = self._config.compile == "auto" and not self._devices
        recompute = self._config.recompute
        return computing(precision=self._precision, fuse=fuse, recompute=recompute, **shard)
