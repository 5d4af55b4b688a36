"""Arrays that are exported to operators for a call, and tensors that outlive it.

Suspect objects/arrays/exported_array.cpp, then tensor/exported_tensor.cpp. No array may be lost,
given back twice, or used after it is gone.
"""

import array
import gc
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from array_libraries import Exporter, Matrix
from built import import_arrays

import opyard
from opyard.library import override

pytestmark = pytest.mark.memory

arrays = import_arrays()
aten = opyard.ops.aten


class Weak(arrays.Subclassable):
    """An array with a table that can be watched."""


def buffer_of(values):
    return memoryview(np.array(values, np.float32))


WAYS = {
    "numpy": lambda v: np.array(v, np.float32),
    "numpy subclass": lambda v: np.array(v, np.float32).view(Matrix),
    "table": arrays.Array,
    "table that owns only": arrays.Older,
    "subclass of a table": Weak,
    "__dlpack__": Exporter,
    "buffer": buffer_of,
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def make(request):
    return request.param


@pytest.fixture(autouse=True)
def all_given_back(plugin):
    """Every struct is given back once, and not before its tensors are gone."""
    made, back = arrays.counts()
    yield
    plugin.drop_kept()
    gc.collect()
    now = arrays.counts()
    assert now[0] - made == now[1] - back


def fill_memory():
    """Takes what was freed, so that it is not by chance as it was."""
    return [bytearray(b"\xff" * n) for n in (8, 16, 24, 32) for _ in range(200)]


def reads_as(tensor, values):
    rubbish = fill_memory()
    assert tensor.tolist() == values
    del rubbish


# kept -------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["keep", "keep_view"])
def test_P17_a_cpp_kernel_keeps_the_tensor(plugin, make, keep):
    for values in ([1.0, 2.0], [3.0, 4.0, 5.0]):
        getattr(plugin, keep)(make(values))
        gc.collect()
        reads_as(plugin.kept(), values)
        other = make([9.0, 9.0])
        assert aten.neg(other).tolist() == [-9.0, -9.0]
        reads_as(plugin.kept(), values)


def test_P17_a_kept_tensor_is_written_to_and_read_in_the_array(plugin, make):
    a = make([1.0, 2.0])
    plugin.keep(a)
    plugin.kept().fill_(5.0)
    assert a.tolist() == [5.0, 5.0]


def test_P17_a_kernel_that_keeps_and_fails(plugin, make):
    with pytest.raises(ValueError, match="kept it, and failed"):
        plugin.keep_and_fail(make([1.0, 2.0]))
    reads_as(plugin.kept(), [1.0, 2.0])


def test_P17_a_python_kernel_keeps_the_tensor_its_view_and_a_list(define, make):
    kept = []

    def kernel(x):
        kept.extend([x, x[1:], [x, {"x": x}]])

    op = define("keeps(Tensor x) -> ()", CPU=kernel)
    for _ in range(3):
        op(make([1.0, 2.0]))
        gc.collect()
        whole, part, more = kept
        reads_as(whole, [1.0, 2.0])
        reads_as(part, [2.0])
        assert more[0] is more[1]["x"] is whole
        whole.fill_(7.0)
        assert part.tolist() == [7.0]
        kept.clear()


def test_P17_an_exception_carries_the_tensor_away(define, make):
    def kernel(x):
        error = ZeroDivisionError()
        error.x = x
        raise error

    op = define("raises(Tensor x) -> Tensor", CPU=kernel)
    with pytest.raises(ZeroDivisionError) as caught:
        op(make([1.0, 2.0]))
    reads_as(caught.value.x, [1.0, 2.0])


def test_P17_a_tensor_with_an_attribute_is_kept_by_cpp_with_it(plugin, define, make):
    def kernel(x):
        x.note = "mine"
        plugin.keep(x)

    define("notes(Tensor x) -> ()", CPU=kernel)(make([1.0, 2.0]))
    gc.collect()
    assert plugin.kept().note == "mine"
    reads_as(plugin.kept(), [1.0, 2.0])


def test_P17_an_attribute_that_is_set_and_forgotten_stays_with_its_call(define, make):
    seen = []

    def kernel(x):
        seen.append(hasattr(x, "note"))
        x.note = "mine"

    op = define("notes(Tensor x) -> ()", CPU=kernel)
    for _ in range(4):
        op(make([1.0, 2.0]))
    assert seen == [False] * 4


def test_P17_weak_references_end_with_the_call(define, make):
    seen = []
    op = define("watches(Tensor x) -> ()", CPU=lambda x: seen.append(weakref.ref(x)))
    for _ in range(3):
        op(make([1.0, 2.0]))
        gc.collect()
    assert [ref() for ref in seen] == [None] * 3


# given back -------------------------------------------------------------------------------


def test_P17_the_argument_itself_and_views_of_it_are_results(plugin, make):
    a = make([1.0, 2.0])
    assert plugin.unchanged(a) is a
    view = plugin.view(a)
    same, alias = plugin.list_of(a)
    assert same is a
    del a, same
    gc.collect()
    reads_as(view, [1.0, 2.0])
    reads_as(alias, [1.0, 2.0])


def test_P17_a_view_on_a_read_only_array_is_read_only(plugin):
    assert plugin.view(arrays.Array([1.0], None, True)).read_only
    read_only = np.zeros(2)
    read_only.flags.writeable = False
    assert not plugin.view(read_only).flags.writeable


def test_P17_nothing_is_kept_alive_that_nobody_keeps(plugin, make):
    a = make([1.0, 2.0])
    plugin.is_read_only(a)
    before = sys.getrefcount(a)
    for _ in range(100):
        plugin.is_read_only(a)
        aten.neg(a)
        plugin.view(a)
        plugin.keep(a)
        plugin.drop_kept()
    assert sys.getrefcount(a) == before


@pytest.mark.parametrize("kind", [np.ndarray, Weak], ids=["numpy", "table"])
def test_P17_an_array_dies_with_the_last_tensor(plugin, kind):
    a = np.zeros(4) if kind is np.ndarray else Weak([1.0])
    gone = weakref.ref(a)
    plugin.keep_view(a)
    del a
    if kind is np.ndarray:
        assert gone() is not None  # what __dlpack__ holds
    plugin.drop_kept()
    assert gone() is None


# read-only --------------------------------------------------------------------------------


def test_P17_a_kernel_learns_that_an_array_is_read_only(plugin):
    bytes_of = memoryview(b"\0\0\0\0")
    locked = np.zeros(4, np.uint8)
    locked.flags.writeable = False
    for a in (arrays.Array([1.0], None, True), bytes_of, locked):
        assert plugin.is_read_only(a)
        with pytest.raises(ValueError, match="is read-only and cannot be written"):
            plugin.write(a)
    for a in (arrays.Array([1.0]), bytearray(4), np.zeros(4, np.uint8)):
        assert not plugin.is_read_only(a)
        plugin.write(a)


def test_P17_an_array_that_is_read_first_is_not_written_later(define):
    written = []
    op = define("later(Tensor x, Tensor(a!) y) -> ()", CPU=lambda x, y: written.append(y.fill_(1)))
    a = arrays.Array([1.0], None, True)
    with pytest.raises(ValueError, match="the operator writes to this argument"):
        op(a, a)
    b = arrays.Array([0.0])
    op(b, b)
    assert b.tolist() == [1.0]


def test_P17_an_array_that_is_exported_and_not_given_away(plugin, define):
    a = arrays.Array([1.0, 2.0])
    a.fail, a.exports = BufferError("mine"), True
    plugin.ignore(a)  # who asks for nothing needs no owner
    op = define("sees(Tensor x) -> ()", CPU=lambda x: None)
    with pytest.raises(BufferError, match="^mine$"):
        plugin.is_read_only(a)
    with pytest.raises(BufferError, match="^mine$"):
        op(a)
    a.fail = "quietly"
    with pytest.raises(ValueError) as caught:
        op(a)
    assert str(caught.value) == (
        "an argument of type 'opyard_test_arrays.Array' that was exported to an operator cannot be "
        "held: its exchange table failed without an exception"
    )


def test_P17_a_kept_array_that_is_not_given_away_is_kept_itself_and_read_only(plugin, monkeypatch):
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    a = arrays.Array([1.0, 2.0])
    a.fail, a.exports = BufferError("mine"), True
    plugin.keep(a)
    assert [str(one.exc_value) for one in unraisable] == ["mine"]
    del a
    unraisable.clear()
    gc.collect()
    reads_as(plugin.kept(), [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        plugin.kept().fill_(0.0)


# memory that may move ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bytearray, lambda b: array.array("B", b)], ids=["bytes", "array"])
def test_P17_a_buffer_cannot_move_while_it_is_exported_or_kept(plugin, define, kind):
    data = kind(b"\x01\x02")
    seen = []

    def kernel(x):
        with pytest.raises(BufferError):
            data.append(3)
        seen.append(x.tolist())

    define("pins(Tensor x) -> ()", CPU=kernel)(data)
    assert seen == [[1, 2]]
    data.append(3)
    plugin.keep(data)
    with pytest.raises(BufferError):
        data.append(4)
    assert plugin.kept().tolist() == [1, 2, 3]
    plugin.drop_kept()
    data.append(4)


def test_P17_a_list_that_loses_its_arrays_in_the_call(define, make):
    def kernel(xs):
        given.clear()
        gc.collect()
        rubbish = fill_memory()
        seen.append([x.tolist() for x in xs])
        del rubbish

    seen = []
    op = define("clears(Tensor[] xs) -> ()", CPU=kernel)
    given = [make([1.0, 2.0]), make([3.0])]
    op(given)
    assert seen == [[[1.0, 2.0], [3.0]]]


# calls in calls, threads ------------------------------------------------------------------


def test_P17_a_call_within_a_call_gets_a_tensor_of_its_own(define, make):
    a, b = make([1.0, 2.0]), make([3.0, 4.0])
    inner = define("inner(Tensor x) -> Tensor", CPU=lambda x: x * 2)
    results = []

    def kernel(x):
        results.append(inner(b).tolist())
        results.append(x.tolist())
        return x + 1

    assert define("outer(Tensor x) -> Tensor", CPU=kernel)(a).tolist() == [2.0, 3.0]
    assert results == [[6.0, 8.0], [1.0, 2.0]]


def test_P17_threads_keep_and_drop(plugin, make):
    before = sum(plugin.count_in_background())
    for i in range(20):
        plugin.drop_in_background(make([float(i), 2.0]))
        plugin.read_in_background(make([float(i), 2.0]))
    deadline = time.monotonic() + 10
    while sum(plugin.count_in_background()) - before < 80 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sum(plugin.count_in_background()) - before == 80
    time.sleep(0.05)  # the threads let go after they have counted
    opyard.tensor([0.0])  # empties the drop list


def test_P12_a_thread_outside_of_python_does_not_wait_for_the_gil(plugin, define):
    for a in (np.zeros(2), bytearray(2), arrays.Older([1.0]), opyard.tensor([1.0])):
        assert plugin.ask_on_a_thread(a) == ""
    assert plugin.ask_on_a_thread(arrays.Array([1.0])) == (
        "an argument that was exported to an operator was to be written, or given away, on a "
        "thread outside of Python, which cannot ask for that; declare an argument that is "
        "written to in the schema, as in Tensor(a!), or ask on the thread of the call first"
    )


def test_P17_many_threads_at_once(plugin, make):
    wrong = []

    def work(number):
        for i in range(200):
            a = make([float(number), float(i)])
            if aten.neg(a).tolist() != [-float(number), -float(i)]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# what an exported tensor looks like ------------------------------------------------------------


def geometries():
    base = np.arange(120.0).reshape(2, 3, 4, 5)
    yield from (base, base[:, ::2], base.T, base[1, 2], base[..., 0], base[:1, :, :1])
    yield from (base[0, 0, 0, 0:1], base[:, None], base[::-1][:1], base[:, 1:2].T)
    yield from (np.array(3.0), np.zeros((1, 1)), np.zeros((0, 3)), np.zeros((3, 0, 2)))
    yield from (np.zeros((1,) * 7), np.asfortranarray(base), np.zeros((2, 2), np.float32)[:, 1])
    yield np.broadcast_to(np.zeros(3), (2, 3))
    for dtype in ("?", "i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "q", "l"):
        yield np.ones((2, 3), dtype)


def geometry(a):
    return f"{a.dtype.str}{a.shape}{a.strides}"


@pytest.mark.parametrize("a", list(geometries()), ids=geometry)
def test_F57_an_exported_array_looks_as_from_dlpack_makes_it(plugin, define, a):
    seen = []

    def kernel(x):
        seen.append((x.dtype, x.shape, x.is_contiguous(), x.data_ptr(), x.numel(), x.tolist()))
        sizes = [s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1]
        seen.append(sizes if x.numel() else [])

    op = define("looks(Tensor x) -> ()", CPU=kernel)
    try:
        taken = opyard.from_dlpack(a)
    except ValueError:
        with pytest.raises(ValueError, match="cannot take what was given"):
            op(a)
        return
    op(a)
    kernel(taken)
    assert seen[:2] == seen[2:]
    plugin.keep(a)
    kernel(plugin.kept())
    assert seen[:2] == seen[4:]


@pytest.mark.parametrize(
    "a",
    [
        np.ones(2, ">f4"),
        np.ones(2, object),
        np.ones(2, "M8[s]"),
        np.ones(2, [("a", "f4")]),
        np.ones(2, np.longdouble),
        np.ones(3)[::-1],
        np.frombuffer(b"\0" * 17, np.uint8)[1:].view("f8"),
        np.zeros(2, "S3"),
    ],
    ids=lambda a: f"{a.dtype.str}{a.strides}",
)
def test_F57_numpy_arrays_out_of_the_ordinary_are_refused_as_by_dlpack(a):
    class Other(Exporter):
        def __init__(self):
            self.array = a

    texts = []
    for given in (a, a.view(Matrix) if a.dtype.kind != "V" else a):
        with pytest.raises((TypeError, ValueError, NotImplementedError, RuntimeError)) as caught:
            aten.neg(given)
        texts.append(str(caught.value).replace("array_libraries.Matrix", "numpy.ndarray"))
    assert texts[0].splitlines()[0] == texts[1].splitlines()[0].replace("Matrix", "numpy.ndarray")


# What a buffer is asked for, as CPython's header has it.
SIMPLE, WRITABLE, SIZES, STRIDES, ROWS, COLUMNS, ANY = 0, 1, 0x8, 0x18, 0x38, 0x58, 0x98
MATRIX = opyard.tensor([[1, 2, 3], [4, 5, 6]])
SHOWN = {
    "rows": (MATRIX, {SIMPLE, WRITABLE, SIZES, STRIDES, ROWS, ANY}),
    "columns": (MATRIX.T, {STRIDES, COLUMNS, ANY}),
    "every second": (MATRIX[:, ::2], {STRIDES}),
    "read-only": (opyard.from_numpy(b"abc"), {SIMPLE, SIZES, STRIDES, ROWS, COLUMNS, ANY}),
}


@pytest.mark.parametrize("flags", [SIMPLE, WRITABLE, SIZES, STRIDES, ROWS, COLUMNS, ANY], ids=hex)
@pytest.mark.parametrize("name", SHOWN)
def test_a_tensor_shows_the_buffer_that_was_asked_for_or_says_why_not(name, flags):
    tensor, shown = SHOWN[name]
    if flags in shown:
        assert arrays.buffer(tensor, flags) is None
    else:
        with pytest.raises(BufferError, match="^the tensor.*, and .* was asked for$"):
            arrays.buffer(tensor, flags)


def test_a_view_that_cpp_makes_of_a_lent_array_holds_the_array():
    """aten::linear is made of others in C++: a kernel in Python gets the transposed weight."""
    kept = []

    def addmm(*args, **kwargs):
        kept.append(args)
        return opyard.zeros([2, 4])

    x, w, b = np.ones((2, 3), "f4"), np.arange(12, dtype="f4").reshape(4, 3), np.ones(4, "f4")
    arrays = [weakref.ref(array) for array in (b, x, w)]
    expected = w.T.tolist()
    with override("aten::addmm", "CPU", addmm):
        opyard.ops.aten.linear(x, w, b)
    del x, w, b
    gc.collect()
    fresh = [np.zeros((4, 3), "f4") for _ in range(100)]
    view = kept[0][2]
    assert view.tolist() == expected and not any(array.any() for array in fresh)
    assert [array() is not None for array in arrays] == [True] * 3
    del view
    kept.clear()
    gc.collect()
    assert [array() is not None for array in arrays] == [False] * 3
