"""Fourier transforms: three by NumPy's fft, and all others as compositions of these.

The inner operators give their results the order of dimensions that PyTorch's have. They have
formulas (kernels/src/gradients/complex.cpp) and Meta kernels, and so have the compositions.
"""

from typing import Any

import numpy as np

from .. import _C
from .._core.ops import ops
from .answers import answer, check, composition, keeps_order, on_meta
from .promotion import category, complex_of, real_of

_aten = ops.aten
_ONE = "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
_TWO = "(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor"
_MANY = "(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"
_FREQUENCIES = (
    "(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
_NORMS = {"backward": 0, "ortho": 1, "forward": 2}  # by nothing, the root of the size, the size


def _normalization(norm: "str | None", forward: bool) -> int:
    name = norm or "backward"
    check(name in _NORMS, f"norm is backward, forward or ortho, not {norm!r}")
    return _NORMS[name] if forward else 2 - _NORMS[name]


def _real(x: _C.Tensor) -> _C.Tensor:
    check(not x.is_complex(), f"a real tensor is wanted, not {_name(x)}")
    return x if x.dtype in (_C.float32, _C.float64) else x.to(_C.float32)


def _complex(x: _C.Tensor) -> _C.Tensor:
    if x.is_complex():
        return x
    return x.to(_C.complex128 if x.dtype is _C.float64 else _C.complex64)


def _name(x: _C.Tensor) -> str:
    return str(x.dtype).rpartition(".")[2]


def _axis(x: _C.Tensor, dim: int) -> int:
    check(-x.dim() <= dim < x.dim(), f"dim {dim} is not among {x.dim()} dimensions")
    return dim % x.dim()


def _axes(
    x: _C.Tensor, s: "list[int] | None", dim: "list[int] | None"
) -> "tuple[list[int], list[int]]":
    """What is transformed, and the size of each; -1 is the size that is there."""
    if dim is None:
        count = x.dim() if s is None else len(s)
        check(count <= x.dim(), f"{count} sizes are given for {x.dim()} dimensions")
        dim = list(range(x.dim() - count, x.dim()))
    dims = [_axis(x, each) for each in dim]
    check(len(set(dims)) == len(dims), f"a dimension is there twice: {dims}")
    sizes = [-1] * len(dims) if s is None else list(s)
    check(len(sizes) == len(dims), f"{len(sizes)} sizes are given for {len(dims)} dimensions")
    return dims, sizes


def _resized(x: _C.Tensor, dims: list[int], sizes: list[int]) -> _C.Tensor:
    """With so many elements along each: the first ones, or zeros behind them."""
    padding = [0] * (2 * x.dim())
    for dim, size in zip(dims, sizes, strict=True):
        if size == -1:
            size = x.shape[dim]
        check(size > 0, f"{size} elements along dimension {dim}; at least one is wanted")
        if size < x.shape[dim]:
            x = _aten.narrow(x, dim, 0, size)
        padding[2 * (x.dim() - 1 - dim) + 1] = size - x.shape[dim]
    return _aten.constant_pad_nd(x, padding, 0) if any(padding) else x


def _between_complex(
    x: _C.Tensor, s: "list[int] | None", dim: "list[int] | None", norm: "str | None", forward: bool
) -> _C.Tensor:
    dims, sizes = _axes(x, s, dim)
    x = _resized(_complex(x), dims, sizes)
    return _aten._fft_c2c(x, dims, _normalization(norm, forward), forward)


def _from_real(
    x: _C.Tensor, s: "list[int] | None", dim: "list[int] | None", norm: "str | None", forward: bool
) -> _C.Tensor:
    dims, sizes = _axes(x, s, dim)
    check(dims, "at least one dimension is wanted")
    x = _resized(_real(x), dims, sizes)
    number = _normalization(norm, forward)
    if forward:
        return _aten._fft_r2c(x, dims, number, True)
    found = _aten.conj(_aten._fft_r2c(x, dims[-1:], number, True))
    return _aten._fft_c2c(found, dims[:-1], number, False) if len(dims) > 1 else found


def _to_real(
    x: _C.Tensor, s: "list[int] | None", dim: "list[int] | None", norm: "str | None", forward: bool
) -> _C.Tensor:
    dims, sizes = _axes(x, s, dim)
    check(dims, "at least one dimension is wanted")
    last = sizes[-1] if sizes[-1] != -1 else 2 * (x.shape[dims[-1]] - 1)
    check(last > 0, f"{last} elements along dimension {dims[-1]}; at least one is wanted")
    x = _resized(_complex(x), dims, [*sizes[:-1], last // 2 + 1])
    return _aten._fft_c2r(
        _aten.conj(x) if forward else x, dims, _normalization(norm, forward), last
    )


def _sizes(n: "int | None") -> "list[int] | None":
    check(n is None or n > 0, f"n is {n}; at least one element is wanted")
    return None if n is None else [n]


@composition("fft_fft" + _ONE)
def fft(x: _C.Tensor, n: Any = None, dim: int = -1, norm: Any = None) -> _C.Tensor:
    return _between_complex(x, _sizes(n), [dim], norm, True)


@composition("fft_ifft" + _ONE)
def ifft(x: _C.Tensor, n: Any = None, dim: int = -1, norm: Any = None) -> _C.Tensor:
    return _between_complex(x, _sizes(n), [dim], norm, False)


@composition("fft_rfft" + _ONE)
def rfft(x: _C.Tensor, n: Any = None, dim: int = -1, norm: Any = None) -> _C.Tensor:
    return _from_real(x, _sizes(n), [dim], norm, True)


@composition("fft_irfft" + _ONE)
def irfft(x: _C.Tensor, n: Any = None, dim: int = -1, norm: Any = None) -> _C.Tensor:
    return _to_real(x, _sizes(n), [dim], norm, False)


@composition("fft_hfft" + _ONE)
def hfft(x: _C.Tensor, n: Any = None, dim: int = -1, norm: Any = None) -> _C.Tensor:
    return _to_real(x, _sizes(n), [dim], norm, True)


@composition("fft_ihfft" + _ONE)
def ihfft(x: _C.Tensor, n: Any = None, dim: int = -1, norm: Any = None) -> _C.Tensor:
    return _from_real(x, _sizes(n), [dim], norm, False)


_LAST_TWO = (-2, -1)


@composition("fft_fft2" + _TWO, defaults={"dim": _LAST_TWO})
@composition("fft_fftn" + _MANY)
def fftn(x: _C.Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> _C.Tensor:
    return _between_complex(x, s, dim, norm, True)


@composition("fft_ifft2" + _TWO, defaults={"dim": _LAST_TWO})
@composition("fft_ifftn" + _MANY)
def ifftn(x: _C.Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> _C.Tensor:
    return _between_complex(x, s, dim, norm, False)


@composition("fft_rfft2" + _TWO, defaults={"dim": _LAST_TWO})
@composition("fft_rfftn" + _MANY)
def rfftn(x: _C.Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> _C.Tensor:
    return _from_real(x, s, dim, norm, True)


@composition("fft_irfft2" + _TWO, defaults={"dim": _LAST_TWO})
@composition("fft_irfftn" + _MANY)
def irfftn(x: _C.Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> _C.Tensor:
    return _to_real(x, s, dim, norm, False)


@composition("fft_hfft2" + _TWO, defaults={"dim": _LAST_TWO})
@composition("fft_hfftn" + _MANY)
def hfftn(x: _C.Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> _C.Tensor:
    return _to_real(x, s, dim, norm, True)


@composition("fft_ihfft2" + _TWO, defaults={"dim": _LAST_TWO})
@composition("fft_ihfftn" + _MANY)
def ihfftn(x: _C.Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> _C.Tensor:
    return _from_real(x, s, dim, norm, False)


def _rolled(x: _C.Tensor, dim: "list[int] | None", rounded_up: int) -> _C.Tensor:
    dims = list(range(x.dim())) if dim is None else [_axis(x, each) for each in dim]
    return _aten.roll(x, [(x.shape[each] + rounded_up) // 2 for each in dims], dims)


@composition("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor")
def fftshift(x: _C.Tensor, dim: Any = None) -> _C.Tensor:
    return _rolled(x, dim, 0)


@composition("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor")
def ifftshift(x: _C.Tensor, dim: Any = None) -> _C.Tensor:
    return _rolled(x, dim, 1)


def _require_frequencies(n: int, d: float, options: dict[str, Any]) -> None:
    check(n > 0, f"n is {n}; at least one is wanted")
    check(d != 0, "d is 0; any other distance is accepted")
    dtype = options.get("dtype") or _C.float32
    check(dtype.is_floating_point, f"dtype is {dtype}; a floating point dtype is wanted")


def _frequencies(first: int, count: int, n: int, d: float, options: dict[str, Any]) -> _C.Tensor:
    dtype = options.pop("dtype", None) or _C.float32
    numbers = _aten.arange(first, first + count, dtype=dtype, **options)
    return _aten.mul(numbers, 1.0 / (n * d))


@composition("fft_fftfreq" + _FREQUENCIES)
def fftfreq(n: int, d: float = 1.0, **options: Any) -> _C.Tensor:
    _require_frequencies(n, d, options)
    return ifftshift(_frequencies(-(n // 2), n, n, d, options))


@composition("fft_rfftfreq" + _FREQUENCIES)
def rfftfreq(n: int, d: float = 1.0, **options: Any) -> _C.Tensor:
    _require_frequencies(n, d, options)
    return _frequencies(0, n // 2 + 1, n, d, options)


# Of the inner operators: the norm as a number, for each direction as NumPy names it.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


def _inner_axes(count: int, dims: list[int]) -> list[int]:
    for each in dims:
        check(-count <= each < count, f"dim {each} is not among {count} dimensions")
    dims = [each % count for each in dims]
    check(len(set(dims)) == len(dims), f"a dimension is there twice: {dims}")
    return dims


def _order(strides: "tuple[int, ...]", dims: list[int]) -> list[int]:
    """The dimensions, outermost first, with what is transformed innermost in the order of `dims`,
    and the others in the order that these strides have."""
    others = [each for each in range(len(strides)) if each not in dims]
    return [*sorted(others, key=lambda each: -strides[each]), *dims]


def _by_stride(strides: "tuple[int, ...]", dims: list[int]) -> list[int]:
    return sorted(dims, key=lambda each: -strides[each])


def _in_order(result: np.ndarray, order: list[int]) -> np.ndarray:
    return np.ascontiguousarray(result.transpose(order)).transpose(np.argsort(order))


def _require_number(normalization: int) -> None:
    check(0 <= normalization < 3, f"normalization is 0, 1 or 2, not {normalization}")


def _require_half(sizes: "tuple[int, ...]", axis: int, whole: int) -> None:
    """An axis without elements counts as one of zeros."""
    check(whole > 0, f"last_dim_size is {whole}; at least one is wanted")
    check(
        sizes[axis] == 0 or sizes[axis] > whole // 2,
        f"last_dim_size is {whole}, and dimension {axis} has {sizes[axis]} elements; at least half "
        f"of them and one, {whole // 2 + 1}, are wanted",
    )


def _begun(x: np.ndarray, axis: int) -> np.ndarray:
    """With a zero where an axis has no elements: NumPy's irfft reads the first one nevertheless."""
    if x.shape[axis] > 0:
        return x
    sizes = [1 if i == axis else size for i, size in enumerate(x.shape)]
    return np.zeros(sizes, x.dtype)


# The order of each result. PyTorch transforms the last dimension before the others, or after them.
def _order_of_c2c(strides: "tuple[int, ...]", dims: list[int]) -> list[int]:
    return _order(strides, _by_stride(strides, dims))


def _order_of_r2c(strides: "tuple[int, ...]", dims: list[int]) -> list[int]:
    return _order(strides, [*_by_stride(strides, dims[:-1]), dims[-1]])


def _order_of_c2r(strides: "tuple[int, ...]", dims: list[int]) -> list[int]:
    if len(dims) > 1:
        first = _order_of_c2c(strides, dims[:-1])
        strides = tuple(-first.index(each) for each in range(len(strides)))
    return _order(strides, dims[-1:])


@answer("_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor")
@keeps_order
def c2c(x: np.ndarray, dim: list[int], normalization: int, forward: bool) -> np.ndarray:
    check(category(x.dtype) == 3, f"a complex tensor is wanted, not {x.dtype.name}")
    _require_number(normalization)
    dims = _inner_axes(x.ndim, dim)
    run = np.fft.fftn if forward else np.fft.ifftn
    made = run(x, axes=dims, norm=(_FORWARD if forward else _INVERSE)[normalization])
    made = made.astype(x.dtype, copy=False)
    return _in_order(made, _order_of_c2c(x.strides, dims)) if dims else made


@on_meta("_fft_c2c")
def c2c_on_meta(x: _C.Tensor, dim: list[int], normalization: int, forward: bool) -> _C.Tensor:
    check(x.is_complex(), f"a complex tensor is wanted, not {_name(x)}")
    _require_number(normalization)
    dims = _inner_axes(x.dim(), dim)
    if not dims:
        return _empty(list(x.shape), list(range(x.dim())), x.dtype)
    return _empty(list(x.shape), _order_of_c2c(x.stride(), dims), x.dtype)


@answer("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor")
@keeps_order
def r2c(x: np.ndarray, dim: list[int], normalization: int, onesided: bool) -> np.ndarray:
    check(category(x.dtype) == 2, f"real floating point numbers are wanted, not {x.dtype.name}")
    _require_number(normalization)
    dims = _inner_axes(x.ndim, dim)
    check(dims, "at least one dimension is wanted")
    run = np.fft.rfftn if onesided else np.fft.fftn
    made = run(x, axes=dims, norm=_FORWARD[normalization]).astype(complex_of(x.dtype), copy=False)
    return _in_order(made, _order_of_r2c(x.strides, dims))


@on_meta("_fft_r2c")
def r2c_on_meta(x: _C.Tensor, dim: list[int], normalization: int, onesided: bool) -> _C.Tensor:
    check(x.dtype.is_floating_point, f"real floating point numbers are wanted, not {_name(x)}")
    _require_number(normalization)
    dims = _inner_axes(x.dim(), dim)
    check(dims, "at least one dimension is wanted")
    sizes = list(x.shape)
    if onesided:
        sizes[dims[-1]] = sizes[dims[-1]] // 2 + 1
    return _empty(sizes, _order_of_r2c(x.stride(), dims), _complex_of(x))


@answer("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor")
@keeps_order
def c2r(x: np.ndarray, dim: list[int], normalization: int, last_dim_size: int) -> np.ndarray:
    check(category(x.dtype) == 3, f"a complex tensor is wanted, not {x.dtype.name}")
    _require_number(normalization)
    dims = _inner_axes(x.ndim, dim)
    check(dims, "at least one dimension is wanted")
    _require_half(x.shape, dims[-1], last_dim_size)
    begun = _begun(x, dims[-1])
    sizes = [*(begun.shape[each] for each in dims[:-1]), last_dim_size]
    made = np.fft.irfftn(begun, sizes, dims, _INVERSE[normalization])
    made = made.astype(real_of(x.dtype), copy=False)
    return _in_order(made, _order_of_c2r(x.strides, dims))


@on_meta("_fft_c2r")
def c2r_on_meta(x: _C.Tensor, dim: list[int], normalization: int, last_dim_size: int) -> _C.Tensor:
    check(x.is_complex(), f"a complex tensor is wanted, not {_name(x)}")
    _require_number(normalization)
    dims = _inner_axes(x.dim(), dim)
    check(dims, "at least one dimension is wanted")
    _require_half(tuple(x.shape), dims[-1], last_dim_size)
    sizes = list(x.shape)
    sizes[dims[-1]] = last_dim_size
    dtype = _C.float64 if x.dtype is _C.complex128 else _C.float32
    return _empty(sizes, _order_of_c2r(x.stride(), dims), dtype)


def _complex_of(x: _C.Tensor) -> _C.dtype:
    return _C.complex128 if x.dtype is _C.float64 else _C.complex64


def _empty(sizes: list[int], order: list[int], dtype: _C.dtype) -> _C.Tensor:
    strides, step = [0] * len(sizes), 1
    for each in reversed(order):
        strides[each] = step
        step *= max(sizes[each], 1)
    return _aten.empty_strided(sizes, strides, dtype=dtype, device="meta")
