"""test_override_memory.py: unregistered kernels are freed, so memory stays flat.

Suspect reclaim.cpp, python_kernel.cpp, library.py.
"""

import ctypes
import gc
import sys
import weakref

import pytest
from processes import volume

import opyard
from opyard import _bind
from opyard.library import Library, override

CYCLES = volume(10_000, least=3000)


class _Mallinfo(ctypes.Structure):
    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    _fields_ = tuple((name, ctypes.c_size_t) for name in _names)


_mallinfo = ctypes.CDLL(None).mallinfo2
_mallinfo.restype = _Mallinfo


def allocated():
    """Bytes that malloc has given out in this process."""
    info = _mallinfo()
    return info.uordblks + info.hblkhd


def state():
    """What would grow with each cycle that leaves something behind."""
    gc.collect()
    _bind.reclaim()
    return _bind.retired_count(), len(gc.get_objects()), sys.getallocatedblocks(), allocated()


def assert_no_more(after, before, cycles):
    assert after[0] == before[0] == 0, "records that are not freed"
    assert after[1] <= before[1] + 20, "objects"
    assert after[2] <= before[2] + 200, "blocks of Python"
    # The smallest leak would be 16 bytes a cycle.
    assert after[3] <= before[3] + 8 * cycles, "bytes of malloc"


@pytest.fixture
def flat():
    """Runs a cycle many times; afterwards there is nothing more than after a few of them."""

    def check(cycle, cycles=CYCLES):
        for _ in range(min(500, cycles)):
            cycle()
        before = state()
        for _ in range(cycles):
            cycle()
        assert_no_more(state(), before, cycles)

    return check


@pytest.fixture
def op(define):
    return define("op(Tensor x) -> Tensor", CPU=lambda x: x)


def test_overriding_and_taking_back(flat, op, x):
    def cycle():
        with override(op, "CPU", lambda x: x):
            op(x)

    flat(cycle)


def test_overriding_a_cpp_kernel(flat, plugin, x):
    def cycle():
        with override("test_plugin::same", "CPU", lambda x: x):
            plugin.same(x)

    flat(cycle)
    assert plugin.same(x) is x


def test_an_override_that_is_dropped_in_a_cycle(flat, op, x):
    def cycle():
        loop = [override(op, "CPU", lambda x: x)]
        loop.append(loop)

    def collected():
        cycle()
        gc.collect(0)

    flat(collected)


def test_libraries_that_come_and_go(flat, op, ns, x):
    def cycle():
        library = Library(ns, "IMPL", "Meta")
        library.impl("op", lambda x: x)
        library._destroy()

    flat(cycle)


def test_operators_that_are_defined_again_and_again(flat, ns, x):
    def cycle():
        library = Library(ns, "FRAGMENT")
        library.define("again(Tensor x) -> Tensor")
        library.impl("again", lambda x: x, "CPU")
        assert getattr(opyard.ops, ns).again(x) is x
        library._destroy()

    flat(cycle)


def test_fallbacks_that_come_and_go(flat, op, x):
    def cycle():
        library = Library("_", "IMPL", "XLA")
        library.fallback(lambda op, *args: args[0])
        library._destroy()

    # Each cycle passes over all operators of the process, which may be thousands. A leak is still
    # more than the 200 blocks that may come and go.
    flat(cycle, volume(400, least=250))


def test_calls_and_failures(flat, op, define, x):
    def kernel(x):
        raise KeyError

    failing = define("failing(Tensor x) -> Tensor", CPU=kernel)

    def cycle():
        op(x)
        for call, args, kind in (
            (op, (), TypeError),
            (op, (1,), TypeError),
            (op, (x, x), TypeError),
            (failing, (x,), KeyError),
        ):
            try:
                call(*args)
            except kind:
                pass

    flat(cycle)


def test_failed_registrations(flat, op, ns, x):
    library = Library(ns, "IMPL", "CPU")

    def cycle():
        for call in (
            lambda: library.impl("op", 3),
            lambda: library.impl("op", lambda x: x, "CUDA"),
            lambda: override(f"{ns}::nope", "CPU", lambda x: x),
            lambda: library.define("nope() -> ()"),
        ):
            try:
                call()
            except (TypeError, RuntimeError, LookupError):
                pass

    flat(cycle)
    library._destroy()


def test_kernels_are_freed_when_their_override_ends(op, x):
    class Kernel:
        def __call__(self, x):
            return x

    for _ in range(100):
        kernel = Kernel()
        gone = weakref.ref(kernel)
        with override(op, "CPU", kernel):
            del kernel
            op(x)
            assert gone() is not None
        assert gone() is None


def test_a_kernel_that_is_running_is_freed_after_its_call(op, x):
    class Kernel:
        def __call__(self, x):
            ov.remove()
            seen.append(gone() is not None)
            return x

    seen = []
    kernel = Kernel()
    gone = weakref.ref(kernel)
    ov = override(op, "CPU", kernel)
    del kernel
    op(x)
    _bind.reclaim()
    assert seen == [True]
    assert gone() is None
