"""The loop that runs the body of a recurrence over time, and its gradient."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import tensorflow as tf

from seq2seq_cli.models.ops.compute import computing, fused
from seq2seq_cli.models.ops.products import einsum

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


# body(slices, state, factors, product) -> (state, outputs)
Body = Callable[[Tensors, Tensors, Factors, Product], tuple[Tensors, Tensors]]


def product(equation: str, x: tf.Tensor, factor: tf.Tensor, parts: Parts = 1) -> Tensors:
    """Return the product that tf.einsum computes, split along its last axis as by tf.split."""
    return tf.split(einsum(equation, x, factor), parts, axis=-1)


def scan(
    body: Body, sequences: Tensors, state: Tensors, factors: Factors
) -> tuple[Tensors, Tensors]:
    """Run the body of a recurrence over the first axis of `sequences`.

    Its gradient takes few, large products. An automatic gradient of a loop would store everything
    that the body computes, and add a tensor of each factor's size at each iteration. Here only
    states and products are stored. The backward pass recomputes the rest. The gradient of a factor
    is one product over all iterations, after the loop: for y = x W it is the sum of x_t^T dy_t
    (Appleyard et al. 2016, "Optimizing performance of recurrent neural networks on GPUs", section
    3).

    XLA is many times slower with a part of a tensor than with a whole one. So `sequences` has one
    tensor for each gate, and a product returns its parts.

    Args:
        body: `body(slices, state, factors, product) -> (state, outputs)`. If x changes with the
            iterations and the factor is one of `factors`, it must multiply with the given
            `product`, and use the factor for nothing else.
        sequences: tensors of one length, at least 1. `slices` has one slice of each.
        state: before the first iteration.
        factors: the other tensors that receive gradients, the same at each iteration.

    Returns:
        The states after each iteration, and the outputs of each, stacked along a new first axis.

    Raises:
        ValueError: if the body multiplies by anything other than a factor.
    """
    inputs = (sequences, state, factors)

    @tf.custom_gradient
    def run(*flat: tf.Tensor) -> tuple:
        return _Scan(body, *tf.nest.pack_sequence_as(inputs, flat)).run()

    results = list(run(*tf.nest.flatten(inputs)))
    return results[: len(state)], results[len(state) :]


class _Scan:
    """The two loops of `scan`."""

    def __init__(self, body: Body, sequences: Tensors, state: Tensors, factors: Factors):
        self._body = body
        self._sequences = sequences
        self._state = state
        self._factors = factors
        self._products: list[tuple[str, str]] = []  # equation and name of the factor
        self._results: Tensors = []
        self._kept: list[Tensors] = []  # the parts of each product

    def run(self) -> tuple:
        """Return the results of `scan` in one list, and the function of its gradient."""
        self._results, self._kept = _one_kernel(self._forward)(
            self._sequences, self._state, self._factors
        )
        return self._results, self.gradient

    def _forward(
        self, sequences: Tensors, state: Tensors, factors: Factors
    ) -> tuple[Tensors, list[Tensors]]:
        """Return the states and outputs of all iterations, and the parts of all products."""
        names = {id(factor): name for name, factor in factors.items()}
        products: list[Tensors] = []

        def kept(equation: str, x: tf.Tensor, factor: tf.Tensor, parts: Parts = 1) -> Tensors:
            if id(factor) not in names:
                raise ValueError(f"A body must multiply by one of the factors. Received: {factor}")
            self._products.append((equation, names[id(factor)]))
            products.append(product(equation, x, factor, parts))
            return products[-1]

        def keeping(slices: Tensors, state: Tensors) -> tuple[Tensors, Tensors]:
            self._products.clear()  # a loop's body is traced more than once
            products.clear()
            state, outputs = self._body(slices, state, factors, kept)
            return state, [*state, *outputs, *tf.nest.flatten(products)]

        _, stacked = _loop(keeping, sequences, state)
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
        """Go back through the iterations.

        Args:
            sequences: the values of each iteration: slices, the state before it, parts of its
                products, and the gradient of its results.
            factors: the factors of the body, and further tensors that receive gradients.
            others: names of the latter.
            variables: those that the body reads.

        Returns:
            The gradients of the sequences, of the state before the first step, of the others and of
            the variables; and of each product all x, and the gradients of the results.
        """
        size, number = len(self._state), len(self._products)

        def back(flat: Tensors, carried: Tensors) -> tuple[Tensors, Tensors]:
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
                after, outputs = self._body(slices, state, factors, replayed)
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
        carried, stacked = _loop(back, tf.nest.flatten(sequences), zeros, reverse=True)
        dstate, sums = carried[:size], carried[size:]
        slices = len(stacked) - 2 * number
        xs, dys = stacked[slices : slices + number], stacked[slices + number :]
        return stacked[:slices], dstate, sums[: len(others)], sums[len(others) :], xs, dys


def _one_kernel(function: Callable) -> Callable:
    """Let XLA compile a loop if functions are fused: its body has many small operations.

    In a loop, products are small, and those of XLA are faster in float32 than in bfloat16.
    """

    def exact(*arguments: Any) -> Any:
        with computing(precision="float32"):
            return function(*arguments)

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


def _loop(
    body: Callable[[Tensors, Tensors], tuple[Tensors, Tensors]],
    sequences: Tensors,
    state: Tensors,
    reverse: bool = False,
) -> tuple[Tensors, Tensors]:
    """Run `body(slices, state) -> (state, outputs)` over the first axis of `sequences`.

    Args:
        body: the function to run.
        sequences: of one length, at least 1.
        state: before the first iteration.
        reverse: begin at the last slice; outputs still have the positions of their slices.

    Returns:
        The final state and each output stacked over time.
    """
    length = tf.shape(sequences[0])[0]
    inputs = [tf.TensorArray(x.dtype, size=length).unstack(x) for x in sequences]

    def iterate(t: tf.Tensor, state: Tensors, arrays: list[tf.TensorArray]) -> tuple:
        index = length - 1 - t if reverse else t
        state, outputs = body([array.read(index) for array in inputs], state)
        return t + 1, state, [a.write(index, o) for a, o in zip(arrays, outputs, strict=True)]

    # The outputs' shapes and dtypes are needed before the loop exists.
    _, examples = body([x[0] for x in sequences], state)
    arrays = [
        tf.TensorArray(e.dtype, size=length, element_shape=e.shape, clear_after_read=False)
        for e in examples
    ]
    _, state, arrays = tf.while_loop(
        lambda t, *_: t < length, iterate, (0, state, arrays), maximum_iterations=length
    )
    return state, [array.stack() for array in arrays]
