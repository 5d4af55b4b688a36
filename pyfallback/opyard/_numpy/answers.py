"""An answer: a schema of aten, and a function of arrays that computes it on the CPU.

    @answer("trace(Tensor self) -> Tensor")
    def trace(x): ...

The function gets an array for each tensor, on the memory of the tensor, and the other arguments as
they are: a dtype as one of NumPy, and each default filled in. What it returns becomes tensors in
row-major order, on memory of their own; a function marked with `keeps_order` gives its arrays the
order of dimensions that PyTorch's results have, and that order is kept. What NumPy or the function
itself refuses is raised with the operator's name and what came.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _C
from .._bind import parse


def answer(*schemas: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says that a function answers these schemas, which have the same arguments."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        table.setdefault(function.__module__, []).extend((text, function) for text in schemas)
        return function

    return note


def keeps_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Says that its arrays have the order of dimensions in memory that PyTorch's results have."""
    _keeping.add(function)
    return function


def columns(x: np.ndarray) -> np.ndarray:
    """The matrices column after column, as LAPACK gives them to PyTorch."""
    return np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2)


# By module: the schemas, and the functions.
table: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
_keeping: set[Callable[..., Any]] = set()


def refuse(text: str) -> Any:
    """Raises what a caller gets for arguments that an answer does not take."""
    raise ValueError(text)


def check(condition: object, text: str) -> None:
    if not condition:
        refuse(text)


class Kernel:
    """A function of arrays as a kernel."""

    def __init__(self, schema: str, function: Callable[..., Any]) -> None:
        parsed = parse(schema)
        self._name = f"aten::{schema.partition('(')[0]}"
        self._function = function
        self._order = "K" if function in _keeping else "C"
        positional = [each for each in parsed.arguments if not each.kwarg_only]
        self._defaults = [each.default_value for each in positional]
        self._by_name = {
            each.name: each.default_value for each in parsed.arguments if each.kwarg_only
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = [*args, *self._defaults[len(args) :]]
        try:
            given = [_array(each) for each in values]
            named = {name: _array(each) for name, each in {**self._by_name, **kwargs}.items()}
            with np.errstate(all="ignore"):
                result = self._function(*given, **named)
            return _result(result, [*_arrays(given), *_arrays(list(named.values()))], self._order)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise self._named(error, values) from error

    def _named(self, error: Exception, values: list[Any]) -> Exception:
        """The error with the operator's name; also LinAlgError, AxisError and others of NumPy."""
        kinds = (IndexError, TypeError, OverflowError, ValueError)
        kind = next(each for each in kinds if isinstance(error, each))
        shown = ", ".join(_shown(each) for each in values)
        return kind(f"{self._name}({shown}), as NumPy answers it: {error}")


def _shown(value: Any) -> str:
    if isinstance(value, _C.Tensor):
        return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def _array(value: Any) -> Any:
    if isinstance(value, _C.Tensor):
        if value.dtype in (_C.float16, _C.bfloat16):
            raise TypeError(f"{value.dtype} is not taken; convert it first, as x.float()")
        return value.numpy()
    if isinstance(value, (list, tuple)):
        return [_array(each) for each in value]
    return np.dtype(value.name) if isinstance(value, _C.dtype) else value


def _arrays(values: list[Any]) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, list):
            yield from _arrays(value)
        elif isinstance(value, np.ndarray):
            yield value


def _result(result: Any, given: list[np.ndarray], order: str) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(_result(each, given, order) for each in result)
    if isinstance(result, bool):
        return result
    array = np.asarray(result)
    own = array.flags.writeable and (
        _has_no_gaps(array) if order == "K" else array.flags.c_contiguous
    )
    if not own or any(np.may_share_memory(array, each) for each in given):
        array = array.copy(order=order)
    return _C.from_numpy(array)


def _has_no_gaps(array: np.ndarray) -> bool:
    outermost_first = np.argsort([-stride for stride in array.strides], kind="stable")
    return bool(array.transpose(outermost_first).flags.c_contiguous)
