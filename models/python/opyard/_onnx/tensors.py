"""Tensors of an ONNX file as bytes that can be kept: types, sizes, external data.

Nothing is computed and no tensor is made here: bytes of weights go from the file to the model as
they are. External data is read from files inside the folder of the model, and from no others.
"""

import math
import os
import struct
from dataclasses import dataclass
from typing import Any

from .small_types import FLOATS, INTS, POWERS, bits_of, unpacked
from .wire import Broken


@dataclass(frozen=True)
class Element:
    """An element type: as ONNX, this package and safetensors call it, and how it is packed."""

    onnx: str
    name: str
    safe: str
    size: int
    code: str  # for the struct module; "" if bits alone are kept
    number: int  # in schemas
    field: str  # of a tensor without raw bytes


ELEMENTS = {
    1: Element("float", "float32", "F32", 4, "f", 6, "floats"),
    2: Element("uint8", "uint8", "U8", 1, "B", 0, "int32s"),
    3: Element("int8", "int8", "I8", 1, "b", 1, "int32s"),
    4: Element("uint16", "uint16", "U16", 2, "H", 27, "int32s"),
    5: Element("int16", "int16", "I16", 2, "h", 2, "int32s"),
    6: Element("int32", "int32", "I32", 4, "i", 3, "int32s"),
    7: Element("int64", "int64", "I64", 8, "q", 4, "int64s"),
    9: Element("bool", "bool", "BOOL", 1, "?", 11, "int32s"),
    10: Element("float16", "float16", "F16", 2, "e", 5, "int32s"),
    11: Element("double", "float64", "F64", 8, "d", 7, "doubles"),
    12: Element("uint32", "uint32", "U32", 4, "I", 28, "uint64s"),
    13: Element("uint64", "uint64", "U64", 8, "Q", 29, "uint64s"),
    14: Element("complex64", "complex64", "C64", 8, "ff", 9, "floats"),
    15: Element("complex128", "complex128", "C128", 16, "dd", 10, "doubles"),
    16: Element("bfloat16", "bfloat16", "BF16", 2, "", 15, "int32s"),
}
STRING = 8
MOST_DIMENSIONS = 64
FLOATING = {1, 10, 11, 16, *FLOATS, POWERS}
SIGNED_INTS = {3, 5, 6, 7, 22, 26}


def held_as(elem: int) -> int:
    """The element type that holds values of this one: itself, if it is one of this package's."""
    if elem in INTS:
        return 3 if INTS[elem].is_signed else 2
    return 1 if elem in FLOATS or elem == POWERS else elem


def element(elem: int, what: str) -> Element:
    """Raises Broken for a type that is not read."""
    found = ELEMENTS.get(held_as(elem))
    if found is None:
        kind = "strings" if elem == STRING else f"elements of type {elem}"
        raise Broken(f"{what} has {kind}, and tensors of numbers are read")
    return found


@dataclass(frozen=True)
class Stored:
    """A tensor of the file: element type, sizes, and its elements as bytes of the holding type."""

    elem: int
    shape: tuple[int, ...]
    data: "bytes | memoryview"

    @property
    def kind(self) -> Element:
        return ELEMENTS[held_as(self.elem)]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def numbers(self) -> list[Any]:
        """The elements as Python's numbers; for few."""
        kind = self.kind
        if kind.safe == "BF16":
            bits = struct.unpack(f"<{self.count}H", self.data)
            return [struct.unpack("<f", struct.pack("<I", each << 16))[0] for each in bits]
        if kind.safe in ("C64", "C128"):
            parts = struct.unpack(f"<{2 * self.count}{kind.code[0]}", self.data)
            return [complex(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        return list(struct.unpack(f"<{self.count}{kind.code}", self.data))


def sizes_of(dims: list[int], what: str) -> tuple[int, ...]:
    """Sizes that a tensor can have. Raises Broken."""
    if len(dims) > MOST_DIMENSIONS or any(size < 0 for size in dims) or math.prod(dims) > 1 << 40:
        raise Broken(f"{what} has the sizes {dims[:70]}")
    return tuple(dims)


def _typed(proto: Any, kind: Element, elem: int, count: int, what: str) -> bytes:
    """The elements of a tensor that has them in a field of their type."""
    numbers = getattr(proto, kind.field if not bits_of(elem) else "int32s")
    per = 8 // bits_of(elem) if bits_of(elem) else 1
    wanted = -(-count // per) * (2 if kind.safe in ("C64", "C128") else 1)
    if len(numbers) != wanted:
        raise Broken(f"{what} has {len(numbers)} numbers, and its sizes say {wanted}")
    try:
        if bits_of(elem):
            return unpacked(elem, bytes(number & 0xFF for number in numbers), count)
        if kind.safe in ("F16", "BF16"):
            return struct.pack(f"<{len(numbers)}H", *numbers)
        return struct.pack(f"<{len(numbers)}{kind.code[0]}", *numbers)
    except struct.error as error:
        raise Broken(f"{what} has a number out of the range of {kind.onnx}: {error}") from None


def _external(entries: list[Any], folder: str, what: str) -> bytes:
    """The bytes of a file inside the folder. Raises Broken for one that is elsewhere."""
    said = {entry.key: entry.value for entry in entries}
    location = said.get("location", "")
    base = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(base, location))
    if not location or os.path.isabs(location) or os.path.commonpath([base, path]) != base:
        raise Broken(
            f"{what} is in {location!r}, outside the folder of the model; external data is read "
            "from that folder alone"
        )
    try:
        offset, length = int(said.get("offset", "0") or 0), int(said.get("length", "-1") or -1)
    except ValueError:
        raise Broken(f"{what}: offset or length of its external data is no number") from None
    if not os.path.isfile(path):
        raise Broken(f"{what} is in {location!r}, and the folder of the model has no such file")
    size = os.path.getsize(path)
    length = size - offset if length < 0 else length
    if not 0 <= offset <= size or length > size - offset:
        raise Broken(
            f"{what} has {length} bytes at {offset} of {location!r}, which has {size} bytes"
        )
    with open(path, "rb") as file:
        file.seek(offset)
        data = file.read(length)
    return data


def read_tensor(proto: Any, folder: str, what: str) -> Stored:
    """A tensor of the file. Raises Broken, naming it, for sizes and bytes that do not fit."""
    elem = proto.dtype
    kind = element(elem, what)
    if proto.segment is not None:
        raise Broken(f"{what} is a segment of a tensor, and whole ones are read")
    shape = sizes_of(proto.dims, what)
    count = math.prod(shape)
    data = proto.raw
    if proto.location == 1:
        data = _external(proto.external, folder, what)
    elif data is None:
        return Stored(elem, shape, _typed(proto, kind, elem, count, what))
    bits = bits_of(elem)
    wanted = -(-count * bits // 8) if bits else count * kind.size
    if len(data) != wanted:
        raise Broken(f"{what} has {len(data)} bytes, and {list(shape)} of {kind.onnx} has {wanted}")
    if kind.safe == "BOOL" and bytes(data).strip(b"\0\1"):
        data = bytes(byte != 0 for byte in data)
    return Stored(elem, shape, unpacked(elem, bytes(data), count) if bits else data)
