import json

import pytest

from seq2seq_cli.errors import UsageError
from seq2seq_cli.runtime.cluster import Cluster

WORKERS = {"worker": ["a:1", "b:2", "[::1]:3"]}


def found(monkeypatch, value: object) -> Cluster | None:
    monkeypatch.setenv("TF_CONFIG", value if isinstance(value, str) else json.dumps(value))
    return Cluster.from_environment()


def test_the_first_worker_is_the_chief(monkeypatch):
    cluster = found(monkeypatch, {"cluster": WORKERS, "task": {"type": "worker", "index": 1}})
    assert cluster == Cluster(("a:1", "b:2", "[::1]:3"), 1)
    assert cluster.name(0) == "worker 0 (a:1, the chief)"
    assert cluster.host_and_port(2) == ("::1", 3)
    assert not cluster.is_chief
    assert found(monkeypatch, cluster.environment()) == cluster


def test_a_task_called_chief_comes_before_the_workers(monkeypatch):
    addresses = {"chief": ["c:9"], "worker": ["a:1", "b:2"]}
    for task, index in (("chief", 0), ("worker", 0), ("worker", 1)):
        cluster = found(monkeypatch, {"cluster": addresses, "task": {"type": task, "index": index}})
        assert cluster.addresses == ("c:9", "a:1", "b:2")
        assert cluster.index == index + (task == "worker")


@pytest.mark.parametrize("value", ["", " ", {}, {"cluster": {}}])
def test_without_workers_there_is_no_cluster(value, monkeypatch):
    assert found(monkeypatch, value) is None


@pytest.mark.parametrize(
    "value",
    [
        "{",
        "[1]",
        {"cluster": WORKERS},
        {"cluster": WORKERS, "task": {"type": "worker", "index": 3}},
        {"cluster": WORKERS, "task": {"type": "chief", "index": 0}},
        {"cluster": {**WORKERS, "ps": ["p:1"]}, "task": {"type": "worker", "index": 0}},
        {"cluster": {"worker": ["a:1", "a:1"]}, "task": {"type": "worker", "index": 0}},
        {"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}},
        {"cluster": {"worker": ["a:99999"]}, "task": {"type": "worker", "index": 0}},
    ],
)
def test_an_invalid_cluster_is_an_error_with_an_example(value, monkeypatch):
    with pytest.raises(UsageError, match="TF_CONFIG: .*An example is"):
        found(monkeypatch, value)
