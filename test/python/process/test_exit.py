"""test_exit.py: programs end cleanly, whatever is alive. Suspect runtime/ and module.cpp.

Each program runs a few times: what goes wrong at exit goes wrong now and then.
"""

import sys

import pytest
from built import plugin_path
from processes import volume

pytestmark = pytest.mark.threads

RUNS = volume(5)

PRELUDE = """
import sys
import opyard
from opyard.library import Library, override
x = opyard.tensor([1.0, 2.0])
lib = Library("at_exit", "FRAGMENT")
lib.define("op(Tensor x) -> Tensor")
"""

PROGRAMS = {
    "nothing but the import": "",
    "live tensors": """
        many = [opyard.tensor([float(n)]) for n in range(100)]
        loop = [x]
        loop.append(loop)
    """,
    "live tensors on foreign memory": """
        import array
        t = opyard.from_numpy(array.array("f", [1.0, 2.0]))
        view = memoryview(x)
    """,
    "a library made by code that outlives the module that knows it": """
        import __main__  # keeps the code until most modules are gone
        code = compile(
            "from opyard.library import Library\\nmade = Library('cell', 'FRAGMENT')\\n"
            "made.define('f(Tensor x) -> Tensor')\\nmade.impl('f', lambda x: x * 2, 'CPU')",
            "<cell 7>", "exec",
        )
        exec(code)
    """,
    "live kernels": """
        lib.impl("op", lambda x: x, "CPU")
        assert opyard.ops.at_exit.op(x) is x
    """,
    "kernels that hold their library": """
        lib.impl("op", lambda x, lib=lib: x, "CPU")
    """,
    "overrides at module scope": """
        lib.impl("op", lambda x: None, "CPU")
        ov = override("at_exit::op", "CPU", lambda x: x)
        assert opyard.ops.at_exit.op(x) is x
    """,
    "overrides of C++ kernels": """
        opyard.load_library(sys.argv[1])
        ov = override("test_plugin::same", "CPU", lambda x: x + 1)
        assert opyard.ops.test_plugin.same(x) is not x
    """,
    "a fallback": """
        fallbacks = Library("_", "IMPL", "XLA")
        fallbacks.fallback(lambda op, *args: args[0])
    """,
    "a kernel with a finaliser that calls operators": """
        class Kernel:
            def __call__(self, x):
                return x
            def __del__(self):
                opyard.ops.at_exit.other(x)
        lib.define("other(Tensor x) -> Tensor")
        lib.impl("other", lambda x: x, "CPU")
        lib.impl("op", Kernel(), "CPU")
    """,
    "a tensor that a C++ static holds": """
        opyard.load_library(sys.argv[1])
        opyard.ops.test_plugin.keep(x)
        opyard.ops.test_plugin.keep(opyard.from_numpy(bytearray(8)))
    """,
    "an object that only C++ holds": """
        lib.define("any(Any a) -> ()")
        lib.impl("any", lambda a: None)
        opyard.ops.at_exit.any(object())
    """,
    "calls in atexit functions": """
        import atexit
        lib.impl("op", lambda x: x, "CPU")
        @atexit.register
        def last():
            assert opyard.ops.at_exit.op(x) is x
            ov.remove()
            assert opyard.ops.at_exit.op(x) is x
        ov = override("at_exit::op", "CPU", lambda x: x)
    """,
    "calls from finalisers at exit": """
        lib.impl("op", lambda x: x, "CPU")
        class Last:
            def __init__(self):
                self.op = opyard.ops.at_exit.op
                self.x = x
                self.lib = lib
            def __del__(self):
                self.op(self.x)
        last = Last()
        sys.modules["builtins"].last = last
    """,
    "a daemon thread that calls a Python kernel": """
        import threading, time
        lib.impl("op", lambda x: x, "CPU")
        def work(op=opyard.ops.at_exit.op, x=x):
            while True:
                op(x)
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
    """,
    "a daemon thread inside a Python kernel": """
        import threading, time
        started = threading.Event()
        def kernel(x, started=started, sleep=time.sleep):
            started.set()
            while True:
                sleep(0.001)
        lib.impl("op", kernel, "CPU")
        threading.Thread(target=opyard.ops.at_exit.op, args=(x,), daemon=True).start()
        started.wait()
    """,
    "a daemon thread that overrides": """
        import threading, time
        lib.impl("op", lambda x: x, "CPU")
        op = opyard.ops.at_exit.op
        def work(op=op, x=x, override=override):
            while True:
                with override(op, "CPU", lambda x: x):
                    op(x)
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
    """,
    "a daemon thread inside finalisers of kernels": """
        import threading, time
        class Kernel:
            def __call__(self, x):
                return x
            def __del__(self, sleep=time.sleep):
                sleep(0.0005)
        def work(op=opyard.ops.at_exit.op, override=override, Kernel=Kernel):
            while True:
                override(op, "CPU", Kernel()).remove()
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.02)
    """,
    "daemon threads inside conversions of arguments": """
        import threading, time
        class Slow:
            def __index__(self, sleep=time.sleep):
                sleep(0.0005)
                return 1
            def __repr__(self, sleep=time.sleep):
                sleep(0.0005)
                return "Slow()"
        lib.define("shape(int[] n, str s) -> ()")
        lib.impl("shape", lambda n, s: None)
        def work(last, op=opyard.ops.at_exit.shape, Slow=Slow):
            while True:
                try:
                    op([Slow()], last)
                except TypeError:
                    pass
        for last in ("text", Slow()):
            threading.Thread(target=work, args=(last,), daemon=True).start()
        time.sleep(0.02)
    """,
    "daemon threads that explain and walk through key sets": """
        import threading, time
        op, explain = opyard.ops.at_exit.op, opyard.dispatch.explain
        Set = opyard.dispatch.DispatchKeySet
        lib.impl("op", lambda x: x, "CPU")
        class Foreign:
            def __dlpack__(self, **kwargs):
                return x.__dlpack__(**kwargs)
            def __dlpack_device__(self):
                return (1, 0)
        def explaining(explain=explain, op=op, x=x):
            while True:
                explain(op, x)
        def walking(Set=Set):
            while True:
                list(Set(["CPU", "CUDA", "AutogradCPU"]))
        def taking(take=opyard.from_dlpack, Foreign=Foreign):
            while True:
                take(Foreign())
        for work in (explaining, walking, taking):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
    """,
    "native threads that call a Python kernel": """
        import time
        opyard.load_library(sys.argv[1])
        lib.impl("op", lambda x: x, "CPU")
        opyard.ops.test_plugin.call_in_background("at_exit::op", x, 4)
        while opyard.ops.test_plugin.count_in_background()[0] < 100:
            time.sleep(0.001)
    """,
    "a native thread inside a Python kernel": """
        import threading, time
        opyard.load_library(sys.argv[1])
        started = threading.Event()
        def kernel(x, started=started, sleep=time.sleep):
            started.set()
            while True:
                sleep(0.001)
        lib.impl("op", kernel, "CPU")
        opyard.ops.test_plugin.call_once_in_background("at_exit::op", x)
        started.wait()
    """,
    "a daemon thread that loads": """
        import threading
        def work(path=sys.argv[1], load=opyard.load_library, unload=opyard.unload_library):
            while True:
                load(path)
                unload(path)
        threading.Thread(target=work, daemon=True).start()
        opyard.ops.aten.add(x, x)
    """,
}


# CPython 3.10 reads the interpreter's state in a daemon thread that waits for the GIL after that
# state was freed. It crashes with and without Opyard: 4 of 1,500 exits of a program without.
DAEMONS_CRASH = sys.version_info[:2] == (3, 10)


def indented_like(prelude, program):
    lines = program.splitlines()
    return prelude + "\n".join(line[8:] for line in lines) + "\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_cleanly_with(run_program, name):
    if DAEMONS_CRASH and name.startswith(("a daemon thread", "daemon threads")):
        pytest.skip("CPython 3.10 itself crashes now and then when daemon threads are running")
    program = indented_like(PRELUDE, PROGRAMS[name]) + 'print("done")\n'
    for _ in range(RUNS):
        done = run_program(program, plugin_path("opyard_test_plugin"))
        assert (done.returncode, done.stderr, done.stdout) == (0, "", "done\n")


@pytest.mark.parametrize("how", ["sys.exit(3)", "raise SystemExit(3)", "os._exit(3)"])
def test_the_exit_code_is_the_program_s(run_program, how):
    program = PRELUDE + f"import os\nlib.impl('op', lambda x: x, 'CPU')\n{how}\n"
    done = run_program(program)
    assert (done.returncode, done.stderr) == (3, "")


def test_an_exception_of_a_kernel_ends_the_program_with_its_traceback(run_program):
    program = indented_like(
        PRELUDE,
        """
        def kernel(x):
            raise KeyError("mine")
        lib.impl("op", kernel, "CPU")
        opyard.ops.at_exit.op(x)
        """,
    )
    done = run_program(program)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert "in kernel" in done.stderr and done.stderr.endswith("KeyError: 'mine'\n")


def test_exit_from_inside_a_kernel(run_program):
    program = indented_like(
        PRELUDE,
        """
        def kernel(x):
            sys.exit(5)
        lib.impl("op", kernel, "CPU")
        opyard.ops.at_exit.op(x)
        """,
    )
    done = run_program(program)
    assert (done.returncode, done.stderr) == (5, "")


def test_a_forked_child_ends_cleanly(run_program):
    program = indented_like(
        PRELUDE,
        """
        import os
        lib.impl("op", lambda x: x, "CPU")
        ov = override("at_exit::op", "CPU", lambda x: x)
        assert opyard.ops.at_exit.op(x) is x
        child = os.fork()
        if child == 0:
            assert opyard.ops.at_exit.op(x) is x
            ov.remove()
            assert opyard.ops.at_exit.op(x) is x
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        """,
    )
    done = run_program(program)
    assert (done.returncode, done.stderr) == (0, "")
