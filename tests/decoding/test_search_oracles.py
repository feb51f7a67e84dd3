"""Search against brute force, and samples against exact distributions."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from searching import search

from seq2seq_cli.models.seq2seq import Seq2Seq, StepOutput
from seq2seq_cli.special_tokens import BOS, EOS, PAD


class Markov(Seq2Seq):
    """A model without a network: what follows depends on the token before and on the position."""

    VOCABULARY, LENGTH, SOURCE = 6, 4, 3

    def __init__(self):
        super().__init__("markov")
        rng = np.random.default_rng(3)
        shape = (self.LENGTH, self.VOCABULARY)
        self.table = rng.normal(size=(*shape, self.VOCABULARY), scale=1.5).astype(np.float32)
        weights = rng.gamma(0.5, size=(*shape, self.SOURCE)).astype(np.float32)
        self.weights_table = weights / weights.sum(-1, keepdims=True)

    def encode(self, source_BS, training=False):
        return {"source": source_BS}

    def initial_state(self, memory, max_length):
        return {"position": tf.zeros_like(memory["source"][:, 0])}

    def make_step(self, in_place=False):
        def step(token_B, state, memory):
            at = tf.stack([state["position"], token_B], axis=1)
            return StepOutput(
                tf.gather_nd(self.table, at),
                tf.gather_nd(self.weights_table, at),
                {"position": state["position"] + 1},
            )

        return step

    def decode(self, target_BT, memory, training=False):
        positions_BT = tf.zeros_like(target_BT) + tf.range(tf.shape(target_BT)[1])
        return tf.gather_nd(self.table, tf.stack([positions_BT, target_BT], axis=2))

    def everything(self):
        """Return each possible translation with its log-probability and coverage."""
        allowed = [t for t in range(self.VOCABULARY) if t not in (PAD, BOS)]
        logits = self.table.astype(np.float64)[..., allowed]
        logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        found = {}
        for length in range(1, self.LENGTH + 1):
            for ids in itertools.product(allowed, repeat=length):
                if EOS in ids[:-1] or (length < self.LENGTH and ids[-1] != EOS):
                    continue
                before = (BOS, *ids[:-1])
                total = sum(
                    logs[t, b, allowed.index(i)]
                    for t, (b, i) in enumerate(zip(before, ids, strict=True))
                )
                covered = sum(self.weights_table[t, b] for t, b in enumerate(before))
                found[ids] = (total, covered)
        assert sum(np.exp(total) for total, _ in found.values()) == pytest.approx(1)
        return found


def found_ids(found, row=0):
    rows = found.ids_BNT.numpy()[row].tolist()
    return [tuple(i for i in ids if i != PAD) for ids in rows]


PENALTIES = [
    {},
    {"length_penalty": 1.0, "length_penalty_kind": "simple"},
    {"length_penalty": 0.6},
    {"coverage_penalty": 0.4},
    {"length_penalty": 1.2, "coverage_penalty": 1.0},
]


@pytest.mark.parametrize("penalties", PENALTIES)
def test_a_beam_as_wide_as_the_space_equals_brute_force(penalties):
    model = Markov()
    everything = model.everything()
    beams = len(everything)
    config = {"length_penalty": 0.0, "coverage_penalty": 0.0, **penalties}
    simple = config.get("length_penalty_kind") == "simple"

    def score(ids, total, covered):
        length = len(ids) if simple else (5 + len(ids)) / 6
        cover = np.log(np.minimum(covered, 1)).sum()
        return total / length ** config["length_penalty"] + config["coverage_penalty"] * cover

    expected = sorted(((score(ids, *of), ids) for ids, of in everything.items()), reverse=True)
    source = tf.ones([2, model.SOURCE], tf.int32)
    found = search(model, beam=beams, n_best=beams, **penalties)(source, [4, 4])
    for row in range(2):
        assert found_ids(found, row) == [ids for _, ids in expected]
        np.testing.assert_allclose(found.score_BN[row], [s for s, _ in expected], rtol=1e-4)
    # A sentence is done as soon as nothing better can come.
    best = search(model, beam=beams, n_best=3, **penalties)(source, [4, 4])
    assert found_ids(best) == [ids for _, ids in expected[:3]]


def test_penalties_change_what_is_best():
    model, source = Markov(), tf.ones([1, 3], tf.int32)
    best = {found_ids(search(model, beam=99, **p)(source, [4]))[0] for p in PENALTIES}
    assert len(best) > 1


def _exact(config):
    """Return the exact distribution of two drawn tokens of Markov."""
    table = Markov().table.astype(np.float64)

    def step(logits):
        logits = logits / config.get("temperature", 1.0)
        logits[[PAD, BOS]] = -np.inf
        p = np.exp(logits - logits.max())
        p /= p.sum()
        order = np.argsort(-p)
        keep = order[: config.get("top_k") or len(p)]
        q = np.zeros_like(p)
        q[keep] = p[keep] / p[keep].sum()
        before = np.cumsum(q[order]) - q[order]
        q[order[before >= config.get("top_p", 1.0)]] = 0
        return q / q.sum()

    exact = {}
    for i, p in enumerate(step(table[0, BOS].copy())):
        if i == EOS:
            exact[(i,)] = p
            continue
        for j, q in enumerate(step(table[1, i].copy())):
            exact[(i, j)] = p * q
    return {ids: p for ids, p in exact.items() if p > 0}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"temperature": 0.6},
        {"top_k": 2},
        {"top_p": 0.7},
        {"top_k": 3, "top_p": 0.8, "temperature": 2.0},
    ],
)
def test_samples_are_as_frequent_as_they_are_probable(config):
    exact = _exact(config)
    number = 3000
    source = tf.ones([number, 3], tf.int32)
    # A loop draws the numbers of all sentences, which is fast only in a graph.
    drawing = search(Markov(), compiled=True, sample=True, n_best=2, seed=1, **config)
    found = drawing(source, [2] * number)
    drawn = [ids for row in range(number) for ids in found_ids(found, row)]
    assert len(drawn) == 2 * number
    counts = {ids: drawn.count(ids) for ids in set(drawn)}
    assert set(counts) <= set(exact)
    chi_squared = sum(
        (counts.get(i, 0) - len(drawn) * p) ** 2 / (len(drawn) * p) for i, p in exact.items()
    )
    freedom = len(exact) - 1
    # Its mean is `freedom` and its variance twice that.
    assert chi_squared < freedom + 4 * np.sqrt(2 * freedom)


def test_a_seed_gives_the_same_samples_and_another_seed_others():
    source = tf.ones([50, 3], tf.int32)

    def drawn(seed):
        return search(Markov(), sample=True, seed=seed)(source, [4] * 50).ids_BNT.numpy()

    np.testing.assert_array_equal(drawn(1), drawn(1))
    assert (drawn(1) != drawn(2)).any()
