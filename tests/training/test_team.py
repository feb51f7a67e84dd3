"""What the chief does when it loses another worker, without one."""

import json
from pathlib import Path

import pytest
from conftest import tiny_config
from quick_training import SCORES, compute_nothing

from seq2seq_cli.errors import WorkerError
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Phase, ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.team import Alone
from seq2seq_cli.training.validation import VALIDATING, Faults, Translated, Validator


class Losing(Alone):
    """Loses a worker before an update, or in the validation after one."""

    def __init__(self, update: int | None = None, validation: int | None = None):
        self._update, self._validation = update, validation

    def announce(self, batches, number, learning_rate):
        if number == self._update:
            raise WorkerError("worker 1 is lost")

    def watched(self, on_event):
        def watching(event):
            if isinstance(event, Phase) and event.text == VALIDATING:
                self._validation = self._validation and self._validation - 1
                if self._validation == 0:
                    raise WorkerError("worker 1 is lost")

        return watching


def steps_and_files(run: str) -> tuple[list[str], dict[str, bytes]]:
    found = checkpoints.checkpoint_folders(Run(Path(run)).checkpoints)
    files = {path.name: path.read_bytes() for path in found[0].glob("*.safetensors")}
    return [path.name for path in found], files


def validations(run: str) -> list[int]:
    lines = Path(run, "metrics.jsonl").read_text("utf-8").splitlines()
    return [e["step"] for e in map(json.loads, lines) if e["kind"] == "validation"]


@pytest.mark.parametrize(
    ("team", "saved"),
    [
        (Losing(update=3), ["step-00000003"]),
        (Losing(update=5), ["step-00000005", "step-00000004"]),  # 4 had a validation
        (Losing(update=4), ["step-00000004"]),  # as the validation has saved it
        (Losing(validation=2), ["step-00000004"]),  # the one after 8 comes again
    ],
)
@pytest.mark.few_cases(2)
def test_a_shared_training_is_saved_and_continues_to_the_same_weights(
    team, saved, corpus, workdir, monkeypatch
):
    def translate(self, show):
        show(VALIDATING)
        return Translated(SCORES, [], Faults())

    compute_nothing(monkeypatch)
    monkeypatch.setattr(Validator, "translate", translate)
    config = tiny_config(corpus, training__steps=9, training__validate_every_steps=4)
    train(config, ignore, name="whole")
    with pytest.raises(WorkerError, match="worker 1 is lost"):
        train(config, ignore, name="lost", team=team)
    found = [
        path.name for path in checkpoints.checkpoint_folders(Run(Path("runs/lost")).checkpoints)
    ]
    assert found == saved
    train(config, ignore, resume=Run(Path("runs/lost")))
    assert steps_and_files("runs/lost")[1] == steps_and_files("runs/whole")[1]
    assert validations("runs/lost") == validations("runs/whole") == [4, 8, 9]
