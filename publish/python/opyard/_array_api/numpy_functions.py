"""Functions of NumPy that are no ufuncs, on tensors: __array_function__.

numpy.mean(tensor, axis=0) is the function of the array API that it is the counterpart of, so modes,
subclasses and gradients see its operators, and the result is a tensor. Arrays beside the tensor
become tensors on their memory. A function without a counterpart computes with NumPy on the memory
of the tensors and gives what NumPy gives; so gradients would end there, and tensors that require
one are refused. The hook `answer_function` is this.
"""

import inspect
from collections.abc import Callable
from typing import Any

from .. import _C, _gradients
from .._C import Tensor
from .._core.ops import ops
from .._tensor import dtypes
from . import (
    creation,
    data_types,
    elementwise,
    fft,
    linalg,
    manipulation,
    reductions,
    searching,
    sets,
)
from .arguments import flat


def _cumulative(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(x: Tensor, axis: int | None = None, dtype: Any = None) -> Tensor:
        if axis is None:
            return function(flat(x), dtype=dtype)
        return function(x, axis=axis, dtype=dtype)

    return call


def _ordering(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(x: Tensor, axis: int | None = -1, kind: Any = None, stable: Any = None) -> Tensor:
        return function(flat(x), axis=0) if axis is None else function(x, axis=axis)

    return call


def _converting(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of elements in another dtype, if that is given."""

    def call(x: Tensor, axis: Any = None, dtype: Any = None, **options: Any) -> Tensor:
        return function(x if dtype is None else ops.aten.to(x, dtype), axis=axis, **options)

    return call


def _dot(x: Any, y: Any) -> Tensor:
    if not isinstance(x, Tensor) or not isinstance(y, Tensor) or x.ndim == 0 or y.ndim == 0:
        return elementwise.multiply(x, y)
    if x.ndim <= 2 and y.ndim <= 2:
        return linalg.matmul(x, y)
    return linalg.tensordot(x, y, axes=([-1], [-min(y.ndim, 2)]))


def _norm(x: Tensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    dims = [axis] if isinstance(axis, int) else axis
    return ops.aten.linalg_norm(x, ord, dims, keepdims)


def _transpose(x: Tensor, axes: Any = None) -> Tensor:
    return manipulation.permute_dims(x, tuple(reversed(range(x.ndim))) if axes is None else axes)


def _squeeze(x: Tensor, axis: Any = None) -> Tensor:
    if axis is None:
        axis = tuple(place for place, size in enumerate(x.shape) if size == 1)
    return manipulation.squeeze(x, axis)


def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return searching.nonzero(condition)
    return searching.where(data_types.astype(condition, _C.bool, copy=False), *choices)


def _take(x: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    places = creation.asarray(indices)
    return searching.take(flat(x) if axis is None else x, places, axis=axis)


def _repeat(x: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    counts = creation.asarray(repeats) if isinstance(repeats, (list, tuple)) else repeats
    return manipulation.repeat(x, counts, axis=axis)


def _searchsorted(x: Tensor, y: Any, **options: Any) -> Tensor:
    return searching.searchsorted(*data_types.together("numpy.searchsorted", a=x, v=y), **options)


def _swapaxes(x: Tensor, axis1: int, axis2: int) -> Tensor:
    return ops.aten.transpose(x, axis1, axis2)


def _ravel(x: Tensor) -> Tensor:
    return flat(x)


def _diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return ops.aten.diagonal(x, offset, axis1, axis2)


def _trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return reductions.sum(_diagonal(x, offset, axis1, axis2), axis=-1)


def _round(x: Tensor, decimals: int = 0) -> Tensor:
    if decimals == 0:
        return elementwise.round(x)
    if data_types.is_float(x.dtype):
        factor = 10.0**decimals
        return elementwise.divide(elementwise.round(elementwise.multiply(x, factor)), factor)
    if decimals < 0:
        raise TypeError(
            f"numpy.round: decimals is {decimals}; accepted for integers are numbers from 0"
        )
    return elementwise.positive(x)


def _allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, **options: Any) -> bool:
    first, second = data_types.together("numpy.allclose", a=x, b=y)
    return bool(ops.aten.allclose(first, second, rtol, atol, **options))


def _isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, **options: Any) -> Tensor:
    first, second = data_types.together("numpy.isclose", a=x, b=y)
    return ops.aten.isclose(first, second, rtol, atol, **options)


def _array_equal(x: Any, y: Any) -> bool:
    first, second = data_types.together("numpy.array_equal", a1=x, a2=y)
    return first.shape == second.shape and bool(ops.aten.equal(first, second))


def _astype(x: Tensor, dtype: Any, copy: bool = True, device: Any = None) -> Tensor:
    return data_types.astype(x, dtypes.require(dtype), copy=copy, device=device)


def _can_cast(from_: Any, to: Any) -> bool:
    given = from_ if isinstance(from_, Tensor) else dtypes.require(from_)
    return data_types.can_cast(given, dtypes.require(to))


def _result_type(*given: Any) -> _C.dtype:
    is_kept = (Tensor, bool, int, float, complex)
    return data_types.result_type(
        *(each if isinstance(each, is_kept) else dtypes.require(each) for each in given)
    )


def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    first, last = data_types.together("numpy.linspace", start=start, stop=stop)
    if not data_types.is_float(first.dtype):
        first, last = (data_types.converted(each, _C.float32) for each in (first, last))
    first, last = manipulation.broadcast_arrays(first, last)
    parts = creation.linspace(0.0, 1.0, num, dtype=first.dtype, endpoint=endpoint)
    weights = ops.aten.reshape(parts, (-1, *[1] * first.ndim))
    made = manipulation.moveaxis(ops.aten.lerp(first, last, weights), 0, axis)
    return made if dtype is None else ops.aten.to(made, dtype)


def _imag(x: Tensor) -> Tensor:
    return elementwise.imag(x) if x.dtype.is_complex else creation.zeros_like(x)


# By NumPy's name: the function, and NumPy's arguments in order by its names. Those before the bar
# are given by their places.
_COUNTERPARTS: dict[str, tuple[Callable[..., Any], str]] = {
    "numpy.all": (reductions.all, "x | axis out keepdims"),
    "numpy.allclose": (_allclose, "x y | rtol atol equal_nan"),
    "numpy.amax": (reductions.max, "x | axis out keepdims"),
    "numpy.amin": (reductions.min, "x | axis out keepdims"),
    "numpy.any": (reductions.any, "x | axis out keepdims"),
    "numpy.argmax": (searching.argmax, "x | axis out"),
    "numpy.argmin": (searching.argmin, "x | axis out"),
    "numpy.argsort": (_ordering(searching.argsort), "x | axis kind"),
    "numpy.around": (_round, "x | decimals out"),
    "numpy.array_equal": (_array_equal, "x y |"),
    "numpy.astype": (_astype, "x dtype | copy device"),
    "numpy.broadcast_arrays": (manipulation.broadcast_arrays, "*"),
    "numpy.broadcast_to": (manipulation.broadcast_to, "x shape |"),
    "numpy.can_cast": (_can_cast, "from_ to | casting"),
    "numpy.clip": (elementwise.clip, "x | min max out"),
    "numpy.concatenate": (manipulation.concat, "arrays | axis out"),
    "numpy.count_nonzero": (reductions.count_nonzero, "x | axis"),
    "numpy.cumprod": (_cumulative(reductions.cumulative_prod), "x | axis dtype out"),
    "numpy.cumsum": (_cumulative(reductions.cumulative_sum), "x | axis dtype out"),
    "numpy.cumulative_prod": (reductions.cumulative_prod, "x | axis dtype out include_initial"),
    "numpy.cumulative_sum": (reductions.cumulative_sum, "x | axis dtype out include_initial"),
    "numpy.diagonal": (_diagonal, "x | offset axis1 axis2"),
    "numpy.diff": (reductions.diff, "x | n axis prepend append"),
    "numpy.dot": (_dot, "x y |"),
    "numpy.empty_like": (creation.empty_like, "x | dtype"),
    "numpy.expand_dims": (manipulation.expand_dims, "x axis |"),
    "numpy.flip": (manipulation.flip, "x | axis"),
    "numpy.full_like": (creation.full_like, "x fill_value | dtype"),
    "numpy.imag": (_imag, "x |"),
    "numpy.isclose": (_isclose, "x y | rtol atol equal_nan"),
    "numpy.linspace": (_linspace, "start stop | num endpoint retstep dtype axis"),
    "numpy.matrix_transpose": (linalg.matrix_transpose, "x |"),
    "numpy.max": (reductions.max, "x | axis out keepdims"),
    "numpy.mean": (_converting(reductions.mean), "x | axis dtype out keepdims"),
    "numpy.meshgrid": (creation.meshgrid, "*"),
    "numpy.min": (reductions.min, "x | axis out keepdims"),
    "numpy.moveaxis": (manipulation.moveaxis, "x source destination |"),
    "numpy.nonzero": (searching.nonzero, "x |"),
    "numpy.ones_like": (creation.ones_like, "x | dtype"),
    "numpy.outer": (linalg.outer, "x y |"),
    "numpy.prod": (reductions.prod, "x | axis dtype out keepdims"),
    "numpy.ravel": (_ravel, "x | order"),
    "numpy.real": (elementwise.real, "x |"),
    "numpy.repeat": (_repeat, "x repeats | axis"),
    "numpy.reshape": (manipulation.reshape, "x shape | order copy"),
    "numpy.result_type": (_result_type, "*"),
    "numpy.roll": (manipulation.roll, "x shift | axis"),
    "numpy.round": (_round, "x | decimals out"),
    "numpy.searchsorted": (_searchsorted, "x y | side sorter"),
    "numpy.sort": (_ordering(searching.sort), "x | axis kind"),
    "numpy.squeeze": (_squeeze, "x | axis"),
    "numpy.stack": (manipulation.stack, "arrays | axis out"),
    "numpy.std": (_converting(reductions.std), "x | axis dtype out correction keepdims"),
    "numpy.sum": (reductions.sum, "x | axis dtype out keepdims"),
    "numpy.swapaxes": (_swapaxes, "x | axis1 axis2"),
    "numpy.take": (_take, "x indices | axis out"),
    "numpy.take_along_axis": (searching.take_along_axis, "x indices | axis"),
    "numpy.tensordot": (linalg.tensordot, "x y | axes"),
    "numpy.tile": (manipulation.tile, "x repetitions |"),
    "numpy.trace": (_trace, "x | offset axis1 axis2"),
    "numpy.transpose": (_transpose, "x | axes"),
    "numpy.tril": (creation.tril, "x | k"),
    "numpy.triu": (creation.triu, "x | k"),
    "numpy.unique_all": (sets.unique_all, "x |"),
    "numpy.unique_counts": (sets.unique_counts, "x |"),
    "numpy.unique_inverse": (sets.unique_inverse, "x |"),
    "numpy.unique_values": (sets.unique_values, "x |"),
    "numpy.unstack": (manipulation.unstack, "x | axis"),
    "numpy.var": (_converting(reductions.var), "x | axis dtype out correction keepdims"),
    "numpy.where": (_where, "*"),
    "numpy.zeros_like": (creation.zeros_like, "x | dtype"),
    "numpy.fft.fft": (fft.fft, "x | n axis norm out"),
    "numpy.fft.fftn": (fft.fftn, "x | s axes norm out"),
    "numpy.fft.fftshift": (fft.fftshift, "x | axes"),
    "numpy.fft.hfft": (fft.hfft, "x | n axis norm out"),
    "numpy.fft.ifft": (fft.ifft, "x | n axis norm out"),
    "numpy.fft.ifftn": (fft.ifftn, "x | s axes norm out"),
    "numpy.fft.ifftshift": (fft.ifftshift, "x | axes"),
    "numpy.fft.ihfft": (fft.ihfft, "x | n axis norm out"),
    "numpy.fft.irfft": (fft.irfft, "x | n axis norm out"),
    "numpy.fft.irfftn": (fft.irfftn, "x | s axes norm out"),
    "numpy.fft.rfft": (fft.rfft, "x | n axis norm out"),
    "numpy.fft.rfftn": (fft.rfftn, "x | s axes norm out"),
    "numpy.linalg.cholesky": (linalg.cholesky, "x | upper"),
    "numpy.linalg.cross": (linalg.cross, "x y | axis"),
    "numpy.linalg.det": (linalg.det, "x |"),
    "numpy.linalg.diagonal": (linalg.diagonal, "x | offset"),
    "numpy.linalg.eigh": (linalg.eigh, "x | UPLO"),
    "numpy.linalg.eigvalsh": (linalg.eigvalsh, "x | UPLO"),
    "numpy.linalg.inv": (linalg.inv, "x |"),
    "numpy.linalg.matmul": (linalg.matmul, "x y |"),
    "numpy.linalg.matrix_norm": (linalg.matrix_norm, "x | keepdims ord"),
    "numpy.linalg.matrix_power": (linalg.matrix_power, "x n |"),
    "numpy.linalg.matrix_rank": (linalg.matrix_rank, "x | tol hermitian rtol"),
    "numpy.linalg.matrix_transpose": (linalg.matrix_transpose, "x |"),
    "numpy.linalg.norm": (_norm, "x | ord axis keepdims"),
    "numpy.linalg.outer": (linalg.outer, "x y |"),
    "numpy.linalg.pinv": (linalg.pinv, "x | rcond hermitian rtol"),
    "numpy.linalg.qr": (linalg.qr, "x | mode"),
    "numpy.linalg.slogdet": (linalg.slogdet, "x |"),
    "numpy.linalg.solve": (linalg.solve, "x y |"),
    "numpy.linalg.svd": (linalg.svd, "x | full_matrices compute_uv hermitian"),
    "numpy.linalg.svdvals": (linalg.svdvals, "x |"),
    "numpy.linalg.tensordot": (linalg.tensordot, "x y | axes"),
    "numpy.linalg.trace": (linalg.trace, "x | offset dtype"),
    "numpy.linalg.vecdot": (linalg.vecdot, "x y | axis"),
    "numpy.linalg.vector_norm": (linalg.vector_norm, "x | axis keepdims ord"),
}
# What NumPy calls the arguments of the table.
_NAMES = {
    "A": "x",
    "a": "x",
    "a1": "x",
    "a2": "y",
    "a_max": "max",
    "a_min": "min",
    "arr": "x",
    "array": "x",
    "b": "y",
    "ddof": "correction",
    "m": "x",
    "prototype": "x",
    "reps": "repetitions",
    "v": "y",
    "val": "x",
    "x1": "x",
    "x2": "y",
}


def _tensors_in(value: Any) -> list[Tensor]:
    """The tensors among arguments, at any depth."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in _tensors_in(each)]
    return []


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Arguments with each array and tensor among them changed."""
    if isinstance(value, dict):
        return {name: _mapped(each, change) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_mapped(each, change) for each in value])
    return change(value) if hasattr(type(value), "__dlpack__") else value


# Functions that write to their first argument.
_WRITERS = frozenset(
    f"numpy.{name}"
    for name in ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
)


def _written(called: str, args: Any, kwargs: Any) -> list[Tensor]:
    """The tensors that a function of NumPy writes to."""
    first = [*args, *kwargs.values()][:1] if called in _WRITERS else []
    return _tensors_in([first, kwargs.get("out")])


def _by_numpy(called: str, func: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy computes on the memory of the tensors."""
    if any(tensor.requires_grad for tensor in _tensors_in([args, kwargs])):
        raise TypeError(
            f"{called}: no operator computes it, and a tensor requires a gradient, which would "
            f"end here; call it with tensor.detach()"
        )

    def array(value: Any) -> Any:
        return value.numpy() if isinstance(value, Tensor) else value

    # Without asking tensors again, which may be in a container of another kind.
    computed = getattr(func, "_implementation", func)
    try:
        return computed(*_mapped(args, array), **_mapped(kwargs, array))
    finally:
        for tensor in _written(called, args, kwargs):
            _gradients.count_write(tensor)


def _named(called: str, order: str, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by place, and those by name, as the counterpart names them."""
    first, _, rest = order.partition("|")
    names = [*first.split(), *rest.split()]
    if len(args) > len(names):
        raise TypeError(f"{called}: {len(args)} arguments are given; accepted are {len(names)}")
    given = dict(zip(names, args))  # noqa: B905
    given.update({_NAMES.get(name, name): value for name, value in kwargs.items()})
    placed = [given.pop(name) for name in first.split() if name in given]
    return placed, given


def _call(called: str, order: str, function: Any, args: Any, kwargs: Any) -> Any:
    """What the counterpart gives. Raises TypeError for an argument that it does not have."""
    placed, given = _named(called, order, args, kwargs)
    defaults = ("out", "dtype", "kind", "order", "copy", "axes")
    absent = [
        name
        for name, value in given.items()
        if type(value).__name__ == "_NoValueType" or (value is None and name in defaults)
    ]
    for name in absent:
        del given[name]
    if "dtype" in given:
        given["dtype"] = dtypes.require(given["dtype"])
    accepted = inspect.signature(function).parameters
    has_any = any(each.kind is each.VAR_KEYWORD for each in accepted.values())
    for name in given:
        if name not in accepted and not has_any:
            raise TypeError(
                f"{called} of an opyard.Tensor does not take {name}=; call it on x.numpy(), which "
                "reads and writes the same memory, or an operator of opyard.ops.aten"
            )
    return function(*placed, **given)


def answer(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function of NumPy that got tensors."""
    called = f"{func.__module__}.{func.__name__}"
    if called not in _COUNTERPARTS:
        return _by_numpy(called, func, args, kwargs)
    function, order = _COUNTERPARTS[called]
    args, kwargs = _mapped((args, kwargs), creation.asarray)
    if order == "*":
        return function(*args, **kwargs)
    return _call(called, order, function, args, kwargs)
