import json

import pytest

from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.recipes.trials import Trial, TrialFile, best_of

ASKED = {"space": {"model.dropout": [0.1, 0.2]}, "config": {"training.steps": 5}}


def test_trials_are_read_back_unchanged(tmp_path):
    file = TrialFile(tmp_path, ASKED)
    first = Trial(0, {"model.dropout": 0.1}, "done", 2.5, (1.0, 2.5), 10, 3.5, "so")
    for trial in (Trial(0, {"model.dropout": 0.1}), first, Trial(1, {"model.dropout": 0.2})):
        file.put(trial)
    assert TrialFile(tmp_path, ASKED).trials == [first, Trial(1, {"model.dropout": 0.2})]


def test_other_settings_of_a_tuning_are_refused_with_each_difference(tmp_path):
    TrialFile(tmp_path, ASKED).put(Trial(0, {}))
    before = (tmp_path / "tuning.json").read_bytes()
    other = {"space": {"model.dropout": [0.1]}, "config": {"training.steps": 6}}
    with pytest.raises(UsageError, match=r"space model.dropout(.|\n)*config training.steps: 5"):
        TrialFile(tmp_path, other)
    assert (tmp_path / "tuning.json").read_bytes() == before


@pytest.mark.parametrize("content", ["{", "[]", "{}", json.dumps({"trials": [{"number": 1}]})])
def test_a_damaged_file_is_named_and_kept(tmp_path, content):
    (tmp_path / "tuning.json").write_text(content)
    with pytest.raises(DataError, match=r"tuning\.json: cannot be read"):
        TrialFile(tmp_path, ASKED)
    assert (tmp_path / "tuning.json").read_text() == content


def test_the_best_trial_is_a_completed_one():
    trials = [
        Trial(0, {}, "done", 2.0),
        Trial(1, {}, "stopped", 9.0),
        Trial(2, {}, "done", 3.0),
        Trial(3, {}, "done", 3.0),
        Trial(4, {}, "failed"),
    ]
    assert best_of(trials) is trials[2]
    assert best_of(trials[1:2]) is None
