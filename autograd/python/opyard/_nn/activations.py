"""Activations as modules: operators of aten, element by element or along a dimension.

A class names its operator and the settings that the operator takes. With `inplace` the
operator that writes into x is called, relu_ for relu.
"""

import warnings
from typing import Any

from .. import _C
from .._core.ops import ops
from .init import empty, fill
from .module import Module
from .place import Device, DType
from .sizes import at_least, channels_wanted, number, positive, truth


class _Elementwise(Module):
    """An operator without settings."""

    _operator = ""
    _settings: tuple[str, ...] = ()  # arguments of the operator, and attributes

    def _set(self, **settings: float) -> None:
        for name, value in settings.items():
            setattr(self, name, number(type(self).__name__, name, value))

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return getattr(ops.aten, self._operator)(x, *[getattr(self, n) for n in self._settings])

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._settings)


def call_or_write(operator: str, inplace: bool, x: _C.Tensor, *settings: float) -> _C.Tensor:
    """The operator, or with `inplace` the one that writes into x."""
    made: _C.Tensor = getattr(ops.aten, operator + "_" if inplace else operator)(x, *settings)
    return made


class _MayWrite(_Elementwise):
    """An operator that writes into x if `inplace` is True."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self._set_inplace(inplace)

    def _set_inplace(self, inplace: bool) -> None:
        self.inplace = truth(type(self).__name__, "inplace", inplace)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        settings = [getattr(self, each) for each in self._settings]
        return call_or_write(self._operator, self.inplace, x, *settings)

    def extra_repr(self) -> str:
        own = super().extra_repr()
        if not self.inplace:
            return own
        return f"{own}, inplace=True" if own else "inplace=True"


class ReLU(_MayWrite):
    """max(x, 0)."""

    _operator = "relu"

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.relu_(x) if self.inplace else ops.aten.relu(x)


class ReLU6(_MayWrite):
    """x between 0 and 6, else the nearer of both."""

    _operator = "relu6"


class SELU(_MayWrite):
    """ELU with the scale and alpha that keep mean 0 and variance 1."""

    _operator = "selu"


class SiLU(_MayWrite):
    """x * sigmoid(x)."""

    _operator = "silu"

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.silu_(x) if self.inplace else ops.aten.silu(x)


class Mish(_MayWrite):
    """x * tanh(softplus(x))."""

    _operator = "mish"


class Hardsigmoid(_MayWrite):
    """x / 6 + 1/2 between 0 and 1, else the nearer of both."""

    _operator = "hardsigmoid"

    def extra_repr(self) -> str:
        return ""


class Hardswish(_MayWrite):
    """x * hardsigmoid(x)."""

    _operator = "hardswish"

    def extra_repr(self) -> str:
        return ""


class Sigmoid(_Elementwise):
    """1 / (1 + exp(-x))."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.sigmoid(x)


class LogSigmoid(_Elementwise):
    """The logarithm of sigmoid, computed without it."""

    _operator = "log_sigmoid"


class Tanh(_Elementwise):
    """tanh(x)."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.tanh(x)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return x - ops.aten.tanh(x)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return x / (ops.aten.abs(x) + 1)


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


class ELU(_MayWrite):
    """x above 0, else alpha * (exp(x) - 1)."""

    _operator, _settings = "elu", ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self._set(alpha=alpha)


class CELU(ELU):
    """x above 0, else alpha * (exp(x / alpha) - 1)."""

    _operator = "celu"


class LeakyReLU(_MayWrite):
    """x above 0, else negative_slope * x."""

    _operator, _settings = "leaky_relu", ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self._set(negative_slope=negative_slope)


class RReLU(_MayWrite):
    """x above 0, else x times a slope; it is drawn between lower and upper for each element while
    the module trains, and else it is the mean of both."""

    _operator, _settings = "leaky_relu", ("lower", "upper")

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self._set(lower=lower, upper=upper)
        if lower > upper:
            raise ValueError(f"RReLU: lower must be at most upper, {upper}, not {lower}")

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if not self.training:
            leaky = ops.aten.leaky_relu_ if self.inplace else ops.aten.leaky_relu
            return leaky(x, (self.lower + self.upper) / 2)
        slopes = ops.aten.rand_like(x.detach())
        slopes = slopes.mul_(self.upper - self.lower).add_(self.lower).masked_fill_(x >= 0, 1)
        return x.mul_(slopes) if self.inplace else x * slopes


class Hardtanh(_MayWrite):
    """x between min_val and max_val, else the nearer of both."""

    _operator, _settings = "hardtanh", ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self._set(min_val=min_val, max_val=max_val)
        if not min_val < max_val:
            raise ValueError(f"Hardtanh: max_val must be above min_val, {min_val}, not {max_val}")


class Threshold(_MayWrite):
    """x above the threshold, else value."""

    _operator, _settings = "threshold", ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self._set(threshold=threshold, value=value)


class Softplus(_Elementwise):
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold."""

    _operator, _settings = "softplus", ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self._set(beta=beta, threshold=threshold)


class _Shrink(_Elementwise):
    _settings = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self._set(lambd=lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """0 between -lambd and lambd, else x."""

    _operator = "hardshrink"


class Softshrink(_Shrink):
    """0 between -lambd and lambd, else x moved by lambd towards 0."""

    _operator = "softshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd)
        if not lambd >= 0:
            raise ValueError(f"Softshrink: lambd must be at least 0, not {lambd}")


class PReLU(Module):
    """x above 0, else weight * x; weight [num_parameters] has one slope, or one for each channel
    of x [n, channels, ...], and is trained."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        positive("PReLU", num_parameters=num_parameters)
        self.num_parameters, self.init = num_parameters, number("PReLU", "init", init)
        self.weight = empty(num_parameters)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets all slopes to what they began with."""
        fill(self.weight, float(self.init))

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _Along(_Elementwise):
    """An activation along one dimension."""

    _settings = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        at_least(type(self).__name__, -64, dim=dim)
        self.dim = dim


class _AlongClasses(_Along):
    """Without `dim` along the first dimension of one or three, and the second of others."""

    dim: "int | None"

    def __init__(self, dim: "int | None" = None) -> None:
        super().__init__(-1 if dim is None else dim)
        self.dim = dim

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        dim = self.dim
        if dim is None:
            dim = 0 if x.ndim in (0, 1, 3) else 1
            if x.ndim > 1:
                name = type(self).__name__
                warnings.warn(
                    f"{name}: without dim it is taken along dimension {dim} of {x.ndim}; write "
                    f"{name}(dim={dim}), or dim=-1 for the last",
                    stacklevel=3,
                )
        return getattr(ops.aten, self._operator)(x, dim)


class Softmax(_AlongClasses):
    """exp(x), divided by its sum along a dimension."""

    _operator = "softmax"


class LogSoftmax(_AlongClasses):
    """The logarithm of softmax, computed without it."""

    _operator = "log_softmax"


class GLU(_Along):
    """One half of x, cut along a dimension, times sigmoid of the other half."""

    _operator = "glu"


class Softmin(_AlongClasses):
    """softmax(-x)."""

    _operator = "softmax"

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return super().forward(-x)


class Softmax2d(Module):
    """Softmax over the channels of pictures x [n, channels, rows, columns], or of one without n."""

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if x.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: {channels_wanted(2, x)}")
        return ops.aten.softmax(x, -3)


def activation_of(layer: str, given: Any) -> Any:
    """The function that a layer's argument `activation` means: "relu", "gelu" or a callable."""
    if given in ("relu", "gelu"):
        return getattr(ops.aten, given)
    if callable(given):
        return given
    raise ValueError(f'{layer}: activation is "relu", "gelu" or a function, not {given!r}')
