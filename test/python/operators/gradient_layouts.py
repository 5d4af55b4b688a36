"""gradient_layouts.py: incoming gradients of every layout, and their results.

A formula may read the elements of an incoming gradient, and nothing of how they lie: `differs`
gives the first and second gradients of a function under each layout that are not those of the same
elements in a row.
"""

import opyard
from opyard import autograd

aten = opyard.ops.aten


def in_a_row(x):
    return aten.clone(x, memory_format=0)


def row_behind_others(x):
    """All elements, with three before them and two behind."""
    ends = aten.full_like(in_a_row(x).reshape([-1])[:1].expand([3]), 5.0)
    return aten.cat([ends, x.reshape([-1]), ends[:2]]) if x.numel() else x.reshape([-1])


def behind_others(x):
    """A view that begins in the middle of its memory."""
    return aten.narrow(row_behind_others(x), 0, 3, x.numel()).reshape(list(x.shape))


def between_others(x):
    """Every second element of its memory, from the second on."""
    return aten.select(aten.stack([x * 3 + 1, x], -1), -1, 1)


def transposed(x):
    back = list(range(x.dim()))[::-1]
    return aten.permute(in_a_row(aten.permute(x, back)), back)


def expanded(x):
    """One element, everywhere."""
    return aten.expand(aten.mean(x), list(x.shape))


def odd_where_one(x):
    """Dimensions of size 1 with strides that are read by no one, in a view with an offset."""
    strides, step = [], 1
    for size in reversed(list(x.shape)):
        strides.insert(0, 7 if size == 1 else step)
        step *= size
    return aten.as_strided(row_behind_others(x), list(x.shape), strides, 3)


LAYOUTS = {
    "behind others": behind_others,
    "between others": between_others,
    "transposed": transposed,
    "expanded": expanded,
    "odd where one": odd_where_one,
}


def fits(layout, x):
    if x.numel() == 0:
        return layout is transposed
    return x.dim() > 1 if layout is transposed else True


def seed_of(like, first):
    """Different numbers, with the sizes and the dtype of a tensor."""
    count = like.numel()
    row = opyard.tensor([first + 0.13 * i for i in range(count)], dtype=opyard.float64)
    if like.is_complex():
        row = aten.complex(row, row * 0.5 - 1)
    return aten.to(row, like.dtype).reshape(list(like.shape))


def gradients(fn, leaves, laid):
    """The gradients of what a function gives, and of these; `laid` makes the incoming ones."""
    results = fn(*leaves)
    results = results if isinstance(results, list | tuple) else [results]
    results = [one for one in results if isinstance(one, opyard.Tensor) and one.requires_grad]
    seeds = [seed_of(one, 0.3 + i).requires_grad_() for i, one in enumerate(results)]
    first = autograd.grad(
        results, leaves, [laid(one) for one in seeds], create_graph=True, allow_unused=True
    )
    again = [one for one in first if one is not None and one.requires_grad]
    if not again:
        return [*first]
    incoming = [laid(seed_of(one, 0.7 + i)) for i, one in enumerate(again)]
    return [*first, *autograd.grad(again, [*leaves, *seeds], incoming, allow_unused=True)]


def numbers(gradient):
    if gradient is None:
        return None
    gradient = gradient.detach()
    if gradient.is_complex():
        gradient = aten.view_as_real(gradient)
    return in_a_row(gradient).reshape([-1]).tolist()


def near(a, b):
    return a == b or abs(a - b) <= 1e-9 * (1 + abs(b)) or (a != a and b != b)


def differs(fn, leaves):
    """The layouts of incoming gradients by which others come out, with the first of these."""
    found = []
    for name, layout in LAYOUTS.items():

        def laid(x, layout=layout):
            return layout(x) if fits(layout, x) else x

        def in_row(x, laid=laid):
            return in_a_row(laid(x))

        wanted = [numbers(one) for one in gradients(fn, leaves, in_row)]
        given = [numbers(one) for one in gradients(fn, leaves, laid)]
        for at, (a, b) in enumerate(zip(given, wanted, strict=True)):
            if (a is None) != (b is None) or not all(map(near, a or [], b or [])):
                found.append((name, at, a, b))
                break
    return found
