"""opyard.profiler beside other profilers, at exit, through exceptions and forks; nothing is left.

Before CPython 3.12 a thread has one place for a profile function: who was there before the profile
is called on, and who comes during it has the place until the next step or thread. Suspect
profiler/python/tracer/set_profile.cpp, monitoring.cpp.
"""

import cProfile
import sys
import threading

import pytest
from profiled_work import leaf, work

from opyard.profiler import profile, schedule

MONITORING = sys.version_info >= (3, 12)
REPLACED = "threads whose profile function a program replaced"


def seen_by(other, function=leaf):
    """How often cProfile saw a function called."""
    return sum(e.callcount for e in other.getstats() if e.code is function.__code__)


def captured(prof, name="): leaf"):
    return sum(event.name.endswith(name) for event in prof.events())


def hearer(heard):
    def hear(frame, event, argument):
        if frame.f_code is leaf.__code__:
            heard.append(event)

    return hear


@pytest.fixture(autouse=True)
def no_profile_function():
    """A row that fails must not leave its function to the others."""
    yield
    sys.setprofile(None)


def test_a_cprofile_from_before_sees_every_call_and_stays():
    other = cProfile.Profile()
    other.enable()
    with profile() as prof:
        work(3)
    work(2)
    other.disable()
    assert seen_by(other) == 5
    assert captured(prof) == 3
    assert REPLACED not in prof.data_quality()
    assert sys.getprofile() is None


def test_a_cprofile_that_ends_within_ends():
    other = cProfile.Profile()
    other.enable()
    with profile() as prof:
        work(3)
        other.disable()
        work(2)
    assert seen_by(other) == 3
    assert sys.getprofile() is None
    assert captured(prof) == 5
    assert (REPLACED in prof.data_quality()) is not MONITORING


def test_X18_a_cprofile_within_sees_its_calls_and_the_profile_all():
    other = cProfile.Profile()
    with profile() as prof:
        work(1)
        other.enable()
        work(2)
        other.disable()
        work(4)
    assert seen_by(other) == 2
    assert captured(prof) == 7
    # One thread, though its place changed hands twice.
    assert prof.data_quality().get(REPLACED, 0) == (0 if MONITORING else 1)


@pytest.mark.parametrize("options", [{}, {"exclude": "json"}, {"min_duration": 0.0}])
def test_what_begins_another_profiler_is_not_around_what_follows(options):
    """Before CPython 3.12 no profile function is told that it has returned."""
    other = cProfile.Profile()

    def program():
        other.enable()
        work(1)
        other.disable()
        sys.setprofile(None)
        work(2)
        with pytest.raises(TypeError):
            sys.setprofile()
        work(3)

    with profile(**options) as prof:
        program()
    (call,) = [event for event in prof.events() if event.name.endswith("): program")]
    inside = [event.name.rsplit(": ")[-1] for event in call.children]
    kept = ("work", "sys.setprofile", "_lsprof.Profiler.enable", "_lsprof.Profiler.disable")
    names = [name for name in inside if name in kept]
    assert names == [
        *("_lsprof.Profiler.enable", "work", "_lsprof.Profiler.disable"),
        *("sys.setprofile", "work", "sys.setprofile", "work"),
    ]
    quality = prof.data_quality()
    assert (quality["clamped"], quality["dropped exits"]) == (0, 0)


def test_a_cprofile_that_outlives_the_profile_goes_on():
    other = cProfile.Profile()
    with profile():
        other.enable()
        work(2)
    work(3)
    other.disable()
    assert seen_by(other) == 5
    assert sys.getprofile() is None


def test_I7_a_profile_function_from_before_hears_every_call_and_is_put_back():
    heard = []
    hear = hearer(heard)
    sys.setprofile(hear)
    with profile() as prof:
        work(2)
    assert sys.getprofile() is hear
    work(1)
    sys.setprofile(None)
    assert heard == ["call", "return"] * 3
    assert captured(prof) == 2
    assert REPLACED not in prof.data_quality()


def test_I5_a_profile_function_that_comes_within_stays_behind_the_profile():
    heard = []
    hear = hearer(heard)
    with profile() as prof:
        work(1)
        sys.setprofile(hear)
        work(2)
    work(4)
    assert sys.getprofile() is hear
    sys.setprofile(None)
    assert heard == ["call", "return"] * 6
    assert captured(prof) == 3
    if not MONITORING:
        assert prof.data_quality()["calls of sys.setprofile"] == 1


def test_a_profile_function_that_is_taken_away_and_put_back_goes_on_hearing():
    heard = []
    hear = hearer(heard)
    sys.setprofile(hear)
    with profile() as prof:
        work(1)
        saved = sys.getprofile()
        sys.setprofile(None)
        work(2)
        sys.setprofile(saved)
        work(4)
    assert sys.getprofile() is hear
    work(8)
    sys.setprofile(None)
    assert heard == ["call", "return"] * (1 + 4 + 8)
    assert captured(prof) == 7


def test_what_was_saved_within_a_profile_can_be_put_back_after_it():
    with profile():
        saved = sys.getprofile()
    sys.setprofile(saved)
    work(2)
    assert sys.getprofile() is None
    heard = []
    sys.setprofile(hearer(heard))
    with profile():
        saved = sys.getprofile()
        sys.setprofile(None)
    sys.setprofile(saved)
    work(2)
    sys.setprofile(None)
    assert heard == ["call", "return"] * 2


TAKEN = "events of sys.monitoring that a program took"


@pytest.mark.skipif(not MONITORING, reason="there is no sys.monitoring")
@pytest.mark.parametrize("what", ["number", "events", "callback"])
def test_a_program_that_takes_the_number_of_the_profile_is_noticed_and_keeps_it(what):
    monitoring = sys.monitoring
    (heard, kept) = ([], lambda code, offset: heard.append(code))
    with profile(c_calls=False) as prof:
        (tool,) = (n for n in range(6) if monitoring.get_tool(n) == "opyard.profiler")
        work(1)
        if what == "number":
            monitoring.free_tool_id(tool)
            monitoring.use_tool_id(tool, "a test")
            monitoring.register_callback(tool, monitoring.events.PY_START, kept)
            monitoring.set_events(tool, monitoring.events.PY_START)
        elif what == "events":
            monitoring.set_events(tool, 0)
        else:
            monitoring.register_callback(tool, monitoring.events.PY_START, kept)
        work(2)
    assert captured(prof) == 1
    assert prof.data_quality()[TAKEN] == 1
    if what == "number":
        work(4)
        assert sum(code is leaf.__code__ for code in heard) == 6
        assert monitoring.get_tool(tool) == "a test"
        monitoring.free_tool_id(tool)
        monitoring.register_callback(tool, monitoring.events.PY_START, None)
    assert monitoring.get_tool(tool) is None
    with profile() as prof:
        work(1)
    assert captured(prof) == 1 and TAKEN not in prof.data_quality()


def test_threads_of_a_program_with_a_profile_function_of_its_own_are_not_missed_in_silence():
    heard = []
    threading.setprofile(hearer(heard))
    try:
        with profile() as prof:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            work(1)
    finally:
        threading.setprofile(None)
    assert heard == ["call", "return"] * 3
    quality = prof.data_quality()
    assert captured(prof) == 4 or quality["calls of sys.setprofile"] == 1


@pytest.mark.parametrize("what", ["step", "thread"])
def test_a_step_and_a_thread_bring_the_capture_back(what):
    """A step of this thread, a start by another; what came within goes on hearing and stays."""
    go = threading.Event()

    def start_another():
        go.wait()
        thread = threading.Thread(target=work, args=(0,))
        thread.start()
        thread.join()

    starter = threading.Thread(target=start_another)
    starter.start()
    other = cProfile.Profile()
    plan = schedule(wait=0, warmup=1, active=3, repeat=1)
    with profile(schedule=plan) as prof:
        prof.step()
        other.enable()
        if what == "step":
            prof.step()
        else:
            go.set()
            starter.join()
        work(2)
    other.disable()
    go.set()
    starter.join()
    assert seen_by(other) == 2
    assert captured(prof) == 2


def test_a_profile_function_that_raises_loses_its_place_and_the_capture_goes_on():
    def fails(frame, event, argument):
        if frame.f_code is leaf.__code__:
            raise KeyError("of the profile function")

    sys.setprofile(fails)
    with profile() as prof:
        with pytest.raises(KeyError, match="of the profile function"):
            work(1)
        work(2)
    assert sys.getprofile() is None
    assert captured(prof, "): work") == 2
    assert captured(prof) >= 2


def test_a_trace_function_sees_the_lines_as_without_a_profile():
    """A debugger and a coverage tool use it; it has a place of its own."""

    def lines():
        seen = []

        def trace(frame, event, argument):
            if frame.f_code is leaf.__code__ or frame.f_code is work.__code__:
                seen.append((event, frame.f_lineno))
                return trace
            return None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            work(2)
        finally:
            sys.settrace(before)
        return seen

    expected = lines()
    with profile() as prof:
        during = lines()
    assert during == expected and len(expected) > 8
    assert captured(prof) == 2


@pytest.mark.parametrize("first", ["coverage", "profile"])
def test_coverage_and_a_profile_see_the_same_as_alone(first, tmp_path):
    coverage = pytest.importorskip("coverage")

    file = work.__code__.co_filename

    def lines_of(run):
        measure = coverage.Coverage(data_file=None, config_file=False, include=[file])
        run(measure)
        return sorted(measure.get_data().lines(file) or ())

    def alone(measure):
        with measure.collect():
            work(2)

    profiles = []

    def together(measure):
        if first == "coverage":
            with measure.collect(), profile() as prof:
                work(2)
        else:
            with profile() as prof, measure.collect():
                work(2)
        profiles.append(prof)

    expected = lines_of(alone)
    during = lines_of(together)
    inside = range(work.__code__.co_firstlineno, max(n for *_, n in work.__code__.co_lines()) + 1)
    assert set(expected) <= set(during) and set(expected) & set(inside)
    assert set(during) & set(inside) == set(expected) & set(inside)
    assert captured(profiles[0], "): work") == 1


def replaced_on_a_thread(last):
    """A profile of a thread on which inner() puts a function over ours, returns unseen, and goes on
    with last() when ours is back."""
    unseen, back = threading.Event(), threading.Event()

    def inner():
        sys.setprofile(lambda *event: None)

    def outer():
        inner()
        unseen.set()
        back.wait()
        last()

    with profile() as prof:
        thread = threading.Thread(target=outer)
        thread.start()
        unseen.wait()  # the main thread runs nothing until then
        back.set()
        thread.join()
    return prof


def path_of(prof, name):
    """The functions around the one call of this name, without those of `threading`."""
    (event,) = [event for event in prof.events() if event.name.endswith("): " + name)]
    path = []
    while event is not None:
        path.append(event.name.rsplit(": ")[-1])
        event = event.parent
    return [name for name in reversed(path) if name in ("outer", "inner", "last", "leaf")]


def test_what_ended_behind_another_profile_function_is_not_around_what_follows():
    def last():
        leaf(1)

    prof = replaced_on_a_thread(last)
    assert path_of(prof, "leaf") == ["outer", "last", "leaf"]
    assert path_of(prof, "inner") == ["outer", "inner"]
    quality = prof.data_quality()
    assert (quality["clamped"], quality["lost"]) == (0, 0)


def test_a_call_begun_behind_another_profile_function_ends_nothing_else():
    """The program's function has the thread while in_between() begins; ours, when leaf() does."""
    unseen, back = threading.Event(), threading.Event()

    def inner():
        sys.setprofile(lambda *event: None)

    def in_between():
        unseen.set()
        back.wait()
        leaf(1)

    def outer():
        inner()
        in_between()
        leaf(2)

    with profile() as prof:
        thread = threading.Thread(target=outer)
        thread.start()
        unseen.wait()
        back.set()
        thread.join()
    paths = set()
    for event in prof.events():
        if event.name.endswith("): leaf"):
            up = event.parent
            while up is not None and not up.name.endswith(("): inner", "): outer")):
                up = up.parent
            paths.add(up.name.rsplit(": ")[-1])
    assert paths == {"outer"}
