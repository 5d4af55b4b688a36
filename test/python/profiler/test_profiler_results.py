"""Results of a profile: names, numbers, folding, CPU time, the surface of profile and its events.

Suspect profiler/src/profile/{labels,fold}.cpp, profiler/python/opyard/_profile/.
"""

import copy
import functools
import inspect
import json
import os
import sys
import threading
import time
import types
from enum import Enum

import pytest
from commands import run
from profiled_work import assert_nested, leaf, load_chrome, named

import opyard
from opyard._profile.averages import Averages, format_time
from opyard._profile.costs import call_costs
from opyard._profile.pages import read_page
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


# folding ----------------------------------------------------------------------------------


def short(name):
    return name.rpartition("): ")[2]


def names_in(table):
    """The last part of each name in a table's first column."""
    return [short(line.strip().split("  ")[0]) for line in table.splitlines()]


def in_a_library():
    """Calls json and copy, and is called back by one of them."""

    def hook(pairs):
        leaf(1)
        return dict(pairs)

    json.loads('{"a": [1, 2]}', object_pairs_hook=hook)
    copy.deepcopy([[1], [2]])


def test_calls_inside_of_a_library_are_part_of_its_call():
    with profile() as prof:
        in_a_library()
    whole = prof.key_averages()
    shown = Averages(prof._profile.folded())
    counts = {short(row.key): row.count for row in shown}
    all_of_it = {short(row.key): row.count for row in whole}
    assert {"in_a_library", "loads", "hook", "leaf", "deepcopy"} <= {*counts}
    assert not {"decode", "raw_decode", "_deepcopy_list"} & {*counts}
    assert {"decode", "raw_decode", "_deepcopy_list"} <= {*all_of_it}
    assert (counts["deepcopy"], all_of_it["deepcopy"]) == (1, 5)
    # No time is lost: what is folded counts as that of the call.
    assert shown.total_average_self() == pytest.approx(whole.total_average_self())
    (folded,) = [row for row in shown if short(row.key) == "deepcopy"]
    (outer,) = [row for row in whole if short(row.key) == "deepcopy"]
    assert folded.self_cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_tables_and_trees_fold_unless_they_are_asked_not_to():
    with profile() as prof:
        in_a_library()
    averages = prof.key_averages()
    table, whole = averages.table(), averages.table(fold=False)
    assert "_deepcopy_list" in whole and "_deepcopy_list" not in table
    gone = sum(row.count for row in averages) - sum(
        row.count for row in Averages(prof._profile.folded())
    )
    assert f"Calls inside of libraries that are folded: {gone:,} (fold=False)" in table
    assert "folded" not in whole
    events = prof.events()
    assert "raw_decode" in events.tree(fold=False)
    lines = events.tree().splitlines()
    assert not any("raw_decode" in line for line in lines)
    depths = {short(line): len(line) - len(line.lstrip()) for line in lines}
    assert depths["in_a_library"] < depths["loads"] < depths["hook"] < depths["leaf"]


def test_internal_operators_are_part_of_the_one_that_was_called():
    library = opyard.library.Library("opyard", "FRAGMENT")
    library.define("inner_of_a_test(Tensor x) -> Tensor")
    library.impl("inner_of_a_test", lambda x: opyard.ops.aten.neg(x), "CPU")
    outer = opyard.library.Library("test_folding", "DEF")
    outer.define("outer(Tensor x) -> Tensor")
    outer.impl("outer", lambda x: opyard.ops.opyard.inner_of_a_test(x), "CPU")
    try:
        x = opyard.tensor([1.0])
        with profile(with_stack=False) as prof:
            opyard.ops.test_folding.outer(x)
            opyard.ops.opyard.inner_of_a_test(x)
    finally:
        outer._destroy() if hasattr(outer, "_destroy") else None
    operators = {row.key: row.count for row in prof.key_averages()}
    assert operators == {"test_folding::outer": 1, "opyard::inner_of_a_test": 2, "aten::neg": 2}
    shown = {row.key: row.count for row in Averages(prof._profile.folded())}
    assert shown == {**operators, "opyard::inner_of_a_test": 1}


def test_the_whole_package_that_is_run_is_the_program_s_own(tmp_path):
    """Also if it is installed where libraries are."""
    package = tmp_path / "site-packages" / "tool"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("from tool.inner import one; one()")
    (package / "inner.py").write_text("def one(): two()\ndef two(): pass\n")
    code, _, table = run(tmp_path / "site-packages", "-m", "tool")
    assert code == 0
    assert {"one", "two"} <= {*names_in(table)}


@pytest.mark.parametrize("arguments", [["program.py"], ["-m", "program"]])
def test_frames_of_the_command_and_of_what_starts_it_are_not_in_a_profile(tmp_path, arguments):
    (tmp_path / "program.py").write_text("\ndef f(): pass\nf()\n")
    code, _, said = run(tmp_path, *arguments, profiled=["-o", "x.json"])
    assert (code, said) == (0, "")
    events = load_chrome(tmp_path / "x.json")["traceEvents"]
    names = [event["name"] for event in events if event["ph"] == "X"]
    assert "program.py(2): f" in names
    hidden = ("command.py", "profiler.py", "_run_module_as_main", "_run_code", "builtins.exec")
    assert not [name for name in names if any(part in name for part in hidden)]


# CPU time ---------------------------------------------------------------------------------


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        leaf(1)


def burn_in_one_call(seconds):
    sum(range(round(seconds * 20_000_000)))


def rest(seconds):
    time.sleep(seconds)


def rows_of(prof):
    return {short(row.key): row for row in prof.key_averages()}


def several_times(check):
    """A test of measured times, which other programs bend: it passes if it does once in four."""

    @functools.wraps(check)
    def tried():
        for _ in range(3):
            try:
                return check()
            except AssertionError:
                time.sleep(0.2)
        return check()

    return tried


# CPython 3.10 does not say which thread of the system a thread is that makes no events.
CLOCKS_OF_OTHERS = sys.version_info >= (3, 11)


@several_times
def test_CPU_time_is_told_apart_from_waiting():
    lock = threading.Lock()
    lock.acquire()

    def acquire():
        lock.acquire()

    blocked = threading.Thread(target=acquire)
    blocked.start()
    with profile() as prof:
        begin = time.thread_time()
        for _ in range(3):
            burn(0.03)
            rest(0.05)
        burn_in_one_call(0.02)
        taken = time.thread_time() - begin
    lock.release()
    blocked.join()
    rows = rows_of(prof)
    if not CLOCKS_OF_OTHERS:  # all of its time counts
        assert rows["acquire"].thread_time_total == rows.pop("acquire").cpu_time_total
    cpu = sum(row.self_thread_time_total for row in rows.values()) / 1e6
    assert cpu == pytest.approx(taken, rel=0.2, abs=0.003)  # the waits are 150 % of it
    sleep, burning = rows["time.sleep"], rows["burn"]
    assert sleep.cpu_time_total >= 150_000 and sleep.thread_time_total < 0.1 * sleep.cpu_time_total
    assert sleep.self_waiting_time_total == pytest.approx(
        sleep.self_cpu_time_total - sleep.self_thread_time_total
    )
    assert burning.thread_time_total >= 85_000
    assert rows["builtins.sum"].thread_time_total >= 2_000
    # A thread that does nothing all the time makes no event, and takes no time.
    if CLOCKS_OF_OTHERS:
        acquiring = rows["acquire"]
        assert acquiring.cpu_time_total >= 200_000 and acquiring.thread_time_total < 20_000
    for row in rows.values():
        assert 0 <= row.self_thread_time_total <= row.self_cpu_time_total
        assert row.self_thread_time_total <= row.thread_time_total + 0.01
        assert row.thread_time_total <= row.cpu_time_total + 0.01


def test_tables_and_pages_say_CPU_and_waits(tmp_path):
    with profile() as prof:
        burn(0.02)
        rest(0.05)
    table = prof.key_averages().table(sort_by="waits")
    lines = [line.split() for line in table.splitlines()]
    assert lines[1][:7] == ["Name", "Self", "%", "Self", "CPU", "Corrected", "Waits"]
    assert lines[1][7:] == ["For", "Total", "%", "Total", "Total", "avg", "#", "of", "Calls"]
    assert lines[3][0] == "time.sleep"
    assert lines[-1][:4] == ["Self", "time", "total:", lines[-1][3]] and "CPU:" in lines[-1]
    first = prof.key_averages().table(sort_by="cpu", row_limit=1, fold=False).splitlines()[3]
    assert "time.sleep" not in first
    prof.export(tmp_path / "x.html")
    rows = {row[1]: row for row in read_page((tmp_path / "x.html").read_text(), "x").head["rows"]}
    sleep = rows["time.sleep"]
    assert 0 <= sleep[8] < 0.2 * sleep[4]


def test_what_is_folded_keeps_its_CPU_time():
    with profile() as prof:
        json.dumps([[n, n] for n in range(20_000)], indent=1)
    whole, shown = prof.key_averages(), Averages(prof._profile.folded())
    cpu = sum(row.self_thread_time_total for row in whole)
    assert sum(row.self_thread_time_total for row in shown) == pytest.approx(cpu, rel=0.01)


def tiny(n):
    return n


def many_calls():
    for n in range(40_000):
        tiny(n)


def few_calls():
    return sum(n * n for n in range(2)) + sum([n % 7 for n in range(600_000)])


@several_times
def test_what_calls_cost_is_taken_off_in_a_column():
    begin = time.thread_time()
    many_calls()
    middle = time.thread_time()
    few_calls()
    true_share = (middle - begin) / (time.thread_time() - begin)
    with profile(operators=False) as prof:
        many_calls()
        few_calls()
    costs = call_costs()
    assert costs is call_costs() is not None  # measured once
    rows = rows_of(prof)
    many = [rows["many_calls"], rows["tiny"]]
    few = [row for name, row in rows.items() if "few_calls" in name or name in FEW]

    def share(time_of):
        calls, others = sum(map(time_of, many)), sum(map(time_of, few))
        return calls / (calls + others)

    bent = abs(share(lambda row: row.self_thread_time_total) - true_share)
    mended = abs(share(lambda row: row.corrected_time(costs)) - true_share)
    assert mended < bent
    table = prof.key_averages().table(sort_by="corrected")
    assert "Corrected" in table and "Capturing a call takes" in table
    for row in rows.values():
        assert 0 <= row.corrected_time(costs) <= row.self_thread_time_total


FEW = ("<genexpr>", "<listcomp>", "builtins.sum")


@several_times
def test_what_folded_calls_cost_is_taken_off_too():
    with profile() as prof:
        copy.deepcopy([[n] for n in range(3000)])
    costs = call_costs()
    (shown,) = [row for row in Averages(prof._profile.folded()) if short(row.key) == "deepcopy"]
    assert sum(shown.hidden_calls) > 20_000
    whole = sum(
        row.corrected_time(costs)
        for row in prof.key_averages()
        if "copy.py" in row.key or row.kind in ("C", "Callable")
    )
    assert shown.corrected_time(costs) == pytest.approx(whole, rel=0.3)
    assert shown.corrected_time(costs) < 0.9 * shown.self_thread_time_total


def test_costs_are_not_measured_while_a_profile_is_on(monkeypatch):
    monkeypatch.setattr("opyard._profile.costs._measured", [])
    with profile() as prof:
        leaf(1)
    with profile():
        assert call_costs() is None
        assert "Corrected" not in prof.key_averages().table()
    assert call_costs() is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_the_CPU_time_of_a_child_is_its_own(tmp_path):
    (tmp_path / "program.py").write_text(
        "import os, time\n"
        "def burn():\n"
        "    end = time.thread_time() + 0.05\n"
        "    while time.thread_time() < end: pass\n"
        "burn()\n"
        "if os.fork() == 0:\n"
        "    time.sleep(0.05)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    code, _, _ = run(tmp_path, "program.py", profiled=["-o", "x.html"])
    assert code == 0
    rows = {row[1]: row for row in read_page((tmp_path / "x.html").read_text(), "x").head["rows"]}
    for name in ("time.sleep", "posix.wait"):
        assert rows[name][4] >= 40_000_000 and rows[name][8] < 0.2 * rows[name][4], name
