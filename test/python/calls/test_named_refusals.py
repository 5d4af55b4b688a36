"""test_named_refusals.py: errors from inside a kernel name the operator and argument of the call.

Suspect operators/named_refusal.cpp, and for results kernels/results.cpp.
"""

import pytest
from raised import message_of

import opyard


@pytest.fixture
def x():
    return opyard.tensor([1.0, 2.0])


def test_elements_read_as_another_dtype_are_refused_with_operator_and_argument(plugin):
    """The kernel in C++ that reads them knows neither."""
    double, whole = opyard.tensor([1.5]), opyard.tensor([1, 2])
    assert double.dtype == opyard.float32
    double = double.double()
    takes = (
        "test_plugin::first_of_all: {0} is {1}, and the kernel of this call takes float64. Give "
        "{0}.to(float64), or let the kernel take every dtype by dispatch_dtypes()"
    )
    op = plugin.first_of_all
    assert op([double], double) == 3.0
    for call in (op, op.default):
        assert message_of(TypeError, call, [double], whole) == takes.format("y", "int64[2]")
        assert message_of(TypeError, call, [double, whole], double) == takes.format(
            "x[1]", "int64[2]"
        )
        with pytest.raises(TypeError) as raised:
            call([double], y=whole)
        assert str(raised.value) == takes.format("y", "int64[2]")
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(3, dtype=numpy.int32)
    assert message_of(TypeError, op, [double], array) == takes.format("y", "int32[3]")


def test_dimensions_that_an_accessor_has_not_are_refused_with_operator_and_argument(plugin):
    one, two = opyard.zeros(2).double(), opyard.zeros(2, 3).double()
    for call in (plugin.first_of_all, plugin.first_of_all.default):
        assert message_of(ValueError, call, [one], two) == (
            "test_plugin::first_of_all: y is float64[2, 3], and the kernel of this call takes 1 "
            "dimension"
        )


UNNAMED = {
    "sizes": (ValueError, "sizes [2, -1] are negative in dimension 1; a size is 0 or more"),
    "dimension": (
        IndexError,
        "dimension 7 is out of range for a tensor of 1 dimension; accepted are -1 to 0",
    ),
    "accessor": (
        NotImplementedError,
        "accessor of float32[2] on meta, which has sizes and a dtype",
    ),
    "aten::rellu": (LookupError, "Could not find schema for aten::rellu. 'aten::relu' may be"),
    "aten::add": (LookupError, "Could not find schema for aten::add. There are aten::add.Tensor,"),
    "aten::mm": (RuntimeError, "aten::mm cannot be called as opyard::Tensor (opyard::Tensor const"),
}


@pytest.mark.parametrize("what", UNNAMED)
def test_an_error_of_a_function_that_knows_of_no_operator_names_the_one_that_was_called(
    plugin, what
):
    kind, text = UNNAMED[what]
    x = opyard.zeros(2, device="meta" if what == "accessor" else "cpu")
    for call in (plugin.ask, plugin.ask.default):
        assert message_of(kind, call, x, what).startswith(f"test_plugin::ask: {text}")


def test_an_error_inside_a_composition_names_the_operator_that_was_called(plugin):
    deep = opyard.zeros(2, 2, 2)
    inner = message_of(ValueError, opyard.ops.aten.t, deep)
    assert inner.startswith("aten::t: ")
    for op in (plugin.call_without_gil, plugin.call_without_gil.default):
        text = message_of(ValueError, op, deep, "aten::t")
        assert text == f"test_plugin::call_without_gil: in {inner}"
    # One that Python raised is the same object.
    kernel = opyard.library.override("aten::t", "CPU", lambda x: x["a"])
    with kernel, pytest.raises(TypeError, match="^a tensor cannot be indexed with a str"):
        plugin.call_without_gil(deep, "aten::t")


def test_None_alone_for_a_tensor_is_refused(define, x):
    """In each of the ways in which a kernel in Python is called."""
    op = define("op(Tensor x, int n=1) -> Tensor", CPU=lambda x, n=1: None)
    other = define("other(Tensor x) -> Tensor", CPU=lambda x: None)
    inner = define("inner(Tensor x) -> Tensor", CompositeExplicitAutograd=lambda x: other(x))
    says = "returned a value of type 'NoneType' .is a return statement missing.* 'Tensor'"
    for call in (
        lambda: op(x),
        lambda: op(x, n=2),
        lambda: other(x),
        lambda: other.default(x),
        lambda: inner(x),
        lambda: opyard.jit.compile(opyard.jit.trace(lambda a: inner(a), x, check_trace=False))(x),
    ):
        with pytest.raises(RuntimeError, match=says):
            call()
    written = define("written(Tensor(a!) x) -> Tensor(a!)", CPU=lambda x: None)
    with pytest.raises(RuntimeError, match=says):
        written(x)


@pytest.mark.parametrize("before", range(4))
def test_a_value_that_is_long_is_cut_between_characters(define, before):
    op = define("op(int n) -> int", CPU=lambda n: n)
    given = "a" * before + "\U0001d53c" * 2000
    text = message_of(TypeError, op, given)
    assert len(text.encode()) < 4500
    (value,) = (line for line in text.splitlines() if line.startswith("Value: "))
    assert value.endswith("\U0001d53c...") and "\ufffd" not in value
    assert value.removeprefix("Value: '").removesuffix("...") == given[: len(value) - 11]
    # What just fits is whole.
    assert f"Value: {'b' * 3998!r}\n" in message_of(TypeError, op, "b" * 3998)


def test_of_several_arguments_that_look_alike_none_is_blamed(plugin):
    """Which of them the kernel was reading is not known."""
    one, two = opyard.zeros(2, 3).double(), opyard.zeros(2, 3).double()
    text = message_of(ValueError, plugin.first_of_all, [one], two)
    assert text == "test_plugin::first_of_all: an accessor for 1 dimension of float64[2, 3]"
    assert "[0] is float64" in message_of(ValueError, plugin.first_of_all, [two], two)


def test_a_function_that_a_kernel_calls_is_named_behind_the_operator(plugin):
    says = "transform: an input is float32[4] and does not fit the result, which is [3]"
    for call in (plugin.fail_with, plugin.fail_with.default):
        assert message_of(ValueError, call, kind_of("BadValue"), says) == (
            f"test_plugin::fail_with: {says}"
        )
        # A sentence is left as it is, and what begins with the name of the operator.
        for said in (
            "fail_with: it is less",
            "Not so: it is less",
            "it is less",
            "two words: less",
        ):
            assert message_of(ValueError, call, kind_of("BadValue"), said) == said


def kind_of(name):
    plugin = opyard.ops.test_plugin
    return next(kind for kind in range(30) if plugin.kind_name(kind) == name)
