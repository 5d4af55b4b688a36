"""The life of the tracer behind a profile: how it joins, starts, keys its events, and stops.

Suspect profiler/src/capture/session.cpp, profiler/python/tracer/.
"""

import gc
import json
import subprocess
import sys
import threading
import time
import types
import weakref

import pytest
from built import build_folder, plugin_path
from interpreters import Interpreter
from processes import run
from profiled_work import assert_nested, leaf, load_chrome, named

import opyard
import opyard.futures
from opyard.profiler import profile, record_function, schedule, show_instances, watch_future

MONITORING = sys.version_info >= (3, 12)


@pytest.fixture(scope="module")
def plugin():
    opyard.load_library(plugin_path("opyard_profiler_plugin"))
    return opyard.ops.test_profiler


def test_I1_the_library_that_captures_knows_nothing_of_python():
    """The tracer joins it by a source; see Session.I1_… in C++."""
    library = build_folder() / "profiler" / "libopyard_profiler.so"
    asked = subprocess.run(
        ["nm", "--dynamic", "--undefined-only", library], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in asked.stdout.splitlines()]
    assert "pthread_key_create" in " ".join(names)
    assert not [name for name in names if name.startswith(("Py", "_Py"))]


def test_I4_a_thread_without_an_interpreter_is_refused_and_nothing_is_traced(plugin):
    said = plugin.start_without_gil()
    assert said.startswith("a profile with Python's calls starts on a thread that holds the GIL")
    assert sys.getprofile() is None
    with profile() as prof:  # nothing is left of the attempt
        leaf(1)
    assert len(named(prof, "): leaf")) == 1


def test_I6_a_thread_goes_on_as_itself_after_start_and_stop():
    """Starting visits the states of all threads; each keeps its own, with what it has pending."""
    seen = []
    stop = threading.Event()

    def run():
        local = threading.local()
        local.mine = me = threading.get_ident()
        try:
            raise KeyError(me)
        except KeyError as error:
            while not stop.is_set():
                leaf(1)
            seen.append(error.args == (me,) and sys.exc_info()[1] is error and local.mine == me)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    ident = threading.get_ident()
    try:
        raise ValueError("mine")
    except ValueError as error:
        for _ in range(20):
            with profile():
                time.sleep(0.001)
        assert sys.exc_info()[1] is error
    assert threading.get_ident() == ident
    stop.set()
    for thread in threads:
        thread.join()
    assert seen == [True] * 3


def test_X16_interpreters_that_are_not_captured_are_said():
    def others(prof):
        return prof.data_quality().get("interpreters whose Python calls were not captured", 0)

    with profile() as none:
        leaf(1)
    before = Interpreter("legacy")
    with profile() as prof:
        within = Interpreter("legacy")
        within.run("def unseen(): pass\nunseen()")
        before.end()
    within.end()
    assert (others(none), others(prof)) == (0, 2)
    assert not named(prof, "unseen")


def test_I8_the_place_that_is_taken_in_python_is_given_back():
    with profile():
        if MONITORING:
            tools = [sys.monitoring.get_tool(n) for n in range(6)]
            assert tools == [None] * 4 + ["opyard.profiler", None]
            assert sys.getprofile() is None
        else:
            assert type(sys.getprofile()).__name__ == "Seat"
    assert sys.getprofile() is None
    if not MONITORING:
        return
    for n in (4, 3):
        sys.monitoring.use_tool_id(n, f"mine {n}")
    try:
        with profile() as prof:
            assert sys.monitoring.get_tool(5) == "opyard.profiler"
            leaf(1)
        assert len(named(prof, "): leaf")) == 1
        for n in (0, 1, 2, 5):
            sys.monitoring.use_tool_id(n, f"mine {n}")
        with pytest.raises(RuntimeError, match="is taken .*4 by mine 4, 3 by mine 3"):
            profile().start()
    finally:
        for n in range(6):
            sys.monitoring.free_tool_id(n)


def test_I11_an_instance_is_known_by_itself_however_the_method_treats_its_name():
    class Odd:
        def rebinds(self):
            self = None
            return self

        def deletes(self):
            del self

        def shares(self):
            return lambda: self

        def takes_all(*arguments):
            return arguments

        def none():
            return 1

    names = ["rebinds", "deletes", "shares", "takes_all", "none"]
    for name in names:
        show_instances(Odd, name)
    one, two = Odd(), Odd()
    with profile() as prof:
        for instance in (one, two):
            for name in names[:-1]:
                getattr(instance, name)()
        Odd.none()
    shown = [event.name for event in prof.events() if event.kind == "Module"]
    # A function without a first argument of its own is shown by its name.
    assert [name for name in shown if name.startswith("Odd: ")] == ["Odd: Odd_0"] * 3 + [
        "Odd: Odd_1"
    ] * 3
    assert sum(name.endswith(("): takes_all", "): none")) for name in shown) == 3
    assert prof.data_quality()["clamped"] == prof.data_quality()["dropped exits"] == 0


def test_I14_an_instance_is_described_once_and_not_kept():
    asked = []

    class Layer:
        def __call__(self):
            return 1

    def describe(layer):
        asked.append(id(layer))
        return json.dumps({"asked": len(asked)})

    show_instances(Layer, describe=describe)
    layer, kept = Layer(), Layer()
    gone = weakref.ref(layer)
    with profile() as prof:
        for _ in range(3):
            layer()
            kept()
        del layer
        gc.collect()
        assert gone() is None
        leaf(1)
    assert len(asked) == 2
    facts = [e.extra_fields["asked"] for e in prof.events() if e.kind == "Module"]
    assert facts == [1, 2] * 3


def test_a_profile_starts_while_another_thread_imports_what_it_would_show(monkeypatch):
    from opyard._profile import classes

    monkeypatch.setitem(sys.modules, "torch.optim", types.ModuleType("torch.optim"))
    monkeypatch.setattr(classes, "_known", classes._known - {"torch.optim"})
    with profile():
        leaf(1)
    assert "torch.optim" not in classes._known


def test_I19_every_call_that_raises_ends_once():
    def generate():
        try:
            yield 1
        except KeyError:
            yield 2

    def fails(depth):
        if depth:
            fails(depth - 1)
        int("no number")

    with profile() as prof:
        running = generate()
        next(running)
        running.throw(KeyError())
        running.close()
        for _ in range(3):
            try:
                fails(2)
            except ValueError:
                leaf(1)
    quality = prof.data_quality()
    assert quality["dropped exits"] == quality["clamped"] == 0
    calls = named(prof, "): fails")
    assert len(calls) == 9
    assert all(call.cuts == [] for call in calls)
    assert {call.parent.name.rsplit(": ")[-1] for call in named(prof, "): leaf")} == {
        "test_I19_every_call_that_raises_ends_once"
    }


def test_I23_calls_in_c_that_were_begun_in_an_earlier_profile_end_in_peace(tmp_path):
    """A thread waits for a lock while one profile ends and the next begins."""
    lock = threading.Lock()
    waiting, go_on = threading.Event(), []

    def wait():
        waiting.set()
        lock.acquire()
        leaf(1)
        lock.release()
        go_on.append(True)

    lock.acquire()
    thread = threading.Thread(target=wait, name="waits")
    with profile() as first:
        thread.start()
        waiting.wait()
        time.sleep(0.02)
    with profile() as second:
        lock.release()
        thread.join()
    assert go_on == [True]
    (waited,) = [track for track in second.events().tracks if track.name == "waits"]
    inside = [e for e in second.events() if e.start_tid == waited.native_id]
    (call,) = [event for event in inside if event.name.endswith("): leaf")]
    assert call.parent.name.endswith("): wait")
    for n, prof in enumerate((first, second)):
        prof.export_chrome_trace(tmp_path / f"{n}.json")
        assert_nested(load_chrome(tmp_path / f"{n}.json"))
        assert prof.data_quality()["clamped"] == 0


def test_I24_stacks_go_with_a_schedule(tmp_path):
    """As often as it takes to crash: each cycle starts and stops the tracer on busy threads."""
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            leaf(1)

    ready = []
    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    plan = schedule(wait=1, warmup=1, active=2)
    with profile(schedule=plan, with_stack=True, on_trace_ready=ready.append) as prof:
        for _ in range(60):
            leaf(1)
            prof.step()
    stop.set()
    for thread in threads:
        thread.join()
    assert len(ready) == 15
    prof.export_chrome_trace(tmp_path / "last.json")
    assert_nested(load_chrome(tmp_path / "last.json"))


# Futures.


def futures_of(prof):
    return [event for event in prof.events() if event.kind == "Future"]


def test_K3_any_future_is_shown_until_it_is_completed(plugin, tmp_path):
    import concurrent.futures

    ours, theirs = opyard.futures.Future(), concurrent.futures.Future()
    with profile() as prof:
        watch_future(ours, "ours")
        assert watch_future(theirs, "theirs") is theirs
        watch_future(opyard.futures.Future(), "never completed")
        assert plugin.watched("of C++").wait() == 42
        threading.Timer(0.02, ours.set_result, [1]).start()
        ours.wait()
        theirs.set_exception(ValueError())
        with record_function("after"):
            leaf(1)
    found = {event.name: event for event in futures_of(prof)}
    assert set(found) == {"ours", "theirs", "never completed", "of C++"}
    (after,) = named(prof, "after")
    assert found["ours"].duration_time_ns >= 15_000_000
    assert found["theirs"].end_time_ns <= after.start_time_ns
    assert found["of C++"].end_time_ns < found["ours"].end_time_ns
    assert found["never completed"].cuts == ["was open at its end"]
    assert prof.tasks() == []
    assert not any(row.kind == "Future" for row in prof.key_averages())
    prof.export_chrome_trace(tmp_path / "trace.json")
    assert_nested(load_chrome(tmp_path / "trace.json"))
    prof.export(tmp_path / "trace.pftrace")
    assert b"never completed" in (tmp_path / "trace.pftrace").read_bytes()


def test_K3_a_future_of_an_earlier_profile_is_none_of_this_one():
    future = opyard.futures.Future()
    watch_future(future, "without a profile")
    with profile() as first:
        watch_future(future, "mine")
    with profile() as second:
        future.set_result(None)
    assert [event.cuts for event in futures_of(first)] == [["was open at its end"]]
    assert futures_of(second) == []


NATIVE = """
import ctypes, sys, time
from opyard.profiler import profile

def leaf(n):
    return n + 1

def native_loop():
    while not stop:
        leaf(1)
        time.sleep(0)

@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def body(argument):
    native_loop()
    return None

stop = False
thread = ctypes.c_ulong()
pthread = ctypes.CDLL(None)
with profile() as prof:
    pthread.pthread_create(ctypes.byref(thread), None, body, None)
    until = time.monotonic() + 5
    while time.monotonic() < until and not stop:
        for n in range(1000):
            leaf(n)
        time.sleep(0.001)
        rounds = rounds + 1 if "rounds" in globals() else 1
        stop = rounds > 20
    pthread.pthread_join(thread, None)
tracks = [{e.name.rsplit(": ")[-1] for e in prof.events() if e.start_tid == tid}
          for tid in {e.start_tid for e in prof.events()}]
print(sum("leaf" in names for names in tracks), sys.getprofile())
"""


def test_a_native_thread_that_makes_a_state_by_itself_is_captured():
    """Before CPython 3.12 from the next block of events on, whichever thread begins it."""
    ended = run(NATIVE)
    assert (ended.code, ended.stdout) == (0, "2 None\n"), ended.stderr


LEAVES = """
import _thread, contextvars, gc, sys, threading, time
from opyard.profiler import profile

kept = contextvars.ContextVar("kept")

class Ends:
    def __init__(self, inside, go):
        self.inside, self.go = inside, go

    def __del__(self):
        self.inside.set()
        self.go.wait()

def nothing():
    with profile():
        pass

def ending_thread():
    # CPython drops a thread's context once it has taken the profile function out of its state.
    # From 3.14 on the context of a threading.Thread lives as long as that object.
    inside, go = threading.Event(), threading.Event()
    before = _thread._count()
    _thread.start_new_thread(lambda: kept.set(Ends(inside, go)), ())
    inside.wait()
    with profile():
        go.set()
        while _thread._count() > before:
            time.sleep(0.0001)

def blocks_after(times):
    for _ in range(times):
        %s()
    gc.collect()
    return sys.getallocatedblocks()

before = blocks_after(20)
print(blocks_after(200) - before)
"""


@pytest.mark.parametrize("what", ["nothing", "ending_thread"])
def test_a_profile_leaves_no_block_of_memory(what):
    """CPython's caches grow by a few on the way. A string that a profile looks names up by would
    be kept by the cache of what types have, and there are 4,096 places in that. A block for each
    profile would be 180 more."""
    ended = run(LEAVES % what, limit=60)
    assert ended.code == 0, ended.stderr
    assert int(ended.stdout) < 100
