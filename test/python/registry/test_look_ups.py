"""Every look-up of an operator by its name wakes what opyard.ops would wake; order does not matter.

Operators that NumPy answers are defined when one of them is first wanted. Each program wants one
first in another way. Suspect jit/src/ir/load_operator.cpp, registering/finder.cpp, _core/ops.py.
"""

import subprocess
import zipfile

import pytest
from built import build_folder, plain_build
from exported_model import MODEL, PROGRAM, archive

import opyard
from opyard import jit

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")

TEXT = "graph(%x : Tensor):\\n  %y : Tensor ={space}aten::linalg_inv(%x)\\n  return (%y)"
PRELUDE = """
import sys
import opyard
from opyard import jit
x = opyard.tensor([[2.0, 0.0], [0.0, 4.0]])
"""

WAYS = {
    "opyard.ops": "opyard.ops.aten.linalg_inv(x)",
    "parse_ir": f"jit.parse_ir('{TEXT.format(space=' ')}')(x)",
    "parse_ir of a text without spaces": f"jit.parse_ir('{TEXT.format(space='')}')(x)",
    "parse_ir of a stranger's text": f"""
graph = jit.parse_ir('{TEXT.format(space=" ")}', untrusted=True, allowed=["aten::linalg_inv"])
state = jit.InterpreterState(jit.compile(graph))
state.set_budget(steps=100)
state.run_one_stage(x)""",
    "GraphBuilder": """
b = jit.GraphBuilder()
b.output(b.call("aten::linalg_inv", b.input("x")))
b.graph(x)""",
    "a node": """
graph = jit.Graph()
node = graph.append_node(graph.create("aten::linalg_inv", [graph.add_input("x")]))
graph.register_output(node.output())
jit.compile(graph)(x)""",
    "a node that passes see": """
graph = jit.Graph()
node = graph.append_node(graph.create("aten::linalg_inv", [graph.add_input("x")]))
graph.register_output(node.output())
jit.passes.eliminate_dead_code(graph)
jit.passes.eliminate_common_subexpressions(graph)
jit.passes.propagate_shapes(graph)
graph(x)""",
    "parse_expression": "jit.parse_expression('linalg_inv(x)', ['x'])(x)",
    "a part of an expression": "jit.parse_expression('mul(linalg_inv(x), 1)', ['x'])(x)",
    "overload_of": "opyard.dispatch.explain('aten::linalg_inv', x); opyard.ops.aten.linalg_inv(x)",
    "an override": """
from opyard.library import override
with override("aten::linalg_inv", "CPU", lambda x: x / 8):
    assert opyard.ops.aten.linalg_inv(x).tolist() == [[0.25, 0.0], [0.0, 0.5]]
opyard.ops.aten.linalg_inv(x)""",
}


@pytest.mark.parametrize("name", WAYS)
def test_a_look_up_wakes_what_answers(run_program, name):
    *before, last = WAYS[name].strip().splitlines()
    last = last.rpartition("; ")
    program = PRELUDE + "\n".join([*before, last[0], f"print(({last[2]}).tolist())"])
    done = run_program(program)
    assert (done.stdout, done.stderr) == ("[[0.5, 0.0], [0.0, 0.25]]\n", "")


def test_a_kernel_that_is_registered_first_stays_on_top(run_program):
    done = run_program(
        PRELUDE
        + """
from opyard.library import Library
lib = Library("aten", "IMPL")
lib.impl("linalg_inv", lambda x: x * 2, "CPU", allow_override=True)
print(opyard.ops.aten.linalg_inv(x).tolist())
"""
    )
    assert (done.stdout, done.stderr) == ("[[4.0, 0.0], [0.0, 8.0]]\n", "")


# ---- models


def exported_with(operator, folder):
    """The exported example whose tanh is another operator of one tensor."""
    with zipfile.ZipFile(MODEL) as old:
        program = old.read(PROGRAM).decode()
    text = program.replace("torch.ops.aten.tanh.default", f"torch.ops.aten.{operator}.default")
    assert text != program
    return archive(folder, {PROGRAM: text.encode()})


@pytest.mark.parametrize("operator", ["fft_rfft", "nan_to_num"])
def test_an_exported_model_loads_though_nobody_has_called_its_operators(
    run_program, tmp_path, operator
):
    path = exported_with(operator, tmp_path)
    done = run_program(f"from opyard import jit\nprint(jit.load({str(path)!r}))")
    assert done.stderr == ""
    assert done.stdout.startswith("<opyard.jit.Model")


def test_a_saved_model_loads_though_nobody_has_called_its_operators(run_program, tmp_path):
    path = tmp_path / "saved"
    jit.save(jit.parse_ir(TEXT.format(space=" ").replace("\\n", "\n")), path)
    done = run_program(PRELUDE + f"print(jit.load({str(path)!r})(x).tolist())")
    assert (done.stdout, done.stderr) == ("[[0.5, 0.0], [0.0, 0.25]]\n", "")


@plain_build
def test_a_host_without_python_says_what_it_lacks(tmp_path):
    program = build_folder() / "programs" / "opyard-run"
    path = exported_with("fft_rfft", tmp_path)
    ended = subprocess.run([program, path], capture_output=True, text=True)
    assert ended.returncode == 2
    assert (
        "torch.ops.aten.fft_rfft.default, 1 time" in ended.stderr
        and "is not defined here; this program has no Python, in which NumPy answers more operators"
        in ended.stderr
    )
    saved = tmp_path / "saved"
    jit.save(jit.parse_ir(TEXT.format(space=" ").replace("\\n", "\n")), saved)
    np.save(tmp_path / "x.npy", np.eye(2, dtype=np.float32))
    ended = subprocess.run(
        [program, saved, "--input", tmp_path / "x.npy"], capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "this program has no Python" in ended.stderr


def test_the_model_answers_as_numpy_does():
    x = opyard.tensor([[2.0, 1.0], [0.0, 4.0]])
    graph = jit.parse_ir(TEXT.format(space=" ").replace("\\n", "\n"))
    np.testing.assert_allclose(graph(x).numpy(), np.linalg.inv(x.numpy()))
