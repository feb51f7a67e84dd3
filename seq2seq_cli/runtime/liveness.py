"""The memory that the tensors of a graph take, found without computing them."""

import math
from collections.abc import Iterable, Sequence

import tensorflow as tf

_SHARED = {  # the result is the buffer of the first input, or of the variable
    "Reshape", "Identity", "IdentityN", "ReadVariableOp", "ExpandDims", "Squeeze", "Bitcast",
    "StopGradient", "PreventGradient", "Unpack", "VarHandleOp", "Placeholder",
}  # fmt: skip
_IN_PLACE = {  # the result may be written over an input that nothing else reads later
    "Add", "AddV2", "AddN", "Sub", "Mul", "RealDiv", "Maximum", "Neg", "Exp", "Tanh", "TanhGrad",
    "Relu", "ReluGrad", "LogSoftmax", "Softmax", "BiasAdd", "SelectV2",
}  # fmt: skip
_NEVER = -1


def peak_bytes(results: Sequence[tf.Tensor], unknown_length: int = 1) -> int:
    """Return the maximum of the bytes that the tensors of a graph take at the same time.

    The operations are taken in the order of their creation, which is about the order in which
    TensorFlow computes them. A tensor lives from its operation to the last one that reads it.
    Variables and inputs do not count, and neither does what a kernel allocates for itself.

    Args:
        results: of the graph. They live to the end.
        unknown_length: stands for dimensions that the graph does not know, such as the number of
            iterations of a loop.
    """
    operations = _needed(results)
    last_reader: dict[int, int] = {}
    owner = _owners(operations)
    for number, operation in enumerate(operations):
        for tensor in operation.inputs:
            last_reader[owner[id(tensor)]] = number
    for tensor in results:
        last_reader[owner[id(tensor)]] = len(operations)
    live: dict[int, int] = {}
    total = peak = 0
    for number, operation in enumerate(operations):
        total += _allocate(operation, number, owner, last_reader, live, unknown_length)
        peak = max(peak, total)
        touched = {owner[id(x)] for x in (*operation.inputs, *operation.outputs)}
        for buffer in touched & live.keys():
            if last_reader.get(buffer, _NEVER) <= number:
                total -= live.pop(buffer)
    return peak


def _allocate(
    operation: tf.Operation,
    number: int,
    owner: dict[int, int],
    last_reader: dict[int, int],
    live: dict[int, int],
    unknown_length: int,
) -> int:
    """Enter the new buffers of an operation in `live`; return by how many bytes they add to it."""
    if operation.type in _SHARED:
        return 0
    added = 0
    for tensor in operation.outputs:
        size = _bytes(tensor, unknown_length)
        if operation.type in _IN_PLACE:
            for given in operation.inputs:
                buffer = owner[id(given)]
                if live.get(buffer) == size and last_reader[buffer] == number:
                    added -= live.pop(buffer)
                    break
        live[id(tensor)] = size
        added += size
    return added


def _owners(operations: Iterable[tf.Operation]) -> dict[int, int]:
    """Return for each tensor the one whose buffer it shares: itself, or an earlier one."""
    owner: dict[int, int] = {}
    for operation in operations:
        for number, tensor in enumerate(operation.outputs):
            shares = operation.type in _SHARED and len(operation.inputs)
            if shares:
                given = operation.inputs[number if operation.type == "IdentityN" else 0]
                owner[id(tensor)] = owner[id(given)]
            else:
                owner[id(tensor)] = id(tensor)
    return owner


def _needed(results: Sequence[tf.Tensor]) -> list[tf.Operation]:
    """Return the operations that the results depend on, in the order of their creation."""
    graph = results[0].graph
    found, waiting = set(), [tensor.op.name for tensor in results]
    by_name = {operation.name: operation for operation in graph.get_operations()}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [tensor.op.name for tensor in by_name[name].inputs]
    return [operation for operation in by_name.values() if operation.name in found]


def _bytes(tensor: tf.Tensor, unknown_length: int) -> int:
    if tensor.dtype == tf.resource:
        return 0
    shape = tensor.shape.as_list() if tensor.shape.rank is not None else []
    return tensor.dtype.size * math.prod(unknown_length if n is None else n for n in shape)
