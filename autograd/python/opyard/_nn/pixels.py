"""Layers that move or repeat elements of pictures: shuffles, upsampling, windows as columns."""

from collections.abc import Sequence

from .. import _C
from .._core.ops import ops
from .module import Module
from .sizes import Sizes, number, positive, several, truth

_BY_DIMS = {
    "nearest": {1: "upsample_nearest1d", 2: "upsample_nearest2d", 3: "upsample_nearest3d"},
    "linear": {1: "upsample_linear1d"},
    "bilinear": {2: "upsample_bilinear2d"},
    "bicubic": {2: "upsample_bicubic2d"},
    "trilinear": {3: "upsample_trilinear3d"},
}


class PixelShuffle(Module):
    """[..., channels · r², rows, columns] as [..., channels, rows · r, columns · r]."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        positive("PixelShuffle", upscale_factor=upscale_factor)
        self.upscale_factor = upscale_factor

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.pixel_shuffle(x, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """[..., channels, rows · r, columns · r] as [..., channels · r², rows, columns]."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        positive("PixelUnshuffle", downscale_factor=downscale_factor)
        self.downscale_factor = downscale_factor

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.pixel_unshuffle(x, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels of x [n, channels, ...] in `groups`, then the first of each group, the second, …"""

    def __init__(self, groups: int) -> None:
        super().__init__()
        positive("ChannelShuffle", groups=groups)
        self.groups = groups

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.channel_shuffle(x, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Upsample(Module):
    """x [n, channels, ...] with other sizes, which are given, or scale_factor times those of x.

    mode is nearest, or linear, bilinear or trilinear, for one to three dimensions, or bicubic for
    two. align_corners puts the outermost elements of both on each other, rather than their outer
    edges.
    """

    def __init__(
        self,
        size: "Sizes | None" = None,
        scale_factor: "float | Sequence[float] | None" = None,
        mode: str = "nearest",
        align_corners: "bool | None" = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if mode not in _BY_DIMS:
            raise ValueError(f"{name}: mode is one of {', '.join(_BY_DIMS)}, not {mode!r}")
        if (size is None) == (scale_factor is None):
            raise ValueError(f"{name}: one of size and scale_factor must be given, not both")
        if align_corners is not None:
            truth(name, "align_corners", align_corners)
            if mode == "nearest":
                raise ValueError(f"{name}: align_corners is not for mode='nearest'")
        given = size if scale_factor is None else scale_factor
        is_list = isinstance(given, (list, tuple))
        for each in given if is_list else [given]:
            if size is not None:
                positive(name, size=each)
            elif not number(name, "scale_factor", each) > 0:
                raise ValueError(f"{name}: scale_factor must be above 0, not {each}")
        self.size = tuple(size) if isinstance(size, (list, tuple)) else size
        self.scale_factor: float | tuple[float, ...] | None = None
        if scale_factor is not None:
            self.scale_factor = tuple(map(float, given)) if is_list else float(given)
        self.mode, self.align_corners = mode, align_corners

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        name, dims = type(self).__name__, x.ndim - 2
        operator = _BY_DIMS[self.mode].get(dims)
        if operator is None:
            raise ValueError(
                f"{name}: mode={self.mode!r} is for x [n, channels] and "
                f"{' or '.join(map(str, _BY_DIMS[self.mode]))} dimensions more, and x has the "
                f"shape {list(x.shape)}"
            )
        sizes = self._all_of(self.size, dims)
        factors = self._all_of(self.scale_factor, dims)
        aligned = () if self.mode == "nearest" else (bool(self.align_corners),)
        return getattr(ops.aten, operator).vec(x, sizes, *aligned, factors)

    def _all_of(self, given: "object", dims: int) -> "list[object] | None":
        if given is None:
            return None
        several = list(given) if isinstance(given, tuple) else [given] * dims
        if len(several) != dims:
            raise ValueError(
                f"{type(self).__name__}: size and scale_factor are one number or {dims} for x "
                f"[n, channels] and {dims} dimensions more, not {several}"
            )
        return several

    def extra_repr(self) -> str:
        factor = self.scale_factor
        own = f"size={self.size}" if factor is None else f"scale_factor={factor}"
        return f"{own}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample(mode="nearest") of pictures."""

    def __init__(
        self,
        size: "Sizes | None" = None,
        scale_factor: "float | Sequence[float] | None" = None,
    ) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample(mode="bilinear", align_corners=True) of pictures."""

    def __init__(
        self,
        size: "Sizes | None" = None,
        scale_factor: "float | Sequence[float] | None" = None,
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class _Windows(Module):
    def _set_windows(self, **sizes: Sizes) -> None:
        name = type(self).__name__
        self._sizes = []
        for each, size in sizes.items():
            least = 0 if each == "padding" else 1
            self._sizes.append(several(name, each, size, 2, least))
            setattr(self, each, tuple(size) if isinstance(size, Sequence) else size)

    def extra_repr(self) -> str:
        names = ("kernel_size", "dilation", "padding", "stride")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class Unfold(_Windows):
    """Windows of pictures x [n, channels, rows, columns] as columns: [n, channels · window,
    windows], or of one without n."""

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self._set_windows(
            kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.im2col(x, *self._sizes)


class Fold(_Windows):
    """Pictures of output_size that are the sums of windows, given as columns: the transpose of
    Unfold."""

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        super().__init__()
        self._set_windows(
            output_size=output_size,
            kernel_size=kernel_size,
            dilation=dilation,
            padding=padding,
            stride=stride,
        )

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.col2im(x, *self._sizes)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
