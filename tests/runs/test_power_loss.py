"""Power is lost at any moment; S2S_FAULTS=9 tries nine times the chances."""

import os

import pytest
from simulated_disk import Fault
from simulated_training import LOSSES, NEXT, check_after, go_on, power_losses, scenarios

SCENARIOS = [
    pytest.param(scenario, id=f"{number} {scenario.name}")
    for number, scenario in enumerate(scenarios())
]
MORE = [("some", "mixed", seed) for seed in range(4, int(os.environ.get("S2S_FAULTS", "1")) + 3)]
AGAIN = 5  # of so many states one loses power again while the next process recovers


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_unsynced_data_may_be_lost_zeroed_or_truncated(scenario):
    states = 0
    for text, disk, training in power_losses(scenario, losses=LOSSES + MORE):
        states += 1
        check_after(disk, training, text)
    assert states >= 140
    print(f"{states} cases")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_power_may_be_lost_again_while_the_next_process_continues(scenario):
    states = 0
    for number, (text, disk, training) in enumerate(power_losses(scenario)):
        if number % AGAIN:
            continue
        states += 1
        clean = disk.copy()
        go_on(clean, training.copy(), lambda t=training: t.copy().train(NEXT))
        fault = Fault(number * 7 % len(clean.log), "kill")
        go_on(disk, training, lambda t=training: t.train(NEXT), fault)
        disk.crash("some", "mixed", number)
        check_after(disk, training, f"{text}; then {fault}")
    print(f"{states} cases")
