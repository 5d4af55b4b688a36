"""test_tensor_lifetime.py: one wrapper each, nothing left behind.

Suspect objects/tensor/tensor_life.cpp.
"""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from threads import is_soon_gone

import opyard

pytestmark = pytest.mark.memory


@pytest.fixture
def echo(define):
    """An operator in C++ terms: its kernel in Python gives its argument back."""
    return define("echo(Tensor x) -> Tensor", CPU=lambda x: x)


# identity ---------------------------------------------------------------------------------


def test_a_tensor_has_one_wrapper(x, define, echo):
    seen = []
    keep = define("keep(Tensor[] xs) -> Tensor[]", CPU=lambda xs: seen.extend(xs) or xs)
    assert echo(x) is x
    for back in (seen, keep([x, x])):
        assert all(one is x for one in back)
    x += 1
    assert x is echo(x)


def test_the_first_wrapper_may_be_a_result(echo):
    made = opyard.ops.aten.ones([2])
    assert echo(made) is made


def test_views_are_tensors_of_their_own(x):
    assert x[:] is not x
    assert x.T is not x
    assert opyard.ops.aten.alias(x) is not x


def test_a_new_wrapper_when_the_old_one_is_gone(plugin):
    tensor = opyard.tensor([1.0, 2.0])
    address = tensor.data_ptr()
    plugin.keep(tensor)
    assert plugin.kept() is tensor
    del tensor
    again = plugin.kept()
    assert (again.tolist(), again.data_ptr()) == ([1, 2], address)
    assert plugin.kept() is again


# weak references --------------------------------------------------------------------------


def test_weak_references_die_with_the_wrapper():
    tensor = opyard.tensor([1])
    told = []
    reference = weakref.ref(tensor, told.append)
    assert reference() is tensor
    del tensor
    assert reference() is None
    assert told == [reference]


def test_a_recycled_wrapper_is_not_its_predecessor():
    tensor = opyard.tensor([1])
    place, reference = id(tensor), weakref.ref(tensor)
    del tensor
    others = [opyard.tensor([i]) for i in range(100)]
    assert place in {id(other) for other in others}
    assert reference() is None
    assert [other.item() for other in others] == list(range(100))


def test_the_callback_of_a_weak_reference_may_meet_the_tensor_again(plugin):
    # The wrapper is dying when its callback keeps the memory, and takes it out again later.
    def meet(_):
        met.append(plugin.kept())

    met = []
    tensor = opyard.tensor([1, 2])
    plugin.keep(tensor)
    reference = weakref.ref(tensor, meet)
    del tensor
    assert reference() is not None
    plugin.keep(opyard.tensor([3]))
    assert reference() is None
    assert met[0].tolist() == [3]
    assert plugin.kept() is met[0]


def test_a_callback_that_raises_is_reported_and_harmless(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def breaks(_):
        raise ZeroDivisionError

    tensor = opyard.tensor([1])
    reference = weakref.ref(tensor, breaks)
    del tensor
    assert reference() is None
    assert [report.exc_type for report in reported] == [ZeroDivisionError]


def test_the_last_owner_may_be_a_native_thread(plugin):
    """A foreign array is let go of by what drops the last tensor, with or without the GIL."""
    array = np.ones(3)
    gone = weakref.ref(array)
    plugin.call_once_in_background("test_plugin::unchanged", opyard.from_numpy(array))
    del array
    plugin.keep(opyard.tensor([0]))
    assert is_soon_gone(gone)


def test_many_more_wrappers_than_are_kept_for_reuse():
    for _ in range(3):
        tensors = [opyard.tensor([i]) for i in range(500)]
        assert sum(tensor.item() for tensor in tensors) == 500 * 499 // 2
        del tensors


# nothing is left behind -------------------------------------------------------------------


def _fails(call, *errors):
    try:
        call()
    except errors:
        return
    raise AssertionError("this should have failed")


class _Number:
    def __index__(self):
        raise ZeroDivisionError


_BFLOAT = opyard.tensor([1], dtype=opyard.bfloat16)
_REVERSED = np.arange(3)[::-1]


STEPS = {
    "tensor": lambda x: opyard.tensor([[1, 2.5], [True, x[0]]]),
    "tensor_ragged": lambda x: _fails(lambda: opyard.tensor([[1], [x, x]]), ValueError),
    "tensor_of_strangers": lambda x: _fails(lambda: opyard.tensor([x, object()]), TypeError),
    "tensor_too_wide": lambda x: _fails(lambda: opyard.tensor([1 << 65]), ValueError),
    "from_numpy": lambda x: opyard.from_numpy(np.ones(3))[1:],
    "from_numpy_refused": lambda x: _fails(lambda: opyard.from_numpy(_REVERSED), ValueError),
    "from_numpy_stranger": lambda x: _fails(lambda: opyard.from_numpy(object()), TypeError),
    "numpy": lambda x: x.numpy()[:1],
    "buffer": lambda x: memoryview(x)[1:].tolist(),
    "no_buffer": lambda x: _fails(lambda: memoryview(_BFLOAT), BufferError),
    "dlpack": lambda x: opyard.from_dlpack(x),
    "dlpack_from_numpy": lambda x: opyard.from_dlpack(np.ones(3)),
    "dlpack_unused": lambda x: (x.__dlpack__(), x.__dlpack__(max_version=(1, 0))),
    "dlpack_refused": lambda x: _fails(lambda: x.__dlpack__(stream=1), BufferError),
    "attributes": lambda x: (x.shape, x.dtype, x.device, x.T, x.size(), x.stride(0)),
    "methods": lambda x: (x.relu(), x.sum(dim=[0])),
    "no_such_method": lambda x: _fails(lambda: x.no_such, AttributeError),
    "numbers": lambda x: (x[0].item(), float(x[0]), int(x[1]), bool(x[2]), x.tolist()),
    "no_number": lambda x: _fails(lambda: float(x), ValueError),
    "no_truth": lambda x: _fails(lambda: bool(x), ValueError),
    "arithmetic": lambda x: (x + x, 1 - x, 2 / x, x == 1, np.float32(2) * x),
    "strangers": lambda x: _fails(lambda: x + object(), TypeError),
    "shapes": lambda x: _fails(lambda: x + x[:2], ValueError),
    "in_place": lambda x: x.__iadd__(0),
    "indexing": lambda x: (x[0], x[1:], x[[0, 1]], x[x > 1], list(x)),
    "wrong_index": lambda x: (_fails(lambda: x[5], IndexError), _fails(lambda: x["a"], TypeError)),
    "index_that_raises": lambda x: _fails(lambda: x[_Number()], ZeroDivisionError),
    "writing": lambda x: x.__setitem__([0, 1], x[:2]),
    "repr": lambda x: repr(x),
    "weakref": lambda x: weakref.ref(x + 1),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_leaves_no_reference_and_no_memory(name):
    step, x = STEPS[name], opyard.tensor([1.0, 2.0, 3.0])
    count = 200

    def repeat(times):
        for _ in range(times):
            step(x)
        gc.collect()

    def measure():
        return sys.getrefcount(x), sys.getrefcount(opyard.Tensor), sys.getallocatedblocks()

    repeat(count)  # whatever is kept for reuse is kept now
    blocks = []
    for _ in range(3):  # Python's own caches grow now and then; a leak shows each time
        before = measure()
        repeat(count)
        of_x, of_type, more = (b - a for a, b in zip(before, measure(), strict=True))
        assert of_x == 0
        assert abs(of_type) < 10
        blocks.append(abs(more))
    assert min(blocks) < count / 2


def test_shared_objects_keep_their_reference_counts():
    """None, True and False are counted before CPython 3.12; a lost one kills the process late."""
    x = opyard.tensor([True, False])
    before = [sys.getrefcount(thing) for thing in (True, False, None, opyard.bool)]
    for _ in range(1000):
        x.tolist()
        x.dtype  # noqa: B018
        x.is_contiguous()
        opyard.ops.aten.clone(x, memory_format=None)
    after = [sys.getrefcount(thing) for thing in (True, False, None, opyard.bool)]
    assert all(abs(a - b) < 100 for a, b in zip(before, after, strict=True))


def test_memory_is_flat_over_many_large_tensors(run_program):
    done = run_program("""
        import opyard

        def peak():  # KiB; in ru_maxrss the process that started this one counts
            (line,) = [one for one in open("/proc/self/status") if one.startswith("VmHWM:")]
            return int(line.split()[1])

        zeros = opyard.ops.aten.zeros
        for _ in range(100):
            zeros([1 << 20])[1:].numpy()[0] = 1
        before = peak()
        for _ in range(300):
            zeros([1 << 20])[1:].numpy()[0] = 1  # 4 MiB each
        assert peak() - before < 50_000, peak() - before
    """)
    assert done.returncode == 0, done.stderr


# threads and the end ----------------------------------------------------------------------


def test_threads_that_share_a_tensor_share_its_wrapper(echo):
    tensor = opyard.tensor([1.0, 2.0])
    wrong = []

    def work():
        for _ in range(2000):
            view = tensor[0]
            if echo(tensor) is not tensor or echo(view) is not view or view.item() != 1:
                wrong.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    "leave",
    ["pass", "sys.exit(0)", "os._exit(0)", "raise SystemExit(0)", "del opyard, sys.modules"],
)
def test_leaving_with_live_tensors(run_program, leave):
    done = run_program(f"""
        import os, sys
        import numpy as np
        import opyard

        array = np.ones(4)
        kept = [opyard.from_numpy(array), opyard.from_dlpack(array), opyard.tensor([1.0]) + 1]
        kept.append(kept)  # only the collector finds this
        class Late:
            def __del__(self):
                kept[0] + 1
        late = Late()
        opyard.ops.aten.leaked = kept
        sys.stdout.flush()
        {leave}
    """)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
