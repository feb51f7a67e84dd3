"""Which workers a command belongs to, and that all have the same options."""

import json

import pytest

from seq2seq_cli.cli.workers import _config_of_chief, find_cluster
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError


def layer(**values: object) -> Overrides:
    made = Overrides()
    for key, value in values.items():
        made.set(key.replace("__", "."), value, "--set")
    return made


def several(monkeypatch, size: int = 2) -> None:
    addresses = [f"127.0.0.1:{4711 + index}" for index in range(size)]
    task = {"type": "worker", "index": size - 1}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": addresses}, "task": task}))


def test_an_option_takes_precedence_over_the_environment(monkeypatch):
    several(monkeypatch)
    layers = [layer()]
    cluster, in_effect = find_cluster(layers)
    assert cluster is not None
    assert (cluster.size, cluster.index) == (2, 1)
    assert layers == [layer()]
    assert load_config(*layers, in_effect).training.strategy == "workers"
    for strategy in ("one", "mirrored"):
        found = find_cluster([layer(training__strategy=strategy), layer()])
        assert found == (None, layer())


def test_one_worker_has_the_shards_of_several(monkeypatch):
    several(monkeypatch, size=1)
    layers = [layer(training__strategy="workers"), layer()]
    cluster, in_effect = find_cluster(layers)
    assert cluster is None
    assert load_config(*layers, in_effect).training.is_shared
    cluster, in_effect = find_cluster([layer()])
    assert cluster is None
    assert not load_config(in_effect).training.is_shared


def test_without_the_environment_a_process_trains_alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    cluster, in_effect = find_cluster([layer()])
    assert cluster is None
    assert load_config(in_effect).training.strategy == "auto"
    with pytest.raises(UsageError, match=r"TF_CONFIG names no workers.*s2s launch"):
        find_cluster([layer(training__strategy="workers")])


def test_a_wrong_strategy_is_named_with_its_option():
    with pytest.raises(UsageError, match="--set: training.strategy"):
        find_cluster([layer(training__strategy="many")])


def test_a_worker_with_other_options_than_the_chief_is_refused():
    chief = load_config(layer(training__steps=7, training__device="cpu"))
    assert _config_of_chief(chief.to_toml(), [layer()]) == chief
    own = _config_of_chief(chief.to_toml(), [layer(training__device="gpu:1")])
    assert own == load_config(layer(training__steps=7, training__device="gpu:1"))
    with pytest.raises(UsageError, match=r"training.steps: 7 there, 8 here"):
        _config_of_chief(chief.to_toml(), [layer(training__steps=8)])
