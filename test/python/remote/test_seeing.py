"""test_seeing.py: tables, explanations and profiles of sessions.

Suspect remote/python/opyard/_remote/table.py and timeline.py.
"""

import json

import pytest
import remote_functions as functions

import opyard
import opyard.remote
from opyard._remote.timeline import Offset, _join, measure

aten = opyard.ops.aten


def test_a_table_has_calls_bytes_and_times_of_each_worker():
    with opyard.remote.session(workers=2) as s:
        s.call(functions.wait, 0.05, worker=0)
        s.call(len, bytes(3 << 20), worker=1)
        with pytest.raises(ValueError, match="refused"):
            s.call(functions.fail, 1, worker=1)
        with pytest.raises(opyard.remote.WorkerLost):
            s.call(functions.end, worker=0)
        heading, first, second = (line.split() for line in s.table().splitlines())
    assert heading == "worker state calls errors sent received there here".split()
    assert first[:4] == ["0", "lost", "3", "0"] and second[:4] == ["1", "ready", "3", "1"]
    assert second[4:6] == ["3.0", "MiB"]
    there, unit = float(first[-4]), first[-3]
    assert unit == "ms" and 50.0 <= there < float(first[-2]) + 1


def test_an_explanation_says_how_something_travels_and_who_has_it(pipes):
    graph = opyard.jit.parse_ir(
        "graph(%x : Tensor):\n  %2 : Tensor = aten::exp(%x)\n  return (%2)\n"
    )
    before = pipes.explain(graph)
    assert "Graph: a graph that travels as text and constants, " in before
    assert before.endswith("workers that have it: none")
    pipes.call(graph, opyard.ones(1), worker=1)
    assert pipes.explain(graph).endswith("workers that have it: 1")
    assert "a function that travels by value" in pipes.explain(lambda: 1)
    assert "double: importable, which travels as its name" in pipes.explain(functions.double)
    written = pipes.explain(aten.add_)
    assert "aten::add_: an operator, which travels as its name" in written
    assert "writes into self, which a worker copies first if it is read-only" in written
    assert "writes" not in pipes.explain(aten.mm.default)


def test_a_profile_has_this_process_and_all_workers_on_one_timeline(tmp_path):
    with opyard.remote.session(workers=2) as s:
        with s.profile() as timeline:
            with pytest.raises(RuntimeError, match="the profile is there after the `with`"):
                timeline.export_chrome_trace(tmp_path / "early.json")
            for n in s.workers:
                s.call(functions.double, opyard.ones(3), worker=n)
        ids = s._engine.process_ids()
    path = tmp_path / "trace.json"
    timeline.export_chrome_trace(path)
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert [names[each].partition(", clock ")[0] for each in ids] == ["worker 0", "worker 1"]
    own = [e for e in events if e.get("cat") == "python_function" and e["pid"] not in ids]
    calls = [e for e in own if e["name"].endswith(": call")]
    assert len(calls) == 2
    for n, (call, process) in enumerate(
        zip(sorted(calls, key=lambda e: e["ts"]), ids, strict=True)
    ):
        there = [e for e in events if e["pid"] == process and e["name"].endswith(": double")]
        assert len(there) == 1
        slack = timeline.offsets[n].error / 1000 + 50
        assert call["ts"] - slack <= there[0]["ts"] <= call["ts"] + call["dur"] + slack
        assert abs(timeline.offsets[n].ahead) <= timeline.offsets[n].error + 1_000_000
    assert timeline.missing == []


def test_a_worker_that_ends_is_missing_in_a_profile():
    with opyard.remote.session(workers=2) as s:
        with s.profile() as timeline:
            with pytest.raises(opyard.remote.WorkerLost):
                s.call(functions.end, worker=0)
        assert timeline.missing == [0]


def test_events_are_moved_by_the_offset_of_a_clock():
    event = {"ph": "X", "name": "f", "pid": 7, "ts": 10.0}
    name = {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}}
    merged = {"baseTimeNanoseconds": 1_000_000, "traceEvents": [dict(event)]}
    found = {"baseTimeNanoseconds": 6_000_000, "traceEvents": [name, dict(event)]}
    _join(merged, found, 3, Offset(ahead=5_000_000, error=2000))
    _, named, moved = merged["traceEvents"]
    assert moved["ts"] == 10.0 and moved["pid"] == (4 << 24) + 7 == named["pid"]
    assert named["args"]["name"] == "worker 3, clock +5000.0 us, within 2.0 us"


def test_the_offset_is_the_one_of_the_soonest_answer():
    import time

    offset = measure(lambda: time.time_ns() + 10**9)
    assert abs(offset.ahead - 10**9) <= offset.error + 1000
