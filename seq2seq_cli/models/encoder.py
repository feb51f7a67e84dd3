"""The recurrent encoder: layers of one cell, or of two that read from either end."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.cells import Cell, Tensors, scan
from seq2seq_cli.models.seq2seq import Dropout


class EncoderLayer(keras.layers.Layer):
    """A cell over the sentence, or one from each end whose states stand side by side.

    Padding leaves the states unchanged, so a sentence is encoded alike at any padding.

    Args:
        cell: the kind of cell.
        units: width of each cell.
        input_units: width of the inputs.
        bidirectional: whether there is a cell from the end too.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(
        self,
        cell: type[Cell],
        units: int,
        input_units: int,
        bidirectional: bool = True,
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.forward_cell = cell(units, input_units, seed, name=f"{self.name}_forward")
        self.backward_cell = (
            cell(units, input_units, seed, name=f"{self.name}_backward") if bidirectional else None
        )
        self.built = True

    def call(self, inputs_BSD: tf.Tensor, mask_BS: tf.Tensor) -> tuple[tf.Tensor, Tensors]:
        """Return values_BSD, and the last state of the backward cell (else of the only one)."""
        inputs_SBD = tf.transpose(inputs_BSD, [1, 0, 2])
        mask_SB1 = tf.transpose(mask_BS)[:, :, tf.newaxis]
        cells = [self.forward_cell]
        sequences = [self.forward_cell.project(inputs_SBD), mask_SB1]
        if self.backward_cell is not None:
            cells.append(self.backward_cell)
            projected = self.backward_cell.project(inputs_SBD)
            sequences += [tf.reverse(projected, [0]), tf.reverse(mask_SB1, [0])]
        size = len(self.forward_cell.state_names)

        def step(slices: Tensors, states: Tensors) -> tuple:
            states = [
                tf.where(slices[2 * i + 1], new, old)
                for i, cell in enumerate(cells)
                for new, old in zip(
                    cell(slices[2 * i], states[i * size : (i + 1) * size]),
                    states[i * size : (i + 1) * size],
                    strict=True,
                )
            ]
            return states, states[::size]

        zeros = self.forward_cell.zeros(tf.shape(inputs_BSD)[0], inputs_BSD.dtype)
        states, outputs = scan(step, sequences, zeros * len(cells))
        outputs[1:] = [tf.reverse(outputs_SBD, [0]) for outputs_SBD in outputs[1:]]
        return tf.transpose(tf.concat(outputs, axis=-1), [1, 0, 2]), states[-size:]


class Encoder(keras.layers.Layer):
    """Encoder layers upon one another; from the third on each adds its input to its output.

    Args:
        cell: the kind of cell.
        layers: how many, at least 1.
        units: width of each cell.
        input_units: width of the inputs.
        bidirectional: whether each layer reads from the end too.
        dropouts: for the input of each layer but the first.
        seed: an int or a keras.random.SeedGenerator for the initial weights.

    Attributes:
        value_units: width of the values: `units`, or twice that where bidirectional.
    """

    def __init__(
        self,
        cell: type[Cell],
        layers: int,
        units: int,
        input_units: int,
        bidirectional: bool,
        dropouts: list[Dropout],
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.value_units = 2 * units if bidirectional else units
        widths = [input_units] + [self.value_units] * (layers - 1)
        self.layers = [
            EncoderLayer(cell, units, width, bidirectional, seed, name=f"{self.name}_{number}")
            for number, width in enumerate(widths, start=1)
        ]
        self.dropouts = dropouts
        self.built = True

    def call(
        self, inputs_BSD: tf.Tensor, mask_BS: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, Tensors]:
        """Return values_BSD, and the last layer's last state (see EncoderLayer)."""
        values_BSD, last = self.layers[0](inputs_BSD, mask_BS)
        for number, (layer, dropout) in enumerate(
            zip(self.layers[1:], self.dropouts, strict=True), start=2
        ):
            outputs_BSD, last = layer(dropout(values_BSD, training=training), mask_BS)
            values_BSD = outputs_BSD + values_BSD if number >= 3 else outputs_BSD
        return values_BSD, last
