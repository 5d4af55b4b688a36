"""Convolutions: sums over windows of x [n, in_channels, ...], or of one without n, and their
transposes.

The names end in how many dimensions windows have: length; rows, columns; planes, rows, columns.
"""

import math
from collections.abc import Sequence

from .. import _C
from .._core.ops import ops
from .init import bound_of, empty, fill_uniform
from .module import Module
from .paddings import MODES, padded
from .place import Device, DType
from .sizes import Sizes, channels_wanted, positive, several


class _Convolution(Module):
    """What convolutions and transposed ones have in common: sizes, groups, weight and bias."""

    _dims = 0

    def _set_sizes(self, channels: tuple[int, int], groups: int, **sizes: Sizes) -> None:
        name = type(self).__name__
        in_channels, out_channels = channels
        positive(name, in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: in_channels and out_channels must be multiples of groups, {groups}, not "
                f"{in_channels} and {out_channels}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        for each, size in sizes.items():
            least = 0 if "padding" in each else 1
            setattr(self, each, several(name, each, size, self._dims, least))

    def _begin(self, first: int, second: int, bias: bool) -> None:
        """weight [first, second, window] and bias, uniform in ±1/√(elements of a window)."""
        self.weight = empty(first, second, *self.kernel_size)
        self.register_parameter("bias", empty(self.out_channels) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias again."""
        fan_in = math.prod(self.weight.shape[1:])
        fill_uniform((self.weight, self.bias), bound_of(fan_in))

    def extra_repr(self) -> str:
        own = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        own += f", stride={self.stride}"
        zeros, ones = (0,) * self._dims, (1,) * self._dims
        usual = {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1}
        for name, value in usual.items():
            if getattr(self, name) != value:
                own += f", {name}={getattr(self, name)}"
        own = own if self.bias is not None else own + ", bias=False"
        mode = self.padding_mode
        return own if mode == "zeros" else f"{own}, padding_mode={mode}"


class _Conv(_Convolution):
    output_padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: "Sizes | str" = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        self._set_sizes((in_channels, out_channels), groups, **sizes)
        self._set_padding(padding, padding_mode)
        self._begin(out_channels, in_channels // groups, bias)
        self.output_padding = (0,) * self._dims

    def _set_padding(self, padding: "Sizes | str", mode: str) -> None:
        name = type(self).__name__
        if mode not in ("zeros", *MODES):
            raise ValueError(
                f"{name}: padding_mode is one of zeros, {', '.join(MODES)}, not {mode!r}"
            )
        self.padding_mode = mode
        if not isinstance(padding, str):
            self.padding = several(name, "padding", padding, self._dims, least=0)
            sides = [(each, each) for each in self.padding]
        elif padding not in ("same", "valid"):
            raise ValueError(f'{name}: padding is sizes, "same" or "valid", not {padding!r}')
        elif padding == "same" and any(each != 1 for each in self.stride):
            raise ValueError(f'{name}: padding="same" needs a stride of 1, not {self.stride}')
        else:
            self.padding = padding
            lost = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            lost = lost if padding == "same" else [0] * self._dims
            sides = [(each // 2, each - each // 2) for each in lost]
        # As pad() takes them: the last dimension comes first.
        self._pads = [size for pair in reversed(sides) for size in pair]

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        padding: Sizes | str = self.padding
        if self.padding_mode != "zeros":
            if x.ndim not in (self._dims + 1, self._dims + 2):
                raise ValueError(f"{type(self).__name__}: {channels_wanted(self._dims, x)}")
            x, padding = padded(x, self._pads, self.padding_mode), (0,) * self._dims
        convolve = getattr(ops.aten, f"conv{self._dims}d")
        return convolve(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Sums over windows of x [n, in_channels, length], or of one without n.

    weight is [out_channels, in_channels / groups, length]; see Conv2d.
    """

    _dims = 1


class Conv2d(_Conv):
    """Sums over windows of pictures x [n, in_channels, rows, columns], or of one without n.

    weight [out_channels, in_channels / groups, rows, columns] and bias [out_channels] begin uniform
    in ±1/√(elements of a window). Sizes are one int or two, of rows and columns. The padding "same"
    keeps the size of x, "valid" is none; padding_mode says with what it is filled.
    """

    _dims = 2


class Conv3d(_Conv):
    """Sums over windows of x [n, in_channels, planes, rows, columns], or of one without n.

    weight is [out_channels, in_channels / groups, planes, rows, columns]; see Conv2d.
    """

    _dims = 3


class _ConvTranspose(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__}: padding_mode is zeros, not {padding_mode!r}")
        sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        sizes |= {"output_padding": output_padding, "dilation": dilation}
        self._set_sizes((in_channels, out_channels), groups, **sizes)
        self.padding_mode = padding_mode
        self._begin(in_channels, out_channels // groups, bias)

    def forward(self, x: _C.Tensor, output_size: "Sequence[int] | None" = None) -> _C.Tensor:
        convolve = getattr(ops.aten, f"conv_transpose{self._dims}d")
        more = self.output_padding if output_size is None else self._more(x, output_size)
        sizes = self.stride, self.padding, more, self.groups, self.dilation
        return convolve(x, self.weight, self.bias, *sizes)

    def _more(self, x: _C.Tensor, output_size: Sequence[int]) -> list[int]:
        """The output_padding with which the result has these sizes. Raises ValueError."""
        name, dims = type(self).__name__, self._dims
        if x.ndim not in (dims + 1, dims + 2):
            raise ValueError(f"{name}: {channels_wanted(dims, x)}")
        wanted = list(output_size)
        if len(wanted) == x.ndim:
            wanted = wanted[-dims:]
        if len(wanted) != dims:
            raise ValueError(
                f"{name}: output_size has {dims} sizes, or {x.ndim}, not {len(wanted)}"
            )
        windows = zip(self.kernel_size, self.stride, self.padding, self.dilation, strict=True)
        least = [
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
            for size, (kernel, stride, padding, dilation) in zip(
                x.shape[-dims:], windows, strict=True
            )
        ]
        more = [have - low for have, low in zip(wanted, least, strict=True)]
        if any(not 0 <= each < stride for each, stride in zip(more, self.stride, strict=True)):
            most = [low + stride - 1 for low, stride in zip(least, self.stride, strict=True)]
            raise ValueError(
                f"{name}: output_size must be from {least} to {most} for x of shape "
                f"{list(x.shape)}, not {wanted}"
            )
        return more


class ConvTranspose1d(_ConvTranspose):
    """The transpose of Conv1d, by which its gradients flow; see ConvTranspose2d."""

    _dims = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of Conv2d: each element of x [n, in_channels, rows, columns] is spread over a
    window of the result, times weight [in_channels, out_channels / groups, rows, columns].

    output_padding makes the result larger on one side. A call may give the sizes of the result
    instead: layer(x, [rows, columns]).
    """

    _dims = 2


class ConvTranspose3d(_ConvTranspose):
    """The transpose of Conv3d; see ConvTranspose2d."""

    _dims = 3
