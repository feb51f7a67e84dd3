"""A chief and another worker, in threads of this process, which add up their gradients here."""

import socket
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config, toy_pairs
from quick_training import compute_nothing

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.splits import group_references
from seq2seq_cli.errors import DataError, DivergedError, S2SError, UsageError, WorkerError
from seq2seq_cli.runtime import peers as peers_module
from seq2seq_cli.runtime.cluster import Cluster
from seq2seq_cli.runtime.joining import join
from seq2seq_cli.training import follower, team
from seq2seq_cli.training.divergence import DivergenceCheck
from seq2seq_cli.training.events import Notice, Validation, ignore
from seq2seq_cli.training.exchange import Exchange
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.team import Chief
from seq2seq_cli.training.validation import Validator

TRANSLATE, LOSS = Validator.translate, Validator.loss


class Here(Exchange):
    """Adds up the values of two threads."""

    values: defaultdict[int, dict[int, tf.Tensor]]  # by call and worker

    def __init__(self, cluster, peers):
        self._index, self._peers, self._calls = cluster.index, peers, 0

    def __call__(self, values):
        given = self.values[self._calls]
        self._calls += 1
        given[self._index] = values
        while len(given) < 2:
            if self._peers._lost.is_set():
                raise self._peers.loss_after("nothing")
            time.sleep(0.001)
        return given[0] + given[1]


@pytest.fixture(autouse=True)
def here(monkeypatch, workdir) -> None:
    monkeypatch.setattr(team, "Exchange", Here)
    monkeypatch.setattr(follower, "Exchange", Here)
    monkeypatch.setattr(peers_module, "BEAT", 0.1)
    monkeypatch.setattr(Here, "values", defaultdict(dict), raising=False)
    compute_nothing(monkeypatch)


def config_of(corpus: Path, **settings: object) -> Config:
    given = {"training__steps": 4, "training__shards": 4, "training__batch_tokens": 256, **settings}
    return tiny_config(corpus, **given)


def train_together(config: Config, other: Config | None = None) -> tuple[object, object, list]:
    """Return what the chief and the other worker come to, and the chief's events."""
    with socket.socket() as one, socket.socket() as two:
        for each in (one, two):
            each.bind(("127.0.0.1", 0))
        addresses = tuple(f"127.0.0.1:{each.getsockname()[1]}" for each in (one, two))
    events: list = []

    def lead() -> object:
        cluster = Cluster(addresses, 0)
        with join(cluster, 20, ignore) as peers:
            return train(config, events.append, name="both", team=Chief(cluster, peers))

    def follow() -> object:
        cluster = Cluster(addresses, 1)
        with join(cluster, 20, ignore) as peers:
            return follower.follow(other or config, cluster, peers, ignore)

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(work) for work in (lead, follow)]
        errors = [each.exception() for each in found]
        assert all(error is None or isinstance(error, S2SError) for error in errors), errors
        return *(e or each.result() for e, each in zip(errors, found, strict=True)), events


def test_only_the_chief_writes(corpus, workdir):
    train_together(config_of(corpus))
    assert [path.name for path in workdir.iterdir()] == ["runs"]
    assert [path.name for path in (workdir / "runs").iterdir()] == ["both"]


def test_another_corpus_is_named(corpus, tmp_path):
    shorter = tmp_path / "shorter.tsv"
    lines = [f"{source}\t{target}\n" for source, target in toy_pairs()[:-1]]
    shorter.write_text("".join(lines), encoding="utf-8")
    chief, other, _ = train_together(config_of(corpus), config_of(shorter))
    assert isinstance(other, DataError)
    assert "differ from the chief's corpus" in str(other)
    assert isinstance(chief, WorkerError)
    assert "worker 1" in str(chief)
    assert "differ from the chief's corpus" in str(chief)
    assert chief.exit_code == DataError.exit_code


def test_a_tokenizer_file_outside_of_the_folder_is_refused(corpus, monkeypatch, workdir):
    tell = peers_module.Peers.tell

    def tell_evil(self, **message):
        if "tokenizer" in message:
            message["tokenizer"] = {"../evil": ""}
        tell(self, **message)

    monkeypatch.setattr(peers_module.Peers, "tell", tell_evil)
    _, other, _ = train_together(config_of(corpus))
    assert "a tokenizer file with a path: '../evil'" in str(other)
    assert not [*workdir.rglob("evil")]


def test_other_batches_are_named(corpus):
    chief, other, _ = train_together(config_of(corpus), config_of(corpus, training__seed=3))
    assert isinstance(other, DataError)
    assert "batch 1 of epoch 1 differs from the chief's" in str(other)
    assert isinstance(chief, WorkerError)


def test_more_workers_than_shards_are_refused_by_all(corpus):
    chief, other, _ = train_together(config_of(corpus, training__shards=1))
    assert isinstance(chief, UsageError)
    assert isinstance(other, WorkerError)
    assert "2 workers cannot share a batch of 1 shard " in str(other)
    assert other.exit_code == 2


def test_a_worker_with_other_weights_gets_those_of_the_chief(corpus, monkeypatch):
    seen: dict[int, list[float]] = {0: [], 1: []}

    def update(self, batches, number, learning_rate):
        seen[self._share.worker].append(float(self._weights[0].numpy().sum()))
        for variable in self._weights:
            variable.assign(variable + 1 + self._share.worker)
        return np.float32(2.0), np.float32(1.0)

    monkeypatch.setattr(Updater, "update", update)
    result, ended, events = train_together(config_of(corpus, training__checkpoint_minutes=1e-9))
    assert (result.step, ended) == (4, None)
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert sum("worker 1" in text and "had different weights" in text for text in notices) == 4
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 4


def test_workers_share_a_validation(corpus, monkeypatch):
    config = config_of(corpus, training__ema=0.9)
    sources = 40
    computed = defaultdict(list)

    def translations(self, worker, workers, show=None):
        computed[worker].append(self._model.trainable_variables[0].numpy().sum())
        return [f"translation {i}" for i in range(worker, len(self._sources), workers)]

    def losses(self, worker, workers, show=None):
        computed[worker].append(self._model.trainable_variables[0].numpy().sum())
        return [(3.0 * i, i) for i in range(worker, sources, workers)]

    monkeypatch.setattr(Validator, "translate", TRANSLATE)
    monkeypatch.setattr(Validator, "loss", LOSS)
    monkeypatch.setattr(Validator, "_translations", translations)
    monkeypatch.setattr(Validator, "_losses", losses)
    monkeypatch.setattr(Validator, "SAMPLES", 2)
    _, ended, events = train_together(config)
    assert ended is None
    found = [event for event in events if isinstance(event, Validation)]
    assert [each.dev_loss for each in found] == [3.0] * len(found)
    for each in found:
        for source, _, translation in each.samples:
            index = group_references(read_corpus(config.data).dev)[0].index(source)
            assert translation == f"translation {index}"
    assert computed[0] == computed[1]  # both use the averages, and then the weights
    assert computed[0][-1] != computed[0][-2]


def test_a_chief_that_diverges_ends_all(corpus, monkeypatch):
    def check(self, step, variables):
        raise DivergedError("the loss is nan\nLikely cause: this test")

    monkeypatch.setattr(DivergenceCheck, "check_weights", check)
    chief, other, _ = train_together(config_of(corpus))
    assert isinstance(chief, DivergedError)
    assert isinstance(other, WorkerError)
    assert other.exit_code == 6
    assert "Likely cause" in str(other)
