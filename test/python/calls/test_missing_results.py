"""test_missing_results.py: results that a kernel forgot, and those that it may leave out.

Suspect operators/missing_results.cpp, and for kernels in Python kernels/results.cpp.
"""

import numpy
import pytest
from raised import message_of

import opyard


@pytest.fixture
def x():
    return opyard.tensor([1.0, 2.0])


FORGOTTEN = {"forget": ("Tensor", 0), "forget_second": ("(Tensor, Tensor)", 1)}


@pytest.mark.parametrize("name", FORGOTTEN)
@pytest.mark.parametrize("way", ["packet", "operator", "stack", "array"])
def test_an_undefined_tensor_of_a_kernel_in_cpp_is_refused(plugin, x, name, way):
    results, position = FORGOTTEN[name]
    packet = getattr(plugin, name)
    call = {
        "packet": packet,
        "operator": packet.default,
        "stack": packet.default._call_boxed,
        "array": packet,
    }[way]
    given = numpy.ones(2) if way == "array" else x
    assert message_of(RuntimeError, call, given) == (
        f"test_plugin::{name}: the kernel of this call gave an undefined tensor for result "
        f"{position}, but the schema says 'Tensor'; give it a tensor, or declare a result that may "
        f"be missing as 'Tensor?'.\nDeclaration: test_plugin::{name}(Tensor x) -> {results}"
    )


@pytest.mark.parametrize("way", ["packet", "operator", "stack"])
def test_an_undefined_tensor_in_a_list_of_a_kernel_in_cpp_is_refused(plugin, x, way):
    packet = plugin.forget_an_item
    call = {
        "packet": packet,
        "operator": packet.default,
        "stack": packet.default._call_boxed,
    }[way]
    assert message_of(RuntimeError, call, x) == (
        "test_plugin::forget_an_item: the kernel of this call gave an undefined tensor for item 1 "
        "of result 0, but the schema says 'Tensor[]'; give it a tensor, or declare a list whose "
        "items may be missing as 'Tensor?[]'.\n"
        "Declaration: test_plugin::forget_an_item(Tensor x) -> Tensor[]"
    )
    assert plugin.leave_item(x, [True, False]) == [x, None]


@pytest.mark.parametrize("made", [list, tuple])
def test_none_in_a_list_of_a_kernel_in_python_is_refused(define, x, made):
    op = define("several(Tensor x) -> Tensor[]", CPU=lambda x: made([x, None]))
    for call in (op, op.default._call_boxed):
        assert (
            f"returned a value of type '{made.__name__}' with None at [1] (a list whose items may "
            "be None is a 'Tensor?[]') for result 0, but the schema says 'Tensor[]'."
        ) in message_of(RuntimeError, call, x)
    masked = define("masked(Tensor x, bool[] m) -> Tensor[]", CPU=lambda x, m: made([x, None]))
    assert masked(x, [True, False]) == [x, None]
    optional = define("optional(Tensor x) -> Tensor?[]", CPU=lambda x: made([x, None]))
    assert optional(x) == [x, None]


def test_results_that_a_bool_or_the_schema_lets_out_may_be_missing(plugin, x):
    for op in (plugin.leave_second, plugin.leave_second.default._call_boxed):
        assert op(x, False) == (x, None)
    for op in (plugin.give_one, plugin.give_one.default._call_boxed):
        assert op(x) == (x, None)


def test_none_among_several_results_of_a_kernel_in_python_is_refused(define, x):
    op = define("two(Tensor x) -> (Tensor, Tensor)", CPU=lambda x: (x, None))
    for call in (op, op.default._call_boxed):
        text = message_of(RuntimeError, call, x)
        assert (
            "returned a value of type 'NoneType' (a result that may be None is a 'Tensor?') for "
            "result 1, but the schema says 'Tensor'."
        ) in text
    masked = define("masked(Tensor x, bool[2] m) -> (Tensor, Tensor)", CPU=lambda x, m: (x, None))
    assert masked(x, [True, False]) == (x, None)
    optional = define("optional(Tensor x) -> (Tensor, Tensor?)", CPU=lambda x: (x, None))
    assert optional(x) == (x, None)
