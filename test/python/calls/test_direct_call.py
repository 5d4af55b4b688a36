"""test_direct_call.py: calls that skip the stack give what calls through the stack give.

Every call is made both ways, and what comes out is compared: results, errors, and what a kernel in
Python saw. Suspect operators/direct_call.cpp.
"""

import itertools
import threading

import pytest

import opyard
from opyard.dispatch import DispatchKey, ExcludeDispatchKeyGuard

pytestmark = pytest.mark.memory


class Sub(opyard.Tensor):
    def __new__(cls, data):
        return opyard.Tensor.make_subclass(cls, opyard.tensor(data))


class Texts(str):
    pass


class Node:
    """A number that is not known."""

    def is_int(self):
        return True

    def is_float(self):
        return False

    def is_bool(self):
        return False

    def __str__(self):
        return "n"


class Index:
    def __index__(self):
        return 3


X = opyard.tensor([1.0, 2.0])
Y = Sub([3.0, 4.0])
M = opyard.tensor([[1.0, 2.0], [4.0, 3.0]])

# What is tried for each type: ready objects, objects to convert, the default, and wrong ones.
OBJECTS = {
    "Tensor": [X, Y, None, 3, [X]],
    "Tensor?": [X, Y, None, "no"],
    "int": [5, 7, True, Index(), 1 << 70, 2.5, opyard.tensor(3), None],
    "float": [2.5, 0.5, 3, True, float("nan"), "no", None],
    "bool": [True, False, 1, None],
    "str": ["a", "b", Texts("a"), 3, "\ud800"],
    "SymInt": [5, 7, True, Index(), 1 << 70, 2.5, opyard.tensor(3), opyard.SymInt(Node()), None],
    "SymFloat": [2.5, 0.5, 3, float("nan"), "no", opyard.SymInt(Node()), None],
    "SymBool": [True, False, 1, None],
    "Scalar": [5, 1, 1.0, True, 2j, opyard.tensor(3.0), "no"],
    "int[]": [[1, 2], (3,), 3],
    "Device": ["cpu", opyard.device("cpu"), 3],
}

SCHEMAS = [
    "f(Tensor x) -> Tensor",
    "f(Tensor x, Tensor y) -> Tensor",
    "f(Tensor x, Tensor? y=None) -> Tensor",
    "f(Tensor x, int n) -> Tensor",
    "f(Tensor x, int n=5, *, float a=0.5) -> Tensor",
    "f(Tensor x, SymInt n=5, *, SymFloat a=0.5) -> Tensor",
    "f(Tensor x, SymInt n, SymBool b=False) -> Tensor",
    "f(Tensor x, float a=2.5, bool b=True) -> Tensor",
    'f(Tensor x, *, Tensor y, str s="a") -> Tensor',
    "f(Tensor x, Scalar a=1) -> Tensor",
    "f(Tensor x, int[] n) -> Tensor",
    "f(Tensor x, Device d) -> Tensor",
    "f(int n) -> Tensor",
    "f(Tensor x, float a=nan) -> Tensor",
    'f(str s, str t="a") -> Tensor',
    "f() -> Tensor",
]


def outcome(call, seen):
    seen.clear()
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    return type(result), result if isinstance(result, opyard.Tensor) else repr(result), list(seen)


def same(a, b):
    """Objects by identity if they are tensors, else by type and text (NaN is not itself)."""
    if isinstance(a, (list, tuple)):
        return (
            type(a) is type(b)
            and len(a) == len(b)
            and all(itertools.starmap(same, zip(a, b, strict=True)))
        )
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    return a is b if isinstance(a, opyard.Tensor) else (type(a), repr(a)) == (type(b), repr(b))


def calls_of(schema):
    """Each parameter by position and by name, given and left out, with each object for its type."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    parameters = [part.split("=")[0].split() for part in inside.split(", ") if part]
    only_names, rows = False, []
    for parameter in parameters:
        if parameter == ["*"]:
            only_names = True
            continue
        type_name, name = parameter
        rows.append([(name, only_names, one) for one in OBJECTS[type_name]])
    for row in itertools.product(*rows):
        for given in range(len(row) + 1):
            args = [one for _, by_name, one in row[:given] if not by_name]
            kwargs = {name: one for name, by_name, one in row[:given] if by_name}
            yield args, kwargs
            yield args, dict(reversed(kwargs.items()))
            named = {name: one for name, _, one in row[1:given]}
            yield args[:1], named
            yield args, kwargs | {"unknown": 1}
    yield [X] * 9, {}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_X6_both_ways_give_the_same_with_a_kernel_in_python(define, schema):
    seen = []

    def kernel(*args, **kwargs):
        seen.append((args, kwargs))
        return X

    op = define(schema, CPU=kernel, CompositeExplicitAutograd=kernel).default
    tried = 0
    for args, kwargs in calls_of(schema):
        direct = outcome(lambda: op(*args, **kwargs), seen)  # noqa: B023
        boxed = outcome(lambda: op._call_boxed(*args, **kwargs), seen)  # noqa: B023
        assert same(direct, boxed), (args, kwargs)
        tried += 1
    assert tried > 3


RETURNED = [
    X,
    Y,
    None,
    3,
    1 << 70,
    True,
    2.5,
    "text",
    [X, X],
    (X, Y),
    (X,),
    (X, 3),
    (X, True),
    opyard.SymInt(Node()),
    {},
    [1],
    (1, 2),
]
RESULTS = [
    "()", "Tensor", "Tensor?", "int", "float", "bool", "str", "Scalar", "Tensor[]", "int[]",
    "(Tensor, Tensor)", "(Tensor, int)", "(int, int)", "SymInt", "SymFloat", "(Tensor, SymBool)",
]  # fmt: skip


@pytest.mark.parametrize("results", RESULTS)
def test_both_ways_take_the_same_results(define, results):
    """With errors that name operator, kernel and position."""
    give = []
    op = define(f"g(Tensor x) -> {results}", CPU=lambda x: give[0]).default
    kinds = set()
    for one in RETURNED:
        give[:] = [one]
        direct, boxed = outcome(lambda: op(X), []), outcome(lambda: op._call_boxed(X), [])
        assert same(direct, boxed), one
        kinds.add(len(direct))
        if len(direct) == 2:
            assert "g: the Python kernel registered at" in direct[1]
    assert kinds == {2, 3}


@pytest.mark.parametrize("kind", ["KeyError", "StopIteration", "KeyboardInterrupt"])
def test_an_exception_is_itself_both_ways(define, kind):
    error = {"KeyError": KeyError, "StopIteration": StopIteration}.get(kind, KeyboardInterrupt)("x")

    def kernel(x):
        raise error

    op = define("h(Tensor x) -> Tensor", CPU=kernel).default
    for call in (op, op._call_boxed):
        with pytest.raises(type(error)) as caught:
            call(X)
        assert caught.value is error
        assert caught.traceback[-1].name == "kernel"


C_CALLS = {
    "add": [(X, X), (X, 1), (X, X, 2), (Y, X), (X, None), (X,), (X, X, X)],
    "mul": [(X, Y), (X, 2.5), (2.5, X), (X, True), (X, 1 << 70)],
    "relu": [(X,), (Y,), (3,), (None,), ()],
    "sum": [(X,), (X, [0])],
    "alias": [(X,), (opyard.tensor(3),)],
    "pow": [(X, 2), (X, X), (2, X)],
    "t": [(opyard.tensor([[1, 2]]),), (opyard.tensor([[[1]]]),)],
    # From registers: numbers, defaults, None for a tensor, and other results than one new tensor.
    "narrow": [(X, 0, 1, 1), (X, 0, 0, True), (X, 0, 5, 1), (X, 0, 1 << 70, 1), (Y, 0, 0, 1)],
    "unfold": [(X, 0, 2, 1), (X, 0, 2), (X, 0, 2.5, 1)],
    "max": [(M,), (M, 0), (M, 1, True), (M, 1, 1), (M, 7), (M, X)],
    "relu_": [(X,), (Y,), (None,)],
    "dim": [(M,), (None,)],
    "equal": [(X, Y), (X, M), (X, None)],
    "native_layer_norm": [(X, [2], X, None, 0.5), (X, [2], None, None, 1)],
    "binary_cross_entropy_with_logits": [(X, X), (X, X, None), (X, X, X, None, 2), (X, X, None, Y)],
    "batch_norm": [(M, None, None, None, None, True, 0.1, 1e-5, False), (M, X, X, None, X, 1)],
}


def described(result):
    if isinstance(result, tuple):
        return [described(each) for each in result]
    if isinstance(result, opyard.Tensor):
        return (type(result), result.dtype, result.tolist())
    return (type(result), result)


@pytest.mark.parametrize("name", C_CALLS)
def test_both_ways_give_the_same_with_a_kernel_in_cpp(name):
    packet = getattr(opyard.ops.aten, name)
    for args in C_CALLS[name]:
        for overload in packet.overloads():
            op = getattr(packet, overload)
            both = []
            for call in (op, op._call_boxed):
                try:
                    both.append(described(call(*args)))
                except Exception as error:
                    both.append((type(error), str(error)))
            assert both[0] == both[1], (op, args)
    with pytest.raises(TypeError):
        packet(X, alpha=object())


def test_what_is_written_in_place_is_the_object_that_was_given():
    x = opyard.tensor([1.0, 2.0])
    assert opyard.ops.aten.add_.Tensor(x, x) is x
    assert opyard.ops.aten.mul_.Scalar(x, 0.5) is x
    assert x.tolist() == [1.0, 2.0]


def test_an_override_is_seen_by_the_next_call(ns, define):
    op = define("o(Tensor x) -> Tensor", CPU=lambda x: x).default
    assert op(X) is X
    with opyard.library.override(op, "CPU", lambda x: Y):
        assert op(X) is Y
    assert op(X) is X
    with ExcludeDispatchKeyGuard(DispatchKey.CPU), pytest.raises(NotImplementedError):
        op(X)


def test_a_kernel_may_take_itself_back_while_it_runs(ns, library):
    from opyard.library import Library

    library.define("gone(Tensor x) -> Tensor")
    other = Library(ns, "IMPL", "CPU")

    def kernel(x):
        other._destroy()
        return x

    other.impl("gone", kernel)
    del kernel
    op = getattr(opyard.ops, ns).gone.default
    assert op(X) is X
    with pytest.raises(NotImplementedError):
        op(X)


def test_a_first_call_on_a_thread_works(define):
    op = define("first(Tensor x) -> Tensor", CPU=lambda x: x).default
    seen = []
    thread = threading.Thread(target=lambda: seen.append((op(X), opyard.ops.aten.relu(X).tolist())))
    thread.start()
    thread.join()
    assert seen[0][0] is X
    assert seen[0][1] == [1, 2]


def test_a_trace_sees_direct_calls(define, capfd):
    op = define("seen(Tensor x) -> Tensor", CPU=lambda x: x).default
    with opyard.dispatch.DispatchLog():
        op(X)
        opyard.ops.aten.relu(X)
    shown = capfd.readouterr().err
    assert "::seen]" in shown
    assert "[aten::relu]" in shown
