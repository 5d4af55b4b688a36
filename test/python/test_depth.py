"""test_depth.py: what goes deep: chains that end at 1,000,000 links, and the C stack of calls.

Calls of Python kernels that call operators take C stack at each level, which Python's own limit
does not count; before the stack of a thread ends, RecursionError is raised. Suspect
runtime/stack_end.cpp, operators/python_function.h.
"""

import sys

import pytest
from conftest import plain_build
from processes import run

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
    assert "too deep for the C stack of this thread" in text
    assert "give the thread a larger stack" in text


@plain_build
@pytest.mark.parametrize("way", WAYS)
def test_B10_python_s_own_limit_comes_first_where_there_is_room(way):
    done = run(SMALL, WAYS[way], 16 * 1024, 500, limit=60)
    assert (done.code, done.stderr) == (0, ""), (done.code, done.stderr[-2000:])
    assert "maximum recursion depth exceeded" in done.stdout


# Bytes of C stack that a level may take, on CPython 3.11: 32 more than when this was written. Some
# 400 of them are CPython's own. A level that takes more lets fewer fit.
MOST_BYTES = {
    "direct call": 1264,
    "boxed call": 1632,
    "fallback": 1824,
    "call_next": 2960,
    "handler of a class": 1248,
    "mode": 1360,
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
