"""Universal functions of NumPy on tensors: __array_ufunc__.

numpy.exp(tensor), and also `array + tensor`, since the array asks numpy.add, are calls of one
operator of aten each, so modes, subclasses and gradients see them. An array becomes a tensor on its
memory, and a number counts as its kind alone. What no operator computes is refused, with the name
of the nearest one. The hook `answer_ufunc` is this.
"""

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .. import _C
from .._core.near_names import near_name
from .._core.ops import ops


def signs(x: _C.Tensor) -> _C.Tensor:
    """-1, 0 or 1, and x / abs(x) of complex numbers; NaN of NaN, for which aten.sgn gives 0."""
    found = ops.aten.sgn(x)
    return ops.aten.where.self(ops.aten.isnan(x), x, found) if x.is_floating_point() else found


# Those of operators of Python: the method of the first operand, that of the second, the symbol.
_SYMBOLS = {
    "add": ("__add__", "__radd__", "+"),
    "subtract": ("__sub__", "__rsub__", "-"),
    "multiply": ("__mul__", "__rmul__", "*"),
    "divide": ("__truediv__", "__rtruediv__", "/"),
    "floor_divide": ("__floordiv__", "__rfloordiv__", "//"),
    "remainder": ("__mod__", "__rmod__", "%"),
    "power": ("__pow__", "__rpow__", "**"),
    "matmul": ("__matmul__", "__rmatmul__", "@"),
    "bitwise_and": ("__and__", "__rand__", "&"),
    "bitwise_or": ("__or__", "__ror__", "|"),
    "bitwise_xor": ("__xor__", "__rxor__", "^"),
    "left_shift": ("__lshift__", "__rlshift__", "<<"),
    "right_shift": ("__rshift__", "__rrshift__", ">>"),
    "less": ("__lt__", "__gt__", "<"),
    "less_equal": ("__le__", "__ge__", "<="),
    "greater": ("__gt__", "__lt__", ">"),
    "greater_equal": ("__ge__", "__le__", ">="),
    "equal": ("__eq__", "__eq__", "=="),
    "not_equal": ("__ne__", "__ne__", "!="),
}
# The others that are one operator; those with another name have it here.
_SAME = """
    ceil copysign cos cosh deg2rad exp exp2 expm1 float_power floor fmax fmin fmod gcd heaviside
    hypot isfinite isinf isnan lcm ldexp log log10 log1p log2 logaddexp logaddexp2 logical_and
    logical_not logical_or logical_xor maximum minimum nextafter rad2deg reciprocal signbit sin
    sinh sqrt square tan tanh trunc
"""
_OPERATORS = {
    **{name: name for name in _SAME.split()},
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "fabs": "abs",
    "invert": "bitwise_not",
    "negative": "neg",
    "positive": "clone",
    "radians": "deg2rad",
    "rint": "round",
    "vecdot": "linalg_vecdot",
}
# What to call for those that are no one operator, and for methods of ufuncs.
_NEAREST = {
    "cbrt": "pow",
    "divmod": "floor_divide and aten.remainder",
    "frexp": "frexp",
    "matvec": "mv",
    "modf": "trunc and aten.frac",
    "spacing": "nextafter",
    "vecmat": "matmul",
    "add.accumulate": "cumsum",
    "add.at": "index_add_",
    "add.reduce": "sum",
    "logical_and.reduce": "all",
    "logical_or.reduce": "any",
    "maximum.accumulate": "cummax",
    "maximum.reduce": "amax",
    "minimum.accumulate": "cummin",
    "minimum.reduce": "amin",
    "multiply.accumulate": "cumprod",
    "multiply.outer": "outer",
    "multiply.reduce": "prod",
}
# Those that are more than one operator.
_COMPOSED: "dict[str, Callable[[_C.Tensor], _C.Tensor]]" = {"sign": signs}
_NUMBERS = (bool, int, float, complex)


def _full_name(ufunc: Any) -> str:
    """The name that people call it by, such as numpy.exp."""
    for module in ("numpy", "scipy.special"):
        if getattr(sys.modules.get(module), ufunc.__name__, None) is ufunc:
            return f"{module}.{ufunc.__name__}"
    return str(ufunc.__name__)


def _find_operator(called: str) -> "Callable[..., Any] | None":
    """The operator that computes a ufunc; special functions of SciPy are special_... of aten."""
    module, _, name = called.rpartition(".")
    if module == "numpy" and name in _COMPOSED:
        return _COMPOSED[name]
    if module == "numpy" and name in _OPERATORS:
        return getattr(ops.aten, _OPERATORS[name])  # type: ignore[no-any-return]
    if module == "scipy.special":
        return getattr(ops.aten, f"special_{name}", None)
    return None


def _nearest(name: str, method: str) -> str:
    """The operators to call in place of a ufunc, as a part of a sentence."""
    if method != "__call__":
        found = _NEAREST.get(f"{name}.{method}")
    elif name in _SYMBOLS:
        return f"write x {_SYMBOLS[name][2]} y"
    else:
        found = _OPERATORS.get(name) or _NEAREST.get(name)
        found = found or near_name(name, dir(ops.aten))
    return f"call opyard.ops.aten.{found}" if found else "call an operator of opyard.ops.aten"


def _refuse(called: str, method: str, why: str) -> NoReturn:
    name = called.rpartition(".")[2]
    called = called if method == "__call__" else f"{called}.{method}"
    raise TypeError(
        f"{called} does not take an opyard.Tensor{why}; {_nearest(name, method)}, or {called} of "
        "x.numpy(), which reads and writes the same memory"
    )


def _operand(given: Any, others: "tuple[Any, ...]") -> Any:
    """An operand as a tensor; a number has the dtype of a tensor beside it, if that can hold it."""
    if isinstance(given, _C.Tensor):
        return given
    if hasattr(given, "item") and getattr(given, "shape", None) == ():
        given = given.item()  # a scalar of NumPy
    if not isinstance(given, _NUMBERS):
        return _C.from_dlpack(given) if hasattr(type(given), "__dlpack__") else _C.tensor(given)
    tensor = next(each for each in others if isinstance(each, _C.Tensor))
    nothing = type(given)(0)  # the operator promotes by the number's type alone
    dtype = ops.aten.add(tensor, nothing).dtype
    return ops.aten.full([], given, dtype=dtype, device=tensor.device)


def _computed(called: str, inputs: "tuple[Any, ...]") -> Any:
    """The result, a tensor. Raises TypeError if no operator computes this."""
    name = called.rpartition(".")[2]
    if called.startswith("numpy.") and name in _SYMBOLS:
        method, reflected, _ = _SYMBOLS[name]
        first, second = inputs
        if isinstance(first, _C.Tensor):
            result = getattr(type(first), method)(first, second)
        else:
            result = getattr(type(second), reflected)(second, first)
        if result is NotImplemented:
            other = second if isinstance(first, _C.Tensor) else first
            _refuse(called, "__call__", f" with a {type(other).__name__}")
        return result
    found = _find_operator(called)
    if found is None:
        _refuse(called, "__call__", "")
    return found(*(_operand(each, inputs) for each in inputs))


def _stored(called: str, out: _C.Tensor, result: Any) -> Any:
    """The tensor that was given as `out`, with the result in it."""
    if out.dtype is not result.dtype or out.shape != result.shape:
        raise TypeError(
            f"{called}: out is {out.dtype.name} of shape {out.shape}, and the result is "
            f"{result.dtype.name} of shape {result.shape}"
        )
    return ops.aten.copy_(out, result)


def answer(tensor: object, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """The result of the operator that `ufunc` is the function of. Raises TypeError."""
    called = _full_name(ufunc)
    if method != "__call__" or ufunc.nout != 1:
        _refuse(called, method, "")
    given = kwargs.pop("out", None)
    out = given[0] if given else None
    if kwargs:
        _refuse(called, method, f" with {next(iter(kwargs))}=")
    if out is not None and not isinstance(out, _C.Tensor):
        _refuse(called, method, f" with the {type(out).__name__} that out is")
    result = _computed(called, inputs)
    return result if out is None else _stored(called, out, result)
