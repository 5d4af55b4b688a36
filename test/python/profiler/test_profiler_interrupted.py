"""A profile that begins while another tool is told of an event.

Suspect profiler/python/tracer/interrupted.cpp.
"""

import sys
import threading
import time

import pytest

import opyard
from opyard.profiler import profile

MONITORING = sys.version_info >= (3, 12)


def inner(n):
    return n + 1


def told_of(n):
    return inner(n)


def later(n):
    return inner(n)


def body():
    told_of(1)
    for n in range(3):
        later(n)


def name_of(event):
    return event.name.rsplit(": ")[-1]


def names_around(event):
    names = []
    while (event := event.parent) is not None:
        names.append(name_of(event))
    return names


class Tool:
    """Of the event of that name of told_of() it is told until the profile has begun."""

    def __init__(self, event):
        self.event = event
        self.inside, self.go = threading.Event(), threading.Event()

    def hear(self, code, event):
        if event == self.event and code is told_of.__code__ and not self.inside.is_set():
            self.wait()

    def wait(self):
        self.inside.set()
        self.go.wait()

    def run(self, how):
        getattr(self, how)()

    def setprofile(self):
        sys.setprofile(lambda frame, event, argument: self.hear(frame.f_code, event))
        body()
        sys.setprofile(None)

    def settrace(self):
        def trace(frame, event, argument):
            self.hear(frame.f_code, event)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        body()
        sys.settrace(before)

    def monitoring(self):
        monitoring = sys.monitoring
        events = monitoring.events
        monitoring.use_tool_id(5, "a test")
        for event, name in ((events.PY_START, "call"), (events.PY_RETURN, "return")):
            monitoring.register_callback(
                5, event, lambda code, *_, name=name: self.hear(code, name)
            )
        monitoring.set_events(5, events.PY_START | events.PY_RETURN)
        body()
        monitoring.set_events(5, 0)
        for event in (events.PY_START, events.PY_RETURN):
            monitoring.register_callback(5, event, None)
        monitoring.free_tool_id(5)


@pytest.mark.parametrize("event", ["call", "return"])
@pytest.mark.parametrize("how", ["setprofile", "settrace", *(["monitoring"] if MONITORING else [])])
def test_I7_a_call_that_is_over_when_the_tool_has_heard_of_it_is_not_around_what_follows(
    how, event
):
    tool = Tool(event)
    thread = threading.Thread(target=tool.run, args=(how,))
    thread.start()
    tool.inside.wait()
    with profile() as prof:
        tool.go.set()
        thread.join()
    mine = [one for one in prof.events() if one.start_tid == thread.native_id]
    for one in mine:
        if name_of(one) == "later":
            around = names_around(one)
            assert around[0] == "body" and not {"told_of", "hear", "wait"} & set(around), around
        if name_of(one) == "inner":
            assert name_of(one.parent) in ("told_of", "later")
    assert sum(name_of(one) == "later" for one in mine) == 3
    assert sum(name_of(one) == "inner" for one in mine) == (4 if event == "call" else 3)
    assert sum(name_of(one) == "told_of" for one in mine) == 1
    quality = prof.data_quality()
    # Of the frames of the thread that end behind sys.setprofile(None), before ours is back.
    assert quality["clamped"] <= (5 if how == "setprofile" and not MONITORING else 0)


@pytest.mark.parametrize("event", ["call", "return"])
@pytest.mark.parametrize("how", ["setprofile", *(["monitoring"] if MONITORING else [])])
def test_a_call_that_is_over_is_not_around_what_a_thread_does_that_tells_of_nothing(
    how, event, monkeypatch
):
    x = opyard.tensor([1.0])
    x + x  # loads the operators
    over, turns = False, 0

    def told_of(n):
        nonlocal turns
        while event == "call" and not over:
            x + x
            turns += 1

    def body():
        nonlocal turns
        told_of(1)
        while not over:
            x + x
            turns += 1

    monkeypatch.setitem(globals(), "told_of", told_of)
    monkeypatch.setitem(globals(), "body", body)
    tool = Tool(event)
    thread = threading.Thread(target=tool.run, args=(how,))
    thread.start()
    tool.inside.wait()
    with profile() as prof:
        tool.go.set()
        while turns < 10:
            time.sleep(0.001)
    over = True
    thread.join()
    mine = [one for one in prof.events() if one.start_tid == thread.native_id]
    last = "told_of" if event == "call" else "body"
    added = [one for one in mine if one.kind == "Operator"]
    assert added and {name_of(one.parent) for one in added} == {last}
    open_at_end = [name_of(one) for one in mine if "was open at its end" in one.cuts]
    assert open_at_end[-1] == last
    lost = {name_of(one) for one in mine if "its end was lost" in one.cuts}
    assert {"hear", "wait"} <= lost and ("told_of" in lost) is (event == "return")
    assert prof.data_quality()["clamped"] == sum("its end was lost" in one.cuts for one in mine)


def test_a_profile_that_a_tool_begins_itself_does_not_have_the_tool_around_what_follows():
    prof = profile()

    def hear(frame, event, argument):
        if event == "return" and frame.f_code is told_of.__code__:
            prof.start()

    sys.setprofile(hear)
    told_of(1)
    later(2)
    sys.setprofile(None)
    prof.stop()
    (one,) = [one for one in prof.events() if name_of(one) == "later"]
    assert not {"hear", "told_of"} & set(names_around(one))
