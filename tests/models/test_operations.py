"""The formulas against the products that are computed, by TensorFlow's own operations."""

import math
from unittest import mock

import pytest
import tensorflow as tf

from seq2seq_cli.config.model import DecoderOnlyConfig, RNNConfig, TransformerConfig
from seq2seq_cli.models import build_model
from seq2seq_cli.models.operations import forward_operations
from seq2seq_cli.models.ops import layer_norm, scan
from seq2seq_cli.vocabularies import Vocabularies

ROWS, SOURCE, TARGET, VOCABULARY = 3, 5, 7, 20
UNITS = {"embedding_units": 4, "encoder_units": 6, "attention_units": 10}
RNN = {**UNITS, "decoder_units": 7, "wiring": "luong"}
STACK = {"units": 8, "heads": 2, "inner_units": 12}
ONE_WAY = {"bidirectional": False, "bridge": "zero"}
CONFIGS = {
    "additive": RNNConfig(**RNN | {"wiring": "bahdanau", "encoder_layers": 3}),
    "dot": RNNConfig(**RNN | {"attention": "dot", "decoder_units": 12, "cell": "lstm"}),
    "general": RNNConfig(**RNN | {"attention": "general", "input_feeding": False}),
    "concat": RNNConfig(**RNN | {"attention": "concat"} | ONE_WAY),
    "deep": RNNConfig(**RNN | {"attention": "general", "wiring": "bahdanau", "decoder_layers": 3}),
    "none": RNNConfig(**RNN | {"attention": "none", "decoder_layers": 2, "cell": "lstm"}),
    "none, Bahdanau": RNNConfig(**RNN | {"attention": "none", "wiring": "bahdanau"}),
    "location": RNNConfig(**RNN | {"attention": "location", "attention_positions": 9}),
    "local-p": RNNConfig(**RNN | {"attention": "general", "attention_span": "local_p"}),
    "local-p at once": RNNConfig(
        **RNN
        | {"attention": "dot", "attention_span": "local_p", "input_feeding": False}
        | {"decoder_units": 12}
    ),
    "maxout": RNNConfig(**RNN | {"wiring": "bahdanau", "readout": "maxout"}),
    "transformer": TransformerConfig(**STACK, encoder_layers=1, decoder_layers=2),
    "parallel": TransformerConfig(**STACK, parallel_blocks=True),
    "shared layers": TransformerConfig(**STACK, weight_sharing="layers", decoder_layers=3),
    "shared stacks": TransformerConfig(**STACK, weight_sharing="stacks", key_value_heads=1),
    "grouped": TransformerConfig(**STACK | {"heads": 4}, key_value_heads=2),
    "wide heads": TransformerConfig(**STACK, head_units=6),
    "narrow heads decoder-only": DecoderOnlyConfig(**STACK, head_units=1, key_value_heads=1),
    "grouped decoder-only": DecoderOnlyConfig(**STACK, key_value_heads=1),
    "swiglu": TransformerConfig(**STACK, activation="swiglu"),
    "decoder-only": DecoderOnlyConfig(**STACK, layers=2),
}


def counted(compute) -> int:
    """Return the operations of all products in what runs eagerly."""
    total, honest = 0, {}

    def count(n, k, m):
        nonlocal total
        total += 2 * int(n) * int(k) * int(m)

    def matmul(a, b, transpose_b=False, **options):
        count(math.prod(a.shape[:-1]), a.shape[-1], b.shape[-2 if transpose_b else -1])
        return honest["matmul"](a, b, transpose_b=transpose_b, **options)

    def einsum(equation, a, b):
        letters = "".join(equation.split("->")[0].split(","))
        sizes = dict(zip(letters, [*a.shape, *b.shape], strict=True))
        count(math.prod(sizes.values()), 1, 1)
        return honest["einsum"](equation, a, b)

    def batched(x, y, adj_x=False, adj_y=False, **options):
        count(math.prod(x.shape[:-1]), x.shape[-1], y.shape[-2 if adj_y else -1])
        return honest["batched"](x=x, y=y, adj_x=adj_x, adj_y=adj_y, **options)

    honest |= {"matmul": tf.matmul, "einsum": tf.einsum, "batched": tf.raw_ops.BatchMatMulV3}
    with (
        mock.patch.object(tf, "matmul", matmul),
        mock.patch.object(tf, "einsum", einsum),
        mock.patch.object(tf.raw_ops, "BatchMatMulV3", batched),
    ):
        compute()
    return total


def python_loop(body, sequences, state, reverse=False):
    """Do what `scan._loop` does, without a body that runs for the shapes of its outputs."""
    assert not reverse
    outputs = []
    for slices in zip(*map(tf.unstack, sequences), strict=True):
        state, output = body(list(slices), state)
        outputs.append(output)
    return state, [tf.stack(each) for each in zip(*outputs, strict=True)]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_formula_counts_every_product(name, monkeypatch):
    config = CONFIGS[name]
    model = build_model(config, Vocabularies(VOCABULARY, VOCABULARY))
    source, target = tf.fill([ROWS, SOURCE], 5), tf.fill([ROWS, TARGET], 5)
    monkeypatch.setattr(scan, "_loop", python_loop)
    # Layer normalisation takes its means by products, which are not the model's.
    monkeypatch.setattr(layer_norm, "_mean", lambda x: tf.reduce_mean(x, -1, keepdims=True))
    found = counted(lambda: model((source, target)))
    assert found == forward_operations(config, VOCABULARY, ROWS, SOURCE, TARGET)
