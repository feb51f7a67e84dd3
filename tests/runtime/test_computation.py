import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.runtime.computation import (
    Computation,
    choose_computation,
    choose_decoding_precision,
)
from seq2seq_cli.runtime.probe import Products


class Clock:
    """A clock that the measured work moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def machine(monkeypatch, clock):
    """Four cores whose products take as long as the test says, by (dtype, parts)."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(4), raising=False)
    monkeypatch.setattr("seq2seq_cli.runtime.machine.OWN_GROUPS", Path("/none"))
    seconds = {}

    def multiply(self: Products, dtype: str, parts: int) -> None:
        clock.now += seconds[dtype, parts]

    monkeypatch.setattr(Products, "multiply", multiply)

    def set_speed(float32: float, bfloat16: float, by_parts: dict | None = None) -> None:
        for parts in (1, 2, 4):
            factor = (by_parts or {1: 4, 2: 2, 4: 1})[parts]
            seconds["float32", parts] = float32 * factor
            seconds["bfloat16", parts] = bfloat16 * factor

    return set_speed


def choose(clock: Clock, device: str = "CPU", **training) -> Computation:
    config = TrainingConfig(**{"batch_tokens": 4096, **training})
    return choose_computation(config, model(), device, clock)


def model(*shapes: tuple[int, ...]) -> SimpleNamespace:
    weights = [SimpleNamespace(shape=shape) for shape in shapes or [(8, 16)]]
    return SimpleNamespace(trainable_variables=weights)


@pytest.mark.parametrize(
    ("float32", "bfloat16", "chosen"),
    [
        (0.010, 0.005, "bfloat16"),
        (0.005, 0.010, "float32"),
        (0.010, 0.0085, "float32"),  # too little to be sure
    ],
)
def test_bfloat16_is_chosen_only_if_it_is_clearly_faster(machine, clock, float32, bfloat16, chosen):
    machine(float32, bfloat16)
    found = choose(clock, "CPU")
    assert found.precision == chosen
    assert found.milliseconds["float32"] == 1000 * float32
    assert found.milliseconds["bfloat16"] == 1000 * bfloat16
    assert chosen in found.described("auto")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_given_precision_is_not_measured(machine, clock, precision):
    machine(0.01, 0.02)
    found = choose(clock, "CPU", precision=precision, shards=3)
    assert (found.precision, found.shards, found.milliseconds) == (precision, 3, {})


def test_each_core_has_a_shard_whatever_products_alone_say(machine, clock):
    machine(0.01, 0.02, {1: 1, 2: 2, 4: 9})
    assert choose(clock, "CPU").shards == 4


def test_measuring_takes_a_second(machine, clock):
    machine(0.001, 0.001)
    choose(clock, "CPU")
    assert 0.9 < clock.now < 1.1


def test_a_process_that_is_busy_for_a_moment_changes_no_choice(machine, clock, monkeypatch):
    machine(0.010, 0.005)
    multiply = Products.multiply

    def disturbed(self: Products, dtype: str, parts: int) -> None:
        multiply(self, dtype, parts)
        if dtype == "bfloat16" and clock.now < 0.3:
            clock.now += 0.005

    monkeypatch.setattr(Products, "multiply", disturbed)
    assert choose(clock, "CPU").precision == "bfloat16"


def test_xla_multiplies_in_float32_on_a_cpu(machine, clock):
    machine(0.02, 0.01)
    assert choose(clock, "CPU", compile="xla").precision == "float32"


def test_a_gpu_is_measured_like_a_cpu(machine, clock, monkeypatch):
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda _: ["g0"])
    machine(0.02, 0.01, {1: 1, 2: 1, 4: 1})
    found = choose(clock, "GPU", compile="xla")
    assert (found.precision, found.shards) == ("bfloat16", 1)


@pytest.mark.parametrize(("bfloat16", "chosen"), [(0.005, "bfloat16"), (0.02, "float32")])
def test_decoding_chooses_its_precision_in_the_same_way(machine, clock, bfloat16, chosen):
    machine(0.01, bfloat16)
    assert choose_decoding_precision("auto", model(), clock) == chosen
    assert choose_decoding_precision("float32", model(), clock) == "float32"


def test_the_choice_is_read_back():
    chosen = Computation("bfloat16", 2, "CPU", {"keras": "3"}, {"float32": 1.5})
    assert Computation.from_json(chosen.to_json()) == chosen


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"precision": "float8", "shards": 1}', '{"precision": []}']
)
def test_an_invalid_file_is_refused(text):
    with pytest.raises(ValueError, match="."):
        Computation.from_json(text)


def test_a_changed_device_and_version_are_named():
    before = Computation("float32", 2, "CPU (A)", {"keras": "2.0"})
    device, version = before.differences("CPU (B)")
    assert device == "device CPU (A) before, CPU (B) now"
    assert version.startswith("keras 2.0 before, 3")
    assert Computation("float32", 2, "CPU (B)").differences("CPU (B)") == []
