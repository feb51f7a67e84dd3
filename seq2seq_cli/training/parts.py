"""The parts of a model, by which weights are frozen."""

import keras

from seq2seq_cli.config.training import Part, TrainingConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models.seq2seq import Seq2Seq


def part_of(weight: keras.Variable) -> Part:
    """Return the part of a model that a weight belongs to.

    `embeddings` are the tables of words and positions, tied ones included; `output` predicts the
    vocabulary from hidden vectors, except a tied table. Attention, bridge and readout are parts
    of the `decoder`, and so are the blocks of a decoder-only model.
    """
    layer = weight.path.partition("/")[0]
    if layer == "output_projection" or weight.name in ("output_table", "output_bias"):
        return "output"
    if weight.name in ("table", "embeddings", "source_table", "target_table"):
        return "embeddings"
    return "encoder" if layer.startswith("encoder") else "decoder"


def trained_weights(config: TrainingConfig, model: Seq2Seq) -> list[keras.Variable]:
    """Return the weights of a model that training changes: all except the frozen parts.

    Raises:
        UsageError: if a part to freeze has no weights, or no weight is left.
    """
    weights = model.trainable_variables
    found = {part_of(weight) for weight in weights}
    missing = [part for part in config.freeze if part not in found]
    if missing:
        raise UsageError(
            f"training.freeze: {', '.join(missing)}: this kind of model has no such weights. "
            f"It has: {', '.join(sorted(found))}"
        )
    if found <= set(config.freeze):
        raise UsageError(f"training.freeze ({config.freeze}) leaves nothing to train")
    return [weight for weight in weights if part_of(weight) not in config.freeze]
