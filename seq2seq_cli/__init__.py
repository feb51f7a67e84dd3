"""A small trainer for sequence-to-sequence translation, on TensorFlow and Keras 3."""
