"""Size of exports, and memory that they take, by the depth, names and events of a profile.

Neither is quadratic: doubling what is captured at most triples a file and the text of the tables,
up to 16,000 levels, names and events, and in `tools/test --long` up to 64,000.
Suspect profiler/src/exports/, profiler/src/profile/, _profile/events.py.
"""

import contextlib
import gzip
import json
import os
import sys
import threading

import pytest
from built import plain_build
from processes import VOLUME, run

from opyard.profiler import profile, record_function

pytestmark = pytest.mark.once

SIZES = [1000 << n for n in range(7 if VOLUME > 1 else 5 if VOLUME == 1 else 3)]
FORMATS = [
    "trace.json",
    "trace.json.gz",
    "trace.pftrace",
    "trace.speedscope.json",
    "trace.folded",
    "trace.pstats",
    "trace.html",
]


def deeper(n):
    """In one function of Python and one of C in turn, which CPython counts as one level each."""
    return n and deeper(n - 1)


@contextlib.contextmanager
def room_for(levels):
    former = sys.getrecursionlimit()
    sys.setrecursionlimit(levels + 1000)
    try:
        yield
    finally:
        sys.setrecursionlimit(former)


def on_a_large_stack(work):
    former = threading.stack_size(512 << 20)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(former)


def capture_depth(n):
    with room_for(n), profile(c_calls=False) as prof:
        on_a_large_stack(lambda: deeper(n))
    return prof


def capture_ranges_within_each_other(n):
    """Which CPython's own limit does not bound."""
    with profile(with_stack=False) as prof, contextlib.ExitStack() as stack:
        for k in range(n):
            stack.enter_context(record_function(f"range {k % 10}"))
    return prof


def capture_names(n):
    with profile(with_stack=False) as prof:
        for k in range(n):
            with record_function(f"name {k}"):
                pass
    return prof


def capture_events(n):
    with profile(c_calls=True) as prof:
        for _ in range(n):
            len("")
    return prof


def capture_memory(n):
    import opyard

    with profile(with_stack=False, profile_memory=True) as prof:
        for _ in range(n // 4):
            opyard.ones(1)
    return prof


KINDS = {
    "depth": capture_depth,
    "ranges": capture_ranges_within_each_other,
    "names": capture_names,
    "events": capture_events,
    "memory": capture_memory,
}


def sizes_of(prof, folder):
    """Bytes of each kind of output."""
    sizes = {}
    for name in FORMATS:
        path = os.path.join(folder, name)
        prof.export(path)
        sizes[name] = os.path.getsize(path)
    sizes["table"] = len(prof.key_averages().table(row_limit=-1))
    sizes["tree"] = len(prof.events().tree())
    sizes["diff"] = len(prof.diff(prof))
    prof.diff(prof).flame_graph(os.path.join(folder, "diff.svg"))
    sizes["picture"] = os.path.getsize(os.path.join(folder, "diff.svg"))
    sizes["memory"] = len(prof.memory_timeline())
    return sizes


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_grow_as_what_was_captured_and_not_as_its_square(kind, tmp_path):
    former = None
    for n in SIZES:
        sizes = sizes_of(KINDS[kind](n), tmp_path)
        for name, size in sizes.items():
            # A picture has the boxes that are wide enough to see: noise makes some so.
            limit = 3 * (former or sizes)[name] + (100_000 if name == "picture" else 1000)
            assert size <= limit, f"{name} of {n}: {size}, of {n // 2}: {former[name]}"
        former = sizes


def test_levels_that_no_picture_shows_are_one_frame_of_collapsed_stacks(tmp_path):
    prof = capture_ranges_within_each_other(2000)
    prof.export(tmp_path / "deep.folded")
    lines = (tmp_path / "deep.folded").read_text("utf-8").splitlines()
    depths = [line.count(";") + 1 for line in lines]
    assert max(depths) == 513 and [line for line in lines if ";[deeper_calls] " in line]
    own = sum(int(line.rpartition(" ")[2]) for line in lines)
    outermost = [event for event in prof.events() if event.parent is None]
    assert own == sum(event.duration_time_ns for event in outermost)


def test_a_tree_says_how_deep_it_is_where_it_no_longer_moves_to_the_right():
    text = capture_ranges_within_each_other(300).events().tree()
    lines = text.splitlines()
    assert len(lines[-1]) < 250 and "[300] " in text and "[100] " not in text


def test_compressed_files_are_the_same(tmp_path):
    prof = capture_names(10)
    for name in ("trace.json", "trace.json.gz"):
        prof.export(tmp_path / name)
    plain = json.loads((tmp_path / "trace.json").read_text("utf-8"))
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes())) == plain


# Memory of an export.

EXPORT = """
    import gc, json, os, sys
    from opyard.profiler import profile

    # Not resource.getrusage(): its maximum is at least that of the process that started this one.
    def status(name):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

    def leaf(): pass

    def work(times):
        for _ in range(times):
            leaf()

    folder, ending, keeps = sys.argv[1:]
    path = os.path.join(folder, "profile." + ending)
    with profile(c_calls=False) as warm_up:
        work(10)
    warm_up.export(path)
    del warm_up
    gc.collect()
    before = status("VmRSS:")
    prof = profile(c_calls=False)
    with prof:
        work(250_000)
    captured = status("VmRSS:")
    if keeps == "True":
        whole, pieces = prof._require_profile(), []
        whole.chrome(pieces.append, {}, "program", 7)
    else:
        prof.export(path)
    most = status("VmHWM:")
    print(json.dumps([captured - before, most - captured, prof.data_quality()["events"]]))
"""


def memory_of(folder, ending, keeps=False):
    """Of 500,000 events: bytes that the capture takes, and those that exporting it takes more."""
    ended = run(EXPORT, folder, ending, keeps, limit=60)
    assert ended.code == 0, ended.stderr
    captured, more, events = json.loads(ended.stdout)
    assert events >= 500_000 and captured >= 16 * 500_000 * 0.9
    return captured, more


ENDINGS = ["json", "json.gz", "pftrace", "speedscope.json", "collapsed", "pstats", "html"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_X21_an_export_takes_at_most_twice_the_memory_of_the_capture(tmp_path, ending):
    captured, more = memory_of(tmp_path, ending)
    assert more <= 2 * captured


@plain_build  # which takes memory of its own
def test_an_export_that_is_kept_as_a_whole_takes_more(tmp_path):
    """What the test above would find."""
    captured, more = memory_of(tmp_path, "json", keeps=True)
    assert more > 2 * captured
