"""test_borders.py: errors and warnings cross from C++ to Python as themselves. Suspect runtime/.

The extension module of border.cpp uses what pyfallback offers C++ code; plugin.cpp has kernels that
warn and fail.
"""

import gc
import re
import subprocess
import sys
import threading
import traceback
import weakref

import pytest
from built import ROOT, plain_build, plugin_path
from raised import raised_by
from threads import is_soon_gone

import opyard

pytestmark = pytest.mark.memory

PYFALLBACK = ROOT / "pyfallback"
SLICES = sorted(each.parents[1] for each in ROOT.glob("*/python/opyard/meson.build"))


def kinds(file, macro):
    """The rows of a .def list."""
    text = (ROOT / "dispatcher/include/opyard/base" / file).read_text()
    return re.findall(rf"^{macro}\((\w+), (\w+), ", text, re.M)


ERROR_KINDS = kinds("error_kinds.def", "OPYARD_ERROR_KIND")


def names_of(exception):
    """The functions in its traceback, outermost first."""
    return [frame.name for frame in traceback.extract_tb(exception.__traceback__)]


# errors -----------------------------------------------------------------------------------

THROWN = {
    "nothing": (7, None, ""),
    "Error": (-5, IndexError, "an Error"),
    "bad_alloc": (
        -5,
        MemoryError,
        "out of memory: C++ could not allocate what it needs for this call (std::bad_alloc, which "
        "does not say how many bytes)",
    ),
    "runtime_error": (-5, RuntimeError, "a runtime_error"),
    "exception": (-5, RuntimeError, "odd"),
    "int": (-5, RuntimeError, "something was thrown that is no std::exception"),
    "set": (-5, KeyError, "'set'"),
    "named": (-5, RuntimeError, "border.Named: a named one"),
}


@pytest.mark.parametrize("what", THROWN)
def test_J1_a_border_function_returns_its_value_or_the_one_for_failure(border, what):
    value, kind, text = THROWN[what]
    result, exception = border.throws(what)
    assert result == value
    assert (type(exception), str(exception)) == (kind or type(None), text or str(exception))
    if kind is None:
        assert border.throws_object(what) == 7
    else:
        assert type(raised_by(border.throws_object, what)) is kind


@pytest.mark.parametrize("number", range(len(ERROR_KINDS)), ids=[k for k, _ in ERROR_KINDS])
def test_J2_each_kind_of_error_is_the_python_exception_of_the_list(plugin, number):
    kind, python = ERROR_KINDS[number]
    error = raised_by(plugin.fail_with, number, "a text: ü")
    assert (type(error).__name__, str(error)) == (python, "a text: ü")
    assert plugin.kind_name(number) == kind


@pytest.mark.parametrize("what", ["std::exception", "int"])
def test_J2_what_is_no_error_of_ours_is_a_runtime_error(plugin, what):
    assert type(raised_by(plugin.throw_foreign, what)) is RuntimeError


@plain_build
def test_J3_the_backtrace_of_cpp_code_is_shown_on_request(run_program, monkeypatch):
    program = """
        import sys
        import opyard
        opyard.load_library(sys.argv[1])
        try:
            opyard.ops.test_plugin.fail_with(5, "shapes differ")
        except ValueError as error:
            print(error)
    """
    plugin = plugin_path("opyard_test_plugin")
    assert run_program(program, plugin).stdout == "shapes differ\n"
    monkeypatch.setenv("OPYARD_SHOW_CPP_STACKTRACES", "1")
    message, heading, *frames = run_program(program, plugin).stdout.splitlines()
    assert message == "shapes differ"
    assert heading == "C++ backtrace, innermost function first:"
    assert re.fullmatch(r"  #0 opyard::fail\(.*\)", frames[0]), frames[0]
    assert any("opyard_test_plugin.so+0x" in frame for frame in frames)
    assert [f"#{n}" for n in range(len(frames))] == [frame.split()[0] for frame in frames]


@plain_build
def test_X28_few_native_frames_lie_between_the_caller_and_a_kernel(run_program, monkeypatch):
    program = """
        import sys
        import opyard
        opyard.load_library(sys.argv[1])
        fail_with = opyard.ops.test_plugin.fail_with
        lib = opyard.library.Library("frames", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: fail_with(5, "inner"), "CPU")
        for call in (lambda: fail_with(5, "outer"), lambda: opyard.ops.frames.f(opyard.tensor(1))):
            try:
                call()
            except ValueError as error:
                print(error, end="\\n--\\n")
    """
    monkeypatch.setenv("OPYARD_SHOW_CPP_STACKTRACES", "1")
    plugin = plugin_path("opyard_test_plugin")
    outer, inner, _ = run_program(program, plugin).stdout.split("\n--\n")
    (count,) = frames_of_opyard(outer)
    assert count <= 6  # dispatch and border
    kernel, python_kernel = frames_of_opyard(inner)
    assert kernel <= 6 and python_kernel <= 3


def frames_of_opyard(text):
    """How many are between two frames of CPython, the innermost first, without the kernel's own."""
    counts, ours = [], 0
    for frame in text.splitlines()[2:]:
        if "opyard::" in frame or "/libopyard" in frame or "/_C." in frame:
            ours += 1
        elif "opyard_test_plugin" not in frame and ours:
            counts.append(ours)
            ours = 0
    return [count - (index == 0) for index, count in enumerate(counts)]  # and without fail()


def test_J3_messages_speak_of_python_types_not_of_cpp_ones():
    texts = (ROOT / "test/messages.txt").read_text().split("\n== ")
    ours = [text for text in texts if text.startswith("python/")]
    assert len(ours) >= 50
    assert not [text for text in ours if re.search(r"std::|PyObject|opyard::(?!\w+\()", text)]


def test_J4_errors_of_pybind11_and_of_python_pass_through_it_as_they_are():
    from opyard import _bind

    error = raised_by(_bind.load_library, 3)
    assert type(error) is TypeError and "is of type str, and an object of type int" in str(error)
    assert type(raised_by(_bind.load_library, "/no/such/file.so")) is FileNotFoundError


def test_J5_an_exception_comes_from_another_thread_as_itself(border):
    mine = KeyError("mine")

    def fails():
        raise mine

    for copies in (1, 3):
        error = raised_by(border.carry, fails, copies)
        assert error is mine
        assert "fails" in names_of(error)
    assert border.carry(lambda: None, 1) is None


def test_J5_a_future_carries_it_from_a_native_thread(plugin, define, library):
    mine = ValueError("from a thread")

    def fails(x):
        raise mine

    define("fails(Tensor x) -> Tensor", CPU=fails)
    future = plugin.call_later(f"{library.ns}::fails", opyard.tensor([1.0]))
    for _ in range(2):
        assert raised_by(future.wait, 10) is mine


def test_J5_a_carried_exception_may_die_where_nobody_holds_the_gil(border):
    class Mine(Exception):
        pass

    def fails():
        raise Mine

    error = raised_by(border.carry, fails, 4)
    gone = weakref.ref(error)
    error = None
    gc.collect()
    opyard.tensor([1])  # an entry, which drops what was left behind
    gc.collect()
    assert gone() is None


# context and identity ---------------------------------------------------------------------


@pytest.fixture
def failing(define, library):
    """Defines an operator whose kernel raises, and gives its name."""

    def failing(exception):
        def kernel(x):
            raise exception

        define("failing(Tensor x) -> Tensor", CPU=kernel)
        return f"{library.ns}::failing"

    return failing


def test_J8_context_of_cpp_code_is_a_note_of_the_exception_each_line_once(plugin, failing, x):
    mine = ValueError("of Python")
    name = failing(mine)
    for _ in range(2):
        assert raised_by(plugin.call_with_context, name, x, "while adding ü") is mine
    assert str(mine) == "of Python"
    assert mine.__notes__ == ["while adding ü"]
    mine.__notes__.append("a note of its own")
    assert raised_by(plugin.call_with_context, name, x, "and then") is mine
    assert mine.__notes__ == ["while adding ü", "a note of its own", "and then"]


def test_J8_context_of_an_error_of_cpp_code_stands_below_its_text(plugin, x):
    error = raised_by(plugin.call_with_context, "test_plugin::no_such", x, "while adding")
    assert str(error).endswith("\nwhile adding")


def test_J9_through_cpp_it_is_the_same_object_with_traceback_and_notes(plugin, failing, x):
    mine = KeyError("mine")
    mine.__notes__ = ["a note"]
    mine.__cause__ = cause = OSError("below")
    name = failing(mine)
    for call in (plugin.call, plugin.call_typed, plugin.call_and_rethrow):
        mine.__traceback__ = None
        error = raised_by(call, name, x)
        assert error is mine
        assert names_of(error) == ["raised_by", "kernel"]
        assert error.__notes__ == ["a note"] and error.__cause__ is cause


def test_J15_one_traceback_over_all_languages_in_order_and_without_duplicates(
    plugin, define, library, x
):
    ns = library.ns

    def innermost(x):
        raise ZeroDivisionError("deep")

    def middle(x):
        return plugin.call_and_rethrow(f"{ns}::c", x)

    def outermost(x):
        return plugin.call(f"{ns}::b", x)

    define("c(Tensor x) -> Tensor", CPU=innermost)
    define("b(Tensor x) -> Tensor", CPU=middle)
    a = define("a(Tensor x) -> Tensor", CPU=outermost)
    error = raised_by(a, x)
    assert names_of(error) == ["raised_by", "outermost", "middle", "innermost"]
    assert plugin.call_and_describe(f"{ns}::a", x) == "Python: ZeroDivisionError: deep"


def test_J15_an_exception_that_crossed_is_in_no_cycle(plugin, define, library, x):
    class Mine(Exception):
        pass

    born = []

    def kernel(x):
        error = Mine()
        born.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error  # else its own frame would hold it

    define("failing(Tensor x) -> Tensor", CPU=kernel)
    name = f"{library.ns}::failing"
    gc.disable()
    try:
        for call in (plugin.call, plugin.call_and_rethrow, plugin.call_and_describe):
            try:
                call(name, x)
            except Mine:
                pass
        assert [each() for each in born] == [None] * 3
    finally:
        gc.enable()


class QuotaError(RuntimeError):
    pass


class SmallQuotaError(QuotaError):
    pass


def test_J15_errors_that_cpp_names_are_of_the_class_that_is_registered(plugin, failing, x):
    assert str(raised_by(plugin.fail_as, "demo.Unknown", "no room")) == "demo.Unknown: no room"
    assert opyard.register_error("demo.QuotaError")(QuotaError) is QuotaError
    opyard.register_error("demo.QuotaError", QuotaError)  # once more is fine
    error = raised_by(plugin.fail_as, "demo.QuotaError", "no room for ü")
    assert (type(error), str(error)) == (QuotaError, "no room for ü")
    name = failing(SmallQuotaError("of Python"))
    assert plugin.class_of_failure(name, x) == "demo.QuotaError"


def test_J15_other_exceptions_have_no_name_in_cpp(plugin, failing, x):
    assert plugin.class_of_failure(failing(ValueError()), x) == ""


def test_J15_an_exception_of_an_error_says_its_kind(plugin, define, library, x):
    """Several kinds are one class of Python."""
    assert raised_by(opyard.ops.aten.mm, x, x).__opyard_error__ == "BadShape"
    assert raised_by(opyard.ops.aten.add, x, object()).__opyard_error__ == "BadArgument"
    op = define("without(Tensor x) -> Tensor")
    error = raised_by(op, x)
    assert (type(error), error.__opyard_error__) == (NotImplementedError, "NoKernel")


def test_J15_the_kind_is_known_in_cpp_behind_a_kernel_in_python(plugin, define, library, x):
    ns = library.ns
    without = define("without(Tensor x) -> Tensor")
    define("around(Tensor x) -> Tensor", CPU=lambda x: without(x))
    define("of_python(Tensor x) -> Tensor", CPU=lambda x: {}[x.dim()])

    class Marked(Exception):
        __opyard_error__ = 3

    def mark(x):
        raise Marked

    define("marked(Tensor x) -> Tensor", CPU=mark)
    assert plugin.kinds_of_failure(f"{ns}::without", x) == "NoKernel NoKernel"
    assert plugin.kinds_of_failure(f"{ns}::around", x) == "Python NoKernel"
    for began_in_python in ("of_python", "marked"):
        assert plugin.kinds_of_failure(f"{ns}::{began_in_python}", x) == "Python Python"


def test_J15_what_register_error_refuses():
    opyard.register_error("demo.taken", QuotaError)
    for args, kind, text in [
        (("demo.taken", KeyError), RuntimeError,
         "register_error: the name 'demo.taken' is taken by the class QuotaError; "
         "choose another one"),
        ((int,), TypeError, "register_error: expected a class of exceptions, not the class int"),
        (("n", 3), TypeError,
         "register_error: expected a class of exceptions, not an object of type int"),
    ]:  # fmt: skip
        error = raised_by(opyard.register_error, *args)
        assert (type(error), str(error)) == (kind, text)


# the GIL, owned references, headers -------------------------------------------------------


def test_J10_holding_letting_go_and_taking_again(border):
    assert border.holds() == (True, False, False, True)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("released", [False, True])
def test_J10_native_threads_take_it_in_turn(border, threads, released):
    seen = []
    border.run(lambda: seen.append(threading.get_ident()), threads, released)
    assert len(seen) == threads + released
    assert (threading.get_ident() in seen) is released


def test_J10_after_the_interpreter_has_ended_cpp_code_gets_an_error(run_program):
    """The same in C++ terms is in test_exit.py: threads that call while Python ends."""
    done = run_program(
        """
        import atexit, sys, time
        import opyard
        opyard.load_library(sys.argv[1])
        lib = opyard.library.Library("ended", "FRAGMENT")
        lib.define("op(Tensor x) -> Tensor")
        lib.impl("op", lambda x: x, "CPU")
        x = opyard.tensor([1.0])
        opyard._C.close()
        before = opyard.ops.test_plugin.count_in_background()
        opyard.ops.test_plugin.call_once_in_background("ended::op", x)
        while opyard.ops.test_plugin.count_in_background() == before:
            time.sleep(0.001)
        print(opyard.ops.test_plugin.count_in_background()[1] - before[1])
        """,
        plugin_path("opyard_test_plugin"),
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "1\n")


OWNED = {
    "share": 1,
    "self": 1,
    "same pointer": 1,
    "same pointer stolen": 1,
    "move": 1,
    "release": 1,
    "empty": 0,
}


@pytest.mark.parametrize("case", OWNED)
def test_J11_an_owned_reference_counts_once(border, case):
    thing = object()
    before = sys.getrefcount(thing)
    assert border.owned(case, thing) == OWNED[case]
    assert sys.getrefcount(thing) == before


def sources():
    folders = [PYFALLBACK, *SLICES]
    return sorted(p for f in folders for p in f.rglob("*") if p.suffix in (".h", ".cpp"))


def places_of(name):
    roots = [PYFALLBACK, *SLICES]
    return [place / name for root in roots for place in (root, root / "include")]


def first_include(path, seen=()):
    """The first header from outside that a file leads to."""
    for line in path.read_text("utf-8").splitlines():
        found = re.match(r'#include (<[^>]+>|"[^"]+")', line)
        if not found:
            continue
        name = found[1].strip('<>"')
        inside = next((each for each in places_of(name) if each.exists()), None)
        if inside is None:
            return name
        if inside in seen:
            continue
        first = first_include(inside, (*seen, path))
        if first is not None:
            return first
    return None


def test_J12_python_h_comes_before_every_other_header():
    assert len(sources()) > 80
    named = re.compile(r"\bPy[A-Z_]\w*")
    wrong = {
        str(path.relative_to(ROOT)): first
        for path in sources()
        # What is in embed/ finds Python's functions when it runs, and includes nothing of it.
        if path.parent.name != "embed" and path.parent != PYFALLBACK / "include" / "opyard"
        if named.search(path.read_text("utf-8")) and (first := first_include(path)) != "Python.h"
    }
    assert wrong == {}


def test_J12_every_header_is_compiled_alone():
    def name(path):
        folder = next(each for each in (PYFALLBACK, *SLICES) if path.is_relative_to(each))
        return str(path.relative_to(folder)).removeprefix("include/")

    texts = [(folder / "meson.build").read_text() for folder in (PYFALLBACK, *SLICES)]
    listed = {each for text in texts for each in re.findall(r"'([\w/]+\.h)'", text)}
    listed -= {f"include/opyard/{name}.h" for name in ("embed", "pybind11", "python")}
    there = {name(path) for path in sources() if path.suffix == ".h"}
    there -= {"opyard/embed.h", "opyard/python.h"}
    by_pybind11 = ("bind/", "gradients/", "graphs/")
    assert {each for each in there if not each.startswith(by_pybind11)} == listed


def test_J12_the_compiler_sees_a_wrong_order(tmp_path):
    """The control: a file that includes Python.h late is warned of, so the rule means something."""
    import sysconfig

    file = tmp_path / "late.cpp"
    file.write_text("#define _XOPEN_SOURCE 1\n#include <Python.h>\n")
    done = subprocess.run(
        ["c++", "-fsyntax-only", "-I", sysconfig.get_path("include"), str(file)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert '"_XOPEN_SOURCE" redefined' in done.stderr


# deleters ---------------------------------------------------------------------------------


class Owner:
    """Memory with an owner that can be watched."""

    def __init__(self):
        import numpy

        class Array(numpy.ndarray):
            pass

        self.array = numpy.zeros(4, numpy.float32).view(Array)


@pytest.mark.parametrize("how", ["from_numpy", "from_dlpack"])
def test_J16_memory_is_given_back_on_a_thread_that_python_has_never_seen(plugin, how):
    array = Owner().array
    gone = weakref.ref(array)
    tensor = getattr(opyard, how)(array)
    del array
    plugin.drop_in_background(tensor)
    del tensor
    assert is_soon_gone(gone)


def test_J16_references_that_a_native_thread_dropped_go_at_the_next_border(border):
    things = [type("Thing", (), {})() for _ in range(5)]
    gone = [weakref.ref(thing) for thing in things]
    border.drop(things)
    opyard.tensor([0])
    assert [each() for each in gone] == [None] * 5
