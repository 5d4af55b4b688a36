"""test_pybind11.py: tensors, errors and warnings of extension modules, by opyard/pybind11.h.

Suspect pyfallback/include/opyard/pybind11.h. The module is pybind11_extension.cpp.
"""

import importlib.machinery
import sys
import threading
import warnings

import numpy as np
import pytest
from built import import_extension, plugin_path
from interpreters import KINDS
from processes import run
from raised import raised_by
from test_borders import ERROR_KINDS

import opyard

pytestmark = pytest.mark.memory


@pytest.fixture(scope="module")
def bound():
    return import_extension("opyard_test_pybind11")


# errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["throws", "throws_after_call"])
@pytest.mark.parametrize("number", range(len(ERROR_KINDS)), ids=[kind for kind, _ in ERROR_KINDS])
def test_J4_each_kind_of_error_is_the_exception_of_its_kind(bound, call, number):
    _, python = ERROR_KINDS[number]
    error = raised_by(getattr(bound, call), number)
    assert (type(error).__name__, str(error)) == (python, "the text")


@pytest.mark.parametrize(
    ("what", "kind", "text"),
    [
        ("bad_alloc", MemoryError, "std::bad_alloc"),
        ("index", IndexError, "of pybind11"),
        ("runtime", RuntimeError, "of the standard library"),
        ("int", RuntimeError, "Caught an unknown exception!"),
    ],
)
def test_other_exceptions_are_what_pybind11_makes_of_them(bound, what, kind, text):
    error = raised_by(bound.throws_other, what)
    assert (type(error), str(error)) == (kind, text)


def test_an_exception_of_python_passes_an_operator_as_itself(bound, x):
    failure = KeyError("mine", 1)

    def fail(*args):
        raise failure

    assert raised_by(bound.through_operator, fail, x) is failure
    assert raised_by(bound.on_thread, fail) is failure
    assert bound.through_operator(lambda x: x, x) is x
    assert bound.on_thread(threading.get_ident) != threading.get_ident()


# tensors ----------------------------------------------------------------------------------


def test_a_tensor_comes_back_as_the_very_object(bound, x):
    class Mine(opyard.Tensor):
        pass

    mine = opyard.Tensor.make_subclass(Mine, x)
    assert bound.tensor(x) is x
    assert bound.tensor(mine) is mine
    assert bound.tensor_only(mine) is mine
    assert bound.undefined() is None
    assert bound.tensors([x, mine]) == [x, mine]
    assert bound.tensors([x, mine])[1] is mine
    assert bound.tensor_or_none(None) is None
    assert bound.tensor_or_none(x) is x


def test_an_array_is_a_tensor_on_its_memory(bound):
    array = np.zeros(3)
    made = bound.tensor(array)
    assert type(made) is opyard.Tensor
    array[1] = 5
    assert made.tolist() == [0, 5, 0]
    assert [each.tolist() for each in bound.tensors([np.ones(1), memoryview(b"a")])] == [[1], [97]]


@pytest.mark.parametrize("wrong", [None, "text", object(), [1.0]])
def test_what_is_no_tensor_is_refused(bound, wrong):
    error = raised_by(bound.tensor, wrong)
    assert type(error) is TypeError
    assert "(arg0: opyard.Tensor) -> opyard.Tensor" in str(error)


def test_a_parameter_without_conversion_takes_no_array(bound):
    assert type(raised_by(bound.tensor_only, np.zeros(3))) is TypeError


def test_overloads_are_chosen_by_what_comes(bound, x):
    assert [bound.kind(each) for each in (x, 1.5, "text")] == ["tensor", "number", "object"]


def test_an_exception_of_an_array_comes_out_as_itself(bound):
    failure = KeyError("mine")

    class Array:
        def __dlpack_device__(self):
            raise failure

        def __dlpack__(self, **kwargs):
            raise failure

    assert raised_by(bound.tensor, Array()) is failure


def test_no_tensor_is_left_behind(bound):
    before = sys.getrefcount(None)
    x = opyard.tensor([1.0])
    counted = bound.count(x)
    for _ in range(1000):
        bound.tensor(x)
        bound.tensors([x, x])
        raised_by(bound.tensor, "text")
        bound.undefined()
    assert bound.count(x) == counted
    assert abs(sys.getrefcount(None) - before) < 500


# warnings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["Error", "python", "raised"])
@pytest.mark.parametrize("action", ["always", "error"])
def test_J6_a_warning_never_hides_the_error_of_a_call(bound, action, what):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter(action)
        error = raised_by(bound.warns, "the warning", what)
    assert type(error) is ValueError
    assert what == "raised" or str(error) == "the error"
    assert [str(each.message) for each in said] == (["the warning"] if action == "always" else [])


def test_J6_a_warning_is_said_when_the_call_ends_and_may_fail_it(bound, x):
    order = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *args, **kwargs: order.append(str(message))
        assert bound.warns("the warning", lambda: order.append("inside") or x) is x
        bound.says("another")
        assert order == ["inside", "the warning", "another"]
        warnings.simplefilter("error")
        error = raised_by(bound.warns, "now an error", lambda: x)
        assert (type(error), str(error)) == (UserWarning, "now an error")
        assert type(raised_by(bound.says, "now an error")) is UserWarning


@pytest.mark.parametrize(
    ("action", "raised", "shown"),
    [
        ("always", ValueError("the error"), ["the warning"]),
        ("error", UserWarning("the warning"), []),
    ],
)
def test_without_python_call_a_warning_is_said_at_once_and_may_end_the_function(
    bound, x, action, raised, shown
):
    """The function would raise ValueError behind its warning. The guide on extensions says why."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter(action)
        error = raised_by(bound.warns_outside, "the warning", "Error")
    assert (type(error), str(error)) == (type(raised), str(raised))
    assert [str(each.message) for each in said] == shown
    order = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *args, **kwargs: order.append(str(message))
        bound.warns_outside("the warning", lambda: order.append("inside") or x)
    assert order == ["the warning", "inside"]


# interpreters -----------------------------------------------------------------------------


LOAD = """
import importlib.util, sys
import opyard
def load():
    spec = importlib.util.spec_from_file_location("opyard_test_pybind11", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
def check(module):
    x = opyard.tensor([1.0])
    assert module.tensor(x) is x
    assert module.on_thread(lambda: 6) == 6
    try:
        module.throws(6)
    except IndexError as error:
        assert str(error) == "the text"
    else:
        raise AssertionError("nothing was raised")
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="pybind11 knows one interpreter then")
@pytest.mark.parametrize("kind", KINDS)
def test_it_serves_each_interpreter_by_a_table_of_its_own(kind):
    there = "module = load()\nassert module.tag() != TAG\ncheck(module)\n"
    here = """
from interpreters import Interpreter
mine = load()
check(mine)
other = Interpreter(sys.argv[2])
program = sys.argv[3].replace("TAG", str(mine.tag()))
other.run(f"import sys; sys.argv = {sys.argv!r}" + program)
check(mine)
other.end()
check(mine)
"""
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0].removesuffix(".so")
    path = plugin_path("opyard_test_pybind11" + suffix)
    ended = run(LOAD + here, path, kind, LOAD + there)
    assert (ended.code, ended.stderr) == (0, ""), ended
