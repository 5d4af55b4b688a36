"""Functions that fill a tensor with numbers to begin with: opyard.nn.init has their names.

The fan-in of a weight [out, in, ...] is the number of elements that one sum of a layer goes over,
and the fan-out that of the sums that an element is in.
"""

import math

from .. import _C
from .._autograd.modes import no_grad
from .._core.keywords import names_keywords
from .._core.ops import ops
from .sizes import at_least, number

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
_GAINS |= {f"conv{dims}d": 1.0 for dims in (1, 2, 3)}
_GAINS |= {f"conv_transpose{dims}d": 1.0 for dims in (1, 2, 3)}


@names_keywords
def calculate_gain(nonlinearity: str, param: "float | None" = None) -> float:
    """By how much weights are larger before a nonlinearity, so that results keep their size.

    param is the slope of leaky_relu, 0.01 unless given.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else number("calculate_gain", "param", param)
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        known = ", ".join([*_GAINS, "leaky_relu"])
        raise ValueError(f"calculate_gain: nonlinearity is one of {known}, not {nonlinearity!r}")
    return _GAINS[nonlinearity]


def _checked(name: str, tensor: _C.Tensor, least: int = 0, most: int = 64) -> _C.Tensor:
    """The tensor, without its history. Raises TypeError for what is no Tensor, ValueError for one
    of another number of dimensions."""
    if not isinstance(tensor, _C.Tensor):
        raise TypeError(
            f"{name}: tensor must be a Tensor, not an object of {type(tensor).__name__}"
        )
    if not least <= tensor.ndim <= most:
        wanted = f"{least}" if least == most else f"from {least} to {most}"
        wanted = f"at least {least}" if most == 64 else wanted
        raise ValueError(
            f"{name}: tensor must have {wanted} dimensions, and its shape is {list(tensor.shape)}"
        )
    return tensor


def _fans(name: str, tensor: _C.Tensor) -> tuple[int, int]:
    _checked(name, tensor, 2)
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _fan(name: str, tensor: _C.Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"{name}: mode is fan_in or fan_out, not {mode!r}")
    return _fans(name, tensor)[mode == "fan_out"]


@names_keywords
def uniform_(
    tensor: _C.Tensor, a: float = 0.0, b: float = 1.0, generator: "object | None" = None
) -> _C.Tensor:
    """Numbers between a and b."""
    with no_grad():
        return _checked("uniform_", tensor).uniform_(a, b, generator=generator)


@names_keywords
def normal_(
    tensor: _C.Tensor, mean: float = 0.0, std: float = 1.0, generator: "object | None" = None
) -> _C.Tensor:
    """Normal numbers with this mean and standard deviation."""
    with no_grad():
        return _checked("normal_", tensor).normal_(mean, std, generator=generator)


@names_keywords
def trunc_normal_(
    tensor: _C.Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: "object | None" = None,
) -> _C.Tensor:
    """Normal numbers that are from a to b; those outside are drawn again.

    Raises ValueError if less than one of a thousand would be inside.
    """
    _checked("trunc_normal_", tensor)
    low, high = ((1 + math.erf((end - mean) / (std * math.sqrt(2)))) / 2 for end in (a, b))
    if not high - low > 1e-3:
        raise ValueError(
            f"trunc_normal_: hardly a number with mean {mean} and std {std} is from {a} to {b}"
        )
    with no_grad():
        tensor.normal_(mean, std, generator=generator)
        outside = (tensor < a) | (tensor > b)
        while outside.any().item():
            again = ops.aten.empty_like(tensor.detach()).normal_(mean, std, generator=generator)
            tensor.copy_(ops.aten.where(outside, again, tensor))
            outside = (tensor < a) | (tensor > b)
    return tensor


@names_keywords
def constant_(tensor: _C.Tensor, val: float) -> _C.Tensor:
    """One number everywhere."""
    with no_grad():
        return _checked("constant_", tensor).fill_(val)


@names_keywords
def ones_(tensor: _C.Tensor) -> _C.Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


@names_keywords
def zeros_(tensor: _C.Tensor) -> _C.Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


@names_keywords
def eye_(tensor: _C.Tensor) -> _C.Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    _checked("eye_", tensor, 2, 2)
    with no_grad():
        return tensor.copy_(ops.aten.eye(*tensor.shape))


@names_keywords
def dirac_(tensor: _C.Tensor, groups: int = 1) -> _C.Tensor:
    """The weight of a convolution that gives its input, for as many channels as there are."""
    _checked("dirac_", tensor, 3, 5)
    at_least("dirac_", 1, groups=groups)
    if tensor.shape[0] % groups:
        raise ValueError(
            f"dirac_: dimension 0 must be a multiple of groups, {groups}, not {tensor.shape[0]}"
        )
    channels = tensor.shape[0] // groups
    middle = [size // 2 for size in tensor.shape[2:]]
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(channels, tensor.shape[1])):
                tensor[(group * channels + channel, channel, *middle)] = 1
    return tensor


@names_keywords
def xavier_uniform_(
    tensor: _C.Tensor, gain: float = 1.0, generator: "object | None" = None
) -> _C.Tensor:
    """Numbers between ±gain √(6 / (fan-in + fan-out))."""
    bound = gain * math.sqrt(6.0 / sum(_fans("xavier_uniform_", tensor)))
    return uniform_(tensor, -bound, bound, generator)


@names_keywords
def xavier_normal_(
    tensor: _C.Tensor, gain: float = 1.0, generator: "object | None" = None
) -> _C.Tensor:
    """Normal numbers with the standard deviation gain √(2 / (fan-in + fan-out))."""
    std = gain * math.sqrt(2.0 / sum(_fans("xavier_normal_", tensor)))
    return normal_(tensor, 0.0, std, generator)


@names_keywords
def kaiming_uniform_(
    tensor: _C.Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: "object | None" = None,
) -> _C.Tensor:
    """Numbers between ±gain √(3 / fan), with the gain of the nonlinearity; `a` is its slope."""
    fan = _fan("kaiming_uniform_", tensor, mode)
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / fan) if fan else 0.0
    return uniform_(tensor, -bound, bound, generator)


@names_keywords
def kaiming_normal_(
    tensor: _C.Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: "object | None" = None,
) -> _C.Tensor:
    """Normal numbers with the standard deviation gain / √fan; `a` is the nonlinearity's slope."""
    fan = _fan("kaiming_normal_", tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0
    return normal_(tensor, 0.0, std, generator)


@names_keywords
def orthogonal_(tensor: _C.Tensor, gain: float = 1, generator: "object | None" = None) -> _C.Tensor:
    """A matrix, of further dimensions joined, whose rows or columns are orthonormal, times gain."""
    _checked("orthogonal_", tensor, 2)
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    with no_grad():
        shape = [max(rows, columns), min(rows, columns)]
        drawn = ops.aten.empty(shape, dtype=tensor.dtype).normal_(generator=generator)
        q, r = ops.aten.linalg_qr(drawn)
        q = q * ops.aten.sign(ops.aten.diagonal(r))  # so that all are as likely
        q = q.t() if rows < columns else q
        return tensor.copy_(q.reshape(list(tensor.shape)) * gain)


@names_keywords
def sparse_(
    tensor: _C.Tensor, sparsity: float, std: float = 0.01, generator: "object | None" = None
) -> _C.Tensor:
    """Normal numbers, of which the share `sparsity` of each column of a matrix is 0."""
    _checked("sparse_", tensor, 2, 2)
    if not 0 <= number("sparse_", "sparsity", sparsity) <= 1:
        raise ValueError(f"sparse_: sparsity is a share, from 0 to 1, not {sparsity}")
    zeros = math.ceil(sparsity * tensor.shape[0])
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        drawn = ops.aten.empty(list(tensor.shape)).uniform_(generator=generator)
        places = ops.aten.argsort(ops.aten.argsort(drawn, 0), 0)
        return tensor.masked_fill_(places < zeros, 0)
