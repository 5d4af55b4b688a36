"""Results of a profile: names, numbers, the tree, the surface of profile and its events.

Suspect profiler/src/profile/labels.cpp, profiler/python/opyard/_profile/.
"""

import inspect
import json
import os
import sys
import threading
import time
import types
from enum import Enum

import pytest
from profiled_work import assert_nested, leaf, load_chrome, named

import opyard
from opyard._profile.averages import format_time
from opyard.profiler import ProfilerActivity, profile, record_function, schedule, show_instances


def slices(prof, path):
    prof.export_chrome_trace(path)
    return [event for event in load_chrome(path)["traceEvents"] if event["ph"] == "X"]


class Layer:
    def __call__(self):
        return 1


def inside(event):
    """From CPython 3.12 on, calls of a class and of an instance are events around what they run."""
    for child in event.children:
        yield child
        yield from inside(child)


class Dense(Layer):
    pass


show_instances(Layer, label="nn.Module")


def test_I32_calls_are_numbered_by_their_starts_over_all_threads(tmp_path):
    layers = [Dense(), Layer(), Dense()]

    def run():
        layers[2]()

    with profile() as prof:
        layers[0]()
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        layers[1]()
        layers[0]()
    found = slices(prof, tmp_path / "trace.json")
    numbers = {e["args"]["Python id"]: e["ts"] for e in found if "Python id" in e["args"]}
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert [numbers[n] for n in sorted(numbers)] == sorted(numbers.values())
    modules = sorted((e for e in found if e["args"]["kind"] == "Module"), key=lambda e: e["ts"])
    # The number runs for each class, in the order of first appearance, whatever the thread.
    assert [event["name"] for event in modules] == [
        "nn.Module: Dense_0",
        "nn.Module: Dense_1",
        "nn.Module: Layer_0",
        "nn.Module: Dense_0",
    ]
    assert [event["args"]["Python module id"] for event in modules] == [0, 1, 0, 0]


def test_I33_the_longest_prefix_is_taken_off_once(tmp_path, monkeypatch):
    inner = tmp_path / "inner"
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(inner), *sys.path])
    files = [
        inner / "a.py",
        tmp_path / "b.py",
        inner / "inner" / "c.py",
        "/nowhere/d.py",
        f"/nowhere{inner}/e.py",
    ]
    with profile() as prof:
        for file in files:
            code = leaf.__code__.replace(co_filename=str(file), co_firstlineno=7)
            types.FunctionType(code, {})(1)
    names = [event.name for event in prof.events() if event.name.endswith("(7): leaf")]
    rest = f"/nowhere{inner}/e.py"
    assert names == [
        f"{name}(7): leaf" for name in ("a.py", "b.py", "inner/c.py", "/nowhere/d.py", rest)
    ]


def test_I34_each_kind_has_its_form_of_name_and_children_are_in_order():
    x = opyard.tensor([1.0])

    def outer():
        leaf(1)
        len("")
        Dense()()
        with record_function("mine"):
            leaf(2)
        opyard.ops.aten.relu(x)

    with profile() as prof:
        outer()
    (call,) = named(prof, "): outer")
    line = outer.__code__.co_firstlineno
    assert call.name == f"test_profiler_results.py({line}): outer"
    assert (call.extra_fields["function_name"], call.extra_fields["line_number"]) == ("outer", line)
    assert call.extra_fields["file_name"] == __file__
    assert call.extra_fields["qualified_name"].endswith("<locals>.outer") or (
        sys.version_info < (3, 11)  # a code object has none
    )
    kinds = [(event.kind, event.name) for event in inside(call)]
    wanted = [
        ("Python", f"profiled_work.py({leaf.__code__.co_firstlineno}): leaf"),
        ("C", "builtins.len"),
        ("Module", "nn.Module: Dense_0"),
        ("Annotation", "mine"),
        ("Operator", "aten::relu"),
    ]
    at = [kinds.index(one) for one in wanted]
    assert at == sorted(at)
    starts = [event.start_time_ns for event in call.children]
    assert starts == sorted(starts)


def test_I40_an_event_has_its_times_place_kin_and_facts():
    with profile() as prof:
        with record_function("outer"):
            leaf(1)
    (outer,) = named(prof, "outer")
    assert outer.end_time_ns - outer.start_time_ns == outer.duration_time_ns > 0
    assert outer.start_tid == threading.get_native_id()
    (call,) = [child for child in outer.children if child.name.endswith("): leaf")]
    assert call.parent == outer
    assert call.kind == "Python"
    assert set(call.extra_fields) == {"function_name", "qualified_name", "file_name", "line_number"}
    assert len({hash(call), hash(outer), hash(call.parent)}) == 2
    events = list(prof.events())
    assert len({(event.track.index, event.number) for event in events}) == len(events)
    assert "leaf" in repr(call)
    assert call != object()


def test_I41_a_profile_has_the_parameters_and_methods_of_torchs():
    given = inspect.signature(profile).parameters
    assert {
        "activities",
        "schedule",
        "on_trace_ready",
        "record_shapes",
        "profile_memory",
        "with_stack",
        "with_modules",
    } <= set(given)
    with pytest.warns(UserWarning, match="acc_events, experimental_config, with_flops"):
        profile(with_flops=True, acc_events=True, experimental_config=object())
    with pytest.raises(TypeError, match="members of opyard.profiler.ProfilerActivity"):
        profile(activities=["CPU"])
    with pytest.warns(UserWarning, match="arguments: activities=CUDA$"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    theirs = Enum("ProfilerActivity", ["CPU", "XPU"])
    with pytest.warns(UserWarning, match="arguments: activities=XPU, with_flops$"):
        with profile(activities=theirs, with_flops=True) as prof:
            leaf(1)
    assert len(named(prof, "): leaf")) == 1
    with profile(activities=[]) as nothing:
        leaf(1)
    assert len(nothing.events()) == 0
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        leaf(1)
    assert len(named(prof, "): leaf")) == 1


def test_I41_what_was_captured_is_written_and_carries_what_was_added(tmp_path):
    prof = profile(profile_memory=True)
    prof.start()
    x = opyard.ops.aten.ones([1000])
    prof.stop()
    prof.add_metadata("text", "<a>")
    prof.add_metadata_json("numbers", "[1, 2]")
    prof.preset_metadata_json("more", '{"a": null}')
    with pytest.raises(json.JSONDecodeError):
        prof.add_metadata_json("wrong", "[")
    prof.export_chrome_trace(tmp_path / "trace.json")
    document = load_chrome(tmp_path / "trace.json")
    assert (document["text"], document["numbers"], document["more"]) == ("<a>", [1, 2], {"a": None})
    prof.export_memory_timeline(tmp_path / "memory.json")
    rows = json.loads((tmp_path / "memory.json").read_text("utf-8"))
    (row,) = [row for row in rows if row["address"] == x.data_ptr()]
    assert (row["bytes"], row["device"], row["within"]) == (4000, "cpu", "aten::ones")
    first = prof.get_trace_id()
    assert (len(first), prof.get_trace_id()) == (32, first)
    prof.start()
    time.sleep(0.001)
    prof.stop()
    assert prof.get_trace_id() != first
    with profile() as without:
        leaf(1)
    with pytest.raises(RuntimeError, match="requires profile_memory=True"):
        without.export_memory_timeline(tmp_path / "none.json")
    with profile(profile_memory=True, with_stack=False) as empty:
        leaf(1)
    empty.export_memory_timeline(tmp_path / "empty.json")
    assert json.loads((tmp_path / "empty.json").read_text("utf-8")) == []
    assert not os.path.exists(tmp_path / "none.json")


def test_I50_short_ranges_and_steps_nest_after_rounding(tmp_path):
    """As a viewer reads them: times are doubles in microseconds, made whole nanoseconds."""
    plan = schedule(wait=0, warmup=1, active=50)
    with profile(schedule=plan, c_calls=False) as prof:
        for _ in range(51):
            for _ in range(20):
                with record_function("a"), record_function("b"):
                    pass
            prof.step()
    path = tmp_path / "trace.json"
    found = slices(prof, path)
    assert sum(event["name"] == "b" for event in found) == 1000
    assert_nested(load_chrome(path))
    steps = [event for event in found if event["name"].startswith("ProfilerStep#")]
    assert len(steps) == 50
    for event in found:
        assert (round(event["ts"] * 1000) / 1000, round(event["dur"] * 1000) / 1000) == (
            event["ts"],
            event["dur"],
        )


def test_I51_threads_started_within_have_their_operators_and_memory():
    def run():
        kept.append(opyard.ops.aten.ones([500]))

    kept = []
    with profile(profile_memory=True) as prof:
        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    ids = {thread.native_id for thread in threads}
    assert {e.start_tid for e in named(prof, "aten::ones") if e.kind == "Operator"} == ids
    taken = {event.address: event.start_tid for event in prof.memory_timeline() if event.bytes > 0}
    assert {taken[x.data_ptr()] for x in kept} == ids
    assert {event.start_tid for event in named(prof, "): run")} >= ids


def test_X16_a_row_says_how_much_of_it_is_the_profiler_s():
    def leaf():
        pass

    with profile() as prof:
        for _ in range(100):
            leaf()
    (row,) = [row for row in prof.key_averages() if row.key.endswith("): leaf")]
    cost = prof.data_quality()["event cost ns"]
    assert cost > 0
    assert row.profiler_time_total == pytest.approx(100 * 2 * cost / 1000)
    lines = prof.key_averages().table().splitlines()
    ours = sum(row.profiler_time_total for row in prof.key_averages())
    assert lines[-2] == f"Stored events took at least: {format_time(ours)}"
    x = opyard.tensor([1.0])
    with profile(with_stack=False) as prof:
        for _ in range(10):
            opyard.ops.aten.neg(x)
    (key,) = prof.dispatch_keys()
    assert key.profiler_time_total == pytest.approx(10 * 2 * cost / 1000)
    assert format_time(key.profiler_time_total) in prof.dispatch_keys().table()
