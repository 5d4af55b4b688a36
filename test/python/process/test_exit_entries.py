"""Programs end cleanly while daemon threads are in what makes Python objects in C++.

A row is an entry: an extension module's function that takes, makes or calls objects. CPython ends
such a thread where it next takes the GIL; C++ that holds references then gives none back. Suspect
bind/pybind11.h (drop_object) and python/exit.h ([Exit]).

A process imports the package once and forks the programs, each of which ends as any program does.
"""

import re

import pytest
from processes import DAEMONS_CRASH, volume

RUNS = volume(4)  # 40 in tools/test --long
THREADS = 4

PRELUDE = """
import os, sys, threading, time
import opyard
from opyard import autograd, jit, nn, optim, profiler
aten = opyard.ops.aten
x = opyard.tensor([1.0, 2.0])
w = opyard.tensor([3.0, 4.0]).requires_grad_()
TEXT = '''
graph(%x : Tensor):
  %y : Tensor = aten::mul(%x, %x)
  %z : Tensor = aten::add(%y, %x)
  return (%z)
'''
def twice(a):
    return [a * 2, a + 1][0]
x * 2 + 1
"""

# Each is the body of a loop that each thread runs; above "---" is what it needs.
ENTRIES = {
    "jit.trace": "jit.trace(twice, x)",
    "jit.trace without a check": "jit.trace(twice, x, check_trace=False)",
    "jit.trace of a function of Python": """
class Double(autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
---
jit.trace(lambda a: Double.apply(a), x, check_trace=False)""",
    "jit.compile": "jit.compile(lambda a: a * 2)(x)",
    "a compiled function": """
compiled = jit.compile(lambda a, b: (a * b).sum())
compiled(w, x)
---
compiled(w, x).backward()""",
    "create_python_op": """
b = jit.GraphBuilder()
b.output(b.python(lambda *a: a[0], b.input("x"), 1, "two", [3]))
""",
    "a graph with a function of Python": """
b = jit.GraphBuilder()
b.output(b.python(lambda a: [a * 2, a][0], b.input("x")))
code = jit.compile(b.graph)
---
code(x)""",
    "parse_ir and text": "str(jit.parse_ir(TEXT))",
    "faults of parse_ir": """
try:
    jit.parse_ir("graph(%x : Tensor):\\n  %y : Tensor = aten::mul(%x\\n  return (%y)")
except ValueError:
    pass""",
    "nodes and values": """
graph = jit.parse_ir(TEXT)
---
[(n.kind, n.inputs(), n.outputs(), n.attributes() if hasattr(n, "attributes") else 0)
 for n in graph.nodes()]""",
    "passes": """
graph = jit.parse_ir(TEXT)
jit.passes.eliminate_common_subexpressions(graph)
jit.passes.peephole(graph)
jit.passes.fuse(graph)""",
    "differentiate": """
graph = jit.parse_ir(TEXT)
jit.passes.differentiate(graph)""",
    "states": """
code = jit.compile(jit.parse_ir(TEXT))
---
state = jit.InterpreterState(code)
state.begin_stage(x)
state.step()
state.live_values()
state.resume()""",
    "saved states": """
code = jit.compile(jit.parse_ir(TEXT))
---
state = jit.InterpreterState(code)
state.begin_stage(x)
jit.InterpreterState.load(code, state.save()).resume()""",
    "backward with hooks": """
w.register_hook(lambda g: [g, 1][0])
---
(w * x).sum().backward()""",
    "autograd.Function": """
class Double(autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return [g * 2, ctx.saved_tensors][0]
---
Double.apply(w).sum().backward()""",
    "grad": "autograd.grad((w * x).sum(), [w])",
    "modules and optimizers": """
net = nn.Linear(2, 2)
steps = optim.SGD(net.parameters(), lr=0.1)
---
net(x).sum().backward()
steps.step()
steps.zero_grad()""",
    "files": """
import tempfile
folder = tempfile.mkdtemp()
---
path = os.path.join(folder, str(threading.get_ident()))
opyard.save({"x": x, "w": x}, path)
opyard.load(path)""",
    "models": """
import tempfile
folder = tempfile.mkdtemp()
---
path = os.path.join(folder, str(threading.get_ident()))
jit.save(jit.parse_ir(TEXT), path)
jit.load(path)(x)""",
    "schemas": """
from opyard import schema
---
str(aten.add.Tensor._schema)
[(a.name, str(a.type)) for a in aten.add.Tensor._schema.arguments]""",
    "operators by name": """
opyard.dispatch.explain("aten::add", x, x)
dir(opyard.ops.aten)""",
    "libraries": """
from opyard.library import Library
---
with Library("exit" + str(threading.get_ident()), "FRAGMENT") as made:
    made.define("f(Tensor x, int[] n=[1, 2]) -> Tensor")
    made.impl("f", lambda x, n: x, "CPU")""",
    "a profile": """
profile = profiler.profile()
profile.start()
---
[twice(x), str(x)]""",
    "arrays": "opyard.from_dlpack(x).tolist()",
    "copies and pickles": """
import copy, pickle
---
copy.deepcopy([x, x])
pickle.loads(pickle.dumps(x))""",
}


def program_of(entry):
    before, _, body = entry.rpartition("---")
    lines = "\n            ".join(body.strip().splitlines())
    return f"""{PRELUDE}
def in_child():
    for _ in range({RUNS}):
        child = os.fork()
        if child == 0:
            return True
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != 0:
            print("ended with", code)
    return False

def work():
    while True:
        try:
            {lines}
        except Exception:
            if count[0] < 8:
                raise
            return  # the program ends, and refuses calls
        count[0] += 1

count = [0]
if in_child():
    exec({before!r})
    for _ in range({THREADS}):
        threading.Thread(target=work, daemon=True).start()
    while count[0] < 8:
        time.sleep(0.001)
"""


# CPython deletes names of __main__ at the end, and compile() says that it saw one go.
MAIN_ENDS = re.compile(
    r"\S+:\d+: CompileWarning: compile: \S+ runs as it is, since it \w+ \w+ of the module "
    r"__main__\n  .*\n"
)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_program_ends_while_threads_are_in(run_program, name):
    if DAEMONS_CRASH:
        pytest.skip("CPython 3.10 itself crashes now and then when daemon threads are running")
    done = run_program(program_of(ENTRIES[name]), timeout=120)
    said = MAIN_ENDS.sub("", done.stderr) if "jit.compile" in ENTRIES[name] else done.stderr
    assert (done.returncode, said, done.stdout) == (0, "", "")
