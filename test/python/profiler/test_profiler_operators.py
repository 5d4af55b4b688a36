"""Operators, their kernels, arguments, memory and devices in profiles.

Suspect profiler/src/capture/{operators,memory}.cpp, registry/observed_call.cpp.
"""

import itertools
import json
import sys
import threading

import pytest
from built import plugin_path
from profiled_work import assert_nested, load_chrome

import opyard
from opyard import dispatch
from opyard.library import Library, override
from opyard.profiler import profile

NS = "profiled"


@pytest.fixture(scope="module")
def ops():
    """outer calls inner; inner has a kernel at AutogradCPU that passes the call on."""
    library = Library(NS, "DEF")
    library.define("inner(Tensor x) -> Tensor")
    library.define("outer(Tensor x, int n=2) -> Tensor")
    library.define("fails(Tensor x) -> Tensor")
    library.impl("inner", lambda x: x, "CPU")

    def pass_on(x):
        cpu = dispatch.DispatchKeySet("CPU")
        return opyard.ops.profiled.inner.default.redispatch(cpu, x)

    library.impl("inner", pass_on, "AutogradCPU")
    library.impl("outer", lambda x, n=2: opyard.ops.profiled.inner(x), "CompositeExplicitAutograd")

    def fail(x):
        raise ValueError("no")

    library.impl("fails", fail, "CPU")
    yield opyard.ops.profiled
    library._destroy()


def operators_of(prof):
    return [event for event in prof.events() if event.kind in ("Operator", "Kernel")]


def facts(prof):
    return [(event.kind, event.name, event.dispatch_key) for event in operators_of(prof)]


def test_X22_each_kernel_of_a_call_is_there_with_its_key_and_origin(ops):
    x = opyard.tensor([1.0])
    with profile() as prof:
        ops.outer(x)
    assert ("Operator", f"{NS}::outer", "CPU") in facts(prof)
    events = {(event.kind, event.name): event for event in operators_of(prof)}
    outer = events["Operator", f"{NS}::outer"]
    inner = events["Operator", f"{NS}::inner"]
    assert "test_profiler_operators.py" in outer.kernel
    around = inner
    while around.parent is not None and around != outer:
        around = around.parent
    assert around == outer, "on one timeline with the Python function of the kernel"
    assert any(child.name.endswith("<lambda>") for child in outer.children)


def test_X22_a_redispatch_is_a_kernel_inside_its_call(ops):
    x = opyard.tensor([1.0])
    with profile(with_stack=False) as prof:
        ops.inner(x)
    assert facts(prof) == [
        ("Operator", f"{NS}::inner", "AutogradCPU"),
        ("Kernel", f"{NS}::inner", "CPU"),
    ]
    call, kernel = operators_of(prof)
    assert kernel.parent == call


def test_X4_X22_what_call_next_leads_to_is_a_kernel_inside_its_call(ops):
    x = opyard.tensor([1.0])

    def lower(call_next, x):
        return call_next(x)

    def upper(call_next, x):
        return call_next(x)

    name = f"{NS}::inner"
    with override(name, "CPU", lower, with_next=True), override(name, "CPU", upper, with_next=True):
        with profile(with_stack=False) as prof:
            ops.inner(x)
    assert facts(prof) == [
        ("Operator", name, "AutogradCPU"),
        ("Kernel", name, "CPU"),
        ("Kernel", name, "CPU"),
        ("Kernel", name, "CPU"),
    ]
    for outer, inner in itertools.pairwise(operators_of(prof)):
        assert inner.parent == outer
    (row,) = (row for row in prof.key_averages() if row.key == name and row.kind == "Operator")
    assert row.count == 1, "one call"


def test_X4_X22_call_next_at_the_last_kernel_of_a_key_goes_on_to_the_next_key(ops):
    x = opyard.tensor([1.0])

    def own(call_next, x):
        return call_next(x)

    name = "aten::neg"
    with override(name, "AutogradCPU", own, with_next=True), profile(with_stack=False) as prof:
        opyard.ops.aten.neg(x)
    # Between the two is the tape, if the process has armed it.
    first, *between, last = facts(prof)
    assert first == ("Operator", name, "AutogradCPU")
    assert between in ([], [("Kernel", name, "AutogradCPU")])
    assert last == ("Kernel", name, "CPU")


def test_X22_a_kernel_that_was_kept_and_is_called_by_its_override_is_inside_the_call(ops):
    x = opyard.tensor([1.0])
    name = f"{NS}::inner"
    kept = dispatch.computed_kernel(name, "CPU")
    with override(name, "CPU", lambda x: kept(x)), profile(with_stack=False) as prof:
        ops.inner(x)
    assert facts(prof) == [
        ("Operator", name, "AutogradCPU"),
        ("Kernel", name, "CPU"),
        ("Kernel", name, "CPU"),
    ]
    (row,) = (row for row in prof.key_averages() if row.key == name)
    assert row.count == 1
    with override(f"{NS}::outer", "CPU", lambda x, n=2: kept(x)), profile(with_stack=False) as prof:
        kept(x)
        ops.outer(x)
    assert facts(prof) == [
        ("Operator", name, "CPU"),
        ("Operator", f"{NS}::outer", "CPU"),
        ("Operator", name, "CPU"),
    ], "of a call by others it is the first kernel"


class PassOn(dispatch.DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **(kwargs or {}))


def test_X15_pytorch_195746_an_operator_under_a_mode_is_counted_once(ops):
    """pytorch/pytorch#195746: with a dispatch mode on, each operator was counted twice."""
    x = opyard.tensor([1.0])
    with profile(with_stack=False) as plain:
        opyard.ops.aten.neg(x)
        ops.inner(x)
    with PassOn(), profile(with_stack=False) as prof:
        opyard.ops.aten.neg(x)
        ops.inner(x)
    assert {row.key: row.count for row in prof.key_averages()} == {
        row.key: row.count for row in plain.key_averages()
    }


def test_X15_kineto_159256_threads_that_began_before_are_captured(ops):
    """pytorch/kineto#159256: only the thread that started the profile was captured."""
    x = opyard.tensor([1.0])
    begin, threads = threading.Barrier(4), []

    def call():
        begin.wait()
        ops.inner(x)

    for _ in range(3):
        threads.append(threading.Thread(target=call))
        threads[-1].start()
    with profile() as prof:
        begin.wait()
        ops.inner(x)
        for thread in threads:
            thread.join()
    here = {threading.get_native_id(), *(thread.native_id for thread in threads)}
    calls = [event for event in operators_of(prof) if event.kind == "Operator"]
    assert {event.start_tid for event in calls} == here and len(calls) == 4
    functions = {event.start_tid for event in prof.events() if event.kind == "Python"}
    assert functions >= here


def test_X15_operators_of_all_threads_are_captured(ops):
    x = opyard.tensor([1.0])
    with profile(with_stack=False) as prof:
        thread = threading.Thread(target=lambda: ops.inner(x))
        thread.start()
        thread.join()
        ops.inner(x)
    tracks = {event.start_tid for event in operators_of(prof)}
    assert tracks == {threading.get_native_id(), thread.native_id}


def test_X22_a_call_that_raises_ends(ops):
    x = opyard.tensor([1.0])
    with profile(with_stack=False) as prof:
        with pytest.raises(ValueError, match="no"):
            ops.fails(x)
        ops.inner(x)
    outermost = [event.name for event in operators_of(prof) if event.parent is None]
    assert outermost == [f"{NS}::fails", f"{NS}::inner"]
    assert prof.data_quality()["clamped"] == 0


def test_I36_shapes_and_types_are_there_if_they_were_asked_for(ops):
    x = opyard.tensor([[1.0, 2.0]])
    with profile(with_stack=False, record_shapes=True) as prof:
        ops.outer(x, 3)
        opyard.ops.aten.cat([x, x])
    by_name = {event.name: event for event in operators_of(prof) if event.kind == "Operator"}
    assert by_name[f"{NS}::outer"].input_shapes == [[1, 2], []]
    assert by_name[f"{NS}::outer"].input_types == ["float32", "Int"]
    assert by_name["aten::cat"].input_shapes == [[[1, 2], [1, 2]], []]
    with profile(with_stack=False) as prof:
        ops.outer(x, 3)
    assert {event.input_shapes for event in operators_of(prof)} == {None}


def test_I36_arguments_that_do_not_fit_are_cut_and_marked():
    many = [opyard.tensor([1.0])] * 400
    with profile(with_stack=False, record_shapes=True) as prof:
        opyard.ops.aten.cat(many)
    (event,) = [e for e in operators_of(prof) if e.name == "aten::cat" and e.kind == "Operator"]
    assert event.input_shapes[0][-1] == "…"
    assert 200 < len(event.input_shapes[0]) < 400


def test_I45_averages_count_calls_of_an_operator_and_have_columns_on_request(ops):
    x = opyard.tensor([1.0])
    y = opyard.tensor([1.0, 2.0])
    with profile(with_stack=False, record_shapes=True, profile_memory=True) as prof:
        ops.inner(x)
        ops.inner(y)
        opyard.ops.aten.add(y, y)
    rows = {row.key: row for row in prof.key_averages() if row.kind == "Operator"}
    assert rows[f"{NS}::inner"].count == 2
    assert rows["aten::add.Tensor"].cpu_memory_usage == 8, "given back outside of it"
    shapes = prof.key_averages(group_by_input_shape=True)
    assert {(r.input_shapes, r.count) for r in shapes if r.key == f"{NS}::inner"} == {
        ("[[1]]", 1),
        ("[[2]]", 1),
    }
    keys = prof.key_averages(group_by_dispatch_key=True)
    assert {(r.dispatch_key, r.count) for r in keys if r.key == f"{NS}::inner"} == {
        ("AutogradCPU", 2),
        ("CPU", 2),
    }
    head = prof.key_averages(True, group_by_dispatch_key=True).table().splitlines()[1]
    for column in ("CPU Mem", "Self CPU Mem", "Dispatch Key", "Input Shapes"):
        assert column in head


def test_X22_the_time_of_each_dispatch_key_adds_up(ops):
    x = opyard.tensor([1.0])
    with profile(with_stack=False) as prof:
        for _ in range(5):
            ops.inner(x)
    rows = {row.dispatch_key: row for row in prof.dispatch_keys()}
    assert (rows["AutogradCPU"].calls, rows["AutogradCPU"].redispatches) == (5, 0)
    assert (rows["CPU"].calls, rows["CPU"].redispatches) == (0, 5)
    whole = sum(e.duration_time_ns for e in operators_of(prof) if e.kind == "Operator")
    assert sum(row.self_cpu_time_total for row in rows.values()) == pytest.approx(whole / 1000)
    assert "AutogradCPU" in prof.dispatch_keys().table()


def test_I38_memory_is_shown_where_it_was_taken_and_given_back():
    with profile(with_stack=False, profile_memory=True) as prof:
        x = opyard.ops.aten.ones([1000])
        address = x.data_ptr()
        del x
    taken, given = [event for event in prof.memory_timeline() if event.address == address]
    assert (taken.bytes, given.bytes) == (4000, -4000)
    assert taken.total - given.total == 4000
    assert taken.device == "cpu"
    assert taken.within.kind in ("Operator", "Kernel")
    assert given.within is None


def test_I38_memory_that_is_not_to_be_had_is_an_event():
    with profile(with_stack=False, profile_memory=True) as prof:
        with pytest.raises(MemoryError):
            opyard.ops.aten.empty.memory_format([1 << 58])
    (event,) = [event for event in prof.memory_timeline() if event.address is None]
    assert event.bytes == 4 << 58


def test_I38_no_memory_is_captured_without_being_asked_for():
    with profile(with_stack=False) as prof:
        opyard.ops.aten.ones([1000])
    assert prof.memory_timeline() == []


def test_I47_chrome_traces_show_keys_shapes_and_memory(ops, tmp_path):
    x = opyard.tensor([[1.0, 2.0]])
    with profile(record_shapes=True, profile_memory=True) as prof:
        ops.outer(x)
        opyard.ops.aten.add(x, x)
    prof.export_chrome_trace(tmp_path / "trace.json")
    document = load_chrome(tmp_path / "trace.json")
    assert_nested(document)
    (outer,) = [e for e in document["traceEvents"] if e["name"] == f"{NS}::outer"]
    assert outer["cat"] == "cpu_op"
    assert outer["args"]["more"]["dispatch_key"] == "CPU"
    assert outer["args"]["Input Dims"] == [[1, 2], []]
    assert outer["args"]["Input type"] == ["float32", "Int"]
    memory = [e for e in document["traceEvents"] if e["name"] == "[Memory]"]
    assert {e["args"]["Bytes"] for e in memory} >= {8, -8}
    assert [e for e in document["traceEvents"] if e["ph"] == "C" and e["name"] == "memory cpu"]


def test_E29_a_profile_hears_devices_beside_the_interpreter():
    opyard.load_library(plugin_path("opyard_vtable_plugin"))
    with profile(with_stack=False) as prof:
        opyard.ops.test_vtable.trace("event_record")
    opyard.ops.test_vtable.trace("event_record")
    marks = [mark for track in prof.events().tracks for mark in prof._profile.marks(track.index)]
    (mark,) = [mark for mark in marks if mark[0] == "Device"]
    assert prof._profile.name(mark[3])[0] == "CUDA event_record"
    assert tuple(memoryview(mark[5]).cast("Q")[:2]) == (11, 22)


def test_X15_a_native_thread_that_waits_for_the_gil_is_seen(ops):
    opyard.load_library(plugin_path("opyard_test_plugin"))
    x = opyard.tensor([1.0])
    with profile(with_stack=False) as prof:
        opyard.ops.test_plugin.wait_inside(x, f"{NS}::inner")
    waits = [event for event in prof.events() if event.kind == "GilWait"]
    assert waits
    assert all(event.name == "waiting for the GIL" for event in waits)


@pytest.mark.parametrize("operators", [True, False])
def test_X15_what_a_native_thread_runs_in_python_is_captured(ops, operators):
    """It comes through Opyard's gate, and Python makes it a state for the time."""
    opyard.load_library(plugin_path("opyard_test_plugin"))
    x = opyard.tensor([1.0])
    with profile(operators=operators) as prof:
        for _ in range(3):
            opyard.ops.test_plugin.wait_inside(x, f"{NS}::inner")
    here = threading.get_native_id()
    kernels = [event for event in prof.events() if event.name.endswith("): <lambda>")]
    assert len([event for event in kernels if event.start_tid != here]) == 3
    assert prof.data_quality()["clamped"] == 0
    assert sys.getprofile() is None


def test_operators_false_captures_none(ops):
    x = opyard.tensor([1.0])
    with profile(operators=False) as prof:
        ops.inner(x)
    assert operators_of(prof) == []


def test_nothing_is_left_in_the_tables_after_a_profile(ops):
    x = opyard.tensor([1.0])
    before = dispatch.dump_table(f"{NS}::inner")
    with profile():
        ops.inner(x)
        assert dispatch.dump_table(f"{NS}::inner") == before
    assert dispatch.dump_table(f"{NS}::inner") == before


def test_the_dispatch_log_shows_the_same_within_a_profile(ops, capfd):
    x = opyard.tensor([1.0])
    with profile(), dispatch.DispatchLog():
        ops.inner(x)
    assert f"op=[{NS}::inner], key=[CPU]" in capfd.readouterr().err


def test_a_kernel_that_is_replaced_while_capturing_has_an_origin_of_its_own(ops):
    x = opyard.tensor([1.0])
    with profile(with_stack=False) as prof:
        ops.inner(x)
        with opyard.library.override(f"{NS}::inner", "CPU", lambda x: x, name="the other"):
            ops.inner(x)
        ops.inner(x)
    kernels = [event.kernel for event in operators_of(prof)]
    assert kernels[0] == kernels[2] != kernels[1]
    assert json.dumps(kernels)


def test_I39_instructions_of_graphs_are_around_their_operators():
    graph = opyard.jit.compile(
        opyard.jit.parse_ir("graph(%x : Tensor):\n  %1 : Tensor = aten::neg(%x)\n  return (%1)\n")
    )
    x = opyard.tensor([1.0])
    graph(x)
    with profile(with_stack=False) as prof:
        graph(x)
        graph(x)
    graph(x)
    instructions = [event for event in prof.events() if event.kind == "Instruction"]
    negations = [event for event in instructions if "aten::neg" in event.name]
    assert len(negations) == 2
    for event in negations:
        assert [child.name for child in event.children] == ["aten::neg"]
    rows = {row.key: row.count for row in prof.key_averages() if row.kind == "Instruction"}
    assert 2 in rows.values()
