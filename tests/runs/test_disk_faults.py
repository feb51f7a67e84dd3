"""Every operation on the disk fails in every way; S2S_FAULTS=9 tries nine times the double ones."""

import os
import random
import re
from pathlib import Path

import pytest
from simulated_disk import NO_FAULT, OPERATIONS, Fault, SimulatedDisk
from simulated_training import (
    LOSSES,
    NEXT,
    READING,
    Scenario,
    check_after,
    faults,
    go_on,
    scenarios,
)

SCENARIOS = scenarios()
NUMBERED = [
    pytest.param(scenario, id=f"{number} {scenario.name}")
    for number, scenario in enumerate(SCENARIOS)
]
MORE = int(os.environ.get("S2S_FAULTS", "1"))
DOUBLE = 120  # double faults of each scenario


def try_fault(scenario: Scenario, fault: Fault) -> None:
    disk, training = scenario.run(fault)
    check_after(disk, training, f"{scenario.name}, {fault}")


def test_the_simulated_disk_has_the_functions_of_the_real_one():
    assert all(callable(getattr(SimulatedDisk, name)) for name in OPERATIONS)


@pytest.mark.parametrize("scenario", NUMBERED)
def test_without_a_fault_everything_is_saved(scenario):
    try_fault(scenario, NO_FAULT)


@pytest.mark.parametrize("scenario", NUMBERED)
def test_any_operation_may_fail_once_or_permanently(scenario):
    single = list(faults(scenario.operations()))
    for fault in single:
        try_fault(scenario, fault)
    print(f"{len(single)} cases")


@pytest.mark.parametrize("scenario", NUMBERED)
def test_a_second_fault_may_occur_during_recovery(scenario):
    chance = random.Random(scenario.name)
    first = list(faults(scenario.operations()))
    for _ in range(DOUBLE * MORE):
        fault = chance.choice(first)
        disk, training = scenario.run(fault)
        clean = disk.copy()
        go_on(clean, training.copy(), lambda t=training: t.copy().train(NEXT))
        again = chance.choice(list(faults(clean.log)))
        go_on(disk, training, lambda t=training: t.train(NEXT), again)
        check_after(disk, training, f"{scenario.name}, {fault}, then {again}")
    print(f"{DOUBLE * MORE} cases")


def test_there_are_as_many_cases_as_documented():
    single = sum(len(list(faults(scenario.operations()))) for scenario in SCENARIOS)
    changes = [
        operation
        for scenario in SCENARIOS
        for operation in scenario.operations()
        if not operation.startswith(READING)
    ]
    page = (Path(__file__).parents[2] / "docs/reliability.md").read_text("utf-8")
    documented = [int(text.replace(",", "")) for text in re.findall(r"\| ([\d,]+) \|", page)]
    found = (single, DOUBLE * len(SCENARIOS), len(changes) * len(LOSSES))
    assert all(count >= least for count, least in zip(found, documented[:3], strict=True))
    assert min(found[0], documented[0]) >= 2000
    assert f"through {len(OPERATIONS)} functions" in page
