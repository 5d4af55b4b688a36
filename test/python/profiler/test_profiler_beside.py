"""opyard.profiler beside other profilers, at exit, through exceptions and forks; nothing is left.

Before CPython 3.12 a thread has one place for a profile function: who was there before the profile
is called on, and who comes during it has the place until the next step or thread. Suspect
profiler/python/tracer/set_profile.cpp, monitoring.cpp.
"""

import cProfile
import gc
import os
import sys
import threading
import time
import weakref

import pytest
from processes import leaks, run, volume
from profiler_traces import leaf, work

from opyard.profiler import flight_recorder, profile, record_function, schedule

MONITORING = sys.version_info >= (3, 12)
REPLACED = "threads whose profile function a program replaced"


def seen_by(other, function=leaf):
    """How often cProfile saw a function called."""
    return sum(e.callcount for e in other.getstats() if e.code is function.__code__)


def recorded(prof, name="): leaf"):
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
    assert recorded(prof) == 3
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
    assert recorded(prof) == 5
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
    assert recorded(prof) == 7
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
    assert recorded(prof) == 2
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
    assert recorded(prof) == 3
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
    assert recorded(prof) == 7


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
    assert recorded(prof) == 1
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
    assert recorded(prof) == 1 and TAKEN not in prof.data_quality()


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
    assert recorded(prof) == 4 or quality["calls of sys.setprofile"] == 1


@pytest.mark.parametrize("what", ["step", "thread"])
def test_a_step_and_a_thread_bring_the_recording_back(what):
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
    assert recorded(prof) == 2


def test_a_profile_function_that_raises_loses_its_place_and_the_recording_goes_on():
    def fails(frame, event, argument):
        if frame.f_code is leaf.__code__:
            raise KeyError("of the profile function")

    sys.setprofile(fails)
    with profile() as prof:
        with pytest.raises(KeyError, match="of the profile function"):
            work(1)
        work(2)
    assert sys.getprofile() is None
    assert recorded(prof, "): work") == 2
    assert recorded(prof) >= 2


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
    assert recorded(prof) == 2


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
    assert recorded(profiles[0], "): work") == 1


ON_AT_EXIT = """
import cProfile, sys, threading, time
from opyard.profiler import profile

def sleep(times):
    for _ in range(times):
        time.sleep(0.001)

prof = profile()
prof.start()
if sys.argv[1] == "sys.exit":
    sys.exit(0)
if sys.argv[1] == "cProfile":
    cProfile.Profile().enable()
if sys.argv[1] == "sys.setprofile":
    sys.setprofile(lambda *what: None)
if sys.argv[1] == "thread":
    threading.Thread(target=sleep, args=(50,)).start()
if sys.argv[1] == "daemon":
    threading.Thread(target=sleep, args=(10**6,), daemon=True).start()
    time.sleep(0.01)
if sys.argv[1] == "atexit":
    import atexit
    atexit.register(sleep, 2)
if sys.argv[1] == "cycle":
    class Odd:
        def __del__(self):
            len(str(self.me))
    odd = Odd()
    odd.me = odd
"""
WAYS = ["nothing", "sys.exit", "cProfile", "sys.setprofile", "thread", "atexit", "cycle"]
if sys.version_info >= (3, 11):
    WAYS.append("daemon")  # 3.10 crashes in such threads without a profile, too: see processes.py


@pytest.mark.parametrize("way", WAYS)
def test_I6_a_program_that_ends_with_a_profile_on_ends_well(way):
    ended = run(ON_AT_EXIT, way)
    assert (ended.code, ended.stderr) == (0, "")


def test_results_can_be_had_from_a_profile_that_was_on_at_exit():
    ended = run(
        """
        import atexit

        def show():
            print(sum(e.name.endswith(": leaf") for e in prof.events()))

        atexit.register(show)  # runs after what the profiler registers at its import
        from opyard.profiler import profile

        def leaf():
            pass

        prof = profile()
        prof.start()
        leaf()
        """
    )
    assert ended[:3] == (0, "1\n", "")


def test_sys_exit_inside_the_block_ends_the_profile_and_the_program():
    ended = run(
        """
        import sys
        from opyard.profiler import profile

        try:
            with profile() as prof:
                sys.exit(7)
        finally:
            print("sys.exit" in {event.name for event in prof.events()}, sys.getprofile())
        """
    )
    assert ended[:3] == (7, "True None\n", "")


def test_I19_an_exception_leaves_the_block_as_itself_and_closes_what_was_open():
    def fails():
        with record_function("half done"):
            work(2)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught, profile() as prof:
        fails()
    assert [entry.name for entry in caught.traceback][-1] == "fails"
    for name in ("): fails", "half done"):
        (event,) = (e for e in prof.events() if e.name.endswith(name))
        assert event.cuts == []  # it ended where the exception went through
    quality = prof.data_quality()
    assert quality["clamped"] == quality["dropped exits"] == 0


FORKS = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from 3.12 on
import os, sys, threading, time
from opyard.profiler import profile

def leaf(n):
    return n + 1

def in_child():
    return leaf(1)

def in_parent():
    return leaf(1)

def counts(prof, *names):
    rows = {row.key.rsplit(": ")[-1]: row.count for row in prof.key_averages()}
    return [rows.get(name, 0) for name in names]

def busy():
    while not stop:
        leaf(1)
        time.sleep(0)

stop = False
threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(int(sys.argv[1])):
    with profile(c_calls=False) as prof:
        in_parent()
        pid = os.fork()
        if pid == 0:
            in_child()
            prof.stop()
            mine = [t for t in prof.events().tracks if t.native_id == os.getpid()]
            ok = counts(prof, "in_parent", "in_child") == [1, 1] and len(mine) == 1
            ok = ok and prof.data_quality()["broken"] == prof.data_quality()["clamped"] == 0
            with profile() as again:
                in_child()
            ok = ok and counts(again, "in_parent", "in_child") == [0, 1]
            os._exit(0 if ok else 5)
        assert os.waitpid(pid, 0)[1] == 0, "child"
    assert counts(prof, "in_parent", "in_child") == [1, 0]
stop = True
for thread in threads:
    thread.join()
"""


def test_a_child_has_what_was_before_the_fork_and_its_own():
    """The threads of the parent are in it, too, up to the fork; the parent's has no child."""
    ended = run(FORKS, volume(20, least=3), limit=60)
    assert (ended.code, ended.stderr) == (0, "")


def test_a_child_records_nothing_for_a_thread_that_is_not_there():
    ended = run(
        """
        import os, threading
        from opyard.profiler import profile

        def before():
            started.set()
            forked.wait()

        def other():
            global prof
            with profile() as prof:
                before()

        started, forked = threading.Event(), threading.Event()
        thread = threading.Thread(target=other)
        thread.start()
        started.wait()
        pid = os.fork()
        if pid == 0:
            assert any(event.name.endswith("): before") for event in prof.events())
            try:
                prof.stop()
            except RuntimeError as error:
                assert "has not been started" in str(error)
            with profile() as mine:
                len("")
            os._exit(3 if any(event.name.endswith("len") for event in mine.events()) else 4)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        forked.set()
        thread.join()
        prof.events()
        """
    )
    assert (ended.code, ended.stdout.strip()) == (0, "3"), ended.stderr


def test_a_child_that_exits_with_the_profile_of_its_parent_on_ends_well():
    ended = run(
        """
        import os, sys
        from opyard.profiler import profile

        with profile():
            pid = os.fork()
            if pid == 0:
                sys.exit(3)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    )
    assert ended[:3] == (0, "3\n", "")


def test_200_profiles_while_four_threads_call():
    stop = False
    turns = [0] * 4

    def busy(number):
        while not stop:
            leaf(len("abc"))
            turns[number] += 1

    threads = [threading.Thread(target=busy, args=(n,)) for n in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for thread in threads:
        thread.start()
    with_others = 0
    try:
        for _ in range(200):
            with profile() as prof:
                work(2)
                time.sleep(0)
            rows = {row.key.rsplit(": ")[-1]: row.count for row in prof.key_averages()}
            assert rows["work"] == 1
            with_others += rows["leaf"] > 2
            quality = prof.data_quality()
            assert quality["lost"] == quality["broken"] == quality["clamped"] == 0
            assert quality["dropped exits"] <= 4  # of calls that began before, one a thread
    finally:
        sys.setswitchinterval(interval)
        stop = True
        for thread in threads:
            thread.join()
    assert min(turns) > 0
    assert with_others > 20  # the threads ran while the profiles did
    assert sys.getprofile() is None


def test_no_memory_is_left_by_profiles():
    def step():
        with profile() as prof:
            work()
            with record_function("a range"):
                gc.collect(0)
        prof.events().tree()
        prof.key_averages().table()

    assert leaks(step) is None


def test_nothing_is_kept_alive_by_what_was_recorded():
    class Held:
        def called(self):
            return leaf(1)

    def make():
        def made():
            return held.called()

        held = Held()
        made.__code__ = made.__code__.replace()  # this one is no constant of make()
        with profile() as prof:
            made()
        assert recorded(prof, "): called") == 1
        prof.itself = prof
        return weakref.ref(held), weakref.ref(made), weakref.ref(made.__code__), weakref.ref(prof)

    was_on, callbacks = gc.isenabled(), list(gc.callbacks)
    references = make()
    gc.collect()
    assert [reference() for reference in references] == [None] * 4
    assert gc.isenabled() == was_on
    assert gc.callbacks == callbacks
    if MONITORING:
        assert [sys.monitoring.get_tool(n) for n in range(6)] == [None] * 6


def test_no_thread_is_started_by_a_profile():
    before = threading.active_count(), set(os.listdir("/proc/self/task"))
    with profile():
        during = threading.active_count(), set(os.listdir("/proc/self/task"))
    assert during[0] <= before[0]
    assert not during[1] - before[1]  # one of an earlier test may have ended meanwhile


IN_THE_MIDDLE = """
import threading
from opyard.profiler import profile
inside, go = threading.Event(), threading.Event()
class F:
    def __call__(self, *args): pass
    def __del__(self):
        inside.set()
        go.wait()
def thread():
    import sys
    sys.setprofile(F())
    sys.setprofile(None)
t = threading.Thread(target=thread)
t.start()
inside.wait()
prof = profile()
prof.start()
go.set()
t.join()
prof.stop()
"""


def test_a_profile_starts_while_another_thread_sets_a_function():
    ended = run(IN_THE_MIDDLE)
    assert (ended.code, ended.stderr) == (0, "")


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


@pytest.mark.parametrize("kind", ["profile", "flight recorder"])
def test_10000_profiles_start_and_stop_while_eight_threads_call(kind):
    """As many as fit into 40 seconds (four minutes, if more are asked for)."""
    done = threading.Event()
    most, until = (
        volume(10_000 if kind == "profile" else 2_000),
        time.monotonic() + max(20, min(volume(40), 240)),
    )

    def busy():
        while not done.is_set():
            work(3)
            len([])

    threads = [threading.Thread(target=busy) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for number in range(most):
            if kind == "profile":
                prof = profile()
                prof.start()
                prof.stop()
            else:
                recorder = flight_recorder(bytes=1 << 20)
                recorder.start()
                if number % 10 == 0:
                    prof = recorder.dump()
                recorder.stop()
            if time.monotonic() > until:
                break
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert number >= min(most, 50) - 1
    quality = prof.data_quality()
    assert (quality["lost"], quality["clamped"], quality["broken"]) == (0, 0, 0)
    with profile() as prof:
        work(2)
    assert recorded(prof) == 2


def depth_of(event):
    """In how many calls of its own function a call is, itself included."""
    depth, around = 0, event
    while around is not None and around.name == event.name:
        depth, around = depth + 1, around.parent
    return depth


def test_a_call_that_a_profile_finds_at_its_first_instruction_is_told_once():
    done = threading.Event()

    def down(n):
        return down(n - 1) if n else 0

    def busy():
        while not done.is_set():
            work(3)
            down(2)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    profiles = []
    try:
        for _ in range(volume(40, 4)):
            # The second begins where the first left the threads.
            for prof in (profile(c_calls=False), profile(c_calls=False)):
                with prof:
                    time.sleep(0.0001)
                profiles.append(prof)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    for prof in profiles:
        for event in prof.events()[:2000]:
            if event.name.endswith("): leaf"):
                assert not event.children, "it calls nothing"
            if event.name.endswith("): down"):
                assert depth_of(event) <= 3


# A hook of the program's that hears of profile functions lets other threads run, and end.
AUDITED = """
import sys, threading, time
from opyard.profiler import profile

heard = 0
def hook(name, arguments):
    global heard
    if name == "sys.setprofile":
        heard += 1
        time.sleep(0)
sys.addaudithook(hook)

def short():
    sum(range(20))

done = False
def start_short_ones():
    while not done:
        threads = [threading.Thread(target=short) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

starters = [threading.Thread(target=start_short_ones) for _ in range(3)]
for thread in starters:
    thread.start()
for _ in range(int(sys.argv[1])):
    with profile() as prof:
        short()
    assert sum(event.name.endswith("): short") for event in prof.events()) >= 1
done = True
for thread in starters:
    thread.join()
print("heard" if heard else "not heard")
"""


def test_threads_end_while_a_profile_starts_in_a_program_with_an_audit_hook():
    ended = run(AUDITED, volume(60), limit=120)
    assert ended.code == 0, ended.stderr
    assert ended.stdout.strip() == ("not heard" if MONITORING else "heard")


REFUSED = """
import sys
from opyard.profiler import profile

def hook(name, arguments):
    if name == "sys.setprofile" and refuses:
        raise PermissionError("no profiles here")

refuses = True
sys.addaudithook(hook)
try:
    profile().start()
except PermissionError as error:
    print(error)
refuses = False
with profile() as prof:
    len([])
print(len(prof.events()) > 0)
"""


@pytest.mark.skipif(MONITORING, reason="sys.monitoring raises no audit event")
def test_an_audit_hook_may_refuse_a_profile():
    ended = run(REFUSED)
    assert (ended.code, ended.stdout) == (0, "no profiles here\nTrue\n"), ended.stderr
