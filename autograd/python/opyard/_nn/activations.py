"""Activations as modules: each is an operator of aten, element by element or along a dimension."""

from .. import _C
from .._core.ops import ops
from .module import Module


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.relu(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.sigmoid(x)


class Tanh(Module):
    """tanh(x)."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.tanh(x)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.silu(x)


class GELU(Module):
    """x times the normal distribution's share below x; `approximate` is "none" or "tanh"."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f'GELU: approximate is "none" or "tanh", not {approximate!r}')
        self.approximate = approximate

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.gelu(x, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class ELU(Module):
    """x above 0, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.elu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"


class LeakyReLU(Module):
    """x above 0, else negative_slope * x."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}"


class _Along(Module):
    """An activation along one dimension."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_Along):
    """exp(x), divided by its sum along a dimension."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.softmax(x, self.dim)


class LogSoftmax(_Along):
    """The logarithm of softmax, computed without it."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.log_softmax(x, self.dim)
