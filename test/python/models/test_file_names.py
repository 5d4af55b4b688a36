"""test_file_names.py: names of files and folders that are no UTF-8, wherever one passes.

A name of a file is bytes; Python holds what is no UTF-8 as surrogates (PEP 383). Suspect
registering/library.cpp, bind/text.h, runtime/types.h.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import plugin_path

pytestmark = pytest.mark.once

NAMES = {
    "latin 1": b"d\xe9j\xe0",
    "half a character": b"a\xc3",
    "quotes": b'it\'s "so"',
    "a line": b"one\ntwo",
    "percent": b"100%s{0}",
    "ten thousand": "\u4e07".encode(),
}

PROGRAM = """
import pickle, sys, warnings
import opyard
from opyard.library import Library, custom_op, override, register_fake
from opyard import dispatch

lib = Library("names", "FRAGMENT")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x, "CPU")
below = Library("_", "IMPL", "OnTop1")
below.fallback(lambda op, *args, **kwargs: args[0])
lib.set_python_module(__name__, __file__)
register_fake("names::f", lambda x: x)

@custom_op("names::g", mutates_args=())
def g(x: opyard.Tensor) -> opyard.Tensor:
    return x + x

x = opyard.tensor([1.0])
heard = []
listening = dispatch.on_registration(lambda *a: heard.append(a), lambda *a: heard.append(a))
with override("names::f", "CPU", lambda x: x * 2) as made:
    assert opyard.ops.names.f(x).tolist() == [2.0]
    texts = [repr(made), str(made), repr(lib)]
assert opyard.ops.names.f(x) is x and g(x).tolist() == [2.0]
op = opyard.ops.names.f
texts += [
    dispatch.dump(op), dispatch.dump_table(op), str(dispatch.explain(op, x)),
    str(dispatch.what_if("names::f", "Autograd")), str(dispatch.history("names::f")),
    dispatch.dump_table(op, interpreter=0), repr(dispatch.metadata("names::f")),
    repr(dispatch.computed_kernel("names::f", "CPU")), repr(dispatch.dangling()),
]
for wrong in (lambda: op(), lambda: op(3), lambda: lib.define("f(int x) -> int"),
              lambda: lib.impl("f", 3, "CPU"), lambda: opyard.ops.names.g(x, x)):
    try:
        wrong()
    except Exception as error:
        texts.append(str(error))
    else:
        raise AssertionError("nothing was raised")
for text in texts:
    text.encode("utf-8")  # so that it can be printed
assert any("program" in text for text in texts), texts
lib._destroy()
"""


def run(*command, cwd, **environment):
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        capture_output=True,
        timeout=60,
    )


def check_program(folder, name, text):
    """Runs a program of the folder, which is to print no error."""
    program = folder + b"/" + name
    with open(program, "w") as file:
        file.write(text)
    done = run(program, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode(errors="replace")


@pytest.fixture(params=NAMES)
def folder(request, tmp_path):
    """A folder with such a name, as bytes."""
    made = os.fsencode(tmp_path) + b"/" + NAMES[request.param]
    os.mkdir(made)
    return made


def test_B6_a_program_in_such_a_folder_registers_and_shows_all_it_likes(folder):
    check_program(folder, b"program.py", PROGRAM)


def test_a_plugin_in_such_a_folder_is_loaded_and_shown(folder):
    plugin = folder + b"/plugin.so"
    shutil.copy(plugin_path("opyard_test_plugin"), plugin)
    program = """
import os, sys, opyard
from opyard import dispatch
path = os.fsencode(sys.argv[1])
plugin = opyard.load_library(path)
assert os.fsencode(plugin.path) == path
assert path in map(os.fsencode, opyard.loaded_libraries())
for name in dir(opyard.ops.test_plugin):
    for text in dispatch.dump(f"test_plugin::{name}"), dispatch.dump_table(f"test_plugin::{name}"):
        text.encode("utf-8")
report = plugin.unload()
assert os.fsencode(report.path) == path
repr(report), str(report)
try:
    opyard.load_library(path + b".missing")
except OSError as error:
    str(error).encode("utf-8")
else:
    raise AssertionError("nothing was raised")
"""
    done = run("-c", program, plugin, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode(errors="replace")


def test_a_path_of_the_environment_that_is_missing_becomes_a_warning(folder):
    path = folder + b"/missing.so"
    if b":" in path or b"\n" in path:
        pytest.skip("the variable separates paths")
    done = run("-c", "import opyard; print(opyard.tensor([1.0]))", cwd=folder, **{
        "OPYARD_LIBRARIES": os.fsdecode(path)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"tensor([1.])\n"
    assert b"missing.so" in done.stderr and b"Traceback" not in done.stderr


def test_a_plugin_of_the_environment_is_loaded_from_such_a_folder(folder):
    path = folder + b"/plugin.so"
    shutil.copy(plugin_path("opyard_test_plugin"), path)
    done = run("-c", "import opyard; print(len(opyard.loaded_libraries()))", cwd=folder, **{
        "OPYARD_LIBRARIES": os.fsdecode(path)})  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")


def test_python_s_own_name_of_the_package_need_not_be_utf8(folder):
    """The package itself is in such a folder, as a link."""
    if sys.version_info >= (3, 14):
        pytest.skip("CPython 3.14 loads no extension module from there: UnicodeEncodeError")
    import opyard

    os.symlink(Path(opyard.__file__).parent, folder + b"/opyard")
    program = "import opyard; print(opyard.ops.aten.neg(opyard.tensor([1.0])).tolist())"
    done = run("-c", program, cwd=folder, PYTHONPATH=os.fsdecode(folder))
    assert (done.returncode, done.stdout) == (0, b"[-1.0]\n"), done.stderr


FILES = """
import json, os, pickle, pstats, sys
import opyard, opyard.profiler
from opyard import jit, profiler

here = os.path.dirname(os.path.abspath(__file__))
x = opyard.tensor([1.0, 2.0])

def raised(call, *errors):
    try:
        call()
    except errors as error:
        str(error).encode("utf-8")  # so that it can be printed
        repr(error).encode("utf-8")
        return str(error)
    raise AssertionError("nothing was raised")

# Tensors and models.
def as_text(name):
    return os.path.join(here, name)

def as_bytes(name):
    return os.fsencode(as_text(name))

GRAPH = "graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)\\n"
for as_path in as_text, as_bytes:
    opyard.save({"x": x, "\\u00e9": x}, as_path("t.safetensors"))
    assert opyard.load(as_path("t.safetensors"))["\\u00e9"].tolist() == [1.0, 2.0]
    jit.save(jit.parse_ir(GRAPH), as_path("m.model"))
    assert jit.load(as_path("m.model"))(x).tolist() == [-1.0, -2.0]
    raised(lambda: opyard.load(as_path("missing")), OSError)
    raised(lambda: jit.load(as_path("missing")), OSError)
    raised(lambda: opyard.save({"x": x}, as_path("missing/t")), OSError)
    raised(lambda: jit.load(as_path("names.py")), ValueError)
    raised(lambda: opyard.load(as_path("names.py")), ValueError)
    raised(lambda: opyard.load(as_path("")), OSError)
raised(lambda: opyard.save({"\\udcff": x}, os.path.join(here, "t")), ValueError)

# A graph knows where its text and its trace come from.
def doubled(x):
    return x + x
traced = jit.trace(doubled, (x,))
for text in (str(traced), repr(traced), str(jit.compile(traced))):
    text.encode("utf-8")
source = os.path.basename(here) + "/here"
assert "here" in raised(lambda: jit.parse_ir("graph(%x):\\n  oops\\n", source=source), ValueError)

# Profiles: of code in this folder, to files in it, and with names of all kinds.
with profiler.profile(with_stack=True, profile_memory=True, record_shapes=True) as prof:
    doubled(x)
    with profiler.record_function("\\udcff and \\0 and \\n"):
        doubled(x)
str(prof.key_averages()).encode("utf-8")
repr(prof.events()[0]).encode("utf-8")
for ending in ("json", "json.gz", "perfetto-trace", "folded", "pstats", "html", "speedscope.json"):
    prof.export(os.path.join(here, "profile." + ending))
json.load(open(os.path.join(here, "profile.json"), encoding="utf-8"))
open(os.path.join(here, "profile.html"), encoding="utf-8").read()
pstats.Stats(os.path.join(here, "profile.pstats"))
prof.export_memory_timeline(os.path.join(here, "memory.json"))
raised(lambda: prof.export(os.path.join(here, "missing", "profile.json")), OSError)
raised(lambda: prof.export(os.path.join(here, "profile")), ValueError)
with profiler.flight_recorder() as recorder:
    doubled(x)
    recorder.dump(os.path.join(here, "flight.json"))
json.load(open(os.path.join(here, "flight.json"), encoding="utf-8"))
"""


def test_files_of_tensors_models_and_profiles_may_have_such_names(folder):
    check_program(folder, b"names.py", FILES)


def test_the_command_captures_a_program_in_such_a_folder(folder):
    with open(folder + b"/program.py", "w") as file:
        file.write("import opyard\nprint(opyard.ops.aten.neg(opyard.tensor([1.0])).tolist())\n")
    path = folder + b"/out.json"
    done = run("-m", "opyard.profiler", "-o", path, folder + b"/program.py", cwd=folder)
    assert (done.returncode, done.stdout) == (0, b"[-1.0]\n"), done.stderr.decode(errors="replace")
    assert os.path.getsize(path) > 100


@pytest.mark.parametrize("name", ["a\0b", b"a\0b"])
def test_a_name_with_a_zero_is_refused_and_not_cut(name, tmp_path, monkeypatch):
    import opyard
    import opyard.jit

    monkeypatch.chdir(tmp_path)
    x = opyard.tensor([1.0])
    graph = opyard.jit.parse_ir("graph(%x):\n  return (%x)\n")
    for call in (
        lambda: opyard.save({"x": x}, name),
        lambda: opyard.load(name),
        lambda: opyard.jit.save(graph, name),
        lambda: opyard.jit.load(name),
        lambda: opyard.load_library(name),
    ):
        with pytest.raises((ValueError, OSError), match="zero byte"):
            call()
    assert os.listdir(tmp_path) == []
