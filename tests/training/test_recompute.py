"""Blocks of a Transformer that are computed again for their gradients."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config
from small_batches import batch
from small_models import small_decoder_only, small_transformer

from seq2seq_cli.errors import UsageError
from seq2seq_cli.models.layers.blocks import Block
from seq2seq_cli.models.layers.relative_positions import Relative
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.training.step import Updater

MODELS = {
    "transformer": lambda: small_transformer(dropout=0.3, attention_dropout=0.2),
    "learned distances": lambda: small_transformer(dropout=0.3, positions="relative"),
    "shared layers": lambda: small_transformer(dropout=0.3, weight_sharing="stacks"),
    "layer drop": lambda: small_transformer(dropout=0.3, encoder_layer_drop=0.5),
    "parallel blocks": lambda: small_transformer(dropout=0.3, parallel_blocks=True),
    "decoder-only": lambda: small_decoder_only(dropout=0.3, positions="rotary"),
}


def gradients(model: Seq2Seq, recompute: bool, shards: int) -> list[np.ndarray]:
    config = tiny_config("x", training__recompute=recompute, model__kind="transformer").training
    updater = Updater(model, config, shards=shards)
    model.dropout_key.set(3, 4)
    found, loss = updater.compiled(updater.objective.gradients)(*batch(6)[:2])
    return [loss.numpy(), *(gradient.numpy() for gradient in found)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shards", [2, 1])
@pytest.mark.few_cases(1)
def test_gradients_are_those_without_it(name, shards):
    found = gradients(MODELS[name](), True, shards)
    expected = gradients(MODELS[name](), False, shards)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_bias_of_distances_has_the_same_gradient():
    block = small_transformer().encoder[0]
    x = tf.random.stateless_normal([2, 3, block.self_attention.units], seed=[1, 2])
    bias = tf.random.stateless_normal([block.self_attention.heads, 3, 3], seed=[3, 4])

    def gradient(recompute: bool) -> np.ndarray:
        with computing(recompute=recompute), tf.GradientTape() as tape:
            tape.watch(bias)
            outputs = block(x, training=True, relative=Relative(bias=bias)).outputs_BTD
            loss = tf.reduce_sum(tf.sin(outputs))
        return tape.gradient(loss, bias).numpy()

    assert np.any(gradient(True))
    np.testing.assert_allclose(gradient(True), gradient(False), atol=1e-6)


def test_each_block_is_computed_twice_in_training_and_once_otherwise(monkeypatch):
    counted = []
    transform = Block._transform

    def counting(block, *arguments, **options):
        counted.append(block.name)
        return transform(block, *arguments, **options)

    monkeypatch.setattr(Block, "_transform", counting)
    model = small_transformer()
    config = tiny_config("x", training__recompute=True, model__kind="transformer").training
    ids = batch(4)[:2]
    Updater(model, config).objective.gradients(*ids)
    blocks = [block.name for block in (*model.encoder, *model.decoder)]
    assert sorted(counted) == sorted(blocks * 2)
    counted.clear()
    model((ids[0], ids[1]))
    assert sorted(counted) == sorted(blocks)


def test_an_rnn_has_no_blocks():
    with pytest.raises(UsageError, match=r"training\.recompute .* an RNN has none"):
        tiny_config("x", training__recompute=True)
