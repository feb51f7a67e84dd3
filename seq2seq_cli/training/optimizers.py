"""The optimizer that a config names, and its treatment of each weight."""

from typing import Any

import keras

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.training.adafactor import Adafactor
from seq2seq_cli.training.adam import Adam
from seq2seq_cli.training.lion import Lion
from seq2seq_cli.training.muon import Muon

_TABLES = ("embeddings", "table")  # how the names of embeddings and of learned positions end
_OUTPUT = "output_projection"  # the layer that predicts the vocabulary if no table does


def make_optimizer(
    config: TrainingConfig,
    model: Seq2Seq,
    weights: list[keras.Variable],
    precision: str = "float32",
) -> keras.optimizers.Optimizer:
    """Return the optimizer that a config names, with its state for a model's weights.

    Weight decay is decoupled from the gradient (Loshchilov and Hutter 2019): it multiplies a weight
    by 1 - rate * decay before each update. Only matrices decay: biases, normalisations, learned
    positions, embeddings and an output table like theirs do not.

    Args:
        config: names the optimizer and its settings.
        model: the model.
        weights: those of its weights that are updated.
        precision: dtype of the optimizer's matrix products.
    """
    optimizer = _optimizer(config, model, precision)
    if optimizer.weight_decay:
        kept = [weight for weight in weights if not _is_matrix(weight)]
        optimizer.exclude_from_weight_decay(var_list=kept)
    optimizer.build(weights)
    return optimizer


def _optimizer(
    config: TrainingConfig, model: Seq2Seq, precision: str
) -> keras.optimizers.Optimizer:
    # Without decay, Keras must get None: 0.0 would cost a pass over all weights.
    common: dict[str, Any] = {
        "name": config.optimizer,
        "weight_decay": config.decay or None,
        "states": config.optimizer_states,
        "seed": config.seed,
    }
    adam: dict[str, Any] = {
        "beta_1": config.beta_1,
        "beta_2": config.beta_2,
        "epsilon": config.epsilon,
    }
    match config.optimizer:
        case "muon":
            matrices = muon_matrices(model)
            return Muon(matrices, config.momentum, precision, **adam, **common)
        case "lion":
            betas: dict[str, Any] = {"beta_1": config.beta_1, "beta_2": config.beta_2}
            return Lion(**betas, **common)
        case "adafactor":
            return Adafactor(**common)
        case _:  # Adam; AdamW is Adam with weight decay
            return Adam(**adam, **common)


def muon_matrices(model: Seq2Seq) -> dict[str, int]:
    """Return the paths of the weights that Muon updates by orthogonal matrices.

    They are the matrices inside layers. Tables, the output projection and vectors are left out, as
    Jordan et al. (2024) advise.

    Returns:
        For each path, the number of matrices side by side in the weight.
    """
    joined = model.joined_matrices()
    return {
        weight.path: joined.get(weight.path, 1)
        for weight in model.trainable_variables
        if _is_matrix(weight) and min(weight.shape) > 1 and _OUTPUT not in weight.path
    }


def _is_matrix(weight: keras.Variable) -> bool:
    """Return whether a weight is a matrix, but not a table of embeddings or of positions."""
    return len(weight.shape) == 2 and not weight.name.endswith(_TABLES)
