"""Functional forms of activations and dropout, as in torch.nn.functional: operators.

What draws numbers is the layer, made with the settings and called.
"""

from .. import _C
from .._core.keywords import names_keywords
from .._core.ops import ops
from . import activations
from . import dropout as _dropout
from .sizes import truth


def _written(name: str, inplace: bool, input: _C.Tensor, *settings: float) -> _C.Tensor:
    write = truth(name, "inplace", inplace)
    return activations.call_or_write(name, write, input, *settings)


@names_keywords
def relu(input: _C.Tensor, inplace: bool = False) -> _C.Tensor:
    """What nn.ReLU computes; with `inplace` in input."""
    return _written("relu", inplace, input)


@names_keywords
def relu6(input: _C.Tensor, inplace: bool = False) -> _C.Tensor:
    """What nn.ReLU6 computes; with `inplace` in input."""
    return _written("relu6", inplace, input)


@names_keywords
def selu(input: _C.Tensor, inplace: bool = False) -> _C.Tensor:
    """What nn.SELU computes; with `inplace` in input."""
    return _written("selu", inplace, input)


@names_keywords
def silu(input: _C.Tensor, inplace: bool = False) -> _C.Tensor:
    """What nn.SiLU computes; with `inplace` in input."""
    return _written("silu", inplace, input)


@names_keywords
def mish(input: _C.Tensor, inplace: bool = False) -> _C.Tensor:
    """What nn.Mish computes; with `inplace` in input."""
    return _written("mish", inplace, input)


@names_keywords
def hardsigmoid(input: _C.Tensor, inplace: bool = False) -> _C.Tensor:
    """What nn.Hardsigmoid computes; with `inplace` in input."""
    return _written("hardsigmoid", inplace, input)


@names_keywords
def hardswish(input: _C.Tensor, inplace: bool = False) -> _C.Tensor:
    """What nn.Hardswish computes; with `inplace` in input."""
    return _written("hardswish", inplace, input)


@names_keywords
def elu(input: _C.Tensor, alpha: float = 1.0, inplace: bool = False) -> _C.Tensor:
    """What nn.ELU computes; with `inplace` in input."""
    return _written("elu", inplace, input, alpha)


@names_keywords
def celu(input: _C.Tensor, alpha: float = 1.0, inplace: bool = False) -> _C.Tensor:
    """What nn.CELU computes; with `inplace` in input."""
    return _written("celu", inplace, input, alpha)


@names_keywords
def leaky_relu(input: _C.Tensor, negative_slope: float = 0.01, inplace: bool = False) -> _C.Tensor:
    """What nn.LeakyReLU computes; with `inplace` in input."""
    return _written("leaky_relu", inplace, input, negative_slope)


@names_keywords
def hardtanh(
    input: _C.Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> _C.Tensor:
    """What nn.Hardtanh computes; with `inplace` in input."""
    return _written("hardtanh", inplace, input, min_val, max_val)


@names_keywords
def threshold(input: _C.Tensor, threshold: float, value: float, inplace: bool = False) -> _C.Tensor:
    """What nn.Threshold computes; with `inplace` in input."""
    return _written("threshold", inplace, input, threshold, value)


@names_keywords
def relu_(input: _C.Tensor) -> _C.Tensor:
    """What nn.ReLU computes, in input."""
    return ops.aten.relu_(input)


@names_keywords
def selu_(input: _C.Tensor) -> _C.Tensor:
    """What nn.SELU computes, in input."""
    return ops.aten.selu_(input)


@names_keywords
def elu_(input: _C.Tensor, alpha: float = 1.0) -> _C.Tensor:
    """What nn.ELU computes, in input."""
    return ops.aten.elu_(input, alpha)


@names_keywords
def celu_(input: _C.Tensor, alpha: float = 1.0) -> _C.Tensor:
    """What nn.CELU computes, in input."""
    return ops.aten.celu_(input, alpha)


@names_keywords
def leaky_relu_(input: _C.Tensor, negative_slope: float = 0.01) -> _C.Tensor:
    """What nn.LeakyReLU computes, in input."""
    return ops.aten.leaky_relu_(input, negative_slope)


@names_keywords
def hardtanh_(input: _C.Tensor, min_val: float = -1.0, max_val: float = 1.0) -> _C.Tensor:
    """What nn.Hardtanh computes, in input."""
    return ops.aten.hardtanh_(input, min_val, max_val)


@names_keywords
def threshold_(input: _C.Tensor, threshold: float, value: float) -> _C.Tensor:
    """What nn.Threshold computes, in input."""
    return ops.aten.threshold_(input, threshold, value)


@names_keywords
def rrelu(
    input: _C.Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> _C.Tensor:
    """What nn.RReLU computes; slopes are drawn while `training`."""
    return activations.RReLU(lower, upper, inplace).train(training)(input)


@names_keywords
def rrelu_(
    input: _C.Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> _C.Tensor:
    """What nn.RReLU computes, in input."""
    return rrelu(input, lower, upper, training, True)


@names_keywords
def sigmoid(input: _C.Tensor) -> _C.Tensor:
    """What nn.Sigmoid computes."""
    return ops.aten.sigmoid(input)


@names_keywords
def tanh(input: _C.Tensor) -> _C.Tensor:
    """What nn.Tanh computes."""
    return ops.aten.tanh(input)


@names_keywords
def tanhshrink(input: _C.Tensor) -> _C.Tensor:
    """What nn.Tanhshrink computes."""
    return activations.Tanhshrink()(input)


@names_keywords
def softsign(input: _C.Tensor) -> _C.Tensor:
    """What nn.Softsign computes."""
    return activations.Softsign()(input)


@names_keywords
def logsigmoid(input: _C.Tensor) -> _C.Tensor:
    """What nn.LogSigmoid computes."""
    return ops.aten.log_sigmoid(input)


@names_keywords
def softplus(input: _C.Tensor, beta: float = 1, threshold: float = 20) -> _C.Tensor:
    """What nn.Softplus computes."""
    return ops.aten.softplus(input, beta, threshold)


@names_keywords
def hardshrink(input: _C.Tensor, lambd: float = 0.5) -> _C.Tensor:
    """What nn.Hardshrink computes."""
    return ops.aten.hardshrink(input, lambd)


@names_keywords
def softshrink(input: _C.Tensor, lambd: float = 0.5) -> _C.Tensor:
    """What nn.Softshrink computes."""
    return ops.aten.softshrink(input, lambd)


@names_keywords
def gelu(input: _C.Tensor, approximate: str = "none") -> _C.Tensor:
    """What nn.GELU computes."""
    return ops.aten.gelu(input, approximate=approximate)


@names_keywords
def glu(input: _C.Tensor, dim: int = -1) -> _C.Tensor:
    """What nn.GLU computes."""
    return ops.aten.glu(input, dim)


@names_keywords
def prelu(input: _C.Tensor, weight: _C.Tensor) -> _C.Tensor:
    """What nn.PReLU computes with this weight."""
    return ops.aten.prelu(input, weight)


@names_keywords
def softmax(input: _C.Tensor, dim: int, *, dtype: "_C.dtype | None" = None) -> _C.Tensor:
    """What nn.Softmax computes along `dim`, of input converted to `dtype`."""
    return ops.aten.softmax(input, dim, dtype)


@names_keywords
def log_softmax(input: _C.Tensor, dim: int, *, dtype: "_C.dtype | None" = None) -> _C.Tensor:
    """What nn.LogSoftmax computes along `dim`, of input converted to `dtype`."""
    return ops.aten.log_softmax(input, dim, dtype)


@names_keywords
def softmin(input: _C.Tensor, dim: int, *, dtype: "_C.dtype | None" = None) -> _C.Tensor:
    """What nn.Softmin computes along `dim`, of input converted to `dtype`."""
    return ops.aten.softmax(-input, dim, dtype)


@names_keywords
def gumbel_softmax(
    logits: _C.Tensor, tau: float = 1, hard: bool = False, *, dim: int = -1
) -> _C.Tensor:
    """A sample of what softmax gives the probabilities of; with `hard` ones and zeros, which have
    the gradient of the soft sample."""
    noise = -(-ops.aten.rand_like(logits.detach()).log()).log()
    soft = ops.aten.softmax((logits + noise) / tau, dim)
    if not truth("gumbel_softmax", "hard", hard):
        return soft
    ones = ops.aten.zeros_like(soft.detach()).scatter_(dim, soft.argmax(dim, True), 1.0)
    return ones - soft.detach() + soft


@names_keywords
def normalize(input: _C.Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> _C.Tensor:
    """Vectors along `dim`, divided by their norms of order p, or by eps where they are shorter."""
    length = ops.aten.linalg_vector_norm(input, p, [dim], True)
    return input / ops.aten.clamp_min(length, eps)


@names_keywords
def dropout(
    input: _C.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> _C.Tensor:
    """What nn.Dropout computes; `training` says whether it trains."""
    return _dropout.Dropout(p, inplace).train(training)(input)


@names_keywords
def dropout1d(
    input: _C.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> _C.Tensor:
    """What nn.Dropout1d computes; `training` says whether it trains."""
    return _dropout.Dropout1d(p, inplace).train(training)(input)


@names_keywords
def dropout2d(
    input: _C.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> _C.Tensor:
    """What nn.Dropout2d computes; `training` says whether it trains."""
    return _dropout.Dropout2d(p, inplace).train(training)(input)


@names_keywords
def dropout3d(
    input: _C.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> _C.Tensor:
    """What nn.Dropout3d computes; `training` says whether it trains."""
    return _dropout.Dropout3d(p, inplace).train(training)(input)


@names_keywords
def alpha_dropout(
    input: _C.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> _C.Tensor:
    """What nn.AlphaDropout computes; `training` says whether it trains."""
    return _dropout.AlphaDropout(p, inplace).train(training)(input)


@names_keywords
def feature_alpha_dropout(
    input: _C.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> _C.Tensor:
    """What nn.FeatureAlphaDropout computes; `training` says whether it trains."""
    return _dropout.FeatureAlphaDropout(p, inplace).train(training)(input)
