"""Fourier transforms: the standard's extension `fft`."""

from collections.abc import Sequence
from typing import Literal, Protocol

from .._C import Tensor
from .._core import late as _late
from .._core.ops import ops
from .arguments import (
    Device,
    DType,
    many_axes,
    one_axis,
    require_dtype,
    require_int,
    require_ints,
    require_same_length,
    require_tensor,
)
from .data_types import is_float

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_late.find_names(globals())


class _Transform(Protocol):
    """A transform along one axis."""

    def __call__(
        self,
        x: Tensor,
        /,
        *,
        n: int | None = None,
        axis: int = -1,
        norm: Literal["backward", "ortho", "forward"] = "backward",
    ) -> Tensor: ...


class _ManyTransforms(Protocol):
    """A transform along several axes."""

    def __call__(
        self,
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: Literal["backward", "ortho", "forward"] = "backward",
    ) -> Tensor: ...


def _floats(function: str, x: Tensor, norm: str) -> Tensor:
    x = require_tensor(function, "x", x)
    if not is_float(x.dtype):
        raise TypeError(f"{function}: x is {x.dtype.name}; accepted are floating-point dtypes")
    if norm not in ("backward", "ortho", "forward"):
        raise ValueError(
            f"{function}: norm is {norm!r}; accepted are 'backward', 'ortho' and 'forward'"
        )
    return x


def _named(function: object, name: str, doc: str) -> None:
    for attribute in ("__name__", "__qualname__"):
        setattr(function, attribute, name)
    function.__doc__ = doc


def _one(name: str, doc: str) -> _Transform:
    def function(
        x: Tensor,
        /,
        *,
        n: int | None = None,
        axis: int = -1,
        norm: Literal["backward", "ortho", "forward"] = "backward",
    ) -> Tensor:
        x = _floats(name, x, norm)
        n = None if n is None else require_int(name, "n", n)
        return getattr(ops.aten, f"fft_{name}")(x, n, one_axis(name, axis, x.ndim), norm)

    _named(function, name, doc + " `n` elements are taken, or zeros are put behind them.")
    return function


def _many(name: str, doc: str) -> _ManyTransforms:
    def function(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: Literal["backward", "ortho", "forward"] = "backward",
    ) -> Tensor:
        x = _floats(name, x, norm)
        lengths = None if s is None else require_ints(name, "s", s)
        dims = None if axes is None else many_axes(name, axes, x.ndim, "axes")
        if lengths is not None and dims is not None:
            require_same_length(name, lengths, dims)
        return getattr(ops.aten, f"fft_{name}")(x, lengths, dims, norm)

    _named(function, name, doc + " `s` has the number of elements for each axis.")
    return function


fft = _one("fft", "The discrete Fourier transform along an axis.")
ifft = _one("ifft", "The inverse of fft().")
rfft = _one("rfft", "The transform of real numbers: half of what fft() gives, plus one.")
irfft = _one("irfft", "The inverse of rfft(): real numbers, of an even number unless `n` is odd.")
hfft = _one("hfft", "The transform of a Hermitian signal, of which half is given.")
ihfft = _one("ihfft", "The inverse of hfft().")
fftn = _many("fftn", "The discrete Fourier transform along several axes.")
ifftn = _many("ifftn", "The inverse of fftn().")
rfftn = _many("rfftn", "The transform of real numbers along several axes, halved in the last.")
irfftn = _many("irfftn", "The inverse of rfftn(): real numbers.")


def _frequencies(name: str, n: int, d: float, dtype: DType | None, device: Device | None) -> Tensor:
    if require_int(name, "n", n) < 1:
        raise ValueError(f"{name}: n is {n}; accepted are numbers from 1")
    dtype = None if dtype is None else require_dtype(name, dtype)
    return getattr(ops.aten, f"fft_{name}")(n, d, dtype=dtype, device=device)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Frequencies of what fft() gives for `n` elements that are `d` apart."""
    return _frequencies("fftfreq", n, d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Frequencies of what rfft() gives for `n` elements that are `d` apart."""
    return _frequencies("rfftfreq", n, d, dtype, device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """What fft() gives, with the frequency 0 in the middle."""
    x = require_tensor("fftshift", "x", x)
    return ops.aten.fft_fftshift(x, many_axes("fftshift", axes, x.ndim, "axes"))


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of fftshift()."""
    x = require_tensor("ifftshift", "x", x)
    return ops.aten.fft_ifftshift(x, many_axes("ifftshift", axes, x.ndim, "axes"))
