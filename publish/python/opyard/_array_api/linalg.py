"""Linear algebra: the standard's functions, and those of its extension `linalg`.

The last two dimensions are those of matrices, the others those of a stack of them.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from .._C import Tensor
from .._core import late as _late
from .._core.keywords import names_keywords
from .._core.ops import ops
from . import manipulation, reductions
from .arguments import (
    Axes,
    DType,
    many_axes,
    require_dtype,
    require_int,
    require_same_length,
    require_tensor,
)
from .data_types import is_float, together

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

_late.find_names(globals())


class EighResult(NamedTuple):
    """What eigh() gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What qr() gives."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What slogdet() gives."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What svd() gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _matrices(function: str, x: Tensor, name: str = "x") -> Tensor:
    x = require_tensor(function, name, x)
    if x.ndim < 2:
        raise ValueError(f"{function}: {name} has {x.ndim} dimensions; a matrix has two")
    return x


def _floats(function: str, x: Tensor, name: str = "x") -> Tensor:
    x = _matrices(function, x, name)
    if not is_float(x.dtype):
        raise TypeError(f"{function}: {name} is {x.dtype.name}; accepted are floating-point dtypes")
    return x


def _pair(function: str, x1: Tensor, x2: Tensor) -> list[Tensor]:
    """Two tensors in one dtype."""
    require_tensor(function, "x1", x1)
    return together(function, x1=x1, x2=require_tensor(function, "x2", x2))


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of matrices; an array of one dimension is a row on the left, a column right."""
    return ops.aten.matmul(*_pair("matmul", x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view of `x` with its last two dimensions in each other's place."""
    return ops.aten.transpose(_matrices("matrix_transpose", x), -2, -1)


@names_keywords
def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Sums of products over some dimensions of both arrays.

    A number means the last ones of `x1` and the first ones of `x2`, a pair of lists those listed.
    """
    first, second = _pair("tensordot", x1, x2)
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise ValueError(f"tensordot: axes is {axes!r}; accepted is an int or two lists")
        ours = many_axes("tensordot", axes[0], first.ndim, "axes")
        theirs = many_axes("tensordot", axes[1], second.ndim, "axes")
        require_same_length("tensordot", ours, theirs)
    else:
        count = require_int("tensordot", "axes", axes)
        if not 0 <= count <= min(first.ndim, second.ndim):
            raise ValueError(
                f"tensordot: axes is {count}; the arrays have {first.ndim} and {second.ndim} "
                "dimensions"
            )
        ours, theirs = list(range(first.ndim - count, first.ndim)), list(range(count))
    return ops.aten.tensordot(first, second, ours, theirs)


def _along(function: str, x1: Tensor, x2: Tensor, axis: int) -> list[Tensor]:
    """A pair that is broadcast, with equal sizes along an axis. It is counted from the end."""
    first, second = _pair(function, x1, x2)
    least = min(first.ndim, second.ndim)
    dim = require_int(function, "axis", axis)
    if dim >= 0 and first.ndim == second.ndim:
        dim -= least
    if not -least <= dim < 0:
        raise IndexError(
            f"{function}: axis is {axis}; accepted are {-least} to -1"
            if least
            else f"{function}: an array without dimensions has no axis"
        )
    if first.shape[dim] != second.shape[dim]:
        raise ValueError(
            f"{function}: the arrays have the sizes {first.shape[dim]} and {second.shape[dim]} "
            f"along axis {axis}, which are to be equal"
        )
    return [*manipulation.broadcast_arrays(first, second)]


def _from_end(axis: int, x: Tensor) -> int:
    return axis if axis < 0 else axis - x.ndim


@names_keywords
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis; complex numbers of `x1` are conjugated."""
    first, second = _along("vecdot", x1, x2, axis)
    product = ops.aten.mul(ops.aten.conj(first), second)
    dims = [_from_end(axis, x1)]
    return ops.aten.sum.dim_IntList(product, dims, dtype=first.dtype)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of 3 elements, which are along an axis."""
    first, second = _along("cross", x1, x2, axis)
    dim = _from_end(axis, x1)
    if first.shape[dim] != 3:
        raise ValueError(f"cross: the vectors have {first.shape[dim]} elements; accepted are 3")
    return ops.aten.linalg_cross(first, second, dim=dim)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of each element of one vector with each of another."""
    first, second = _pair("outer", x1, x2)
    for name, each in (("x1", first), ("x2", second)):
        if each.ndim != 1:
            raise ValueError(f"outer: {name} has {each.ndim} dimensions; a vector has one")
    return ops.aten.outer(first, second)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A view of the diagonals of matrices, `offset` above the main ones."""
    offset = require_int("diagonal", "offset", offset)
    return ops.aten.diagonal(_matrices("diagonal", x), offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Sums of diagonals; of integers in int64, unless a dtype is given."""
    dtype = None if dtype is None else require_dtype("trace", dtype)
    offset = require_int("trace", "offset", offset)
    diagonals = ops.aten.diagonal(_matrices("trace", x), offset, -2, -1)
    return reductions.sum(diagonals, axis=-1, dtype=dtype)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Factors L of L @ L.mH, or U of U.mH @ U, of positive definite matrices."""
    return ops.aten.linalg_cholesky(_floats("cholesky", x), upper=upper)


def det(x: Tensor, /) -> Tensor:
    """Determinants of square matrices."""
    return ops.aten.linalg_det(_floats("det", x))


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues, in order, and eigenvectors of symmetric or Hermitian matrices."""
    return EighResult(*ops.aten.linalg_eigh(_floats("eigh", x)))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues, in order, of symmetric or Hermitian matrices."""
    return ops.aten.linalg_eigvalsh(_floats("eigvalsh", x))


def inv(x: Tensor, /) -> Tensor:
    """Inverses of square matrices."""
    return ops.aten.linalg_inv(_floats("inv", x))


def matrix_norm(
    x: Tensor,
    /,
    *,
    keepdims: bool = False,
    ord: int | float | Literal["fro", "nuc"] | None = "fro",
) -> Tensor:
    """Norms of matrices: "fro", "nuc", or 1, 2, inf and their negatives."""
    x = _floats("matrix_norm", x)
    if ord not in ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf"), None):
        raise ValueError(
            f"matrix_norm: ord is {ord!r}; accepted are 'fro', 'nuc', 1, 2, inf and their negatives"
        )
    return ops.aten.linalg_matrix_norm(x, "fro" if ord is None else ord, [-2, -1], keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices to the power of an integer; a negative one inverts them."""
    n = require_int("matrix_power", "n", n)
    return ops.aten.linalg_matrix_power(_floats("matrix_power", x), n)


def _tolerance(function: str, x: Tensor, rtol: float | Tensor | None) -> float | Tensor | None:
    return rtol if rtol is None or isinstance(rtol, Tensor) else float(rtol)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values are above `rtol` times the greatest one."""
    x = _floats("matrix_rank", x)
    return ops.aten.linalg_matrix_rank(x, rtol=_tolerance("matrix_rank", x, rtol))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Pseudo-inverses; singular values up to `rtol` times the greatest one count as 0."""
    x = _floats("pinv", x)
    return ops.aten.linalg_pinv(x, rtol=_tolerance("pinv", x, rtol))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Q and R of Q @ R: an orthonormal matrix, and an upper triangular one."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is {mode!r}; accepted are 'reduced' and 'complete'")
    return QRResult(*ops.aten.linalg_qr(_floats("qr", x), mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their absolute values."""
    return SlogdetResult(*ops.aten.linalg_slogdet(_floats("slogdet", x)))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """What `x1` times is `x2`. An `x2` of one dimension is a vector, any other has matrices."""
    first, second = _pair("solve", x1, x2)
    first = _floats("solve", first, "x1")
    if second.ndim == 1:
        column = solve(first, ops.aten.unsqueeze(second, -1))
        return ops.aten.squeeze(column, -1)
    second = _floats("solve", second, "x2")
    # The operator takes an array for a stack of vectors if it looks like one.
    stack = manipulation.broadcast_shapes("solve", first.shape[:-2], second.shape[:-2])
    return ops.aten.linalg_solve(
        ops.aten.expand(first, [*stack, *first.shape[-2:]]),
        ops.aten.expand(second, [*stack, *second.shape[-2:]]),
    )


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """U, S and Vh of U @ diag(S) @ Vh; S has the singular values, the greatest first."""
    return SVDResult(*ops.aten.linalg_svd(_floats("svd", x), full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values, the greatest first."""
    return ops.aten.linalg_svdvals(_floats("svdvals", x))


def vector_norm(
    x: Tensor, /, *, axis: Axes = None, keepdims: bool = False, ord: int | float = 2
) -> Tensor:
    """Norms of vectors along axes, whose elements count as one vector; None means all."""
    x = require_tensor("vector_norm", "x", x)
    if not is_float(x.dtype):
        raise TypeError(f"vector_norm: x is {x.dtype.name}; accepted are floating-point dtypes")
    dims = many_axes("vector_norm", axis, x.ndim)
    if not dims:
        return ops.aten.linalg_vector_norm(ops.aten.unsqueeze(x, -1), ord, [-1])
    return ops.aten.linalg_vector_norm(x, ord, dims, keepdims)
