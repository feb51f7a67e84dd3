"""Trainings whose updates or validations compute nothing, for what happens around them."""

import numpy as np
import pytest

from seq2seq_cli.evaluation.metrics import Scores
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.validation import Translated, Validator

SCORES = Scores(12.5, "signature", 30.0, "signature", 40, 40)


def validate_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the dev loss and the scores be constants, and let no attention be computed."""
    monkeypatch.setattr(Validator, "translate", lambda self, show: Translated(SCORES, [], {}))
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
