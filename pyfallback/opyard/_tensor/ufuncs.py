"""NumPy functions on tensors: __array_ufunc__.

`array + tensor` asks the array first, and the array asks NumPy's function `add`, which asks here.
So what belongs to an operator of Python is answered as the tensor answers that operator; everything
else is refused, with what to write instead. The hook `answer_ufunc` is this.
"""

from typing import Any, NoReturn

from .. import _C

# By the names of NumPy: what the tensor is asked when it is the second operand, and the symbol.
_SYMBOLS = {
    "add": ("__radd__", "+"),
    "subtract": ("__rsub__", "-"),
    "multiply": ("__rmul__", "*"),
    "divide": ("__rtruediv__", "/"),
    "floor_divide": ("__rfloordiv__", "//"),
    "remainder": ("__rmod__", "%"),
    "power": ("__rpow__", "**"),
    "matmul": ("__rmatmul__", "@"),
    "bitwise_and": ("__rand__", "&"),
    "bitwise_or": ("__ror__", "|"),
    "bitwise_xor": ("__rxor__", "^"),
    "left_shift": ("__rlshift__", "<<"),
    "right_shift": ("__rrshift__", ">>"),
    "less": ("__gt__", "<"),
    "less_equal": ("__ge__", "<="),
    "greater": ("__lt__", ">"),
    "greater_equal": ("__le__", ">="),
    "equal": ("__eq__", "=="),
    "not_equal": ("__ne__", "!="),
}


def _refuse(name: str, method: str, symbol: "str | None") -> NoReturn:
    called = f"numpy.{name}" if method == "__call__" else f"numpy.{name}.{method}"
    advice = f"{called}(x.numpy())" if symbol is None else f"x {symbol} y, or {called} of x.numpy()"
    raise TypeError(
        f"{called} does not take an opyard.Tensor; call an operator of opyard.ops.aten, or {advice}"
        ", which reads and writes the same memory"
    )


def answer(tensor: object, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """The result of the operator that `ufunc` is the function of. Raises TypeError."""
    name = ufunc.__name__
    asked, symbol = _SYMBOLS.get(name, (None, None))
    if asked is None or method != "__call__" or kwargs or len(inputs) != 2:
        _refuse(name, method, symbol)
    first, second = inputs
    if not isinstance(first, _C.Tensor):
        return getattr(type(second), asked)(second, first)
    _refuse(name, method, symbol)
