"""test_python_table.py: an extension module that has all of Python by the table of opyard/python.h.

Suspect vtable/python_table.cpp, then the room that the function's name leads to.
"""

import importlib.machinery
import re
import threading
import warnings
import weakref

import pytest
from built import import_extension, plain_build, plugin_path
from interpreters import KINDS
from processes import run
from raised import raised_by

import opyard

pytestmark = pytest.mark.memory


@pytest.fixture(scope="module")
def table():
    return import_extension("opyard_test_table")


# objects ----------------------------------------------------------------------------------


def test_a_tensor_comes_back_as_the_very_object(table, x):
    class Mine(opyard.Tensor):
        pass

    mine = opyard.Tensor.make_subclass(Mine, x)
    assert table.tensor(x) is x
    assert table.tensor(mine) is mine
    assert table.undefined() is None


def test_what_is_no_tensor_is_refused(table):
    error = raised_by(table.tensor, [1.0])
    assert (type(error), str(error)) == (TypeError, "expected a Tensor, not list")


@pytest.mark.parametrize(
    ("kind", "object", "expected"),
    [
        ("int", 7, 7),
        ("float", 7, 7.0),
        ("str?", None, None),
        ("int[]", (1, 2), [1, 2]),
        ("Dict(str, int)", {"a": 1}, {"a": 1}),
        ("Device", "cpu", opyard.device("cpu")),
    ],
)
def test_a_value_is_converted_as_an_argument_is(table, kind, object, expected):
    made = table.value(kind, object)
    assert (type(made), made) == (type(expected), expected)
    untyped = table.value(kind, object, True)
    assert (type(untyped), untyped) == (type(expected), expected)


def test_an_array_of_another_library_becomes_a_tensor(table):
    made = table.value("Tensor", memoryview(b"abc"))
    assert made.tolist() == [97, 98, 99]


@pytest.mark.parametrize(
    ("kind", "object", "message"),
    [
        ("int", "7", "value(): 'object' must be of type int, not str"),
        ("int[]", [1, "2"], "value(): 'object' must be of type int[], not one with a str at [1]"),
        (
            "int",
            1 << 63,
            "value(): 'object' must be of type int, not a number outside of "
            "-9223372036854775808 to 9223372036854775807",
        ),
        ("str", "\ud800", "value(): 'object' must be of type str, not a "),
    ],
)
def test_what_is_no_value_is_refused_by_its_name(table, kind, object, message):
    error = raised_by(table.value, kind, object)
    assert type(error) is TypeError
    assert str(error).startswith(message)


def test_an_exception_of_a_conversion_is_the_one_that_was_raised(table):
    failure = LookupError("mine")

    class Number:
        def __index__(self):
            raise failure

    assert raised_by(table.value, "int", Number()) is failure


def test_operators_and_key_sets_come_back_as_equals(table, library):
    library.define("twice(int n) -> int")
    op = getattr(opyard.ops, library.ns).twice.default
    declaration, same = table.op(op)
    assert same is op
    assert declaration.endswith("twice(int n) -> int")
    keys = opyard._C.tensor_keys(opyard.tensor([1.0]))
    bits, again = table.keys(keys)
    assert bits != 0
    assert again == keys
    assert table.keys("CPU")[1] == opyard.dispatch.DispatchKeySet("CPU")
    assert type(raised_by(table.op, "something else")) is TypeError
    assert type(raised_by(table.keys, 1.5)) is TypeError


# the GIL ----------------------------------------------------------------------------------


def test_a_native_thread_enters_python_and_its_result_comes_out(table):
    here = threading.get_ident()
    assert table.on_thread(threading.get_ident) != here
    assert table.again(threading.get_ident) == here


def test_J10_a_conversion_on_a_thread_without_the_gil_is_refused(table, x):
    refused = (
        "Internal: a conversion between C++ and Python was called on a thread that does not hold "
        "the GIL; HoldPython takes it for a scope"
    )
    assert table.without_gil(x).splitlines() == [refused] * 5


def test_an_exception_comes_from_another_thread_as_itself(table):
    failure = KeyError("mine", 1)

    def fail():
        raise failure

    assert raised_by(table.on_thread, fail) is failure
    assert raised_by(table.again, fail) is failure


def test_while_a_call_waits_without_python_other_threads_run(table):
    def wait_for_another():
        other = threading.Thread(target=reached.set)
        other.start()
        assert reached.wait(10)
        return "done"

    reached = threading.Event()
    assert table.on_thread(wait_for_another) == "done"


def test_a_reference_that_is_dropped_without_the_gil_is_gone_when_the_call_ends(table):
    class Thing:
        pass

    things = [Thing()]
    thing = weakref.ref(things[0])
    table.drop(things)
    assert things == []
    assert thing() is None


def test_a_warning_is_said_when_the_call_ends_and_may_fail_it(table):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert table.warn("mind the gap") == 7
    assert [str(each.message) for each in said] == ["mind the gap"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        error = raised_by(table.warn, "now an error")
    assert (type(error), str(error)) == (UserWarning, "now an error")


@pytest.mark.parametrize("released", [False, True], ids=["holding the GIL", "without the GIL"])
@pytest.mark.parametrize("what", ["Error", "set"])
@pytest.mark.parametrize("action", ["always", "error"])
def test_J6_a_warning_never_hides_the_error_of_a_call(table, action, what, released):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter(action)
        error = raised_by(table.warns_and_fails, "the warning", what, released)
    assert (type(error), str(error)) == (ValueError, "the error")
    assert [str(each.message) for each in said] == (["the warning"] if action == "always" else [])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.again(int) == 0  # nothing is left for the next call


def test_J6_calls_inside_a_call_say_their_own_warnings_and_no_others(table, plugin):
    order = []

    def inside():
        order.append("begins")
        table.warn("inner")
        plugin.warn(0, "of an operator")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            error = raised_by(table.warns_and_fails, "hidden", "Error")
            order.append(str(error))
        order.append("ends")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *args, **kwargs: order.append(str(message))
        table.warns_and_fails("outer", inside)
    assert order == ["begins", "inner", "of an operator", "the error", "ends", "outer"]


def test_J6_a_warning_on_a_thread_of_cpp_does_not_wait(table):
    order = []

    def on_thread():
        table.warn("in a call of its own")
        order.append("ends")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *args, **kwargs: order.append(str(message))
        table.on_thread(on_thread)
    assert order == ["in a call of its own", "ends"]


# errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "kind", "text"),
    [
        ("Error", IndexError, "an Error"),
        ("bad_alloc", MemoryError, "out of memory"),
        ("int", RuntimeError, "something was thrown that is no std::exception"),
        ("set", KeyError, "'set'"),
        ("none", RuntimeError, "a Python function failed without an exception"),
    ],
)
def test_what_cpp_throws_is_an_exception_of_its_kind(table, what, kind, text):
    error = raised_by(table.throws, what)
    assert (type(error), str(error)) == (kind, text)


# versions and interpreters ----------------------------------------------------------------


def test_the_table_is_of_this_version(table):
    version, size, _ = table.facts()
    assert (version, size) == (2, 168)


LOAD = """
import importlib.util, sys
import opyard
def load():
    spec = importlib.util.spec_from_file_location("opyard_test_table", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""


def extension_path():
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0].removesuffix(".so")
    return plugin_path("opyard_test_table" + suffix)


def test_a_table_of_another_version_is_refused_with_both_versions():
    program = """
import ctypes
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
NAME = b"opyard._C.python_table"
words = ctypes.string_at(pointer(opyard._C.python_table, NAME), 168)
for position, number in ((0, 1), (4, 160), (8, 1), (12, 0)):
    other = bytearray(words)
    other[position:position + 4] = number.to_bytes(4, "little")
    memory = (ctypes.c_char * 168).from_buffer(other)
    opyard._C.python_table = new(ctypes.addressof(memory), NAME, None)
    try:
        load()
    except ImportError as error:
        print(error)
"""
    ended = run(LOAD + program, extension_path())
    assert ended.code == 0, ended
    lines = ended.stdout.splitlines()
    assert len(lines) == 4
    for line in lines:
        assert re.search(r"built for Opyard \d+\.\d+ \(table 2, 168 bytes\), and opyard is", line)
    assert "(table 1, 168 bytes)" in lines[0]
    assert "(table 2, 160 bytes)" in lines[1]
    assert "opyard is 1.1 " in lines[2]
    assert "opyard is 0.0 " in lines[3]


@pytest.mark.parametrize("name", ["opyard", "opyard._C"])
def test_P5_what_the_import_of_opyard_raises_comes_out_as_itself(name):
    program = """
class Raises:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[2]:
            raise failure

sys.meta_path.insert(0, Raises())
for failure in (MemoryError(), KeyboardInterrupt(), SystemExit(3), LookupError("mine")):
    try:
        load()
    except BaseException as error:
        assert error is failure, repr(error)
    else:
        raise AssertionError("nothing was raised")
del sys.meta_path[0]
assert load().imports()
"""
    ended = run(LOAD.replace("import opyard\n", "") + program, extension_path(), name)
    assert (ended.code, ended.stderr) == (0, ""), ended


@plain_build
def test_T5_P4_a_table_that_is_looked_for_without_memory_is_a_memory_error():
    pytest.importorskip("_testcapi")
    program = """
import _testcapi
module = load()
assert module.imports()
failed = []
for number in range(1, 100):
    _testcapi.set_nomemory(number, number + 1)
    try:
        found = module.imports()
    except MemoryError:
        failed.append(number)
    else:
        assert found
    finally:
        _testcapi.remove_mem_hooks()
    assert module.imports()
assert failed and failed[-1] < 80, failed
"""
    ended = run(LOAD + program, extension_path())
    assert (ended.code, ended.stderr) == (0, ""), ended


def test_a_table_that_is_no_table_is_refused():
    program = """
for wrong in (None, object(), opyard._C):
    opyard._C.python_table = wrong
    try:
        load()
    except ValueError as error:
        print(error)
del opyard._C.python_table
try:
    load()
except AttributeError as error:
    print(error)
"""
    ended = run(LOAD + program, extension_path())
    assert (ended.code, ended.stderr) == (0, ""), ended
    assert len(ended.stdout.splitlines()) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_each_interpreter_has_a_table_of_its_own(kind):
    there = (
        LOAD
        + """
module = load()
assert module.facts()[2] != TAG
assert module.again(lambda: 5) == 5
assert module.on_thread(lambda: 6) == 6
x = opyard.tensor([1.0])
assert module.tensor(x) is x
"""
    )
    here = """
from interpreters import Interpreter
mine = load()
other = Interpreter(sys.argv[2])
program = sys.argv[3].replace("TAG", str(mine.facts()[2]))
other.run(f"import sys; sys.argv = {sys.argv!r}" + program)
other.end()
x = opyard.tensor([1.0])
assert mine.tensor(x) is x
"""
    ended = run(LOAD + here, extension_path(), kind, there)
    assert (ended.code, ended.stderr) == (0, ""), ended


def test_an_import_again_finds_the_same_table():
    program = """
first = load().facts()
for name in [name for name in sys.modules if name.partition(".")[0] == "opyard"]:
    del sys.modules[name]
import opyard
assert load().facts() == first
"""
    ended = run(LOAD + program, extension_path())
    assert (ended.code, ended.stderr) == (0, ""), ended
