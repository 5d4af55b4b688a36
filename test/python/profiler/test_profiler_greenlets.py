"""Greenlets, and so gevent: each has a track of its own, and its calls nest in it.

Skipped without the package greenlet. Suspect profiler/python/tracer/greenlets.cpp, [Greenlets] in
profiler/src/profile/replay.cpp.
"""

import json
import threading

import pytest
from processes import run
from profiled_work import assert_nested, load_chrome, spans_of

from opyard.profiler import flight_recorder, profile

greenlet = pytest.importorskip("greenlet")


def outer(main):
    for _ in range(3):
        inner(main)


def inner(main):
    main.switch()
    len("")


def take_turns(number=3):
    main = greenlet.getcurrent()
    others = [greenlet.greenlet(outer) for _ in range(number)]
    for _ in range(4):
        for one in others:
            one.switch(main) if not one else one.switch()


def calls_of_tracks(prof):
    """The names of calls in each track, with how deep they are."""
    tracks = []
    for spans in spans_of(prof):
        depths: list[int] = []
        for span in spans:
            depths.append(0 if span[4] < 0 else depths[span[4]] + 1)
        names = [span[1].rpartition("): ")[2] for span in spans]
        tracks.append(list(zip(names, depths, strict=True)))
    return tracks


def expect_stacks_of_their_own(prof):
    quality = prof.data_quality()
    assert quality["clamped"] == 0
    of_greenlets = [
        [call for call in calls if call[0] in ("outer", "inner")]
        for calls in calls_of_tracks(prof)
        if any(name == "outer" for name, _ in calls)
    ]
    assert of_greenlets == [[("outer", 0), *[("inner", 1)] * 3]] * 3


def test_each_greenlet_has_a_track_of_its_own(tmp_path):
    with profile() as prof:
        take_turns()
    expect_stacks_of_their_own(prof)
    names = {track.name for track in prof.events().tracks}
    thread = threading.get_native_id()
    assert names >= {f"greenlet {n} of thread {thread}" for n in (1, 2, 3)}
    prof.export(tmp_path / "trace.json")
    assert_nested(load_chrome(tmp_path / "trace.json"))


def test_greenlets_of_threads_that_start_within():
    with profile() as prof:
        thread = threading.Thread(target=take_turns)
        thread.start()
        thread.join()
    expect_stacks_of_their_own(prof)


def test_a_function_of_the_program_hears_of_switches_as_without_us():
    heard = []
    former = greenlet.settrace(lambda event, both: heard.append(event))
    try:
        with profile() as prof:
            take_turns()
        expect_stacks_of_their_own(prof)
        assert heard.count("switch") >= 9
        heard.clear()
        take_turns()
        assert heard
    finally:
        greenlet.settrace(former)


def test_nothing_is_left_on_the_thread():
    before = greenlet.gettrace()
    with profile():
        take_turns()
        assert greenlet.gettrace() is not before
    assert greenlet.gettrace() is before


def test_a_flight_recorder_keeps_them_apart_too():
    with flight_recorder() as recorder:
        take_turns()
        dumped = recorder.dump()
    expect_stacks_of_their_own(dumped)


def test_one_that_began_before_is_told_of_in_the_quality():
    note = "greenlets that began before the profile, without the calls that were open in them"
    main = greenlet.getcurrent()
    before = greenlet.greenlet(outer)
    before.switch(main)
    with profile() as prof:
        before.switch()
        take_turns()
    assert prof.data_quality()[note] == 1
    with profile() as prof:
        take_turns()
    assert note not in prof.data_quality()


def test_a_package_that_is_imported_within_is_heard(tmp_path):
    path = tmp_path / "trace.json"
    ended = run(
        f"""
        from opyard.profiler import profile
        with profile() as prof:
            import sys
            sys.path.insert(0, {str(tmp_path.parent)!r})
            import greenlet
            def run_one(other):
                if other is not None:
                    other.switch(None)
                len("")
            one, two = greenlet.greenlet(run_one), greenlet.greenlet(run_one)
            one.switch(two)
        prof.export({str(path)!r})
        print([track.name.split()[0] for track in prof.events().tracks if track.name])
        """
    )
    assert ended.code == 0, ended.stderr
    assert ended.stdout.count("greenlet") == 2
    assert json.loads(path.read_text("utf-8"))["traceEvents"]


def test_gevent_tasks_have_stacks_of_their_own():
    gevent = pytest.importorskip("gevent")

    def task(n):
        gevent.sleep(0.001 * n)
        nested(n)

    def nested(n):
        gevent.sleep(0.001)
        return n

    with profile() as prof:
        gevent.joinall([gevent.spawn(task, n) for n in range(5)])
    assert prof.data_quality()["clamped"] == 0
    for calls in calls_of_tracks(prof):
        names = dict(calls)
        if "nested" in names:
            assert names["nested"] == names["task"] + 1
