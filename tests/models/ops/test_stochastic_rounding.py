import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.ops.stochastic_rounding import round_stochastically

VALUES = np.float32([1.001, -1.001, 3.14159, 1e-9, -2.5e-41, 6e4, 0.0])


def round_by(x: np.ndarray, key: tuple[int, int] = (1, 2), fuse: bool = False) -> np.ndarray:
    compute = tf.function(round_stochastically, autograph=False)
    with computing(fuse=fuse):
        return compute(tf.constant(x), tf.constant(key, tf.int32)).numpy()


def neighbours(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bfloat16 numbers nearest to x, the first nearer to 0, as float32."""
    low = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    return low, ((x.view(np.uint32) & 0xFFFF0000) + 0x10000).view(np.float32)


@pytest.mark.parametrize("fuse", [False, True])
def test_the_mean_of_many_roundings_is_the_number(fuse):
    many = np.repeat(VALUES[:, np.newaxis], 40_000, axis=1)
    found = round_by(many, fuse=fuse).astype(np.float64)
    low, high = neighbours(VALUES)
    step = np.abs(high.astype(np.float64) - low)
    error = np.abs(found.mean(axis=1) - VALUES.astype(np.float64))
    assert (error < 0.5 * step * 5 / np.sqrt(many.shape[1])).all()


def test_the_mean_over_many_keys_is_the_number():
    x = np.full(100, 1.001, np.float32)
    keys = np.random.default_rng(0).integers(-(2**31), 2**31, (100, 2))
    found = np.mean([round_by(x, tuple(key)).astype(np.float64) for key in keys], axis=0)
    # The standard deviation of one rounding is at most half of 2^-7, the distance of neighbours.
    np.testing.assert_allclose(found, 1.001, rtol=0, atol=5 * 2**-8 / np.sqrt(100))


def test_a_number_becomes_one_of_its_neighbours_and_bfloat16_numbers_stay():
    x = np.random.default_rng(0).normal(size=(50, 40)).astype(np.float32)
    found = round_by(x)
    assert found.dtype == ml_dtypes.bfloat16
    low, high = neighbours(x)
    is_low, is_high = found.astype(np.float32) == low, found.astype(np.float32) == high
    assert (is_low ^ is_high).all()
    assert 0.4 < is_low.mean() < 0.6
    np.testing.assert_array_equal(round_by(found.astype(np.float32), (5, 6)), found)


def test_infinity_and_nan_are_unchanged():
    found = round_by(np.float32([np.inf, -np.inf, np.nan])).astype(np.float32)
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan])


def test_the_key_determines_the_bits_whether_xla_compiles_or_not():
    x = np.random.default_rng(0).normal(size=(33, 7)).astype(np.float32)
    first = round_by(x)
    np.testing.assert_array_equal(round_by(x), first)
    np.testing.assert_array_equal(round_by(x, fuse=True), first)
    for other in ((2, 2), (1, 3)):
        assert 0.1 < (round_by(x, other) != first).mean() < 0.6


def test_neighbouring_numbers_are_rounded_independently():
    x = np.full(100_000, 1 + 2**-8, np.float32)  # in the middle of two neighbours
    up = round_by(x).astype(np.float32) > 1
    for distance in (1, 2, 7, 256):
        both = np.mean(up[distance:] == up[:-distance])
        assert abs(both - 0.5) < 0.01
