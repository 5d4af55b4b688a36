"""operator_calls.py: a call of every operator of aten and opyard that it answers.

    for op in overloads():
        call = call_of(op)        # Call(op, args, kwargs), or None
        call()

Arguments are tried at random from those of its kinds until the operator answers, so that a test
which walks the registry meets an operator that was added a minute ago. The tables have the
arguments that are not met by chance. The same registry gives the same calls.
"""

import functools
import random
import warnings
import zlib
from typing import NamedTuple

import opyard

SHAPES = [
    [3],
    [3, 3],
    [3, 3],
    [2, 3],
    [2, 3, 3],
    [1, 2, 4, 4],
    [2, 2, 4, 4],
    [1, 2, 4, 4, 4],
    [],
    [4],
]
LISTS = [
    [1],
    [0],
    [1, 1],
    [2, 2],
    [0, 0],
    [1, 1, 1],
    [2, 2, 2],
    [2, 3],
    [3],
    [0, 1],
    [1, 0],
    [3, 3],
]
ATTEMPTS = 1200
# Where an argument of this name is of another kind than its type says.
INDICES = {"index", "indices", "target", "batch_sizes", "offsets", "boundaries_", "classes"}
FLOATS = opyard.float32


class Call(NamedTuple):
    op: object
    args: list
    kwargs: dict

    def __call__(self):
        return self.op(*self.args, **self.kwargs)

    def tensors(self):
        """Argument's place or name, and the tensor."""
        for at, value in [*enumerate(self.args), *self.kwargs.items()]:
            if isinstance(value, opyard.Tensor):
                yield at, value

    def changed(self, change):
        """The same call with change(tensor) for each tensor, also in lists."""

        def of(value):
            if isinstance(value, opyard.Tensor):
                return change(value)
            return [of(each) for each in value] if isinstance(value, list) else value

        kwargs = {name: of(value) for name, value in self.kwargs.items()}
        return Call(self.op, [of(value) for value in self.args], kwargs)


def numbers(shape, dtype=FLOATS):
    """Different numbers between 0 and 1; of integers, whole ones from 0 to 2."""
    count = 1
    for size in shape:
        count *= size
    if dtype.is_floating_point or dtype.is_complex:
        values = [((7 * i + 3) % (count + 1)) / (count + 2) + 0.01 for i in range(count)]
    else:
        values = [(7 * i + 3) % 3 for i in range(count)]
    made = opyard.tensor(values, dtype=opyard.float64).reshape(list(shape))
    return opyard.ops.aten.to(made, dtype)


def overloads(*spaces):
    """Those of these namespaces; of aten and opyard if none is given."""
    for space in spaces or (opyard.ops.aten, opyard.ops.opyard):
        for name in sorted(dir(space)):
            packet = getattr(space, name)
            if hasattr(packet, "overloads"):
                for overload in sorted(packet.overloads()):
                    yield getattr(packet, overload)


def is_composition(op):
    """Whether it runs as the operators that it calls: no kernel of its own, and no formula."""
    name = op.name()
    return opyard.dispatch.has_kernel(name, "CompositeImplicitAutograd") and not (
        opyard.dispatch.has_kernel(name, "CPU") or opyard.autograd.formulas(op)
    )


def tensor_for(name, rng, shape):
    if rng.random() < 0.35:
        shape = rng.choice(SHAPES)
    kinds = [FLOATS] * 6 + [opyard.int64, opyard.int64, opyard.bool, opyard.complex64]
    if name in INDICES:
        kinds = [opyard.int64]
    elif name in ("mask", "condition"):
        kinds = [opyard.bool]
    return numbers(shape, rng.choice(kinds) if rng.random() < 0.3 or name in INDICES else kinds[0])


def value_for(name, text, rng, shape):
    """A value for a type as schemas write it."""
    if text.endswith("?"):
        return None if rng.random() < 0.5 else value_for(name, text[:-1], rng, shape)
    if text.startswith("bool["):
        return [True] * int(text[5:-1] or 1)
    if text in ("int[]", "SymInt[]") or text.startswith(("int[", "SymInt[")):
        return rng.choice([list(shape), *LISTS])
    if text.startswith("float["):
        return [2.0] * rng.choice((1, 2, 3))
    if text.endswith("]"):
        return [value_for(name, text[: text.rindex("[")], rng, shape) for _ in range(2)]
    if text == "Tensor":
        return tensor_for(name, rng, shape)
    if text in ("int", "SymInt"):
        return rng.choice((0, 0, 1, 1, 2, 3, -1))
    if text == "float":
        return rng.choice((0.5, 1.0, 2.0, 0.0))
    if text in ("Scalar", "number"):
        return rng.choice((1, 2, 0.5))
    if text == "bool":
        return rng.random() < 0.5
    if text == "str":
        return rng.choice(("sum", "mean", "ij,jk->ik", "constant", "add", "same", "reflect"))
    if text == "ScalarType":
        return rng.choice((FLOATS, opyard.int64))
    if text == "Device":
        return "cpu"
    if text == "MemoryFormat":
        return 0
    return None


def attempt(op, rng):
    shape = rng.choice(SHAPES)
    given, names = [], {}
    for each in op._schema.arguments:
        if each.has_default_value() and rng.random() < 0.6:
            if not each.kwarg_only:
                break
            continue
        value = value_for(each.name, str(each.type), rng, shape)
        if each.kwarg_only:
            names[each.name] = value
        else:
            given.append(value)
    return Call(op, given, names)


def answers(call):
    try:
        result = call()
    except Exception:
        return False
    return not isinstance(result, opyard.Tensor) or result.numel() > 0


def call_of_form(op):
    """Of f.out and f_ that of f, with its result to write to, or with its first argument."""
    names = [each.name for each in op._schema.arguments]
    packet, _, overload = op.name().partition("::")[2].partition(".")
    overload = "" if overload == "out" else overload.removesuffix("_out")
    if names[-1:] != ["out"] and not packet.endswith("_"):
        return None
    try:
        form = getattr(getattr(opyard.ops.aten, packet.removesuffix("_")), overload or "default")
    except AttributeError:
        return None
    call = None if form is op else call_of(form)
    if call is None:
        return None
    if packet.endswith("_"):
        made = Call(op, call.args, call.kwargs).changed(lambda x: x.clone())
        return made if answers(made) else None
    made = Call(op, call.args, {**call.kwargs, "out": call()})
    return made if answers(made) else None


@functools.cache
def call_of(op):
    """The first call that it answers, with an element in its result."""
    table = TABLE.get(op.name().partition("::")[2])
    if table is not None:
        return Call(op, *table())
    if (call := call_of_form(op)) is not None:
        return call
    rng = random.Random(zlib.crc32(op.name().encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(ATTEMPTS):
            call = attempt(op, rng)
            if answers(call):
                return call
    return None


def _call(*args, **kwargs):
    """Arguments made anew for each use; a tuple is a tensor of such a shape."""

    def of(value):
        if isinstance(value, tuple):
            return numbers(list(value))
        return [of(each) for each in value] if isinstance(value, list) else value

    return lambda: ([of(each) for each in args], {name: of(each) for name, each in kwargs.items()})


def _whole(*values):
    return opyard.tensor(list(values))


_IMAGES, _BAGS = (1, 2, 4, 4), [_whole(0, 1, 1), _whole(0, 2), _whole(0, 0, 1), _whole(2, 1)]
_VOLUMES, _ONES = (1, 2, 4, 4, 4), [1, 1]
_GATES = [(3 * 2, 3), (3 * 2, 2), (3 * 2,), (3 * 2,)], [(4 * 2, 3), (4 * 2, 2), (4 * 2,), (4 * 2,)]
_NETWORK = [True, 1, 0.0, False, False, False]
TABLE = {
    "_embedding_bag_backward": _call((2, 3), *_BAGS, _whole(), 4, False, 0, False, None),
    "_embedding_bag_dense_backward": _call(
        (2, 3), *[_BAGS[0], *_BAGS[2:]], _whole(), 4, False, 0, None
    ),
    "_native_multi_head_attention": _call(
        (2, 3, 4), (2, 3, 4), (2, 3, 4), 4, 2, (12, 4), (12,), (4, 4), (4,)
    ),
    "avg_pool2d_backward": _call((1, 2, 2, 2), _IMAGES, [2, 2], [2, 2], [0, 0], False, True, None),
    "avg_pool3d_backward": _call(
        (1, 2, 2, 2, 2), _VOLUMES, [2] * 3, [2] * 3, [0] * 3, False, True, None
    ),
    "cholesky": lambda: ([opyard.ops.aten.eye(3)], {}),
    "col2im": _call((1, 8, 4), [4, 4], [2, 2], _ONES, [0, 0], [2, 2]),
    "convolution_backward": _call(
        (1, 3, 3, 3), _IMAGES, (3, 2, 2, 2), [3], _ONES, [0, 0], _ONES, False, [0, 0], 1, [True] * 3
    ),
    "diagonal_backward": _call((3,), [3, 3], 0, 0, 1),
    "grid_sampler": _call(_IMAGES, (1, 2, 3, 2), 0, 0, False),
    "grid_sampler_2d": _call(_IMAGES, (1, 2, 3, 2), 0, 0, False),
    "grid_sampler_3d": _call(_VOLUMES, (1, 2, 3, 2, 3), 0, 0, False),
    "gru.input": _call((5, 1, 3), (1, 1, 2), _GATES[0], *_NETWORK),
    "gru_cell": _call((1, 3), (1, 2), *_GATES[0]),
    "linalg_cholesky": lambda: ([opyard.ops.aten.eye(3)], {}),
    "linalg_norm.ord_str": _call((3, 3), "fro"),
    "lstm.input": _call((5, 1, 3), [(1, 1, 2), (1, 1, 2)], _GATES[1], *_NETWORK),
    "lstm_cell": _call((1, 3), [(1, 2), (1, 2)], *_GATES[1]),
    "max_pool3d_with_indices_backward": _call(
        (1, 1, 1, 1, 1),
        (1, 1, 2, 2, 2),
        [2] * 3,
        [2] * 3,
        [0] * 3,
        [1] * 3,
        False,
        opyard.ops.aten.zeros([1, 1, 1, 1, 1], dtype=opyard.int64),
    ),
    "meshgrid.indexing": _call([(3,), (2,)], indexing="xy"),
    "native_group_norm_backward": _call(
        (1, 2, 4), (1, 2, 4), (1, 2), (1, 2), (2,), 1, 2, 4, 2, [True] * 3
    ),
    "one_hot": lambda: ([_whole(0, 2, 1)], {}),
    "_convolution": _call(
        _IMAGES, (3, 2, 2, 2), (3,), _ONES, [0, 0], _ONES, False, [0, 0], 1, *[False] * 4
    ),
    "_convolution.deprecated": _call(
        _IMAGES, (3, 2, 2, 2), (3,), _ONES, [0, 0], _ONES, False, [0, 0], 1, *[False] * 3
    ),
    "reflection_pad2d": _call(_IMAGES, [1] * 4),
    "reflection_pad2d_backward": _call((1, 2, 6, 6), _IMAGES, [1] * 4),
    "reflection_pad3d": _call(_VOLUMES, [1] * 6),
    "reflection_pad3d_backward": _call((1, 2, 6, 6, 6), _VOLUMES, [1] * 6),
    "replication_pad2d_backward": _call((1, 2, 6, 6), _IMAGES, [1] * 4),
    "replication_pad3d": _call(_VOLUMES, [1] * 6),
    "replication_pad3d_backward": _call((1, 2, 6, 6, 6), _VOLUMES, [1] * 6),
    "rnn_relu.input": _call((5, 1, 3), (1, 1, 4), [(4, 3), (4, 4), (4,), (4,)], *_NETWORK),
    "rnn_tanh.input": _call((5, 1, 3), (1, 1, 4), [(4, 3), (4, 4), (4,), (4,)], *_NETWORK),
    "unfold_backward": _call((2, 2), [4], 0, 2, 2),
    "view_as_complex": _call((3, 2)),
    "view_as_complex_copy": _call((3, 2)),
}
