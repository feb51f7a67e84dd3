"""The tree of a beam search."""

import numpy as np
import pytest
import tensorflow as tf
from small_models import both, small_decoder_only, small_rnn, small_transformer

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.beam_tree import DROPPED, FINISHED, KEPT, BeamTree, Node
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.special_tokens import EOS

SOURCE = np.array([[5, 6, 7, EOS]], np.int32)
MODELS = {"rnn": small_rnn, "transformer": small_transformer, "decoder_only": small_decoder_only}


def recorded_search(model, **options) -> tuple[Search, BeamTree]:
    config = DecodingConfig(**options)
    tree = BeamTree(config)
    return Search(model, config, compiled=False, on_step=tree.record), tree


def path(nodes: list[Node], number: int | None) -> list[int]:
    """Return the tokens of a hypothesis."""
    tokens: list[int] = []
    while number is not None:
        tokens.insert(0, nodes[number].token)
        number = nodes[number].parent
    return tokens


def depth(nodes: list[Node], number: int) -> int:
    return len(path(nodes, number))


@pytest.mark.parametrize("options", [{}, {"length_penalty": 1.0}, {"coverage_penalty": 0.2}])
@pytest.mark.parametrize("kind", MODELS)
def test_the_tree_contains_what_the_search_finds(kind, options):
    model = MODELS[kind](both(12), seed=3)
    options = {"beam": 3, "n_best": 2, "precision": "float32", **options}
    recorded, tree = recorded_search(model, **options)
    plain = Search(model, DecodingConfig(**options), compiled=False)
    found, expected = recorded(SOURCE, [7]), plain(SOURCE, [7])
    np.testing.assert_array_equal(found.ids_BNT, expected.ids_BNT)
    nodes = tree.nodes
    finished = sorted(
        (node.score, path(nodes, i)) for i, node in enumerate(nodes) if node.fate == FINISHED
    )[::-1]
    for (score, tokens), ids, expected_score in zip(
        finished[:2], expected.ids_BNT[0].numpy(), expected.score_BN[0].numpy(), strict=True
    ):
        assert tokens == ids[ids != 0].tolist()
        assert score == pytest.approx(expected_score, abs=1e-5)


def test_the_beam_keeps_the_best_of_each_step():
    recorded, tree = recorded_search(small_rnn(both(12), seed=3), beam=3)
    recorded(SOURCE, [7], [7])  # none may end before the seventh token
    nodes = tree.nodes
    deepest = max(depth(nodes, i) for i in range(len(nodes)))
    assert deepest == 7
    for step in range(1, deepest):
        at_step = [(i, node) for i, node in enumerate(nodes) if depth(nodes, i) == step]
        kept = [node.total for _, node in at_step if node.fate == KEPT]
        dropped = [node.total for _, node in at_step if node.fate == DROPPED and node.token != EOS]
        assert len(kept) == 3
        assert min(kept) >= max(dropped, default=-np.inf)
        for _, node in at_step:
            if node.parent is not None:
                assert nodes[node.parent].fate == KEPT
                assert node.total <= nodes[node.parent].total + 1e-6


def test_totals_are_log_probabilities():
    model = small_rnn(both(12), seed=3)
    recorded, tree = recorded_search(model, beam=3, precision="float32")
    recorded(SOURCE, [4])
    first = [node for node in tree.nodes if node.parent is None]
    memory = model.encode(tf.constant(SOURCE))
    logits_BV = model.decode_step(tf.constant([2]), model.initial_state(memory, 4), memory)[0]
    allowed = [token for token in range(12) if token not in (0, 2)]  # neither PAD nor BOS
    logs = tf.nn.log_softmax(tf.gather(logits_BV[0], allowed)).numpy()
    for node in first:
        assert node.total == pytest.approx(logs[allowed.index(node.token)], abs=1e-5)


def test_each_search_has_its_own_tree_and_several_sentences_have_none():
    recorded, tree = recorded_search(small_rnn(both(12), seed=3), beam=2)
    recorded(SOURCE, [5])
    before = list(tree.nodes)
    recorded(SOURCE, [5])
    assert tree.nodes == before
    with pytest.raises(ValueError, match="one sentence at a time"):
        recorded(np.tile(SOURCE, [2, 1]), [5, 5])
