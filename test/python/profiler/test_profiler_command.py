"""python -m opyard.profiler: a program behaves as without it, and its profile is written.

Suspect profiler/python/opyard/_profile/command.py, then profiler/python/tracer/programs.cpp.
"""

import gzip
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest
from commands import KILLED, run

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
    "threads that end at once": """
        import threading
        for n in range(1000):
            threading.Thread(target=int).start()
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
    "globals": "print(sorted((name, type(value)) for name, value in globals().items()))",
    "folder": "import os; os.chdir('/'); print(os.getcwd())",
    "os._exit": "import os; print('x', flush=True); os._exit(3)",
    "subprocess": """
        import os, subprocess, sys
        print(subprocess.run([sys.executable, "-c", "print(3)"], capture_output=True).stdout)
        print(os.system("exit 2"))
    """,
    "pool": """
        import multiprocessing, os
        def square(n):
            return n * n, multiprocessing.current_process().name, __name__
        if __name__ == "__main__":
            for method in multiprocessing.get_all_start_methods():
                with multiprocessing.get_context(method).Pool(1) as pool:
                    print(pool.map(square, range(3)))
    """,
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


def test_a_script_that_is_not_there_ends_as_without_a_profile(folder):
    assert run(folder, "nowhere.py") == run(folder, "nowhere.py", profiled=False)


@pytest.mark.parametrize("is_archive", [False, True])
def test_a_folder_and_an_archive_run_by_what_is_main_in_them(folder, is_archive):
    app = folder / "app"
    app.mkdir()
    (app / "inside.py").write_text("def helper(): return __name__\n")
    (app / "__main__.py").write_text(
        "import sys, inside; print(__name__, __file__, __package__, sys.argv, sys.path[0])\n"
        "print(sorted(globals())); inside.helper()\n"
    )
    if is_archive:
        app = shutil.make_archive(str(folder / "packed"), "zip", app)
    arguments = [os.path.basename(app), "-x"]
    bare = run(folder, *arguments, profiled=False)
    assert bare[0] == 0 and "__main__" in bare[1]
    assert run(folder, *arguments, profiled=["-o", "x.json"]) == bare
    assert "inside.py(1): helper" in (folder / "x.json").read_text()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.11 brought -P")
def test_a_safe_path_stays_safe(folder):
    (folder / "inner").mkdir()
    (folder / "inner" / "program.py").write_text("import sys; print(sys.path)")
    said = [
        subprocess.run(
            [sys.executable, "-P", *profiler, "inner/program.py"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        for profiler in ([], ["-m", "opyard.profiler", "-o", "x.json"])
    ]
    assert said[0].returncode == 0 and "inner" not in said[0].stdout
    assert said[1].stdout == said[0].stdout, said[1]


def test_a_module_does_what_it_does_without_a_profile(folder):
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import sys; from . import other; print(sys.argv[1:], __name__, __package__); other.fail()"
    )
    (package / "names.py").write_text("print(sorted(globals()))")
    (package / "other.py").write_text("def fail():\n    raise ValueError('in a module')\n")
    for arguments in (
        ["-m", "package", "-x"],
        ["-m", "package.names"],
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
    assert "Self time total" in err


ENDINGS = {"return": "", "exit": "sys.exit(3)", "exception": "raise KeyError", "module": ""}


@pytest.mark.parametrize("ending", ENDINGS)
def test_functions_of_atexit_and_threads_that_go_on_are_in_the_trace(folder, ending):
    """What Python does between the end of the script and its last exit handler."""
    program = f"""
        import atexit, sys, threading, time

        def finishes():
            return sorted([2, 1])

        def goes_on():
            threading.main_thread().join()
            late()

        def late():
            pass

        class Owner:
            def finishes_method(self):
                late()

        atexit.register(finishes)
        atexit.register(Owner().finishes_method)
        threading.Thread(target=goes_on).start()
        {ENDINGS[ending]}
    """
    (folder / "program.py").write_text(textwrap.dedent(program))
    arguments = ["-m", "program"] if ending == "module" else ["program.py"]
    bare = run(folder, *arguments, profiled=False)
    assert run(folder, *arguments, profiled=["-o", "trace.json"]) == bare
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    names = [event["name"].rpartition("): ")[2] for event in events if event["ph"] == "X"]
    assert names.count("late") == 2
    assert {"finishes", "finishes_method", "builtins.sorted"} <= {*names}
    assert not {"finish", "begin", "show", "_hide_our_frames"} & {*names}  # our own


def test_options_of_the_command_reach_the_profile(folder):
    (folder / "program.py").write_text("import json\njson.dumps({}, indent=2)\nprint(len([]))")
    options = [
        "--exclude",
        "json",
        "--caller-lines",
        "--max-depth",
        "9",
        "-o",
        "out",
        "-f",
        "chrome",
    ]
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
        (["diff", "wrong.json", "wrong.json"], "is no profile in Chrome's format"),
        (["diff", "other.json", "other.json"], "is no profile in Chrome's format: KeyError('ts')"),
        (
            ["diff", "text.txt", "text.txt"],
            "is no profile in Chrome's format, nor one of collapsed",
        ),
        (
            ["diff", "bytes.pb", "bytes.pb"],
            "is no profile in Chrome's format, nor one of collapsed",
        ),
        (["diff", "cut.json.gz", "cut.json.gz"], "cut.json.gz is damaged"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(folder, arguments, says):
    (folder / "wrong.json").write_text("{}")
    (folder / "other.json").write_text('[{"ph": "X", "name": "a"}]')
    (folder / "text.txt").write_text("[1] This is a text.\n")
    (folder / "bytes.pb").write_bytes(bytes(range(256)))
    (folder / "cut.json.gz").write_bytes(gzip.compress(b"{}" * 10_000)[:-20])
    code, _, err = run(folder, *arguments)
    assert code != 0
    assert says in err
    assert "Traceback" not in err


def traced(path):
    """The quality report, and of each process the names of its spans, in order."""
    document = json.loads(path.read_text())
    names = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            names.setdefault(event["pid"], []).append(event["name"])
    return document["dataQuality"], names


def processes_with(names, part):
    return [process for process, all_names in names.items() if any(part in n for n in all_names)]


FORKS = {
    "main thread": "fork()",
    "another thread": "t = threading.Thread(target=fork); t.start(); t.join()",
}


@pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)", "os.kill(os.getpid(), 9)"])
@pytest.mark.parametrize("forking", FORKS)
def test_a_forked_child_is_a_group_of_tracks(folder, forking, ending):
    (folder / "program.py").write_text(
        textwrap.dedent(f"""
        import os, sys, threading, time, warnings
        warnings.simplefilter("ignore")  # CPython 3.12 and later warn of forks beside threads
        def in_child(): time.sleep(0.01)
        def in_parent(): pass
        def around(function): function()
        def fork():
            if os.fork() == 0:
                around(in_child)
                {ending}
            os.wait()
            in_parent()
        {FORKS[forking]}
        """)
    )
    code, out, err = run(folder, "program.py", profiled=["-o", "x.json"])
    assert (code, out, err) == (0, "", "")
    quality, names = traced(folder / "x.json")
    assert quality["processes"] == 2
    (child,) = processes_with(names, "): in_child")
    (parent,) = processes_with(names, "): in_parent")
    assert child != parent
    assert "time.sleep" in names[child]
    assert not os.path.exists(folder / "x.json.capture")
    # Open at the fork: the child's stack begins with what called fork().
    assert "program.py(7): fork" in names[child]
    events = json.loads((folder / "x.json").read_text())["traceEvents"]
    spans = {(e["pid"], e["name"]): e for e in events if e["ph"] == "X"}
    sleep, wait = spans[child, "time.sleep"], spans[parent, "posix.wait"]
    assert sleep["dur"] > 9_000
    # One time for all processes. The parent may begin to wait when the child has slept already.
    fork = spans[parent, "program.py(7): fork"]
    assert fork["ts"] < sleep["ts"] + sleep["dur"] < wait["ts"] + wait["dur"] + 1


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_are_groups_of_tracks(folder, method):
    (folder / "program.py").write_text(
        textwrap.dedent(f"""
        import multiprocessing, os
        def work(n):
            return os.getpid()
        if __name__ == "__main__":
            context = multiprocessing.get_context({method!r})
            workers = [context.Process(target=work, args=(n,)) for n in range(3)]
            for one in workers: one.start()
            for one in workers: one.join()
            print(sorted(one.pid for one in workers))
        """)
    )
    for file in ("x.json", "x.pftrace", "x.html", "x.speedscope.json"):
        code, out, err = run(folder, "program.py", profiled=["-o", file])
        assert (code, err) == (0, "")
    code, out, err = run(folder, "program.py", profiled=["-o", "x.json"])
    quality, names = traced(folder / "x.json")
    assert sorted(processes_with(names, "): work")) == json.loads(out)
    # The fork server is a process, too.
    assert quality["processes"] == (5 if method == "forkserver" else 4)
    assert "interpreters of multiprocessing without a capture" not in quality


OTHERS = """
    import os, subprocess, warnings
    warnings.simplefilter("ignore")
    def start():
        subprocess.run(["true"])
        os.system("true")
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
        os.waitpid(os.posix_spawnp("true", ["true"], {}), 0)
    start()
    if os.fork() == 0:
        start()
        os.execvp("true", ["true"])
    os.wait()
"""


@pytest.mark.parametrize("options", [[], ["--no-c-calls"], ["--exclude", "*"]])
def test_programs_that_are_not_followed_are_counted(folder, options):
    (folder / "program.py").write_text(textwrap.dedent(OTHERS))
    assert run(folder, "program.py", profiled=[*options, "-o", "x.json"]) == (0, "", "")
    quality, _ = traced(folder / "x.json")
    assert quality["other programs that were started, and not followed"] == 8
    assert quality["processes that became another program by exec, which was not followed"] == 1


def test_a_program_that_becomes_another_one_leaves_its_capture_and_says_so(folder):
    (folder / "program.py").write_text("import os\nos.system('true')\nos.execvp('true', ['true'])")
    assert run(folder, "program.py", profiled=["-o", "x.json"]) == (0, "", "")
    assert not (folder / "x.json").exists()
    assert run(folder, "recover", "x.json.capture", "-o", "x.json") == (0, "", "")
    quality, _ = traced(folder / "x.json")
    assert quality["other programs that were started, and not followed"] == 1
    assert quality["processes that became another program by exec, which was not followed"] == 1
    assert quality["processes that did not end their capture"] == 1


def test_an_interpreter_without_opyard_runs_all_the_same_and_is_missed(folder):
    (folder / "program.py").write_text(
        textwrap.dedent("""
        import multiprocessing, os, sys
        if __name__ == "__main__":
            os.environ.pop("PYTHONPATH")
            one = multiprocessing.get_context("spawn").Process(target=print, args=("here",))
            one.start()
            one.join()
            print(one.exitcode)
        """)
    )
    code, out, err = run(folder, "program.py", profiled=["-o", "x.json"])
    assert (code, out, err) == (0, "here\n0\n", "")
    quality, names = traced(folder / "x.json")
    assert len(names) == 1
    assert quality["interpreters of multiprocessing without a capture"] == 1


@pytest.mark.parametrize("forks", [False, True])
@pytest.mark.parametrize("ending", ["os._exit(3)", "os.kill(os.getpid(), 9)", "os.abort()"])
def test_T21_what_a_killed_program_did_is_recovered(folder, ending, forks):
    (folder / "program.py").write_text(textwrap.dedent(KILLED.format(ending=ending, forks=forks)))
    bare = run(folder, "program.py", profiled=False)
    assert run(folder, "program.py", profiled=["-o", "x.json"]) == bare
    assert not (folder / "x.json").exists()
    for file in ("y.json", "y.pftrace", "y.folded", "y.pstats", "y.html", "y.speedscope.json"):
        assert run(folder, "recover", "x.json.capture", "-o", file) == (0, "", "")
    quality, names = traced(folder / "y.json")
    assert quality["processes that did not end their capture"] == 1 + forks
    assert (quality["lost"], quality["clamped"], quality["broken"]) == (0, 0, 0)
    (parent,) = processes_with(names, "inner")
    assert names[parent].count("program.py(4): inner") == 10_000
    assert len(processes_with(names, "in_thread")) == 1 + forks
    events = json.loads((folder / "y.json").read_text())["traceEvents"]
    (outer,) = [e for e in events if e["name"] == "program.py(8): outer"]
    assert outer["args"]["cut"] == "was open at the end of the profile"
    assert "outer" in (folder / "y.folded").read_text()
    names_of_threads = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for name in ("MainThread", "one that ends", "one that waits"):
        assert any(name in known for known in names_of_threads)
    # A second run leaves the capture of the first one alone.
    assert run(folder, "program.py", profiled=["-o", "x.json"]) == bare
    assert (folder / "x.json.capture.2").is_dir()
    code, out, err = run(folder, "recover", "x.json.capture.2")
    assert (code, out) == (0, "")
    assert "time.sleep" in err


def test_help_explains_every_option_and_has_examples(folder):
    code, out, err = run(folder, "--help")
    assert (code, err) == (0, "")
    options = re.findall(r"^  (-.*?)(?:  +|\n +)(\S.*)", out, re.MULTILINE)
    explained = {word for names, _ in options for word in re.findall(r"--[a-z-]+|-m\b", names)}
    assert explained == {
        "--help", "--output", "--format", "--include", "--exclude", "--max-depth", "-m",
        "--min-duration", "--caller-lines", "--lines", "--no-c-calls", "--no-fold",
        "--record-shapes", "--profile-memory", "--repeat", "--sample",
    }  # fmt: skip
    for names, text in re.findall(r"^  (-.*?)(?:  +|\n +)(\S.*(?:\n {4,}.*)*)", out, re.MULTILINE):
        example = re.search(r"as in (-.*)", " ".join(text.split()))
        if names != "-h, --help":
            assert example is not None, names
            assert example[1].split()[0] in names.replace(",", " ").split(), names
    assert out.count("\n  python -m opyard.profiler ") >= 6


def test_a_folder_that_is_not_there_is_told_in_a_sentence(folder):
    (folder / "program.py").write_text("print('not run')")
    code, out, err = run(folder, "program.py", profiled=["-o", "nowhere/x.json"])
    assert (code, out) == (1, "")
    assert err == (
        f"python -m opyard.profiler: the folder '{folder}/nowhere', in which the profile is to be "
        "written, is not there: make it, or name another file\n"
    )


@pytest.mark.parametrize("name", ["x.html", "x.json", "x.pstats"])
def test_on_a_terminal_a_run_says_what_it_wrote_and_how_it_is_seen(folder, name):
    (folder / "program.py").write_text("print('here')")
    terminal, ours = pty.openpty()
    command = [sys.executable, "-m", "opyard.profiler", "-o", name, "program.py"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=ours, text=True)
    os.close(ours)
    said = os.read(terminal, 10_000).decode()
    os.close(terminal)
    assert (done.returncode, done.stdout) == (0, "here\n")
    file = folder / name
    assert said.startswith(f"opyard.profiler: wrote {file} (0.")
    how = {
        "x.html": f"python -m webbrowser -t {file}",
        "x.json": "open https://ui.perfetto.dev and drop it there",
        "x.pstats": f"python -m pstats {file}",
    }
    assert said.rstrip().endswith(f"To see it: {how[name]}")
