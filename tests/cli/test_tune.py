"""The command `recipe tune`."""

import importlib.util
import json

import pytest
from conftest import invoke, s2s

from seq2seq_cli.runtime import tensorflow as tensorflow_import

SPACE = '[space]\n"model.dropout" = {low = 0.1, high = 0.2}\n'


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.toml", "new"], 2, "SPACE none.toml: no such file"),
        (["wrong.toml", "new"], 2, "wrong.toml: [space]: unknown key 'model.dropot'"),
        (["space.toml", "new", "--steps", "0"], 2, "--steps: training.steps must be a whole"),
        (["space.toml", "new", "--trials", "0"], 2, "--trials"),
        (["space.toml", "new"], 2, "needs optuna. Install it: pip install 's2s[tune]'"),
    ],
)
def test_wrong_input_is_refused_at_once_and_nothing_is_written(
    arguments, code, message, workdir, monkeypatch
):
    def imported(*args) -> None:
        raise AssertionError("TensorFlow was imported")

    find_spec = importlib.util.find_spec
    monkeypatch.setattr(tensorflow_import, "import_tensorflow", imported)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "optuna" else find_spec(name)
    )
    (workdir / "space.toml").write_text(SPACE)
    (workdir / "wrong.toml").write_text(SPACE.replace("dropout", "dropot"))
    found, out, err = s2s("recipe", "tune", *arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert sorted(path.name for path in workdir.iterdir()) == ["space.toml", "wrong.toml"]


def test_trials_are_a_table_and_json(corpus, workdir):
    (workdir / "space.toml").write_text(SPACE)
    sizes = ["kind=decoder_only", "layers=1", "units=8", "heads=2", "inner_units=8"]
    settings = [f"--set=model.{size}" for size in sizes]
    settings += ["--set=tokenizer.kind=words", "--set=training.compile=graph"]
    settings += ["--set=data.dev_pairs=20", "--set=data.test_pairs=20"]
    options = ["--data", str(corpus), "--steps", "2", "--trials", "1", "--device", "cpu", "--quiet"]
    command = ["recipe", "tune", "space.toml", "tuned", *options, *settings]
    (line,) = invoke(*command, "--json")
    found = json.loads(line)
    (trial,) = found["trials"]
    assert (found["best"], trial["number"], trial["state"]) == (0, 0, "done")
    lines = invoke(*command)
    assert any("model.dropout" in line for line in lines)
    assert any("done" in line and f"{trial['dev_bleu']:.2f}" in line for line in lines)
