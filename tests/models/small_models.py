"""Models of a few hundred weights without dropout, and helpers for tests of many models."""

from collections.abc import Hashable, Mapping

import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.config.model import DecoderOnlyConfig, RNNConfig, TransformerConfig
from seq2seq_cli.models import build_model
from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.vocabularies import Vocabularies

RNN_SIZES = {
    **{"embedding_units": 6, "encoder_units": 5, "decoder_units": 7, "attention_units": 4},
    "dropout": 0.0,
}
STACK_SIZES = {
    **{"units": 8, "heads": 2, "inner_units": 12, "dropout": 0.0, "attention_dropout": 0.0},
}
LAYERS = {"encoder_layers": 1, "decoder_layers": 1}
TWENTY = Vocabularies(20, 20)


def both(vocabulary: int) -> Vocabularies:
    """Return a vocabulary that source and target share."""
    return Vocabularies(vocabulary, vocabulary)


def small_rnn(
    vocabularies: Vocabularies = TWENTY, seed: int = 1, kind: type[RNN] = RNN, **options
) -> RNN:
    return kind(RNNConfig(**RNN_SIZES | options), vocabularies, seed)


def small_transformer(vocabularies: Vocabularies = TWENTY, seed: int = 1, **options) -> Transformer:
    return build_model(TransformerConfig(**STACK_SIZES | LAYERS | options), vocabularies, seed)


def small_decoder_only(
    vocabularies: Vocabularies = TWENTY, seed: int = 1, **options
) -> DecoderOnly:
    config = DecoderOnlyConfig(**STACK_SIZES | {"layers": 2} | options)
    return build_model(config, vocabularies, seed)


def few_of(features: Mapping[Hashable, set]) -> list:
    """Return the models as parameters of a test, of which all but a few are marked slow.

    The few together have every feature that any of the models has.
    """
    left, few = set().union(*features.values()), set()
    while left:
        best = max(features, key=lambda model: len(features[model] & left))
        few.add(best)
        left -= features[best]
    return [
        pytest.param(model, marks=[] if model in few else pytest.mark.slow) for model in features
    ]


def assert_every_source_token_matters(model: Seq2Seq, source: tf.Tensor, target: tf.Tensor) -> None:
    """Check that another token in any position of the first source changes the logits."""
    length = source.shape[1]
    positions = np.arange(length)
    sources = np.repeat(source[:1], 1 + length, axis=0)  # the first one is not changed
    sources[1 + positions, positions] = 4 + (sources[0] + 2) % 9
    before, *changed = model((tf.constant(sources), tf.repeat(target[:1], 1 + length, axis=0)))
    for position, after in enumerate(changed):
        assert not np.allclose(after, before, atol=1e-7), position
