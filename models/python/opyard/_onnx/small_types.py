"""Types narrower than a byte and floats of eight bits: storage, and rounding of values.

ONNX has numbers of two and four bits, and floats of four and eight, which no processor computes
with. Here their values are held in the least type that has them all: whole numbers in int8 or
uint8, floats in float32. A cast to one rounds as ONNX says, so that values are those of the type.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SmallFloat:
    """A float of few bits: how many its parts have, and what its codes at the end mean."""

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    largest: float
    has_infinity: bool = False
    one_nan: bool = False  # the code of minus zero is the only NaN, and there is no minus zero
    has_nan: bool = True

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def least_exponent(self) -> int:
        """Of normal numbers."""
        return 1 - self.bias

    def value(self, code: int) -> float:
        """What a code means."""
        fraction = code & ((1 << self.fraction_bits) - 1)
        exponent = code >> self.fraction_bits & ((1 << self.exponent_bits) - 1)
        sign = -1.0 if code >> (self.bits - 1) & 1 else 1.0
        if self.one_nan and code == 1 << (self.bits - 1):
            return float("nan")
        if exponent == (1 << self.exponent_bits) - 1 and not self.one_nan and self.has_nan:
            if self.has_infinity:
                return float("nan") if fraction else sign * float("inf")
            if fraction == (1 << self.fraction_bits) - 1:
                return float("nan")
        scale = 2.0**-self.fraction_bits
        if exponent == 0:
            return sign * fraction * scale * 2.0 ** (1 - self.bias)
        return float(sign * (1 + fraction * scale) * 2.0 ** (exponent - self.bias))


FLOATS = {
    17: SmallFloat("float8e4m3fn", 4, 3, 7, 448.0),
    18: SmallFloat("float8e4m3fnuz", 4, 3, 8, 240.0, one_nan=True),
    19: SmallFloat("float8e5m2", 5, 2, 15, 57344.0, has_infinity=True),
    20: SmallFloat("float8e5m2fnuz", 5, 2, 16, 57344.0, one_nan=True),
    23: SmallFloat("float4e2m1", 2, 1, 1, 6.0, has_nan=False),
}
POWERS = 24  # float8e8m0: powers of two alone, a code of 255 is NaN


@dataclass(frozen=True)
class SmallInt:
    """A whole number of few bits."""

    name: str
    bits: int
    is_signed: bool

    @property
    def least(self) -> int:
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def largest(self) -> int:
        return self.least + (1 << self.bits) - 1

    def value(self, code: int) -> int:
        """What a code means."""
        return code - (1 << self.bits) if code > self.largest else code


INTS = {
    21: SmallInt("uint4", 4, False),
    22: SmallInt("int4", 4, True),
    25: SmallInt("uint2", 2, False),
    26: SmallInt("int2", 2, True),
}


def bits_of(elem: int) -> int:
    """How many bits an element has in a file; 0 for a type that is not small."""
    if elem in INTS:
        return INTS[elem].bits
    return 8 if elem == POWERS else FLOATS[elem].bits if elem in FLOATS else 0


def _power(code: int) -> float:
    return float("nan") if code == 255 else 2.0 ** (code - 127)


def unpacked(elem: int, data: bytes, count: int) -> bytes:
    """The elements of a file's bytes, in the type that holds them here."""
    bits = bits_of(elem)
    mask = (1 << bits) - 1
    each = 8 // bits
    value: Callable[[int], float] = (
        INTS[elem].value if elem in INTS else _power if elem == POWERS else FLOATS[elem].value
    )
    table = [value(code) for code in range(1 << bits)]
    code = "f" if elem not in INTS else "b" if INTS[elem].is_signed else "B"
    packed = [
        struct.pack("<" + code * each, *(table[byte >> (bits * k) & mask] for k in range(each)))
        for byte in range(256)
    ]
    size = struct.calcsize(code)
    return b"".join(packed[byte] for byte in data)[: count * size]
