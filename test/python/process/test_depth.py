"""test_depth.py: deep structures: chains of up to 1,000,000 links, and the C stack of calls.

What is long and not deep in calls is made, used and dropped on a stack of 256 KiB (ENDS): a
function that calls itself at each link would need more, whatever it does there. Chains of shared
memory are in test_chains.py.

Calls of Python kernels that call operators take C stack at each level, which Python's own limit
does not count; before the stack of a thread ends, RecursionError is raised. Suspect
runtime/stack_end.cpp, operators/python_function.h.
"""

import sys

import pytest
from built import plain_build
from processes import run, volume

# Each way in which an operator leads back to Python: text that defines go(depth), which runs
# `bottom` there.
WAYS = {
    "direct call": """
        lib.define("f(Tensor x) -> Tensor")
        def kernel(x):
            global depth
            depth += 1
            bottom()
            return opyard.ops.deep.f(x)
        lib.impl("f", kernel, "CPU")
        go = lambda: opyard.ops.deep.f(x)
    """,
    "boxed call": """
        lib.define("f(Tensor x, int[] n) -> Tensor")
        def kernel(x, n):
            global depth
            depth += 1
            bottom()
            return opyard.ops.deep.f(x, [1])
        lib.impl("f", kernel, "CPU")
        go = lambda: opyard.ops.deep.f(x, [1])
    """,
    "fallback": """
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
        below = Library("_", "IMPL", "OnTop1")
        def kernel(op, *args):
            global depth
            depth += 1
            bottom()
            return op(*args)
        below.fallback(kernel)
        def go():
            with opyard.dispatch.IncludeDispatchKeyGuard("OnTop1"):
                opyard.ops.deep.f(x)
    """,
    "call_next": """
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: opyard.ops.deep.f(x), "CPU")
        def kernel(call_next, x):
            global depth
            depth += 1
            bottom()
            return call_next(x)
        made = override("deep::f", "CPU", kernel, with_next=True)
        go = lambda: opyard.ops.deep.f(x)
    """,
    "handler of a class": """
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
        class T(opyard.Tensor):
            @classmethod
            def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
                global depth
                depth += 1
                bottom()
                return op(*args)
        x = opyard.Tensor.make_subclass(T, x)
        go = lambda: opyard.ops.deep.f(x)
    """,
    "mode": """
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
        class Mode(opyard.dispatch.DispatchMode):
            def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
                global depth
                depth += 1
                bottom()
                with self:
                    return op(*args)
        def go():
            with Mode():
                opyard.ops.deep.f(x)
    """,
}

PROGRAM = """
import sys, textwrap, threading
import opyard, opyard.dispatch
from opyard.library import Library, override
lib = Library("deep", "FRAGMENT")
x = opyard.tensor([1.0])
depth = 0
bottom = lambda: None
exec(textwrap.dedent(sys.argv[1]))
"""

SMALL = (
    PROGRAM
    + """
sys.setrecursionlimit(int(sys.argv[3]))
caught = []
def work():
    global depth
    for _ in range(3):
        depth = 0
        try:
            go()
        except RecursionError as error:
            caught.append((depth, str(error)))
threading.stack_size(int(sys.argv[2]) * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert len(caught) == 3, caught
print(*caught[0])
"""
)


@plain_build
@pytest.mark.parametrize("kib", [128, 256, 512, 1024])
@pytest.mark.parametrize("way", WAYS)
def test_B10_a_small_stack_raises_before_it_ends(way, kib):
    done = run(SMALL, WAYS[way], kib, 100_000, limit=60)
    assert (done.code, done.stderr) == (0, ""), (done.code, done.stderr[-2000:])
    levels, _, text = done.stdout.partition(" ")
    assert int(levels) > 10
    # From 3.12 on CPython counts calls of C by itself; in a large stack its count may end first.
    if sys.version_info >= (3, 12) and kib == 1024 and "maximum recursion depth" in text:
        return
    # From 3.14 on it looks at the stack, too, and may see the end of a small one first.
    if sys.version_info >= (3, 14) and kib == 128 and "Stack overflow (used " in text:
        return
    assert "too deep for the C stack of this thread" in text
    assert "give the thread a larger stack" in text


# An argument's own methods may call the operator that it is converted for.
CONVERSIONS = {
    "__opyard_value__": """
        class Argument:
            def __opyard_value__(self):
                global depth
                depth += 1
                return opyard.ops.aten.neg(self)
        go = lambda: opyard.ops.aten.neg(Argument())
    """,
    "__index__": """
        class Argument:
            def __index__(self):
                global depth
                depth += 1
                return opyard.ops.aten.full([self], 1.0)
        go = lambda: opyard.ops.aten.full([Argument()], 1.0)
    """,
}


@plain_build
@pytest.mark.parametrize("kib", [256, 1024])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_conversion_that_calls_its_operator_raises_before_the_stack_ends(name, kib):
    done = run(SMALL, CONVERSIONS[name], kib, 1000, limit=60)
    assert (done.code, done.stderr) == (0, ""), (done.code, done.stderr[-2000:])
    assert int(done.stdout.partition(" ")[0]) > 10


@plain_build
@pytest.mark.parametrize("way", WAYS)
def test_B10_python_s_own_limit_comes_first_where_there_is_room(way):
    done = run(SMALL, WAYS[way], 16 * 1024, 500, limit=60)
    assert (done.code, done.stderr) == (0, ""), (done.code, done.stderr[-2000:])
    assert "maximum recursion depth exceeded" in done.stdout


# Bytes of C stack that a level may take, on CPython 3.11: 32 more than when this was written. Some
# 400 of them are CPython's own. A level that takes more lets fewer fit.
MOST_BYTES = {
    "direct call": 784,
    "boxed call": 1760,
    "fallback": 1712,
    "call_next": 3088,
    "handler of a class": 1232,
    "mode": 1312,
}

LEVEL = (
    PROGRAM
    + """
class Enough(Exception):
    pass
pointers = []
def bottom():
    if depth in (20, 120):
        # The stack pointer of a thread that reads it: the one before the last.
        pointers.append(int(open("/proc/thread-self/syscall").read().split()[-2], 16))
    if depth == 120:
        raise Enough
try:
    go()
except Enough:
    pass
print((pointers[0] - pointers[1]) // 100)
"""
)


@plain_build
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the figures are of CPython 3.11")
@pytest.mark.parametrize("way", WAYS)
def test_what_a_level_takes(way):
    done = run(LEVEL, WAYS[way], limit=30)
    assert (done.code, done.stderr) == (0, ""), done.stderr
    assert 100 < int(done.stdout) <= MOST_BYTES[way], done.stdout


def test_every_way_has_its_figure():
    assert set(WAYS) == set(MOST_BYTES)


# What may be long: text that makes it of N links, uses it, and drops it.
ENDS = {
    "attributes of tensors": """
        x = opyard.tensor([1.0])
        for _ in range(N):
            y = opyard.tensor([1.0])
            y.before = x
            x = y
        del x, y
    """,
    "attributes of a class": """
        class T(opyard.Tensor): pass
        make = lambda: opyard.Tensor.make_subclass(T, opyard.tensor([1.0]))
        x = make()
        for _ in range(N):
            y = make()
            y.before = x
            x = y
        del x, y
    """,
    "functions of gradients, dropped": """
        y = opyard.tensor([1.0]).requires_grad_()
        for _ in range(N):
            y = y.neg()
        del y
    """,
    "a backward": """
        x = opyard.tensor([1.0]).requires_grad_()
        y = x
        for _ in range(N):
            y = y.neg()
        y.sum().backward()
        assert abs(x.grad.tolist()[0]) == 1.0
        del y
    """,
    "values that functions saved": """
        x = opyard.tensor([1.0]).requires_grad_()
        y = x
        for _ in range(N):
            y = y * y
        y.sum().backward()
        del y
    """,
    "writes with a history": """
        x = opyard.tensor([1.0]).requires_grad_()
        y = x.clone()
        for _ in range(N):
            y.mul_(1.0)
        y.sum().backward()
        assert x.grad.tolist() == [1.0]
        del y
    """,
    "a gradient that has a history": """
        x = opyard.tensor([1.0]).requires_grad_()
        y = x
        for _ in range(N // 10):
            y = y * x
        (g,) = opyard.autograd.grad(y.sum(), [x], create_graph=True)
        del y, g
    """,
    "views of views": """
        y = opyard.tensor([1.0]).requires_grad_().clone()
        for _ in range(N):
            y = y.view([1])
        del y
    """,
    "nodes of a graph": """
        b = jit.GraphBuilder()
        value = b.input("x")
        for _ in range(N // 10):
            value = value + 1
        b.output(value)
        graph = b.graph
        graph.lint()
        assert jit.compile(graph)(opyard.tensor([1.0])).tolist() == [N // 10 + 1.0]
        assert len(str(graph)) > N // 10
        del graph, b, value
    """,
    "nodes of a text": """
        lines = ["graph(%0 : Tensor):"]
        lines += [f"  %{i + 1} : Tensor = aten::neg(%{i})" for i in range(N - 10)]
        lines += [f"  return (%{N - 10})", ""]
        graph = jit.parse_ir("\\n".join(lines))
        del graph
    """,
    "futures that end": """
        last = first = opyard.futures.Future()
        for _ in range(N):
            last = last.then(lambda future: future.value())
        first.set_result(1)
        assert last.wait() == 1
        del last, first
    """,
    "futures that are dropped": """
        last = opyard.futures.Future()
        for _ in range(N):
            last = last.then(lambda future: future.value())
        del last
    """,
    "spans of a profile": """
        with profiler.profile() as prof:
            scopes = [profiler.record_function("a") for _ in range(N)]
            for scope in scopes:
                scope.__enter__()
            for scope in reversed(scopes):
                scope.__exit__(None, None, None)
        assert len(prof.events()) >= N
        str(prof.key_averages())
        prof.export_chrome_trace(os.devnull)
        del prof
    """,
    "key guards": """
        guards = [opyard.dispatch.IncludeDispatchKeyGuard("OnTop1") for _ in range(N)]
        for guard in guards:
            guard.__enter__()
        for guard in reversed(guards):
            guard.__exit__(None, None, None)
    """,
    "modes": """
        class Mode(opyard.dispatch.DispatchMode):
            def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
                return op(*args)
        modes = [Mode() for _ in range(N // 100)]  # each looks at those that are there
        for mode in modes:
            mode.__enter__()
        for mode in reversed(modes):
            mode.__exit__(None, None, None)
    """,
}

LONG = """
import os, sys, textwrap, threading
import opyard, opyard.dispatch, opyard.futures, opyard.autograd
from opyard import jit, profiler
N = int(sys.argv[2])
def work():
    exec(textwrap.dedent(sys.argv[1]), globals())
    print("ended")
threading.stack_size(256 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@plain_build
@pytest.mark.parametrize("way", ENDS)
def test_B10_what_is_long_ends_on_a_small_stack(way):
    if way.startswith("attributes") and sys.version_info >= (3, 13):
        pytest.skip("CPython 3.13 drops long chains of its own objects too deep for 256 KiB, too")
    done = run(LONG, ENDS[way], volume(100_000), limit=300)
    assert (done.code, done.stdout, done.stderr) == (0, "ended\n", ""), done
