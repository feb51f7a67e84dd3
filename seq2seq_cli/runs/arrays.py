"""Arrays in safetensors files, which are written part by part and read with a checked header.

The format (huggingface.co/docs/safetensors) is the length of the header in 8 bytes, the header in
JSON, and the arrays one after the other. The package safetensors reads the files here. It does not
write them, because it would open and rename them itself.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401  (with it, NumPy has bfloat16)
import numpy as np
from safetensors import SafetensorError, safe_open

from seq2seq_cli.errors import CheckpointError, os_reason
from seq2seq_cli.runs import files

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
    "BOOL": "bool",
}  # fmt: skip
_CODES = {name: code for code, name in _DTYPES.items()}
_ALIGNMENT = 8  # bytes
_MOST_DIMENSIONS = 16
_SHOWN = 60  # characters of a shape


class Spec(NamedTuple):
    """Shape and dtype of an array."""

    shape: tuple[int, ...]
    dtype: str


def file_parts(arrays: Iterable[tuple[str, np.ndarray]]) -> Iterator[files.Data]:
    """Yield the content of a safetensors file: the header, then the values of each array.

    Args:
        arrays: names and arrays, of numbers or booleans.
    """
    ordered = sorted(arrays, key=lambda item: (-item[1].itemsize, item[0]))
    header: dict[str, Any] = {}
    end = 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        code = _CODES[array.dtype.name]
        header[name] = {"dtype": code, "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    yield len(text).to_bytes(8, "little") + text
    for _, array in ordered:
        little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        yield little.reshape(-1).view(np.uint8).data


class ArrayFile:
    """An open safetensors file.

    Args:
        file: an object of the package safetensors.
        specs: of the arrays, by name.
    """

    def __init__(self, file: Any, specs: dict[str, Spec]):
        self._file = file
        self.specs = specs

    def array(self, name: str) -> np.ndarray:
        """Return an array."""
        return self._file.get_tensor(name)


@contextmanager
def open_arrays(path: Path) -> Iterator[ArrayFile]:
    """Open a safetensors file. Reading it needs no more memory than its size.

    Raises:
        CheckpointError: if it cannot be read, is not a safetensors file, or has an array that does
            not occur in checkpoints.
    """
    try:
        size = files.size(path)
        file = safe_open(path, framework="numpy")
    except SafetensorError as error:
        raise CheckpointError(f"{path}: not a safetensors file: {error}") from error
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {os_reason(error)}") from error
    with file as opened:
        specs = {}
        for name in opened.keys():  # noqa: SIM118  (a safe_open is not iterable)
            part = opened.get_slice(name)
            shape, code = tuple(part.get_shape()), part.get_dtype()
            # The library checks offsets and shapes, but an empty array may claim any dimension.
            is_odd = len(shape) > _MOST_DIMENSIONS or any(length > size for length in shape)
            if is_odd or code not in _DTYPES:
                raise CheckpointError(
                    f"{path}: {name} has dtype {code} and shape {str(shape)[:_SHOWN]}, which do "
                    "not occur in checkpoints"
                )
            specs[name] = Spec(shape, _DTYPES[code])
        yield ArrayFile(opened, specs)
