"""Small constants of a file as tensors, and back."""

import struct

from .. import _C
from .tensors import ELEMENTS, Stored, held_as

_BY_NAME = {kind.name: elem for elem, kind in ELEMENTS.items()}


def to_tensor(stored: Stored) -> _C.Tensor:
    """A tensor with a copy of the elements."""
    dtype = getattr(_C, stored.kind.name)
    return _C.tensor(stored.numbers(), dtype=dtype).reshape(list(stored.shape))


def from_tensor(tensor: _C.Tensor, elem: int | None) -> Stored:
    """The elements of a small tensor. `elem` is its type of ONNX, if the dtype does not say it."""
    name = tensor.dtype.name
    if elem is None or ELEMENTS[held_as(elem)].name != name:
        elem = _BY_NAME[name]
    kind = ELEMENTS[held_as(elem)]
    numbers = tensor.reshape([-1]).tolist()
    if kind.safe == "BF16":
        data = b"".join(struct.pack("<f", each)[2:] for each in numbers)
    elif kind.safe in ("C64", "C128"):
        code = kind.code[0]
        data = b"".join(struct.pack(f"<2{code}", each.real, each.imag) for each in numbers)
    else:
        data = struct.pack(f"<{len(numbers)}{kind.code}", *numbers)
    return Stored(elem, tuple(tensor.shape), data)
