"""A corpus of any size, written as a data set of TensorFlow Datasets on disk."""
