"""test_resize.py: resize_, which changes the sizes of a tensor in place.

Suspect dispatcher/src/tensor/resize.cpp, and whoever gives the address of memory away: the buffer
protocol, numpy() and DLPack.
"""

import gc
import os

import pytest

import opyard

pytestmark = pytest.mark.memory

aten = opyard.ops.aten
SANITIZED = "OPYARD_SANITIZER" in os.environ
CONTIGUOUS, PRESERVE, CHANNELS_LAST = range(3)  # the numbers that PyTorch has


def floats(*numbers):
    return opyard.tensor(list(numbers), dtype=opyard.float32)


def geometry(x):
    return tuple(x.shape), tuple(x.strides), x.storage_offset(), x.is_contiguous()


def test_elements_keep_their_order_in_memory():
    x = floats(1, 2, 3, 4, 5, 6)
    assert x.resize_([2, 3]) is x
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert x.resize_(3, 2).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert x.resize_([2]).tolist() == [1, 2]
    assert x.resize_([6]).tolist() == [1, 2, 3, 4, 5, 6]  # the memory is as large as it was
    assert x.resize_([]).item() == 1
    assert geometry(x) == ((), (), 0, True)
    assert x.numel() == 1


def test_memory_grows_and_keeps_what_it_has():
    x = floats(1, 2)
    for size in range(3, 200):
        x.resize_([size])
        x[size - 1] = size
    assert x.tolist() == [float(i) for i in range(1, 200)]
    x.resize_([7, 100_000])
    assert x[0, :199].tolist() == [float(i) for i in range(1, 200)]
    x.fill_(1)
    assert x.sum().item() == 700_000


def test_what_has_no_elements_gets_some():
    x = aten.empty([0], dtype=opyard.int64)
    x.resize_([2, 2]).fill_(3)
    assert x.tolist() == [[3, 3], [3, 3]]
    assert geometry(x.resize_([0, 5])) == ((0, 5), (5, 1), 0, True)
    assert x.resize_([4]).tolist() == [3, 3, 3, 3]


def test_many_dimensions():
    x = floats(*range(64))
    assert x.resize_([2] * 6).flatten().tolist() == list(range(64))
    assert geometry(x)[1] == (32, 16, 8, 4, 2, 1)
    assert x.resize_([2] * 3).flatten().tolist() == list(range(8))


def test_a_part_begins_where_it_began():
    x = floats(0, 1, 2, 3, 4, 5)
    part = x[2:4]
    assert part.resize_([4]).tolist() == [2, 3, 4, 5]
    part.fill_(9)
    assert x.tolist() == [0, 1, 9, 9, 9, 9]
    with pytest.raises(ValueError, match="other tensors are on it, so that it cannot grow"):
        part.resize_([5])
    assert geometry(part) == ((4,), (1,), 2, True)


def test_formats():
    x = floats(*range(24))
    x.resize_([1, 2, 3, 4], memory_format=CHANNELS_LAST)
    assert x.strides == (24, 1, 8, 2)
    assert not x.is_contiguous()
    assert x[0, :, 0, 1].tolist() == [2, 3]
    same = floats(*range(6)).resize_([2, 3]).t()
    assert same.resize_([3, 2]).strides == (1, 3)  # has the sizes already
    assert same.resize_([3, 2], memory_format=CONTIGUOUS).strides == (2, 1)
    with pytest.raises(NotImplementedError, match="memory_format is preserve_format"):
        x.resize_([2], memory_format=PRESERVE)
    with pytest.raises(ValueError, match="aten::resize_: .* is for 4"):
        x.resize_([2], memory_format=CHANNELS_LAST)


def test_versions_are_counted():
    x = floats(1, 2, 3, 4)
    start = x._version
    x.resize_([4])
    assert x._version == start
    x.resize_([2, 2])
    assert x._version == start + 1
    x.resize_([100])
    assert x._version == start + 2


def test_sizes_that_are_none():
    x = floats(1, 2)
    start = x._version
    for sizes in ([-1], [2, -3], [2**40, 2**40], [2**62]):
        with pytest.raises(ValueError, match="aten::resize_: size"):
            x.resize_(sizes)
    if not SANITIZED:  # its allocator ends the process
        with pytest.raises(MemoryError):
            x.resize_([2**45])
    part = aten.empty([10])[9:]
    with pytest.raises(ValueError, match="aten::resize_: .* 64 bits"):
        part.resize_([2**61 - 1])
    assert (x.tolist(), x._version) == ([1, 2], start)


def test_meta_is_as_the_cpu():
    for first, then in (([6], [2, 3]), ([2], [50]), ([0], [3]), ([4], [])):
        here, meta = aten.empty(first), aten.empty(first, device="meta")
        assert geometry(meta.resize_(then)) == geometry(here.resize_(then))
        assert str(meta.device) == "meta"


def test_gradients_are_not_lost():
    leaf = floats(1, 2).requires_grad_()
    for x in (leaf, leaf * 2):
        with pytest.raises(Exception, match="resize_"):
            x.resize_([1])
        with opyard.no_grad(), pytest.raises(ValueError, match="needs a gradient"):
            x.resize_([1])
    for sizes in ([1], [3]):
        factor = floats(3, 4)
        product = (leaf * factor).sum()
        factor.resize_(sizes)
        with pytest.raises(ValueError, match="modified by an inplace operation"):
            product.backward()


def test_memory_that_was_given_away_does_not_grow():
    np = pytest.importorskip("numpy")
    shown = floats(1, 2)
    view = memoryview(shown)
    with pytest.raises(ValueError, match="its address was given away"):
        shown.resize_([3])
    view.release()

    x = floats(1, 2)
    array = x.numpy()
    with pytest.raises(ValueError, match="its address was given away"):
        x.resize_([3])
    x.resize_([1])
    x[0] = 5
    assert array.tolist() == [5, 2]

    y = floats(1, 2)
    other = np.from_dlpack(y)
    with pytest.raises(ValueError, match="cannot grow"):
        y.resize_([3])
    del other
    gc.collect()
    assert y.resize_([3])[:2].tolist() == [1, 2]


def test_memory_of_others_does_not_grow():
    np = pytest.importorskip("numpy")
    array = np.arange(4.0)
    x = opyard.from_numpy(array)
    with pytest.raises(ValueError, match="another library's"):
        x.resize_([5])
    x.resize_([2, 2])
    x[1, 1] = 7
    assert array.tolist() == [0, 1, 2, 7]
    with pytest.raises(ValueError, match="borrowed"):
        aten.resize_(array, [2])
    assert array.shape == (4,)


def test_views_are_left_as_they_are():
    x = floats(1, 2, 3, 4)
    view = x[1:3]
    x.resize_([2])
    assert view.tolist() == [2, 3]
    with pytest.raises(ValueError, match="other tensors are on it"):
        x.resize_([5])
    del view
    assert x.resize_([5])[:4].tolist() == [1, 2, 3, 4]


def test_a_call_that_is_in_the_middle_reads_on():
    class Grows:
        def __init__(self, x):
            self.x = x

        def __index__(self):
            self.x.resize_([50_000])
            return 1

    x = floats(1, 2, 3)
    assert x[Grows(x)].item() == 2
    assert x.numel() == 50_000


def test_subclasses_and_wrappers():
    class Plain(opyard.Tensor):
        pass

    x = floats(1, 2).as_subclass(Plain)
    assert type(x.resize_([1, 2])) is Plain
    symbolic = aten.empty([2], device="meta")
    assert symbolic.resize_([3]).shape == (3,)


@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps what is freed")
def test_former_memory_is_given_back(run_program):
    done = run_program("""
        import opyard

        x = opyard.tensor([1.0])
        for size in range(1, 2000):
            x.resize_([size * 1000])  # 8 GB, were all of it kept
        # Not ru_maxrss, in which the process that started this one counts.
        (peak,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM:")]
        assert int(peak.split()[1]) < 1_000_000, peak
    """)
    assert (done.returncode, done.stderr) == (0, "")
