"""A profile that is on at exit, in an exception or at a fork, and memory after many profiles.

Suspect opyard/_profile/active.py, session.py, and profiler/src/, what a session keeps.
"""

import gc
import os
import sys
import threading
import time
import weakref

import pytest
from processes import leaks, run, volume
from profiled_work import leaf, work
from test_profiler_beside import captured

from opyard.profiler import profile, record_function

MONITORING = sys.version_info >= (3, 12)


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


def test_a_child_captures_nothing_for_a_thread_that_is_not_there():
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
    times = volume(200, least=50)

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
        for _ in range(times):
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
    assert with_others > times // 10  # the threads ran while the profiles did
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


def test_nothing_is_kept_alive_by_what_was_captured():
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
        assert captured(prof, "): called") == 1
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


# Python runs while a profile ends, and so other threads do: an audit hook makes sure of it.
ENDED_BY_SEVERAL = """
import sys, threading, time
from opyard import _tracer
from opyard.profiler import flight_recorder, profile

slow = False

def audited(event, args):
    if slow and ("monitoring" in event or "setprofile" in event):
        time.sleep(0.002)

sys.addaudithook(audited)

def race(*functions):
    global slow
    ready, given = threading.Barrier(len(functions)), []

    def call(function):
        ready.wait()
        try:
            function()
            given.append("done")
        except RuntimeError as error:
            given.append(str(error))

    threads = [threading.Thread(target=call, args=(function,)) for function in functions]
    slow = True
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slow = False
    return sorted(given)

def profiles():
    prof = profile()
    prof.start()
    given = race(_tracer.stop, _tracer.stop, _tracer.stop)
    prof._is_on[0] = False
    refused = [one for one in given if "no profile of this interpreter is active" in one]
    assert given.count("done") == 1 and len(refused) == 2, given

def recorders():
    recorder = flight_recorder()
    recorder.start()
    given = race(recorder.dump, recorder.stop, recorder.dump)
    assert all(one == "done" or "flight recorder" in one for one in given), given
    assert "done" in given

for _ in range(10):
    KIND()
print("fine")
"""


@pytest.mark.parametrize("kind", ["profiles", "recorders"])
def test_one_thread_alone_ends_what_several_end(kind):
    ended = run(ENDED_BY_SEVERAL.replace("KIND", kind))
    assert (ended.code, ended.stdout) == (0, "fine\n"), ended.stderr[-2000:]
