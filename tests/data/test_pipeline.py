from collections import Counter

import numpy as np
import pytest
from conftest import tiny_config, toy_pairs

from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.data import pipeline
from seq2seq_cli.data.lengths import token_lengths, tokens_added_by_sampling
from seq2seq_cli.data.pairs import PairsInMemory, in_memory
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.tokenizers.pair import train_tokenizers
from seq2seq_cli.errors import DataError
from seq2seq_cli.special_tokens import BOS, EOS, PAD

PAIRS = [*toy_pairs(), ("I see " * 20, "yo mirar " * 20), ("a", "b")]


@pytest.fixture(scope="module")
def tokenizer():
    sources, targets = zip(*PAIRS, strict=True)
    return train_tokenizers(sources, targets, TokenizerConfig(vocabulary_size=400))


def data(tokenizer, shape_cost: float = 100, **settings) -> TrainingData:
    lengths = {"training__max_source_tokens": 200, "training__max_target_tokens": 200}
    config = tiny_config("x.tsv", **{**lengths, **settings})
    return TrainingData(in_memory(PAIRS), tokenizer, config.training, shape_cost=shape_cost)


def flat(batches) -> list:
    return [(b.source_BS.numpy().tobytes(), b.target_BT.numpy().tobytes()) for b in batches]


def texts(tokenizer, batches) -> list[tuple[str, str]]:
    found = []
    for batch in batches:
        rows = int(batch.pairs)
        sources = tokenizer.source.detokenize(batch.source_BS.numpy()[:rows].tolist())
        targets = tokenizer.target.detokenize(batch.target_BT.numpy()[:rows, 1:].tolist())
        found += zip(sources, targets, strict=True)
    return found


def test_an_epoch_has_every_pair_once(tokenizer):
    found = texts(tokenizer, data(tokenizer).batches(0))
    assert sorted(found) == sorted(PAIRS)


def test_order_is_a_function_of_seed_and_epoch(tokenizer):
    first = flat(data(tokenizer).batches(0))
    assert flat(data(tokenizer).batches(0)) == first
    assert flat(data(tokenizer).batches(1)) != first
    assert flat(data(tokenizer, training__seed=1).batches(0)) != first


def test_the_parts_of_most_batches_have_different_lengths(tokenizer):
    made = data(tokenizer, training__batch_tokens=800, training__parts=4)
    shapes = made.plan(epoch=0).shapes.tolist()
    groups = [shapes[first : first + 4] for first in range(0, len(shapes), 4)]
    mixed = [len(set(group)) > 1 for group in groups]
    assert len(groups) > 5
    assert sum(mixed) > 0.7 * len(mixed)


def test_batches_that_fill_slowly_are_not_late(tokenizer):
    pairs = [("a", "b")] * 200 + [("I see " * 20, "yo mirar " * 20)] * 8
    limits = {"training__max_source_tokens": 200, "training__max_target_tokens": 200}
    config = tiny_config("x.tsv", training__batch_pairs=8, **limits).training
    made = TrainingData(in_memory(pairs), tokenizer, config, shape_cost=100)

    def place_of_the_long_pairs(epoch: int) -> float:
        shapes = made.plan(epoch).shapes.tolist()
        return shapes.index(max(shapes)) / (len(shapes) - 1)

    assert 0.3 < np.mean([place_of_the_long_pairs(epoch) for epoch in range(40)]) < 0.7


@pytest.mark.parametrize("skip", [0, 1, 3, 10_000])
def test_skipping_gives_the_rest(tokenizer, skip):
    assert flat(data(tokenizer).batches(2, skip=skip)) == flat(data(tokenizer).batches(2))[skip:]


def test_rows_begin_and_end_with_the_right_tokens(tokenizer):
    for batch in data(tokenizer).batches(0):
        source, target, pairs = (x.numpy() for x in batch)
        assert source.shape[0] == target.shape[0]
        assert (target[:pairs, 0] == BOS).all()
        assert ((source == EOS).sum(1)[:pairs] == 1).all()
        assert ((target == EOS).sum(1)[:pairs] == 1).all()
        assert (source[pairs:] == PAD).all()
        assert (target[pairs:] == PAD).all()


def shapes(batches) -> set[tuple[int, int, int]]:
    """Return (rows, source length, target length without BOS) of each shape."""
    return {(*b.source_BS.shape, b.target_BT.shape[1] - 1) for b in batches}


def test_batches_have_few_shapes_and_the_size_asked_for(tokenizer):
    found = shapes(data(tokenizer).batches(0))
    assert 1 < len(found) < 12
    assert len({(s, t) for _, s, t in found}) == len(found)
    for rows, *lengths in found:
        assert abs(rows * sum(lengths) / 2 - 512) < 5 * max(lengths)
        assert rows < 8 or rows % 8 == 0


def test_the_shapes_that_are_compiled_for_are_those_of_the_batches(tokenizer):
    made = data(tokenizer)
    batches = list(made.batches(epoch=0))
    for number in (None, 3):
        assert set(made.shapes(number)) == shapes(batches[:number])


def test_expensive_shapes_give_fewer_shapes_and_more_padding(tokenizer):
    cheap, costly = (data(tokenizer, shape_cost=cost) for cost in (10, 10_000))
    assert len(shapes(costly.batches(0))) < len(shapes(cheap.batches(0)))
    assert costly.padding_share > cheap.padding_share
    assert sorted(texts(tokenizer, cheap.batches(0))) == sorted(PAIRS)


def test_a_batch_has_empty_rows_only_where_a_larger_shape_would_take_more_positions(tokenizer):
    batches = list(data(tokenizer).batches(0))
    every = np.array(sorted(shapes(batches)))[:, 1:]
    unfilled = [b for b in batches if b.pairs < b.source_BS.shape[0]]
    assert len(unfilled) < len(every)
    for batch in unfilled:
        rows, *lengths = next(iter(shapes([batch])))
        larger = every[(every >= lengths).all(axis=1) & (every > lengths).any(axis=1)].sum(axis=1)
        if len(larger):
            assert int(batch.pairs) * larger.min() >= rows * sum(lengths)


def test_batches_by_pairs_have_the_same_number_at_any_length(tokenizer):
    found = shapes(data(tokenizer, training__batch_pairs=7).batches(0))
    assert {rows for rows, *_ in found} == {7}
    assert len(found) > 1


def test_figures_are_those_of_the_batches(tokenizer):
    training = data(tokenizer)
    batches = list(training.batches(0))
    sources = np.concatenate([b.source_BS.numpy().ravel() for b in batches])
    targets = np.concatenate([b.target_BT.numpy()[:, 1:].ravel() for b in batches])
    assert training.parts_per_epoch == len(batches)
    assert training.source_tokens == (sources != PAD).sum()
    assert training.target_tokens == (targets != PAD).sum()
    padding = (np.concatenate([sources, targets]) == PAD).mean()
    assert training.padding_share == pytest.approx(padding)


def test_too_long_pairs_are_left_out_and_counted(tokenizer):
    training = data(tokenizer, training__max_source_tokens=40, training__max_target_tokens=40)
    assert training.too_long == 1
    assert training.pairs == len(PAIRS) - 1
    assert len(texts(tokenizer, training.batches(0))) == len(PAIRS) - 1


def test_no_pair_short_enough_is_an_error(tokenizer):
    config = tiny_config("x", training__max_source_tokens=4, training__max_target_tokens=4)
    with pytest.raises(DataError, match="none of the 1 pairs has at most 4 source"):
        TrainingData(in_memory([("I see one cats.", "x")]), tokenizer, config.training)


def test_weights_say_how_often_an_epoch_shows_a_pair(tokenizer):
    weights = np.select([np.arange(len(PAIRS)) < 200, np.arange(len(PAIRS)) < 300], [2.25, 0.5], 1)
    pairs = PairsInMemory(*map(list, zip(*PAIRS, strict=True)), weights.astype(np.float32))
    config = tiny_config("x", training__max_source_tokens=200, training__max_target_tokens=200)
    training = TrainingData(pairs, tokenizer, config.training)
    shown = [Counter(texts(tokenizer, training.batches(epoch))) for epoch in range(4)]
    for (source, target), weight in zip(PAIRS, weights, strict=True):
        for epoch in shown:
            assert epoch[source, target] - weight in (0, -0.25, 0.75, -0.5, 0.5)
    assert [epoch.total() for epoch in shown] == [training.pairs] * 4
    assert training.pairs == pytest.approx(450 + 50 + len(PAIRS) - 300, abs=4)
    assert len(list(training.batches(1))) == len(list(training.batches(2)))
    assert len({frozenset(epoch.items()) for epoch in shown}) == 4


def sampled(tokenizer, **settings) -> TrainingData:
    lengths = {"training__max_source_tokens": 200, "training__max_target_tokens": 200}
    config = tiny_config("x", **lengths, **settings)
    return TrainingData(in_memory(PAIRS), tokenizer, config.training, sampling_alpha=0.1)


def test_samples_of_subwords_differ_between_epochs_but_not_between_runs(tokenizer):
    training = sampled(tokenizer)
    assert sorted(texts(tokenizer, training.batches(0))) == sorted(PAIRS)
    first = flat(training.batches(0))
    assert flat(sampled(tokenizer).batches(0)) == first
    assert flat(sampled(tokenizer).batches(0, skip=3)) == first[3:]
    ids = [b.source_BS.numpy().ravel() for epoch in (0, 1) for b in training.batches(epoch)]
    counts = [np.bincount(np.concatenate(half)) for half in (ids[: len(first)], ids[len(first) :])]
    assert len(counts[0]) != len(counts[1]) or (counts[0] != counts[1]).any()
    longer = [(b.source_BS.numpy() != PAD).sum() for b in training.batches(0)]
    assert sum(longer) > 1.1 * data(tokenizer).source_tokens


def test_a_sample_too_long_for_its_batch_is_replaced_by_the_best_segmentation(
    tokenizer, monkeypatch
):
    monkeypatch.setattr(pipeline, "tokens_added_by_sampling", lambda *_: 0)
    training = sampled(tokenizer)
    assert sorted(texts(tokenizer, training.batches(0))) == sorted(PAIRS)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_nearly_all_samples_fit_in_the_expected_length(tokenizer, alpha):
    pairs, rows = in_memory(PAIRS), np.arange(len(PAIRS))
    lengths = np.stack(token_lengths(pairs, tokenizer))
    added = tokens_added_by_sampling(pairs, tokenizer, lengths, rows, alpha)
    sampled = np.array([len(x) for x in tokenizer.source.sample(pairs.sources, alpha, seed=99)])
    assert 0.9 < (sampled <= lengths[0] + added[0]).mean() <= 1
    # Less than a factor that suits all lengths, as the share of added tokens falls with the length.
    factor = np.quantile(sampled / lengths[0], 0.95)
    assert added[0].sum() < (np.ceil(factor * lengths[0]) - lengths[0]).sum()


def test_a_sentence_too_long_to_count_does_not_disturb_the_lengths_of_samples(tokenizer):
    pairs, rows = in_memory(PAIRS), np.arange(len(PAIRS))
    lengths = np.stack(token_lengths(pairs, tokenizer))
    lengths[:, -1] = np.iinfo(np.uint16).max
    added = tokens_added_by_sampling(pairs, tokenizer, lengths, rows[:-1], 0.1)
    assert added.shape == (2, len(PAIRS) - 1)
    assert (added > 0).any()


def test_less_sampling_needs_fewer_positions(tokenizer):
    padded = [
        TrainingData(in_memory(PAIRS), tokenizer, tiny_config("x").training, alpha).padding_share
        for alpha in (0.0, 0.9, 0.1)
    ]
    assert padded == sorted(padded)
    assert padded[2] > padded[1] + 0.05
