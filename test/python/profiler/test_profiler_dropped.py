"""Profiles, flight recorders and observers that nobody holds any more, or that somebody forgot.

Suspect profiler/python/opyard/_profile/active.py and the `__del__` of each; of observers
tracer/observers.cpp.
"""

import gc
import signal
import sys
import threading
import weakref

import pytest

import opyard
from opyard import _tracer, profiler
from opyard.profiler import flight_recorder, observe, profile


def make_flight_recorder_that_listens(tmp_path):
    return flight_recorder(bytes=1 << 20, path=tmp_path / "at-{}.json", signals=[signal.SIGUSR1])


def make_observer_that_leads_to_itself(_):
    """By its function, which the tracer calls."""
    one = observe(lambda *_: one)
    return one


MAKE = {
    "profile": lambda _: profile(),
    "profile with steps": lambda _: profile(schedule=profiler.schedule(wait=0, warmup=1, active=9)),
    "flight recorder": lambda _: flight_recorder(bytes=1 << 20),
    "flight recorder that listens": make_flight_recorder_that_listens,
    "observer": lambda _: observe(lambda *_: None),
    "observer that leads to itself": make_observer_that_leads_to_itself,
}
NAMES = {"profile": "a profile", "flight": "a flight recorder", "observer": "an observer"}


@pytest.fixture(params=MAKE)
def make(request, tmp_path):
    hooks = sys.excepthook, threading.excepthook, signal.getsignal(signal.SIGUSR1)
    gc.collect()
    yield lambda: MAKE[request.param](tmp_path)
    gc.collect()
    assert hooks == (sys.excepthook, threading.excepthook, signal.getsignal(signal.SIGUSR1))


@pytest.fixture
def warns(request):
    kind = request.node.callspec.params["make"].split()[0]
    return pytest.warns(RuntimeWarning, match=f"{NAMES[kind]} was dropped while it was on")


def drop(make):
    one = make()
    one.start()
    del one


def in_a_cycle(make):
    one = make()
    one.start()
    one.itself = one
    del one


def by_a_cell_that_is_run_again(make):
    cell = "one = make()\none.start()"
    names = {"make": make}
    exec(cell, names)
    exec(cell, names)  # the second is told apart from the first, which goes
    names.pop("one").stop()


def with_its_exception(make):
    def fail():
        one = make()
        one.start()
        raise KeyError

    try:
        fail()
    except KeyError:
        pass


def in_a_finalizer(make):
    class Owner:
        def __init__(self):
            self.one = make()
            self.one.start()

        def __del__(self):
            len([self])

    Owner()


WAYS = [drop, in_a_cycle, by_a_cell_that_is_run_again, with_its_exception, in_a_finalizer]


def what_is_on():
    return [
        one
        for one in (
            profiler.active(),
            profiler.active_recorder(),
            *profiler.active_observers(),
        )
        if one is not None
    ]


@pytest.mark.parametrize("way", WAYS)
def test_I5_what_is_dropped_stops_and_says_so(make, warns, way):
    with warns:
        way(make)
        gc.collect()
    assert what_is_on() == []
    assert not _tracer.is_active()
    again = make()
    again.start()  # nothing is in its way
    opyard.ones(2) + 1
    again.stop()


def test_what_is_dropped_on_another_thread_stops_too(make, warns):
    one = make()
    one.start()
    box = [one]
    del one
    gc.collect()
    with warns:
        thread = threading.Thread(target=lambda: (box.clear(), gc.collect()))
        thread.start()
        thread.join()
    again = make()
    again.start()
    again.stop()
    assert what_is_on() == []
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)  # which another thread cannot put back


def test_what_is_stopped_says_nothing_when_it_is_dropped(make, recwarn):
    one = make()
    one.start()
    one.stop()
    del one
    never_started = make()
    del never_started
    gc.collect()
    assert not [said for said in recwarn if "dropped" in str(said.message)]


def test_nothing_is_held_of_what_was_dropped(make):
    one = make()
    one.start()
    weak = weakref.ref(one)
    with pytest.warns(RuntimeWarning):
        del one
        gc.collect()
    assert weak() is None


def test_a_profile_that_was_forgotten_is_found_and_named_by_the_error():
    forgotten = [profile()]
    forgotten[0].start()
    with pytest.raises(RuntimeError, match=r"opyard\.profiler\.active\(\) has it"):
        profile().start()
    found = profiler.active()
    assert found is forgotten[0]
    found.stop()
    assert found.events() and profiler.active() is None


def test_a_recorder_that_was_forgotten_is_found_and_named_by_the_error():
    forgotten = [flight_recorder()]
    forgotten[0].start()
    with pytest.raises(RuntimeError, match=r"opyard\.profiler\.active_recorder\(\) has it"):
        flight_recorder().start()
    found = profiler.active_recorder()
    assert found is forgotten[0]
    found.stop()
    assert profiler.active_recorder() is None


def test_an_observer_that_was_forgotten_is_found_and_named_by_the_error():
    outer, inner = observe(), observe()
    outer.start()
    inner.start()
    assert profiler.active_observers() == [outer, inner]
    on_another = []
    thread = threading.Thread(target=lambda: on_another.extend(profiler.active_observers()))
    thread.start()
    thread.join()
    assert on_another == []
    with pytest.raises(RuntimeError, match=r"opyard\.profiler\.active_observers\(\) has those"):
        outer.stop()
    for one in reversed(profiler.active_observers()):
        one.stop()
    assert profiler.active_observers() == []


def test_an_observer_that_is_dropped_is_in_nobodys_way():
    told = []
    outer = observe(lambda *_: told.append("outer"))
    outer.start()
    with pytest.warns(RuntimeWarning, match="an observer was dropped"):
        drop(lambda: observe(lambda *_: told.append("inner")))
    opyard.ones(2)
    assert "outer" in told and "inner" not in told
    with pytest.warns(RuntimeWarning, match="an observer was dropped"):
        outer_of_all = [observe(), observe()]
        for one in outer_of_all:
            one.start()
        del outer_of_all[0], one  # the innermost goes last
        outer_of_all.pop().stop()
    outer.stop()


def test_an_observer_may_be_dropped_within_a_call_that_it_is_told_of():
    box = []
    box.append(observe(lambda *_: box.clear(), lambda *_: None))
    box[0].start()
    with pytest.warns(RuntimeWarning, match="an observer was dropped"):
        opyard.ones(2)
    opyard.ones(2)
    with observe():
        opyard.ones(2)


def test_a_profile_that_never_captures_is_dropped_without_a_word(recwarn):
    one = profile(schedule=lambda _: profiler.ProfilerAction.NONE)
    one.start()
    del one
    assert not recwarn.list


def test_the_profile_that_is_on_says_where_it_was_started_and_can_be_ended():
    assert profiler.active() is None and profiler.stop_active() is None
    prof = profiler.profile()
    assert repr(prof) == "<profile: not started>"
    line = sys._getframe().f_lineno + 1
    prof.start()
    where = f"<profile: captures, started at {__file__}:{line}>"
    assert repr(profiler.active()) == where
    with pytest.raises(RuntimeError, match=r"stop_active\(\)") as refused:
        profiler.profile().start()
    assert str(refused.value).endswith(f"It is {where}.")
    assert profiler.stop_active() is prof
    assert repr(prof) == "<profile: has ended>" and prof.events() is not None
    assert profiler.stop_active() is None
    plan = profiler.schedule(wait=1, warmup=1, active=1)
    with profiler.profile(schedule=plan) as prof:
        assert repr(prof).startswith("<profile: waits for its next step, started at ")


def test_another_thread_ends_the_profile_that_is_on():
    thread = threading.Thread(target=profiler.stop_active)
    prof = profiler.profile()
    prof.start()
    thread.start()
    thread.join()
    assert profiler.active() is None and len(prof.events()) > 0
    with pytest.raises(RuntimeError, match="has not been started"):
        prof.stop()
