"""Shares of a gradient, whoever adds them up."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config
from small_batches import batch
from small_models import small_transformer

from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.errors import UsageError
from seq2seq_cli.training.exchange import Exchange, Share, digest, pairwise_sum
from seq2seq_cli.training.requirements import check_workers
from seq2seq_cli.training.step import Updater


class Added(Exchange):
    """Adds up what several updaters exchange, one after the other, in this process.

    Each update is made twice by each worker: the first time to tell its part, the second with the
    sum of all.
    """

    def __init__(self) -> None:
        self.parts: list[tf.Tensor] = []
        self.total: tf.Tensor | None = None

    def __call__(self, values: tf.Tensor) -> tf.Tensor:
        if self.total is not None:
            return self.total
        self.parts.append(values)
        raise InterruptedError


def update_together(
    updaters: list[Updater], added: Added, parts: list[Batch], number: int
) -> tuple[float, float]:
    added.parts, added.total = [], None
    for updater in updaters:
        with pytest.raises(InterruptedError):
            updater.update(parts, number, 0.01)
    added.total = pairwise_sum(added.parts)
    (figures, *others) = [updater.update(parts, number, 0.01) for updater in updaters]
    assert all(each == figures for each in others)
    return tuple(map(float, figures))


@pytest.mark.parametrize(
    ("compiled", "shards", "rows", "workers", "tolerance"),
    [
        ("graph", 4, (4, 7, 5), 2, 0.0),  # at most three parts at once
        ("graph", 4, (9,), 4, 0.0),
        ("auto", 4, (9,), 2, 0.0),
        # One part after the other, each in shards, so that each worker adds up its own shards
        # first. XLA compiles for each number of rows.
        ("xla", 2, (4, 4, 4), 2, 1e-5),
    ],
)
@pytest.mark.few_cases(1)
def test_several_workers_make_the_updates_of_one(compiled, shards, rows, workers, tolerance):
    parts = [batch(number) for number in rows]
    config = tiny_config("x", training__compile=compiled, training__parts=len(parts)).training

    def updater(share: Share | None = None) -> Updater:
        return Updater(small_transformer(dropout=0.2), config, shards=shards, share=share)

    alone, added = updater(), Added()
    together = [updater(Share(worker, workers, added)) for worker in range(workers)]
    if not tolerance:
        assert len(parts) <= config.parts_at_once(shards)
    for updater in together:
        updater.compile_for([(4, 6, 6)])  # which exchanges nothing
    for number in range(3):
        figures = alone.update(parts, number, 0.01)
        found = update_together(together, added, parts, number)
        np.testing.assert_allclose(found, [float(f) for f in figures], rtol=tolerance)
    for one, two in zip(alone.variables, together[1].variables, strict=True):
        np.testing.assert_allclose(
            two.numpy(), one.numpy(), rtol=10 * tolerance, atol=tolerance / 10
        )


def test_a_pairwise_sum_has_the_same_order_for_any_power_of_two():
    values = [tf.constant(value) for value in np.random.default_rng(0).normal(size=[8, 1000])]
    whole = pairwise_sum(values)
    for workers in (2, 4, 8):
        sums = [pairwise_sum(values[worker::workers]) for worker in range(workers)]
        np.testing.assert_array_equal(pairwise_sum(sums), whole)
    np.testing.assert_allclose(whole, np.sum(values, 0), rtol=1e-12, atol=1e-12)
    assert np.any(pairwise_sum(values) != np.sum(values, 0))


def test_each_shard_is_computed_by_one_worker_and_has_masks_of_its_own():
    config = tiny_config("x", training__parts=1).training
    added = Added()
    for worker in range(4):
        share = Share(worker, 4, added)
        updater = Updater(small_transformer(dropout=0.5), config, shards=4, share=share)
        with pytest.raises(InterruptedError):
            updater.update([batch(8)], 0, 0.01)
    assert len({float(part[-1]) for part in added.parts}) == 4  # their losses


@pytest.mark.parametrize(
    ("settings", "shards", "workers", "possible"),
    [
        ({}, 4, 4, True),
        ({}, 4, 5, False),
        ({"training__parts": 2}, 4, 4, True),
        ({"training__parts": 3, "training__batch_tokens": 768}, 4, 4, False),  # 3 are computed
        ({"training__parts": 4, "training__batch_tokens": 1024}, 2, 5, False),  # 8 are needed
        ({"training__compile": "xla", "training__parts": 2}, 4, 4, True),
    ],
)
def test_more_workers_than_shards_are_refused_with_a_remedy(settings, shards, workers, possible):
    config = tiny_config("x", **settings).training
    if possible:
        check_workers(config, shards, workers)
        return
    with pytest.raises(UsageError, match=r"--set training\.shards=(\d+)") as error:
        check_workers(config, shards, workers)
    advised = int(str(error.value).rpartition("=")[2])
    check_workers(config, advised, workers)


def test_any_bit_changes_the_digest():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    other = array.copy()
    other.view(np.uint32)[1, 2] ^= 1
    assert digest([array, np.int64(3)]) == digest([array.copy(), np.int64(3)])
    assert digest([array, np.int64(3)]) != digest([other, np.int64(3)])
    assert digest([array.astype(ml_dtypes.bfloat16)]) != digest([array.astype(np.float16)])
