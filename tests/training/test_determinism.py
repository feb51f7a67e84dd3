"""The same config, seed and data give the same bits, as docs/reliability.md promises."""

import itertools

import pytest
from conftest import tiny_config

from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.naming import run_path
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train

TRIED = [
    pytest.param(*both, marks=[] if both == ("auto", "bfloat16") else pytest.mark.slow)
    for both in itertools.product(["graph", "auto", "xla"], ["float32", "bfloat16"])
]


@pytest.mark.usefixtures("workdir")
@pytest.mark.parametrize(("compiled", "precision"), TRIED)
def test_the_same_seed_gives_the_same_bits(compiled, precision, corpus):
    settings = {"training__precision": precision, "training__compile": compiled}
    # In words the sentences are of one length, for which an update is compiled once.
    config = tiny_config(
        corpus,
        tokenizer__kind="words",
        training__steps=3,
        training__validate_every_steps=3,
        training__shards=1 if compiled == "xla" else 2,
        **settings,
    )
    saved = []
    for name in ("first", "second"):
        train(config, ignore, name=name)
        (newest,) = checkpoints.checkpoint_folders(Run(run_path(name)).checkpoints)
        saved.append({path.name: path.read_bytes() for path in newest.glob("*.safetensors")})
    assert saved[0] == saved[1]
    assert len(saved[0]) == 2
