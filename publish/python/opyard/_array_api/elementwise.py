"""Element-wise functions: one operator of aten each, after promotion by the standard's rules.

A function of two operands takes a number for one of them. Errors of the operators name what they
accept, so nothing of that is repeated here.
"""

from typing import Protocol

from .._C import Tensor
from .._core.keywords import names_keywords
from .._core.ops import ops
from .._tensor.ufuncs import signs
from .arguments import Scalar, require_tensor
from .data_types import together


class Unary(Protocol):
    """A function of one array."""

    def __call__(self, x: Tensor, /) -> Tensor: ...


class Binary(Protocol):
    """A function of two arrays, or of an array and a number."""

    def __call__(self, x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor: ...


def _named(function: object, name: str, doc: str) -> None:
    for attribute in ("__name__", "__qualname__"):
        setattr(function, attribute, name)
    function.__doc__ = doc


def _unary(name: str, doc: str, operator: str | None = None) -> Unary:
    def function(x: Tensor, /) -> Tensor:
        return getattr(ops.aten, operator or name)(require_tensor(name, "x", x))

    _named(function, name, doc)
    return function


def _binary(name: str, doc: str, operator: str | None = None) -> Binary:
    def function(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
        return getattr(ops.aten, operator or name)(*together(name, x1=x1, x2=x2))

    _named(function, name, doc)
    return function


abs = _unary("abs", "Absolute values; of complex numbers their distance from 0.")
acos = _unary("acos", "Inverse cosines, from 0 to pi.")
acosh = _unary("acosh", "Inverse hyperbolic cosines.")
add = _binary("add", "x1 + x2.")
asin = _unary("asin", "Inverse sines, from -pi/2 to pi/2.")
asinh = _unary("asinh", "Inverse hyperbolic sines.")
atan = _unary("atan", "Inverse tangents, from -pi/2 to pi/2.")
atan2 = _binary("atan2", "Angles of the points (x2, x1), from -pi to pi.")
atanh = _unary("atanh", "Inverse hyperbolic tangents.")
bitwise_and = _binary("bitwise_and", "x1 & x2, of integers or bools.")
bitwise_invert = _unary("bitwise_invert", "~x, of integers or bools.", "bitwise_not")
bitwise_left_shift = _binary("bitwise_left_shift", "x1 << x2, of integers.")
bitwise_or = _binary("bitwise_or", "x1 | x2, of integers or bools.")
bitwise_right_shift = _binary("bitwise_right_shift", "x1 >> x2, of integers; the sign stays.")
bitwise_xor = _binary("bitwise_xor", "x1 ^ x2, of integers or bools.")
ceil = _unary("ceil", "Rounded up to whole numbers.")
conj = _unary("conj", "Complex conjugates.")
copysign = _binary("copysign", "The size of x1 with the sign of x2.")
cos = _unary("cos", "Cosines of angles in radians.")
cosh = _unary("cosh", "Hyperbolic cosines.")
divide = _binary("divide", "x1 / x2; of integers too a float.", "div")
equal = _binary("equal", "Whether x1 == x2, for each element.", "eq")
exp = _unary("exp", "e to the power of each element.")
expm1 = _unary("expm1", "exp(x) - 1, exact also near 0.")
floor = _unary("floor", "Rounded down to whole numbers.")
floor_divide = _binary("floor_divide", "x1 / x2, rounded down.")
greater = _binary("greater", "Whether x1 > x2, for each element.", "gt")
greater_equal = _binary("greater_equal", "Whether x1 >= x2, for each element.", "ge")
hypot = _binary("hypot", "sqrt(x1**2 + x2**2), without overflow on the way.")
imag = _unary("imag", "Imaginary parts of complex numbers.")
isfinite = _unary("isfinite", "Whether elements are neither infinite nor NaN.")
isinf = _unary("isinf", "Whether elements are infinite.")
isnan = _unary("isnan", "Whether elements are NaN.")
less = _binary("less", "Whether x1 < x2, for each element.", "lt")
less_equal = _binary("less_equal", "Whether x1 <= x2, for each element.", "le")
log = _unary("log", "Natural logarithms.")
log10 = _unary("log10", "Logarithms to base 10.")
log1p = _unary("log1p", "log(1 + x), exact also near 0.")
log2 = _unary("log2", "Logarithms to base 2.")
logaddexp = _binary("logaddexp", "log(exp(x1) + exp(x2)), without overflow on the way.")
logical_and = _binary("logical_and", "Whether both are true, for each element.")
logical_not = _unary("logical_not", "Whether elements are false.")
logical_or = _binary("logical_or", "Whether one or both are true, for each element.")
logical_xor = _binary("logical_xor", "Whether just one is true, for each element.")
maximum = _binary("maximum", "The greater of each pair of elements; NaN if one is.")
minimum = _binary("minimum", "The lesser of each pair of elements; NaN if one is.")
multiply = _binary("multiply", "x1 * x2.", "mul")
negative = _unary("negative", "-x.", "neg")
nextafter = _binary("nextafter", "The next number after x1 in the direction of x2.")
not_equal = _binary("not_equal", "Whether x1 != x2, for each element.", "ne")
positive = _unary("positive", "+x: a copy.", "clone")
pow = _binary("pow", "x1 to the power of x2.")
real = _unary("real", "Real parts of complex numbers.")
reciprocal = _unary("reciprocal", "1 / x.")
remainder = _binary("remainder", "x1 - x2 * floor_divide(x1, x2): it has the sign of x2.")
signbit = _unary("signbit", "Whether the sign is minus, as -0.0 has it.")
sin = _unary("sin", "Sines of angles in radians.")
sinh = _unary("sinh", "Hyperbolic sines.")
sqrt = _unary("sqrt", "Square roots.")
square = _unary("square", "x * x.")
subtract = _binary("subtract", "x1 - x2.", "sub")
tan = _unary("tan", "Tangents of angles in radians.")
tanh = _unary("tanh", "Hyperbolic tangents.")
trunc = _unary("trunc", "Rounded towards 0 to whole numbers.")


def round(x: Tensor, /) -> Tensor:
    """Rounded to the nearest whole number, from the middle to the even one; by parts if complex."""
    x = require_tensor("round", "x", x)
    if not x.dtype.is_complex:
        return ops.aten.round(x)
    return ops.aten.complex(ops.aten.round(ops.aten.real(x)), ops.aten.round(ops.aten.imag(x)))


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1, NaN of NaN; of complex numbers x / abs(x)."""
    return signs(require_tensor("sign", "x", x))


@names_keywords
def clip(
    x: Tensor,
    /,
    min: Tensor | Scalar | None = None,
    max: Tensor | Scalar | None = None,
) -> Tensor:
    """Elements that are below `min` or above `max` replaced by those; None is no bound."""
    x = require_tensor("clip", "x", x)
    bounds = {name: each for name, each in (("min", min), ("max", max)) if each is not None}
    if not bounds:
        return ops.aten.clone(x)
    first, *others = together("clip", x=x, **bounds)
    given = dict(zip(bounds, others, strict=True))
    return ops.aten.clamp.Tensor(first, given.get("min"), given.get("max"))
