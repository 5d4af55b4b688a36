"""test_plugin_load.py: loading plugins from Python. Suspect _core/ops.py, bind.cpp, plugin.cpp."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from built import plugin_path
from raised import message_of

import opyard
from opyard import _bind, _build_info


@pytest.fixture
def copied(tmp_path):
    """A copy of the test plugin of its own, which defines other operators than the first."""
    return Path(shutil.copy(plugin_path("opyard_test_plugin"), tmp_path / "copy.so"))


def test_F36_a_missing_file(tmp_path):
    text = message_of(FileNotFoundError, opyard.load_library, tmp_path / "nope.so")
    assert text == f"[Errno 2] No such file or directory: {str(tmp_path / 'nope.so')!r}"


def test_F36_a_file_that_is_no_library(tmp_path):
    path = tmp_path / "text.so"
    path.write_text("no library")
    assert message_of(OSError, opyard.load_library, path).startswith(f"cannot load {path}: ")
    message_of(IsADirectoryError, opyard.load_library, tmp_path)


FORMS = {"str": str, "bytes": os.fsencode, "path": Path}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", ["load_library", "unload_library"])
def test_F36_every_error_names_the_path(tmp_path, form, function):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.so").write_text("no library, and long enough for the header of one " * 4)
    (tmp_path / "empty.so").touch()
    reasons = {
        "folder": "[Errno 21] Is a directory",
        "text.so": "invalid ELF header",
        "empty.so": "file too short",
        "nope.so": "[Errno 2] No such file or directory",
        "text.so/nope.so": "[Errno 20] Not a directory",
        "grün\n.so": "[Errno 2] No such file or directory",
    }
    for name, reason in reasons.items():
        path = tmp_path / name
        given = FORMS[form](path)
        if function == "load_library":
            with pytest.raises(OSError) as caught:
                opyard.load_library(given)
            text = str(caught.value)
            is_of_system = reason.startswith("[")
            whole = f"{reason}: {str(path)!r}"
            assert text == (whole if is_of_system else f"cannot load {path}: {path}: {reason}")
        else:
            text = message_of(LookupError, opyard.unload_library, given)
            assert text == f"no plugin is loaded from {path}"


@pytest.mark.parametrize("function", ["load_library", "unload_library"])
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", "a plugin is loaded from a path, and an empty text is none"),
        (b"", "a plugin is loaded from a path, and an empty text is none"),
        ("a\0b.so", "'a\\x00b.so' is no path: it has a zero byte in it"),
        (b"a\0b.so", "b'a\\x00b.so' is no path: it has a zero byte in it"),
        (
            Path("a\0b.so"),
            f"{type(Path()).__name__}('a\\x00b.so') is no path: it has a zero byte in it",
        ),
        ("\ud800.so", "'\\ud800.so' is no path: no file can have this name"),
    ],
    ids=ascii,
)
def test_F36_a_text_that_is_no_path(function, path, text):
    assert message_of(OSError, getattr(opyard, function), path) == text


def test_F36_a_path_of_any_class(plugin):
    class Somewhere:
        def __fspath__(self):
            return str(plugin_path("opyard_test_plugin"))

    for path in (Somewhere(), os.fsencode(Somewhere())):
        opyard.load_library(path)
    assert opyard.loaded_libraries().count(os.fspath(Somewhere())) == 1


@pytest.mark.parametrize("path", ["libm.so.6", _build_info.library])
def test_F36_a_library_that_is_no_plugin(path):
    text = message_of(OSError, opyard.load_library, path)
    reason = "is a shared library but no Opyard plugin: it has no OPYARD_LIBRARY block"
    assert text.endswith(f"{Path(path).name} {reason}")
    assert path not in opyard.loaded_libraries()


def test_a_path_is_a_text_bytes_or_a_path(tmp_path):
    for path in (str(tmp_path / "a"), os.fsencode(tmp_path / "a"), tmp_path / "a"):
        message_of(FileNotFoundError, opyard.load_library, path)
    message_of(FileNotFoundError, opyard.load_library, tmp_path / "gr\udcfcn.so")
    for path in (3, None, ["a"]):
        message_of(TypeError, opyard.load_library, path)
        message_of(TypeError, opyard.unload_library, path)


def test_F36_loaded_libraries_are_listed_once(plugin):
    path = str(plugin_path("opyard_test_plugin"))
    opyard.load_library(path)
    opyard.ops.load_library(path)
    assert opyard.loaded_libraries().count(path) == 1


def test_a_relative_path_is_the_same_library(plugin, monkeypatch):
    path = plugin_path("opyard_test_plugin")
    monkeypatch.chdir(path.parent)
    opyard.load_library("./" + path.name)
    assert opyard.loaded_libraries().count(str(path)) == 1


def test_a_plugin_that_cannot_be_registered_leaves_nothing_behind(throwing_plugin):
    names = _bind.operator_names()
    for _ in range(3):
        text = message_of(ValueError, opyard.load_library, throwing_plugin)
        assert "second(Tensor x -> Tensor" in text and "^" in text
    assert _bind.operator_names() == names
    assert str(throwing_plugin) not in opyard.loaded_libraries()
    assert not hasattr(opyard.ops.test_throwing, "first")
    # The namespace is free.
    opyard.library.Library("test_throwing", "DEF")._destroy()


def test_X30_unloading_takes_back_and_loading_brings_again(run_program):
    done = run_program(
        """
        import sys
        import opyard
        path = sys.argv[1]
        x = opyard.tensor([1.0])
        try:
            opyard.unload_library(path)
        except LookupError as error:
            assert "no plugin is loaded from" in str(error), error
        else:
            raise AssertionError
        for _ in range(3):
            opyard.load_library(path)
            same = opyard.ops.test_plugin.same
            assert same(x) is x
            assert opyard.loaded_libraries() == [path]
            assert opyard.unload_library(path) == 0
            assert opyard.loaded_libraries() == []
            assert not hasattr(opyard.ops.test_plugin, "same")
            try:
                same(x)
            except RuntimeError as error:
                assert "test_plugin::same is gone" in str(error), error
            else:
                raise AssertionError
        """,
        plugin_path("opyard_test_plugin"),
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_two_plugins_that_define_the_same_namespace(plugin, copied):
    text = message_of(RuntimeError, opyard.load_library, copied)
    assert "can define the namespace test_plugin" in text
    assert str(copied) not in opyard.loaded_libraries()
    assert plugin.same is opyard.ops.test_plugin.same


def test_many_threads_load_one_plugin(run_program):
    done = run_program(
        """
        import sys, threading
        import opyard
        failures = []
        def load():
            try:
                opyard.load_library(sys.argv[1])
                assert opyard.ops.test_plugin.same
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=load) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == [], failures
        assert len(opyard.loaded_libraries()) == 1
        """,
        plugin_path("opyard_test_plugin"),
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_loading_lets_other_threads_run(tmp_path):
    """A constructor of the library waits for a file, which another Python thread makes."""
    source = tmp_path / "slow.c"
    source.write_text(
        "#include <unistd.h>\n#include <stdlib.h>\n"
        "__attribute__((constructor)) static void wait_for(void) {\n"
        '  while (access(getenv("OPYARD_TEST_FILE"), F_OK) != 0) usleep(1000);\n'
        "}\n"
    )
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", tmp_path / "slow.so"], check=True)
    signal = tmp_path / "signal"
    os.environ["OPYARD_TEST_FILE"] = str(signal)
    try:
        timer = threading.Timer(0.05, signal.touch)
        timer.start()
        assert "no Opyard plugin" in message_of(OSError, opyard.load_library, tmp_path / "slow.so")
        timer.join()
    finally:
        del os.environ["OPYARD_TEST_FILE"]


def test_linked_libraries_registered_without_errors():
    assert _bind.linked_library_errors() == []


def test_a_loaded_plugin_is_an_object_that_unloads(run_program):
    path = plugin_path("opyard_test_plugin")
    done = run_program(
        """
        import sys
        import opyard
        path = sys.argv[1]
        loaded = opyard.load_library(path)
        assert loaded.path == path
        assert opyard.load_library(path).path == path, "a second load does nothing"
        report = loaded.unload()
        assert (report, report.path, report.survivors) == (0, path, [])
        print(report)
        try:
            loaded.unload()
        except LookupError as error:
            print(error)
        assert opyard.load_library(path).unload() == 0, "again, as a full library"
        """,
        path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"{path} was unloaded, and nothing of it is in use",
        f"no plugin is loaded from {path}",
    ]


def test_X30_what_is_left_of_a_plugin_is_reported_as_data_and_in_words(run_program):
    path = plugin_path("opyard_test_plugin")
    done = run_program(
        """
        import sys
        import opyard
        loaded = opyard.load_library(sys.argv[1])
        library = opyard.library.Library("test_plugin", "IMPL", "CUDA")
        library.impl("same", lambda x: x)
        report = loaded.unload()
        [left] = report.survivors
        assert (left.kind, left.name, left.key) == ("registration", "test_plugin::same", "CUDA")
        assert left.provenance.startswith("registered at "), left
        assert "provenance='registered at " in repr(left)
        print(report)
        """,
        path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    head, line = done.stdout.splitlines()
    assert head == f"{path} was unloaded, and this is left of it:"
    assert line.startswith("  test_plugin::same: the kernel at CUDA, registered at ")
    assert line.endswith(", waits for a definition")


def test_plugins_that_the_environment_names_are_loaded_at_import(tmp_path):
    path = plugin_path("opyard_test_plugin")
    program = "import opyard; print(*opyard.loaded_libraries())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "OPYARD_LIBRARIES": f"{path}:/no/such.so",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(path)]
    assert "OPYARD_LIBRARIES names /no/such.so, which was not loaded: cannot load" in done.stderr
