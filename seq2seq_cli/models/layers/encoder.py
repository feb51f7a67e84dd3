"""The recurrent encoder: layers of one cell, or of two that read in opposite directions."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models.layers.cells import CELLS, Cell
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.ops.scan import LINEAR, Factors, Product, Tensors, scan


class EncoderLayer(keras.layers.Layer):
    """A cell that reads the sentence, or one in each direction, whose states are concatenated.

    Padding leaves the states unchanged, so it does not change the encoding of a sentence.

    Args:
        cell: the kind of cell.
        units: width of each cell.
        input_units: width of the inputs.
        bidirectional: whether a second cell reads from the end.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        both_ends: whether the last state is the concatenation of both cells' states.
    """

    def __init__(
        self,
        cell: type[Cell],
        units: int,
        input_units: int,
        bidirectional: bool = True,
        seed: Any = None,
        both_ends: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.both_ends = both_ends
        self.forward_cell = cell(units, input_units, seed, name=f"{self.name}_forward")
        self.backward_cell = (
            cell(units, input_units, seed, name=f"{self.name}_backward") if bidirectional else None
        )
        self.built = True

    @property
    def cells(self) -> list[Cell]:
        """The forward cell, and the backward cell if there is one."""
        both = [self.forward_cell, self.backward_cell]
        return [cell for cell in both if cell is not None]

    def call(self, inputs_BSD: tf.Tensor, mask_BS: tf.Tensor) -> tuple[tf.Tensor, Tensors]:
        """Return values_BSD, and the last state of the backward cell, or of the only cell.

        With `both_ends` the state is the concatenation of both cells' states.
        """
        inputs_SBD = tf.transpose(inputs_BSD, [1, 0, 2])
        mask_SB1 = tf.transpose(mask_BS)[:, :, tf.newaxis]
        cells = self.cells
        sequences = [mask_SB1, *self.forward_cell.project(inputs_SBD)]
        if self.backward_cell is not None:
            reversed_SBD = tf.reverse(inputs_SBD, [0])
            sequences += [tf.reverse(mask_SB1, [0]), *self.backward_cell.project(reversed_SBD)]
        size, gates = len(self.forward_cell.state_names), self.forward_cell.gates

        def body(slices: Tensors, states: Tensors, factors: Factors, product: Product) -> tuple:
            after: Tensors = []
            for i, cell in enumerate(cells):
                state = states[i * size : (i + 1) * size]
                mask, *projected = slices[i * (1 + gates) : (i + 1) * (1 + gates)]
                recurrent = product(LINEAR, state[0], factors[f"kernel_{i}"], gates)
                updated = cell.update(projected, recurrent, state)
                after += [tf.where(mask, n, s) for n, s in zip(updated, state, strict=True)]
            return after, []

        zeros = self.forward_cell.zeros(tf.shape(inputs_BSD)[0], inputs_BSD.dtype)
        factors = {
            f"kernel_{i}": tf.convert_to_tensor(cell.recurrent_kernel)
            for i, cell in enumerate(cells)
        }
        states, _ = scan(body, sequences, zeros * len(cells), factors)
        last = [states_SBD[-1] for states_SBD in states[-size:]]
        if self.both_ends and len(cells) == 2:
            forward = [states_SBD[-1] for states_SBD in states[:size]]
            last = [tf.concat(pair, axis=1) for pair in zip(forward, last, strict=True)]
        outputs = states[::size]
        outputs[1:] = [tf.reverse(outputs_SBD, [0]) for outputs_SBD in outputs[1:]]
        return tf.transpose(tf.concat(outputs, axis=-1), [1, 0, 2]), last


class Encoder(keras.layers.Layer):
    """A stack of encoder layers. From the third on, each adds its input to its output.

    Args:
        config: the model's table.
        dropouts: for the input of each layer except the first.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, config: RNNConfig, dropouts: list[Dropout], seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        widths = [config.embedding_units] + [config.value_units] * (config.encoder_layers - 1)
        cell, units = CELLS[config.cell], config.encoder_units
        options = {"bidirectional": config.bidirectional, "both_ends": not config.has_attention}
        self.layers = [
            EncoderLayer(cell, units, width, seed=seed, name=f"{self.name}_{number}", **options)
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
