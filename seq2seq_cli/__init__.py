"""A small trainer for sequence-to-sequence translation, on TensorFlow and Keras 3."""

from seq2seq_cli.flags import set_flag

# Sums that XLA leaves to the library YNNPACK are made ready when they first run, by code that two
# threads must not run at once: where they do, the process ends by a segmentation fault. XLA reads
# the flag when it first compiles, so that TensorFlow may have been imported before.
set_flag("XLA_FLAGS", "--xla_disable_hlo_passes=dot-library-rewriter")
