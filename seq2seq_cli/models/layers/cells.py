"""Recurrent cells, and stacks of them."""

from abc import abstractmethod
from typing import Any, ClassVar

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.initialisers import glorot, orthogonal
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.ops.products import dense
from seq2seq_cli.models.ops.scan import LINEAR, Factors, Product, Tensors, product, scan


class Cell(keras.layers.Layer):
    """A recurrent cell: projections of the inputs and of the state, and gates that combine them.

    The part that depends only on the inputs, `project`, is computed for all positions at once. A
    state is a list of tensors BD, the first of which is the cell's output.

    Args:
        units: width of the state.
        input_units: width of the inputs.
        seed: an int or a keras.random.SeedGenerator for the initial weights.

    Attributes:
        state_names: the letter of each tensor of the state in the papers.
        gates: the number of products of width `units`, including that of the candidate.
    """

    state_names: ClassVar[tuple[str, ...]]
    gates: ClassVar[int]

    def __init__(self, units: int, input_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        outputs = self.gates * units
        self.kernel = self.add_weight((input_units, outputs), glorot(seed), name="kernel")
        self.recurrent_kernel = self.add_weight(
            (units, outputs), orthogonal(seed), name="recurrent_kernel"
        )
        self.bias = self.add_weight((outputs,), "zeros", name="bias")
        self.built = True

    def project(self, inputs: tf.Tensor) -> Tensors:
        """Return W x + b, one tensor for each gate; `inputs` is of any rank."""
        return tf.split(dense(inputs, self.kernel, self.bias), self.gates, axis=-1)

    def zeros(self, batch: int | tf.Tensor, dtype: tf.DType = tf.float32) -> Tensors:
        """Return a state of zeros."""
        return [tf.zeros([batch, self.units], dtype) for _ in self.state_names]

    def call(self, projected: Tensors, state: Tensors) -> Tensors:
        """Return the next state."""
        kernel = tf.convert_to_tensor(self.recurrent_kernel)
        return self.update(projected, product(LINEAR, state[0], kernel, self.gates), state)

    @abstractmethod
    def update(self, projected: Tensors, recurrent: Tensors, state: Tensors) -> Tensors:
        """Return the next state, given W x + b and U h, one tensor for each gate."""


class GRUCell(Cell):
    """A gated recurrent unit with the reset gate after the product, as in cuDNN.

        z, r = sigmoid(Wz x + Uz h), sigmoid(Wr x + Ur h)
        n    = tanh(Wn x + r * (Un h))
        h'   = z * h + (1 - z) * n

    Cho et al. (2014), with biases on both sides; equal to keras.layers.GRUCell(reset_after=True).
    """

    state_names = ("h",)
    gates = 3

    def __init__(self, units: int, input_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(units, input_units, seed, **kwargs)
        self.recurrent_bias = self.add_weight((3 * units,), "zeros", name="recurrent_bias")

    def update(self, projected: Tensors, recurrent: Tensors, state: Tensors) -> Tensors:
        """See Cell.update."""
        (xz, xr, xn), (hz, hr, hn) = projected, recurrent
        bz, br, bn = tf.split(self.recurrent_bias, 3)
        z = tf.sigmoid(xz + hz + bz)
        r = tf.sigmoid(xr + hr + br)
        n = tf.tanh(xn + r * (hn + bn))
        return [z * state[0] + (1 - z) * n]


class LSTMCell(Cell):
    """A long short-term memory without peepholes.

        i, f, o = sigmoid(Wi x + Ui h + bi), sigmoid(Wf x + ...), sigmoid(Wo x + ...)
        g       = tanh(Wg x + Ug h + bg)
        c'      = f * c + i * g
        h'      = o * tanh(c')

    Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000), whose bias begins
    at 1 (Jozefowicz et al. 2015); equal to keras.layers.LSTMCell. The order of the gates is i, f,
    g, o.
    """

    state_names = ("h", "c")
    gates = 4

    def __init__(self, units: int, input_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(units, input_units, seed, **kwargs)
        self.bias.assign([0.0] * units + [1.0] * units + [0.0] * 2 * units)

    def update(self, projected: Tensors, recurrent: Tensors, state: Tensors) -> Tensors:
        """See Cell.update."""
        i, f, g, o = map(tf.add, projected, recurrent)
        c = tf.sigmoid(f) * state[1] + tf.sigmoid(i) * tf.tanh(g)
        return [tf.sigmoid(o) * tf.tanh(c), c]


CELLS: dict[str, type[Cell]] = {"gru": GRUCell, "lstm": LSTMCell}


def run_cell(
    cell: Cell, inputs_BTD: tf.Tensor, state: Tensors, context: Tensors | None = None
) -> tf.Tensor:
    """Return a cell's outputs_BTD over a whole sequence, starting from `state`.

    Args:
        cell: the cell.
        inputs_BTD: the sequence.
        state: the initial state.
        context: a tensor BD for each gate, which is added to W x + b at each position.
    """

    def body(slices: Tensors, state: Tensors, factors: Factors, product: Product) -> tuple:
        recurrent = product(LINEAR, state[0], factors["kernel"], cell.gates)
        return cell.update(slices, recurrent, state), []

    projected = cell.project(tf.transpose(inputs_BTD, [1, 0, 2]))
    if context is not None:
        projected = [*map(tf.add, projected, context)]
    kernel = tf.convert_to_tensor(cell.recurrent_kernel)
    states, _ = scan(body, projected, state, {"kernel": kernel})
    return tf.transpose(states[0], [1, 0, 2])


class UpperLayers(keras.layers.Layer):
    """The layers of a decoder above the first one. From the third on, each adds its input.

    Args:
        cell: the kind of cell.
        layers: the number of layers of the decoder, including the first.
        units: width of each.
        dropouts: for the input of each.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(
        self,
        cell: type[Cell],
        layers: int,
        units: int,
        dropouts: list[Dropout],
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = units
        self.cells = [
            cell(units, units, seed, name=f"{self.name}_{number}")
            for number in range(2, layers + 1)
        ]
        self.dropouts = dropouts
        self.built = True

    def run(self, inputs_BTD: tf.Tensor, states: Tensors, training: bool) -> tf.Tensor:
        """Return outputs_BTD over a whole target."""
        for i, (cell, dropout) in enumerate(zip(self.cells, self.dropouts, strict=True)):
            dropped_BTD = dropout(inputs_BTD, training=training)
            outputs_BTD = run_cell(cell, dropped_BTD, self._of(states, i))
            inputs_BTD = outputs_BTD + inputs_BTD if i else outputs_BTD
        return inputs_BTD

    def kernels(self) -> Factors:
        """Return the weights of the products of `step`, read once."""
        kernels = {}
        for i, cell in enumerate(self.cells):
            kernels[f"upper_{i}"] = tf.convert_to_tensor(cell.kernel)
            kernels[f"upper_recurrent_{i}"] = tf.convert_to_tensor(cell.recurrent_kernel)
        return kernels

    def step(
        self,
        inputs_BD: tf.Tensor,
        states: Tensors,
        masks: Tensors,
        kernels: Factors | None = None,
        product: Product = product,
    ) -> tuple[tf.Tensor, Tensors]:
        """Return the output and the next states at one position.

        Args:
            inputs_BD: the output of the layer below.
            states: before the position.
            masks: the position's slice of `masks`.
            kernels: has the result of the method `kernels`; None to read them here.
            product: see `scan`.
        """
        kernels = self.kernels() if kernels is None else kernels
        after: Tensors = []
        for i, cell in enumerate(self.cells):
            before = self._of(states, i)
            dropped_BD = inputs_BD * masks[i] if masks else inputs_BD
            projected = product(LINEAR, dropped_BD, kernels[f"upper_{i}"], cell.gates)
            projected = [*map(tf.add, projected, tf.split(cell.bias, cell.gates))]
            recurrent = product(LINEAR, before[0], kernels[f"upper_recurrent_{i}"], cell.gates)
            state = cell.update(projected, recurrent, before)
            inputs_BD = state[0] + inputs_BD if i else state[0]
            after += state
        return inputs_BD, after

    def output(self, first_BD: tf.Tensor, states: Tensors) -> tf.Tensor:
        """Return the output of `step` for these states.

        Args:
            first_BD: the state of the first layer.
            states: the states of the other layers.
        """
        outputs = [self._of(states, i)[0] for i, _ in enumerate(self.cells)]
        return tf.add_n(outputs) if outputs else first_BD

    def masks(self, batch: tf.Tensor, length: tf.Tensor, training: bool) -> Tensors:
        """Return the dropout mask of each layer's inputs, TBD; no masks if not in training."""
        if not training:
            return []
        ones_BTD = tf.ones([batch, length, self.units])
        return [tf.transpose(drop(ones_BTD, training=True), [1, 0, 2]) for drop in self.dropouts]

    def _of(self, states: Tensors, i: int) -> Tensors:
        size = len(self.cells[i].state_names)
        return states[i * size : (i + 1) * size]
