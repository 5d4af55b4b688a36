"""python -m opyard.profiler: a program behaves as without it, and its trace is written."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest


def run(folder, *arguments, profiled=True, send=None):
    """Runs Python with the program's arguments, with or without the profiler in front."""
    command = [sys.executable]
    if profiled is not False:
        command += ["-m", "opyard.profiler", *(profiled if isinstance(profiled, list) else [])]
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if send is not None:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(send)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


PROGRAMS = {
    "arguments": "import sys; print(sys.argv, __name__, __file__, __doc__)",
    "path": "import sys, neighbour; print(sys.path[0] == neighbour.folder)",
    "main": "import sys; print(sys.modules['__main__'].__dict__ is globals(), __builtins__.len)",
    "exit code": "import sys; sys.exit(7)",
    "exit text": "raise SystemExit('that was it')",
    "exception": """
        def inner():
            raise ValueError("wrong")
        try:
            inner()
        except ValueError as error:
            raise KeyError("outer") from error
    """,
    "syntax": "def f(:\n    pass",
    "threads": """
        import threading, time
        def late():
            time.sleep(0.05)
            print("late")
        threading.Thread(target=late).start()
    """,
    "exit handlers": "import atexit; atexit.register(print, 'at the end'); print(1)",
    "excepthook": """
        import sys
        sys.excepthook = lambda kind, error, traceback: print("hook", error, traceback.tb_lineno)
        raise ValueError("own")
    """,
    "pickle": """
        import pickle
        class Mine: pass
        print(type(pickle.loads(pickle.dumps(Mine()))) is Mine)
    """,
    "folder": "import os; os.chdir('/'); print(os.getcwd())",
    "os._exit": "import os; print('x', flush=True); os._exit(3)",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "neighbour.py").write_text("import os; folder = os.path.dirname(__file__)\n")
    return tmp_path


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_does_what_it_does_without_a_profile(folder, name):
    (folder / "program.py").write_text(textwrap.dedent(PROGRAMS[name]))
    arguments = ["program.py", "-o", "--include", "a b"]
    bare = run(folder, *arguments, profiled=False)
    assert run(folder, *arguments, profiled=["-o", "trace.json"]) == bare
    if name not in ("os._exit", "syntax"):
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        names = {event["name"] for event in events if event["ph"] == "X"}
        assert any("program.py(1): <module>" in one for one in names)
        assert name != "threads" or any("late" in one for one in names)


def test_a_module_does_what_it_does_without_a_profile(folder):
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import sys; from . import other; print(sys.argv[1:], __name__, __package__); other.fail()"
    )
    (package / "other.py").write_text("def fail():\n    raise ValueError('in a module')\n")
    for arguments in (
        ["-m", "package", "-x"],
        ["-m", "package.nothing"],
        ["-m", "json.tool", "-h"],
    ):
        code, out, err = run(folder, *arguments, profiled=False)
        ours = run(folder, *arguments, profiled=["-o", "trace.json"])
        assert ours == (code, out, err)


def test_ctrl_c_ends_a_program_as_without_a_profile(folder):
    (folder / "program.py").write_text("print('ready', flush=True)\nwhile True:\n    pass\n")
    bare = run(folder, "program.py", profiled=False, send=signal.SIGINT)
    ours = run(folder, "program.py", profiled=["-o", "x.folded"], send=signal.SIGINT)
    assert bare[0] == ours[0] == -signal.SIGINT
    assert bare[2].splitlines()[-1] == ours[2].splitlines()[-1] == "KeyboardInterrupt"
    # How many lines a frame has depends on the line that was interrupted: some are underlined.
    assert bare[2].count("  File ") == ours[2].count("  File ") == 1
    assert "program.py(1):_<module>" in (folder / "x.folded").read_text()


def test_without_a_file_the_table_goes_to_the_error_output(folder):
    (folder / "program.py").write_text("import time; time.sleep(0.05); print(3)")
    code, out, err = run(folder, "program.py")
    assert (code, out) == (0, "3\n")
    assert "time.sleep" in err
    assert "Self CPU time total" in err


def test_options_of_the_command_reach_the_profile(folder):
    (folder / "program.py").write_text("import json\njson.dumps({}, indent=2)\nprint(len([]))")
    options = ["--exclude", "json", "--lines", "--max-depth", "9", "-o", "out", "-f", "chrome"]
    assert run(folder, "program.py", profiled=options)[0] == 0
    events = json.loads((folder / "out").read_text())["traceEvents"]
    calls = {event["name"]: event["args"] for event in events if event["ph"] == "X"}
    assert calls["builtins.len"]["caller line"] == 3
    assert not [name for name in calls if "encoder" in name]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a script, or -m and a module"),
        (["-o", "trace.what", "x.py"], "names no format"),
        (["--nothing", "x.py"], "unrecognized arguments: --nothing"),
        (["nowhere.py"], "can't open file"),
        (["diff", "nowhere", "here"], "No such file"),
        (["diff", "wrong.json", "wrong.json"], "is no trace in Chrome's format"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(folder, arguments, says):
    (folder / "wrong.json").write_text("{}")
    code, _, err = run(folder, *arguments)
    assert code != 0
    assert says in err
    assert "Traceback" not in err


def test_two_traces_are_compared(folder):
    (folder / "program.py").write_text("import time\ntime.sleep(0.01)")
    (folder / "slower.py").write_text("import time\ntime.sleep(0.05)\ntime.sleep(0.01)")
    run(folder, "program.py", profiled=["-o", "before.json.gz"])
    run(folder, "slower.py", profiled=["-o", "after.json"])
    code, out, err = run(folder, "diff", "after.json", "before.json.gz", "-o", "diff.svg")
    assert (code, err) == (0, "")
    row = next(line.split() for line in out.splitlines() if "time.sleep" in line)
    assert row[0] == "time.sleep"
    assert row[3].startswith("+")
    assert row[4:] == ["2", "1"]
    assert "time.sleep" in (folder / "diff.svg").read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_write_the_trace_of_its_parent(folder):
    (folder / "program.py").write_text(
        "import os\ndef child(): pass\nif os.fork() == 0:\n    child()\nelse:\n    os.wait()\n"
    )
    assert run(folder, "program.py", profiled=["-o", "x.json"])[0] == 0
    events = json.loads((folder / "x.json").read_text())["traceEvents"]
    assert "posix.wait" in {event["name"] for event in events}
    assert not [event for event in events if "child" in event["name"]]
