"""LayerNorm and BatchNorm2d: mean 0 and variance 1, for each row or for each channel."""

from collections.abc import Sequence

from .. import _C
from .._autograd.modes import no_grad
from .._core.ops import ops
from .module import Module
from .parameter import Parameter
from .sizes import positive


def _ones_and_zeros(module: Module, shape: "list[int]", weight: bool, bias: bool) -> None:
    ones, zeros = ops.aten.ones, ops.aten.zeros
    module.register_parameter("weight", Parameter(ones(shape)) if weight else None)
    module.register_parameter("bias", Parameter(zeros(shape)) if bias else None)


class LayerNorm(Module):
    """Normalizes over the last dimensions, which have the sizes `normalized_shape`.

    The result is multiplied by weight and added to bias, unless elementwise_affine is False.
    """

    def __init__(
        self,
        normalized_shape: "int | Sequence[int]",
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        given = normalized_shape
        self.normalized_shape = list(given) if isinstance(given, Sequence) else [given]
        for size in self.normalized_shape:
            positive("LayerNorm", normalized_shape=size)
        if not self.normalized_shape:
            raise ValueError("LayerNorm: normalized_shape has one size at least")
        self.eps = eps
        affine = elementwise_affine
        _ones_and_zeros(self, self.normalized_shape, affine, affine and bias)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        count = len(self.normalized_shape)
        if list(x.shape[-count:]) != self.normalized_shape:
            raise ValueError(
                f"LayerNorm: the last sizes of x must be {self.normalized_shape}, and x has the "
                f"shape {list(x.shape)}"
            )
        dims = list(range(-count, 0))
        centered = x - x.mean(dims, True)
        x = centered * ops.aten.rsqrt(centered.square().mean(dims, True) + self.eps)
        x = x if self.weight is None else x * self.weight
        return x if self.bias is None else x + self.bias

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class BatchNorm2d(Module):
    """Normalizes each channel of pictures [n, num_features, rows, columns].

    While it trains, by the mean and variance of the batch, of which it keeps running ones with the
    share `momentum` of the new; else, and with track_running_stats, by the running ones.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: "float | None" = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        positive("BatchNorm2d", num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        _ones_and_zeros(self, [num_features], affine, affine)
        tracked = track_running_stats
        zeros, ones = ops.aten.zeros([num_features]), ops.aten.ones([num_features])
        self.register_buffer("running_mean", zeros if tracked else None)
        self.register_buffer("running_var", ones if tracked else None)
        count = ops.aten.zeros([], dtype=_C.int64) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if x.ndim != 4 or x.shape[1] != self.num_features:
            raise ValueError(
                f"BatchNorm2d: x must have the shape [n, {self.num_features}, rows, columns], not "
                f"{list(x.shape)}"
            )
        if self.training or self.running_mean is None:
            mean = x.mean([0, 2, 3])
            centered = x - mean.reshape(1, -1, 1, 1)
            variance = centered.square().mean([0, 2, 3])
            if self.training and self.running_mean is not None:
                self._track(mean, variance, x.numel() // self.num_features)
        else:
            variance = self.running_var
            centered = x - self.running_mean.reshape(1, -1, 1, 1)
        scale = ops.aten.rsqrt(variance + self.eps)
        scale = scale if self.weight is None else scale * self.weight
        x = centered * scale.reshape(1, -1, 1, 1)
        return x if self.bias is None else x + self.bias.reshape(1, -1, 1, 1)

    def _track(self, mean: _C.Tensor, variance: _C.Tensor, count: int) -> None:
        if count < 2:
            raise ValueError("BatchNorm2d: a channel of one element has no variance to train on")
        with no_grad():
            self.num_batches_tracked.add_(1)
            share = self.momentum
            if share is None:
                share = 1 / self.num_batches_tracked.item()
            self.running_mean.mul_(1 - share).add_(mean.detach(), alpha=share)
            unbiased = variance.detach() * (count / (count - 1))
            self.running_var.mul_(1 - share).add_(unbiased, alpha=share)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"
