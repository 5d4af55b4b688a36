"""Time and counts by line of chosen functions.

Suspect tracer/lines/lines.cpp, and tracer/set_profile.cpp or tracer/monitoring.cpp, if counts are
wrong; tracer/filter.cpp if other functions are timed; tracer/lines/hottest.cpp if none is found.
"""

import sys
import threading
import time

import pytest
from commands import run
from profiled_work import leaf

from opyard.profiler import profile

pytestmark = pytest.mark.threads


def loop(count):
    seen = []
    for n in range(count):
        if n % 7 not in seen:
            seen.append(n % 7)
    return seen


def recurse(depth):
    if depth == 0:
        return time.sleep(0.02)
    return recurse(depth - 1)


def generate():
    got = yield 1
    leaf(got)
    yield 2


def raises():
    try:
        loop(1)
        raise KeyError
    except KeyError:
        return 3


def sorts():
    return sorted([2, 1], key=negative)


def negative(n):
    return -n


def counts_of(prof, function):
    """How often each line began, by its distance from the head of the function."""
    code = function.__code__
    (found,) = [
        one
        for one in prof.line_times()
        if (one.file, one.first_line) == (code.co_filename, code.co_firstlineno)
    ]
    return {line.line - code.co_firstlineno: line.count for line in found.lines if line.count}


def counts_by_trace(function, *arguments):
    """The same as a trace function of Python's is told of it."""
    counts = {}
    code = function.__code__

    def tell(frame, event, argument):
        if frame.f_code is code and event == "line":
            line = frame.f_lineno - code.co_firstlineno
            counts[line] = counts.get(line, 0) + 1
        return tell

    sys.settrace(tell)
    try:
        function(*arguments)
    finally:
        sys.settrace(None)
    return counts


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(loop, (20,)), (recurse, (3,)), (raises, ()), (sorts, ())],
)
def test_lines_are_counted_as_a_trace_function_is_told_of_them(function, arguments):
    expected = counts_by_trace(function, *arguments)
    with profile(lines=function.__code__.co_name) as prof:
        function(*arguments)
    assert counts_of(prof, function) == expected


def test_a_generator_counts_the_lines_that_it_goes_on_with():
    with profile(lines="generate") as prof:
        each = generate()
        next(each)
        time.sleep(0.05)  # which is no line's
        each.send(5)
        each.close()
    (found,) = prof.line_times()
    assert counts_of(prof, generate) == {1: 1, 2: 1, 3: 1}
    assert found.time < 40_000


def test_a_line_has_the_time_of_what_it_calls_but_for_calls_of_its_own_function():
    with profile(lines="recurse") as prof:
        recurse(5)
    (found,) = prof.line_times()
    times = {line.line - found.first_line: line.time for line in found.lines}
    assert times[2] >= 20_000 > times[3]
    assert 20_000 <= found.time == sum(times.values())
    (row,) = [row for row in prof.key_averages() if row.key.endswith("): recurse")]
    assert found.time <= row.cpu_time_total


def test_only_what_a_pattern_fits_is_timed():
    def names(lines):
        with profile(lines=lines) as prof:
            loop(2)
            raises()
            leaf(1)
        return {function.name.rpartition(".")[2] for function in prof.line_times()}

    assert names("loop") == {"loop"}
    assert names(["loop", "rais*"]) == {"loop", "raises"}
    assert names("test_profiler_lines.loop") == {"loop"}
    assert names("profiled_work.*") == {"leaf"}
    assert names("test_profiler_lines.py") >= {"loop", "raises"}
    assert "leaf" not in names("test_profiler_lines.py")
    assert names(__file__) >= {"loop", "raises"}
    assert names("another_module.loop") == set()
    assert names(()) == set()


def test_a_call_that_is_open_when_the_profile_begins_is_timed_from_there_on():
    with profile(lines="test_a_call_that_is_open*") as prof:
        time.sleep(0.02)
        for _ in range(3):
            leaf(1)
    (found,) = prof.line_times()
    by_text = {line.source.strip(): line for line in found.lines}
    assert by_text["time.sleep(0.02)"].time >= 20_000
    assert by_text["leaf(1)"].count == 3


def test_each_thread_has_its_own_lines():
    begun, go_on = threading.Event(), threading.Event()

    def waits():
        begun.set()
        go_on.wait()
        loop(10)

    threads = [threading.Thread(target=waits) for _ in range(3)]
    threads[0].start()
    begun.wait()
    with profile(lines=["loop", "*waits"]) as prof:
        for thread in threads[1:]:
            thread.start()
        go_on.set()
        for thread in threads:
            thread.join()
    # The head of the `for` once more for its end.
    assert counts_of(prof, loop)[2] == 3 * 11
    assert counts_of(prof, waits)[3] == 3


def test_a_profile_without_lines_has_none_and_the_next_one_begins_anew():
    with profile(lines="loop") as prof:
        loop(3)
    with profile() as without:
        loop(3)
    with profile(lines="loop") as again:
        loop(3)
    assert counts_of(prof, loop) == counts_of(again, loop)
    assert without.line_times() == []


def test_a_trace_function_is_told_of_all_that_it_would_be_without_lines():
    told = []

    def tell(frame, event, argument):
        if frame.f_code in (loop.__code__, leaf.__code__):
            told.append((event, frame.f_lineno))
        return tell

    def both():
        sys.settrace(tell)
        loop(3)
        leaf(1)
        sys.settrace(None)

    both()
    expected, told = told, []
    with profile(lines=["loop", "both"]) as prof:
        both()
    assert told == expected
    assert counts_of(prof, loop) == {1: 1, 2: 4, 3: 3, 4: 3, 5: 1}
    assert sys.gettrace() is None


def test_what_is_left_out_has_no_lines():
    with profile(lines="loop", exclude="test_profiler_lines") as prof:
        loop(3)
    assert prof.line_times() == []


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(50))


def test_functions_that_take_most_are_found_while_they_run():
    with profile(lines=True) as prof:
        leaf(1)
        spin(0.5)
    found = {function.name: function for function in prof.line_times()}
    assert "spin" in found and "leaf" not in found
    assert len(found) <= 10
    lines = {line.source.strip(): line for line in found["spin"].lines}
    assert lines["sum(range(50))"].count > 100
    assert 50_000 < found["spin"].time < 500_000  # from when it was found


def test_a_table_shows_the_source_beside_the_times():
    with profile(lines="loop") as prof:
        loop(20)
    head, names, *rows = prof.line_times().table().splitlines()
    assert head == f"loop, {__file__}:{loop.__code__.co_firstlineno}"
    assert names.split() == ["Line", "Count", "Time", "Each", "%", "Source"]
    assert [row[50:] for row in rows[:2]] == ["def loop(count):", "    seen = []"]
    assert rows[0].split("def")[0].split() == [str(loop.__code__.co_firstlineno)]
    assert rows[3].split()[1] == "20"


def test_the_page_has_the_lines(tmp_path):
    from opyard._profile.pages import read_page

    with profile(lines="loop") as prof:
        loop(20)
    prof.export(tmp_path / "page.html")
    page = read_page((tmp_path / "page.html").read_text(), "page.html")
    ((name, place, lines),) = page.head["lines"]
    assert (name, place) == ("loop", f"{__file__}:{loop.__code__.co_firstlineno}")
    assert [line[3] for line in lines][:2] == ["def loop(count):", "    seen = []"]
    assert lines[3][1] == 20 and lines[3][2] > 0


PROGRAM = """\
import time

def slow(items):
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return len(seen)

if __name__ == "__main__":
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        slow(range(200))
"""


def test_the_command_prints_lines_below_its_table(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    for option in ("--lines=slow", "--lines"):
        code, out, err = run(tmp_path, "program.py", profiled=[option])
        assert (code, out) == (0, "")
        (line,) = [line for line in err.splitlines() if line.endswith("if item not in seen:")]
        assert int(line.split()[1].replace(",", "")) >= 200
    assert run(tmp_path, "-m", "program", profiled=["--lines"])[0] == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--lines=nothing"], "--lines=nothing fits no function that was called"),
        (["--lines", "--lines=slow"], "--lines finds the functions that take most"),
    ],
)
def test_lines_of_nothing_are_told_in_a_sentence(tmp_path, options, says):
    (tmp_path / "program.py").write_text("def slow(): pass\nslow()\n")
    _, _, err = run(tmp_path, "program.py", profiled=options)
    assert says in err


def test_patterns_of_lines_are_texts():
    with pytest.raises(TypeError, match="lines takes"):
        profile(lines=[3])
