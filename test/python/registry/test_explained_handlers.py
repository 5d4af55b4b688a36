"""test_explained_handlers.py (X48): who a call asks, and what it is taped by, in explain().

Suspect _dispatch/explanation.py, and asked_handlers() in kernels/handlers.cpp.
"""

import pytest

import opyard
from opyard import autograd
from opyard.dispatch import DispatchMode, dump_table, explain
from opyard.library import register_opyard_dispatch

asked = []


class Asking(DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        asked.append(self)
        return NotImplemented


class Below(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        asked.append(cls)
        return NotImplemented


class Above(Below):
    pass


class Silent(opyard.Tensor):
    __opyard_dispatch__ = opyard.dispatch.disabled_dispatch


def line_of(function):
    return f"{function.__qualname__} at {__file__}:{function.__code__.co_firstlineno}"


@pytest.fixture
def op(define):
    return define("f(Tensor x, Tensor[] more, *, Tensor? y=None) -> Tensor", CPU=lambda *a, **k: 0)


@pytest.fixture
def x():
    return opyard.tensor([1.0, 2.0])


def test_X48_those_that_a_call_asks_are_named_in_order_with_argument_and_rule(op, library, x):
    def rule(receiver, op, types, args, kwargs):
        asked.append(rule)
        return NotImplemented

    register_opyard_dispatch(op, Below, rule, lib=library)
    below, above, silent = x.as_subclass(Below), x.as_subclass(Above), x.as_subclass(Silent)
    with Asking() as outer, Asking() as inner:
        explanation = explain(op, below, [x, silent, above], y=below)
        del asked[:]
        with pytest.raises(TypeError, match="no implementation found"):
            op(below, [x, silent, above], y=below)
    assert [each.receiver for each in explanation.asked] == [inner, outer, Above, Below]
    assert asked == [inner, outer, Above, rule, Below]
    assert [each.is_mode for each in explanation.asked] == [True, True, False, False]
    assert [each.arguments for each in explanation.asked] == [(), (), ("more",), ("x", "y")]
    assert [each.rule for each in explanation.asked] == ["", "", "", line_of(rule)]
    of_mode, of_class = Asking.__opyard_dispatch__, Below.__opyard_dispatch__.__func__
    handlers = [line_of(of_mode)] * 2 + [line_of(of_class)] * 2
    assert [each.handler for each in explanation.asked] == handlers
    lines = str(explanation).splitlines()
    i = lines.index("  which asks, until one answers:")
    assert lines[i - 1].startswith("  runs at Python")
    assert lines[i + 1 : i + 5] == [
        f"    the mode {inner!r}: {line_of(of_mode)}",
        f"    the mode {outer!r}: {line_of(of_mode)}",
        f"    the class Above, of 'more': {line_of(of_class)}",
        f"    the class Below, of 'x', 'y': the operator's rule {line_of(rule)}, then "
        f"{line_of(of_class)}",
    ]


def test_X48_a_call_that_asks_no_one_says_nothing_of_it(op, x):
    for args in ((x, []), (x, [x.as_subclass(Silent)])):
        explanation = explain(op, *args)
        assert explanation.asked == () and " asks" not in str(explanation)


def test_X48_a_kernel_before_the_handlers_is_told_from_them(define, x):
    op = define("f(Tensor x) -> Tensor", AutogradCPU=lambda x: x)
    explanation = explain(op, x.as_subclass(Below))
    assert explanation.key.name == "AutogradCPU"
    assert [each.receiver for each in explanation.asked] == [Below]
    assert "  at Python it would ask:\n    the class Below, of 'x'" in str(explanation)


def test_X48_a_call_that_is_taped_says_by_which_formula(define, library, x):
    leaf = opyard.tensor([3.0, 4.0]).requires_grad_()
    aten = opyard.ops.aten
    says = "self: sum_to(grad * conj(other), self); other: sum_to(grad * conj(self), other)"
    explanation = explain(aten.mul, leaf, x)
    assert explanation.taped == f"by {says}"
    (row,) = [each for each in explanation.considered if each.key.name == "AutogradCPU"]
    assert (row.reason, row.provenance) == ("tapes the call", f"by {says}")
    assert f"AutogradCPU            tapes the call, by {says}\n" in str(explanation)
    assert explain(aten.cat, [x, leaf]).taped.startswith("by ")
    # What is not taped says so as well.
    assert explain(aten.mul, x, x).taped == "" == explain(aten.mul, x, leaf.detach()).taped
    with autograd.no_grad():
        assert explain(aten.mul, leaf, x).taped == ""
    plain = define("plain(Tensor x) -> Tensor", CPU=lambda x: x.clone())
    assert explain(plain, leaf).taped.startswith("without a derivative: backward() through a ")
    # In place by the functional form; a formula that gives nothing tapes nothing.
    assert explain(aten.mul_, leaf * 1, x).taped == f"by {says}"
    assert explain(aten.zeros_like, leaf).taped == ""
    own = define("own(Tensor x) -> Tensor", CPU=lambda x: x, AutogradCPU=lambda x: x)
    assert explain(own, leaf).taped == ""


def test_X48_a_call_that_python_or_its_parts_tape_says_who(define, library, x):
    leaf = opyard.tensor([3.0, 4.0]).requires_grad_()

    def backward(ctx, grad):
        return grad

    op = define("mine(Tensor x) -> Tensor", CPU=lambda x: x.clone())
    opyard.library.register_autograd(op, backward, lib=library)
    assert explain(op, leaf).taped == f"by {line_of(backward)}"
    aten = opyard.ops.aten
    explanation = explain(aten.linear, x, opyard.ones(2, 2).requires_grad_())
    assert explanation.taped == "by the operators that it calls"
    lines = str(explanation).splitlines()
    (ran,) = [i for i, line in enumerate(lines) if line.startswith("  runs at Autograd")]
    assert lines[ran + 1] == "    the operators that it calls are taped"
    assert explain(aten.linear, x, opyard.ones(2, 2)).taped == ""
    # What cuts a history off tapes nothing.
    assert explain(aten.detach, leaf).taped == ""


def test_X48_the_table_shows_first_what_was_registered(define):
    op = define("f(Tensor x) -> Tensor", XLA=lambda x: x, AutogradMeta=lambda x: x)
    folded, whole = dump_table(op).splitlines(), dump_table(op, whole=True).splitlines()
    own = [line for line in folded if not line.startswith("remote:")]  # if that is loaded
    assert [line.partition(":")[0] for line in own[:2]] == ["XLA", "AutogradMeta"]
    passing = [line for line in whole if ": fallthrough built in" in line]
    assert folded[-1] == f"{len(passing)} more: fallthrough, built in; whole=True names them"
    assert set(folded[:-1]) == set(whole) - set(passing)


class Hostile(DispatchMode):
    def __repr__(self):
        raise ValueError("no text")

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return NotImplemented


def test_X48_who_cannot_show_itself_is_named_as_an_object(op, library, x):
    def rule(receiver, op, types, args, kwargs):
        return NotImplemented

    rule.__wrapped__ = rule
    register_opyard_dispatch(op, Hostile, rule, lib=library)
    with Hostile():
        (asked,) = explain(op, x, []).asked
        assert f"Hostile object at {hex(id(asked.receiver))}" in str(asked)
    assert asked.rule == rule.__qualname__


@pytest.mark.parametrize("op", ["aten::relu", "aten::add.Tensor", "aten::add", "aten::cat"])
def test_an_array_is_read_once(op):
    """It may be a large one on a device, or count who reads it."""
    numpy = pytest.importorskip("numpy")
    reads = []

    class Array:
        ndim = 1

        def __dlpack__(self, **options):
            reads.append(options)
            return numpy.ones(3).__dlpack__(**options)

        def __dlpack_device__(self):
            return (1, 0)

    x = opyard.tensor([1.0, 2.0, 3.0])
    given = {"aten::relu": (Array(),), "aten::cat": ([x, Array()],)}.get(op, (x, Array()))
    explanation = explain(op, *given)
    assert explanation.key.name == "CPU" and len(reads) == 1
