"""python -m opyard.profiler diff and recover: files are read, compared or refused.

Suspect profiler/python/opyard/_profile/compare.py, then profiler/src/files/.
"""

import json
import re
import textwrap

import pytest
from commands import KILLED, run

from opyard._profile.compare import read_times, times_of
from opyard._profile.exports import page_of
from opyard._profile.repeats import is_beyond_noise
from opyard.profiler import profile

pytestmark = pytest.mark.once


def test_two_traces_are_compared(tmp_path):
    (tmp_path / "program.py").write_text("import time\ntime.sleep(0.01)")
    (tmp_path / "slower.py").write_text("import time\ntime.sleep(0.05)\ntime.sleep(0.01)")
    run(tmp_path, "program.py", profiled=["-o", "before.json.gz"])
    run(tmp_path, "slower.py", profiled=["-o", "after.json"])
    code, out, err = run(tmp_path, "diff", "after.json", "before.json.gz", "-o", "diff.svg")
    assert (code, err) == (0, "")
    row = next(line.split() for line in out.splitlines() if "time.sleep" in line)
    assert row[0] == "time.sleep"
    assert row[3].startswith("+")
    assert row[4:] == ["2", "1"]
    assert "time.sleep" in (tmp_path / "diff.svg").read_text()


def test_pages_are_compared_with_each_other_and_with_traces(tmp_path):
    (tmp_path / "program.py").write_text("def leaf(): pass\nfor n in range(1000): leaf()\n")
    run(tmp_path, "program.py", profiled=["-o", "x.html"])
    (tmp_path / "program.py").write_text(
        "import time\ndef leaf(): pass\nfor n in range(1500): leaf()\ntime.sleep(0.05)\n"
    )
    for name in ("y.html.gz", "y.json"):
        run(tmp_path, "program.py", profiled=["-o", name])
    for after in ("y.html.gz", "y.json"):
        code, out, err = run(tmp_path, "diff", after, "x.html")
        assert (code, err) == (0, "")
        lines = [line.strip() for line in out.splitlines()]
        (sleep,) = [line.split() for line in lines if line.startswith("time.sleep ")]
        assert sleep[-2:] == ["1", "0"]
        counts = [line.split()[-2:] for line in lines if ": leaf " in line]
        assert sorted(counts) == [["0", "1000"], ["1500", "0"]]
        # Traces have no CPU time, and the longest wait is their largest change.
        has_cpu = after != "y.json"
        assert lines[1].split()[:3] == ["Name", "CPU" if has_cpu else "Self", "before"]
        assert (lines[3].split()[0] == "time.sleep") == (not has_cpu)
    code, _, err = run(tmp_path, "diff", "x.html", "x.html", "-o", "x.png")
    assert code == 1 and "must end in .svg" in err
    page = (tmp_path / "x.html").read_text()
    (tmp_path / "cut.html").write_text(page[: page.index('id="data"') + 99])
    (tmp_path / "other.html").write_text("<!doctype html>\n<p>a page</p>")
    (tmp_path / "bad.html").write_text(re.sub(r"(deflate-raw,.{40}).{40}", r"\1", page))
    for name, says in (("cut", "none that a profile"), ("other", "none that"), ("bad", "damaged")):
        code, _, err = run(tmp_path, "diff", f"{name}.html", "x.html")
        assert code == 1 and says in err and "Traceback" not in err


def test_calls_that_share_a_bar_of_a_page_are_compared_by_its_table(tmp_path):
    def leaf():
        pass

    with profile(c_calls=False) as prof:
        for _ in range(200):
            leaf()
    (tmp_path / "x.html").write_bytes(page_of(prof._profile, {}, 10))
    times, whole = read_times(str(tmp_path / "x.html")), times_of(prof._profile)
    assert times.calls == whole.calls
    assert times.by_name() == pytest.approx(whole.by_name())


def test_traces_of_others_and_stacks_are_compared(tmp_path):
    slices = [{"ph": "X", "name": "run", "ts": "0", "dur": 9}, {"ph": "X", "name": "in", "ts": 1}]
    (tmp_path / "list.json").write_text(json.dumps(slices))
    (tmp_path / "object.json").write_text(json.dumps({"traceEvents": slices[:1]}, indent=2))
    (tmp_path / "perf.folded").write_text("[unknown];\u00e9 2000\n\n", "utf-8")
    (tmp_path / "more.folded").write_text("[unknown];\u00e9 5000\n[unknown] 1\n", "utf-8")
    code, out, err = run(tmp_path, "diff", "list.json", "object.json")
    assert (code, err) == (0, "")
    rows = {line.split()[0]: line.split()[-2:] for line in out.splitlines()[3:-1]}
    assert rows == {"run": ["1", "1"], "in": ["1", "0"]}
    code, out, err = run(tmp_path, "diff", "more.folded", "perf.folded")
    assert (code, err) == (0, "")
    assert out.splitlines()[3].split()[:4] == ["\u00e9", "5.000us", "2.000us", "+3.000us"]


def test_what_is_no_capture_is_refused_and_a_damaged_one_is_read(tmp_path):
    for name in ("nowhere", "."):
        code, out, err = run(tmp_path, "recover", name, "-o", "x.json")
        assert (code, out) == (1, "")
        assert "python -m opyard.profiler recover: " in err
        assert "Traceback" not in err
    (tmp_path / "program.py").write_text(
        textwrap.dedent(KILLED.format(ending="os._exit(1)", forks=0))
    )
    run(tmp_path, "program.py", profiled=["-o", "x.json"])
    capture = tmp_path / "x.json.capture"
    (tmp_path / "spoil.py").write_text(textwrap.dedent(SPOIL))
    code, out, err = run(tmp_path, "spoil.py", str(capture), profiled=False)
    assert (code, err) == (0, "")
    read, refused = map(int, out.split())
    assert read > 300
    assert read + refused == 400


SPOIL = """
    import pathlib, random, sys
    import opyard.profiler
    from opyard import _tracer
    folder = pathlib.Path(sys.argv[1])
    read = refused = 0
    chance = random.Random(17)
    for path in (*folder.glob("*.journal"), *folder.glob("*.blocks")):
        contents = path.read_bytes()
        for n in range(200):
            spoiled = bytearray(contents)
            begin = chance.randrange(min(len(spoiled), 1 << 18))
            if n % 4 == 0:
                del spoiled[begin:]
            else:
                spoiled[begin : begin + 1 + n] = chance.randbytes(1 + n)
            path.write_bytes(spoiled)
            try:
                profile = _tracer.recover(folder)
            except ValueError as error:
                assert "no process has written a capture" in str(error)
                refused += 1
                continue
            profile.chrome(lambda piece: None, {}, "", 1)
            profile.report(lambda piece: None, {}, "", 1, bytes, 1000)
            read += 1
        path.write_bytes(contents)
    print(read, refused)
"""


def test_the_difference_says_which_changes_are_beyond_the_noise_of_repeated_runs(tmp_path):
    program = "def leaf(n): return sum(range(n))\nfor n in range(50): leaf({})\nprint(1)\n"
    (tmp_path / "program.py").write_text(program.format(1000))
    for name, more in (("before.html", []), ("after.html", ["--repeat", "3"])):
        code, out, err = run(tmp_path, "program.py", profiled=[*more, "-o", name])
        assert (code, out, err) == (0, "1\n" * (3 if more else 1), "")
        (tmp_path / "program.py").write_text(program.format(100_000))
    code, out, err = run(tmp_path, "diff", "after.html", "before.html")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[1][:5] == ["Name", "CPU", "before", "change", "noise"]
    said = {line[0]: line[4] for line in lines if len(line) > 4}
    assert said["builtins.sum"] == "beyond"
    code, out, err = run(tmp_path, "diff", "after.html", "after.html")
    assert "within" in out and "beyond" not in out
    assert (tmp_path / "after.html").read_text().startswith("<!doctype html>")


def test_a_change_is_beyond_the_noise_if_no_run_is_among_those_of_the_other():
    assert is_beyond_noise([5, 6, 7], [1, 2, 3])
    assert is_beyond_noise([1, 2, 3], [5, 6, 7])
    assert not is_beyond_noise([3, 6, 7], [1, 2, 3])
    # One run is as uncertain as those of the other are.
    assert is_beyond_noise([5], [1, 2, 3]) is False
    assert is_beyond_noise([6], [1, 2, 3])
    assert is_beyond_noise([1, 2, 3], [6])


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (
            ["--repeat", "0", "-o", "x.html"],
            2,
            "--repeat takes a number of runs, at least 1; not 0",
        ),
        (["--repeat", "2"], 2, "--repeat keeps what each run took in a page"),
        (["--repeat", "2", "-o", "x.json"], 2, "--repeat keeps what each run took in a page"),
        (["--repeat", "2", "-o", "x.html"], 7, "run 1 of 2 ended with 7"),
    ],
)
def test_repeated_runs_that_cannot_be_are_refused(tmp_path, options, code, says):
    (tmp_path / "program.py").write_text("raise SystemExit(7)")
    ended, _, err = run(tmp_path, "program.py", profiled=options)
    assert ended == code and says in err
    assert not (tmp_path / "x.html").exists()


def test_traces_are_compared_an_event_at_a_time(tmp_path):
    (tmp_path / "program.py").write_text("def leaf(): pass\nfor n in range(30_000): leaf()\n")
    run(tmp_path, "program.py", profiled=["-o", "long.json"])
    (tmp_path / "compare.py").write_text(
        textwrap.dedent("""
        import json, os, sys, tracemalloc
        from opyard._profile.compare import read_times
        tracemalloc.start()
        times = read_times("long.json")
        peak = tracemalloc.get_traced_memory()[1]
        assert [times.calls[key] for key in times.calls if key.endswith("): leaf")] == [30_000]
        document = json.load(open("long.json"))
        json.dump(document, open("other.json", "w"), indent=1)  # as others write it
        def stacks(node):
            return node.name, node.own, [stacks(inner) for inner in node.inner.values()]
        assert stacks(read_times("other.json").root) == stacks(times.root)
        with open("cut.json", "w") as cut:
            cut.write(open("long.json").read()[:-200].rpartition("\\n")[0] + "\\n")
        try:
            read_times("cut.json")
        except ValueError as error:
            print(error)
        print(peak < os.path.getsize("long.json"))
        """)
    )
    code, out, err = run(tmp_path, "compare.py", profiled=False)
    assert (code, err) == (0, "")
    assert out == "cut.json has no end: what wrote it did not finish\nTrue\n"
