"""The orthogonal matrix that is nearest to a given one, approximately."""

import tensorflow as tf

from seq2seq_cli.models.ops.compute import fused

_A, _B, _C = 3.4445, -4.7750, 2.0315
_STEPS = 5


def orthogonalise(x: tf.Tensor, precision: str = "float32") -> tf.Tensor:
    """Return about U V^T for matrices x = U S V^T: their singular values become about 1.

    Five steps of a Newton-Schulz iteration, X = P X with P = a I + b A + c A^2 and A = X X^T, with
    the coefficients of Jordan et al. (2024), "Muon: an optimizer for hidden layers in neural
    networks". The final singular values are between 0.7 and 1.2, except very small ones.

    Args:
        x: float32, matrices in the last two axes. A matrix of zeros stays one.
        precision: dtype of the products, float32 or bfloat16.
    """
    smaller, larger = sorted(x.shape[-2:])
    tall = x.shape[-2] > x.shape[-1]  # then A is X^T X, of the smaller side
    norm = tf.sqrt(tf.reduce_sum(x**2, axis=[-2, -1], keepdims=True))
    x = tf.cast(x / (norm + 1e-7), precision)
    # If the sides differ widely, products of the smaller side are cheaper. In bfloat16 they would
    # lose the small singular values.
    if larger > 2 * smaller and precision == "float32":
        return _by(_product_of_polynomials(_gram(x, tall)), x, tall)
    for _ in range(_STEPS):
        x = _by(_polynomial(_gram(x, tall)), x, tall)
    return tf.cast(x, tf.float32)


def _product_of_polynomials(a: tf.Tensor) -> tf.Tensor:
    """Return the product of the P of all steps, which follows from the first A: A' = P A P."""
    product = p = _polynomial(a)
    for _ in range(1, _STEPS):
        a = tf.matmul(tf.matmul(p, a), p)
        p = _polynomial(a)
        product = tf.matmul(p, product)
    return product


def _polynomial(a: tf.Tensor) -> tf.Tensor:
    return _sum_of_powers(a, tf.matmul(a, a))


@fused
def _sum_of_powers(a: tf.Tensor, square: tf.Tensor) -> tf.Tensor:
    return _A * tf.eye(a.shape[-1], dtype=a.dtype) + _B * a + _C * square


def _gram(x: tf.Tensor, tall: bool) -> tf.Tensor:
    return tf.matmul(x, x, transpose_a=tall, transpose_b=not tall)


def _by(factor: tf.Tensor, x: tf.Tensor, tall: bool) -> tf.Tensor:
    return tf.matmul(x, factor) if tall else tf.matmul(factor, x)
