"""The formulas against the products that are computed, by TensorFlow's own operations."""

import math
from unittest import mock

import pytest
import tensorflow as tf
from small_models import both, small_decoder_only, small_rnn, small_transformer

from seq2seq_cli.config.model import DecoderOnlyConfig, RNNConfig, TransformerConfig
from seq2seq_cli.models.operations import forward_operations

ROWS, SOURCE, TARGET, VOCABULARY = 3, 5, 7, 20
RNN = {"embedding_units": 4, "encoder_units": 6, "attention_units": 10, "dropout": 0.0}
STACK = {"units": 8, "heads": 2, "inner_units": 12}
CASES = {
    "additive": (small_rnn, RNNConfig, RNN | {"decoder_units": 7, "encoder_layers": 3}),
    "dot": (small_rnn, RNNConfig, RNN | {"attention": "dot", "decoder_units": 12, "cell": "lstm"}),
    "general": (
        *(small_rnn, RNNConfig),
        RNN | {"attention": "general", "input_feeding": False, "decoder_units": 7},
    ),
    "concat": (
        *(small_rnn, RNNConfig),
        RNN | {"attention": "concat", "bidirectional": False, "decoder_units": 7, "bridge": "zero"},
    ),
    "deep": (
        *(small_rnn, RNNConfig),
        RNN | {"attention": "general", "wiring": "bahdanau", "decoder_layers": 3},
    ),
    "transformer": (small_transformer, TransformerConfig, STACK | {"decoder_layers": 2}),
    "swiglu": (
        *(small_transformer, TransformerConfig),
        STACK | {"activation": "swiglu", "encoder_layers": 1, "decoder_layers": 1},
    ),
    "decoder-only": (small_decoder_only, DecoderOnlyConfig, STACK | {"layers": 2}),
}


def counted(compute) -> int:
    """Return the operations of all products in what runs eagerly."""
    total, honest = 0, {}

    def count(name, n, k, m):
        nonlocal total
        total += 2 * int(n) * int(k) * int(m)

    def matmul(a, b, transpose_b=False, **options):
        count("matmul", math.prod(a.shape[:-1]), a.shape[-1], b.shape[-2 if transpose_b else -1])
        return honest["matmul"](a, b, transpose_b=transpose_b, **options)

    def einsum(equation, a, b):
        letters = "".join(equation.split("->")[0].split(","))
        sizes = dict(zip(letters, [*a.shape, *b.shape], strict=True))
        count("einsum", math.prod(sizes.values()), 1, 1)
        return honest["einsum"](equation, a, b)

    def batched(x, y, adj_x=False, adj_y=False, **options):
        count("batched", math.prod(x.shape[:-1]), x.shape[-1], y.shape[-2 if adj_y else -1])
        return honest["batched"](x=x, y=y, adj_x=adj_x, adj_y=adj_y, **options)

    honest |= {"matmul": tf.matmul, "einsum": tf.einsum, "batched": tf.raw_ops.BatchMatMulV3}
    with (
        mock.patch.object(tf, "matmul", matmul),
        mock.patch.object(tf, "einsum", einsum),
        mock.patch.object(tf.raw_ops, "BatchMatMulV3", batched),
    ):
        compute()
    return total


@pytest.mark.parametrize("case", CASES)
def test_the_formula_counts_every_product(case):
    make, table, options = CASES[case]
    model = make(both(VOCABULARY), **options)
    source, target = tf.fill([ROWS, SOURCE], 5), tf.fill([ROWS, TARGET], 5)
    config = table(**options)
    found = counted(lambda: model((source, target)))
    # A loop's body runs once more before the loop, and layer normalisation's means are products.
    expected = forward_operations(config, VOCABULARY, ROWS, SOURCE, TARGET, ROWS * TARGET)
    assert found == pytest.approx(expected, rel=0)
