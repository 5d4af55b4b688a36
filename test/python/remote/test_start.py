"""test_start.py: how a session starts, what its workers lack, and the package without engines.

Suspect remote/python/opyard/_remote/opening.py, lacks.py and pipe_engine.py.
"""

import subprocess
import sys
import time

import pytest
import remote_functions as functions
from built import plugin_path
from processes import environment_of_a_user, run

import opyard
import opyard.remote
from opyard._remote import lacks
from opyard._remote.pipe_engine import PipeEngine


def test_X45_the_package_imports_no_engine_and_opens_no_port():
    program = """
        import sys, socket
        def refuse(*_): raise AssertionError("a port was opened")
        socket.socket.listen = socket.socket.bind = refuse
        import opyard, opyard.remote
        with opyard.remote.session("pipes", workers=2) as s:
            assert s.call(abs, -3) == 3
        found = {"ray", "dask", "distributed", "numpy", "multiprocessing"} & set(sys.modules)
        assert not found, found
    """
    ended = run(program, limit=60.0)
    assert ended.code == 0, ended.stderr


@pytest.mark.parametrize(
    ("engine", "module", "how"),
    [("ray", "ray", "pip install ray"), ("dask", "distributed", r"pip install .dask\[distributed")],
)
def test_an_engine_that_is_not_installed_says_what_to_do(monkeypatch, engine, module, how):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f'the engine "{engine}" is not installed here.*{how}'):
        opyard.remote.session(engine)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (
            {"engine": "rya"},
            ValueError,
            "there is no engine 'rya'; 'ray' may be meant; accepted are 'pipes'",
        ),
        ({"engine": 3}, TypeError, "engine must be one of 'pipes', 'ray', 'dask', or an object"),
        ({"workers": 0}, ValueError, "workers must be a number above 0, not 0"),
        ({"workers": True}, ValueError, "workers must be a number above 0, not True"),
        ({"workers": 33}, ValueError, "33 workers over pipes, and at most 32"),
        ({"timeout": 0}, ValueError, "timeout must be a number of seconds above 0, not 0"),
        ({"address": "here"}, ValueError, "workers over pipes are processes of this machine"),
        ({"python": "/no/such"}, RuntimeError, "a worker could not be started with '/no/such'"),
        ({"window": 3}, TypeError, "window"),
    ],
)
def test_what_a_session_refuses(given, error, words):
    with pytest.raises(error, match=words):
        opyard.remote.session(**{"engine": "pipes", **given})


def test_a_worker_that_cannot_import_opyard_says_so(tmp_path):
    (tmp_path / "opyard.py").write_text("raise ImportError('not this one')\n", "utf-8")
    with pytest.raises(
        RuntimeError, match="worker 0 ended with exit code 1 while it started; what"
    ):
        opyard.remote.session("pipes", workers=1, env={"PYTHONPATH": str(tmp_path)})


def test_a_worker_that_ends_before_it_is_greeted_says_so_too(tmp_path, monkeypatch):
    (tmp_path / "opyard.py").write_text("raise SystemExit(7)\n", "utf-8")
    needs = lacks.needs

    def late(**options):
        time.sleep(1.0)  # its end is known before anything is sent to it
        return needs(**options)

    monkeypatch.setattr(lacks, "needs", late)
    with pytest.raises(RuntimeError, match="worker 0 ended with exit code 7 while it started"):
        opyard.remote.session("pipes", workers=1, env={"PYTHONPATH": str(tmp_path)})


def test_a_worker_that_does_not_answer_is_waited_for_so_long():
    with pytest.raises(RuntimeError, match="has not answered in 0.5 s; start_timeout= gives it"):
        opyard.remote.session(workers=1, start_timeout=0.5, setup=lambda: functions.wait(60))


def test_setup_runs_on_each_worker_before_anything_else():
    def setup():
        global _library
        _library = opyard.library.Library("remotely", "FRAGMENT")
        _library.define("thrice(Tensor x) -> Tensor")
        _library.impl("thrice", lambda x: x * 3, "CompositeExplicitAutograd")

    def thrice(x):
        return opyard.ops.remotely.thrice(x)

    with opyard.remote.session(workers=2, setup=setup) as s:
        assert [s.call(thrice, opyard.ones(1), worker=n).item() for n in s.workers] == [3.0, 3.0]


def test_all_that_workers_lack_is_in_one_list(monkeypatch):
    needed = {
        **lacks.needs(send_plugins=False),
        "packages": [("nowhere", "nowhere-kernels 1.2")],
        "libraries": [("/no/such/library.so", "0" * 64, None)],
    }
    monkeypatch.setattr(lacks, "needs", lambda **_: needed)
    with pytest.raises(RuntimeError) as raised:
        opyard.remote.session("pipes", workers=2)
    assert str(raised.value).splitlines() == [
        "the workers of the pipes session lack what this process has:",
        *(
            line.format(n)
            for n in (0, 1)
            for line in (
                "  worker {} lacks the package nowhere-kernels 1.2, which brings operators of "
                "nowhere: it is not installed there",
                "  worker {} lacks the library /no/such/library.so: there is no such file; a "
                "session with send_plugins=True sends the libraries that this process has loaded",
            )
        ),
        "Install the same on the workers, or start the session before loading it here.",
    ]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("python", r"lacks CPython 2\.7: it runs \w+ 3\.\d+, to which functions cannot be sent"),
        ("opyard", r"lacks Opyard 99\.0: it has "),
    ],
)
def test_a_worker_of_another_python_or_opyard_is_refused(monkeypatch, what, words):
    other = {"python": "CPython 2.7", "opyard": "99.0"}[what]
    needed = {**lacks.needs(send_plugins=False), what: other}
    monkeypatch.setattr(lacks, "needs", lambda **_: needed)
    with pytest.raises(RuntimeError, match=words):
        opyard.remote.session("pipes", workers=1)


@pytest.mark.parametrize("sends", [False, True])
def test_a_library_is_opened_from_the_same_path_or_sent_if_the_session_says_so(tmp_path, sends):
    program = """
        import os, shutil, sys
        import opyard.remote
        path, sends = sys.argv[2], sys.argv[3] == "True"
        shutil.copy(sys.argv[1], path)
        opyard.load_library(path)
        def libraries(): return opyard.loaded_libraries()
        with opyard.remote.session(workers=1, send_plugins=sends) as s:
            found = s.call(libraries)
        assert (path in found) == (not sends) and len(found) == 1, found
        os.remove(path)
        try:
            opyard.remote.session(workers=1, send_plugins=sends)
        except RuntimeError as error:
            print(error)
    """
    library = plugin_path("opyard_test_plugin")
    gone = run(program, library, tmp_path / "elsewhere.so", sends, limit=60.0)
    assert gone.code == 0, gone.stderr
    assert "cannot be read any more" in gone.stdout


def test_the_bytes_of_a_library_travel_under_their_hash(tmp_path):
    library = plugin_path("opyard_test_plugin")
    with open(library, "rb") as file:
        content = file.read()
    digest = lacks._digest(library)
    path = str(tmp_path / "travelled.so")
    program = """
        import sys
        from opyard._remote import lacks
        import opyard
        with open(sys.argv[1], "rb") as file: content = file.read()
        print(lacks._lacks_library(sys.argv[2], sys.argv[3], content))
        print(lacks._lacks_library(sys.argv[2], "0" * 64, content))
        print([path for path in opyard.loaded_libraries() if sys.argv[3][:16] in path] != [])
    """
    ended = run(program, library, path, digest, limit=60.0)
    assert ended.stdout.splitlines() == ["", "its bytes have changed on the way", "True"], ended
    assert content


def test_an_engine_can_be_an_object():
    with opyard.remote.session(PipeEngine(), workers=1) as s:
        assert s.call(functions.double, 2) == 4
    with pytest.raises(TypeError, match="an engine that is an object takes no address"):
        opyard.remote.session(PipeEngine(), workers=1, address="here")
    with pytest.raises(TypeError, match="list has no start"):
        opyard.remote.session([])


def test_a_program_can_be_given_on_the_command_line():
    """Its functions are of __main__, and travel by value."""
    program = (
        "import opyard.remote\n"
        "def f(x): return g(x) + 1\n"
        "def g(x): return x * 2\n"
        "with opyard.remote.session(workers=1) as s: print(s.call(f, 4))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment_of_a_user(),
        timeout=60,
    )
    assert done.stdout == "9\n", done.stderr
