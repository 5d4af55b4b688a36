"""Facts of the events of profiles: arguments, memory by its ids, kin, order, and what was lost.

Suspect profiler/src/capture/shapes.cpp, profile/{lives,links}.cpp there, then
profiler/python/opyard/_profile/{events,leaves,results}.py.
"""

import gc
import itertools
import json
import threading
import warnings

import pytest
from built import plugin_path
from leaves import leaf as leaf_tensor
from profiled_work import leaf, load_chrome, named

import opyard
from opyard import _tracer, nn
from opyard._profile import results
from opyard.profiler import profile, record_function

aten = opyard.ops.aten


def operators(prof, name):
    return [event for event in named(prof, name) if event.kind == "Operator"]


# arguments --------------------------------------------------------------------------------


def test_I36_strides_and_numbers_of_arguments_are_there_if_they_were_asked_for(tmp_path):
    x = opyard.ones(2, 3)
    with profile(with_stack=False, record_shapes=True) as prof:
        aten.add(x, x, alpha=2)
        aten.relu(x.t())
        aten.sum.dim_IntList(x, [0, 1], True)
        aten.cat([x, x.t().t()], -1)
        aten.mul.Tensor(x, 0.5)
        aten.sum(x, dtype=None)
    (add,) = operators(prof, "aten::add.Tensor")
    assert (add.input_strides, add.concrete_inputs) == ([[3, 1], [3, 1], []], ["", "", "2"])
    (relu,) = operators(prof, "aten::relu")
    assert (relu.input_shapes, relu.input_strides) == ([[3, 2]], [[1, 3]])
    (dims,) = operators(prof, "aten::sum.dim_IntList")
    assert dims.concrete_inputs == ["", "[0, 1]", "True", "None"]
    (cat,) = operators(prof, "aten::cat")
    assert (cat.input_strides, cat.concrete_inputs) == ([[[3, 1], [3, 1]], []], ["", "-1"])
    (mul,) = operators(prof, "aten::mul.Tensor")
    assert mul.concrete_inputs in (["", "0.5"], ["", ""])  # a number may be a tensor by then
    (one,) = operators(prof, "aten::sum")
    assert one.concrete_inputs == ["", "None"]
    prof.export_chrome_trace(tmp_path / "x.json")
    (slice_,) = [
        event
        for event in load_chrome(tmp_path / "x.json")["traceEvents"]
        if event["name"] == "aten::sum.dim_IntList"
    ]
    assert slice_["args"]["Input Strides"] == [[3, 1], [], [], []]
    assert slice_["args"]["Concrete Inputs"] == ["", "[0, 1]", "True", "None"]
    prof.export(tmp_path / "x.pftrace")
    assert b"Concrete Inputs" in (tmp_path / "x.pftrace").read_bytes()
    with profile(with_stack=False) as prof:
        aten.relu(x)
    (relu,) = operators(prof, "aten::relu")
    assert relu.input_strides is relu.concrete_inputs is relu.input_ids is None


def test_I36_a_backward_function_knows_the_thread_of_its_call():
    x = leaf_tensor([1, 2])
    made = []

    def forward():
        made.append((x * x).sum())

    with profile(with_stack=False) as prof:
        thread = threading.Thread(target=forward)
        thread.start()
        thread.join()
        made[0].backward()
    runs = {event.name: event for event in prof.events() if event.kind == "Backward"}
    run = runs["MulBackward"]
    assert run.start_tid == threading.get_native_id() != thread.native_id
    assert run.forward_tid == thread.native_id
    (call,) = [e for e in operators(prof, "aten::mul.Tensor") if e.start_tid == thread.native_id]
    assert (call.forward_tid, call.correlation_id) == (-1, run.correlation_id)
    assert run.correlation_id > 0 == runs["AccumulateGrad"].correlation_id
    assert runs["SumBackward"].correlation_id not in (0, run.correlation_id)


def test_I36_an_operator_knows_the_modules_around_it_and_what_is_asynchronous():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    with profile() as prof:
        net(opyard.ones(1, 2))
        aten.neg(opyard.ones(1))
        future = opyard.futures.Future()
        opyard.profiler.watch_future(future)
        future.set_result(None)
    (relu,) = operators(prof, "aten::relu")
    assert relu.module_hierarchy == [
        "nn.Module: Sequential_0",
        "nn.Module: Sequential_1",
        "nn.Module: ReLU_0",
    ]
    (neg,) = operators(prof, "aten::neg")
    assert neg.module_hierarchy == []
    assert {event.kind for event in prof.events() if event.is_async} == {"Future"}


# memory -----------------------------------------------------------------------------------


def test_I38_memory_has_an_id_from_when_it_is_taken_to_when_it_is_given_back():
    before = opyard.ones(1000)
    with profile(with_stack=False, record_shapes=True, profile_memory=True) as prof:
        first = aten.neg(before)
        address = first.data_ptr()
        part = first[10:]
        aten.relu(part)
        del first, part
        again = [aten.neg(before) for _ in range(50)]
        aten.cat(again)
        aten.abs(before)
    events = prof.memory_timeline()
    lives = [one for one in events if one.address == address]
    assert [one.bytes for one in lives][:2] == [4000, -4000]
    assert lives[0].id == lives[1].id > 0
    (relu,) = operators(prof, "aten::relu")
    assert relu.input_ids == [lives[0].id], "a view is on the same memory"
    (cat,) = operators(prof, "aten::cat")
    ids = cat.input_ids[0]
    assert len(set(ids)) == 50
    assert lives[0].id not in ids, "its memory is used again, and is another tensor's"
    if len(lives) > 2:
        assert lives[2].id in ids
    of_before = {tuple(event.input_ids) for event in operators(prof, "aten::neg")}
    (abs_,) = operators(prof, "aten::abs")
    assert of_before == {tuple(abs_.input_ids)}
    assert abs_.input_ids[0] not in [0, *(one.id for one in events)], "taken before the profile"
    with profile(with_stack=False, record_shapes=True) as prof:
        aten.neg(before)
    assert operators(prof, "aten::neg")[0].input_ids == [0]


def test_I38_memory_is_a_leaf_of_the_tree_inside_of_the_operator_that_took_it():
    with profile(with_stack=False, profile_memory=True) as prof:
        with record_function("around"):
            x = aten.ones([1000])
            del x
            gc.collect()
        with pytest.raises(MemoryError):
            aten.empty.memory_format([1 << 58])
    (around,) = named(prof, "around")
    (taken,) = [one for event in walk(around) for one in event.children if one.kind == "Memory"
                and one.extra_fields["bytes"] > 0]  # fmt: skip
    assert taken.parent.kind in ("Operator", "Kernel")
    assert (taken.name, taken.duration_time_ns, taken.children) == ("[memory]", 0, [])
    facts = taken.extra_fields
    assert (facts["bytes"], facts["device"], facts["id"] > 0) == (4000, "cpu", True)
    (given,) = [one for one in around.children if one.kind == "Memory"]
    assert given.extra_fields == {**facts, "bytes": -4000, "total": facts["total"] - 4000}
    assert given.start_time_ns >= taken.start_time_ns
    lines = prof.events().tree().splitlines()
    place = next(n for n, line in enumerate(lines) if line.endswith("[memory] +4000 cpu"))
    assert "aten::" in lines[place - 1]
    assert len(lines[place]) - len(lines[place].lstrip()) > len(lines[place - 1]) - len(
        lines[place - 1].lstrip()
    )
    assert any(line.endswith(f"[out of memory] +{4 << 58} cpu") for line in lines)


def walk(event):
    yield event
    for child in event.children:
        yield from walk(child)


# the tree ---------------------------------------------------------------------------------


def test_I39_one_tree_has_all_kinds_of_events_by_time():
    opyard.load_library(plugin_path("opyard_vtable_plugin"))
    x = leaf_tensor([1, 2])

    def work():
        with record_function("range"):
            len("")
            y = (x * x).sum()
            gc.collect()
            opyard.ops.test_vtable.trace("event_record")
            with pytest.raises(MemoryError):
                aten.empty.memory_format([1 << 58])
        y.backward()

    with profile(profile_memory=True) as prof:
        work()
    (outer,) = named(prof, "): work")
    inside = list(walk(outer))
    assert {event.kind for event in inside} >= {
        "Python",
        "C",
        "Operator",
        "Annotation",
        "Collection",
        "Memory",
        "OutOfMemory",
        "Device",
        "Backward",
        "Instruction",
    }
    for event in inside:
        assert event.end_time_ns >= event.start_time_ns
        children = event.children
        for child in children:
            assert child.parent == event
            assert event.start_time_ns <= child.start_time_ns
            assert child.end_time_ns <= event.end_time_ns
        for left, right in itertools.pairwise(children):
            assert left.end_time_ns <= right.start_time_ns
    (device,) = [event for event in inside if event.kind == "Device"]
    assert device.name == "CUDA event_record"


def test_I39_the_caller_of_a_call_is_the_nearest_call_of_python_around_it():
    def outer():
        record = record_function("between")
        with record:
            return leaf(1), len("")  # the line of both calls

    with profile(caller_lines=True) as prof:
        outer()
    first = outer.__code__.co_firstlineno
    (call,) = named(prof, "): leaf")
    assert call.parent.kind == "Annotation"
    assert call.caller == ("outer", __file__, first + 3)
    (length,) = [e for e in named(prof, "builtins.len") if e.caller.function_name == "outer"]
    assert length.caller.line_number == first + 3
    for event in prof.events():
        around = event.parent
        while around is not None and around.frame is None:
            around = around.parent
        if around is None:
            assert event.caller is None
        else:
            assert event.caller[:2] == around.frame[:2]
            assert event.caller_line is None or event.caller.line_number == event.caller_line


# the event --------------------------------------------------------------------------------


def test_I40_events_have_numbers_links_and_the_frames_of_their_calls():
    x = leaf_tensor([1, 2])
    with profile() as prof:
        thread = threading.Thread(target=leaf, args=(1,))
        thread.start()
        thread.join()
        nn.ReLU()(x * x).sum().backward()
        leaf(2)
    events = list(prof.events())
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert [prof.events()[event.id - 1] for event in events[::7]] == events[::7]
    links = {}
    for event in events:
        if event.correlation_id:
            links.setdefault(event.correlation_id, []).append(event.kind)
    assert links and all(sorted(kinds) == ["Backward", "Operator"] for kinds in links.values())
    call = named(prof, "): leaf")[-1]
    code = leaf.__code__
    assert call.frame == (code.co_name, code.co_filename, code.co_firstlineno)
    assert call.frame._fields == ("function_name", "file_name", "line_number")
    (module,) = [event for event in events if event.kind == "Module"]
    assert module.extra_fields["cls_name"].endswith("ReLU")
    assert module.frame is None
    (relu,) = operators(prof, "aten::relu")
    assert relu.extra_fields.keys() == {"dispatch_key", "kernel"}
    assert relu.scope == 0


def test_I32_results_are_sorted_by_their_starts_over_all_threads():
    both = threading.Barrier(2)

    def run():
        for _ in range(50):
            both.wait()
            leaf(1)

    with profile() as prof:
        thread = threading.Thread(target=run)
        thread.start()
        run()
        thread.join()
    found = list(prof.events().by_start())
    starts = [event.start_time_ns for event in found]
    assert starts == sorted(starts)
    assert {event.id for event in found} == {event.id for event in prof.events()}
    threads = [event.start_tid for event in found if event.name.endswith("): leaf")]
    assert sum(a != b for a, b in itertools.pairwise(threads)) > 1, "those of both in turn"
    for tid in set(threads):  # stable: of one thread in the order in which they began
        numbers = [event.number for event in found if event.start_tid == tid]
        assert numbers == sorted(numbers)


def test_I32_functions_of_python_and_of_c_are_numbered_in_one_row(tmp_path):
    with profile() as prof:
        for _ in range(3):
            leaf(1)
            len("")
    prof.export_chrome_trace(tmp_path / "x.json")
    rows = [e for e in load_chrome(tmp_path / "x.json")["traceEvents"] if e["ph"] == "X"]
    rows = [row for row in rows if "Python id" in row["args"]]
    rows.sort(key=lambda row: row["args"]["Python id"])
    assert {row["args"]["kind"] for row in rows} >= {"Python", "C"}
    assert [row["args"]["Python id"] for row in rows] == list(range(1, len(rows) + 1))
    assert [row["ts"] for row in rows] == sorted(row["ts"] for row in rows)


# what was lost ----------------------------------------------------------------------------


def test_I28_ends_of_what_had_not_begun_are_warned_of_once(monkeypatch):
    monkeypatch.setattr(results, "_said", [False])
    key = _tracer.annotation("never entered")
    profiles = []
    for _ in range(2):
        with profile(with_stack=False) as prof:
            _tracer.exit(key)
            _tracer.exit(key)
            with record_function("kept"):
                pass
        profiles.append(prof)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for prof in profiles:
            assert prof.data_quality()["dropped exits"] == 2
        assert said == [], "asking for them warns of nothing"
        for prof in profiles:
            assert [event.name for event in prof.events()] == ["kept"]
            assert prof.key_averages()
    (warning,) = said
    assert (warning.category, warning.filename) == (RuntimeWarning, __file__)
    assert str(warning.message).startswith("the profile left out 2 ends of what had not begun")


# clocks -----------------------------------------------------------------------------------


def test_I54_times_never_run_backwards_and_are_those_of_the_system():
    import time

    rounds = 20_000
    with profile(c_calls=False) as prof:
        begin = time.perf_counter_ns()
        for _ in range(rounds):
            leaf(1)
        passed = time.perf_counter_ns() - begin
    quality = prof.data_quality()
    assert quality["backwards"] == 0
    calls = named(prof, "): leaf")
    assert len(calls) == rounds
    for left, right in itertools.pairwise(calls):
        assert left.start_time_ns <= left.end_time_ns <= right.start_time_ns
    captured = calls[-1].end_time_ns - calls[0].start_time_ns
    assert captured <= passed
    assert 0 < quality["event cost ns"] < passed / rounds, "less than a call and its two events"
    assert json.dumps(quality)
