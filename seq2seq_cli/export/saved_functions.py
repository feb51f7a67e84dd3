"""A SavedModel of functions, without the parts that only training needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow.types.experimental import ConcreteFunction

from seq2seq_cli.models.seq2seq import Seq2Seq

_GRADIENT = "_gradient_op_type"


def save_functions(
    functions: Mapping[str, ConcreteFunction],
    model: Seq2Seq,
    resources: Sequence[Any],
    folder: Path,
) -> None:
    """Write functions as the signatures of a SavedModel.

    Args:
        functions: the functions by name.
        model: the model whose weights they read.
        resources: the tables and models of tokenizers that they read.
        folder: the folder to create.
    """
    module = tf.Module()
    # The module must refer to everything that the functions read.
    module.weights = [weight.value for weight in model.variables]
    module.resources = list(resources)
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, str(folder), dict(functions), options)
    _forget_gradients(folder)


def _forget_gradients(folder: Path) -> None:
    """Remove the names of gradients. They are not saved, so loading would print warnings."""
    path = folder / "saved_model.pb"
    saved = SavedModel.FromString(path.read_bytes())
    for meta_graph in saved.meta_graphs:
        graph = meta_graph.graph_def
        for nodes in (graph.node, *(each.node_def for each in graph.library.function)):
            for node in nodes:
                if _GRADIENT in node.attr:
                    del node.attr[_GRADIENT]
    path.write_bytes(saved.SerializeToString(deterministic=True))
    (folder / "fingerprint.pb").unlink(missing_ok=True)  # it belongs to the previous file
