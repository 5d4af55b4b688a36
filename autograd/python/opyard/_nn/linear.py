"""Linear and Bilinear, and the layers that only change a shape: Identity, Flatten, Unflatten."""

from collections.abc import Sequence
from typing import Any

from .. import _C
from .._core.ops import ops
from .init import bound_of, empty, fill_uniform
from .module import Module
from .place import Device, DType
from .sizes import at_least, positive


class Linear(Module):
    """x @ weight.T + bias, for the last dimension of x.

    weight [out_features, in_features] and bias [out_features] begin uniform in ±1/√in_features.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        positive("Linear", out_features=out_features)
        at_least("Linear", 0, in_features=in_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = empty(out_features, in_features)
        self.register_parameter("bias", empty(out_features) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias again."""
        fill_uniform((self.weight, self.bias), bound_of(self.in_features))

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            raise ValueError(
                f"Linear: the last dimension of x must be {self.in_features} long, and x has the "
                f"shape {list(x.shape)}"
            )
        product = x @ self.weight.t()
        return product if self.bias is None else product + self.bias

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """x1 @ weight[i] @ x2 for each i, plus bias: weight [out_features, in1_features, in2_features].

    weight and bias [out_features] begin uniform in ±1/√in1_features.
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        sizes = {"in1_features": in1_features, "in2_features": in2_features}
        positive("Bilinear", **sizes, out_features=out_features)
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = empty(out_features, in1_features, in2_features)
        self.register_parameter("bias", empty(out_features) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias again."""
        fill_uniform((self.weight, self.bias), bound_of(self.in1_features))

    def forward(self, x1: _C.Tensor, x2: _C.Tensor) -> _C.Tensor:
        wanted = self.in1_features, self.in2_features
        fits = x1.ndim and x2.ndim and (x1.shape[-1], x2.shape[-1]) == wanted
        if not fits or x1.shape[:-1] != x2.shape[:-1]:
            raise ValueError(
                f"Bilinear: x1 must have the shape [..., {wanted[0]}] and x2 [..., {wanted[1]}], "
                f"alike but for the last, but they have {list(x1.shape)} and {list(x2.shape)}"
            )
        rows = x1.reshape(-1, wanted[0])
        # [n, out, in2]: each row times all matrices at once.
        weight = self.weight.transpose(0, 1).reshape(wanted[0], -1)
        half = (rows @ weight).reshape(-1, self.out_features, wanted[1])
        both = (half @ x2.reshape(-1, wanted[1], 1)).reshape([*x1.shape[:-1], self.out_features])
        return both if self.bias is None else both + self.bias

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Identity(Module):
    """Returns what it is given; what it is made with is left aside."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

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
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Parts one dimension into several of these sizes, of which one may be -1."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        at_least("Unflatten", -64, dim=dim)
        given = unflattened_size
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise TypeError(
                "Unflatten: unflattened_size must be a list or a tuple of ints, not an object of "
                f"{type(given).__name__}"
            )
        for size in given:
            at_least("Unflatten", -1, unflattened_size=size)
        self.dim, self.unflattened_size = dim, given

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.unflatten(x, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
