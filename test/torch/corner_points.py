"""corner_points.py: points at which formula_corners.py takes gradients, and their comparison."""

import itertools

import torch
from operator_gradients import OURS, THEIRS, weights_of
from torch.utils._pytree import tree_flatten

INF, NAN = float("inf"), float("nan")
STEEP = 1e6  # what is larger beside a point is no limit
POINTS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    6.0,
    20.0,
    -20.0,
    100.0,
    -100.0,
    800.0,
    -800.0,
    NAN,
    INF,
    -INF,
]
SATURATION = [1e-38, 1e-20, 1e-10, 9.5, 17.0, 30.0, 89.0, 104.0, 1e4, 1e10, 1e19, 1e30]
ENDS = [[0.0, 1.0, -1.0], [1.0, -1.0, 0.5, 0.0]]


def filled(like, values):
    """A tensor of these values, again and again."""
    row = torch.tensor(values, dtype=torch.float64).repeat(like.numel() // len(values) + 1)
    return row[: like.numel()].reshape(like.shape)


def rolled(values, by):
    by %= len(values)
    return values[by:] + values[:by]


def pointwise_fillings(leaves):
    step = max(1, min(one.numel() for one in leaves))
    others = range(len(POINTS)) if len(leaves) > 1 else [0]
    for start, apart in itertools.product(range(0, len(POINTS), step), others):
        yield [
            filled(one, rolled(POINTS, start + apart * number)) for number, one in enumerate(leaves)
        ]


def other_fillings(leaves):
    """Zeros, ties, and one number that is none in each leaf."""
    for value in (0.0, 1.0):
        yield [torch.full_like(one, value) for one in leaves]
    for values in ENDS:
        yield [filled(one, values) for one in leaves]
    for number, value in itertools.product(range(len(leaves)), (0.0, NAN, INF, -INF)):
        changed = [one.clone() for one in leaves]
        flat = changed[number].reshape(-1).clone()
        flat[:1] = value
        changed[number] = flat.reshape(leaves[number].shape)
        yield changed


def fillings(call):
    if call.theirs is None or any(one.is_complex() for one in call.leaves):
        return
    if all(one.numel() for one in call.leaves):
        yield from (pointwise_fillings if call.is_pointwise else other_fillings)(call.leaves)
    if call.is_pointwise:
        yield [one[:0] if one.dim() else one for one in call.leaves]
    else:
        yield [one.clone() for one in call.leaves]


def weighted(library, results, first, dtype):
    total = None
    for number, one in enumerate(results):
        if not (isinstance(one, library.tensor) and one.requires_grad):
            continue
        weights = weights_of(one.numel(), first + number).to(dtype)
        part = (one.reshape([-1] if one.numel() else [0]) * library.take(weights)).sum()
        total = part if total is None else total + part
    return total


def dense(library, gradient, like):
    if gradient is None:
        return torch.zeros(like.shape, dtype=torch.float64)
    if library is OURS:
        gradient = torch.from_dlpack(gradient.detach().clone())
    return gradient.detach().to(torch.float64).clone() + torch.zeros(
        like.shape, dtype=torch.float64
    )


def gradients(library, call, values, dtype=torch.float64):
    """Of first and second order; the reason if they are refused here, None if in PyTorch."""
    try:
        leaves = [library.take(one.to(dtype)).requires_grad_() for one in values]
        made = call.ours if library is OURS else call.theirs
        results = tree_flatten(made(*[one.clone() for one in leaves]))[0]
        loss = weighted(library, results, 0, dtype)
        if loss is None:
            return None
        first = library.grad(loss, leaves, create_graph=True, allow_unused=True)
        found = [dense(library, one, like) for one, like in zip(first, values, strict=True)]
        again = weighted(library, [one for one in first if one is not None], 100, dtype)
    except (Exception, SystemError) as error:
        return f"{type(error).__name__}: {error}" if library is OURS else None
    try:
        second = [None] * len(leaves)
        if again is not None:
            second = library.grad(again, leaves, allow_unused=True)
        found += [dense(library, one, like) for one, like in zip(second, values, strict=True)]
    except Exception as error:
        found += [f"{type(error).__name__}: {error}"] * len(leaves)
    return found


def text(leaves, places=None):
    if places is None:
        return "; ".join(str(one.reshape(-1)[:6].tolist()) for one in leaves)
    return "; ".join(places)


def at(leaves, place, sizes):
    """The values of all leaves at an element of one of them, if these are of one shape."""
    shown = []
    for one in leaves:
        shown.append(f"{one[place].item():g}" if one.shape == sizes else "...")
    return ", ".join(shown)


def compare(ours, theirs, leaves):
    """Pairs of a kind and where it was found."""
    count = len(leaves)
    for number, (mine, wanted) in enumerate(zip(ours, theirs, strict=True)):
        order = "first" if number < count else "second"
        if isinstance(wanted, str):
            continue
        if isinstance(mine, str):
            yield f"{order} refused", mine
            continue
        same = torch.isclose(mine, wanted, rtol=1e-6, atol=1e-9, equal_nan=True)
        for place in (~same).nonzero().tolist():
            a, b = mine[tuple(place)].item(), wanted[tuple(place)].item()
            if abs(b) < INF:
                kind = "differs" if abs(a) < INF else "not finite here"
            elif abs(a) < INF:
                kind = "finite here"
            else:
                kind = "other sign" if abs(a) == abs(b) == INF else "no number"
            where = at(leaves, tuple(place), wanted.shape)
            yield f"{order}, {kind}", f"argument {number % count} at ({where}): {a:g}, not {b:g}"


def beside_limits(call, ours, leaves):
    """Where the gradients on both sides of a point are near each other, and that at it is not."""
    count = len(leaves)
    for moved in range(count):
        sides = []
        for sign in (-1e-5, 1e-5):
            near = [one.clone() for one in leaves]
            near[moved] = near[moved] + sign * near[moved].abs().clamp(min=1.0)
            sides.append(gradients(OURS, call, near))
        if any(isinstance(one, str) or one is None for one in sides):
            continue
        for number, (here, left, right) in enumerate(zip(ours, *sides, strict=True)):
            if number % count != moved or any(isinstance(one, str) for one in (here, left, right)):
                continue
            size = 1 + left.abs()
            smooth = ((left - right).abs() <= 1e-3 * size) & (left.abs() < STEEP)
            wrong = smooth & leaves[moved].isfinite() & ~((here - left).abs() <= 1e-2 * size)
            for place in wrong.nonzero().tolist():
                place = tuple(place)
                where = at(leaves, place, here.shape)
                order = "first" if number < count else "second"
                yield (
                    f"{order}, argument {moved} at ({where}): {here[place].item():g}, "
                    f"and {left[place].item():g} beside it"
                )


def saturation(call):
    """Where float32 gives no number, or another one than PyTorch's."""
    if call.theirs is None or any(one.is_complex() or not one.numel() for one in call.leaves):
        return
    points = [value for one in SATURATION for value in (one, -one)]
    step = max(1, min(one.numel() for one in call.leaves))
    for start in range(0, len(points), step):
        leaves = [
            filled(one, rolled(points, start + number * 5))
            for number, one in enumerate(call.leaves)
        ]
        theirs = gradients(THEIRS, call, leaves, torch.float32)
        ours = gradients(OURS, call, leaves, torch.float32)
        if theirs is None or ours is None or isinstance(ours, str):
            continue
        count = len(leaves)
        for number, (mine, wanted) in enumerate(zip(ours, theirs, strict=True)):
            if isinstance(mine, str) or isinstance(wanted, str):
                continue
            same = torch.isclose(mine, wanted, rtol=1e-3, atol=1e-6, equal_nan=True)
            for place in (~same & wanted.isfinite()).nonzero().tolist():
                place = tuple(place)
                order = "first" if number < count else "second"
                yield (
                    f"{order}, in float32",
                    f"argument {number % count} at ({at(leaves, place, mine.shape)}): "
                    f"{mine[place].item():g}, not {wanted[place].item():g}",
                )
