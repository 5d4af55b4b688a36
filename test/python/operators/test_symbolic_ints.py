"""test_symbolic_ints.py: symbolic ints in calls of compositions, on a walk of all that take them.

Suspect kernels/src/geometry/symbolic_calls.cpp, and the file of kernels/src that has the operator.
"""

import re
import warnings

import pytest
from operator_calls import call_of, overloads
from symbols import Node

import opyard
from opyard import SymInt
from opyard.dispatch import DispatchMode, has_kernel

pytestmark = pytest.mark.once

aten = opyard.ops.aten


def takes_symbolic(op):
    return [each for each in op._schema.arguments if str(each.type).startswith("SymInt")]


def compositions():
    for op in overloads():
        if has_kernel(op.name(), "CompositeImplicitAutograd") and takes_symbolic(op):
            yield op


def on_meta(x):
    return aten.empty(list(x.shape), dtype=x.dtype, device="meta")


def with_symbol(call, argument):
    """The arguments by name with one int of this argument symbolic; None if it has no int."""
    names = [each.name for each in call.op._schema.arguments]
    given = dict(zip(names, call.args, strict=False)) | call.kwargs
    value = given.get(argument.name, argument.default_value)
    if isinstance(value, int):
        return given | {argument.name: SymInt(Node("n", value))}
    if isinstance(value, (list, tuple)) and value:
        first, *rest = value
        return given | {argument.name: [SymInt(Node("n", first)), *rest]}
    return None


def shapes(value):
    if isinstance(value, opyard.Tensor):
        return [[int(size) for size in value.shape]]
    several = value if isinstance(value, (list, tuple)) else ()
    return [shape for each in several for shape in shapes(each)]


def test_every_composition_takes_a_symbolic_int_on_meta():
    asked, wrong = 0, []
    for op in compositions():
        call = call_of(op)
        assert call is not None, op.name()
        call = call.changed(on_meta)
        if any(each.name == "device" for each in op._schema.arguments):
            call.kwargs["device"] = "meta"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = shapes(call())
            except NotImplementedError:
                continue  # not on meta
            for argument in takes_symbolic(op):
                if (given := with_symbol(call, argument)) is None:
                    continue
                asked += 1
                try:
                    if (got := shapes(op(**given))) != wanted:
                        wrong.append((op.name(), argument.name, got, wanted))
                except Exception as error:
                    wrong.append((op.name(), argument.name, str(error)))
    assert asked > 100
    assert not wrong, "\n".join(map(str, wrong))


class Seeing(DispatchMode):
    def __init__(self):
        self.seen = []

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        values = [*args, *kwargs.values()]
        if any(is_symbolic(value) for value in values):
            self.seen.append(op.name())
        if any(each.name == "device" for each in op._schema.arguments):
            kwargs["device"] = "meta"
        return op(*args, **kwargs)


def is_symbolic(value):
    if isinstance(value, (list, tuple)):
        return any(is_symbolic(each) for each in value)
    return isinstance(value, SymInt)


def meta(*sizes):
    return aten.empty(list(sizes), device="meta")


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda n: aten.new_zeros(opyard.ones(2), [n, 3]), "aten::new_zeros"),
        (lambda n: aten.new_ones(opyard.ones(2), [n, 3]), "aten::new_ones"),
        (lambda n: aten.new_full(opyard.ones(2), [n, 3], 2), "aten::new_full"),
        (lambda n: aten.new_empty(opyard.ones(2), [n]), "aten::new_empty"),
        (lambda n: aten.new_empty_strided(opyard.ones(2), [n], [1]), "aten::new_empty_strided"),
        (lambda n: aten.reshape(meta(n * 2), [2, n]), "aten::view"),
        (lambda n: aten.repeat(meta(2), [n]), "aten::expand"),
        (lambda n: aten.split(meta(12), n)[0], "aten::split.Tensor"),
        (lambda n: aten.split_with_sizes(meta(9), [n, 9 - n])[0], "aten::split_with_sizes"),
        (lambda n: aten.pad(meta(2, 3), [n, n]), "aten::constant_pad_nd"),
        (lambda n: aten.slice_scatter(meta(9), meta(2), 0, n, n + 2), "aten::slice.Tensor"),
    ],
)
def test_modes_see_the_symbol_in_the_parts(call, part):
    Node.decided.clear()
    with Seeing() as mode:
        call(SymInt(Node("n", 5)))
    assert part in mode.seen
    assert {text for text, *_ in Node.decided} <= {"(((12 + n) - 1) // n)"}


def test_numbers_of_another_kind_than_sizes_are_decided():
    Node.decided.clear()
    images, weight = opyard.ones(1, 1, 4, 4), opyard.ones(1, 1, 2, 2)
    two = SymInt(Node("n", 2))
    assert aten.conv2d(images, weight, stride=[two, 2]).tolist() == [[[[4.0] * 2] * 2]]
    assert [text for text, *_ in Node.decided] == ["n"]


def test_the_kernel_of_a_part_that_takes_plain_ints_refuses_by_its_name():
    with pytest.raises(TypeError, match="SymInt n, a number that is not known here"):
        opyard.ones(2).new_zeros([SymInt(Node("n", 5))])


def symbolic(x):
    """The same on meta, each of its sizes a symbol."""
    return aten.empty([SymInt(Node(f"s{n}", n)) for n in x.shape], dtype=x.dtype, device="meta")


def test_every_operator_takes_symbolic_sizes_or_refuses_them_by_its_name():
    wrong, taken, refused = [], 0, 0
    for op in overloads():
        call = call_of(op)
        if call is None or op._schema.is_mutable:
            continue
        try:
            known = shapes(call.changed(on_meta)())
        except Exception:  # Meta has no kernel, or the result depends on elements
            continue
        try:
            found = shapes(call.changed(symbolic)())
        except (ValueError, NotImplementedError) as error:
            refused += 1
            if not re.match(r"(aten|opyard)::\w+", str(error)):
                wrong.append(f"{op.name()}: {type(error).__name__}: {error}")
            continue
        except Exception as error:
            wrong.append(f"{op.name()}: {type(error).__name__}: {error}")
            continue
        taken += 1
        if found != known:
            wrong.append(f"{op.name()}: {found}, and {known} without symbols")
    assert not wrong, "\n".join(wrong)
    assert taken > 200 and refused > 50
