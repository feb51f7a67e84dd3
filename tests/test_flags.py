import os
import subprocess
import sys

import pytest

from seq2seq_cli.flags import set_flag


def test_compiled_code_does_not_use_ynnpack():
    code = """if True:
        import tensorflow as tf
        import seq2seq_cli.training.step  # by a program that imported TensorFlow before

        def sums(x):
            return tf.reduce_sum(tf.reduce_max(x, axis=1), axis=1)

        compiled = tf.function(sums, jit_compile=True, autograph=False)
        ir = compiled.experimental_get_compiler_ir(tf.ones([288, 64, 125]))
        print(ir(stage="optimized_hlo"))
    """
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "reduce" in done.stdout
    assert "ynn" not in done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, "--a=1"), ("--b=2", "--a=1 --b=2"), ("--b=2 --a=1", "--b=2 --a=1")],
)
def test_flags_of_the_user_are_kept_and_come_last(monkeypatch, before, after):
    monkeypatch.delenv("FLAGS", raising=False)
    if before is not None:
        monkeypatch.setenv("FLAGS", before)
    set_flag("FLAGS", "--a=1")
    assert os.environ["FLAGS"] == after
