"""opyard.zeros and its like: the operators of aten under the names that people try first.

Each is a function with the operator's arguments, as ops.aten has it: sizes are given one by one, as
a list or as size=[2, 3], dtypes as opyard's, as NumPy's or as the classes float, int, bool and
complex, devices as names. With requires_grad=True the tensor is a leaf that gets a gradient.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, overload

from .. import _C
from .._core.keywords import refuse_keyword
from .._core.ops import ops
from . import dtypes
from .symbolic import SymInt

if TYPE_CHECKING:
    from .._core._array_types import Scalar

_Array = Any  # a Tensor, or an array of another library
_Sizes: TypeAlias = SupportsIndex | SymInt | Sequence[SupportsIndex | SymInt]


def _listed(size: tuple) -> Any:
    """Sizes that were given one by one, as a list."""
    return size[0] if len(size) == 1 and not isinstance(size[0], (int, SymInt)) else list(size)


_OPTIONS = "dtype", "device", "requires_grad"


def _sizes(function: str, size: tuple, options: dict[str, Any]) -> Any:
    """Sizes as a list, also those that were given by name, which are taken out of the options.
    Raises TypeError if both were given."""
    if "shape" in options:
        raise refuse_keyword(function, "shape", ("size", *_OPTIONS))
    if "size" not in options:
        return _listed(size)
    if size:
        raise TypeError(
            f"{function}() got its size by position, {list(size)}, and by name, "
            f"{options['size']!r}; give one of them"
        )
    return _listed((options.pop("size"),))


def _made(factory: Callable[..., Any], *arguments: Any, **options: Any) -> _C.Tensor:
    """What an operator makes, with a dtype for what NumPy and Python call one."""
    requires_grad = options.pop("requires_grad", False)
    dtype = options.get("dtype")
    if dtype is not None and not isinstance(dtype, _C.dtype):
        options["dtype"] = dtypes.require(dtype)
    made: _C.Tensor = factory(*arguments, **options)
    return made.requires_grad_() if requires_grad else made


def _as_tensor(value: Any) -> Any:
    return _C.tensor(value) if isinstance(value, (bool, int, float, complex)) else value


def zeros(*size: _Sizes, **options: Any) -> _C.Tensor:
    """A tensor of zeros; options: dtype, device, requires_grad."""
    return _made(ops.aten.zeros, _sizes("zeros", size, options), **options)


def ones(*size: _Sizes, **options: Any) -> _C.Tensor:
    """A tensor of ones; options: dtype, device, requires_grad."""
    return _made(ops.aten.ones, _sizes("ones", size, options), **options)


def empty(*size: _Sizes, **options: Any) -> _C.Tensor:
    """A tensor of elements with any value; options: dtype, device, requires_grad."""
    return _made(ops.aten.empty, _sizes("empty", size, options), **options)


def full(size: _Sizes, fill_value: "Scalar", **options: Any) -> _C.Tensor:
    """A tensor of one number; options: dtype, device, requires_grad."""
    return _made(ops.aten.full, _listed((size,)), fill_value, **options)


def arange(*range: "Scalar | SymInt", **options: Any) -> _C.Tensor:
    """arange(end), arange(start, end) or arange(start, end, step).

    Options: dtype, device, requires_grad. Bounds that are not known are taken on meta.
    """
    if any(isinstance(bound, SymInt) for bound in range):
        if _C.device(options.get("device") or "cpu").type == "meta":
            return _made(_range_without_elements, *range, **options)
        range = tuple(int(bound) if isinstance(bound, SymInt) else bound for bound in range)
    return _made(ops.aten.arange, *range, **options)


def _range_without_elements(start: Any, end: Any = None, step: Any = 1, **options: Any) -> Any:
    """arange() on meta. aten's takes a Scalar, which is never symbolic."""
    if end is None:
        start, end = 0, start
    whole = (int, SymInt)
    if not (isinstance(start, whole) and isinstance(end, whole) and isinstance(step, whole)):
        raise TypeError(
            f"arange: the bounds are {start}, {end} and the step is {step}; beside a number that "
            "is not known, accepted are ints"
        )
    if isinstance(step, int) and step == 1:
        length = end if isinstance(start, int) and start == 0 else end - start
    else:
        length = -((start - end) // step)
    return ops.aten.empty([length], **{"dtype": _C.int64, **options})


def eye(n: SupportsIndex, m: "SupportsIndex | None" = None, **options: Any) -> _C.Tensor:
    """A matrix with ones on its diagonal; options: dtype, device, requires_grad."""
    return _made(ops.aten.eye, n, *(() if m is None else (m,)), **options)


def rand(*size: _Sizes, **options: Any) -> _C.Tensor:
    """Numbers from 0 to below 1, which manual_seed() repeats; options as those of zeros()."""
    return _made(ops.aten.rand, _sizes("rand", size, options), **options)


def randn(*size: _Sizes, **options: Any) -> _C.Tensor:
    """Numbers with mean 0 and variance 1, which manual_seed() repeats; options as of zeros()."""
    return _made(ops.aten.randn, _sizes("randn", size, options), **options)


@overload
def cat(tensors: Sequence[_C.Tensor], dim: SupportsIndex = 0) -> _C.Tensor: ...
@overload
def cat(tensors: Sequence[_Array], dim: SupportsIndex = 0) -> Any: ...
def cat(tensors: Sequence[_Array], dim: SupportsIndex = 0, **unknown: Any) -> Any:
    """Tensors one behind the other in a dimension. See opyard.ops.aten.cat."""
    if unknown:
        raise refuse_keyword("cat", next(iter(unknown)), ("tensors", "dim"))
    return ops.aten.cat(tensors, dim)


@overload
def stack(tensors: Sequence[_C.Tensor], dim: SupportsIndex = 0) -> _C.Tensor: ...
@overload
def stack(tensors: Sequence[_Array], dim: SupportsIndex = 0) -> Any: ...
def stack(tensors: Sequence[_Array], dim: SupportsIndex = 0, **unknown: Any) -> Any:
    """Tensors of one shape along a new dimension. See opyard.ops.aten.stack."""
    if unknown:
        raise refuse_keyword("stack", next(iter(unknown)), ("tensors", "dim"))
    return ops.aten.stack(tensors, dim)


def _beside(other: Any, value: Any) -> Any:
    """A number as a tensor that widens `other` no more than the number does."""
    made = _as_tensor(value)
    is_number = isinstance(value, (int, float, complex))
    if not is_number or not isinstance(other, _C.Tensor) or other.dim() > 0:
        return made
    nothing = type(value)(0)  # the operator promotes by the number's type alone
    return ops.aten.to(made, ops.aten.add(other, nothing).dtype)


@overload
def where(condition: _C.Tensor, x: Any, y: Any) -> _C.Tensor: ...
@overload
def where(condition: _Array, x: Any, y: Any) -> Any: ...
def where(condition: _Array, x: Any, y: Any) -> Any:
    """Elements of x where the condition holds, else of y; either may be a number."""
    return ops.aten.where(condition, _beside(y, x), _beside(x, y))
