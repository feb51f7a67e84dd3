"""Values of [training] that contradict each other."""

import pytest

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError


def refusal(*assignments: str) -> str:
    overrides = Overrides()
    for assignment in assignments:
        overrides.set_assignment(f"training.{assignment}")
    with pytest.raises(UsageError) as caught:
        load_config(overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (
            ["weight_decay=0.1"],
            "--set training.weight_decay: training.weight_decay (0.1) has no effect with "
            'training.optimizer = "adam". Use "adamw", which is Adam with weight decay',
        ),
        (
            ["optimizer=lion", "epsilon=1e-8"],
            "--set training.optimizer, --set training.epsilon: training.epsilon (1e-08) has no "
            'effect with training.optimizer = "lion". Leave it out; it is for adam, adamw, '
            "muon",
        ),
        (
            ["momentum=0.9"],
            "--set training.momentum: training.momentum (0.9) has no effect with "
            'training.optimizer = "adam". Leave it out; it is for muon',
        ),
        (
            ["optimizer_states=float16"],
            "--set training.optimizer_states: training.optimizer_states must be one of 'float32', "
            "'bfloat16'; it is 'float16'",
        ),
        (
            ["schedule=linear", "decay_share=0.5"],
            "--set training.schedule, --set training.decay_share: training.decay_share (0.5) has "
            'no effect with training.schedule = "linear". Leave it out; it is for '
            "warmup_stable_decay",
        ),
        (
            ["warmup_share=1.5"],
            "--set training.warmup_share: training.warmup_share must be a number above 0 and at "
            "most 1; it is 1.5",
        ),
        (
            ['freeze=["encoder"]'],
            "--set training.freeze: training.freeze (['encoder']) would keep random weights. Set "
            "training.initial_run, whose weights these parts keep",
        ),
        (
            ["initial_run=a", 'freeze=["encoder", "decoder", "embeddings", "output"]'],
            "--set training.freeze: training.freeze (['encoder', 'decoder', 'embeddings', "
            "'output']) leaves nothing to train. Leave out a part",
        ),
        (
            ['freeze=["encode"]'],
            "--set training.freeze: training.freeze must be a list of 'embeddings', 'encoder', "
            "'decoder', 'output'; it is 'encode'",
        ),
        (
            ["freeze=3"],
            "--set training.freeze: training.freeze must be a list of 'embeddings', 'encoder', "
            "'decoder', 'output'; it is 3",
        ),
        (
            ["optimizer=adamw", "weight_decay=-1"],
            "--set training.weight_decay: training.weight_decay must be a number from 0 to 100; "
            "it is -1",
        ),
        (
            ["strategy=mirrored", "compile=xla"],
            "--set training.strategy, --set training.compile: training.compile 'xla' is for one "
            "device, and training.strategy is 'mirrored'. Leave out one of them",
        ),
    ],
)
def test_settings_that_cannot_have_an_effect_are_refused(assignments, message):
    assert refusal(*assignments) == message


@pytest.mark.parametrize(
    ("optimizer", "decay", "expected"),
    [
        ("adam", None, 0),
        ("adamw", None, 0.01),
        ("adamw", 0.2, 0.2),
        ("muon", None, 0.3),
        ("muon", 0, 0),
        ("lion", None, 0),
    ],
)
def test_only_adamw_and_muon_decay_weights_by_default(optimizer, decay, expected):
    overrides = Overrides()
    overrides.set("training.optimizer", optimizer, "test")
    if decay is not None:
        overrides.set("training.weight_decay", decay, "test")
    assert load_config(overrides).training.decay == expected
