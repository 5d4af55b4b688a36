"""Normalization: mean 0 and variance 1, for each row, channel or group of channels."""

import math
import operator
import warnings
from collections.abc import Sequence

from .. import _C
from .._autograd.modes import no_grad
from .._core.ops import ops
from .init import empty, fill
from .module import Module
from .place import Device, DType
from .sizes import at_least, channels_wanted, number, positive


class _Affine(Module):
    """Normalizes; the result is multiplied by weight and added to bias, if these are there."""

    def _begin(self, shape: "Sequence[int]", weight: bool, bias: bool) -> None:
        self.register_parameter("weight", empty(*shape) if weight else None)
        self.register_parameter("bias", empty(*shape) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets weight to ones and bias to zeros."""
        fill(self.weight, 1.0)
        fill(self.bias, 0.0)


class _OfLast(Module):
    """Normalizes over the last dimensions, which have the sizes `normalized_shape`."""

    def _set_shape(self, normalized_shape: "int | Sequence[int]") -> None:
        name, given = type(self).__name__, normalized_shape
        sizes = list(given) if isinstance(given, Sequence) else [given]
        for size in sizes:
            positive(name, normalized_shape=size)
        if not sizes:
            raise ValueError(f"{name}: normalized_shape has one size at least")
        self.normalized_shape = tuple(operator.index(size) for size in sizes)

    def _dims_of(self, x: _C.Tensor) -> list[int]:
        count = len(self.normalized_shape)
        if x.shape[-count:] != self.normalized_shape:
            raise ValueError(
                f"{type(self).__name__}: the last sizes of x must be "
                f"{list(self.normalized_shape)}, and x has the shape {list(x.shape)}"
            )
        return list(range(-count, 0))


class LayerNorm(_OfLast, _Affine):
    """Normalizes over the last dimensions, which have the sizes `normalized_shape`.

    The result is multiplied by weight and added to bias, unless elementwise_affine is False.
    """

    def __init__(
        self,
        normalized_shape: "int | Sequence[int]",
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self._set_shape(normalized_shape)
        self.eps, self.elementwise_affine = number("LayerNorm", "eps", eps), elementwise_affine
        affine = elementwise_affine
        self._begin(self.normalized_shape, affine, affine and bias)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        dims = self._dims_of(x)
        centered = x - x.mean(dims, True)
        x = centered * ops.aten.rsqrt(centered.square().mean(dims, True) + self.eps)
        x = x if self.weight is None else x * self.weight
        return x if self.bias is None else x + self.bias

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_OfLast):
    """Divides by the root of the mean of squares over the last dimensions, without a mean, and
    multiplies by weight, unless elementwise_affine is False.

    eps is added to the mean; if it is None, it is the least number that changes 1 in x's dtype.
    """

    def __init__(
        self,
        normalized_shape: "int | Sequence[int]",
        eps: "float | None" = None,
        elementwise_affine: bool = True,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self._set_shape(normalized_shape)
        self.eps = None if eps is None else number("RMSNorm", "eps", eps)
        self.elementwise_affine = elementwise_affine
        begun = empty(*self.normalized_shape) if elementwise_affine else None
        self.register_parameter("weight", begun)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets weight to ones."""
        fill(self.weight, 1.0)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        self._dims_of(x)
        return ops.aten.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class _OfChannels(_Affine):
    """Normalizes channels, and keeps running means and variances of them."""

    _dims = 0  # that channels have
    _affine = True
    _may_lack = frozenset({"num_batches_tracked"})

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: "float | None" = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        bias: bool = True,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        positive(name, num_features=num_features)
        self.num_features, self.eps = num_features, number(name, "eps", eps)
        self.momentum = None if momentum is None else number(name, "momentum", momentum)
        self.affine, self.track_running_stats = affine, track_running_stats
        tracked = track_running_stats
        zeros, ones = ops.aten.zeros([num_features]), ops.aten.ones([num_features])
        self.register_buffer("running_mean", zeros if tracked else None)
        self.register_buffer("running_var", ones if tracked else None)
        count = ops.aten.zeros([], dtype=_C.int64) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self._begin([num_features], affine, affine and bias)

    def reset_running_stats(self) -> None:
        """Sets the running means to 0, the variances to 1 and the number of batches to 0."""
        if self.running_mean is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1.0)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Sets weight to ones, bias to zeros, and the running statistics to what they began
        with."""
        self.reset_running_stats()
        super().reset_parameters()

    def _normalized(self, x: _C.Tensor, dims: list[int]) -> _C.Tensor:
        """x less its mean over these dimensions, divided by its deviation."""
        ones = [1] * (x.ndim - 2)
        shape = [1, -1, *ones]
        if x.numel() == 0 and (self.training or self.running_mean is None):
            # No element is normalized, and none tells of a mean.
            wide, centered, variance = shape, x, ops.aten.ones([x.shape[1]], dtype=x.dtype)
            if self.training and self.running_mean is not None:
                self._share()
        elif self.training or self.running_mean is None:
            mean = x.mean(dims)  # [channels], or [n, channels] of each one by itself
            wide = shape if mean.ndim == 1 else [*mean.shape, *ones]
            centered = x - mean.reshape(wide)
            variance = centered.square().mean(dims)
            if self.training and self.running_mean is not None:
                self._track(mean, variance, x.numel() // max(mean.numel(), 1))
        else:
            wide, variance = shape, self.running_var
            centered = x - self.running_mean.reshape(shape)
        scale = ops.aten.rsqrt(variance + self.eps)
        scale = scale if self.weight is None else scale * self.weight
        x = centered * scale.reshape(wide)
        return x if self.bias is None else x + self.bias.reshape(shape)

    def _track(self, mean: _C.Tensor, variance: _C.Tensor, count: int) -> None:
        with no_grad():
            share = self._share()
            mean, variance = mean.detach(), variance.detach() * (count / (count - 1))
            if mean.ndim > 1:  # of each one by itself: their mean is kept
                mean, variance = mean.mean([0]), variance.mean([0])
            self.running_mean.mul_(1 - share).add_(mean, alpha=share)
            self.running_var.mul_(1 - share).add_(variance, alpha=share)

    def _share(self) -> float:
        """What the running statistics take of the new ones."""
        self.num_batches_tracked.add_(1)
        return 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_OfChannels):
    def forward(self, x: _C.Tensor) -> _C.Tensor:
        self._check(x)
        dims = [0, *range(2, x.ndim)]
        if self.training and self.running_mean is not None and x.numel() == x.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: a channel of one element has no variance to train on"
            )
        return self._normalized(x, dims)

    def _check(self, x: _C.Tensor) -> None:
        if x.ndim != self._dims + 2 or x.shape[1] != self.num_features:
            sizes = ", ".join(("planes", "rows", "columns")[-self._dims :])
            raise ValueError(
                f"{type(self).__name__}: x must have the shape [n, {self.num_features}, {sizes}], "
                f"not {list(x.shape)}"
            )


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel of x [n, num_features] or [n, num_features, length]; see
    BatchNorm2d."""

    _dims = 1

    def _check(self, x: _C.Tensor) -> None:
        if x.ndim not in (2, 3) or x.shape[1] != self.num_features:
            features = self.num_features
            raise ValueError(
                f"BatchNorm1d: x must have the shape [n, {features}] or [n, {features}, length], "
                f"not {list(x.shape)}"
            )


class BatchNorm2d(_BatchNorm):
    """Normalizes each channel of pictures [n, num_features, rows, columns].

    While it trains, by the mean and variance of the batch, of which it keeps running ones with the
    share `momentum` of the new; else, and with track_running_stats, by the running ones.
    """

    _dims = 2


class BatchNorm3d(_BatchNorm):
    """Normalizes each channel of x [n, num_features, planes, rows, columns]; see BatchNorm2d."""

    _dims = 3


class _InstanceNorm(_OfChannels):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        bias: bool = True,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias=bias)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        name, dims = type(self).__name__, self._dims
        if x.ndim not in (dims + 1, dims + 2):
            raise ValueError(f"{name}: {channels_wanted(dims, x)}")
        if x.shape[-dims - 1] != self.num_features:
            text = (
                f"{name}: x must have {self.num_features} channels, and it has the shape "
                f"{list(x.shape)}"
            )
            if self.weight is not None or self.running_mean is not None:
                raise ValueError(text)
            warnings.warn(f"{text}; nothing here depends on their number", stacklevel=2)
        if (self.training or self.running_mean is None) and math.prod(x.shape[-dims:]) == 1:
            raise ValueError(f"{name}: a channel of one element has no variance")
        over = list(range(-dims, 0))
        if x.ndim == dims + 1:
            return self._normalized(x.unsqueeze(0), over).squeeze(0)
        return self._normalized(x, over)

    def _share(self) -> float:
        return 0.0 if self.momentum is None else self.momentum


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each x [n, num_features, length] by itself; see InstanceNorm2d."""

    _dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each picture [n, num_features, rows, columns] by itself.

    With track_running_stats it keeps running means and variances, by which it normalizes while it
    does not train.
    """

    _dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each x [n, num_features, planes, rows, columns] by itself; see
    InstanceNorm2d."""

    _dims = 3


class GroupNorm(_Affine):
    """Normalizes num_groups groups of the channels of x [n, num_channels, ...], then multiplies
    channels by weight and adds bias, unless affine is False."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        bias: bool = True,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        positive("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels must be a multiple of num_groups, {num_groups}, not "
                f"{num_channels}"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = number("GroupNorm", "eps", eps), affine
        self._begin([num_channels], affine, affine and bias)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ValueError(
                f"GroupNorm: x must have the shape [n, {self.num_channels}, ...], not "
                f"{list(x.shape)}"
            )
        return ops.aten.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """x / (k + alpha * mean of x² over `size` neighbouring channels)^beta: x [n, channels, ...]."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        at_least("LocalResponseNorm", 1, size=size)
        self.size = size
        for name, value in {"alpha": alpha, "beta": beta, "k": k}.items():
            setattr(self, name, number("LocalResponseNorm", name, value))

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if x.ndim < 3:
            raise ValueError(
                f"LocalResponseNorm: x must have the shape [n, channels, ...], not {list(x.shape)}"
            )
        before = self.size // 2
        squares = ops.aten.square(x).reshape(x.shape[0], 1, x.shape[1], -1)
        squares = ops.aten.constant_pad_nd(squares, [0, 0, before, self.size - 1 - before])
        means = ops.aten.avg_pool2d(squares, [self.size, 1], [1, 1]).reshape(list(x.shape))
        return x / (means * self.alpha + self.k) ** self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
