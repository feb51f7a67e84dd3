"""Architectures behind one interface. `build_model` makes the one that a config describes."""

import math

import tensorflow as tf

from seq2seq_cli.config.model import DecoderOnlyConfig, ModelConfig, RNNConfig, TransformerConfig
from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.vocabularies import Vocabularies

ARCHITECTURES = {RNNConfig: RNN, TransformerConfig: Transformer, DecoderOnlyConfig: DecoderOnly}


def build_model(config: ModelConfig, vocabularies: Vocabularies, seed: int | None = 0) -> Seq2Seq:
    """Build the model that `config` describes.

    Args:
        config: the table `[model]`.
        vocabularies: their sizes.
        seed: determines the initial weights. None gives zeros, for a model that is then loaded.
    """
    model = ARCHITECTURES[type(config)](config, vocabularies, seed)
    if vocabularies.tags:
        model.first_tag = vocabularies.source - vocabularies.tags
    model.target_tags = vocabularies.tags if vocabularies.joint else 0
    return model


def count_weights(config: ModelConfig, vocabularies: Vocabularies) -> int:
    """Return the number of trainable weights of a model, without allocating them."""
    with tf.Graph().as_default():  # in which variables are described but not allocated
        model = build_model(config, vocabularies)
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)
