"""test_value_protocol.py: objects that stand for a value of an operator.

Suspect value_protocol.cpp, convert.cpp.
"""

import gc
import weakref

import numpy as np
import pytest

import opyard


class StandIn:
    """Stands for what it was made with, and counts how often it is asked."""

    def __init__(self, value):
        self.value = value
        self.asked = 0

    def __opyard_value__(self):
        self.asked += 1
        return self.value

    def __repr__(self):
        return "<a stand-in>"


def kernel(*args, **kwargs):
    return [args, kwargs]


KINDS = [
    ("int", 3), ("float", 1.5), ("bool", True), ("str", "text"), ("complex", 1j), ("Scalar", 2),
    ("int[]", [1, 2]), ("int?", 4), ("Tensor?", None), ("Dict(str, int)", {"a": 1}),
    ("(int, str)", (1, "b")), ("SymInt", 5), ("Union(int, str)", "one"), ("int[2]", 7),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), KINDS, ids=[kind for kind, _ in KINDS])
def test_F57_an_object_stands_for_a_value_of_each_type(define, kind, value):
    f = define(f"f({kind} v) -> Any", CompositeExplicitAutograd=lambda v: [v])
    object_ = StandIn(value)
    assert f(object_) == f(value)
    assert object_.asked == 1, "once a call"


def test_F57_a_tensor_goes_to_kernels_in_python_and_in_cpp(define, plugin, x):
    f = define("f(Tensor x, Tensor[] more) -> Tensor", CPU=lambda x, more: x + more[0])
    assert f(StandIn(x), [StandIn(x)]).tolist() == [2.0, 4.0, 6.0]
    assert opyard.ops.aten.add.Tensor(StandIn(x), x).tolist() == [2.0, 4.0, 6.0]
    assert opyard.ops.aten.add(x, other=StandIn(2)).tolist() == [3.0, 4.0, 5.0]


def test_F57_it_may_stand_for_an_array_of_others(define):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2)
    array = np.array([1.0, 2.0])
    assert f(StandIn(array)).tolist() == [2.0, 4.0]


def test_F57_it_stands_for_elements_too(define, x):
    f = define("f(int[] n, Dict(str, float) d) -> Any", CompositeExplicitAutograd=kernel)
    assert f([1, StandIn(2)], {"a": StandIn(0.5)}) == [([1, 2], {"a": 0.5}), {}]


def test_F57_who_fits_is_not_asked(define):
    class Both(float):
        def __opyard_value__(self):
            raise AssertionError("not asked")

    f = define("f(float v) -> float", CompositeExplicitAutograd=lambda v: v)
    assert f(Both(1.5)) == 1.5


def test_F57_any_takes_the_object_itself(define):
    f = define("f(Any v) -> Any", CompositeExplicitAutograd=lambda v: v)
    object_ = StandIn(3)
    assert f(object_) is object_ and object_.asked == 0


def test_F57_results_of_kernels_may_be_such_objects(define, x):
    f = define("f(Tensor x) -> (Tensor, int)", CPU=lambda x: (StandIn(x), StandIn(3)))
    tensor, number = f(x)
    assert tensor is x and number == 3


def test_F57_overloads_are_told_apart_by_what_it_stands_for(library, ns):
    for schema, answer in (("f.int(int v) -> str", "int"), ("f.str(str v) -> str", "str")):
        name = library.define(schema)
        library.impl(name, lambda v, answer=answer: answer, "CompositeExplicitAutograd")
    f = getattr(opyard.ops, ns).f
    assert (f(StandIn(1)), f(StandIn("a"))) == ("int", "str")


def test_F57_one_that_stands_for_something_else_is_refused(define, ns, x):
    f = define("f(Tensor x, int[] n) -> ()", CPU=lambda x, n: None)
    with pytest.raises(TypeError) as caught:
        f(StandIn("text"), [1])
    assert str(caught.value) == (
        f"{ns}::f() Expected a value of type 'Tensor' for argument 'x' but instead found type "
        "'StandIn'.\nPosition: 0\nValue: <a stand-in>\n"
        f"Declaration: {ns}::f(Tensor x, int[] n) -> ()\n"
        "Cast error details: x.__opyard_value__() is of type 'str', where 'Tensor' is expected"
    )
    with pytest.raises(TypeError, match=r"n\[1\]\.__opyard_value__\(\) is of type 'float', where"):
        f(x, [1, StandIn(1.5)])
    with pytest.raises(TypeError, match="found type 'StandIn'"):
        f(StandIn(StandIn(x)), [1])


def test_F57_what_it_raises_comes_out_as_it_is(define):
    class Broken:
        def __opyard_value__(self):
            raise error

    error = KeyError("mine")
    f = define("f(int v) -> ()", CompositeExplicitAutograd=lambda v: None)
    with pytest.raises(KeyError) as caught:
        f(Broken())
    assert caught.value is error


def test_F57_nothing_is_kept(define, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2)
    object_ = StandIn(opyard.tensor([1.0]))
    of_object, of_tensor = weakref.ref(object_), weakref.ref(object_.value)
    f(object_)
    del object_
    gc.collect()
    assert of_object() is None and of_tensor() is None


def test_F57_functions_are_arguments_as_themselves(define):
    f = define("f(Any function, int n) -> int",
               CompositeExplicitAutograd=lambda function, n: function(n))  # fmt: skip
    assert f(lambda n: n + 1, 2) == 3
