"""The loop that runs a recurrent step over time, and its gradient."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import tensorflow as tf

from seq2seq_cli.models.ops.fusion import fused
from seq2seq_cli.models.ops.products import counted, einsum, products_in

Tensors = list[tf.Tensor]
Factors = dict[str, tf.Tensor]
Parts = int | list[int]  # how many equal parts, or the width of each

LINEAR = "bi,ij->bj"  # the product of a step's vectors and a kernel


class Product(Protocol):
    """A product, as `product` computes it."""

    def __call__(
        self, equation: str, x: tf.Tensor, factor: tf.Tensor, parts: Parts = 1, /
    ) -> Tensors:
        """See `product`."""


# step(slices, state, factors, product) -> (state, outputs)
Step = Callable[[Tensors, Tensors, Factors, Product], tuple[Tensors, Tensors]]


def product(equation: str, x: tf.Tensor, factor: tf.Tensor, parts: Parts = 1) -> Tensors:
    """Return the product that tf.einsum computes, divided along its last axis as by tf.split."""
    return tf.split(einsum(equation, x, factor), parts, axis=-1)


def recurrence(
    step: Step, sequences: Tensors, state: Tensors, factors: Factors
) -> tuple[Tensors, Tensors]:
    """Run a step over the first axis of `sequences`, with a gradient of few, large products.

    Derived automatically, the gradient of a loop keeps all that a step computes, and adds at each
    step a tensor of each factor's size. Here states and products are kept, the rest of a step is
    computed once more on the way back, and the gradient of a factor is one product over all steps,
    after the loop: that of W in y = x W is the sum of x_t^T dy_t (Appleyard et al. 2016,
    "Optimizing performance of recurrent neural networks on GPUs", section 3).

    What a step divides should come divided: XLA is many times slower at a part of a slice than at
    a slice. So a sequence has one tensor a gate, and a product gives its parts.

    Args:
        step: `step(slices, state, factors, product) -> (state, outputs)`. It multiplies by what it
            is given in the place of the function `product`, wherever x changes with the steps and
            the factor is one of `factors`, which it then uses for nothing else.
        sequences: of one length, at least 1; `slices` is one of each.
        state: before the first step.
        factors: what else the gradient flows to; the same at each step.

    Returns:
        The states after each step, and the outputs of each step, stacked along a new first axis.

    Raises:
        ValueError: if the step multiplies by something else than a factor.
    """
    inputs = (sequences, state, factors)

    @tf.custom_gradient
    def run(*flat: tf.Tensor) -> tuple:
        return _Recurrence(step, *tf.nest.pack_sequence_as(inputs, flat)).run()

    results = list(run(*tf.nest.flatten(inputs)))
    return results[: len(state)], results[len(state) :]


class _Recurrence:
    """The two loops of `recurrence`."""

    def __init__(self, step: Step, sequences: Tensors, state: Tensors, factors: Factors):
        self._step = step
        self._sequences = sequences
        self._state = state
        self._factors = factors
        self._products: list[tuple[str, str]] = []  # equation and name of the factor
        self._results: Tensors = []
        self._kept: list[Tensors] = []  # the parts of each product

    def run(self) -> tuple:
        """Return what `recurrence` does, in one list, and the function of its gradient."""
        self._results, self._kept = _one_kernel(self._forward)(
            self._sequences, self._state, self._factors
        )
        return self._results, self.gradient

    def _forward(
        self, sequences: Tensors, state: Tensors, factors: Factors
    ) -> tuple[Tensors, list[Tensors]]:
        """Return the states and outputs of all steps, and the parts of all products."""
        names = {id(factor): name for name, factor in factors.items()}
        products: list[Tensors] = []

        def kept(equation: str, x: tf.Tensor, factor: tf.Tensor, parts: Parts = 1) -> Tensors:
            if id(factor) not in names:
                raise ValueError(f"A step must multiply by one of the factors. Received: {factor}")
            self._products.append((equation, names[id(factor)]))
            products.append(product(equation, x, factor, parts))
            return products[-1]

        def step(slices: Tensors, state: Tensors) -> tuple[Tensors, Tensors]:
            self._products.clear()  # a loop's step is traced more than once
            products.clear()
            state, outputs = self._step(slices, state, factors, kept)
            return state, [*state, *outputs, *tf.nest.flatten(products)]

        _, stacked = scan(step, sequences, state)
        number = len(stacked) - len(tf.nest.flatten(products))
        return stacked[:number], tf.nest.pack_sequence_as(products, stacked[number:])

    def gradient(self, *upstream: tf.Tensor, variables: Sequence[Any] = ()) -> Any:
        """Return the gradients of sequences, state and factors, and of variables that are read."""
        before = [
            tf.concat([first[tf.newaxis], states[:-1]], axis=0)
            for first, states in zip(self._state, self._results, strict=False)
        ]
        multiplied = {name for _, name in self._products}
        others = [
            name
            for name, factor in self._factors.items()
            if name not in multiplied and factor.dtype.is_floating
        ]

        def backward(sequences: list, factors: Factors) -> tuple:
            return self._backward(sequences, factors, others, variables)

        sequences = [self._sequences, before, self._kept, list(upstream)]
        dsequences, dstate, dothers, dvariables, xs, dys = _one_kernel(backward)(
            sequences, self._factors
        )
        dfactors = dict(zip(others, dothers, strict=True))
        for (equation, name), x, dy in zip(self._products, xs, dys, strict=True):
            left, right, result = _subscripts(equation)
            dfactor = einsum(f"t{left},t{result}->{right}", x, dy)
            dfactors[name] = dfactors[name] + dfactor if name in dfactors else dfactor
        floating = iter(dsequences)
        flat = [next(floating) if x.dtype.is_floating else None for x in self._sequences]
        flat += [*dstate, *(dfactors.get(name) for name in sorted(self._factors))]
        return (flat, dvariables) if variables else flat

    def _backward(
        self, sequences: list, factors: Factors, others: list[str], variables: Sequence[Any]
    ) -> tuple[Tensors, ...]:
        """Go back through the steps.

        Args:
            sequences: what each step had: slices, the state before it, parts of its products, and
                the gradient of its results.
            factors: what the steps multiplied by, and more that the gradient flows to.
            others: names of the latter.
            variables: those that the steps read.

        Returns:
            The gradients of the sequences, of the state before the first step, of the others and of
            the variables; and of each product the x of all steps, and the gradients of the results.
        """
        size, number = len(self._state), len(self._products)

        def step(flat: Tensors, carried: Tensors) -> tuple[Tensors, Tensors]:
            slices, state, kept, upstream = tf.nest.pack_sequence_as(sequences, flat)
            probes = tf.nest.map_structure(tf.zeros_like, kept)
            xs: Tensors = []

            def replayed(
                equation: str, x: tf.Tensor, factor: tf.Tensor, parts: Parts = 1
            ) -> Tensors:
                del parts
                xs.append(x)
                return _replay(equation, x, factor, kept[len(xs) - 1], probes[len(xs) - 1])

            watched = [_floating(slices), probes, state, [factors[name] for name in others]]
            with tf.GradientTape() as tape:
                tape.watch(watched)
                after, outputs = self._step(slices, state, factors, replayed)
            doutputs = [*map(tf.add, upstream[:size], carried[:size]), *upstream[size:]]
            dslices, dproducts, dstate, *dsums = tape.gradient(
                [*after, *outputs],
                [*watched, list(variables)],
                doutputs,
                tf.UnconnectedGradients.ZERO,
            )
            sums = map(tf.add, carried[size:], tf.nest.flatten(dsums))
            dys = [tf.concat(parts, axis=-1) for parts in dproducts]
            return [*dstate, *sums], [*dslices, *xs, *dys]

        summed = [*(factors[name] for name in others), *variables]
        zeros = [tf.zeros_like(x) for x in (*self._state, *summed)]
        carried, stacked = scan(step, tf.nest.flatten(sequences), zeros, reverse=True)
        dstate, sums = carried[:size], carried[size:]
        slices = len(stacked) - 2 * number
        xs, dys = stacked[slices : slices + number], stacked[slices + number :]
        return stacked[:slices], dstate, sums[: len(others)], sums[len(others) :], xs, dys


def _one_kernel(loop: Callable) -> Callable:
    """Let XLA compile a loop where functions are fused, since its steps are many small operations.

    In a loop products are small, and those of XLA faster in float32 than in bfloat16.
    """

    def exact(*arguments: Any) -> Any:
        with products_in("float32"):
            return loop(*arguments)

    return fused(exact)


def _floating(tensors: Tensors) -> Tensors:
    return [x for x in tensors if x.dtype.is_floating]


def _replay(
    equation: str, x: tf.Tensor, factor: tf.Tensor, parts: Tensors, probes: Tensors
) -> Tensors:
    """Return the parts of a product of x and factor, which are known, with the gradient of x.

    The gradients of the parts themselves go to `probes`, and none to `factor`.
    """
    left, right, result = _subscripts(equation)

    @tf.custom_gradient
    def replay(x: tf.Tensor, *probes: tf.Tensor) -> tuple:
        del x, probes

        def gradient(*dparts: tf.Tensor) -> tuple:
            dy = tf.concat(dparts, axis=-1)
            return einsum(f"{result},{right}->{left}", dy, factor), *dparts

        return tf.nest.map_structure(tf.identity, parts), gradient

    return list(replay(x, *probes))


def _subscripts(equation: str) -> list[str]:
    """Split "ab,bc->ac" into "ab", "bc", "ac"."""
    return equation.replace("->", ",").split(",")


def scan(
    step: Callable[[Tensors, Tensors], tuple[Tensors, Tensors]],
    sequences: Tensors,
    state: Tensors,
    reverse: bool = False,
) -> tuple[Tensors, Tensors]:
    """Run `step(slices, state) -> (state, outputs)` over the first axis of `sequences`.

    Args:
        step: what to run.
        sequences: of one length, at least 1.
        state: before the first step.
        reverse: begin at the last slice; outputs stand where their slices stood all the same.

    Returns:
        The final state and each output stacked over time.
    """
    length = tf.shape(sequences[0])[0]
    inputs = [tf.TensorArray(x.dtype, size=length).unstack(x) for x in sequences]

    def body(t: tf.Tensor, state: Tensors, arrays: list[tf.TensorArray]) -> tuple:
        place = length - 1 - t if reverse else t
        state, outputs = step([array.read(place) for array in inputs], state)
        return t + 1, state, [a.write(place, o) for a, o in zip(arrays, outputs, strict=True)]

    # The outputs' shapes and dtypes are needed before the loop exists.
    with counted(None):
        _, examples = step([x[0] for x in sequences], state)
    arrays = [
        tf.TensorArray(e.dtype, size=length, element_shape=e.shape, clear_after_read=False)
        for e in examples
    ]
    _, state, arrays = tf.while_loop(
        lambda t, *_: t < length, body, (0, state, arrays), maximum_iterations=length
    )
    return state, [array.stack() for array in arrays]
