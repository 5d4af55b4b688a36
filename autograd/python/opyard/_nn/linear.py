"""Linear, and the layers that only change a shape: Identity and Flatten."""

from typing import Any

from .. import _C
from .init import bound_of, uniform
from .module import Module
from .sizes import at_least, positive


class Linear(Module):
    """x @ weight.T + bias, for the last dimension of x.

    weight [out_features, in_features] and bias [out_features] begin uniform in ±1/√in_features.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        positive("Linear", out_features=out_features)
        at_least("Linear", 0, in_features=in_features)
        self.in_features, self.out_features = in_features, out_features
        bound = bound_of(in_features)
        self.weight = uniform((out_features, in_features), bound)
        self.register_parameter("bias", uniform((out_features,), bound) if bias else None)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            raise ValueError(
                f"Linear: the last dimension of x must be {self.in_features} long, and x has the "
                f"shape {list(x.shape)}"
            )
        product = x @ self.weight.t()
        return product if self.bias is None else product + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """Returns what it is given."""

    def forward(self, x: Any) -> Any:
        return x


class Flatten(Module):
    """Joins the dimensions from start_dim to end_dim: by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"{self.start_dim}, {self.end_dim}"
