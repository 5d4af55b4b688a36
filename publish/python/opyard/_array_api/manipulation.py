"""Manipulation functions: shapes, order and repetition of elements. Views where they can be."""

from .. import _C
from .._C import Tensor
from .._core.keywords import names_keywords
from .._core.ops import ops
from .arguments import (
    Axes,
    flat,
    many_axes,
    one_axis,
    require_int,
    require_ints,
    require_same_length,
    require_tensor,
    require_tensors,
    sizes,
)
from .data_types import KINDS, converted, result_type


def broadcast_shapes(function: str, *shapes: tuple[int, ...]) -> list[int]:
    """The shape that all broadcast to. Raises ValueError."""
    found: list[int] = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for place, size in enumerate(reversed(shape), 1):
            if size != 1 and found[-place] not in (1, size):
                listed = " and ".join(map(str, shapes))
                raise ValueError(f"{function}: the shapes {listed} do not broadcast")
            found[-place] = size if found[-place] == 1 else found[-place]
    return found


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Views of the arrays, all of one shape."""
    if not arrays:
        return []
    xs = require_tensors("broadcast_arrays", "arrays", arrays)
    shape = broadcast_shapes("broadcast_arrays", *(x.shape for x in xs))
    return [ops.aten.expand(x, shape) for x in xs]


@names_keywords
def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """A view of `x` in another shape: dimensions of size 1 are repeated."""
    x = require_tensor("broadcast_to", "x", x)
    wanted = sizes("broadcast_to", shape)
    if broadcast_shapes("broadcast_to", x.shape, tuple(wanted)) != wanted:
        raise ValueError(f"broadcast_to: x has the shape {x.shape}, which is not {tuple(wanted)}")
    return ops.aten.expand(x, wanted)


@names_keywords
def concat(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays one behind the other along an axis; with axis=None all elements in a row."""
    xs = require_tensors("concat", "arrays", arrays)
    dtype = result_type(*xs)
    if axis is None:
        return ops.aten.cat([converted(flat(x), dtype) for x in xs], 0)
    axis = one_axis("concat", axis, xs[0].ndim)
    for i, x in enumerate(xs):
        if x.shape[:axis] + x.shape[axis + 1 :] != xs[0].shape[:axis] + xs[0].shape[axis + 1 :]:
            raise ValueError(
                f"concat: arrays[{i}] has the shape {x.shape} and arrays[0] {xs[0].shape}; they "
                f"may differ in dimension {axis} alone"
            )
    return ops.aten.cat([converted(x, dtype) for x in xs], axis)


@names_keywords
def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """A view of `x` with one more dimension, of size 1, at that place."""
    x = require_tensor("expand_dims", "x", x)
    return ops.aten.unsqueeze(x, one_axis("expand_dims", axis, x.ndim + 1))


@names_keywords
def flip(x: Tensor, /, *, axis: Axes = None) -> Tensor:
    """Elements in the opposite order, along some axes or along all."""
    x = require_tensor("flip", "x", x)
    return ops.aten.flip(x, many_axes("flip", axis, x.ndim))


def moveaxis(
    x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Tensor:
    """A view of `x` with some dimensions at other places; the others keep their order."""
    x = require_tensor("moveaxis", "x", x)
    sources = many_axes("moveaxis", source, x.ndim, "source")
    destinations = many_axes("moveaxis", destination, x.ndim, "destination")
    require_same_length("moveaxis", sources, destinations)
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return ops.aten.permute(x, order)


@names_keywords
def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """A view of `x` with its dimensions in the order of `axes`."""
    x = require_tensor("permute_dims", "x", x)
    order = many_axes("permute_dims", axes, x.ndim, "axes")
    if len(order) != x.ndim:
        raise ValueError(f"permute_dims: axes is {axes!r}; the array has {x.ndim} dimensions")
    return ops.aten.permute(x, order)


@names_keywords
def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element several times; with axis=None of all elements in a row."""
    x = require_tensor("repeat", "x", x)
    x, axis = (flat(x), 0) if axis is None else (x, one_axis("repeat", axis, x.ndim))
    if isinstance(repeats, Tensor):
        if repeats.ndim > 1:
            raise ValueError(
                f"repeat: repeats has {repeats.ndim} dimensions; accepted is an int, or an array "
                "with a number for each element"
            )
        if repeats.dtype not in KINDS["integral"]:
            raise TypeError(f"repeat: repeats is {repeats.dtype.name}; accepted are integers")
        counts = broadcast_to(converted(repeats, _C.int64), (x.shape[axis],))
        return ops.aten.repeat_interleave(x, counts, axis)
    if require_int("repeat", "repeats", repeats) < 0:
        raise ValueError(f"repeat: repeats is {repeats}; it is not negative")
    return ops.aten.repeat_interleave(x, repeats, axis)


@names_keywords
def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape; a size of -1 is computed from the others.

    A view if that can be; copy=True always copies, and copy=False raises ValueError for a copy.
    """
    x = require_tensor("reshape", "x", x)
    wanted = require_ints("reshape", "shape", shape)
    if copy is False:
        return ops.aten.view(x, wanted)
    return ops.aten.reshape(ops.aten.clone(x) if copy else x, wanted)


@names_keywords
def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: Axes = None) -> Tensor:
    """Elements moved along axes, from the end to the front; with axis=None of all in a row."""
    x = require_tensor("roll", "x", x)
    shifts = require_ints("roll", "shift", shift)
    if axis is None:
        return ops.aten.reshape(ops.aten.roll(flat(x), [sum(shifts)], [0]), x.shape)
    axes = [one_axis("roll", each, x.ndim) for each in require_ints("roll", "axis", axis)]
    if len(axes) == 1:
        axes *= len(shifts)
    elif len(shifts) == 1:
        shifts *= len(axes)
    require_same_length("roll", shifts, axes)
    return ops.aten.roll(x, shifts, axes) if axes else ops.aten.clone(x)


@names_keywords
def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """A view of `x` without some dimensions, which have the size 1."""
    x = require_tensor("squeeze", "x", x)
    axes = many_axes("squeeze", axis, x.ndim)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(
                f"squeeze: dimension {each} has the size {x.shape[each]}; only one of size 1 can "
                "be left out"
            )
    return ops.aten.squeeze.dims(x, axes)


@names_keywords
def stack(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape along a new axis."""
    xs = require_tensors("stack", "arrays", arrays)
    dtype = result_type(*xs)
    axis = one_axis("stack", axis, xs[0].ndim + 1)
    return ops.aten.stack([converted(x, dtype) for x in xs], axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array as a tile, laid that often along each axis."""
    x = require_tensor("tile", "x", x)
    counts = require_ints("tile", "repetitions", repetitions)
    if any(count < 0 for count in counts):
        raise ValueError(f"tile: repetitions is {tuple(counts)}; none is negative")
    return ops.aten.tile(x, counts)


@names_keywords
def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of the parts of `x` along an axis, which they do not have."""
    x = require_tensor("unstack", "x", x)
    return tuple(ops.aten.unbind(x, one_axis("unstack", axis, x.ndim)))
