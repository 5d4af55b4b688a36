"""Wire format of protocol buffers: fields of a message, bounded.

A message is a row of fields, each a key (number and kind) and a value: a varint, four or eight
bytes, or a length and so many bytes. Every read is checked against the end of its message, so that
a cut or hostile file raises ValueError and reads nothing beyond.
"""

import struct
from collections.abc import Iterator

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
MOST_BYTES = 2**31 - 1  # what the format itself allows for a message

_WORD = (1 << 64) - 1


class Broken(ValueError):
    """Bytes that are no message; the reader of the file adds its name."""


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """An unsigned number of at most ten bytes, and the place behind it."""
    value = shift = 0
    for place in range(at, min(at + 10, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _WORD, place + 1
        shift += 7
    raise Broken(f"a number at byte {at} of a message of {len(data)} bytes does not end")


def signed(value: int) -> int:
    """A varint of an int32, int64 or enum."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Number, kind and value of each field: an int for a varint, else the bytes."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if not 0 < number < 1 << 29:
            raise Broken(f"there is no field with the number {number}")
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if kind == EIGHT_BYTES else 4
        else:
            raise Broken(f"field {number} has kind {kind}, and kinds are 0, 1, 2 and 5")
        if size > end - at:
            raise Broken(
                f"field {number} has {size} bytes, and {end - at} are left: the file is cut"
            )
        yield number, kind, data[at : at + size]
        at += size


def varints(kind: int, value: "int | memoryview", most: int) -> list[int]:
    """The numbers of one field of a repeated one: packed, or a single one."""
    if isinstance(value, int):
        return [signed(value)]
    if kind != BYTES:
        raise Broken("a field of whole numbers holds something else")
    numbers: list[int] = []
    at = 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(signed(number))
        if len(numbers) > most:
            raise Broken(f"a field has more than {most} numbers")
    return numbers


def reals(kind: int, value: "int | memoryview", code: str) -> list[float]:
    """As varints(), of floats ("f") or doubles ("d")."""
    size = struct.calcsize(code)
    if isinstance(value, int) or kind == (EIGHT_BYTES if size == 4 else FOUR_BYTES):
        raise Broken("a field of real numbers holds something else")
    if len(value) % size:
        raise Broken(f"a field of real numbers of {size} bytes has {len(value)} bytes")
    return list(struct.unpack(f"<{len(value) // size}{code}", value))
