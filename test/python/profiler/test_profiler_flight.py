"""The flight recorder: bounds, dumps, open frames, and living beside profiles.

Suspect profiler/src/capture/{ring,capture}.cpp, profiler/src/profile/ring_stack.cpp and
profiler/python/opyard/_profile/flight.py.
"""

import json
import signal
import sys
import threading
import time

import pytest
from processes import run, volume
from profiled_work import assert_nested, leaf, load_chrome, named

from opyard.profiler import flight_recorder, profile, record_function

MIB = 1 << 20


def fill(megabytes):
    """Calls that take that much of events: 32 bytes each."""
    for n in range(megabytes * MIB // 32):
        leaf(n)


def test_X19_a_dump_has_what_came_last_and_the_recorder_goes_on(tmp_path):
    with flight_recorder() as recorder:
        with record_function("early"):
            leaf(1)
        first = recorder.dump(tmp_path / "first.json")
        with record_function("late"):
            leaf(2)
        second = recorder.dump()
    assert [len(named(first, name)) for name in ("early", "late")] == [1, 0]
    assert [len(named(second, name)) for name in ("early", "late")] == [1, 1]
    assert len(named(second, "): leaf")) == 2
    assert_nested(load_chrome(tmp_path / "first.json"))
    assert sys.getprofile() is None
    with pytest.raises(RuntimeError, match="start it before dumping"):
        recorder.dump()


def test_X19_I53_memory_stays_within_the_bound_and_the_oldest_goes(tmp_path):
    with flight_recorder(bytes=2 * MIB) as recorder:
        with record_function("long ago"):
            leaf(1)
        fill(6)
        with record_function("just now"):
            leaf(2)
        results = recorder.dump(tmp_path / "trace.json")
    assert not named(results, "long ago")
    assert len(named(results, "just now")) == 1
    kept = results.data_quality()["events"] * 16
    assert MIB < kept <= 2 * MIB + 65536
    assert results.data_quality()["dropped exits"] == 0
    assert_nested(load_chrome(tmp_path / "trace.json"))


def test_X19_frames_that_were_open_at_the_begin_have_their_names(tmp_path):
    """Both those that ended meanwhile, by their exits, and those that are open still."""

    def ended(recorder):
        with record_function("range that ended"):
            fill(3)
        return recorder

    def still_open(recorder):
        ended(recorder)
        return recorder.dump(tmp_path / "trace.json")

    with flight_recorder(bytes=MIB) as recorder:
        results = still_open(recorder)
    (inner,) = named(results, "): ended")
    (outer,) = named(results, "): still_open")
    assert inner.parent == outer
    assert inner.cuts == ["began before the profile"]
    assert outer.cuts[0] == "began before the profile"
    (marked,) = named(results, "range that ended")
    assert marked.parent == inner and marked.end_time_ns < inner.end_time_ns
    assert len(named(results, "): fill")) == 1
    assert all(event.parent.name.endswith("): fill") for event in named(results, "): leaf"))
    (me,) = named(results, "have_their_names")
    assert outer.parent == me
    assert_nested(load_chrome(tmp_path / "trace.json"))


def test_X19_seconds_cut_off_the_past():
    with flight_recorder(seconds=0.1) as recorder:
        with record_function("older"):
            leaf(1)
        with record_function("around"):
            time.sleep(0.15)
        leaf(2)
        results = recorder.dump()
    assert not named(results, "older")
    (around,) = named(results, "around")
    assert (around.start_time_ns, around.cuts) == (0, ["began before the profile"])
    assert len(named(results, "): leaf")) == 1
    assert named(results, "time.sleep")[0].parent == around


def test_X19_threads_that_have_ended_are_kept_as_long_as_they_fit():
    def work(n):
        leaf(n)

    with flight_recorder(bytes=MIB) as recorder:
        threads = [threading.Thread(target=work, args=(n,), name=f"mine {n}") for n in range(3)]
        for thread in threads:
            thread.start()
            thread.join()
        names = {track.name for track in recorder.dump().events().tracks}
        assert names >= {"mine 0", "mine 1", "mine 2"}
        fill(3)
        names = {track.name for track in recorder.dump().events().tracks}
        assert not any(name.startswith("mine") for name in names)


def test_X19_a_profile_comes_and_goes_beside_it():
    with flight_recorder() as recorder:
        leaf(1)
        with profile(c_calls=False) as prof:
            leaf(2)
            len("")
        leaf(3)
        results = recorder.dump()
    assert len(named(prof, "): leaf")) == 1
    assert len(named(results, "): leaf")) == 3
    assert not named(prof, "builtins.len")
    with profile() as prof:
        with flight_recorder() as recorder:
            leaf(1)
            assert len(named(recorder.dump(), "): leaf")) == 1
        leaf(2)
    assert len(named(prof, "): leaf")) == 2
    assert sys.getprofile() is None


def test_X19_a_call_of_c_that_began_in_a_profile_without_them_changes_nothing_around_it():
    """Before CPython 3.12 its end is told of, and the recorder was not told of its begin."""
    begin, lock, done = threading.Event(), threading.Lock(), threading.Event()

    def run():
        begin.wait()
        lock.acquire()
        leaf(1)
        done.set()
        lock.acquire()

    thread = threading.Thread(target=run)
    lock.acquire()
    with flight_recorder() as recorder:
        thread.start()
        with profile(c_calls=False):
            begin.set()
            time.sleep(0.05)
        lock.release()
        done.wait()
        time.sleep(0.05)
        results = recorder.dump()
    lock.release()
    thread.join()
    (call,) = [e for e in named(results, "): leaf") if e.start_tid == thread.native_id]
    assert call.parent.cuts == ["was open at its end"]
    names = [event.name.rsplit(": ")[-1] for event in lineage(call)]
    names = [name for name in names if name != "_contextvars.Context.run"]  # from 3.14 on
    assert names[-4:] == ["run", "run", "_bootstrap_inner", "_bootstrap"]


def lineage(event):
    while event is not None:
        yield event
        event = event.parent


def test_X19_what_was_captured_before_it_is_none_of_its():
    """No one captured in between, so ends may be missing."""
    ended = record_function("ended between both")
    with profile():
        ended.__enter__()
    ended.__exit__(None, None, None)
    with flight_recorder() as recorder:
        leaf(1)
        results = recorder.dump()
    assert named(results, "): leaf")
    assert not named(results, "ended between both")


def test_X19_a_second_recorder_is_refused():
    with flight_recorder() as recorder:
        with pytest.raises(RuntimeError, match="a process has one at a time"):
            flight_recorder().start()
        leaf(1)
        assert len(named(recorder.dump(), "): leaf")) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seconds": 0}, "more than 0"),
        ({"bytes": 10}, "bytes must be from 1048576 to"),
        ({"signals": [signal.SIGUSR1]}, "need a path"),
        ({"path": "trace.nothing"}, "names no format"),
    ],
)
def test_a_recorder_that_makes_no_sense_is_refused(options, says):
    with pytest.raises(ValueError, match=says):
        flight_recorder(**options)


def test_X19_a_signal_writes_what_was_kept(tmp_path):
    former = signal.signal(signal.SIGUSR1, lambda *what: heard.append(what[0]))
    heard = []
    try:
        with flight_recorder(path=tmp_path / "at-{}.json", signals=[signal.SIGUSR1]):
            leaf(1)
            for _ in range(2):
                signal.raise_signal(signal.SIGUSR1)
        assert signal.getsignal(signal.SIGUSR1) is not None
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert heard == [signal.SIGUSR1] * 3
    assert sorted(file.name for file in tmp_path.iterdir()) == ["at-0.json", "at-1.json"]
    names = [event["name"] for event in load_chrome(tmp_path / "at-1.json")["traceEvents"]]
    assert sum(name.endswith("): leaf") for name in names) == 1


def test_X19_an_exception_writes_what_was_kept(tmp_path):
    with pytest.raises(KeyError), flight_recorder(path=tmp_path / "block.json"):
        leaf(1)
        raise KeyError
    assert "leaf" in (tmp_path / "block.json").read_text("utf-8")
    ended = run(
        f"""
        import threading
        from opyard.profiler import flight_recorder

        def leaf():
            raise ValueError("mine")

        recorder = flight_recorder(path={str(tmp_path / "at-{}.json")!r})
        recorder.start()
        thread = threading.Thread(target=leaf)
        thread.start()
        thread.join()
        leaf()
        """
    )
    assert ended.code == 1
    assert ended.stderr.count("ValueError: mine") == 2
    for n in range(2):
        document = json.loads((tmp_path / f"at-{n}.json").read_text("utf-8"))
        assert any(event["name"].endswith("): leaf") for event in document["traceEvents"])


def test_X19_a_thread_that_ended_before_a_profile_keeps_its_name_in_the_recorder():
    with flight_recorder() as recorder:
        early = threading.Thread(target=leaf, args=(1,), name="early one")
        early.start()
        early.join()
        with profile():
            leaf(2)
        results = recorder.dump()
    assert "early one" in {track.name for track in results.events().tracks}


def test_X19_a_profile_and_a_recorder_that_two_threads_start_wait_for_each_other(monkeypatch):
    ask = sys._current_frames  # which starting a profile calls
    recorder = flight_recorder()
    is_on = threading.Event()

    def start():
        recorder.start()
        is_on.set()

    other = threading.Thread(target=start)
    seen = []

    def ask_slowly():
        if not other.ident:
            other.start()
            seen.append(is_on.wait(0.1))
        return ask()

    monkeypatch.setattr(sys, "_current_frames", ask_slowly)
    with profile() as prof:
        assert is_on.wait(10)
        leaf(1)
    other.join()
    assert seen == [False]
    leaf(2)
    results = recorder.dump()
    recorder.stop()
    assert len(named(prof, "): leaf")) == 1
    assert named(results, "): leaf")
    assert sys.getprofile() is None


def test_X19_what_a_start_runs_cannot_start_another(monkeypatch):
    ask = sys._current_frames
    said = []

    def ask_and_start():
        with pytest.raises(RuntimeError) as error:
            flight_recorder().start()
        said.append(str(error.value))
        return ask()

    monkeypatch.setattr(sys, "_current_frames", ask_and_start)
    with profile() as prof:
        leaf(1)
    assert "this thread is just starting or stopping" in said[0]
    assert named(prof, "): leaf")


FORKED = """
import os, random, sys, threading, time
from opyard.profiler import flight_recorder

def leaf():
    return len([])

done = False
def busy():
    while not done:
        leaf()

threads = [threading.Thread(target=busy) for _ in range(3)]
with flight_recorder(bytes=1 << 20) as recorder:
    for thread in threads:
        thread.start()
    drawn = random.Random(3)
    for number in range(int(sys.argv[1])):
        until = time.monotonic() + drawn.random() / 200
        while time.monotonic() < until:
            leaf()
        child = os.fork()
        if child == 0:
            leaf()
            names = [event.name for event in recorder.dump().events()]
            os._exit(0 if any(name.endswith("): leaf") for name in names) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, number
    assert recorder.dump().data_quality()["broken"] == 0
    done = True
    for thread in threads:
        thread.join()
"""


def test_X19_a_program_forks_at_any_moment_with_a_recorder_on():
    ended = run(FORKED, volume(40), limit=120)
    assert (ended.code, ended.stdout) == (0, ""), ended.stderr
