"""Schedules of profiles, what each cycle hands over, and averages of events.

Suspect opyard/_profile/schedule.py, averages.py, and profiler/src/ for the numbers.
"""

import time
import warnings

import pytest
from profiled_work import leaf, named, work

from opyard._profile.averages import format_memory, format_time
from opyard._profile.compare import times_of
from opyard.profiler import ProfilerAction, profile, record_function, schedule


def test_I43_a_schedule_says_what_each_step_does():
    actions = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=1)
    none, warmup, record, save = ProfilerAction
    assert [actions(n) for n in range(8)] == [none, none, warmup, record, save, none, none, none]
    again = schedule(wait=2, warmup=1, active=1, skip_first_wait=1)
    assert [again(n) for n in range(5)] == [warmup, save, none, none, warmup]


@pytest.mark.parametrize(
    "wrong", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}]
)
def test_I43_a_schedule_that_makes_no_sense_is_refused(wrong):
    arguments = {"wait": 1, "warmup": 1, "active": 1, **wrong}
    with pytest.raises(ValueError, match="Invalid profiler schedule arguments"):
        schedule(**arguments)


def test_I43_no_warmup_is_warned_of():
    with pytest.warns(UserWarning, match="won't be using warmup"):
        schedule(wait=0, warmup=0, active=1)


def test_I44_each_cycle_is_handed_over_at_its_end():
    seen = []

    def ready(prof):
        steps = [e.name for e in prof.events() if e.kind == "Step"]
        seen.append((prof.step_num, steps, len(named(prof, "): leaf"))))

    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=ready) as prof:
        for n in range(10):
            work(n)
            prof.step()
    assert seen == [
        (4, ["ProfilerStep#2", "ProfilerStep#3"], 5),
        (8, ["ProfilerStep#6", "ProfilerStep#7"], 13),
    ]
    rows = {row.key: row.count for row in prof.key_averages()}
    assert rows["ProfilerStep*"] == 2


def test_I43_a_schedule_may_give_the_actions_of_pytorch_by_their_names():
    from enum import Enum

    theirs = Enum("ProfilerAction", ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"], start=0)
    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    seen = []
    with profile(
        schedule=lambda n: theirs[plan(n).name], on_trace_ready=lambda p: seen.append(p.step_num)
    ) as prof:
        for n in range(6):
            work(n)
            prof.step()
    assert seen == [4]
    assert len(named(prof, "): leaf")) == 2 + 3
    with pytest.raises(TypeError, match="gives a ProfilerAction for each step, not 2 for step 0"):
        profile(schedule=lambda n: 2).start()


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ((ProfilerAction.WARMUP, ProfilerAction.NONE), "WARMUP followed by NONE"),
        ((ProfilerAction.RECORD, ProfilerAction.NONE), "RECORD followed by NONE"),
        ((ProfilerAction.RECORD, ProfilerAction.WARMUP), "RECORD followed by WARMUP"),
    ],
)
def test_I44_a_schedule_that_is_wrong_is_warned_of(actions, message):
    with profile(schedule=lambda n: actions[min(n, 1)]) as prof:
        with pytest.warns(UserWarning, match=f"Incorrect schedule: {message}"):
            prof.step()


NONE, WARMUP, RECORD, SAVE = ProfilerAction

# The actions of the steps from 0, and the steps of each trace that is handed over.
HANDED_OVER = [
    ([NONE], []),
    ([WARMUP], []),
    ([RECORD], [[0]]),
    ([SAVE], [[0]]),
    ([NONE, NONE], []),
    ([NONE, WARMUP], []),
    ([NONE, RECORD], [[1]]),
    ([NONE, SAVE], [[1]]),
    ([WARMUP, NONE], []),
    ([WARMUP, WARMUP], []),
    ([WARMUP, RECORD], [[1]]),
    ([WARMUP, SAVE], [[1]]),
    ([RECORD, NONE], []),
    ([RECORD, WARMUP], []),
    ([RECORD, RECORD], [[0, 1]]),
    ([RECORD, SAVE], [[0, 1]]),
    ([SAVE, NONE], [[0]]),
    ([SAVE, WARMUP], [[0]]),
    ([SAVE, RECORD], [[0], [1]]),
    ([SAVE, SAVE], [[0], [1]]),
    ([SAVE, WARMUP, RECORD, SAVE, NONE], [[0], [2, 3]]),
]
WRONG = [[WARMUP, NONE], [RECORD, NONE], [RECORD, WARMUP]]


@pytest.mark.parametrize(
    ("actions", "handed_over"),
    HANDED_OVER,
    ids=["-".join(action.name for action in actions) for actions, _ in HANDED_OVER],
)
def test_I44_each_transition_and_each_end_hand_over_what_was_recorded(actions, handed_over):
    seen = []

    def steps_of(prof):
        return [
            int(e.name.removeprefix("ProfilerStep#")) for e in prof.events() if e.kind == "Step"
        ]

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with profile(
            schedule=actions.__getitem__, on_trace_ready=lambda p: seen.append(steps_of(p))
        ) as prof:
            for _ in actions[1:]:
                prof.step()
    assert seen == handed_over
    assert [str(each.message) for each in warned] == [
        f"Incorrect schedule: {one.name} followed by {other.name}"
        for one, other in WRONG
        if actions == [one, other]
    ]
    if RECORD in actions or SAVE in actions:
        assert steps_of(prof) == (handed_over[-1] if handed_over else [0])
    else:
        with pytest.raises(RuntimeError, match="captured nothing yet"):
            prof.events()


def test_I45_averages_add_up_and_recursion_is_not_counted_twice():
    def down(n):
        time.sleep(0.001)
        return n and down(n - 1)

    with profile() as prof:
        down(4)
    rows = {row.key.rsplit(": ")[-1]: row for row in prof.key_averages()}
    down_row = rows["down"]
    assert down_row.count == 5
    total = sum(e.duration_time_ns for e in prof.events() if e.parent is None) / 1000
    assert down_row.cpu_time_total <= total
    own = sum(row.self_cpu_time_total for row in prof.key_averages())
    assert own == pytest.approx(total)
    assert rows["time.sleep"].count == 5


def test_I45_the_table_is_as_torchs():
    with profile() as prof:
        work()
    averages = prof.key_averages()
    table = averages.table("count", 3, header="the header", fold=False, torch_names=True)
    lines = table.splitlines()
    assert lines[0] == "the header"
    for column in ("Name", "Self CPU %", "CPU total", "CPU time avg", "# of Calls", "Total FLOPs"):
        assert column in lines[2]
    assert len(lines) == 1 + 3 + 3 + 1 + 2
    assert lines[-1].startswith("Self CPU time total: ")
    assert "--" in lines[4]
    with pytest.raises(ValueError, match="cannot sort by 'speed'; it sorts by .*, cpu_time, "):
        prof.key_averages().table(sort_by="speed")


def column(table, name):
    """Its cells, without the spaces before them."""
    lines = table.splitlines()
    ends, at = {}, 0
    for rule in lines[0].split("  "):
        ends[lines[1][at : at + len(rule)].strip()] = (at, at + len(rule))
        at += len(rule) + 2
    begin, end = ends[name]
    return [line[begin:end].strip() for line in lines[3 : lines.index(lines[0], 3)]]


def test_I45_columns_of_the_table_are_cut_at_their_widths():
    def a_name_that_is_longer_than_the_column_of_names_may_be():
        leaf(1)

    with profile() as prof:
        a_name_that_is_longer_than_the_column_of_names_may_be()
    rows = prof.key_averages(group_by_stack_n=2)
    whole = rows.table(max_name_column_width=-1, max_src_column_width=-1, fold=False)
    assert column(whole, "Name") == [row.key for row in rows]
    assert column(whole, "Source Location") == ["; ".join(row.stack) for row in rows]
    (of_leaf,) = [row for row in rows if row.key.endswith("): leaf")]
    assert of_leaf.stack[0].endswith(": a_name_that_is_longer_than_the_column_of_names_may_be")
    narrow = rows.table(max_name_column_width=20, max_src_column_width=30, fold=False)
    for name, width in (("Name", 20), ("Source Location", 30)):
        cut = [
            cell if len(cell) <= width else cell[: width - 3] + "..."
            for cell in column(whole, name)
        ]
        assert column(narrow, name) == cut
        assert any(cell.endswith("...") for cell in cut)
    assert max(map(len, column(rows.table(fold=False), "Name"))) == 55
    assert "Source Location" not in prof.key_averages().table()


def test_I45_the_table_may_have_the_outermost_events_alone():
    with profile(with_stack=False) as prof:
        for _ in range(2):
            with record_function("outer"), record_function("inner"):
                pass
    rows = prof.key_averages()
    assert column(rows.table(), "Name") == ["outer", "inner"]
    assert column(rows.table(top_level_events_only=True), "Name") == ["outer"]
    assert column(rows.table(), "# of Calls") == ["2", "2"]
    assert column(rows.table(torch_names=True), "Total FLOPs") == ["--", "--"]


def test_I45_times_and_sizes_have_units():
    times = {
        0: "0.000us",
        605: "605.000us",
        1000: "1.000ms",
        1_234_567.8: "1.235s",
        2e9: "2000.000s",
    }
    assert {us: format_time(us) for us in times} == times
    sizes = {
        192: "192 b",
        1024: "1.00 Kb",
        3 << 19: "1.50 Mb",
        5 << 28: "1.25 Gb",
        -2048: "-2.00 Kb",
    }
    assert {count: format_memory(count) for count in sizes} == sizes


def test_averages_can_be_told_apart_by_their_callers():
    def one():
        leaf(1)

    def two():
        leaf(2)

    with profile() as prof:
        one()
        two()
    rows = [row for row in prof.key_averages(group_by_stack_n=1) if row.key.endswith(": leaf")]
    assert sorted(row.stack[0].rsplit(": ")[-1] for row in rows) == ["one", "two"]


def test_diff_shows_the_largest_change_of_CPU_time_first():
    def burn(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    with profile(c_calls=False) as slow:
        burn(0.04)
        time.sleep(0.001)
    with profile(c_calls=False) as fast:
        burn(0.001)
        time.sleep(0.2)
    lines = slow.diff(fast).splitlines()
    assert lines[1].split()[:7] == ["Name", "CPU", "before", "change", "Self", "before", "change"]
    first = lines[3].split()
    assert first[1] == "burn"
    assert first[4].startswith("+")


def test_diff_shows_a_wait_among_the_times_of_the_clock():
    with profile() as slow:
        time.sleep(0.05)
    with profile() as fast:
        time.sleep(0.001)
    (sleep,) = [line.split() for line in slow.diff(fast).splitlines() if "time.sleep" in line]
    assert sleep[6].startswith("+") and sleep[6].endswith("ms")


def test_diff_counts_calls_and_own_times_as_the_events_do():
    with profile() as more:
        work(5)
    with profile() as fewer:
        work(2)
    (row,) = [line for line in more.diff(fewer).splitlines() if "): leaf " in line]
    assert row.split()[-2:] == ["5", "2"]
    by_name = times_of(more._profile).by_name()
    (leaf_name,) = [name for name in by_name if name.endswith("): leaf")]
    own = sum(event.self_time_ns for event in named(more, "): leaf"))
    assert by_name[leaf_name] == pytest.approx(own / 1000)


def test_own_times_of_rows_add_up_to_what_the_outermost_calls_took():
    with profile() as prof:
        work(5)
    rows = prof.key_averages()
    outermost = [event for event in prof.events() if event.parent is None]
    own = sum(row.self_cpu_time_total for row in rows)
    assert own == pytest.approx(sum(event.duration_time_ns for event in outermost) / 1000)
    (row,) = [row for row in rows if row.key.endswith("): work")]
    assert row.self_cpu_time_total < row.cpu_time_total
