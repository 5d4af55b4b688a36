"""opyard.profiler: filters of a capture, the lines of calls, tasks of asyncio.

Suspect profiler/python/tracer/filter.cpp, coroutines.cpp for tasks.
"""

import asyncio
import json
import sys
import time
from collections import Counter

import pytest
from profiled_work import assert_nested, load_chrome

from opyard.profiler import profile


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def names_of(prof):
    """What was captured, but for the frames that were open before."""
    return [event.name.rsplit("): ", 1)[-1] for event in prof.events() if not event.cuts]


def dump():
    fib(3)
    return json.dumps({"numbers": [1, 2]}, indent=1)


def test_X20_an_excluded_module_is_left_out_and_what_it_calls_in_c():
    with profile() as whole:
        dump()
    assert any("json/encoder.py" in event.name for event in whole.events())
    with profile(exclude="json") as prof:
        dump()
    names = [event.name for event in prof.events() if not event.cuts]
    assert not [name for name in names if "json/" in name]
    assert "builtins.isinstance" not in names  # called by the encoder alone
    assert names_of(prof).count("fib") == 5
    with profile() as again:  # what one filter decided is not the next one's
        dump()
    assert names_of(again) == names_of(whole)


def test_X20_included_functions_alone_are_captured():
    with profile(include=["json"]) as prof:
        dump()
    python = [event for event in prof.events() if event.kind == "Python"]
    assert python
    assert all("json/" in event.name for event in python)
    with profile(include=["json"], exclude=["*/encoder.py"]) as prof:
        dump()
    assert [event.name for event in prof.events() if event.kind == "Python"] == [
        next(event.name for event in python if event.name.endswith("): dumps"))
    ]


def test_X20_paths_and_functions_in_c_can_be_left_out():
    with profile(exclude=[__file__, "time.sleep"]) as prof:
        fib(3)
        time.sleep(0)
        dump()
    names = names_of(prof)
    assert not {"fib", "dump", "time.sleep"} & set(names)
    with profile(exclude=["tim", "time.sle"]) as prof:
        time.sleep(0)
    assert "time.sleep" in names_of(prof)  # a beginning is no module
    with profile(exclude="*/test_profiler_f*") as prof:
        fib(3)
    assert "fib" not in names_of(prof)


def test_X20_calls_deeper_than_max_depth_are_left_out():
    with profile(max_depth=3) as prof:
        fib(6)
    assert Counter(names_of(prof))["fib"] == 1 + 2 + 4
    with profile(max_depth=1) as prof:
        dump()
    assert names_of(prof)[:1] == ["dump"]
    assert "fib" not in names_of(prof)


def slow():
    for _ in range(3):
        fib(2)
    time.sleep(0.02)
    return sorted([2, 1])


def test_X20_short_calls_are_left_out_and_long_ones_keep_their_times():
    with profile(min_duration=10_000) as prof:
        slow()
    assert names_of(prof) == ["slow", "time.sleep"]
    (sleep,) = [event for event in prof.events() if event.name == "time.sleep"]
    assert sleep.duration_time_ns >= 20_000_000
    assert prof.data_quality()["dropped exits"] <= 1  # of what ends the profile


def generator():
    yield fib(2)
    yield fib(2)


def test_X20_a_filter_goes_with_generators_and_exceptions():
    def raises():
        list(generator())
        steps = generator()
        next(steps)
        try:
            steps.throw(KeyError)
        except KeyError:
            pass
        raise ValueError

    for options in ({"exclude": __file__}, {"max_depth": 2}, {"min_duration": 0.001}):
        with profile(**options) as prof, pytest.raises(ValueError):
            raises()
        for track in prof.events().tracks:
            for number in range(track.count):
                assert prof._profile.span(track.index, number)[5] & 4 == 0  # no exit was lost


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_depth": 0}, "max_depth is at least 1"),
        ({"min_duration": -1}, "min_duration must be a number of microseconds"),
        ({"include": [3]}, "include takes names of modules"),
        ({"exclude": [""]}, "exclude takes names of modules"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(options, says):
    with pytest.raises((TypeError, ValueError), match=says):
        profile(**options)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_X20_what_is_left_out_is_switched_off():
    """The tracer hears of an excluded function once, and of later calls no more."""
    code = fib.__code__
    with profile(exclude=__file__):
        fib(2)
        tool = next(n for n in range(6) if sys.monitoring.get_tool(n) == "opyard.profiler")
        heard = []
        events = sys.monitoring.events
        former = sys.monitoring.register_callback(
            tool, events.PY_START, lambda code, offset: heard.append(code)
        )
        fib(5)
        sys.monitoring.register_callback(tool, events.PY_START, former)
    assert code not in heard


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_X20_calls_by_what_is_left_out_are_switched_off():
    with profile(exclude=__file__):
        fib(3)
        tool = next(n for n in range(6) if sys.monitoring.get_tool(n) == "opyard.profiler")
        heard = []
        events = sys.monitoring.events
        former = sys.monitoring.register_callback(
            tool, events.CALL, lambda code, *what: heard.append(code)
        )
        fib(3)
        sys.monitoring.register_callback(tool, events.CALL, former)
    assert fib.__code__ not in heard


# Lines.


def called_twice():
    fib(1)
    sorted([fib(0)], key=fib)


def test_I12_the_line_of_each_call_is_that_of_its_caller():
    with profile(caller_lines=True) as prof:
        called_twice()
    first = called_twice.__code__.co_firstlineno
    calls = [event for event in prof.events() if not event.cuts]
    by_name = [(event.name.rsplit("): ", 1)[-1], (event.caller_line or 0)) for event in calls]
    inside = [(name, line - first) for name, line in by_name if name in ("fib", "builtins.sorted")]
    assert inside == [("fib", 1), ("fib", 2), ("builtins.sorted", 2), ("fib", 2)]


def lines_of(code):
    return {line for _, _, line in code.co_lines() if line}


def test_I39_each_call_is_made_from_a_line_of_the_function_around_it():
    codes = {}
    for function in (dump, fib, slow, called_twice, generator):
        codes[function.__code__.co_firstlineno] = function.__code__
    with profile(caller_lines=True) as prof:
        dump()
        slow()
        called_twice()
        list(generator())
    checked = 0
    for event in prof.events():
        outer = event.parent
        while outer is not None and outer.kind != "Python":
            outer = outer.parent
        if outer is None or outer.extra_fields["file_name"] != __file__:
            continue
        code = codes.get(outer.extra_fields["line_number"])
        if code is not None:
            assert event.caller_line in lines_of(code), event
            checked += 1
    assert checked > 20


def test_averages_can_be_told_apart_by_the_line_of_the_caller():
    with profile(caller_lines=True) as prof:
        called_twice()
    rows = [row for row in prof.key_averages(group_by_line=True) if row.key.endswith("): fib")]
    first = called_twice.__code__.co_firstlineno
    assert sorted((row.caller_line - first, row.count) for row in rows) == [(1, 1), (2, 2)]
    assert "Caller Line" in prof.key_averages(group_by_line=True).table()
    with profile() as prof:
        fib(1)
    assert all(event.caller_line is None for event in prof.events())
    with pytest.raises(RuntimeError, match="caller_lines=True"):
        prof.key_averages(group_by_line=True)


# Tasks.


async def nap(seconds):
    await asyncio.sleep(seconds)


async def naps(count):
    for _ in range(count):
        await nap(0.005)


async def several():
    named = asyncio.create_task(naps(1), name="the named one")
    failing = asyncio.create_task(fails())
    forever = asyncio.create_task(asyncio.sleep(1000), name="cancelled")
    await asyncio.gather(naps(2), named)
    forever.cancel()
    await asyncio.gather(failing, forever, return_exceptions=True)


async def fails():
    await nap(0)
    raise ValueError


def test_I20_each_task_has_a_track_that_says_when_it_ran_and_awaited(tmp_path):
    with profile() as prof:
        asyncio.run(several())
    tasks = {task.name: task for task in prof.tasks()}
    assert {"the named one (naps)", "cancelled (sleep)"} <= set(tasks)
    (twice,) = [
        task for name, task in tasks.items() if name.startswith("Task-") and "(naps)" in name
    ]
    assert len(twice.awaiting) == 2
    assert twice.awaiting_time_ns >= 10_000_000 > twice.running_time_ns > 0
    assert any("(fails)" in name for name in tasks)
    assert [task.name for task in prof.tasks()].count("the named one (naps)") == 1

    # Tables leave the tracks out: they are made of what the threads did.
    total = sum(row.self_cpu_time_total for row in prof.key_averages())
    roots = sum(
        event.duration_time_ns / 1000
        for event in prof.events()
        if event.parent is None and not event.track.is_derived
    )
    assert total == pytest.approx(roots)
    prof.export_chrome_trace(tmp_path / "trace.json")
    document = load_chrome(tmp_path / "trace.json")
    assert_nested(document)
    assert "Awaiting" in {e["args"].get("kind") for e in document["traceEvents"] if e["ph"] == "X"}


def test_coroutines_of_no_task_have_no_track():
    with profile() as prof:
        coroutine = nap(0)
        coroutine.send(None)
        coroutine.close()
    assert prof.tasks() == []


def test_a_million_coroutines_leave_no_names():
    async def nothing():
        return None

    async def many():
        for _ in range(3000):
            await nothing()
            await asyncio.create_task(nothing())

    with profile():
        asyncio.run(many())
    with profile() as prof:
        asyncio.run(many())
    assert len(prof.tasks()) >= 3000
    keys = {event.key for event in prof.events()}
    assert len(keys) < 500
