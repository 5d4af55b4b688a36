"""opyard.profiler: the calls it records are those that sys.setprofile tells of, on each CPython."""

import gc
import sys
import threading

import profiler_programs
import pytest
from profiler_traces import profile_calls, sequence_of, setprofile_calls, spans_of

import opyard.profiler


@pytest.fixture(autouse=True)
def no_collections():
    """Callbacks of the collector would be calls in one of the two runs."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("program", profiler_programs.PROGRAMS, ids=lambda p: p.__name__)
def test_I10_the_calls_are_those_of_setprofile(program):
    program()  # what is imported or cached at first is there
    expected = setprofile_calls(program)
    assert len(expected) > 4
    assert profile_calls(program) == expected


@pytest.mark.parametrize("program", profiler_programs.PROGRAMS, ids=lambda p: p.__name__)
def test_I10_X15_the_calls_of_a_thread_are_those_of_its_setprofile(program):
    program()
    heard = []

    def hear():
        heard.extend(setprofile_calls(program))

    thread = threading.Thread(target=hear)
    thread.start()
    thread.join()

    def within_thread():
        inner = threading.Thread(target=program)
        inner.start()
        inner.join()

    with opyard.profiler.profile() as prof:
        within_thread()
    (spans,) = [
        spans
        for spans in spans_of(prof)
        if any(span[1].endswith(f"): {program.__name__}") for span in spans)
    ]
    assert len(heard) > 4
    assert sequence_of(spans, program) == heard


def test_I20_each_resume_of_a_generator_is_a_call():
    def program():
        def two():
            yield 1
            yield 2

        list(two())

    names = [name for event, name in profile_calls(program) if event == "call"]
    assert sum(name.startswith("two:") for name in names) == 3


def test_without_c_calls_the_python_calls_are_the_same():
    program = profiler_programs.callbacks_from_c
    expected = [event for event in setprofile_calls(program) if not event[0].startswith("c_")]
    assert profile_calls(program, c_calls=False) == expected


def test_I21_a_call_from_c_is_inside_the_function_in_c():
    def program():
        sorted([2, 1], key=lambda n: n)

    calls = profile_calls(program)
    inner = [event for event, name in calls if name.startswith(("sorted", "<lambda>"))]
    assert inner == ["c_call", "call", "return", "call", "return", "c_return"]


def test_I22_a_class_method_of_a_function_in_c_is_entered_and_left():
    class Shape:
        show = classmethod(repr)

    def program():
        Shape.show()

    # sys.setprofile sees only its return in 3.12.0 to 3.12.4, and nothing in 3.10.
    both = [("c_call", "repr"), ("c_return", "repr")] if sys.version_info >= (3, 11) else []
    assert [event for event in profile_calls(program) if event[1] == "repr"] == both


def test_the_recursion_limit_is_reached_at_the_same_depth():
    def depth():
        def down(n):
            try:
                return down(n + 1)
            except RecursionError:
                return n

        return down(0)

    before = depth()
    with opyard.profiler.profile():
        during = depth()
    # Before 3.12 a profile function takes C stack, and CPython counts that.
    assert abs(during - before) <= (0 if sys.version_info >= (3, 12) else 5)
