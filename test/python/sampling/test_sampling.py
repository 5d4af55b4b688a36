"""opyard.profiler.sample: whose time it is, by function and by line, and in which format.

Suspect profiler/python/sampler/sampled_stacks.cpp if stacks are wrong, sampled_codes.cpp if names
or lines are, sampler.cpp if times are, profiler/src/profile/samples.cpp if sums are.
"""

import ctypes
import gzip
import json
import sys
import threading
import time

import pytest

from opyard import profiler

MARK = "here"


def spin(seconds):
    """Takes so much CPU time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def much():
    spin(0.012)


def little():
    spin(0.004)


def scan(seen, wanted):
    found = 0
    for one in wanted:
        if one not in seen:  # the line that takes the time
            found += 1
    return found


def recurse(depth):
    if depth > 0:
        return recurse(depth - 1)
    return spin(0.2)


def rows_of(prof):
    return {row.key.rpartition(": ")[2]: row for row in prof.key_averages()}


def test_X40_I53_shares_of_cpu_time_are_those_of_the_threads_clock():
    taken = {much: 0.0, little: 0.0}
    with profiler.sample() as prof:
        for _ in range(40):
            for function in taken:
                began = time.thread_time()
                function()
                taken[function] += time.thread_time() - began
    rows = rows_of(prof)
    whole = sum(taken.values())
    sampled = {one: rows[one.__name__].thread_time_total / 1e6 for one in taken}
    assert sum(sampled.values()) == pytest.approx(whole, rel=0.1)
    for function, time_of in taken.items():
        share = sampled[function] / sum(sampled.values())
        assert share == pytest.approx(time_of / whole, abs=0.06), function


def test_X40_a_thread_that_waits_takes_no_cpu_time():
    def waits():
        time.sleep(0.3)

    thread = threading.Thread(target=waits, name="one that waits")
    with profiler.sample() as prof:
        thread.start()
        spin(0.1)
        thread.join()
    row = rows_of(prof)["waits"]
    assert row.cpu_time_total > 0.2e6
    assert row.thread_time_total < 0.05e6
    assert row.self_waiting_time_total > 0.2e6
    assert rows_of(prof)["spin"].thread_time_total > 0.05e6


def test_X40_a_thread_has_its_name_if_it_is_alive_at_the_end():
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name="one that waits")
    thread.start()
    with profiler.sample() as prof:
        spin(0.05)
    done.set()
    thread.join()
    names = [name for _, name, *_ in prof._profile.tracks()]
    assert "one that waits" in names and "MainThread" in names


def test_X41_the_line_that_takes_the_time_is_found():
    seen, wanted = list(range(3000)), [-1] * 10
    with profiler.sample() as prof:
        for _ in range(1200):
            scan(seen, wanted)
    first = prof.line_averages()[0]
    assert first.function == "scan"
    assert first.source.startswith("if one not in seen:")
    total = sum(row.self_thread_time_total for row in prof.line_averages())
    assert first.self_thread_time_total > 0.7 * total
    table = prof.line_averages().table(row_limit=3)
    assert "if one not in seen:" in table and table.count("\n") == 7


def test_I53_the_stack_is_that_of_the_frames(tmp_path):
    with profiler.sample() as prof:
        frame, names = sys._getframe(), []
        while frame is not None:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        spin(0.1)
    prof.export_stacks(tmp_path / "stacks.folded")
    lines = (tmp_path / "stacks.folded").read_text().splitlines()
    ours = max((line for line in lines if "spin" in line), key=lambda one: int(one.split()[-1]))
    shown = [name.rpartition(":_")[2] for name in ours.rpartition(" ")[0].split(";")]
    assert shown == [*names[::-1], "spin"]


def test_I53_generators_and_deep_recursion_have_their_frames():
    def generate():
        spin(0.1)
        yield 1

    with profiler.sample() as prof:
        list(generate())
        recurse(300)
    rows = rows_of(prof)
    assert rows["generate"].cpu_time_total > 0.05e6
    # A row's total leaves out what ran inside the same row.
    assert 0.1e6 < rows["recurse"].cpu_time_total < prof._profile.times()[1] / 1000


def test_I53_rows_add_up_to_the_time_of_the_threads():
    with profiler.sample() as prof:
        much()
        spin(0.1)
        time.sleep(0.05)
    averages = prof.key_averages()
    assert averages.total_average_self() <= prof._profile.times()[1] / 1000 * 1.01 * len(
        prof._profile.tracks()
    )
    for row in averages:
        assert 0 <= row.self_thread_time_total <= row.self_cpu_time_total <= row.cpu_time_total


def test_X40_samples_are_taken_while_a_thread_holds_the_gil():
    usleep = ctypes.PyDLL(None).usleep  # which keeps it
    with profiler.sample() as prof:
        usleep(300_000)
    assert prof.why_with_gil == ""
    assert prof.data_quality()["rounds in which the GIL was held"] > 20


@pytest.mark.parametrize("slices", [1, 4, 128])
def test_I53_time_is_split_into_slices(slices):
    with profiler.sample(slices=slices) as prof:
        for _ in range(6):
            much()
            time.sleep(0.06)
    spans = prof._profile.tracks()[0][2]
    starts = {prof._profile.span(0, n)[2] for n in range(spans) if prof._profile.span(0, n)[4] < 0}
    assert len(starts) == 1 if slices == 1 else 2 <= len(starts) <= 2 * slices
    assert rows_of(prof)["much"].thread_time_total > 0.04e6


ENDINGS = {
    "html": lambda data: b'"samplePeriod"' in data or b"deflate-raw," in data,
    "json": lambda data: any("spin" in event["name"] for event in json.loads(data)["traceEvents"]),
    "speedscope.json": lambda data: json.loads(data)["profiles"][0]["events"],
    "pb.gz": lambda data: b"samples" in gzip.decompress(data),
    "pftrace": lambda data: b"spin" in data,
    "folded": lambda data: b"spin" in data,
    "pstats": lambda data: b"spin" in data,
}


@pytest.fixture(scope="module")
def sampled():
    with profiler.sample() as prof:
        spin(0.1)
    return prof


@pytest.mark.parametrize("ending", ENDINGS)
def test_X40_exports_are_those_of_a_profile(sampled, ending, tmp_path):
    path = tmp_path / f"profile.{ending}"
    sampled.export(path)
    assert ENDINGS[ending](path.read_bytes())


def test_X40_tables_are_those_of_a_profile_without_columns_of_calls(sampled):
    table = sampled.key_averages().table(sort_by="cpu")
    heading = table.splitlines()[1]
    assert "# of Samples" in heading and "CPU" in heading and "Waits" in heading
    assert not any(word in heading for word in ("# of Calls", "Total avg", "Corrected"))
    assert "Sampled every" in table and "CPU time of the sampler" in table
    assert "<th" in sampled.key_averages().html_table()
    assert "iframe" in sampled._repr_html_()


def test_X39_the_profile_knows_what_it_cost(sampled):
    quality = sampled.data_quality()
    assert quality["sample period asked for ns"] == 1_000_000
    assert quality["sample period ns"] >= 1_000_000
    assert quality["events"] > 0 and quality["CPU time of the sampler ns"] > 0


def test_I53_two_sampled_profiles_are_compared(sampled):
    with profiler.sample() as other:
        spin(0.05)
    assert "spin" in str(other.diff(sampled))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"hz": 0}, ValueError, "hz is from 1 to 10000 samples a second, not 0"),
        ({"hz": 10_001}, ValueError, "hz is from 1 to 10000 samples a second, not 10001"),
        ({"hz": "fast"}, TypeError, "hz is a number of samples a second, not an object of str"),
        ({"slices": 0}, ValueError, "slices is an int from 1 to 1024, not 0"),
        ({"slice": 3}, TypeError, "'slices' may be meant"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, error, message):
    with pytest.raises(error) as raised:
        profiler.sample(**arguments)
    assert message in str(raised.value)
