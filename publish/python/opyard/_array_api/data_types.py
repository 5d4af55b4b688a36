"""Data types: promotion, conversion, kinds and limits.

[Promotion] Inside a kind the standard's table holds. Between kinds, where the standard leaves the
result open, Opyard's rule holds: the higher kind of bool, integers, floats and complex numbers
gives the dtype. A Python number counts as its kind alone. Tensors without dimensions count as all
others do, which is the standard's rule; Opyard's operators let them yield.
"""

from dataclasses import dataclass

from .. import _C
from .._C import Tensor
from .._core.keywords import names_keywords
from .._core.ops import ops
from .arguments import Device, DType, Scalar, require_dtype, require_tensor

_SIGNED = (_C.int8, _C.int16, _C.int32, _C.int64)
_UNSIGNED = (_C.uint8, _C.uint16, _C.uint32, _C.uint64)
_FLOATS = (_C.float16, _C.bfloat16, _C.float32, _C.float64)
_COMPLEX = (_C.complex64, _C.complex128)

# The names of isdtype(), and what each of them means.
KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (_C.bool,),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": (*_SIGNED, *_UNSIGNED),
    "real floating": _FLOATS,
    "complex floating": _COMPLEX,
    "numeric": (*_SIGNED, *_UNSIGNED, *_FLOATS, *_COMPLEX),
}
_RANKS = ("bool", "integral", "real floating", "complex floating")
_NUMBERS = (bool, int, float, complex)
MOST_INT = 2**63 - 1


def _rank(dtype: DType) -> int:
    return next(rank for rank, kind in enumerate(_RANKS) if dtype in KINDS[kind])


def is_float(dtype: DType) -> bool:
    """Whether elements are floats or complex numbers."""
    return _rank(dtype) >= 2


def _common_integer(first: DType, second: DType) -> DType:
    """The integer dtype that both promote to. Raises TypeError: uint64 and a sign have none."""
    unsigned, signed = sorted((first, second), key=lambda each: each in _SIGNED)
    if (unsigned in _SIGNED) == (signed in _SIGNED):
        return max(first, second, key=lambda each: each.itemsize)
    if unsigned.itemsize < signed.itemsize:
        return signed
    if unsigned is _C.uint64:
        raise TypeError(
            f"result_type: {first.name} and {second.name} meet in no integer dtype; convert one "
            "of the two first"
        )
    return next(each for each in _SIGNED if each.itemsize == 2 * unsigned.itemsize)


def _common(first: DType, second: DType) -> DType:
    """The dtype that both promote to. See [Promotion]."""
    low, high = sorted((first, second), key=lambda each: (_rank(each), each.itemsize))
    if _rank(low) < _rank(high):
        return _C.complex128 if low is _C.float64 and high is _C.complex64 else high
    if _rank(low) == 1:
        return _common_integer(low, high)
    if low.itemsize < high.itemsize or low is high:
        return high
    return _C.float32  # of float16 and bfloat16


def _beside_number(dtype: DType, number: Scalar) -> DType:
    """The dtype of an array of `dtype` and a number. See [Promotion]."""
    rank = next(rank for rank, kind in enumerate(_NUMBERS) if isinstance(number, kind))
    if rank <= _rank(dtype):
        return dtype
    if rank == 3:
        return _C.complex128 if dtype is _C.float64 else _C.complex64
    return _C.int64 if rank == 1 else _C.float32


def result_type(*arrays_and_dtypes: Tensor | Scalar | DType) -> DType:
    """The dtype that arrays, dtypes and Python numbers promote to; one of them is no number.

    Floats and integers give the float's dtype, and an integer array with a Python float float32.
    """
    found: DType | None = None
    numbers: list[Scalar] = []
    for each in arrays_and_dtypes:
        if isinstance(each, _NUMBERS):
            numbers.append(each)
            continue
        if not isinstance(each, (Tensor, DType)):
            raise TypeError(
                f"result_type: {each!r} is of type {type(each).__name__}; accepted are tensors, "
                "dtypes and numbers"
            )
        dtype = each.dtype if isinstance(each, Tensor) else each
        found = dtype if found is None else _common(found, dtype)
    if found is None:
        raise TypeError("result_type: at least one argument is to be a tensor or a dtype")
    for number in numbers:
        found = _beside_number(found, number)
    return found


def converted(x: Tensor, dtype: DType) -> Tensor:
    """`x` itself if it has that dtype, else a converted copy."""
    return x if x.dtype is dtype else ops.aten.to(x, dtype)


def number_as_tensor(number: Scalar, dtype: DType, device: Device | None) -> Tensor:
    """A tensor without dimensions; operators take no ints above int64, which uint64 holds."""
    if isinstance(number, int) and number > MOST_INT:
        return _C.tensor(number, dtype=dtype, device=device)
    return ops.aten.full([], number, dtype=dtype, device=device)


def together(function: str, **operands: Tensor | Scalar) -> list[Tensor]:
    """Operands as tensors of one dtype; a number takes the device of a tensor. Raises TypeError."""
    dtypes: list[Tensor | Scalar | DType] = []
    device: _C.device | None = None
    for name, each in operands.items():
        if not isinstance(each, _NUMBERS):
            device = require_tensor(function, name, each).device
        dtypes.append(each)
    if device is None:
        names = " and ".join(operands)
        raise TypeError(f"{function}: {names} are numbers; at least one is to be a tensor")
    dtype = result_type(*dtypes)
    return [
        converted(each, dtype)
        if isinstance(each, Tensor)
        else number_as_tensor(each, dtype, device)
        for each in operands.values()
    ]


@names_keywords
def astype(
    x: Tensor, dtype: DType, /, *, copy: bool = True, device: Device | None = None
) -> Tensor:
    """Elements converted to a dtype; with copy=False `x` itself if it has that dtype.

    Complex numbers are not converted to real ones: take real(x) or imag(x).
    """
    x = require_tensor("astype", "x", x)
    dtype = require_dtype("astype", dtype)
    if _rank(x.dtype) == 3 and 1 <= _rank(dtype) < 3:
        raise TypeError(
            f"astype: x is {x.dtype.name} and dtype is {dtype.name}; a complex number is no real "
            "one, so call real(x) or imag(x) first"
        )
    made: Tensor = ops.aten.to(x, dtype, copy=copy)
    return made if device is None else ops.aten.to(made, device)


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether the dtype, or that of the array, promotes to the dtype `to`."""
    dtype = from_.dtype if isinstance(from_, Tensor) else require_dtype("can_cast", from_)
    to = require_dtype("can_cast", to)
    if _C.uint64 in (dtype, to) and (dtype in _SIGNED or to in _SIGNED):
        return False
    return _common(dtype, to) is to


@names_keywords
def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is of a kind, such as "integral", or is one of several.

    Kinds are "bool", "signed integer", "unsigned integer", "integral", "real floating",
    "complex floating", "numeric", dtypes, and tuples of these.
    """
    dtype = require_dtype("isdtype", dtype)
    for each in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(each, str):
            if each not in KINDS:
                raise ValueError(f"isdtype: kind is {each!r}; accepted are {', '.join(KINDS)}")
            if dtype in KINDS[each]:
                return True
        elif dtype is require_dtype("isdtype", each):
            return True
    return False


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """Limits of a floating-point dtype: bits, eps, max, min, smallest_normal, dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerLimits:
    """Limits of an integer dtype: bits, max, min, dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


# Of each float: the bits of its fraction, and the largest exponent.
_FORMATS = {
    _C.float16: (10, 15),
    _C.bfloat16: (7, 127),
    _C.float32: (23, 127),
    _C.float64: (52, 1023),
}


def finfo(type: DType | Tensor, /) -> FloatLimits:
    """Limits of a floating-point dtype, or of an array's; of complex numbers those of a part."""
    dtype = type.dtype if isinstance(type, Tensor) else require_dtype("finfo", type)
    if dtype in _COMPLEX:
        dtype = _C.float32 if dtype is _C.complex64 else _C.float64
    if dtype not in _FORMATS:
        raise TypeError(f"finfo: the dtype is {dtype.name}; accepted are floating-point dtypes")
    fraction, exponent = _FORMATS[dtype]
    eps = 2.0**-fraction
    largest = (2.0 - eps) * 2.0**exponent
    return FloatLimits(dtype.itemsize * 8, eps, largest, -largest, 2.0 ** (1 - exponent), dtype)


def iinfo(type: DType | Tensor, /) -> IntegerLimits:
    """Limits of an integer dtype, or of an array's."""
    dtype = type.dtype if isinstance(type, Tensor) else require_dtype("iinfo", type)
    if dtype not in KINDS["integral"]:
        raise TypeError(f"iinfo: the dtype is {dtype.name}; accepted are integer dtypes")
    bits = dtype.itemsize * 8
    if dtype in _UNSIGNED:
        return IntegerLimits(bits, 2**bits - 1, 0, dtype)
    return IntegerLimits(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)
