"""The command `ablate`."""

import pytest
from conftest import s2s

from seq2seq_cli.runtime import tensorflow as tensorflow_import


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["taken/runs"], 7, "taken/runs: cannot be written: Not a directory. Check the folder"),
        (["new", "--data", "none.tsv"], 3, "none.tsv: no such file"),
        (["new", "--model", "rnn,cnn"], 2, "--model: model.kind must be one of 'rnn', "),
        (["new", "--attention", "dot,flash"], 2, "--attention: model.attention must be one of"),
        (["new", "--model", "transformer", "--attention", "dot"], 2, "--attention is for rnn"),
        (["new", "--steps", "0"], 2, "--steps: training.steps must be a whole number from 1"),
    ],
)
def test_wrong_input_is_refused_at_once_and_nothing_is_written(
    arguments, code, message, workdir, monkeypatch
):
    def imported(warn) -> None:
        raise AssertionError("TensorFlow was imported")

    monkeypatch.setattr(tensorflow_import, "import_tensorflow", imported)
    (workdir / "taken").write_text("a file")
    found, out, err = s2s("ablate", *arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert [path.name for path in workdir.iterdir()] == ["taken"]
