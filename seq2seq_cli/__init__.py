"""A small trainer for sequence-to-sequence translation, on TensorFlow and Keras 3.

The command line is `s2s`. From Python, a trained run translates like this:

    import seq2seq_cli as s2s

    model = s2s.load("runs/001-rnn-additive")  # without a name, the newest run
    model.translate("I like apples.")

This import is fast: `load` imports TensorFlow.
"""

from typing import TYPE_CHECKING, Any

from seq2seq_cli.flags import set_flag

if TYPE_CHECKING:
    from seq2seq_cli.python import Attention, Model, ScoredTranslation, load
else:

    def __getattr__(name: str) -> Any:
        """Import the Python interface at its first use."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from seq2seq_cli import python

        return getattr(python, name)


__all__ = ["Attention", "Model", "ScoredTranslation", "load"]

# XLA leaves some sums to the library YNNPACK, whose initialisation at the first use is not
# thread-safe: two threads at once end the process with a segmentation fault. XLA reads the flag
# when it first compiles, so TensorFlow may already have been imported.
set_flag("XLA_FLAGS", "--xla_disable_hlo_passes=dot-library-rewriter")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
