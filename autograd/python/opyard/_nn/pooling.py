"""Pooling: the largest element or the mean of each window of x [n, channels, ...], or without n.

The names end in how many dimensions windows have. Windows are of one size, kernel_size, or they are
adaptive: as many as output_size says, which cover x evenly.
"""

import math
from collections.abc import Sequence

from .. import _C
from .._core.ops import ops
from .module import Module
from .sizes import Sizes, at_least, channels_wanted, number, several

OutputSizes = int | None | Sequence[int | None]


class _Pool(Module):
    """Windows of one size. Sizes are one int, or one for each dimension of a window."""

    _dims = 0

    def _set_windows(self, kernel_size: Sizes, stride: Sizes | None, padding: Sizes) -> None:
        self.kernel_size = self._checked("kernel_size", kernel_size)
        self.stride = self.kernel_size if stride is None else self._checked("stride", stride)
        self.padding = self._checked("padding", padding, least=0)

    def _checked(self, name: str, size: Sizes, least: int = 1) -> Sizes:
        """A size as it is given, but a list as a tuple. Raises TypeError, ValueError."""
        sizes = several(type(self).__name__, name, size, self._dims, least)
        return sizes if isinstance(size, Sequence) else size

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self._set_windows(kernel_size, stride, padding)
        self.dilation = self._checked("dilation", dilation)
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, x: _C.Tensor) -> "_C.Tensor | tuple[_C.Tensor, _C.Tensor]":
        name = f"max_pool{self._dims}d" + ("_with_indices" if self.return_indices else "")
        windows = self.kernel_size, self.stride, self.padding, self.dilation
        return getattr(ops.aten, name)(x, *windows, self.ceil_mode)

    def extra_repr(self) -> str:
        return super().extra_repr() + f", dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class MaxPool1d(_MaxPool):
    """The largest element of each window of x [n, channels, length], or of one without n."""

    _dims = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window of x [n, channels, rows, columns], or of one without n.

    stride is kernel_size if it is None. With return_indices it gives also where each element was.
    """

    _dims = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window of x [n, channels, planes, rows, columns]."""

    _dims = 3


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self._set_windows(kernel_size, stride, padding)
        if divisor_override is not None:
            at_least(type(self).__name__, 1, divisor_override=divisor_override)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        pool = getattr(ops.aten, f"avg_pool{self._dims}d")
        divisor = () if self._dims == 1 else (self.divisor_override,)
        windows = self.kernel_size, self.stride, self.padding
        return pool(x, *windows, self.ceil_mode, self.count_include_pad, *divisor)


class AvgPool1d(_AvgPool):
    """The mean of each window of x [n, channels, length], or of one without n."""

    _dims = 1

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        several = self._all_of("kernel_size"), self._all_of("stride"), self._all_of("padding")
        self.kernel_size, self.stride, self.padding = several

    def _all_of(self, name: str) -> tuple[int, ...]:
        size = getattr(self, name)
        return size if isinstance(size, tuple) else (size,)


class AvgPool2d(_AvgPool):
    """The mean of each window of x [n, channels, rows, columns], or of one without n.

    stride is kernel_size if it is None. Sums are divided by divisor_override if it is given, else
    by the size of a window, of which count_include_pad=False takes the padding off.
    """

    _dims = 2


class AvgPool3d(_AvgPool):
    """The mean of each window of x [n, channels, planes, rows, columns], or of one without n."""

    _dims = 3


class _Adaptive(Module):
    """Windows that cover x evenly. A size that is None is the size that x has."""

    _dims = 0

    def _set_output_size(self, output_size: OutputSizes) -> None:
        given = output_size
        sizes = list(given) if isinstance(given, (list, tuple)) else [given] * self._dims
        numbers = [0 if size is None else size for size in sizes]
        numbers = several(type(self).__name__, "output_size", numbers, self._dims, least=0)
        pairs = zip(sizes, numbers, strict=True)
        self._output_sizes = tuple(None if size is None else number for size, number in pairs)
        self.output_size = self._output_sizes if isinstance(given, (list, tuple)) else given

    def _pool(self, x: _C.Tensor, name: str) -> "_C.Tensor | tuple[_C.Tensor, _C.Tensor]":
        sizes = self._output_sizes
        if None in sizes:  # of an x with too few dimensions the operator says what is wrong
            own = x.shape[-self._dims :] if x.ndim > self._dims else [1] * self._dims
            sizes = [own[dim] if size is None else size for dim, size in enumerate(sizes)]
        return getattr(ops.aten, f"adaptive_{name}_pool{self._dims}d")(x, sizes)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveAvgPool(_Adaptive):
    def __init__(self, output_size: OutputSizes) -> None:
        super().__init__()
        self._set_output_size(output_size)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return self._pool(x, "avg")


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The means of output_size windows that cover x [n, channels, length] evenly."""

    _dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The means of output_size windows that cover x [n, channels, rows, columns] evenly.

    output_size is one number, or two, of rows and columns; None is the size that x has.
    """

    _dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The means of output_size windows that cover x [n, channels, planes, rows, columns] evenly."""

    _dims = 3


class _AdaptiveMaxPool(_Adaptive):
    def __init__(self, output_size: OutputSizes, return_indices: bool = False) -> None:
        super().__init__()
        self._set_output_size(output_size)
        self.return_indices = return_indices

    def forward(self, x: _C.Tensor) -> "_C.Tensor | tuple[_C.Tensor, _C.Tensor]":
        both = self._pool(x, "max")
        return both if self.return_indices else both[0]


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest elements of output_size windows that cover x [n, channels, length] evenly."""

    _dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest elements of output_size windows that cover x [n, channels, rows, columns].

    output_size is one number, or two, of rows and columns; None is the size that x has. With
    return_indices it gives also where each element was.
    """

    _dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest elements of output_size windows that cover x [n, channels, planes, ...]."""

    _dims = 3


class _LPPool(Module):
    """The p-norm of each window: norm_type is p."""

    _dims = 0

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        name, dims = type(self).__name__, self._dims
        self.norm_type = number(name, "norm_type", norm_type)
        self._windows = several(name, "kernel_size", kernel_size, dims)
        self._strides = self._windows if stride is None else several(name, "stride", stride, dims)
        self.kernel_size, self.stride, self.ceil_mode = kernel_size, stride, ceil_mode

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        pool = getattr(ops.aten, f"avg_pool{self._dims}d")
        powers = x**self.norm_type
        sums = pool(powers, self._windows, self._strides, 0, self.ceil_mode)
        sums = ops.aten.relu(sums) * ops.aten.sign(sums) * math.prod(self._windows)
        return sums ** (1 / self.norm_type)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of each window of x [n, channels, length], or of one without n."""

    _dims = 1


class LPPool2d(_LPPool):
    """The p-norm of each window of x [n, channels, rows, columns], or of one without n."""

    _dims = 2


class LPPool3d(_LPPool):
    """The p-norm of each window of x [n, channels, planes, rows, columns], or of one without n."""

    _dims = 3


class _MaxUnpool(Module):
    """Puts elements where indices say, and zeros elsewhere: the reverse of a max pool."""

    _dims = 0

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        name, dims = type(self).__name__, self._dims
        self.kernel_size = several(name, "kernel_size", kernel_size, dims)
        given = kernel_size if stride is None else stride
        self.stride = several(name, "stride", given, dims)
        self.padding = several(name, "padding", padding, dims, least=0)

    def forward(
        self, x: _C.Tensor, indices: _C.Tensor, output_size: "Sequence[int] | None" = None
    ) -> _C.Tensor:
        name, dims = type(self).__name__, self._dims
        if x.ndim not in (dims + 1, dims + 2) or indices.shape != x.shape:
            raise ValueError(
                f"{name}: {channels_wanted(dims, x)}, and indices, too, which has "
                f"{list(indices.shape)}"
            )
        sizes = [
            (size - 1) * stride - 2 * padding + kernel
            for size, stride, padding, kernel in zip(
                x.shape[-dims:], self.stride, self.padding, self.kernel_size, strict=True
            )
        ]
        if output_size is not None:
            wanted = list(output_size)[-dims:]
            near = zip(wanted, sizes, self.stride, strict=True)
            if len(wanted) != dims or any(abs(a - b) >= stride for a, b, stride in near):
                raise ValueError(
                    f"{name}: output_size must be near {sizes}, less than a stride away, not "
                    f"{list(output_size)}"
                )
            sizes = wanted
        places, room = indices.flatten(-dims), math.prod(sizes)
        flat = ops.aten.zeros([*places.shape[:-1], room], dtype=x.dtype)
        try:
            put = ops.aten.scatter(flat, -1, places, x.flatten(-dims))
        except IndexError as error:
            raise IndexError(
                f"{name}: indices must be from 0 to {room - 1}, since the result has the sizes "
                f"{sizes}; {error}"
            ) from error
        return put.reshape([*x.shape[:-dims], *sizes])

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The reverse of MaxPool1d, from what it gives with return_indices; see MaxUnpool2d."""

    _dims = 1


class MaxUnpool2d(_MaxUnpool):
    """The reverse of MaxPool2d, from what it gives with return_indices: zeros but for the largest.

    A call may give the sizes that the pool's x had, since several come to the same.
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpool):
    """The reverse of MaxPool3d, from what it gives with return_indices; see MaxUnpool2d."""

    _dims = 3
