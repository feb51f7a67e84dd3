"""Functions that are computed again for their gradient."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from seq2seq_cli.models.ops.compute import computing, current


def recomputed(function: Callable[..., Sequence[tf.Tensor]], *inputs: tf.Tensor) -> list[tf.Tensor]:
    """Return the results of a function, and keep nothing else for its gradient.

    The gradient computes the function again, with the same dropout masks. That needs the memory of
    the inputs instead of all that the function computes, and more time (Chen et al. 2016,
    "Training deep nets with sublinear memory cost").

    Args:
        function: it may use any weights. Tensors that need a gradient must be among its inputs.
        inputs: floating-point tensors.
    """
    settings = current()._replace(recompute=False)._asdict()

    def again(*inputs: tf.Tensor) -> Sequence[tf.Tensor]:
        # The gradient calls this outside of the block of code that has these settings.
        with computing(**settings):
            return function(*inputs)

    return [*tf.recompute_grad(again)(*inputs)]
