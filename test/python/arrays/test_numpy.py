"""test_numpy.py: memory shared with NumPy and other buffers. Suspect tensor_{numpy,buffer}.cpp."""

import array as plain_arrays
import ctypes
import gc
import hashlib
import mmap
import weakref

import numpy as np
import pytest

import opyard

pytestmark = pytest.mark.memory

DTYPES = [
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
]


# from_numpy -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_memory_is_shared_both_ways(name):
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(name)
    tensor = opyard.from_numpy(array)
    assert tensor.dtype is getattr(opyard, name)
    assert (tensor.shape, tensor.tolist()) == ((2, 3), array.tolist())
    assert tensor.data_ptr() == array.__array_interface__["data"][0]
    back = tensor.numpy()
    assert back.dtype == array.dtype
    back[0, 0] = 1
    assert array[0, 0] == tensor[0, 0].item() == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[:, ::2],
        lambda a: a[1:, 1:],
        lambda a: a[0, 0],
        lambda a: a[:, :0],
        lambda a: a[None, :, None],
        lambda a: np.broadcast_to(a[0], (5, 4)),
        lambda a: np.asfortranarray(a),
        lambda a: a[::-1][:1],  # a negative stride, but nowhere to go
        lambda a: a[::-1][:0],
    ],
)
def test_any_geometry_comes_and_goes(view):
    array = np.asarray(view(np.arange(12, dtype=np.int32).reshape(3, 4)))
    tensor = opyard.from_numpy(array)
    assert (tensor.shape, tensor.tolist()) == (array.shape, array.tolist())
    back = tensor.numpy()
    assert (back.shape, back.tolist()) == (array.shape, array.tolist())
    for size, ours, theirs in zip(array.shape, back.strides, array.strides, strict=True):
        assert ours == theirs or size <= 1 or array.size == 0


def test_read_only_stays_read_only():
    array = np.ones(3)
    array.flags.writeable = False
    tensor = opyard.from_numpy(array)
    assert not tensor.numpy().flags.writeable
    assert not tensor[1:].numpy().flags.writeable
    assert tensor.clone().numpy().flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        tensor.fill_(0)


def test_other_buffers_are_accepted():
    assert opyard.from_numpy(plain_arrays.array("d", [1.5, 2])).tolist() == [1.5, 2]
    assert opyard.from_numpy(plain_arrays.array("l", [1, 2])).dtype is opyard.int64
    assert opyard.from_numpy(plain_arrays.array("q", [1, 2])).dtype is opyard.int64
    assert opyard.from_numpy(b"ab").tolist() == [97, 98]
    assert opyard.from_numpy(memoryview(b"abcd").cast("b", (2, 2))).shape == (2, 2)
    with mmap.mmap(-1, 16) as mapped:
        tensor = opyard.from_numpy(mapped)
        tensor.fill_(7)
        assert mapped[:16] == b"\7" * 16
        del tensor


def test_memory_cannot_move_while_a_tensor_has_it():
    buffer = bytearray(b"abcd")
    tensor = opyard.from_numpy(buffer)
    with pytest.raises(BufferError):
        buffer.append(1)
    del tensor
    buffer.append(1)


@pytest.mark.parametrize("thing", [[1, 2], 3, None, "text", {}, object()], ids=str)
def test_what_has_no_buffer_is_refused(thing):
    with pytest.raises(TypeError) as caught:
        opyard.from_numpy(thing)
    assert str(caught.value) == (
        f"from_numpy: a {type(thing).__name__} was given; accepted are NumPy arrays and other "
        "objects with the buffer protocol"
    )
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([1], ">u2"), "another byte order"),
        (np.array([1], np.longdouble), "the elements have the format 'g'; accepted are"),
        (np.array(["a"]), "the elements have the format '1w'; accepted are"),
        (np.array([b"a"]), "the elements have the format '1s'; accepted are"),
        (np.array([(1, 2)], "i4,i4"), "the elements have the format 'T{"),
        (np.array([None]), "the elements have the format 'O'; accepted are"),
        (np.array([1], ">f4"), r"another byte order .*newbyteorder\('='\)"),
        (np.array([1], ">i8"), "another byte order"),
        (np.arange(3)[::-1], "the stride of dimension 0 is -8 bytes, and tensors"),
        (np.zeros((2, 2))[:, ::-1], "the stride of dimension 1 is -8 bytes"),
        (np.zeros(2, "i4,i8")["f1"], "is 12 bytes, which is not a whole number of elements"),
        (np.frombuffer(b"123456789", np.int32, 2, 1), "not aligned to their 4 bytes"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else str(value.dtype),
)
def test_what_tensors_cannot_have_is_refused(array, words):
    with pytest.raises(ValueError, match="from_numpy: .*" + words):
        opyard.from_numpy(array)


def test_dates_are_refused_with_the_reason():
    dates = np.array(["2025-01-01"], "datetime64[D]")
    with pytest.raises(TypeError, match="cannot be shown to others; convert it to") as caught:
        opyard.from_numpy(dates)
    assert isinstance(caught.value.__cause__, ValueError)


def test_opyard_tensor_copies_what_from_numpy_refuses():
    assert opyard.tensor(np.arange(3)[::-1]).tolist() == [2, 1, 0]
    assert opyard.tensor(np.zeros(2, "i4,i8")["f1"]).tolist() == [0, 0]
    assert opyard.tensor(np.frombuffer(b"\1\0\0\0\2\0\0\0\3", np.int32, 2)).tolist() == [1, 2]
    array = np.ones((2, 2))
    tensor = opyard.tensor(array)
    tensor += 1
    assert array.sum() == 4
    assert opyard.tensor(array, dtype=opyard.int64).dtype is opyard.int64
    assert opyard.tensor(np.float64(2)).dtype is opyard.float64
    assert opyard.tensor([np.float32(2), np.int8(3)]).tolist() == [2, 3]
    assert opyard.tensor(np.zeros((0, 3))).shape == (0, 3)


# lifetimes --------------------------------------------------------------------------------


def test_an_array_lives_as_long_as_a_tensor_on_it():
    array = np.ones(3)
    gone = weakref.ref(array)
    tensor = opyard.from_numpy(array)
    view = tensor[1:]
    del array, tensor
    gc.collect()
    assert gone() is not None
    assert view.tolist() == [1, 1]
    del view
    assert gone() is None


def test_a_tensor_lives_as_long_as_an_array_on_it():
    tensor = opyard.tensor([1.0, 2.0])
    gone = weakref.ref(tensor)
    array = tensor.numpy()[1:]
    del tensor
    gc.collect()
    assert gone() is not None
    assert array.tolist() == [2]
    del array
    assert gone() is None


def test_a_refused_array_is_let_go():
    array = np.arange(3)[::-1]
    gone = weakref.ref(array)
    with pytest.raises(ValueError, match="stride"):
        opyard.from_numpy(array)
    del array
    assert gone() is None


# the buffer protocol ----------------------------------------------------------------------


def test_memoryview_sees_geometry_and_format():
    tensor = opyard.tensor([[1, 2, 3], [4, 5, 6]])
    view = memoryview(tensor.T)
    assert (view.shape, view.strides, view.format, view.itemsize) == ((3, 2), (8, 24), "l", 8)
    assert (view.nbytes, view.readonly, view.c_contiguous, view.f_contiguous) == (48, 0, 0, 1)
    assert view.tolist() == [[1, 4], [2, 5], [3, 6]]
    view[2, 1] = 60
    assert tensor[1, 2].item() == 60
    assert memoryview(opyard.tensor(5)).tolist() == 5
    assert memoryview(opyard.tensor([])).tolist() == []
    assert bytes(opyard.tensor([1, 2], dtype=opyard.uint8)) == b"\1\2"


SIMPLE, WRITABLE, FORMAT, ND = 0, 1, 4, 8
STRIDES, C_ORDER, FORTRAN_ORDER, ANY_ORDER = 0x18, 0x38, 0x58, 0x98


def request(tensor, flags):
    """Asks for a buffer as C code does, and gives it back."""
    view = ctypes.create_string_buffer(256)
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(tensor), view, flags)
    ctypes.pythonapi.PyBuffer_Release(view)


@pytest.mark.parametrize("flags", [SIMPLE, ND, STRIDES, C_ORDER, FORTRAN_ORDER, ANY_ORDER])
def test_a_buffer_is_refused_where_it_would_mean_something_else(flags):
    rows = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    gaps = opyard.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])[:, :2]
    for tensor, fine in (
        (rows, {SIMPLE, ND, STRIDES, C_ORDER, ANY_ORDER}),
        (rows.T, {STRIDES, FORTRAN_ORDER, ANY_ORDER}),
        (gaps, {STRIDES}),
        (rows[0], {SIMPLE, ND, STRIDES, C_ORDER, FORTRAN_ORDER, ANY_ORDER}),
    ):
        for more in (0, WRITABLE, FORMAT):
            if flags in fine:
                request(tensor, flags | more)
            else:
                with pytest.raises(BufferError, match="the tensor is not contiguous"):
                    request(tensor, flags | more)


def test_a_writable_buffer_of_read_only_memory_is_refused():
    tensor = opyard.from_numpy(b"abc")
    assert memoryview(tensor).readonly
    request(tensor, SIMPLE)
    with pytest.raises(BufferError, match="read-only, and a writable buffer was asked for"):
        request(tensor, WRITABLE)


def test_a_buffer_keeps_the_tensor_until_it_is_released():
    tensor = opyard.tensor([1, 2])
    gone = weakref.ref(tensor)
    view = memoryview(tensor)
    del tensor
    assert gone() is not None
    view.release()
    assert gone() is None


def test_bfloat16_has_no_name_there():
    tensor = opyard.tensor([1.5], dtype=opyard.bfloat16)
    with pytest.raises(NotImplementedError, match="numpy: the tensor is bfloat16.* float32 first"):
        tensor.numpy()
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(tensor)
    with pytest.raises(NotImplementedError, match="bfloat16"):
        np.asarray(tensor)


# NumPy's own functions --------------------------------------------------------------------


def test_numpy_reads_tensors():
    tensor = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    shared = np.asarray(tensor)
    shared[0, 0] = 9
    assert tensor[0, 0].item() == 9
    copied = np.array(tensor)
    copied[0, 0] = 0
    assert tensor[0, 0].item() == 9
    assert np.asarray(tensor, np.int64).dtype == np.int64
    assert np.stack([tensor[0], tensor[1]]).tolist() == tensor.tolist()
    np.testing.assert_array_equal(tensor, [[9, 2], [3, 4]])


def test_array_asks_for_copies_and_dtypes():
    tensor = opyard.tensor([1.0, 2.0])
    assert tensor.__array__().base is not None
    copied = tensor.__array__(copy=True)
    copied[0] = 9
    assert tensor[0].item() == 1
    assert tensor.__array__(np.dtype("int8")).tolist() == [1, 2]
    assert tensor.__array__("float64", copy=False).dtype == np.float64


def test_functions_of_numpy_do_not_take_tensors_for_objects():
    tensor = opyard.tensor([1.0, 2.0])
    for function in (np.add, np.multiply):
        assert function(np.ones(2), tensor).dtype == opyard.float64
    for function in (np.maximum, np.hypot):
        assert function(np.ones(2), tensor).dtype == opyard.float64
    assert np.exp(tensor).dtype == opyard.float32


def test_numpy_is_needed_only_where_it_is_asked_for(run_program):
    done = run_program("""
        import sys
        import opyard

        x = opyard.tensor([[1.0, 2.0]])
        y = opyard.from_numpy(memoryview(x))
        y[0, 0] = 3
        assert str(x + y[:, [1, 0]] @ opyard.tensor([[0.0, 1.0], [1.0, 0.0]])), x
        assert "numpy" not in sys.modules
        x.numpy()
        assert "numpy" in sys.modules
    """)
    assert done.returncode == 0, done.stderr


def test_a_buffer_that_cannot_be_given_is_a_buffer_error():
    columns = opyard.tensor([[1.0, 2.0], [3.0, 4.0]]).T
    with pytest.raises(BufferError, match="not contiguous"):
        hashlib.md5(columns)
