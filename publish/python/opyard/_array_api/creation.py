"""Creation functions: arrays of numbers, of lists, and on the memory of other arrays."""

import builtins
from typing import Any, Literal

from .. import _C
from .._C import Tensor
from .._core.keywords import names_keywords
from .._core.ops import ops
from . import manipulation
from .arguments import (
    Device,
    DType,
    Scalar,
    require_dtype,
    require_int,
    require_tensor,
    sizes,
)
from .data_types import KINDS, MOST_INT, converted, is_float, number_as_tensor


def _options(function: str, dtype: DType | None, device: Device | None) -> dict[str, Any]:
    """The keywords of a factory of aten; None means its default, or what a tensor has."""
    return {
        "dtype": None if dtype is None else require_dtype(function, dtype),
        "device": device,
    }


def _shares(obj: object) -> bool:
    """Whether `obj` has memory that a tensor can be on."""
    if isinstance(obj, (bytes, bytearray)):
        return False
    if hasattr(type(obj), "__dlpack__"):
        return True
    try:
        memoryview(obj)  # type: ignore[arg-type]
    except TypeError:
        return False
    return getattr(obj, "shape", None) != ()  # a scalar of NumPy has a buffer, but is a number


def _on_memory_of(obj: Any, copy: bool | None) -> Tensor:
    """A tensor on the memory of another library's array, or a copy if that cannot be."""
    if copy:
        return _C.tensor(obj)
    try:
        return _C.from_dlpack(obj) if hasattr(type(obj), "__dlpack__") else _C.from_numpy(obj)
    except (BufferError, ValueError):
        if copy is False:
            raise
        return _C.tensor(obj)


@names_keywords
def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A Tensor of numbers, nested lists, a tensor, or an array of another library.

    The memory of an array is shared if dtype and device let it; copy=True always copies, and
    copy=False raises ValueError if a copy is needed.
    """
    options = _options("asarray", dtype, device)
    if isinstance(obj, Tensor):
        made = obj
    elif _shares(obj):
        made = _on_memory_of(obj, copy)
        copy = None if copy else copy  # it is one already
    elif copy is False:
        raise ValueError(
            f"asarray: copy is False, but obj is of type {type(obj).__name__}, which has no memory "
            "that a tensor can be on"
        )
    else:
        return _C.tensor(obj, **options)
    there = made if device is None else ops.aten.to(made, device)
    found: Tensor = there if dtype is None else converted(there, dtype)
    if found is not made and copy is False:
        raise ValueError(
            f"asarray: copy is False, but obj is {made.dtype.name} on {made.device}, and the "
            f"result is to be {found.dtype.name} on {found.device}"
        )
    return ops.aten.clone(found) if found is made and copy else found


@names_keywords
def from_dlpack(x: object, /, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of an array that has __dlpack__, or a copy of it.

    Without copy=True the memory is shared; if it cannot be, BufferError or ValueError is raised.
    """
    if not hasattr(type(x), "__dlpack__"):
        raise TypeError(
            f"from_dlpack: x is of type {type(x).__name__}, which has no __dlpack__; asarray() "
            "takes other objects"
        )
    made = _C.from_dlpack(x)
    there: Tensor = made if device is None else ops.aten.to(made, device)
    if copy is False and there.device != made.device:
        raise ValueError(
            f"from_dlpack: copy is False, but x is on {made.device} and device is {device}"
        )
    return ops.aten.clone(there) if copy and there is made else there


@names_keywords
def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """Numbers from `start`, or 0, to before `stop`, `step` apart; none if `stop` is behind."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step is 0; accepted are numbers above or below")
    options = _options("arange", dtype, device)
    if (stop - start) / step <= 0:
        is_whole = builtins.all(isinstance(each, int) for each in (start, stop, step))
        options["dtype"] = dtype or (_C.int64 if is_whole else _C.float32)
        return ops.aten.empty([0], **options)
    return ops.aten.arange(start, stop, step, **options)


@names_keywords
def linspace(
    start: int | float | complex,
    stop: int | float | complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers in equal steps from `start` to `stop`; without the endpoint to before it."""
    if require_int("linspace", "num", num) < 0:
        raise ValueError(f"linspace: num is {num}; it is not negative")
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    default = _C.complex64 if is_complex else _C.float32
    dtype = default if dtype is None else require_dtype("linspace", dtype)
    if not is_float(dtype) or (is_complex and dtype in KINDS["real floating"]):
        raise TypeError(
            f"linspace: dtype is {dtype.name}; accepted are floating-point dtypes"
            + (", and for complex bounds complex ones" if is_complex else "")
        )
    exact = _C.complex128 if dtype in KINDS["complex floating"] else _C.float64
    count = num - 1 if endpoint else num
    parts = ops.aten.arange(num, dtype=_C.float64, device=device)
    step = (stop - start) / count if count > 0 else 0.0
    made = converted(parts, exact) * step + start
    if endpoint and num > 1:  # without what was lost to rounding
        made[-1] = stop
    return converted(made, dtype)


@names_keywords
def empty(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """An array of elements with any value."""
    return ops.aten.empty(sizes("empty", shape), **_options("empty", dtype, device))


@names_keywords
def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """An array of the shape of `x`, of elements with any value."""
    x = require_tensor("empty_like", "x", x)
    return ops.aten.empty_like(x, **_options("empty_like", dtype, device))


@names_keywords
def zeros(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """An array of zeros."""
    return ops.aten.zeros(sizes("zeros", shape), **_options("zeros", dtype, device))


@names_keywords
def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """An array of zeros, of the shape of `x`."""
    x = require_tensor("zeros_like", "x", x)
    return ops.aten.zeros_like(x, **_options("zeros_like", dtype, device))


@names_keywords
def ones(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """An array of ones."""
    return ops.aten.ones(sizes("ones", shape), **_options("ones", dtype, device))


@names_keywords
def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """An array of ones, of the shape of `x`."""
    x = require_tensor("ones_like", "x", x)
    return ops.aten.ones_like(x, **_options("ones_like", dtype, device))


@names_keywords
def full(
    shape: int | tuple[int, ...],
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """An array of one number."""
    options = _options("full", dtype, device)
    if dtype is not None and isinstance(fill_value, int) and fill_value > MOST_INT:
        only = number_as_tensor(fill_value, dtype, device)
        return ops.aten.clone(ops.aten.expand(only, sizes("full", shape)))
    return ops.aten.full(sizes("full", shape), fill_value, **options)


@names_keywords
def full_like(
    x: Tensor,
    /,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """An array of one number, of the shape of `x`."""
    x = require_tensor("full_like", "x", x)
    if isinstance(fill_value, int) and fill_value > MOST_INT:
        return full(tuple(x.shape), fill_value, dtype=dtype or x.dtype, device=device or x.device)
    return ops.aten.full_like(x, fill_value, **_options("full_like", dtype, device))


@names_keywords
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """A matrix of zeros, with ones on the diagonal that is `k` above the main one."""
    rows, columns = sizes("eye", (n_rows, n_rows if n_cols is None else n_cols))
    made = ops.aten.zeros([rows, columns], **_options("eye", dtype, device))
    if -rows < require_int("eye", "k", k) < columns:
        ops.aten.fill_(ops.aten.diagonal(made, k), 1)
    return made


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros above the diagonal that is `k` above the main one."""
    return ops.aten.tril(require_tensor("tril", "x", x), require_int("tril", "k", k))


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros below the diagonal that is `k` above the main one."""
    return ops.aten.triu(require_tensor("triu", "x", x), require_int("triu", "k", k))


@names_keywords
def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]:
    """Coordinates of a grid, one array for each axis.

    "ij" has the axes in the order of the arrays; "xy" lets the first two change places.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}; accepted are 'xy' and 'ij'")
    count = len(arrays)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = 1, 0
    apart: list[Tensor] = []
    for i, each in enumerate(arrays):
        x = require_tensor("meshgrid", f"arrays[{i}]", each)
        if x.ndim > 1:
            raise ValueError(
                f"meshgrid: arrays[{i}] has {x.ndim} dimensions; accepted is one, or none"
            )
        apart.append(
            ops.aten.reshape(x, [-1 if place == places[i] else 1 for place in range(count)])
        )
    return [ops.aten.clone(each) for each in manipulation.broadcast_arrays(*apart)]
