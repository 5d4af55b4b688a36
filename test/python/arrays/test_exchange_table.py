"""test_exchange_table.py (F57): the exchange table of opyard.Tensor, as other libraries use it.

The consumer is arrays.c, which knows DLPack and nothing of Opyard. Suspect
objects/tensor/dlpack_table.cpp.
"""

import gc
import threading
import weakref

import numpy as np
import pytest
from built import import_arrays
from processes import leaks

import opyard
from opyard.dispatch import DispatchMode

pytestmark = pytest.mark.memory

arrays = import_arrays()


def test_F57_the_table_is_an_attribute_of_the_type(x):
    capsule = opyard.Tensor.__dlpack_c_exchange_api__
    assert 'capsule object "dlpack_exchange_api"' in repr(capsule)
    assert arrays.version(opyard.Tensor) == (1, 3, True)
    assert arrays.stream(opyard.Tensor) is True
    for device in (0, 2, 10):
        with pytest.raises(NotImplementedError, match=f"asked for was DLPack device type {device}"):
            arrays.stream(opyard.Tensor, device)
    assert type(x).__dlpack_c_exchange_api__ is capsule


@pytest.mark.parametrize("ask", [arrays.describe, arrays.borrow], ids=["owned", "borrowed"])
def test_F57_a_tensor_is_described(ask):
    t = opyard.from_numpy(np.arange(6, dtype=np.int16).reshape(2, 3))
    expected = {"device": (1, 0), "dtype": (0, 16, 1), "flags": 0}
    for tensor, shape, strides in ((t, (2, 3), (3, 1)), (t.T, (3, 2), (1, 3)), (t[1], (3,), (1,))):
        assert ask(tensor) == {
            **expected,
            "data": tensor.data_ptr(),
            "shape": shape,
            "strides": strides,
        }
    assert ask(opyard.tensor(1))["shape"] == ()


def test_F57_read_only_memory_says_so():
    t = opyard.from_numpy(b"abc")
    assert arrays.describe(t)["flags"] == 1
    with pytest.raises(BufferError) as caught:
        arrays.borrow(t)
    assert str(caught.value) == (
        "__dlpack_c_exchange_api__: the tensor's memory is read-only, which a borrowed struct "
        "cannot say; ask for an owned one"
    )


def wrapper_subclass():
    class Sub(opyard.Tensor):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return NotImplemented

    return opyard.Tensor.make_wrapper_subclass(Sub, [2, 3])


@pytest.mark.parametrize("ask", [arrays.describe, arrays.borrow, arrays.hold])
def test_F57_what_has_no_memory_of_the_cpu_is_a_buffer_error(ask):
    meta = opyard.ops.aten.empty([2], device="meta")
    with pytest.raises(BufferError, match="is on device 'meta', whose memory Python cannot read"):
        ask(meta)
    with pytest.raises(BufferError, match="has no memory of its own"):
        ask(wrapper_subclass())
    with pytest.raises(BufferError, match="has no memory of its own"):
        wrapper_subclass().__dlpack__()


def test_F57_a_struct_keeps_the_memory_until_it_is_given_back():
    array = np.float32([1.0, 2.0])
    gone = weakref.ref(array)
    held = arrays.hold(opyard.from_numpy(array))
    del array
    gc.collect()
    assert gone() is not None
    del held
    assert gone() is None


def test_F57_a_struct_may_be_given_back_on_any_thread():
    array = np.float32([1.0, 2.0])
    gone = weakref.ref(array)
    held = [arrays.hold(opyard.from_numpy(array))]
    del array
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert gone() is None


def test_F57_arrays_become_tensors_and_back_without_copying(x):
    made, back = arrays.counts()
    array = arrays.Array([1.0, 2.0, 3.0, 4.0], (2, 2))
    tensor = arrays.remake(opyard.Tensor, array)
    assert type(tensor) is opyard.Tensor
    assert tensor.data_ptr() == array.address
    assert tensor.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    again = arrays.remake(arrays.Array, tensor)
    assert again.address == array.address
    del tensor, array
    assert again.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    del again
    now = arrays.counts()
    assert now[0] - made == now[1] - back == 1
    assert arrays.remake(opyard.Tensor, x).data_ptr() == x.data_ptr()


def test_F57_read_only_comes_in_with_the_struct():
    tensor = arrays.remake(opyard.Tensor, arrays.Array([1.0], None, True))
    with pytest.raises(ValueError, match="read-only"):
        tensor.fill_(1)


def test_F57_memory_can_be_allocated_without_the_gil():
    made = arrays.allocate(opyard.Tensor, (2, 3), 0, 64)
    assert type(made) is opyard.Tensor
    assert made.shape == (2, 3)
    assert made.dtype is opyard.int64
    assert arrays.allocate(opyard.Tensor, (0,)).shape == (0,)


ELEMENTS, DEVICE = "the elements of a foreign array have ", "a foreign array is on "
UNSUPPORTED, TOO_MANY = "NotImplementedError", "sizes [4611686018427387904, 4] have more elements"


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (((2,), 2, 3), UNSUPPORTED, ELEMENTS + "DLPack type code 2 with 3 bits"),
        (((2,), 2, 32, 2), UNSUPPORTED, ELEMENTS + "2 lanes"),
        (((2,), 2, 32, 1, 2), UNSUPPORTED, DEVICE + "DLPack device type 2"),
        (((-1,),), "ValueError", "sizes [-1] are negative in dimension 0"),
        (((1 << 62, 4),), "ValueError", TOO_MANY),
        (((1 << 55,),), "MemoryError", "out of memory"),
    ],
    ids=["bits", "lanes", "device", "negative", "numel", "memory"],
)
def test_F57_what_cannot_be_allocated_is_said(arguments, kind, text):
    assert arrays.allocate(opyard.Tensor, *arguments)[0] == kind
    assert arrays.allocate(opyard.Tensor, *arguments)[1].startswith(text)


def test_F57_other_objects_are_refused_by_the_table():
    class Offers:
        __dlpack_c_exchange_api__ = opyard.Tensor.__dlpack_c_exchange_api__

    with pytest.raises(TypeError) as caught:
        arrays.describe(Offers())
    assert str(caught.value) == (
        "__dlpack_c_exchange_api__: the table is that of opyard.Tensor, and a Offers was given"
    )


def test_F57_subclasses_with_memory_are_tensors():
    class Sub(opyard.Tensor):
        def __new__(cls, data):
            return opyard.Tensor.make_subclass(cls, data)

    sub = Sub(opyard.tensor([1.0]))
    assert arrays.describe(sub)["data"] == sub.data_ptr()


def test_F57_from_dlpack_and_tensor_take_what_has_only_a_table():
    array = arrays.Array([1.0, 2.0])
    assert opyard.from_dlpack(array).data_ptr() == array.address
    copied = opyard.tensor(array)
    assert copied.tolist() == [1.0, 2.0]
    assert copied.data_ptr() != array.address
    array.fail = "nothing"
    with pytest.raises(ValueError, match="^from_dlpack: its exchange table gave no struct$"):
        opyard.from_dlpack(array)
    array.fail = error = BufferError("as it is")
    with pytest.raises(BufferError) as caught:
        opyard.from_dlpack(array)
    assert caught.value is error


def test_F57_modes_do_not_see_an_exchange(x):
    class Refuses(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            raise AssertionError(op)

    with Refuses():
        assert arrays.describe(x)["data"] == x.data_ptr()
        assert arrays.remake(opyard.Tensor, x).shape == x.shape


def test_F57_the_table_leaves_nothing_behind(x):
    array = arrays.Array([1.0, 2.0])

    def step():
        arrays.describe(x)
        arrays.borrow(x)
        arrays.hold(x)
        arrays.remake(opyard.Tensor, array)
        arrays.remake(arrays.Array, x)
        arrays.remake(opyard.Tensor, x)
        arrays.allocate(opyard.Tensor, (2,))
        arrays.allocate(opyard.Tensor, (-2,))
        with pytest.raises(BufferError):
            arrays.remake(arrays.Array, opyard.tensor(1))  # int64

    assert not leaks(step)


def test_F57_pytorch_takes_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    t = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    theirs = torch.from_dlpack(t)
    assert theirs.data_ptr() == t.data_ptr()
    assert theirs.tolist() == t.tolist()
    assert arrays.remake(torch.Tensor, t).tolist() == t.tolist()
    assert arrays.remake(opyard.Tensor, theirs).data_ptr() == t.data_ptr()
    assert opyard.from_dlpack(theirs).data_ptr() == t.data_ptr()
