"""opyard.profiler: profiles in the formats of other tools, and in notebooks.

Suspect profiler/src/exports/, the file of the format.
"""

import gzip
import html
import json
import marshal
import pstats
import sys
import threading
from collections import Counter

import pytest
from profiled_work import named

import opyard
from opyard._profile.exports import frame_of
from opyard.profiler import profile, record_function

HOSTILE = [
    'a"b\\c',
    "semi;colon and space",
    "tab\tand\nnewline",
    "\udcff",
    "\x00\x1b",
    "</script>é😀",
]
HOSTILE_SHOWN = [name.encode("utf-8", "replace").decode() for name in HOSTILE] + ["\\udcff"]


def leaf(n):
    return len([n])


def work():
    for n in range(3):
        leaf(n)
    x = opyard.tensor([1.0])
    with record_function("a range"):
        opyard.ops.aten.add(x, x)


@pytest.fixture(scope="module")
def captured():
    with profile(profile_memory=True) as prof:
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        for name in HOSTILE:
            with record_function(name):
                leaf(0)
    return prof


def counts(prof):
    return Counter(event.name for event in prof.events())


# Perfetto. The wire format is read by the few lines below, which know nothing of the writer's.


def fields_of(data):
    """[(number, value)] of a message: int for numbers, bytes for the rest."""
    fields, at = [], 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            fields.append((tag >> 3, varint()))
        else:
            assert tag & 7 == 2
            length = varint()
            assert at + length <= len(data)
            fields.append((tag >> 3, data[at : at + length]))
            at += length
    return fields


def one(fields, number, default=None):
    return next((value for n, value in fields if n == number), default)


class PerfettoReader:
    """Slices of a profile as Perfetto's trace processor would have them."""

    def __init__(self, data):
        self.slices, self.tracks, self.instants, self.notes = [], {}, [], []
        self.names, self.clocks, self.defaults, self.open = {}, {}, {}, {}
        for number, packet in fields_of(data):
            assert number == 1
            self.read(fields_of(packet))

    def read(self, packet):
        sequence = one(packet, 10)
        if one(packet, 13, 0) & 1:
            self.names[sequence] = {}
        if (track := one(packet, 60)) is not None:
            track = fields_of(track)
            self.tracks[one(track, 1)] = track
        if (clocks := one(packet, 6)) is not None:
            own, boot = (fields_of(clock) for n, clock in fields_of(clocks) if n == 1)
            assert one(own, 1) == 64
            assert one(own, 3) == 1
            assert one(boot, 1) == 6
            self.clocks[sequence] = one(own, 2)
        if (defaults := one(packet, 59)) is not None:
            defaults = fields_of(defaults)
            assert one(defaults, 58) == 64
            self.defaults[sequence] = one(fields_of(one(defaults, 11)), 11)
        for number, entry in fields_of(one(packet, 12, b"")):
            entry = fields_of(entry)
            self.names[sequence][number, one(entry, 1)] = one(entry, 2).decode()
        if (event := one(packet, 11)) is not None:
            assert one(packet, 13) == 2
            self.clocks[sequence] += one(packet, 8)
            self.event(sequence, fields_of(event))

    def event(self, sequence, event):
        now, track = self.clocks[sequence], self.defaults[sequence]
        assert track in self.tracks
        open_ones = self.open.setdefault(track, [])
        kind = one(event, 9)
        if kind == 1:
            name = self.names[sequence][2, one(event, 10)]
            assert (1, one(event, 3)) in self.names[sequence]
            open_ones.append((name, now))
            for number, note in event:
                if number == 4:
                    note = fields_of(note)
                    text = one(note, 6) or self.names[sequence][29, one(note, 17)].encode()
                    self.notes.append((name, one(note, 10).decode(), text.decode()))
        elif kind == 2:
            self.slices.append((*open_ones.pop(), now, track))
        else:
            assert kind == 3
            self.instants.append(one(event, 23).decode())


def test_a_pprof_file_has_each_stack_with_its_calls_and_its_own_time(captured, tmp_path):
    captured.add_metadata("what", "a test")
    captured.export(tmp_path / "x.pb.gz")
    data = gzip.decompress((tmp_path / "x.pb.gz").read_bytes())
    fields = fields_of(data)
    strings = [value.decode() for number, value in fields if number == 6]
    assert strings[0] == "" and len({*strings}) == len(strings)
    types = [fields_of(value) for number, value in fields if number == 1]
    assert [(strings[one(t, 1)], strings[one(t, 2)]) for t in types] == [
        ("calls", "count"),
        ("time", "nanoseconds"),
    ]
    assert strings[one(fields, 14)] == "time"
    functions = {}
    for number, value in fields:
        if number == 5:
            function = fields_of(value)
            functions[one(function, 1)] = function
    places = {}
    for number, value in fields:
        if number == 4:
            place = fields_of(value)
            line = fields_of(one(place, 4))
            assert one(line, 2, 0) == one(functions[one(line, 1)], 5, 0)
            places[one(place, 1)] = one(line, 1)

    def numbers(packed):
        found, number, shift = [], 0, 0
        for byte in packed:
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                found.append(number)
                number = shift = 0
        return found

    calls, times = Counter(), Counter()
    for number, value in fields:
        if number == 2:
            sample = fields_of(value)
            stack, (count, time) = numbers(one(sample, 1)), numbers(one(sample, 2))
            name = strings[one(functions[places[stack[0]]], 2)]
            calls[name] += count
            times[name] += time
            if name == "leaf":
                assert strings[one(functions[places[stack[1]]], 2)] in ("work", *HOSTILE_SHOWN)
    rows = {row.key.rpartition("): ")[2]: row for row in captured.key_averages()}
    assert calls["leaf"] == rows["leaf"].count > 6
    assert times["leaf"] == pytest.approx(rows["leaf"].self_cpu_time_total * 1000)
    (leaf_function,) = [f for f in functions.values() if strings[one(f, 2)] == "leaf"]
    assert strings[one(leaf_function, 4)] == __file__
    assert one(leaf_function, 5) == leaf.__code__.co_firstlineno
    comments = [strings[value] for number, value in fields if number == 13]
    (quality,) = [text for text in comments if text.startswith("dataQuality: ")]
    assert json.loads(quality.partition(": ")[2])["lost"] == 0
    assert 'what: "a test"' in comments


def test_a_pprof_file_of_a_deep_recursion_is_small(tmp_path):
    def down(n):
        return n and down(n - 1)

    with profile() as prof:
        down(900)
    prof.export(tmp_path / "x.pprof")
    assert b"[deeper calls]" in (tmp_path / "x.pprof").read_bytes()
    assert (tmp_path / "x.pprof").stat().st_size < 600_000


def test_X21_a_perfetto_trace_has_each_slice_once_and_nests(captured, tmp_path):
    captured.export(tmp_path / "trace.pftrace")
    reader = PerfettoReader((tmp_path / "trace.pftrace").read_bytes())
    assert not any(reader.open.values())
    assert Counter(name for name, *_ in reader.slices) == counts(captured)
    times = sorted((start, end) for _, start, end, _ in reader.slices)
    ours = sorted((e.start_time_ns, e.end_time_ns) for e in captured.events())
    assert times == ours
    assert "data quality" in reader.instants
    assert "[Memory]" in reader.instants
    threads = [fields_of(one(track, 4)) for track in reader.tracks.values() if one(track, 4)]
    assert "MainThread" in {one(thread, 5).decode() for thread in threads}


def test_X21_a_perfetto_trace_says_what_the_names_do_not(tmp_path):
    x = opyard.tensor([[1.0, 2.0]])
    with profile(caller_lines=True, record_shapes=True) as prof:
        for _ in range(2):
            opyard.ops.aten.add(x, x)
        leaf(1)
    prof.export(tmp_path / "trace.pftrace")
    notes = PerfettoReader((tmp_path / "trace.pftrace").read_bytes()).notes
    adds = [(what, text) for name, what, text in notes if name == "aten::add.Tensor"]
    assert [text for what, text in adds if what == "Input Dims"] == ["[[1, 2], [1, 2], []]"] * 2
    more = [json.loads(text) for what, text in adds if what == "more"]
    assert [one["dispatch_key"] for one in more] == ["CPU"] * 2
    (call,) = [event for event in prof.events() if event.name.endswith("): leaf")]
    assert (call.name, "caller line", str(call.caller_line)) in notes
    assert any(what == "cut" and text == "began before the profile" for _, what, text in notes)


def test_I36_a_perfetto_trace_has_the_arguments_of_ranges(tmp_path):
    with profile(with_stack=False) as prof:
        for text in ("one", "two", "one"):
            with record_function("batch", text):
                pass
    prof.export(tmp_path / "trace.pftrace")
    notes = PerfettoReader((tmp_path / "trace.pftrace").read_bytes()).notes
    assert notes == [("batch", "args", text) for text in ("one", "two", "one")]


def test_X21_a_slice_takes_few_bytes_in_perfetto(tmp_path):
    with profile() as prof:
        for n in range(5000):
            leaf(n)
    prof.export(tmp_path / "trace.pftrace")
    size = (tmp_path / "trace.pftrace").stat().st_size
    assert size < 40 * len(prof.events())


# Others.


def test_X21_a_speedscope_profile_opens_and_closes_each_frame(captured, tmp_path):
    captured.export(tmp_path / "trace.speedscope.json")
    document = json.loads((tmp_path / "trace.speedscope.json").read_text(encoding="utf-8"))
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert document["dataQuality"]["lost"] == 0
    frames = document["shared"]["frames"]
    opened = 0
    for track in document["profiles"]:
        assert (track["type"], track["unit"]) == ("evented", "nanoseconds")
        stack, last = [], track["startValue"]
        for event in track["events"]:
            assert last <= event["at"] <= track["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
                opened += 1
                assert 0 <= event["frame"] < len(frames)
            else:
                assert stack.pop() == event["frame"]
        assert not stack
    assert opened == len(captured.events())
    (place,) = {(f["file"], f["line"]) for f in frames if f["name"] == "leaf"}
    assert place[1] == leaf.__code__.co_firstlineno


def test_I48_collapsed_stacks_add_up_and_have_no_separator_in_a_name(captured, tmp_path):
    captured.export_stacks(tmp_path / "trace.txt")
    total = 0
    frames = set()
    for line in (tmp_path / "trace.txt").read_text(encoding="utf-8").splitlines():
        stack, own = line.split(" ")
        assert int(own) > 0
        total += int(own)
        frames |= set(stack.split(";"))
    rows = sum(row.self_cpu_time_total for row in captured.key_averages())
    assert total == pytest.approx(rows * 1000)
    assert "semi_colon_and_space" in frames
    assert "aten::add.Tensor" in frames


def test_I48_what_stacks_cannot_be_made_of_is_refused(tmp_path):
    with profile(with_stack=False) as prof:
        work()
    with pytest.raises(RuntimeError, match=r"export_stacks\(\) requires with_stack=True"):
        prof.export_stacks(tmp_path / "x")
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "x", "self_cuda_time_total")


@pytest.mark.parametrize("ending", ["json", "pftrace", "speedscope.json", "pstats"])
def test_X16_each_export_says_how_far_it_can_be_trusted(captured, tmp_path, ending):
    path = tmp_path / f"trace.{ending}"
    captured.export(path)
    if ending == "pstats":
        with open(path, "rb") as file:
            marshal.load(file)
            assert json.loads(marshal.load(file)["dataQuality"]) == captured.data_quality()
    else:
        assert b"dropped exits" in path.read_bytes()


def test_X21_pstats_loads_the_calls_of_each_caller(captured, tmp_path):
    path = tmp_path / "trace.pstats"
    captured.export(path)
    stats = pstats.Stats(str(path)).stats
    ((place, row),) = [(p, r) for p, r in stats.items() if p[2] == "leaf"]
    primitive, calls, own, total, callers = row
    assert place[:2] == (__file__, leaf.__code__.co_firstlineno)
    assert primitive == calls == 6 + len(HOSTILE)
    assert 0 <= own <= total
    (of_work,) = [numbers for caller, numbers in callers.items() if caller[2] == "work"]
    assert of_work[0] == 6
    rows = sum(row.self_cpu_time_total for row in captured.key_averages())
    assert sum(row[2] for row in stats.values()) * 1e6 == pytest.approx(rows)
    pstats.Stats(str(path)).strip_dirs().sort_stats("cumulative").print_callers()


def recursive(n):
    return recursive(n - 1) if n else leaf(n)


def test_X21_pstats_counts_recursion_once_in_totals(tmp_path):
    with profile() as prof:
        recursive(4)
    prof.export(tmp_path / "x.prof")
    ((primitive, calls, _, total, _),) = [
        row
        for place, row in pstats.Stats(str(tmp_path / "x.prof")).stats.items()
        if place[2] == "recursive"
    ]
    assert (primitive, calls) == (1, 5)
    (outer, *_) = [e for e in prof.events() if e.name.endswith("): recursive")]
    assert total * 1e9 == pytest.approx(outer.duration_time_ns)


@pytest.mark.parametrize("name", ["x.json", "x.pftrace", "x.speedscope.json", "x.folded"])
def test_X21_X17_every_format_is_valid_utf8_and_can_be_compressed(captured, tmp_path, name):
    captured.export(tmp_path / name)
    plain = (tmp_path / name).read_bytes()
    captured.export(tmp_path / f"{name}.gz")
    assert gzip.decompress((tmp_path / f"{name}.gz").read_bytes()) == plain
    if name != "x.pftrace":
        plain.decode("utf-8")


def test_a_format_that_does_not_exist_is_refused(captured, tmp_path):
    with pytest.raises(ValueError, match="names no format: give one of chrome, perfetto"):
        captured.export(tmp_path / "trace.what")
    with pytest.raises(ValueError, match="'otlp' is no format of a profile"):
        captured.export(tmp_path / "trace.json", "otlp")
    assert not list(tmp_path.iterdir())


def test_a_difference_takes_stacks_of_any_depth(tmp_path):
    """Deeper than Python may call itself."""

    def down(n):
        return n and down(n - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(6000)
    try:
        with profile(c_calls=False) as prof:
            down(4000)
    finally:
        sys.setrecursionlimit(limit)
    difference = prof.diff(prof)
    difference.flame_graph(tmp_path / "diff.svg")
    assert (tmp_path / "diff.svg").read_text("utf-8").count("): down: ") > 3000
    (row,) = [line for line in difference.splitlines() if "): down " in line]
    assert row.split()[-2:] == ["4001", "4001"]


def test_a_difference_has_a_flame_graph(tmp_path):
    work()  # what is loaded at first use is wider than all the rest
    with profile() as before:
        work()
    with profile() as after:
        work()
        with record_function("<b>&new"):
            for _ in range(300):
                leaf(1)
    difference = after.diff(before)
    assert "<b>&new" in difference
    difference.flame_graph(tmp_path / "diff.svg")
    from xml.etree import ElementTree

    titles = [e.text for e in ElementTree.parse(tmp_path / "diff.svg").iter() if "title" in e.tag]
    assert any(title.startswith("<b>&new: ") for title in titles)
    assert any("before 0.000us" in title for title in titles)


# notebooks --------------------------------------------------------------------------------


def page_in(shown):
    """The page that is inside of the frame that a cell shows."""
    frame = shown[shown.index('srcdoc="') + len('srcdoc="') :]
    return html.unescape(frame[: frame.index('"')])


def test_a_notebook_shows_a_page_and_a_table():
    with profile() as prof:
        with record_function("<b>"):
            leaf(1)
    shown = prof._repr_html_()
    page, (_, table) = page_in(shown), shown.split("</iframe>")
    assert page.startswith("<!doctype html>") and 'id="data"' in page
    assert table.startswith("<table>") and ">&lt;b&gt;</td>" in table
    assert "<pre>" not in shown and "src=" not in shown.replace("srcdoc=", "")
    assert ">&lt;b&gt;</td>" in prof.key_averages()._repr_html_()
    assert "captured nothing" in profile()._repr_html_()


def test_the_page_of_a_notebook_is_bounded():
    def call(n):
        return n

    with profile(c_calls=False) as prof:
        for n in range(150_000):
            call(n)
    assert len(prof.events()) > 150_000
    frame = frame_of(prof._profile, {})
    assert 50_000 < len(frame) <= 1 << 20  # times that differ little pack well
    assert "DecompressionStream" in page_in(frame)


class Shell:
    """What IPython's shell offers extensions."""

    def __init__(self):
        self.cells = []

    def register_magic_function(self, function, kind, name):
        assert (kind, name) == ("cell", "profile")
        self.magic = function

    def run_cell(self, cell):
        self.cells.append(cell)
        exec(cell, {"leaf": leaf})

    def push(self, names):
        self.names = names


@pytest.fixture
def shell():
    made = Shell()
    opyard.profiler.load_ipython_extension(made)
    return made


def test_a_magic_profiles_a_cell_and_shows_it(shell):
    shown = shell.magic("", "leaf(2)\nleaf(3)\n")
    prof = shell.names["_profile"]
    assert len(named(prof, "): leaf")) == 2
    assert repr(shown) == prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=20)
    assert "</iframe><table>" in shown._repr_html_()


def test_a_magic_writes_what_the_name_says(shell, tmp_path):
    for name, begin in (("a.html", "<!doctype html>"), ("b c.json", '{"schemaVersion"')):
        shell.magic(f" '{tmp_path}/{name}' ", "leaf(2)")
        assert (tmp_path / name).read_text("utf-8").startswith(begin)
    for line in ("x.what", "x.html y.html"):
        with pytest.raises(Exception, match=r"%%profile.*(an ending of .*\.html|one file)"):
            shell.magic(line, "leaf(2)")
    assert len(shell.cells) == 2  # a cell is not run if its profile could not be written


# endings ----------------------------------------------------------------------------------


def test_a_writer_refuses_an_ending_that_says_another_format(tmp_path):
    with profile(profile_memory=True) as prof:
        leaf(1)
    for write in (
        lambda: prof.export_chrome_trace(tmp_path / "x.html"),
        lambda: prof.export(tmp_path / "x.html.gz", "chrome"),
        lambda: prof.export(tmp_path / "x.pftrace", "pstats"),
        lambda: prof.export_stacks(tmp_path / "x.speedscope.json"),
    ):
        with pytest.raises(ValueError, match="ends as files of the format .* give it an ending of"):
            write()
    with pytest.raises(ValueError, match=r"must end in \.json or \.json\.gz"):
        prof.export_memory_timeline(tmp_path / "x.html")
    with pytest.raises(ValueError, match=r"must end in \.svg"):
        prof.diff(prof).flame_graph(tmp_path / "x.html")
    with pytest.raises(ValueError, match="names no format: give one of chrome, .*, or an ending"):
        prof.export(tmp_path / "x.what")
    assert not [*tmp_path.iterdir()]
    prof.export(tmp_path / "x.json", "speedscope")
    prof.export(tmp_path / "x", "chrome")
    assert len([*tmp_path.iterdir()]) == 2
