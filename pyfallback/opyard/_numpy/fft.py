"""Fourier transforms, by NumPy's fft.

The inner operators give their results the order of dimensions that PyTorch's have.
"""

from typing import Any

import numpy as np

from .answers import answer, check, keeps_order
from .promotion import category, complex_of, floating, real_of

_ONE = "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
_TWO = "(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor"
_MANY = "(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"
_OTHER_WAY = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(norm: "str | None", other_way: bool = False) -> str:
    """The norm as NumPy takes it; the other way round for transforms that are conjugated."""
    name = norm or "backward"
    check(name in _OTHER_WAY, f"norm is backward, forward or ortho, not {norm!r}")
    return _OTHER_WAY[name] if other_way else name


def _real(x: np.ndarray) -> np.ndarray:
    check(category(x.dtype) < 3, f"a real tensor is wanted, not {x.dtype.name}")
    return floating(x)


def _complex(x: np.ndarray) -> np.ndarray:
    x = floating(x)
    return x.astype(complex_of(x.dtype), copy=False)


def _as_complex(result: np.ndarray, x: np.ndarray) -> np.ndarray:
    return result.astype(complex_of(x.dtype), copy=False)


def _as_real(result: np.ndarray, x: np.ndarray) -> np.ndarray:
    return result.astype(real_of(x.dtype), copy=False)


@answer("fft_fft" + _ONE)
def fft(x: np.ndarray, n: "int | None", dim: int, norm: "str | None") -> np.ndarray:
    x = floating(x)
    return _as_complex(np.fft.fft(x, n, dim, _norm(norm)), x)


@answer("fft_ifft" + _ONE)
def ifft(x: np.ndarray, n: "int | None", dim: int, norm: "str | None") -> np.ndarray:
    x = floating(x)
    return _as_complex(np.fft.ifft(x, n, dim, _norm(norm)), x)


@answer("fft_rfft" + _ONE)
def rfft(x: np.ndarray, n: "int | None", dim: int, norm: "str | None") -> np.ndarray:
    x = _real(x)
    return _as_complex(np.fft.rfft(x, n, dim, _norm(norm)), x)


def _begun(x: np.ndarray, *axes: int) -> np.ndarray:
    """With a zero where an axis has no elements: NumPy's irfft reads the first one nevertheless."""
    sizes = [1 if i in axes and size == 0 else size for i, size in enumerate(x.shape)]
    return x if tuple(sizes) == x.shape else np.zeros(sizes, x.dtype)


@answer("fft_irfft" + _ONE)
def irfft(x: np.ndarray, n: "int | None", dim: int, norm: "str | None") -> np.ndarray:
    x = _begun(_complex(x), dim % max(x.ndim, 1))
    return _as_real(np.fft.irfft(x, n, dim, _norm(norm)), x)


@answer("fft_hfft" + _ONE)
def hfft(x: np.ndarray, n: "int | None", dim: int, norm: "str | None") -> np.ndarray:
    x = _begun(_complex(x), dim % max(x.ndim, 1))
    return _as_real(np.fft.hfft(x, n, dim, _norm(norm)), x)


@answer("fft_ihfft" + _ONE)
def ihfft(x: np.ndarray, n: "int | None", dim: int, norm: "str | None") -> np.ndarray:
    x = _real(x)
    return _as_complex(np.fft.ihfft(x, n, dim, _norm(norm)), x)


def _axes(
    x: np.ndarray, s: "list[int] | None", dim: "list[int] | None", to_real: bool = False
) -> dict[str, Any]:
    """`s` and `axes` as NumPy takes them; a size of -1 is the one that is there."""
    if dim is None:
        count = x.ndim if s is None else len(s)
        check(count <= x.ndim, f"{count} sizes are given for {x.ndim} dimensions")
        dim = list(range(x.ndim - count, x.ndim))
    for each in dim:
        check(-x.ndim <= each < x.ndim, f"dim {each} is not among {x.ndim} dimensions")
    dim = [each % x.ndim for each in dim]
    check(len(set(dim)) == len(dim), f"a dimension is there twice: {dim}")
    if s is None:
        return {"s": None, "axes": dim}
    check(len(s) == len(dim), f"{len(s)} sizes are given for {len(dim)} dimensions")
    sizes = [x.shape[axis] if size == -1 else size for size, axis in zip(s, dim, strict=True)]
    if to_real and s and s[-1] == -1:
        sizes[-1] = 2 * (x.shape[dim[-1]] - 1)
    return {"s": sizes, "axes": dim}


@answer("fft_fft2" + _TWO, "fft_fftn" + _MANY)
def fftn(x: np.ndarray, s: Any, dim: Any, norm: "str | None") -> np.ndarray:
    x = floating(x)
    return _as_complex(np.fft.fftn(x, norm=_norm(norm), **_axes(x, s, dim)), x)


@answer("fft_ifft2" + _TWO, "fft_ifftn" + _MANY)
def ifftn(x: np.ndarray, s: Any, dim: Any, norm: "str | None") -> np.ndarray:
    x = floating(x)
    return _as_complex(np.fft.ifftn(x, norm=_norm(norm), **_axes(x, s, dim)), x)


@answer("fft_rfft2" + _TWO, "fft_rfftn" + _MANY)
def rfftn(x: np.ndarray, s: Any, dim: Any, norm: "str | None") -> np.ndarray:
    x = _real(x)
    return _as_complex(np.fft.rfftn(x, norm=_norm(norm), **_axes(x, s, dim)), x)


@answer("fft_irfft2" + _TWO, "fft_irfftn" + _MANY)
def irfftn(x: np.ndarray, s: Any, dim: Any, norm: "str | None") -> np.ndarray:
    x = _complex(x)
    axes = _axes(x, s, dim, True)
    x = _begun(x, *axes["axes"][-1:])
    return _as_real(np.fft.irfftn(x, norm=_norm(norm), **axes), x)


@answer("fft_hfft2" + _TWO, "fft_hfftn" + _MANY)
def hfftn(x: np.ndarray, s: Any, dim: Any, norm: "str | None") -> np.ndarray:
    x = np.conj(_complex(x))
    axes = _axes(x, s, dim, True)
    x = _begun(x, *axes["axes"][-1:])
    return _as_real(np.fft.irfftn(x, norm=_norm(norm, True), **axes), x)


@answer("fft_ihfft2" + _TWO, "fft_ihfftn" + _MANY)
def ihfftn(x: np.ndarray, s: Any, dim: Any, norm: "str | None") -> np.ndarray:
    x = _real(x)
    return _as_complex(np.conj(np.fft.rfftn(x, norm=_norm(norm, True), **_axes(x, s, dim))), x)


@answer("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor")
def fftshift(x: np.ndarray, dim: "list[int] | None") -> np.ndarray:
    return np.fft.fftshift(x, dim)


@answer("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor")
def ifftshift(x: np.ndarray, dim: "list[int] | None") -> np.ndarray:
    return np.fft.ifftshift(x, dim)


# Of the inner operators: the norm as a number, for each direction as NumPy names it.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


def _in_order(x: np.ndarray, result: np.ndarray, dims: list[int]) -> np.ndarray:
    """The result with what is transformed innermost, in the order of `dims`, and the other
    dimensions in the order in which x has them."""
    dims = [each % x.ndim for each in dims]
    others = [each for each in range(x.ndim) if each not in dims]
    order = [*sorted(others, key=lambda each: -x.strides[each]), *dims]
    return np.ascontiguousarray(result.transpose(order)).transpose(np.argsort(order))


def _by_stride(x: np.ndarray, dims: list[int]) -> list[int]:
    return sorted(dims, key=lambda each: -x.strides[each])


@answer("_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor")
@keeps_order
def c2c(x: np.ndarray, dim: list[int], normalization: int, forward: bool) -> np.ndarray:
    check(category(x.dtype) == 3, f"a complex tensor is wanted, not {x.dtype.name}")
    check(0 <= normalization < 3, f"normalization is 0, 1 or 2, not {normalization}")
    run = np.fft.fftn if forward else np.fft.ifftn
    norm = (_FORWARD if forward else _INVERSE)[normalization]
    made = _as_complex(run(x, norm=norm, **_axes(x, None, dim)), x)
    return _in_order(x, made, _by_stride(x, dim)) if dim else made


@answer("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor")
@keeps_order
def r2c(x: np.ndarray, dim: list[int], normalization: int, onesided: bool) -> np.ndarray:
    check(category(x.dtype) == 2, f"real floating point numbers are wanted, not {x.dtype.name}")
    check(0 <= normalization < 3, f"normalization is 0, 1 or 2, not {normalization}")
    run = np.fft.rfftn if onesided else np.fft.fftn
    made = _as_complex(run(x, norm=_FORWARD[normalization], **_axes(x, None, dim)), x)
    return _in_order(x, made, [*_by_stride(x, dim[:-1]), dim[-1]])


@answer("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor")
@keeps_order
def c2r(x: np.ndarray, dim: list[int], normalization: int, last_dim_size: int) -> np.ndarray:
    check(category(x.dtype) == 3, f"a complex tensor is wanted, not {x.dtype.name}")
    check(0 <= normalization < 3, f"normalization is 0, 1 or 2, not {normalization}")
    sizes = [-1] * (len(dim) - 1) + [last_dim_size]
    axes = _axes(x, sizes, dim)
    begun = _begun(x, *axes["axes"][-1:])
    made = _as_real(np.fft.irfftn(begun, norm=_INVERSE[normalization], **axes), x)
    # PyTorch transforms the last dimension after the others.
    first = _in_order(x, x, _by_stride(x, dim[:-1])) if len(dim) > 1 else x
    return _in_order(first, made, dim[-1:])
