"""Elementwise operators, by NumPy."""

from typing import Any

import numpy as np

from .answers import answer, check, in_own_dtype
from .promotion import category, floating, together

_BINARY = "(Tensor self, Tensor other) -> Tensor"
_UNARY = "(Tensor self) -> Tensor"
_LARGEST_BFLOAT16 = float(2 - 2**-7) * 2.0**127
_SMALLEST_BFLOAT16 = np.float32(2.0**-133)


def _no_complex(*arrays: np.ndarray) -> None:
    for each in arrays:
        check(category(each.dtype) < 3, f"complex numbers have no order: {each.dtype.name}")


@answer(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"
)
@in_own_dtype
def nan_to_num(x: np.ndarray, nan: Any, posinf: Any, neginf: Any, of_bfloat16: bool) -> np.ndarray:
    if of_bfloat16:
        posinf = _LARGEST_BFLOAT16 if posinf is None else posinf
        neginf = -_LARGEST_BFLOAT16 if neginf is None else neginf
    return np.nan_to_num(x, True, 0.0 if nan is None else nan, posinf, neginf)


@answer("heaviside(Tensor self, Tensor values) -> Tensor")
def heaviside(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    check(x.dtype == values.dtype, f"both have one dtype, not {x.dtype.name}, {values.dtype.name}")
    _no_complex(x)
    zero = x.dtype.type(0)
    return np.where(x == zero, values, (x > zero).astype(x.dtype))


def _integers(*arrays: np.ndarray) -> list[np.ndarray]:
    made = together(*arrays)
    check(made[0].dtype.kind in "iu", f"integers are wanted, not {made[0].dtype.name}")
    return made


@answer("gcd" + _BINARY)
def gcd(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.gcd(*_integers(x, other))


@answer("lcm" + _BINARY)
def lcm(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.abs(np.lcm(*_integers(x, other)))


@answer("ldexp.Tensor" + _BINARY)
def ldexp(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    power = np.power(np.float32(2), floating(other)).astype(floating(other).dtype)
    return np.multiply(*together(x, power))


@answer("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)")
def frexp(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    check(category(x.dtype) == 2, f"floating point numbers are wanted, not {x.dtype.name}")
    mantissa, exponent = np.frexp(x)
    return mantissa, exponent.astype(np.int32)


@answer("nextafter" + _BINARY)
@in_own_dtype
def nextafter(x: np.ndarray, other: np.ndarray, of_bfloat16: bool) -> np.ndarray:
    x, other = together(x, other)
    check(category(x.dtype) == 2, f"floating point numbers are wanted, not {x.dtype.name}")
    return _next_bfloat16(x, other) if of_bfloat16 else np.nextafter(x, other)


def _next_bfloat16(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """As nextafter, of numbers that are 16 bits of a float32's: neighbours are 2^16 bits apart."""
    x, other = np.broadcast_arrays(x, other)
    bits = np.ascontiguousarray(x).reshape(x.shape).view(np.int32)
    moved = bits + np.where((other > x) == (x > 0), 1 << 16, -(1 << 16)).astype(np.int32)
    from_zero = np.copysign(_SMALLEST_BFLOAT16, other)
    found = np.where(x == 0, from_zero, moved.view(np.float32))
    return np.where(x == other, other, np.where(np.isnan(x + other), np.float32(np.nan), found))


@answer("fmax" + _BINARY)
def fmax(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    _no_complex(x, other)
    return np.fmax(*together(x, other))


@answer("fmin" + _BINARY)
def fmin(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    _no_complex(x, other)
    return np.fmin(*together(x, other))


@answer("logaddexp2" + _BINARY)
def logaddexp2(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    x, other = together(x, other)
    check(category(x.dtype) == 2, f"floating point numbers are wanted, not {x.dtype.name}")
    return np.logaddexp2(x, other)
