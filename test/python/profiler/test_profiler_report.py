"""A profile as one HTML page. Suspect profiler/src/exports/report*.cpp and profiler/report/."""

import asyncio
import json
import re
import struct
import sys
import threading
import time
import zlib
from collections import Counter

import pytest
from chromium import Chromium, find_chromium
from profiled_work import depth_of
from report_pictures import contents_of

import opyard
from opyard._profile.averages import Averages
from opyard._profile.events import Events
from opyard.profiler import profile, record_function

pytestmark = pytest.mark.once

HOSTILE = [
    "</script><script>document.title='taken'</script>",
    "<img src=x onerror=alert(1)>",
    "a&quot;\\\"'\n",
]


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


async def one_task():
    await asyncio.sleep(0.002)
    fib(5)


async def some_tasks():
    await asyncio.gather(*(one_task() for _ in range(3)))


def work():
    x = opyard.tensor([1.0, 2.0])
    with record_function("a range"):
        opyard.ops.aten.add(x, x)
        fib(9)


@pytest.fixture(scope="module")
def captured():
    with profile(profile_memory=True) as prof:
        work()
        thread = threading.Thread(target=work, name="a worker")
        thread.start()
        thread.join()
        asyncio.run(some_tasks())
        for name in HOSTILE:
            with record_function(name):
                fib(2)
    prof.add_metadata("machine", "<b>mine</b>")
    return prof


@pytest.fixture(scope="module")
def page(captured, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "profile.html"
    captured.export(str(path))
    return path


def varints(data):
    number = shift = 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


def sparse(column):
    numbers, found, bar = varints(column), {}, -1
    for step in numbers:
        bar += step
        found[bar] = next(numbers)
    return found


def unpack(text):
    contents = contents_of(text)
    assert contents[:4] == b"OPR1"
    length = struct.unpack_from("<I", contents, 4)[0]
    head = json.loads(contents[8 : 8 + length])
    at = 8 + length
    for track in [*head["tracks"], *head.get("folded", {"tracks": []})["tracks"]]:
        columns = []
        for size in track["columns"]:
            columns.append(contents[at : at + size])
            at += size
        open_bars, time, track["rows"] = [], 0, []
        for n, (start, duration, levels, name) in enumerate(
            zip(*map(varints, columns[:4]), strict=True)
        ):
            time += start
            del open_bars[len(open_bars) - levels :]
            label = head["names"][name - 1][0] if name else None
            track["rows"].append((time, time + duration, len(open_bars), label))
            open_bars.append(n)
        assert len(track["rows"]) == track["bars"]
        track["cuts"], track["merged"] = sparse(columns[4]), sparse(columns[5])
    assert at == len(contents)
    return head


def rows_of(prof, most_bars=10**6):
    pieces = []
    prof._profile.report(
        pieces.append, {}, "program", 7, lambda data: zlib.compress(data, 6)[2:-4], most_bars
    )
    return unpack(b"".join(pieces).decode())


def nested(rows):
    """Each bar is within the one around it, and none overlaps its neighbour."""
    open_bars = []
    for start, end, depth, _ in rows:
        assert depth <= len(open_bars) and start <= end
        del open_bars[depth:]
        if open_bars:
            assert open_bars[-1][0] <= start and end <= open_bars[-1][1]
        open_bars.append((start, end))
    ends = {}
    for start, end, depth, _ in rows:
        assert ends.get(depth, 0) <= start
        ends[depth] = end


def test_a_report_holds_every_span(captured, page):
    head = unpack(page.read_text("utf-8"))
    found = Counter(row for track in head["tracks"] for row in track["rows"])
    wanted = Counter(
        (event.start_time_ns, event.end_time_ns, depth_of(event), event.name)
        for event in captured.events()
    )
    assert found == wanted
    assert head["merged"] == 0 and head["metadata"]["machine"] == "<b>mine</b>"
    for track in head["tracks"]:
        nested(track["rows"])
    assert {"a worker"} <= {track["name"] for track in head["tracks"]}
    assert len([track for track in head["tracks"] if track["derived"]]) >= 3
    assert head["memory"][0]["device"] == "cpu" and max(head["memory"][0]["bytes"]) >= 8


def test_a_page_has_the_folded_profile_beside_the_whole_one(captured, page):
    head = unpack(page.read_text("utf-8"))
    found = Counter(row for track in head["folded"]["tracks"] for row in track["rows"])
    wanted = Counter(
        (event.start_time_ns, event.end_time_ns, depth_of(event), event.name)
        for event in Events(captured._profile.folded())
    )
    assert found == wanted
    assert 0 < sum(found.values()) < len(captured.events())
    for track in head["folded"]["tracks"]:
        nested(track["rows"])
    origins = {name[4]: name[5] for name in head["names"] if len(name) > 2}
    assert origins["fib"] == 0
    assert 1 in {*origins.values()}  # asyncio's
    with profile(with_stack=False) as prof, record_function("alone"):
        pass
    assert "folded" not in rows_of(prof)  # nothing is left out


def test_tables_count_what_events_count(captured, page):
    head = unpack(page.read_text("utf-8"))
    calls = {row.key: row.count for row in captured.key_averages()}
    assert {row[1]: row[2] for row in head["rows"]} == calls
    folded = {row.key: row.count for row in Averages(captured._profile.folded())}
    assert {row[1]: row[2] for row in head["folded"]["rows"]} == folded
    assert len(folded) < len(calls)
    keys = {row[0]: row[1:] for row in head["keys"]}
    assert keys["CPU"][0] >= 2


@pytest.mark.parametrize("most_bars", [1, 2, 10, 100, 400])
def test_too_many_spans_are_merged_and_none_is_lost(captured, most_bars):
    whole, head = rows_of(captured), rows_of(captured, most_bars)
    count = sum(track["bars"] for track in whole["tracks"])
    bars = sum(track["bars"] for track in head["tracks"])
    named = sum(1 for track in head["tracks"] for row in track["rows"] if row[3] is not None)
    # Tracks are not merged with each other, and what makes room for one bar may make it for three.
    assert most_bars - 2 <= bars <= max(most_bars, len(head["tracks"]))
    assert named + head["merged"] == count
    assert sum(sum(track["merged"].values()) for track in head["tracks"]) == head["merged"]
    for track, all_of_it in zip(head["tracks"], whole["tracks"], strict=True):
        nested(track["rows"])
        for n, (start, end, depth, label) in enumerate(track["rows"]):
            inside = [
                row
                for row in all_of_it["rows"]
                if row[2] >= depth and start <= row[0] and row[1] <= end
            ]
            assert (n in track["merged"]) == (label is None)
            assert len(inside) >= track["merged"].get(n, 1) != 0
            if label is None:
                assert all(row[1] - row[0] <= head["longestMerged"] for row in inside)
                assert track["merged"][n] > 1  # one alone keeps its name
        longest = [row for row in all_of_it["rows"] if row[1] - row[0] > head["longestMerged"]]
        assert not Counter(row[3] for row in longest) - Counter(row[3] for row in track["rows"])
    assert head["rows"] == whole["rows"]


def test_one_span_more_than_there_may_be_bars_merges_two(captured):
    count = sum(track["bars"] for track in rows_of(captured)["tracks"])
    head = rows_of(captured, count - 1)
    # Spans of one length are merged together, and there may be some: how many is up to the clock.
    gone = count - sum(track["bars"] for track in head["tracks"])
    assert gone in range(1, 25)
    assert head["merged"] in range(2, 2 * gone + 2)


def test_short_calls_that_are_far_apart_are_no_long_bar():
    with profile(c_calls=False) as prof:
        for _ in range(3):
            for _ in range(50):
                fib(0)
            time.sleep(0.02)
    count = sum(track["bars"] for track in rows_of(prof)["tracks"])
    head = rows_of(prof, count - 110)
    (track,) = [track for track in head["tracks"] if track["merged"]]
    merged = [track["rows"][n] for n in track["merged"]]
    assert len(merged) >= 3
    assert all(end - start < 15_000_000 for start, end, *_ in merged)


def test_one_file_that_needs_nothing_else(page):
    text = page.read_text("utf-8")
    head, _, rest = text.partition('<script id="data"')
    shell = head + rest[rest.index("</script>") :]
    assert len(shell.encode()) <= 150_000
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(", shell)
    for name in HOSTILE:
        assert name not in text


def test_bad_input(captured, tmp_path):
    with pytest.raises(ValueError, match="at least one bar, not 0"):
        captured._profile.report(bytes, {}, "", 0, bytes, 0)
    with pytest.raises(ZeroDivisionError):
        captured._profile.report(lambda piece: 1 // 0, {}, "", 0, bytes, 10)
    with pytest.raises(ZeroDivisionError):
        captured._profile.report(lambda piece: None, {}, "", 0, lambda data: 1 // 0, 10)
    with pytest.raises(TypeError):
        captured._profile.report(lambda piece: None, {}, "", 0, lambda data: "text", 10)
    captured.export(str(tmp_path / "still.html"))


# In a browser.


@pytest.fixture(scope="module")
def browser(page):
    if find_chromium() is None:
        pytest.skip("no Chromium is installed; tools/setup --browser installs it")
    with Chromium() as browser:
        yield browser


@pytest.fixture
def shown(browser, page):
    browser.prefer("light")
    browser.open(page)
    browser.run("report.then(parts => { Object.assign(window, parts); timeline.draw(); })")
    yield browser
    assert browser.errors == []


HEADING_WITH = """(marks => {
  const { track } = timeline.lanes[0];
  const before = track.marks;
  track.marks = marks;
  timeline.draw();
  track.marks = before;
  const scale = window.devicePixelRatio || 1;
  const context = timeline.canvas.getContext("2d");
  const width = context.measureText("▾ " + track.title).width;
  const top = timeline.lanes[0].top - timeline.scroll;
  const [left, y, right, bottom] = [6, top + 1, width, 16].map((one) => one * scale);
  return [...context.getImageData(left, y, right, bottom).data].join();
})"""
MANY_MARKS = "Array.from({length: 5000}, (_, n) => [profile.duration * n / 5000, 'mark'])"


def test_marks_of_a_thread_leave_its_name_readable(shown):
    assert shown.run(f"{HEADING_WITH}([])") == shown.run(f"{HEADING_WITH}({MANY_MARKS})")


def test_marks_that_are_left_out_are_said(shown):
    notice = "document.getElementById('notice').textContent"
    assert "marks" not in shown.run(notice)
    shown.run("profile.marksLeftOut = 12345; describe(profile)")
    assert "12,345 marks are left out" in shown.run(notice)
    assert not shown.run("document.getElementById('notice').hidden")
    shown.run("profile.marksLeftOut = 0; describe(profile)")


FIRST_BAR = """[
  timeline.xOf((profile.tracks[0].start[0] + profile.tracks[0].end[0]) / 2),
  timeline.canvas.getBoundingClientRect().top + timeline.lanes[0].top - timeline.scroll + 26
]"""


def test_a_page_shows_the_program(shown):
    assert shown.run("document.title").startswith("Profile of ")
    assert shown.run("profile.tracks.some(track => track.title.startsWith('a worker'))")
    tabs = shown.run("[...document.querySelectorAll('#tabs button')].map(one => one.textContent)")
    for name in (
        "Selected",
        "Functions",
        "Flame graph",
        "Operators",
        "Dispatch keys",
        "Tasks",
        "Memory",
        "Quality",
    ):
        assert name in tabs
        shown.run(f"document.querySelector('[data-tab=\"{name}\"]').click()")
        assert shown.run("document.getElementById('content').children.length") > 0, name
    shown.run("document.querySelector('[data-tab=\"Quality\"]').click()")
    assert "<b>mine</b>" in shown.run("document.getElementById('content').textContent")
    assert shown.run("document.querySelectorAll('img, b').length") == 0


def test_a_click_selects_and_keys_move(shown):
    shown.click(*shown.run(FIRST_BAR))
    assert shown.run("view.bar.bar") == 0
    label = shown.run("profile.labelOf(profile.tracks[0], 0)")
    assert shown.run("document.querySelector('#content h2').textContent") == label
    shown.press("ArrowDown")
    assert shown.run("profile.tracks[0].parent[view.bar.bar]") == 0
    shown.press("ArrowUp")
    assert shown.run("view.bar.bar") == 0
    shown.press("Escape")
    assert shown.run("view.bar") is None


def test_zoom_and_move(shown):
    whole = shown.run("view.end - view.begin")
    shown.press("w")
    assert shown.run("view.end - view.begin") == pytest.approx(whole * 0.7)
    before = shown.run("view.begin")
    shown.press("d")
    assert shown.run("view.begin") > before
    x, y = shown.run(FIRST_BAR)
    begin = shown.run("view.begin")
    shown.drag((x, y), (x - 200, y))
    assert shown.run("view.begin") > begin
    shown.send(
        "Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-200, modifiers=2
    )
    assert shown.run("view.end - view.begin") < whole * 0.7
    shown.press("0")
    assert shown.run("[view.begin, view.end]") == [0, shown.run("profile.end")]


def test_a_stretch_of_time_is_summed(shown):
    top = shown.run("timeline.canvas.getBoundingClientRect().top")
    shown.drag((100, top + 8), (900, top + 8))
    from_, to = shown.run("view.range")
    assert 0 < from_ < to
    assert shown.run("document.querySelectorAll('#content tbody tr').length") > 3
    # All own times within the range are the time in which its threads ran anything.
    own = shown.run("sumOfRange(profile, view.range).reduce((sum, row) => sum + row[4], 0)")
    outer = 0
    for track in shown.run(
        "profile.tracks.map(t => [t.isDerived, [...t.rows[0]].map(n => [t.start[n], t.end[n]])])"
    ):
        if not track[0]:
            outer += sum(max(0, min(end, to) - max(start, from_)) for start, end in track[1])
    assert own == pytest.approx(outer)


def test_calls_inside_of_libraries_are_hidden_until_they_are_asked_for(shown):
    names = "profile.rows.map(row => row[1])"
    pressed = "document.getElementById('fold').getAttribute('aria-pressed')"
    bars = "profile.tracks.reduce((sum, track) => sum + track.count, 0)"
    folded, few = shown.run(names), shown.run(bars)
    assert shown.run(pressed) == "true"
    assert any(": fib" in name for name in folded)
    if sys.version_info >= (3, 11):  # before, callbacks of a loop may be outermost
        assert not any("events.py" in name for name in folded)
    shown.run("document.querySelector('[data-tab=\"Functions\"]').click()")
    shown.run("document.getElementById('fold').click()")
    assert shown.run(pressed) == "false"
    whole = shown.run(names)
    assert any("events.py" in name for name in whole) and {*folded} < {*whole}
    assert shown.run(bars) > few
    rows = shown.run("document.querySelectorAll('#content tbody tr').length")
    assert rows == min(len(whole), 300)
    assert shown.run("timeline.lanes.every((lane, n) => lane.track === profile.tracks[n])")
    # Of another colour than the program's own.
    foreign = shown.run("profile.names.map(name => profile.isForeign(name))")
    colours = shown.run("timeline.paint.colours")
    strength = [float(colour.split(" ")[1].rstrip("%")) for colour in colours]
    assert max(s for s, is_foreign in zip(strength, foreign, strict=True) if is_foreign) < min(
        s for s, is_foreign in zip(strength, foreign, strict=True) if not is_foreign
    )
    shown.press("l")
    assert {*shown.run(names)} == {*folded} and shown.run(bars) == few


def test_a_search_leaves_the_rows_that_it_finds(shown):
    shown.run("document.querySelector('[data-tab=\"Functions\"]').click()")
    table = (
        "[...document.querySelectorAll('#content tbody tr')].map(row => row.cells[0].textContent)"
    )
    count = len(shown.run(table))
    shown.press("/")
    shown.type("FIB")
    assert [name.rpartition(": ")[2] for name in shown.run(table)] == ["fib"]
    shown.run("document.querySelector('#content tbody tr').click()")
    shown.run("document.querySelector('[data-tab=\"Functions\"]').click()")
    assert len(shown.run(table)) == count  # a row that is looked for is not the only one
    shown.run("view.search('')")
    shown.press("Escape")


def test_search(shown):
    shown.press("/")
    shown.type("fib")
    is_fib = "n => n && profile.names[n - 1][0].includes('fib')"
    counts = shown.run(f"profile.tracks.map(t => [...t.number].filter({is_fib}).length)")
    assert shown.run("view.foundCount()") == sum(counts) > 100
    shown.press("Enter")
    assert "fib" in shown.run("profile.labelOf(view.bar.track, view.bar.bar)")
    first = shown.run("view.bar.bar")
    shown.press("Enter")
    assert shown.run("view.bar.bar") > first
    shown.press("Escape")
    assert shown.run("view.matches") is None


def test_a_table_sorts_and_leads_to_its_bars(shown):
    shown.run("document.querySelector('[data-tab=\"Functions\"]').click()")
    shown.run(
        "[...document.querySelectorAll('th')].find(one => one.textContent === 'Calls').click()"
    )
    most = shown.run("Math.max(...profile.rows.map(row => row[2])).toLocaleString('en')")
    assert shown.run("document.querySelector('tbody tr').cells[1].textContent") == most
    name = shown.run("document.querySelector('tbody tr').cells[0].textContent")
    cells = shown.run("[...document.querySelector('tbody tr').cells].map(one => one.textContent)")
    headings = shown.run("[...document.querySelectorAll('th')].map(one => one.textContent)")
    cost = shown.run(
        f"timeText(2 * {int(most.replace(',', ''))} * profile.quality['event cost ns'])"
    )
    assert cells[headings.index("Profiler's part")] == cost
    shown.run("document.querySelector('tbody tr').click()")
    assert shown.run("profile.labelOf(view.bar.track, view.bar.bar)") == name


def test_a_track_folds(shown):
    top = shown.run("timeline.canvas.getBoundingClientRect().top + timeline.lanes[0].top + 9")
    height = shown.run("timeline.lanes[0].bottom - timeline.lanes[0].top")
    shown.click(40, top)
    assert shown.run("timeline.lanes[0].bottom - timeline.lanes[0].top") < height
    shown.click(40, top)
    assert shown.run("timeline.lanes[0].bottom - timeline.lanes[0].top") == height


def test_labels_of_the_ruler_differ_however_far_it_is_zoomed(shown):
    times = "[0, 1, 2, 3].map(n => stepText(7.895e9 + n * 1e5, 1e5))"
    assert shown.run(times) == ["7.8950 s", "7.8951 s", "7.8952 s", "7.8953 s"]
    assert shown.run("[200, 250].map(time => stepText(time * 1e6, 5e7))") == ["200 ms", "250 ms"]
    shown.run("view.show(profile.end / 2, profile.end / 2 + 900)")
    shown.run("timeline.draw()")
    each = "timeline.eachStep((x, time) => all.push(stepText(time, timeline.step)))"
    labels = shown.run(f"(all => ({each}, all))([])")
    assert len(labels) > 3 and len({*labels}) == len(labels)
    shown.press("0")


def test_terms_of_the_quality_report_are_explained(shown):
    shown.run("document.querySelector('[data-tab=\"Quality\"]').click()")
    terms = shown.run("Object.keys(profile.quality)")
    explained = shown.run("Object.keys(kQualityTerms)")
    assert {*terms} <= {*explained}
    text = shown.run("document.getElementById('content').textContent")
    assert "calls whose end was not captured" in text


def test_both_colour_schemes(shown):
    def back():
        return shown.run("getComputedStyle(document.body).backgroundColor")

    light = back()
    shown.prefer("dark")
    dark = back()
    assert light != dark
    shown.run("document.getElementById('theme').click()")
    assert back() == light
    shown.run("timeline.draw()")
    pixel = "timeline.canvas.getContext('2d').getImageData(timeline.canvas.width - 3, 28, 1, 1)"
    assert shown.run(f"[...{pixel}.data]") == [255, 255, 255, 255]


def test_damaged_data_is_said(browser, page, tmp_path):
    text = page.read_text("utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(
        re.sub(r"(deflate-raw,.{50}).*?(</script>)", r"\1\2", text, count=1, flags=re.DOTALL),
        "utf-8",
    )
    browser.open(broken)
    browser.run("report.catch(() => null)")
    assert "cannot be shown" in browser.run("document.getElementById('notice').textContent")
    browser.errors.clear()
