"""Operators that lay out elements anew, or multiply them in pairs: NumPy's."""

import itertools
import math
from typing import Any

import numpy as np

from .answers import answer, check, depends_on_elements, keeps_order
from .promotion import category, common, floating, together
from .reductions import line


def _joined(tensors: list[np.ndarray]) -> list[np.ndarray]:
    check(tensors, "there is no tensor")
    return together(*tensors)


def _one_dimension(*arrays: np.ndarray) -> None:
    for each in arrays:
        check(each.ndim == 1, f"one dimension is wanted, not the shape {list(each.shape)}")


@answer("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
@keeps_order
def rot90(x: np.ndarray, k: int, dims: list[int]) -> np.ndarray:
    check(len(dims) == 2, f"two dimensions are turned into each other, not {len(dims)}")
    return np.rot90(x, k, tuple(dims))


@answer("kron(Tensor self, Tensor other) -> Tensor")
def kron(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.kron(*together(x, other))


@answer("trace(Tensor self) -> Tensor")
def trace(x: np.ndarray) -> np.ndarray:
    check(x.ndim == 2, f"a matrix is wanted, not the shape {list(x.shape)}")
    return np.trace(x, dtype=np.int64 if category(x.dtype) < 2 else x.dtype)


@answer("outer(Tensor self, Tensor vec2) -> Tensor", "ger(Tensor self, Tensor vec2) -> Tensor")
def outer(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    _one_dimension(x, other)
    return np.outer(*together(x, other))


@answer("inner(Tensor self, Tensor other) -> Tensor")
def inner(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    check(x.dtype == other.dtype, f"both have one dtype, not {x.dtype.name}, {other.dtype.name}")
    if x.ndim == 0 or other.ndim == 0:
        return x * other  # np.inner leaves a factor of 0 out, and with it infinities and NaN
    return np.inner(x, other)


@answer("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor")
def tensordot(x: np.ndarray, other: np.ndarray, dims: list[int], others: list[int]) -> np.ndarray:
    check(x.dtype == other.dtype, f"both have one dtype, not {x.dtype.name}, {other.dtype.name}")
    return np.tensordot(x, other, (dims, others))


def _crossed(x: np.ndarray, other: np.ndarray, dim: int) -> np.ndarray:
    check(x.ndim == other.ndim, f"the numbers of dimensions differ: {x.ndim} and {other.ndim}")
    line(x, dim)
    check(x.ndim and x.shape[dim] == other.shape[dim] == 3, f"dimension {dim} has not the size 3")
    return np.cross(*together(*np.broadcast_arrays(x, other)), axis=dim)


@answer("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor")
def linalg_cross(x: np.ndarray, other: np.ndarray, dim: int) -> np.ndarray:
    return _crossed(x, other, dim)


@answer("cross(Tensor self, Tensor other, int? dim=None) -> Tensor")
def cross(x: np.ndarray, other: np.ndarray, dim: "int | None") -> np.ndarray:
    if dim is None:
        threes = [axis for axis, size in enumerate(x.shape) if size == 3]
        check(threes, f"no dimension of {list(x.shape)} has the size 3")
        dim = threes[0]
    return _crossed(x, other, dim)


@answer("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")
def vander(x: np.ndarray, count: "int | None", increasing: bool) -> np.ndarray:
    _one_dimension(x)
    check(count is None or count >= 0, f"N is at least 0, not {count}")
    x = x.astype(np.int64) if category(x.dtype) < 2 else x
    return np.vander(x, count, increasing).astype(x.dtype)


@answer("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor")
def linalg_vander(x: np.ndarray, N: "int | None") -> np.ndarray:
    check(x.ndim > 0, "at least one dimension is wanted")
    count = x.shape[-1] if N is None else N
    check(count > 1, f"N is at least 2, not {count}")
    x = x.astype(np.int64) if category(x.dtype) < 2 else x
    ones = np.ones_like(x)[..., None]
    rest = np.broadcast_to(x[..., None], (*x.shape, count - 1))
    return np.concatenate([ones, np.cumprod(rest, axis=-1, dtype=x.dtype)], -1)


@answer("diag(Tensor self, int diagonal=0) -> Tensor")
def diag(x: np.ndarray, diagonal: int) -> np.ndarray:
    check(x.ndim in (1, 2), f"one or two dimensions are wanted, not {x.ndim}")
    if x.ndim == 2:
        inside = -x.shape[0] <= diagonal <= x.shape[1]
        check(inside, f"{list(x.shape)} has no diagonal {diagonal}")
    return np.diag(x, diagonal)


@answer("diagflat(Tensor self, int offset=0) -> Tensor")
def diagflat(x: np.ndarray, offset: int) -> np.ndarray:
    return np.diagflat(x, offset)


@answer("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed(x: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    rank = x.ndim + 1
    for each in (dim1, dim2):
        check(-rank <= each < rank, f"dim {each} is out of range for {rank} dimensions")
    dim1, dim2 = dim1 % rank, dim2 % rank
    check(x.ndim > 0 and dim1 != dim2, f"dimensions {dim1} and {dim2} are to be two")
    size = x.shape[-1] + abs(offset)
    made = np.zeros((*x.shape[:-1], size, size), x.dtype)
    rows = np.arange(x.shape[-1])
    made[..., rows + max(-offset, 0), rows + max(offset, 0)] = x
    return np.moveaxis(made, (-2, -1), (dim1, dim2))


@answer("block_diag(Tensor[] tensors) -> Tensor")
def block_diag(tensors: list[np.ndarray]) -> np.ndarray:
    if not tensors:
        return np.zeros((1, 0), np.float32)
    for each in tensors:
        check(each.ndim <= 2, f"at most two dimensions are taken, not {each.ndim}")
    blocks = [np.atleast_2d(each) for each in tensors]
    made = np.zeros(np.sum([each.shape for each in blocks], axis=0), common(*tensors))
    row = column = 0
    for each in blocks:
        made[row : row + each.shape[0], column : column + each.shape[1]] = each
        row, column = row + each.shape[0], column + each.shape[1]
    return made


@answer("cartesian_prod(Tensor[] tensors) -> Tensor")
def cartesian_prod(tensors: list[np.ndarray]) -> np.ndarray:
    _one_dimension(*tensors)
    check(len({each.dtype for each in tensors}) == 1, "all tensors have one dtype")
    if len(tensors) == 1:
        return tensors[0]
    grid = np.meshgrid(*tensors, indexing="ij")
    return np.stack(grid, -1).reshape(-1, len(tensors))


@answer("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor")
def combinations(x: np.ndarray, r: int, with_replacement: bool) -> np.ndarray:
    _one_dimension(x)
    check(r >= 0, f"r is at least 0, not {r}")
    if r == 0:
        return np.empty(0, x.dtype)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = np.array(list(choose(range(x.size), r)), np.int64).reshape(-1, r)
    return x[chosen]


@answer("fliplr(Tensor self) -> Tensor")
def fliplr(x: np.ndarray) -> np.ndarray:
    return np.fliplr(x)


@answer("flipud(Tensor self) -> Tensor")
def flipud(x: np.ndarray) -> np.ndarray:
    return np.flipud(x)


@answer("tile(Tensor self, SymInt[] dims) -> Tensor")
def tile(x: np.ndarray, dims: list[int]) -> np.ndarray:
    check(all(each >= 0 for each in dims), f"nothing is repeated less than 0 times: {dims}")
    # NumPy multiplies without looking, and writes past the end of what it took.
    bytes_wanted = math.prod([*x.shape, *dims]) * x.itemsize
    check(bytes_wanted < 2**63, f"{dims} times {list(x.shape)} need more bytes than fit in 64 bits")
    return np.tile(x, dims)


@answer("hstack(Tensor[] tensors) -> Tensor")
def hstack(tensors: list[np.ndarray]) -> np.ndarray:
    return np.hstack(_joined(tensors))


@answer("vstack(Tensor[] tensors) -> Tensor")
def vstack(tensors: list[np.ndarray]) -> np.ndarray:
    return np.vstack(_joined(tensors))


@answer("dstack(Tensor[] tensors) -> Tensor")
def dstack(tensors: list[np.ndarray]) -> np.ndarray:
    return np.dstack(_joined(tensors))


@answer("column_stack(Tensor[] tensors) -> Tensor")
def column_stack(tensors: list[np.ndarray]) -> np.ndarray:
    arrays = _joined(tensors)
    return np.concatenate([e.reshape(-1, 1) if e.ndim < 2 else e for e in arrays], 1)


def _times(repeats: np.ndarray, output_size: "int | None") -> np.ndarray:
    check(repeats.dtype in (np.int32, np.int64), f"repeats is int32 or int64, not {repeats.dtype}")
    check(repeats.ndim <= 1, f"repeats has at most one dimension, not {repeats.ndim}")
    check(np.all(repeats >= 0), "nothing is repeated less than 0 times")
    return repeats


def _repeat(x: np.ndarray, repeats: Any, dim: int) -> np.ndarray:
    """NumPy's, which writes beyond memory when the number of elements wraps."""
    times = float(np.sum(repeats, dtype=np.float64))
    if np.size(repeats) == 1:
        times *= x.shape[dim]
    bytes_wanted = times * x.nbytes / max(x.shape[dim], 1)
    check(bytes_wanted < 2**62, f"{list(x.shape)} is repeated to more bytes than fit in 64 bits")
    return np.repeat(x, repeats, dim)


def _sized(made: np.ndarray, dim: int, output_size: "int | None") -> np.ndarray:
    size = made.shape[dim]
    check(output_size in (None, size), f"output_size is {size} here, not {output_size}")
    return made


@answer("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor")
@depends_on_elements
def repeat_indices(repeats: np.ndarray, output_size: "int | None") -> np.ndarray:
    repeats = _times(repeats, output_size)
    check(repeats.ndim == 1, f"repeats has one dimension, not {repeats.ndim}")
    made = _repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats, 0)
    return _sized(made, 0, output_size)


def _repeated(x: np.ndarray, repeats: Any, dim: "int | None", output_size: Any) -> np.ndarray:
    x = x.reshape(-1) if dim is None else line(x, dim)
    dim = 0 if dim is None else dim
    return _sized(_repeat(x, repeats, dim), dim, output_size)


@answer(
    "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor"
)
def repeat_number(x: np.ndarray, repeats: int, dim: Any, output_size: Any) -> np.ndarray:
    check(repeats >= 0, f"nothing is repeated {repeats} times")
    return _repeated(x, repeats, dim, output_size)


@answer(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor"
)
@depends_on_elements
def repeat_each(x: np.ndarray, repeats: np.ndarray, dim: Any, output_size: Any) -> np.ndarray:
    return _repeated(x, _times(repeats, output_size), dim, output_size)


@answer("take(Tensor self, Tensor index) -> Tensor")
def take(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    check(index.dtype == np.int64, f"index is int64, not {index.dtype.name}")
    return np.take(x.reshape(-1), index)


@answer("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor")
def take_along_dim(x: np.ndarray, indices: np.ndarray, dim: "int | None") -> np.ndarray:
    check(indices.dtype == np.int64, f"indices is int64, not {indices.dtype.name}")
    if dim is None:
        return np.take(x.reshape(-1), indices.reshape(-1))
    check(x.ndim == indices.ndim, f"{x.ndim} dimensions and {indices.ndim} of indices differ")
    line(x, dim)
    return np.take_along_axis(x, indices, dim)


def _split(x: np.ndarray, factor: int) -> tuple[int, ...]:
    check(x.ndim >= 3, f"at least 3 dimensions are wanted, not {x.ndim}")
    check(factor > 0, f"the factor is at least 1, not {factor}")
    return x.shape[:-3]


@answer("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor")
def pixel_shuffle(x: np.ndarray, factor: int) -> np.ndarray:
    batch = _split(x, factor)
    channels, rows, columns = x.shape[-3:]
    check(channels % factor**2 == 0, f"{channels} channels are no multiple of {factor}²")
    parts = x.reshape(*batch, channels // factor**2, factor, factor, rows, columns)
    n = len(batch)
    moved = parts.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return moved.reshape(*batch, channels // factor**2, rows * factor, columns * factor)


@answer("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor")
def pixel_unshuffle(x: np.ndarray, factor: int) -> np.ndarray:
    batch = _split(x, factor)
    channels, rows, columns = x.shape[-3:]
    check(rows % factor == 0 and columns % factor == 0,
          f"{rows} x {columns} is no multiple of {factor}")  # fmt: skip
    parts = x.reshape(*batch, channels, rows // factor, factor, columns // factor, factor)
    n = len(batch)
    moved = parts.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return moved.reshape(*batch, channels * factor**2, rows // factor, columns // factor)


@answer("channel_shuffle(Tensor self, SymInt groups) -> Tensor")
def channel_shuffle(x: np.ndarray, groups: int) -> np.ndarray:
    check(x.ndim > 2, f"more than 2 dimensions are wanted, not {x.ndim}")
    check(groups > 0 and x.shape[1] % groups == 0, f"{x.shape[1]} channels, not in {groups} groups")
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return np.swapaxes(parts, 1, 2).reshape(x.shape)


def _between(y: np.ndarray, dim: int) -> np.ndarray:
    """The sums of neighbours."""
    check(y.ndim > 0, "a dimension is wanted, and the values have none")
    y = floating(np.moveaxis(line(y, dim), dim, -1))
    return y[..., 1:] + y[..., :-1]


def _areas(y: np.ndarray, x: np.ndarray, dim: int) -> "tuple[np.ndarray, int]":
    """Twice the area between neighbours, and the dimension along which they are, of those of y."""
    pairs = np.moveaxis(_between(y, dim), -1, dim)
    dim %= y.ndim
    if x.ndim == 1:
        check(x.size == y.shape[dim], f"{x.size} places are given for {y.shape[dim]} values")
        x = x.reshape(-1, *[1] * (y.ndim - dim - 1))
    x = x.reshape(*[1] * (y.ndim - x.ndim), *x.shape)
    pairs, steps = together(pairs, floating(np.diff(x, axis=dim)))
    return pairs * steps, dim


@answer(
    "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    "trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor",
)
def trapezoid(y: np.ndarray, dx: Any, dim: int) -> np.ndarray:
    pairs = _between(y, dim)
    return (pairs.sum(-1) * dx / 2).astype(pairs.dtype)


@answer(
    "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    "trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
)
def trapezoid_at(y: np.ndarray, x: np.ndarray, dim: int) -> np.ndarray:
    areas, along = _areas(y, x, dim)
    return areas.sum(along) / areas.dtype.type(2)


@answer("cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor")
def cumulative_trapezoid(y: np.ndarray, dx: Any, dim: int) -> np.ndarray:
    pairs = _between(y, dim)
    return np.moveaxis((np.cumsum(pairs, -1) * dx / 2).astype(pairs.dtype), -1, dim)


@answer("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")
def cumulative_trapezoid_at(y: np.ndarray, x: np.ndarray, dim: int) -> np.ndarray:
    areas, along = _areas(y, x, dim)
    return np.cumsum(areas, along) / areas.dtype.type(2)
