"""Trainings whose updates or validations compute nothing, for what happens around them."""

from pathlib import Path

import numpy as np
import pytest
from conftest import tiny_config

from seq2seq_cli.config import Config
from seq2seq_cli.evaluation.metrics import Scores
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.validation import Faults, Translated, Validator

SMALLEST = {
    "model__kind": "decoder_only",
    "model__layers": 1,
    "tokenizer__kind": "words",  # in words the sentences are of one length
}
"""Settings of the training that is traced in the shortest time."""

SCORES = Scores(12.5, "signature", 30.0, "signature", 40, 40)


def validate_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the dev loss and the scores be constants, and let no attention be computed."""
    monkeypatch.setattr(Validator, "translate", lambda self, show: Translated(SCORES, [], Faults()))
    monkeypatch.setattr(Validator, "loss", lambda self, show, averaged=True: 2.0)
    monkeypatch.setattr(Validator, "attention", lambda self: None)
    monkeypatch.setattr(Validator, "attention_maps", lambda self: [])


def compute_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let updates add 1 to the weights, and let all losses and scores be constants."""

    def update(self, batches, number, learning_rate):
        for variable in self._weights:
            variable.assign(variable + 1)
        return np.float32(2.0), np.float32(1.0)

    monkeypatch.setattr(Updater, "update", update)
    validate_nothing(monkeypatch)


def finished_training(corpus: Path, folder: Path) -> tuple[Config, Path]:
    """Train for four updates that compute nothing, on a copy of the corpus.

    Returns:
        The config, and the folder of the run.
    """
    copy = folder / "copy.tsv"
    copy.write_bytes(corpus.read_bytes())
    config = tiny_config(copy, training__steps=4, training__validate_every_steps=2)
    with pytest.MonkeyPatch.context() as patch:
        compute_nothing(patch)
        return config, folder / train(config, ignore, name=str(folder / "run")).run
