"""opyard.profiler: the calls it captures are those that sys.setprofile tells of, on each CPython.

Suspect profiler/python/tracer/, set_profile.cpp and monitoring.cpp first.
"""

import contextlib
import functools
import gc
import math
import operator
import select
import sys
import threading
import time
import weakref
from collections import Counter
from types import MethodType

import profiler_programs
import pytest
from profiled_work import profile_calls, sequence_of, setprofile_calls, spans_of

import opyard.profiler
from opyard._profile.pages import read_page
from opyard.profiler import profile


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


# What a profile notes of a callable keeps nothing alive that the program lets go, and asks nothing.


def test_a_weak_reference_that_is_called_may_go():
    class Thing:
        pass

    heard = []
    thing = Thing()
    with opyard.profiler.profile():
        reference = weakref.ref(thing, heard.append)
        assert reference() is thing
        del reference
        del thing
    assert heard == []  # a reference that is gone first tells no one


def test_an_object_whose_slot_is_called_may_go():
    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing)
    with opyard.profiler.profile():
        show = thing.__repr__
        show()
        del show, thing
        assert reference() is None


def test_a_class_whose_methods_of_c_are_called_may_go():
    def program():
        class Numbers(list):
            pass

        add = Numbers().append
        add(1)
        Numbers().append(2)
        return weakref.ref(Numbers)

    with opyard.profiler.profile() as prof:
        reference = program()
        gc.collect()
        assert reference() is None
    assert sum(event.name == "list.append" for event in prof.events()) == 2


def test_a_proxy_that_is_called_is_not_asked_for_its_name():
    asked = []

    class Thing:
        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

        def __call__(self):
            pass

    thing = Thing()
    with opyard.profiler.profile():
        weakref.proxy(thing)()
    assert asked == []


def test_functions_of_c_that_share_a_place_keep_their_names():
    found = [getattr(module, name) for module in (math, operator) for name in dir(module)]
    functions = list(dict.fromkeys(one for one in found if isinstance(one, type(len)))) * 3
    with opyard.profiler.profile() as prof:
        for function in functions:
            with contextlib.suppress(TypeError):
                function(None, None, None, None)
    names = Counter(event.name for event in prof.events() if event.kind == "C")
    for function in functions:
        assert names[f"{function.__module__}.{function.__name__}"] == 3


def test_a_method_of_c_without_an_object_is_no_call_of_it():
    """As sys.setprofile has it: only with an object it is a call of the method."""

    def program():
        for call in (lambda: str.upper("a"), lambda: str.upper()) * 2:
            with contextlib.suppress(TypeError):
                call()

    program()
    assert profile_calls(program) == setprofile_calls(program)


def takes(*arguments, **named):
    return len(arguments) + len(named)


class Called:
    def method(self, *arguments):
        return takes(*arguments)

    def __call__(self, *arguments):
        return takes(*arguments)


# What can be called, made anew for each call.
CALLABLES = {
    "function": lambda: len,
    "bound to an object": lambda: [].append,
    "bound to a class": lambda: dict.fromkeys,
    "method descriptor": lambda: str.upper,
    "method descriptor of object": lambda: object.__format__,
    "class method descriptor": lambda: vars(dict)["fromkeys"],
    "slot wrapper": lambda: int.__add__,
    "class": lambda: int,
    "partial": lambda: functools.partial(len),
    "partial of a bound descriptor": lambda: functools.partial(MethodType(str.upper, "a")),
    "Python": lambda: takes,
    "method of Python": lambda: Called().method,
    "object of Python": Called,
    "bound function": lambda: MethodType(len, [1]),
    "bound descriptor": lambda: MethodType(str.upper, "a"),
    "bound descriptor of another": lambda: MethodType(str.upper, 5),
    "bound bound method": lambda: MethodType([].append, 3),
    "bound method of a bound one": lambda: MethodType(MethodType(len, [1]), 2),
    "bound class": lambda: MethodType(int, "3"),
    "bound object of Python": lambda: MethodType(Called(), 1),
    "bound partial": lambda: MethodType(functools.partial(len), []),
}
FORMS = [
    lambda f: f(),
    lambda f: f([]),
    lambda f: f("a"),
    lambda f: f(None),
    lambda f: f(1, 2),
    lambda f: f(x=1),
    lambda f: f(*()),
    lambda f: f(*([],)),
    lambda f: f(*("a",)),
    lambda f: f(*(None,)),
    lambda f: f(**{}),
    lambda f: f(*(), x=1),
]


def called_in_each_form(make):
    for form in FORMS:
        f = make()
        with contextlib.suppress(TypeError, ValueError):
            form(f)
        takes()


@pytest.mark.parametrize("what", CALLABLES)
def test_whatever_is_called_ends_where_its_call_ends(what):
    def program():
        called_in_each_form(CALLABLES[what])

    with opyard.profiler.profile() as prof:
        program()
    quality = prof.data_quality()
    assert (quality["clamped"], quality["dropped exits"]) == (0, 0)
    names = [(e.name.rsplit(": ")[-1], e.parent and e.parent.name) for e in prof.events()]
    after = [around for name, around in names if name == "takes"]
    assert sum(around.endswith(": called_in_each_form") for around in after) == len(FORMS)
    # CPython tells sys.setprofile nothing of some that are bound by hand, or only their end.
    if not what.startswith("bound") or "to a" in what:
        assert profile_calls(program) == setprofile_calls(program)


# Waits.


def waits_all_ways():
    time.sleep(0.02)
    lock = threading.Lock()
    with lock:
        lock.acquire(timeout=0.02)
    select.select([], [], [], 0.02)
    threading.Event().wait(0.02)


def test_a_wait_is_told_by_the_function_in_c_that_waits():
    with profile() as prof:
        waits_all_ways()
    waits = {row.key: row.waits_for for row in prof.key_averages()}
    assert waits["time.sleep"] == "sleep"
    assert waits["_thread.lock.acquire"] == "lock"
    assert waits["select.select"] == "I/O"
    assert waits[next(name for name in waits if name.endswith(": waits_all_ways"))] == (
        "GIL or processor"
    )
    # What a library waits for inside of a call is not its own.
    folded = prof.key_averages()._folded()
    (event,) = [row for row in folded if row.key.endswith("): wait")]
    assert event.self_waiting_time_total >= 19_000 and event.waits_for == ""


def test_a_table_says_what_was_waited_for():
    with profile() as prof:
        waits_all_ways()
    for table in (prof.key_averages().table(), prof.key_averages().table(fold=False)):
        lines = table.splitlines()
        assert lines[1].split()[6:8] == ["Waits", "For"]
        (sleep,) = [line.split() for line in lines if "time.sleep" in line]
        assert "sleep" in sleep
        (said,) = [line for line in lines if line.startswith("Waits: ")]
        assert {"lock", "sleep", "I/O"} <= {part.split()[0] for part in said[7:].split(", ")}
    plain = prof.key_averages().table(torch_names=True)
    assert "For" not in plain and "Waits: " not in plain


def test_a_page_has_what_each_row_waits_for(tmp_path):
    with profile() as prof:
        waits_all_ways()
    prof.export(tmp_path / "page.html")
    rows = read_page((tmp_path / "page.html").read_text(), "page.html").head["rows"]
    assert {row[1]: row[9] for row in rows}["time.sleep"] == "sleep"
