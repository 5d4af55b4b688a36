"""Protects opyard-run and `python -m opyard run`: models on arrays in files, the same by both.

Suspect models/python/opyard/_run_command.py, models/src/model/run_files.cpp, programs/.
"""

import json
import os
import re
import resource
import subprocess
import sys

import onnx_bytes
import pytest
from built import ROOT, build_folder, plugin_path
from exported_model import MODEL

import opyard
from opyard import _models

np = pytest.importorskip("numpy")

X = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 0.25, 1.0]], np.float32)
COMMANDS = ["opyard-run", "python -m opyard run"]


def command(name):
    if name == "opyard-run":
        return [build_folder() / "programs" / "opyard-run"]
    return [sys.executable, "-m", "opyard", "run"]


def run(name, *arguments, most_bytes=None):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if name == "opyard-run":  # which needs none of it
        environment = {"PATH": os.environ["PATH"]}
        for variable in ("LD_PRELOAD", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS"):
            if variable in os.environ:
                environment[variable] = os.environ[variable]
    limit = (most_bytes, most_bytes)  # of a file
    return subprocess.run(
        [*command(name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        preexec_fn=most_bytes and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)),
        restore_signals=False,  # so that a file past the limit is an error, and no signal
    )


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "scale.npy", np.array([2.0], np.float32))
    model = opyard.jit.load(MODEL)
    outputs = model(X, {"scale": np.array([2.0], np.float32)})
    np.save(tmp_path / "scores.npy", outputs["scores"])
    return tmp_path


def inputs(files):
    return [MODEL, "--input", files / "x.npy", "--input", files / "scale.npy"]


@pytest.mark.parametrize("name", COMMANDS)
def test_X32_a_model_runs_on_arrays_in_files(files, name):
    done = run(name, *inputs(files), "--output", files / "a.npy", "--output", files / "b.npy",
               "--output", files / "rows.npy", "--check", files / "scores.npy")  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert f"output 0: float32[2, 3] in {files / 'a.npy'}\n" in done.stdout
    assert "output 2: int64[]" in done.stdout
    assert "output 0: differs by at most 0 from" in done.stdout
    np.testing.assert_array_equal(np.load(files / "a.npy"), np.load(files / "scores.npy"))
    assert np.load(files / "rows.npy") == 4


@pytest.mark.parametrize("name", COMMANDS)
def test_X32_a_model_runs_on_what_it_was_exported_with(files, name):
    done = run(name, MODEL, "--output", files / "scores.npy")
    assert done.returncode == 0 and "output 0: float32[5, 3] in " in done.stdout, done.stderr
    model = opyard.jit.load(MODEL)
    args, kwargs = model.example_inputs
    np.testing.assert_array_equal(
        np.load(files / "scores.npy"), model(*args, **kwargs)["scores"].numpy()
    )
    opyard.jit.save(model, files / "saved")  # which has none
    done = run(name, files / "saved")
    assert done.returncode == 2 and "takes 2 inputs, and 0 files are given" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_X32_what_is_not_as_expected_is_said_and_is_status_1(files, name):
    scores = np.load(files / "scores.npy")
    scores[1, 2] += 0.5
    np.save(files / "scores.npy", scores)
    done = run(name, *inputs(files), "--check", files / "scores.npy")
    assert done.returncode == 1 and "differs at element 5 by 0.5, over 1e-05" in done.stdout
    assert (
        run(name, *inputs(files), "--check", files / "scores.npy", "--tolerance", "1").returncode
        == 0
    )
    done = run(name, *inputs(files), "--check", files / "x.npy")
    assert done.returncode == 1 and "has other sizes than" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_H48_the_command_shows_where_the_time_went(files, name):
    done = run(name, *inputs(files), "--time", "--profile", files / "trace.json")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for what in ("load", "read inputs", "first run", "write outputs", "fastest of 9 more runs"):
        assert any(line.startswith(what) and line.endswith(" ms") for line in lines), what
    table = lines[lines.index("operator                          time  calls   share") + 1 :]
    calls = {line.split()[0]: int(line.split()[3]) for line in table}
    assert calls["aten::linear"] == 2 and calls["aten::tanh+aten::mul"] == 1
    assert sum(float(line.split()[4].rstrip("%")) for line in table) == pytest.approx(100, abs=1)
    trace = json.loads((files / "trace.json").read_text("utf-8"))
    assert any("linear" in event.get("name", "") for event in trace["traceEvents"])


@pytest.mark.parametrize("name", COMMANDS)
def test_plugins_bring_operators_that_a_model_needs(files, name):
    """Each is loaded before the model; what is not of aten is allowed by its name besides."""
    graph = files / "graph.safetensors"
    script = f"""
import sys
import opyard
for path in sys.argv[1:]:
    opyard.load_library(path)
graph = opyard.jit.parse_ir(\"\"\"graph(%x : Tensor):
  %y : Tensor = test_plugin::same(%x)
  %z : Tensor = interpreters::add(%x, %y)
  return (%z)
\"\"\")
opyard.jit.save(graph, {str(graph)!r})
"""
    plugins = [plugin_path("opyard_test_plugin"), plugin_path("opyard_interpreters_plugin")]
    subprocess.run(
        [sys.executable, "-c", script, *plugins],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    model = [graph, "--input", files / "x.npy", "--output", files / "y.npy"]
    loaded = [word for path in plugins for word in ("--plugin", path)]
    allowed = ["--allow", "test_plugin::same", "--allow", "interpreters::add"]
    done = run(name, *model, *loaded, *allowed)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(files / "y.npy"), X + X)
    for arguments, said in [
        ([*loaded[:2], *allowed], "interpreters::add"),
        (allowed, "If a plugin has the operator, give --plugin FILE"),
        (loaded, "if you trust it, give --allow test_plugin::same, and --plugin for the library"),
        (["--plugin", files / "none.so"], "none.so"),
        (["--plugin", files / "x.npy"], "x.npy"),
    ]:
        done = run(name, *model, *arguments)
        assert done.returncode == 2 and said in done.stderr, (arguments, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_X32_what_is_wrong_is_one_line_and_status_2(files, name):
    (files / "cut.npy").write_bytes((files / "x.npy").read_bytes()[:-1])
    np.save(files / "wide.npy", np.ones((2, 5), np.float32))
    np.save(files / "text.npy", np.array(["a"]))
    (files / "bad.pt2").write_bytes(b"damaged " * 9)
    one = [MODEL, "--input", files / "x.npy"]
    for arguments, said in [
        (one, "takes 2 inputs, and 1 files are given"),
        ([*one, "--input", files / "none.npy"], "none.npy"),
        ([MODEL, "--input", files / "cut.npy", "--input", files / "scale.npy"], "31 bytes of"),
        ([MODEL, "--input", files / "wide.npy", "--input", files / "scale.npy"], "exported for 4"),
        ([MODEL, "--input", files / "text.npy", "--input", files / "scale.npy"], "'<U1'"),
        ([*inputs(files), *["--output", files / "y.npy"] * 4], "has 3 outputs, and 4 files"),
        ([*inputs(files), "--output", files / "no" / "y.npy"], "y.npy"),
        ([files / "x.npy"], "x.npy"),
        ([files / "nothing.pt2"], "nothing.pt2"),
        ([files / "bad.pt2"], "bad.pt2 is no archive of torch.export.save(), which a .pt2 file is"),
        ([MODEL, "--nothing"], "--nothing"),
        ([], "model"),
    ]:
        done = run(name, *arguments)
        assert done.returncode == 2 and said in done.stderr, (arguments, done.stderr)
    assert not (files / "y.npy").exists()


def test_X32_the_guide_and_both_commands_have_one_list_of_options():
    guide = (ROOT / "docs" / "guides" / "models.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `--(\w+)(?: (\S+))?` \| (.*?)(; `opyard-run` alone .*)? \|$", guide, re.M
    )
    assert [(name, value, what) for name, value, what, alone in rows if not alone] == [
        (name, value, what) for name, value, _, what in _models.run_options()
    ]
    shown = " ".join(run("opyard-run", "--help").stdout.split())
    last = -1
    for name, value, what, _ in rows:
        at = shown.find(f"--{name} {value} {what}".replace("  ", " "))
        assert at > last, name
        last = at
    shown = run("python -m opyard run", "--help").stdout
    assert re.findall(r"^  --(\w+)", shown, re.M) == [name for name, *_ in _models.run_options()]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_whose_options_are_there(name):
    shown = run(name, "--help").stdout
    lines = shown.partition("examples:\n")[2].splitlines()
    commands = [line.strip() for line in lines if line.startswith(f"  {name} ")]
    assert len(commands) == len(_models.run_examples()) > 2
    options = {f"--{option}" for option, *_ in _models.run_options()}
    for each in commands:
        assert set(re.findall(r"--\w+", each)) <= options, each


@pytest.mark.parametrize("name", COMMANDS)
def test_a_misspelt_option_is_refused_with_the_one_that_is_meant(name, files):
    done = run(name, MODEL, "--inptu", files / "x.npy")
    assert done.returncode == 2
    assert "--inptu" in done.stderr and "'--input' may be meant" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_value_may_be_behind_an_equals_sign(name, files):
    given = ["--input", files / "x.npy", f"--input={files / 'scale.npy'}"]
    done = run(name, MODEL, *given, f"--check={files / 'scores.npy'}", "--tolerance=1e-4")
    assert done.returncode == 0, done.stderr
    assert run(name, MODEL, *given, "--exact=1").returncode == 2
    assert run(name, MODEL, *given, "--nothing=1").returncode == 2


def test_X32_opyard_run_has_no_python():
    program = build_folder() / "programs" / "opyard-run"
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
    assert "libopyard_jit" in done.stdout and "python" not in done.stdout.replace(str(program), "")


@pytest.mark.parametrize("array", [
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)),
    np.array(3, np.int64), np.zeros((0, 3), np.float32), np.array([True, False]),
    np.array([1 + 2j], np.complex64), np.array([0.1, 65504, 6e-8, np.inf, np.nan], np.float16),
], ids=lambda array: f"{array.dtype}{list(array.shape)}")  # fmt: skip
def test_arrays_of_numpy_are_read_and_written_as_they_are(tmp_path, array):
    graph = opyard.jit.parse_ir("graph(%x : Tensor):\n  return (%x)")
    opyard.jit.save(graph, tmp_path / "same")
    np.save(tmp_path / "x.npy", array)
    done = run("opyard-run", tmp_path / "same", "--input", tmp_path / "x.npy", "--output",
               tmp_path / "y.npy", "--check", tmp_path / "x.npy")  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    back = np.load(tmp_path / "y.npy")
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def npy(header, data=b"", version=1):
    text = header.encode()
    width = 2 if version == 1 else 4
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(width, "little") + text + data


@pytest.mark.parametrize(("contents", "said"), [
    (b"", "begins with other bytes"),
    (b"\x93NUMPY\x01\x00", "begins with other bytes"),
    (npy("{'descr': '<f4'}", version=9), "version 9, and versions 1 to 3"),
    (npy("{}"), "does not say 'descr' once"),
    (npy("{'descr': '>f4', 'fortran_order': False, 'shape': (), }", b"1234"), "kind '>f4'"),
    (npy("{'descr': '|O', 'fortran_order': False, 'shape': (), }", b"1234"), "kind '|O'"),
    (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }", b"1234"), "records"),
    (npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (), }", b"1234"), "neither True nor"),
    (npy("{'descr': '<f4', 'fortran_order': False, 'shape': 3, }", b"1234"), "is no tuple"),
    (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }", b"1234"), "is no size"),
    (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", b"1234"), "size -1"),
    (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }", b"1234"),
     "x.npy"),
    (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", b"1234"), "need 8"),
    (npy("{'descr': '<f4'" + " " * 10)[:-12], "are there"),
    (npy(" " * 70_000, version=2), "at most 65536 are read"),
])  # fmt: skip
def test_files_that_are_no_arrays_say_what_is_wrong(tmp_path, contents, said):
    graph = opyard.jit.parse_ir("graph(%x : Tensor):\n  return (%x)")
    opyard.jit.save(graph, tmp_path / "same")
    (tmp_path / "x.npy").write_bytes(contents)
    done = run("opyard-run", tmp_path / "same", "--input", tmp_path / "x.npy")
    assert done.returncode == 2 and said in done.stderr, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_number_is_read_to_its_last_digit_or_refused(tmp_path, name):
    graph = opyard.jit.parse_ir("graph(%n : int):\n  return (%n)\n")
    opyard.jit.save(graph, tmp_path / "number.safetensors")
    np.save(tmp_path / "n.npy", np.array(2**53 + 1))
    np.save(tmp_path / "huge.npy", np.array(1e300))
    np.save(tmp_path / "nothing.npy", np.array(np.nan))
    model = tmp_path / "number.safetensors"
    done = run(name, model, "--input", tmp_path / "n.npy", "--output", tmp_path / "out.npy")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out.npy").item() == 2**53 + 1
    for file in ("huge.npy", "nothing.npy"):
        done = run(name, model, "--input", tmp_path / file)
        assert done.returncode != 0
        assert f"{file}: the model takes another kind of number here" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_X32_a_profile_that_cannot_be_written_whole_leaves_no_file(files, name):
    trace = files / "trace.json"
    trace.write_text("old")
    done = run(name, *inputs(files), "--profile", trace, most_bytes=1000)
    assert done.returncode == 2 and str(trace) in done.stderr, done.stderr
    assert trace.read_text() == "old"
    assert [path.name for path in files.iterdir() if "trace" in path.name] == ["trace.json"]


def test_X32_the_command_of_python_runs_onnx_files(tmp_path):
    nodes = [onnx_bytes.node("LeakyRelu", ["x"], ["y"], alpha=0.5)]
    places = [onnx_bytes.value("x", dims=(2, 4))], [onnx_bytes.value("y", dims=(2, 4))]
    (tmp_path / "leaky.onnx").write_bytes(onnx_bytes.model(nodes, *places))
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.where(X < 0, X / 2, X))
    arguments = ["--input", tmp_path / "x.npy", "--check", tmp_path / "y.npy"]
    done = run(COMMANDS[1], tmp_path / "leaky.onnx", *arguments)
    assert done.returncode == 0 and "differs by at most 0 from" in done.stdout, done.stderr
