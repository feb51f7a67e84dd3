"""Adam's update of one weight, in one pass over memory."""

import tensorflow as tf


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
