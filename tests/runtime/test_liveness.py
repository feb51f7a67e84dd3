import tensorflow as tf

from seq2seq_cli.runtime.liveness import peak_bytes

KILOBYTE = [256]  # float32


def peak(build) -> int:
    """Return the peak of a graph, in kilobytes."""
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, KILOBYTE)
        return peak_bytes(build(x)) // 1024


def test_a_tensor_lives_until_it_is_read_for_the_last_time():
    # cumsum writes a new tensor; so two of them live at a time, however long the chain is.
    assert peak(lambda x: [tf.cumsum(tf.cumsum(tf.cumsum(x)))]) == 2

    def kept(x):
        first = tf.cumsum(x)
        second = tf.cumsum(first)
        return [tf.cumsum(second) + first]

    assert peak(kept) == 3


def test_a_sum_is_written_over_an_input_that_nothing_reads_later():
    assert peak(lambda x: [tf.exp(-tf.exp(tf.cumsum(x)))]) == 1

    def read_later(x):
        first = tf.cumsum(x)
        return [-first, first]

    assert peak(read_later) == 2


def test_a_reshape_takes_no_memory():
    def reshaped(x):
        return [tf.cumsum(tf.reshape(tf.identity(tf.cumsum(x)), [2, 128]))]

    assert peak(reshaped) == 2


def test_unused_operations_are_not_computed():
    def unused(x):
        tf.tile(x, [100])
        return [tf.cumsum(x)]

    assert peak(unused) == 1


def test_an_unknown_dimension_has_the_given_length():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 256])
        results = [tf.negative(x)]
        assert peak_bytes(results, unknown_length=1) == 1024
        assert peak_bytes(results, unknown_length=7) == 7 * 1024
