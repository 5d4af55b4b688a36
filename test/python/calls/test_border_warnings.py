"""test_border_warnings.py: warnings of C++ code come to Python at the caller's line, once.

Suspect runtime/warnings.cpp, late_warnings.cpp. The kernels that warn are in plugin.cpp.
"""

import re
import time
import warnings

import pytest
from built import plugin_path
from raised import raised_by
from test_borders import kinds

import opyard

pytestmark = pytest.mark.memory
WARNING_KINDS = kinds("warning_kinds.def", "OPYARD_WARNING_KIND")


# warnings ---------------------------------------------------------------------------------


def said_by(call, *args):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call(*args)
    return [(each.category, str(each.message)) for each in said]


def test_J6_a_warning_of_a_kernel_is_a_python_warning_at_the_caller_s_line(plugin):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        plugin.warn(0, "mind the gap: ü")
    assert [(str(w.message), w.category, w.filename) for w in said] == [
        ("mind the gap: ü", UserWarning, __file__)
    ]


def test_J6_filters_hide_and_count_warnings(plugin):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        for _ in range(3):
            plugin.warn(0, "the same place")
        warnings.simplefilter("ignore")
        plugin.warn(0, "not seen")
    assert [str(w.message) for w in said] == ["the same place"]


def test_J6_as_an_error_it_fails_the_call_after_the_kernel_has_ended(plugin):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = plugin.warn_and_count.default  # resolved outside of the call
        error = raised_by(before, "now an error")
        assert (type(error), str(error)) == (UserWarning, "now an error")
        warnings.simplefilter("ignore")
        first = plugin.warn_and_count("quiet")
        warnings.simplefilter("error")
        raised_by(plugin.warn_and_count, "again")
        warnings.simplefilter("ignore")
        assert plugin.warn_and_count("quiet") == first + 2  # the failed call's kernel went on


@pytest.mark.parametrize("action", ["always", "error"])
def test_J6_beside_an_error_the_warning_is_shown_and_the_error_wins(plugin, action):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter(action)
        error = raised_by(plugin.warn_and_fail, "first", "then it failed")
    assert (type(error), str(error)) == (ValueError, "then it failed")
    assert [str(w.message) for w in said] == (["first"] if action == "always" else [])
    assert said_by(plugin.warn, 0, "later") == [(UserWarning, "later")]


def test_J6_a_call_inside_the_call_says_its_own_warnings_only(plugin, define, library):
    order = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *args, **kwargs: order.append(str(message))

        def kernel(x):
            order.append("kernel begins")
            plugin.warn(0, "inner")
            order.append("kernel ends")
            return x

        define("inner(Tensor x) -> Tensor", CPU=kernel)
        plugin.warn_and_call("outer", f"{library.ns}::inner", opyard.tensor([1.0]))
    assert order == ["kernel begins", "inner", "kernel ends", "outer"]


def test_J6_where_nobody_comes_by_it_is_said_at_once(plugin):
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *args, **kwargs: said.append(str(message))
        plugin.warn_in_background("from a native thread")
        for _ in range(1000):
            if said:
                break
            time.sleep(0.01)
    assert said == ["from a native thread"]


def test_J6_from_the_command_line(run_program):
    program = """
        import sys, warnings
        warnings.simplefilter("error")
        import opyard
        opyard.load_library(sys.argv[1])
        opyard.ops.test_plugin.warn(0, "fatal")
    """
    done = run_program(program, plugin_path("opyard_test_plugin"))
    assert done.returncode == 1
    assert done.stderr.endswith("UserWarning: fatal\n")


def test_J6_a_warning_as_an_error_does_not_hide_the_error_of_the_call(plugin):
    several = plugin.warn_and_call
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        error = raised_by(several, "the first", "test_plugin::no_such", opyard.tensor([1.0]))
    assert "no_such" in str(error)  # the error that the call ended with


@pytest.mark.parametrize("number", range(len(WARNING_KINDS)), ids=[k for k, _ in WARNING_KINDS])
def test_J7_each_kind_of_warning_has_its_category(plugin, number):
    _, python = WARNING_KINDS[number]
    assert [kind.__name__ for kind, _ in said_by(plugin.warn, number, "text")] == [python]


def test_J7_the_place_in_the_source_is_added_unless_the_text_is_meant_as_it_is(plugin):
    ((_, text),) = said_by(plugin.warn_here, "look")
    assert re.fullmatch(r"look \(.*plugin\.cpp:\d+\)", text)
    assert said_by(plugin.warn, 0, "look") == [(UserWarning, "look")]


def test_J7_a_warning_of_once_comes_once_or_always(plugin):
    before = opyard.set_warn_always(False)
    try:
        said_by(plugin.warn_once, "once")
        assert said_by(plugin.warn_once, "once") == []
        assert opyard.set_warn_always(True) is False
        for _ in range(2):
            ((kind, text),) = said_by(plugin.warn_once, "always")
            assert kind is FutureWarning and text.startswith("always (")
        assert opyard.set_warn_always(False) is True
        assert said_by(plugin.warn_once, "once") == []
    finally:
        opyard.set_warn_always(before)
