"""Updates by batches of several parts."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config
from small_batches import batch
from small_models import small_rnn, small_transformer

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.runs.state import Position
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import batches_from, train
from seq2seq_cli.training.setup import set_up
from seq2seq_cli.training.step import Updater


def joined(batches: list[Batch]) -> Batch:
    """Return one batch with the pairs of several."""

    def side(index: int) -> tf.Tensor:
        width = max(each[index].shape[1] for each in batches)
        return tf.concat(
            [tf.pad(each[index], [[0, 0], [0, width - each[index].shape[1]]]) for each in batches],
            axis=0,
        )

    return Batch(side(0), side(1), tf.add_n([each.pairs for each in batches]))


def shorter(made: Batch, by: int) -> Batch:
    """Return a batch without the first `by` tokens of each source, and the last of each target."""
    return Batch(made.source_BS[:, by:], made.target_BT[:, :-by], made.pairs)


@pytest.mark.parametrize(
    ("make", "shards", "compiled"),
    [
        (small_transformer, 2, "auto"),
        (small_transformer, 1, "graph"),
        (small_transformer, 1, "xla"),
        (small_transformer, 6, "graph"),
        (lambda: small_rnn(activation_penalty=0.1), 2, "graph"),
    ],
    ids=["two parts at once", "transformer", "compiled", "parts in shards", "rnn with a penalty"],
)
@pytest.mark.few_cases(2)
def test_an_update_by_several_parts_is_that_of_one_batch(make, shards, compiled):
    parts = [batch(4), shorter(batch(7), 2), batch(4)]
    found = []
    for together, batches in ((3, parts), (1, [joined(parts)])):
        model = make()
        config = tiny_config("x", training__compile=compiled, training__parts=together)
        updater = Updater(model, config.training, shards=shards)
        # The second update begins with sums of zero.
        figures = [updater.update(batches, number, 0.001) for number in range(2)]
        found.append([*np.ravel(figures), *(v.numpy() for v in updater.variables)])
    for several, one in zip(*found, strict=True):
        np.testing.assert_allclose(several, one, rtol=1e-5, atol=1e-6)


def test_each_part_has_dropout_masks_of_its_own():
    config = tiny_config("x", training__parts=2).training
    updater = Updater(small_transformer(dropout=0.5), config)
    losses = []
    accumulate = updater._compiled_accumulate
    updater._compiled_accumulate = lambda *batch: losses.append(accumulate(*batch)) or losses[-1]
    for number in range(2):
        updater.update([batch(), batch()], number, 0.0)  # which leaves the weights as they are
    assert len({float(loss) for loss in losses}) == 4


def test_compiling_ahead_changes_no_update_by_several_parts():
    def train(ahead: bool) -> list[np.ndarray]:
        model = small_transformer()
        config = tiny_config("x", training__compile="auto", training__parts=2).training
        updater = Updater(model, config)
        if ahead:
            updater.compile_for([(4, 6, 6), (4, 7, 6)])
        updater.update([batch(), batch()], 0, 0.01)
        return [v.numpy() for v in (*model.trainable_variables, *updater.variables)]

    for plain, prepared in zip(train(ahead=False), train(ahead=True), strict=True):
        np.testing.assert_array_equal(plain, prepared)


def accumulating(corpus, **settings) -> Config:
    return tiny_config(corpus, training__batch_tokens=512, training__parts=4, **settings)


@pytest.mark.slow
def test_an_epoch_has_fewer_updates(corpus, workdir):
    config = accumulating(corpus, training__epochs=2)
    setup = set_up(config)
    batches = setup.data.parts_per_epoch
    assert setup.updates_per_epoch == -(-batches // 4) < batches
    assert train(config, ignore).step == 2 * setup.updates_per_epoch


def test_no_update_has_batches_of_two_epochs():
    class Data:
        def batches(self, epoch, skip):
            yield from [(epoch, number) for number in range(5)][skip:]

    position = Position.at_start()
    found = []
    for batches in batches_from(Data(), position, together=2):
        found.append(batches)
        position.batch += len(batches)
        if len(found) == 4:
            break
    assert found == [[(0, 0), (0, 1)], [(0, 2), (0, 3)], [(0, 4)], [(1, 0), (1, 1)]]
    assert (position.epoch, position.batch) == (1, 2)


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({}, 2),
        ({"batch_tokens": 256}, 1),
        ({"batch_tokens": 8192}, 4),
        ({"batch_pairs": 128}, 2),
        ({"batch_tokens": 8192, "parts": 1}, 1),
    ],
)
def test_a_transformer_mixes_lengths_where_a_batch_is_large_enough(settings, parts):
    overrides = Overrides()
    overrides.set("model.kind", "transformer", "test")
    for key, value in settings.items():
        overrides.set(f"training.{key}", value, "test")
    assert load_config(overrides).training.parts == parts
