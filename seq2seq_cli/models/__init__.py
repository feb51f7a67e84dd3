"""Architectures behind one interface; `build_model` is the only branch on their kind."""

import math

import tensorflow as tf

from seq2seq_cli.config.model import ModelConfig
from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.transformer import Transformer


def build_model(
    config: ModelConfig,
    source_vocabulary: int,
    target_vocabulary: int,
    seed: int = 0,
    joint_vocabulary: bool = True,
) -> Seq2Seq:
    """Build the model that `config` describes, with initial weights that follow from `seed`.

    With `joint_vocabulary` an id means the same in source and target, and tied embeddings are those
    of the source too.
    """
    options = config.model_dump(exclude={"kind"})
    if config.kind == "rnn":
        return RNN(source_vocabulary, target_vocabulary, seed=seed, **options)
    architecture = Transformer if config.kind == "transformer" else DecoderOnly
    return architecture(
        source_vocabulary,
        target_vocabulary,
        joint_vocabulary=joint_vocabulary,
        seed=seed,
        **options,
    )


def count_weights(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int, joint_vocabulary: bool
) -> int:
    """Return how many trainable weights a model has; no memory is taken for them."""
    with tf.Graph().as_default():  # where variables are described and not made
        model = build_model(
            config, source_vocabulary, target_vocabulary, joint_vocabulary=joint_vocabulary
        )
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)
