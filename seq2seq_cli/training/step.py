"""One update: gradient, clipping, optimizer."""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import keras
import tensorflow as tf

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.special_tokens import UNK
from seq2seq_cli.training.average import AveragedWeight, WeightAverage
from seq2seq_cli.training.exchange import Share
from seq2seq_cli.training.objective import Objective
from seq2seq_cli.training.optimizers import make_optimizer
from seq2seq_cli.training.parts import trained_weights
from seq2seq_cli.training.tokens import Tokens


class Updater:
    """Updates a model by batches, each of one or several parts.

    Args:
        model: its weights are updated, except frozen parts.
        config: optimizer, average, clipping, label smoothing, seed and compilation.
        precision: dtype of matrix products, float32 or bfloat16.
        shards: how many parts, or shares of a part, are computed at once.
        share: the shards that this worker computes, if there are several workers.
        devices: the devices of this process, which share the shards; none for the default one.

    Attributes:
        precision, shards: as given.
        objective: computes the loss and its gradient.
    """

    def __init__(
        self,
        model: Seq2Seq,
        config: TrainingConfig,
        precision: str = "float32",
        shards: int = 1,
        share: Share | None = None,
        devices: Sequence[str] = (),
    ):
        self._model = model
        self.precision = precision
        self.shards = shards
        self._config = config
        self._share = share
        self._xla = config.compile == "xla"
        self._weights = trained_weights(config, model)
        self.objective = Objective(
            model, config, self._weights, precision, shards, share=share, devices=devices
        )
        self._optimizer = make_optimizer(config, model, self._weights, precision)
        self._average = WeightAverage(model.trainable_variables, config.ema) if config.ema else None
        self._at_once = config.parts_at_once(shards)
        self._accumulates = config.parts > self._at_once
        apply = functools.partial(tf.function, jit_compile=self._xla, autograph=False)
        if self._accumulates:
            self._sums = [tf.Variable(tf.zeros(v.shape)) for v in self._weights]
            self._compiled_accumulate = self.compiled(self._accumulate, scalars=2)
            self._compiled_update_by_sums = apply(self._update_by_sums)
            self._compiled_flat_sums = apply(self._flat_sums)
        elif share:
            self._compiled_flat_gradients = self.compiled(self._flat_gradients, scalars=2)
        else:
            self._compiled_update = self.compiled(self._update_weights)
        self._compiled_update_by_flat = apply(self._update_by_flat)

    @property
    def variables(self) -> list[keras.Variable]:
        """The optimizer's state: moments, number of updates, learning rate."""
        return self._optimizer.variables

    @property
    def averages(self) -> list[AveragedWeight]:
        """Averages of the weights, by the weights' paths; empty without `training.ema`."""
        return self._average.averages if self._average else []

    def averaged(self) -> AbstractContextManager[None]:
        """Have the model use the averages in a block, if there are any."""
        return self._average.in_place() if self._average else nullcontext()

    def update(
        self, batches: Sequence[Batch], number: int, learning_rate: float
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Make update `number` by a batch.

        Args:
            batches: its parts, at most `training.parts`.
            number: of the update.
            learning_rate: of the update.

        Returns:
            The mean loss per token, in nats, and the gradient's norm before clipping. If either is
            not finite, the weights are no longer finite.
        """
        seed, key = self._config.seed, self._model.dropout_key
        self._optimizer.learning_rate.assign(learning_rate)
        groups = self.groups(batches)
        if not self._accumulates:
            key.set(seed, number)
            if not self._share:
                return self._compiled_update(*next(groups))
            flat = self._compiled_flat_gradients(*next(groups), *Tokens.of(batches))
            return self._compiled_update_by_flat(self._share.exchange(flat))
        tokens = Tokens.of(batches)
        losses = []
        for group, ids in enumerate(groups):
            key.set(seed, number * self._config.parts + group)
            losses.append(self._compiled_accumulate(*ids, *tokens))
        if not self._share:
            return tf.add_n(losses), self._compiled_update_by_sums()
        flat = self._compiled_flat_sums(tf.add_n(losses))
        return self._compiled_update_by_flat(self._share.exchange(flat))

    def groups(self, batches: Sequence[Batch]) -> Iterator[tuple[tf.Tensor, ...]]:
        """Yield `source_BS` and `target_BT` of the parts that are computed together."""
        for first in range(0, len(batches), self._at_once):
            ids = [ids for batch in batches[first : first + self._at_once] for ids in batch[:2]]
            empty = [tf.zeros_like(side) for side in ids[:2]]  # all PAD, which adds nothing
            missing = self._at_once - len(ids) // 2
            yield *ids, *empty * missing

    def _update_weights(self, *ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Update the model by all parts of a batch, as `groups` yields them.

        It returns the loss and the norm, like `update`.
        """
        gradients, loss = self.objective.gradients(*ids)
        return loss, self._apply(gradients)

    def _accumulate(self, *arguments: tf.Tensor) -> tf.Tensor:
        """Add the gradient of a group of parts to the sums of an update.

        Args:
            arguments: those that `groups` yields, then the Tokens of the update.

        Returns:
            The group's share of the loss.
        """
        gradients, loss = self._gradients(*arguments)
        for total, gradient in zip(self._sums, gradients, strict=True):
            total.assign_add(gradient)
        return loss

    def _gradients(self, *arguments: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
        *ids, source_tokens, target_tokens = arguments
        return self.objective.gradients(*ids, tokens=Tokens(source_tokens, target_tokens))

    def _update_by_sums(self) -> tf.Tensor:
        """Update the model by the sums, and clear them; return the norm as `update` does."""
        return self._apply(self._taken_sums())

    def _flat_gradients(self, *arguments: tf.Tensor) -> tf.Tensor:
        """Return this worker's part of the gradient and the loss, as one vector.

        Args:
            arguments: the arguments of `_accumulate`.
        """
        gradients, loss = self._gradients(*arguments)
        return _flat(gradients, loss)

    def _flat_sums(self, loss: tf.Tensor) -> tf.Tensor:
        """Return the sums and this worker's part of the loss as one vector. Clear the sums."""
        return _flat(self._taken_sums(), loss)

    def _update_by_flat(self, flat: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Update the model by a gradient and a loss in one vector. Returns the same as `update`."""
        shapes = [weight.shape for weight in self._weights]
        *gradients, loss = tf.split(flat, [*map(math.prod, shapes), 1])
        shaped = map(tf.reshape, gradients, shapes)
        return tf.reshape(loss, []), self._apply([*shaped])

    def _taken_sums(self) -> list[tf.Tensor]:
        gradients = [tf.identity(total) for total in self._sums]
        for total in self._sums:
            total.assign(tf.zeros_like(total))
        return gradients

    def _apply(self, gradients: list[tf.Tensor]) -> tf.Tensor:
        """Update the model by a gradient, clipped; return its norm before that."""
        gradients, norm = tf.clip_by_global_norm(gradients, self._config.gradient_clip_norm)
        with self.objective.computing():
            self._optimizer.apply(gradients, self._weights)
        if self._average:
            self._average.update(self._optimizer.iterations)
        return norm

    def compiled(self, part: Callable, scalars: int = 0) -> Callable:
        """Compile a part of an update as the config requires.

        Args:
            part: a function of the values that `groups` yields, such as those of Objective.
            scalars: the number of float32 arguments that follow them.
        """
        # One trace serves all shapes. XLA still compiles for each of the few shapes.
        ids = [tf.TensorSpec([None, None], tf.int32)] * 2 * self._at_once
        return tf.function(
            part,
            input_signature=[*ids, *[tf.TensorSpec([], tf.float32)] * scalars],
            jit_compile=self._xla,
            autograph=False,
        )

    def compile_for(
        self,
        shapes: Iterable[tuple[int, int, int]],
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        """Compile the update for batch shapes, several in parallel.

        Each shape is compiled by an update whose effects are undone.

        Args:
            shapes: (rows, source length, target length without BOS) of each.
            progress: called after each shape, with the number of compiled shapes.
        """
        state = [*self.variables, *self.averages]
        before = [variable.numpy() for variable in state]
        self._optimizer.learning_rate.assign(0.0)  # the weights do not change, but the moments do

        def update(shape: tuple[int, int, int]) -> None:
            rows, source, target = shape
            part = tf.fill([rows, source], UNK), tf.fill([rows, target + 1], UNK)
            if self._accumulates:
                self._compiled_accumulate(*part * self._at_once, 1.0, 1.0)
            elif self._share:
                self._compiled_flat_gradients(*part * self._at_once, 1.0, 1.0)
            else:
                self._compiled_update(*part * self._at_once)

        for done, _ in enumerate(in_parallel(update, shapes), start=1):
            progress(done)
        if self._accumulates:
            self._compiled_update_by_sums()
        if self._share:  # without an exchange, because the others may not be ready
            size = sum(math.prod(weight.shape) for weight in self._weights)
            self._compiled_update_by_flat(tf.zeros([size + 1]))
        for variable, value in zip(state, before, strict=True):
            variable.assign(value)


def _flat(gradients: Sequence[tf.Tensor], loss: tf.Tensor) -> tf.Tensor:
    return tf.concat([tf.reshape(values, [-1]) for values in [*gradients, loss]], 0)
