"""tf.data without its autotuning."""

import tensorflow as tf


def without_autotune(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Return the data set without its autotuning thread.

    That thread is sometimes not woken when an iterator ends, and the end then takes up to twenty
    seconds.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
