"""Adam's update of one weight, in one pass over memory."""

import tensorflow as tf

from seq2seq_cli.models.ops.compute import fused
from seq2seq_cli.models.ops.stochastic_rounding import round_stochastically


def apply_adam(
    variable: tf.Variable,
    moments: tuple[tf.Variable, tf.Variable],
    gradient: tf.Tensor,
    learning_rate: tf.Tensor,
    betas: tuple[float, float],
    powers: tuple[tf.Tensor, tf.Tensor],
    epsilon: float,
) -> None:
    """Update a weight and its moments: Kingma and Ba (2015), algorithm 1.

    Args:
        variable: the weight.
        moments: m and v, of its shape.
        gradient: g, dense.
        learning_rate: alpha, of the weight's dtype.
        betas: beta_1 and beta_2.
        powers: beta_1^t and beta_2^t.
        epsilon: added to the root of v before the bias correction ("epsilon hat").
    """
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=moments[0].handle,
        v=moments[1].handle,
        beta1_power=powers[0],
        beta2_power=powers[1],
        lr=learning_rate,
        beta1=betas[0],
        beta2=betas[1],
        epsilon=epsilon,
        grad=gradient,
    )


@fused
def adam_with_bfloat16_moments(
    weight: tf.Tensor,
    moments: tuple[tf.Tensor, tf.Tensor],
    gradient: tf.Tensor,
    learning_rate: tf.Tensor,
    betas: tuple[float, float],
    powers: tuple[tf.Tensor, tf.Tensor],
    epsilon: float,
    keys_22: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the weight, m and v after the update that `apply_adam` makes.

    The arithmetic is that of float32. The moments are rounded stochastically after it.

    Args:
        weight: float32.
        moments: m and v, bfloat16.
        gradient: see `apply_adam`, as for the next four.
        learning_rate: alpha.
        betas: beta_1 and beta_2.
        powers: beta_1^t and beta_2^t.
        epsilon: "epsilon hat".
        keys_22: int32, a key for each moment; see `round_stochastically`.
    """
    m, v = (tf.cast(moment, tf.float32) for moment in moments)
    m = betas[0] * m + (1 - betas[0]) * gradient
    v = betas[1] * v + (1 - betas[1]) * tf.square(gradient)
    rate = learning_rate * tf.sqrt(1 - powers[1]) / (1 - powers[0])
    weight = weight - rate * m / (tf.sqrt(v) + epsilon)
    return weight, round_stochastically(m, keys_22[0]), round_stochastically(v, keys_22[1])
