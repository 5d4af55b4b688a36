"""test_override_memory.py: what is taken back is freed, so memory stays flat.

Suspect reclaim.cpp, python_kernel.cpp, library.py.
"""

import gc
import sys
import weakref

import pytest

import opyard
from opyard import _bind
from opyard.library import Library, override

CYCLES = 10_000


def resident():
    """Bytes of memory that the process holds."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def state():
    """What would grow with each cycle that leaves something behind."""
    gc.collect()
    _bind.reclaim()
    return _bind.retired_count(), len(gc.get_objects()), sys.getallocatedblocks()


@pytest.fixture
def flat():
    """Runs a cycle many times; afterwards there is nothing more than after a few of them."""

    def check(cycle):
        for _ in range(500):
            cycle()
        before, held = state(), resident()
        for _ in range(CYCLES):
            cycle()
        after = state()
        assert after[0] == before[0] == 0, "records that are not freed"
        assert after[1] <= before[1] + 20, "objects"
        assert after[2] <= before[2] + 200, "blocks"
        # A leak of the smallest record, some 100 bytes, would be a megabyte.
        assert resident() - held < 512 * 1024, "bytes"

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

    flat(cycle)


def test_calls_and_failures(flat, op, define, x):
    def kernel(x):
        raise KeyError

    failing = define("failing(Tensor x) -> Tensor", CPU=kernel)

    def cycle():
        op(x)
        for wrong in ((), (1,), (x, x)):
            with pytest.raises(TypeError):
                op(*wrong)
        with pytest.raises(KeyError):
            failing(x)

    for _ in range(500):
        cycle()
    before, held = state(), resident()
    for _ in range(CYCLES // 10):
        cycle()
    after = state()
    assert after[2] <= before[2] + 200
    assert resident() - held < 512 * 1024


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
