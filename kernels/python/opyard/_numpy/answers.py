"""An answer: a schema of aten, and a function of arrays that computes it on the CPU.

    @answer("trace(Tensor self) -> Tensor")
    def trace(x): ...

The function gets an array for each tensor, on the memory of the tensor, and the other arguments as
they are: a dtype as one of NumPy, and each default filled in. What it returns becomes tensors in
row-major order, on memory of their own; a function marked with `keeps_order` gives its arrays the
order of dimensions that PyTorch's results have, and that order stays. What NumPy or the function
itself refuses is raised with the operator's name and what came.

[Halves] float16 and bfloat16 are float32 to the function, and results in float32 become the half
that the operator's tensors have together. A function that goes by the neighbours of a number, or by
the largest one, is marked with `in_own_dtype`: it gets float16 as it is. NumPy has no bfloat16,
whose numbers are those of float32 with 16 bits less: it gets them as float32, and
`of_bfloat16=True` if the result will be bfloat16.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _C, _bind
from .._bind import parse
from .._core.ops import ops
from .._core.parameters import signature_of


def answer(*schemas: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says that a function answers these schemas, which have the same arguments."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        table.setdefault(function.__module__, []).extend((text, function) for text in schemas)
        return function

    return note


def composition(
    schema: str, defaults: "dict[str, Any] | None" = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says that a function of tensors, which calls other operators, is the operator of a schema.

    `defaults` are those of the schema's arguments that are others than the function's. A function
    of Python does not see what equals its default.
    """

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        kernel = _named(schema.partition("(")[0], function, defaults or {})
        compositions.setdefault(function.__module__, []).append((schema, kernel))
        return function

    return note


def on_meta(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says that a function of tensors computes the dtype and geometry of an answer's result."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        meta.setdefault(function.__module__, []).append((name, _named(name, function, {})))
        return function

    return note


def _named(
    name: str, function: Callable[..., Any], defaults: "dict[str, Any]"
) -> Callable[..., Any]:
    """The function, whose refusals name the operator."""
    positions = list(signature_of(function).parameters)

    @functools.wraps(function)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        for argument, value in defaults.items():
            if argument not in kwargs and positions.index(argument) >= len(args):
                kwargs[argument] = value
        try:
            return function(*args, **kwargs)
        except Refused as error:
            raise ValueError(f"aten::{name}: {error}") from error

    return kernel


def keeps_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Says that its arrays have the order of dimensions in memory that PyTorch's results have."""
    _keeping.add(function)
    return function


def in_own_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """Says that it goes by the dtype that its arrays have as tensors. See [Halves]."""
    _in_own_dtype.add(function)
    return function


def depends_on_elements(function: Callable[..., Any]) -> Callable[..., Any]:
    """Says that sizes or dtypes of its results depend on elements, so that it is not on meta."""
    depending.add(function)
    return function


def columns(x: np.ndarray) -> np.ndarray:
    """The matrices column after column, as LAPACK gives them to PyTorch."""
    return np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2)


# By module: the schemas, and the functions.
table: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
compositions: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
meta: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
_keeping: set[Callable[..., Any]] = set()
_in_own_dtype: set[Callable[..., Any]] = set()
depending: set[Callable[..., Any]] = set()
_HALVES = (_C.float16, _C.bfloat16)


class Refused(ValueError):
    """Arguments that an answer does not take."""


def refuse(text: str) -> Any:
    """Raises what a caller gets for arguments that an answer does not take."""
    raise Refused(text)


def check(condition: object, text: str) -> None:
    if not condition:
        refuse(text)


class Kernel:
    """A function of arrays as a kernel."""

    def __init__(self, schema: str, function: Callable[..., Any]) -> None:
        parsed = parse(schema)
        self.name = f"aten::{schema.partition('(')[0]}"
        self._function = function
        self._order = "K" if function in _keeping else "C"
        self._array = _array_in_own_dtype if function in _in_own_dtype else _array
        positional = [each for each in parsed.arguments if not each.kwarg_only]
        self._names = [each.name for each in positional]
        self._defaults = [each.default_value for each in positional]
        self._by_name = {
            each.name: each.default_value for each in parsed.arguments if each.kwarg_only
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = [*args, *self._defaults[len(args) :]]
        try:
            by_name = {**self._by_name, **kwargs}
            given = [self._array(each) for each in values]
            named = {name: self._array(each) for name, each in by_name.items()}
            half = _half_of([*values, *by_name.values()])
            if self._array is _array_in_own_dtype:
                named["of_bfloat16"] = half is _C.bfloat16
            with np.errstate(all="ignore"):
                result = self._function(*given, **named)
            shared = [*_arrays(given), *_arrays(list(named.values()))]
            return _result(result, shared, self._order, half)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise self._named(error, values) from error

    def _named(self, error: Exception, values: list[Any]) -> Exception:
        """The error with the operator's name. LinAlgError stays, AxisError is an IndexError."""
        if "operands could not be broadcast" in str(error):
            tensors = [
                (name, shown(value), list(value.shape))
                for name, value in zip(self._names, values, strict=False)
                if isinstance(value, _C.Tensor)
            ]
            try:
                _bind.require_broadcast(self.name, tensors)
            except ValueError as refusal:
                return refusal
        kinds = (np.linalg.LinAlgError, IndexError, TypeError, OverflowError, ValueError)
        kind = next(each for each in kinds if isinstance(error, each))
        call = f"{self.name}({', '.join(map(shown, values))})"
        return kind(f"{call}, as NumPy answers it: {error}")


def shown(value: Any) -> str:
    if isinstance(value, _C.Tensor):
        return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    return repr(value)


def _array(value: Any) -> Any:
    if isinstance(value, _C.Tensor):
        return (ops.aten.to(value, _C.float32) if value.dtype in _HALVES else value).numpy()
    if isinstance(value, (list, tuple)):
        return [_array(each) for each in value]
    if isinstance(value, _C.dtype):
        return np.dtype("float32" if value in _HALVES else value.name)
    return value


def _array_in_own_dtype(value: Any) -> Any:
    if isinstance(value, _C.Tensor) and value.dtype == _C.float16:
        return value.numpy()
    return _array(value)


def _half_of(values: list[Any]) -> Any:
    """The dtype of 16 bits that float32 results are given in, or None. See [Halves]."""
    chosen = [each for each in values if isinstance(each, _C.dtype)]
    if chosen:
        return chosen[0] if chosen[0] in _HALVES else None
    floats = [each for each in tensors_of(values) if each.dtype.is_floating_point]
    ranked = [each for each in floats if each.dim() > 0] or floats
    found = {each.dtype for each in ranked}
    return found.pop() if len(found) == 1 and found <= set(_HALVES) else None


def tensors_of(values: list[Any]) -> Iterator[_C.Tensor]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from tensors_of(value)
        elif isinstance(value, _C.Tensor):
            yield value


def _arrays(values: list[Any]) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, list):
            yield from _arrays(value)
        elif isinstance(value, np.ndarray):
            yield value


def _result(result: Any, given: list[np.ndarray], order: str, half: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(_result(each, given, order, half) for each in result)
    if isinstance(result, bool):
        return result
    array = np.asarray(result)
    own = array.flags.writeable and (
        _has_no_gaps(array) if order == "K" else array.flags.c_contiguous
    )
    if not own or any(np.may_share_memory(array, each) for each in given):
        array = array.copy(order=order)
    made = _C.from_numpy(array)
    if order == "C" and 1 in array.shape:  # along which an array may have any stride
        made = ops.aten.view(made, list(array.shape))
    return made if half is None or made.dtype != _C.float32 else ops.aten.to(made, half)


def _has_no_gaps(array: np.ndarray) -> bool:
    outermost_first = np.argsort([-stride for stride in array.strides], kind="stable")
    return bool(array.transpose(outermost_first).flags.c_contiguous)
