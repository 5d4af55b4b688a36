"""Exported profiles as Perfetto's own trace processor reads them: no error, and the same slices.

Suspect profiler/src/exports/{chrome,perfetto}.cpp, then profiler/src/profile/replay.cpp.
"""

import asyncio
import json
import threading
from collections import Counter

import pytest
from perfetto_judge import Judge
from profiled_work import depth_of

import opyard
from opyard.profiler import profile, record_function

pytestmark = pytest.mark.once

ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
SLICES = "select name, ts, dur, depth from slice"
# What is at one moment is a slice there, too.
MARKS = {"data quality", "[Memory]", "[memory]"}


@pytest.fixture(scope="module")
def judge():
    return Judge()


def leaf(n):
    return len([n])


def numbers():
    yield from range(3)


def work():
    for n in numbers():
        leaf(n)
    x = opyard.tensor([1.0])
    with record_function("a range"):
        opyard.ops.aten.add(x, x)
    with record_function('a"b\\c; </script>\té😀'):
        leaf(0)


async def wait_twice():
    await asyncio.gather(asyncio.sleep(0.001), asyncio.sleep(0.002))


@pytest.fixture(scope="module")
def captured():
    with profile(profile_memory=True, record_shapes=True) as prof:
        work()
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        asyncio.run(wait_twice())
        for _ in range(200):
            leaf(1)
    return prof


def slices_of(rows):
    """(name, start, duration, depth) of each slice, from the first one on, without marks."""
    rows = [row for row in rows if row[0] not in MARKS]
    begin = min(row[1] for row in rows)
    return Counter((name, start - begin, duration, depth) for name, start, duration, depth in rows)


def slices_expected(prof):
    return slices_of(
        (event.name, event.start_time_ns, event.duration_time_ns, depth_of(event))
        for event in prof.events()
    )


@pytest.mark.parametrize("ending", ["pftrace", "json", "json.gz"])
def test_X21_I50_perfetto_finds_no_error_and_the_same_slices(judge, captured, tmp_path, ending):
    path = tmp_path / f"trace.{ending}"
    captured.export(path)
    errors, rows = judge.ask(path.read_bytes(), ERRORS, SLICES)
    assert errors == []
    assert slices_of(rows) == slices_expected(captured)


def test_a_trace_with_an_overlap_is_found_to_have_an_error(judge):
    """The judge can say no: two slices of one thread that cross."""
    slices = [
        {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 10}
        for name, ts in (("a", 0), ("b", 5))
    ]
    errors, _ = judge.ask(json.dumps({"traceEvents": slices}).encode(), ERRORS, SLICES)
    assert [name for name, _ in errors] == ["slice_drop_overlapping_complete_event"]
