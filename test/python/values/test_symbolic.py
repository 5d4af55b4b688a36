"""Protects symbolic numbers in Python: nodes by name, the way to C++ and back, who accepts them.

Suspect opyard/_tensor/symbolic.py, objects/values/symbolic.cpp, dispatcher/src/value/sym.cpp.
"""

import math
import operator

import pytest
from built import plugin_path
from symbols import Node

import opyard
from opyard import SymBool, SymFloat, SymInt, Tensor


@pytest.fixture(scope="module")
def slots():
    opyard.load_library(plugin_path("opyard_vtable_plugin"))
    return opyard.ops.test_vtable


@pytest.fixture
def n():
    Node.decided.clear()
    return SymInt(Node("n", 5))


def test_E34_arithmetic_makes_nodes_and_decides_nothing(n):
    x = SymFloat(Node("x", 2.5, float))
    assert repr(n + 1) == "(n + 1)"
    assert repr(2 * n - 1) == "((2 * n) - 1)"
    assert repr((7 // n) % 3) == "((7 // n) % 3)"
    assert repr(-n) == "-n"
    assert repr(n**2) == "(n ** 2)"
    assert repr(n + x) == "(float(n) + x)"
    assert repr(x + n) == "(x + float(n))"
    assert repr(n / 2.0) == "(float(n) / 2.0)"
    assert type(math.floor(x)) is SymInt
    assert type(math.ceil(x)) is SymInt
    assert type(n < 3) is SymBool
    assert repr((n < 3) & (n != 4) | True) == "(((n < 3) and (n != 4)) or True)"
    assert repr(~(n == 5)) == "not (n == 5)"
    assert Node.decided == []
    with pytest.raises(TypeError):
        n + "text"


def test_E34_using_the_value_decides_it_and_says_who_asked(n):
    assert int(n + 1) == 6
    [(text, file, line)] = Node.decided
    assert text == "(n + 1)"
    assert file == __file__
    assert line > 0
    assert float(SymFloat(Node("x", 2.5, float))) == 2.5
    assert float(n) == 5.0
    assert bool(n > 4) is True
    assert [text for text, *_ in Node.decided][-1] == "(n > 4)"
    assert n
    assert bool(SymFloat(Node("x", 2.5, float))) is True
    assert bool(SymFloat(Node("x", 0.0, float))) is False


def test_E34_a_symbolic_number_is_no_index_and_has_no_hash(n):
    with pytest.raises(TypeError):
        operator.index(n)
    with pytest.raises(TypeError, match="a SymInt has no hash"):
        hash(n)


def test_E34_symbolic_types_take_them_and_give_the_same_node_back(define, n):
    same = define("same(SymInt n) -> SymInt", CompositeExplicitAutograd=lambda n: n)
    assert same(n).node is n.node
    assert same(7) == 7
    assert type(same(7)) is int
    floats = define("floats(SymFloat n) -> SymFloat", CompositeExplicitAutograd=lambda n: n)
    x = SymFloat(Node("x", 2.5, float))
    assert floats(x).node is x.node
    truths = define("truths(SymBool n) -> SymBool", CompositeExplicitAutograd=lambda n: n)
    b = n > 3
    assert truths(b).node is b.node
    sizes = define("sizes(SymInt[] n) -> SymInt[]", CompositeExplicitAutograd=lambda n: n)
    [first, second] = sizes([2, n])
    assert first == 2
    assert second.node is n.node
    maybe = define("maybe(SymInt? n=None) -> SymInt?", CompositeExplicitAutograd=lambda n=None: n)
    assert maybe(n).node is n.node
    assert maybe() is None


@pytest.mark.parametrize("schema_type", ["int", "float", "bool", "Scalar", "SymFloat", "SymBool"])
def test_E34_everything_else_refuses_them_by_name(define, n, schema_type):
    op = define(f"f({schema_type} n) -> ()", CompositeExplicitAutograd=lambda n: None)
    with pytest.raises(TypeError) as raised:
        op(n)
    message = str(raised.value)
    assert f"Expected a value of type '{schema_type}'" in message or "'number'" in message
    assert "'SymInt'" in message
    assert Node.decided == []


def test_E34_cpp_computes_with_nodes_of_python(slots, n):
    assert repr(slots.twice_and_one(n)) == "((n * 2) + 1)"
    assert slots.twice_and_one(3) == 7
    assert slots.decide(n) == 5
    assert Node.decided[-1][0] == "n"
    assert Node.decided[-1][1] == "vtable_plugin.cpp"


def test_E34_python_computes_with_nodes_of_cpp(slots):
    m = slots.cpp_symbol("m", 4)
    assert type(m) is SymInt
    assert repr(m + 1) == "(m + 1)"
    assert repr(slots.twice_and_one(m - 1)) == "(((m - 1) * 2) + 1)"
    assert int(m * m) == 16
    assert bool(m == 4) is True
    assert slots.cpp_symbol("m", 4).node is not m.node
    assert slots.same(m).node.maybe_as_int() is None


def test_E34_two_reasoners_do_not_meet(slots, n):
    m = slots.cpp_symbol("m", 4)
    with pytest.raises(TypeError, match=r"add\(\) takes a SymNode, not a Node"):
        m + n
    with pytest.raises(NotImplementedError, match="symbolic numbers of two reasoners, n and m"):
        slots.add(n, m)


def test_E34_what_a_node_raises_comes_out_as_itself(slots):
    class Failing(Node):
        def mul(self, other):
            raise KeyError("mine")

        def guard_int(self, file, line):
            return "five"

    with pytest.raises(KeyError, match="mine"):
        slots.twice_and_one(SymInt(Failing("n", 5)))
    with pytest.raises(
        RuntimeError, match=r"guard_int\(\) of a node gave a str; an int is expected"
    ):
        slots.decide(SymInt(Failing("n", 5)))


def test_E34_a_kernel_that_takes_plain_ints_refuses_symbolic_ones(n):
    with pytest.raises(TypeError) as raised:
        opyard.ops.aten.zeros([2, n])
    assert str(raised.value).startswith(
        "aten::zeros: size[1] is a SymInt, and the kernel of this call takes an int: expected Int "
        "but got SymInt n, a number that is not known here; "
    )


class Shaped(Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return None


def test_E34_a_wrapper_may_be_made_with_symbolic_sizes(slots, n):
    made = Tensor.make_wrapper_subclass(Shaped, [n, 3])
    assert made.ndim == 2
    assert made.shape[0].node is n.node
    assert made.shape[1] == 3
    assert repr(made.strides) == "(3, 1)"
    assert repr(made.numel()) == "(n * 3)"
    assert made.size(-2).node is n.node
    with pytest.raises(ValueError) as raised:
        slots.plain_sizes(made)
    assert str(raised.value) == (
        "test_vtable::plain_sizes: x is float32[n, 3] on cpu, and the kernel of this call takes "
        "sizes that are known: Cannot call sizes on a tensor with symbolic shapes/strides. Known "
        "sizes are needed; in a fake kernel, make the result by empty(), or put the call into an "
        "operator of its own with register_fake()."
    )
    wide = Tensor.make_wrapper_subclass(Shaped, [2, n])
    assert repr(wide.strides) == "((1 * (n max 1)), 1)"


def test_E9_symbolic_answers_are_for_those_who_take_them(slots, n):
    class Asked(Tensor):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return {"size": [n, 2], "sym_size": [n, 2], "dim": 2}.get(op.name().partition("::")[2])

    made = Tensor.make_wrapper_subclass(Asked, (1, 2), dispatch_sizes_strides_policy="sizes")
    assert made.shape[0].node is n.node
    with pytest.raises(ValueError) as raised:
        slots.plain_sizes(made)
    assert str(raised.value).startswith("test_vtable::plain_sizes: Cannot call sizes on a tensor")
