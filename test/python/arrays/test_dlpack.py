"""test_dlpack.py: capsules in and out. Suspect objects/tensor/tensor_dlpack.cpp, tensor/dlpack."""

import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest

import opyard

pytestmark = pytest.mark.memory

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

LEGACY, USED = b"dltensor", b"used_dltensor"
VERSIONED, USED_VERSIONED = b"dltensor_versioned", b"used_dltensor_versioned"


class Array(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (("array", Array), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("array", Array),
    )


class Producer:
    """A struct of our own making, float32[2, 3], whose deleter counts."""

    def __init__(self, versioned=False, deleter=True, **changes):
        self.deleted = 0
        self.threads = []
        self.memory = (ctypes.c_float * 6)(*range(6))
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        self.name = VERSIONED if versioned else LEGACY

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        def count(address):
            assert address == ctypes.addressof(self.managed)
            self.deleted += 1
            self.threads.append(threading.get_ident())

        self.keep = count
        array = Array(ctypes.addressof(self.memory), 1, 0, 2, 2, 32, 1, self.shape, None, 0)
        pointer = ctypes.cast(count, ctypes.c_void_p) if deleter else None
        if versioned:
            self.managed = ManagedVersioned(1, 0, None, pointer, 0, array)
        else:
            self.managed = Managed(array, None, pointer)
        for field, value in changes.items():
            target = self.managed if hasattr(self.managed, field) else self.managed.array
            setattr(target, field, value)

    def capsule(self):
        return api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)


def name_of(capsule):
    return api.PyCapsule_GetName(capsule)


both_forms = pytest.mark.parametrize("versioned", [False, True], ids=["legacy", "versioned"])


# out --------------------------------------------------------------------------------------


def test_numpy_takes_a_tensor_without_copying():
    tensor = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    array = np.from_dlpack(tensor)
    assert array.tolist() == tensor.tolist()
    assert array.__array_interface__["data"][0] == tensor.data_ptr()
    assert np.from_dlpack(tensor.T).tolist() == [[1, 3], [2, 4]]
    assert np.from_dlpack(opyard.tensor([True])).dtype == np.bool_


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, LEGACY),
        ({"max_version": None, "stream": None, "dl_device": None, "copy": None}, LEGACY),
        ({"max_version": (0, 8)}, LEGACY),
        ({"max_version": (1, 0)}, VERSIONED),
        ({"max_version": (2, 5)}, VERSIONED),
        ({"max_version": (1, 1), "dl_device": (1, 0), "copy": False}, VERSIONED),
    ],
)
def test_the_version_that_is_asked_for(x, arguments, name):
    assert name_of(x.__dlpack__(**arguments)) == name


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"stream": 1}, BufferError, "a stream was given"),
        ({"dl_device": (2, 0)}, BufferError, r"is not copied to \(2, 0\)"),
        ({"dl_device": "cpu"}, TypeError, "dl_device must be None or a tuple of two ints, not str"),
        ({"max_version": 1}, TypeError, "max_version must be None or a tuple of two ints, not int"),
        ({"max_version": (1, "0")}, TypeError, "int"),
        (
            {"max_version": (1 << 80, 0)},
            TypeError,
            r"^__dlpack__: max_version is \(1208925819614629174706176, 0\); accepted are ints from "
            "-9223372036854775808 to 9223372036854775807$",
        ),
        ({"version": 1}, TypeError, "version"),
    ],
)
def test_wrong_requests(x, arguments, error, words):
    with pytest.raises(error, match=words):
        x.__dlpack__(**arguments)
    with pytest.raises(TypeError):
        x.__dlpack__(None)


def test_the_device():
    assert opyard.tensor(1).__dlpack_device__() == (1, 0)
    meta = opyard.ops.aten.empty([2], device="meta")
    with pytest.raises(NotImplementedError, match="meta"):
        meta.__dlpack_device__()
    with pytest.raises(BufferError, match="meta"):
        meta.__dlpack__()


def test_read_only_memory_needs_the_versioned_form():
    tensor = opyard.from_numpy(b"abc")
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()
    capsule = tensor.__dlpack__(max_version=(1, 0))
    managed = ManagedVersioned.from_address(api.PyCapsule_GetPointer(capsule, VERSIONED))
    assert (managed.major, managed.flags) == (1, 1)
    again = opyard.from_dlpack(capsule)
    with pytest.raises(ValueError, match="read-only"):
        again.fill_(0)


def test_a_copy_is_a_copy_and_says_so(x):
    capsule = x.__dlpack__(max_version=(1, 0), copy=True)
    managed = ManagedVersioned.from_address(api.PyCapsule_GetPointer(capsule, VERSIONED))
    assert managed.flags == 2
    copied = opyard.from_dlpack(capsule)
    copied.fill_(0)
    assert x.tolist() == [1, 2, 3]


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_keeps_the_tensor_until_it_dies(version):
    array = np.ones(3)
    gone = weakref.ref(array)
    capsule = opyard.from_numpy(array).__dlpack__(max_version=version)
    del array
    assert gone() is not None
    del capsule
    assert gone() is None


def test_a_consumer_keeps_the_memory():
    array = np.ones(3)
    gone = weakref.ref(array)
    consumer = np.from_dlpack(opyard.from_numpy(array))
    del array
    gc.collect()
    assert gone() is not None
    assert consumer.tolist() == [1, 1, 1]
    del consumer
    assert gone() is None


# in ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["uint8", "uint16", "uint32", "uint64", "int32", "int64", "float16", "float32", "bool"]
)
def test_arrays_of_numpy_come_in_without_copying(name):
    array = np.array([[0, 1], [1, 0]]).astype(name)[:, :1]
    tensor = opyard.from_dlpack(array)
    assert tensor.dtype is getattr(opyard, name)
    assert tensor.tolist() == array.tolist()
    assert tensor.data_ptr() == array.__array_interface__["data"][0]
    del array
    gc.collect()
    assert tensor.tolist() == [[0], [1]]


def dlpack_only(array):
    """An object with nothing but the array's __dlpack__."""

    class Source:
        def __dlpack__(self, **arguments):
            return array.__dlpack__()

    return Source()


@pytest.mark.parametrize(
    ("array", "place"),
    [
        (np.arange(3)[::-1], "dimension 0 is -1 elements"),
        (np.zeros((2, 2))[:, ::-1], "dimension 1 is -1 elements"),
        (np.zeros((4, 3))[::-2], "dimension 0 is -6 elements"),
    ],
    ids=["all", "columns", "every second"],
)
def test_strides_below_zero_are_refused_as_from_numpy_refuses_them(array, place):
    for source in (array, array.__dlpack__(), dlpack_only(array)):
        with pytest.raises(ValueError) as caught:
            opyard.from_dlpack(source)
        assert str(caught.value) == (
            f"from_dlpack: the stride of {place}, and tensors on foreign memory have none below "
            "zero; copy the array first, as array.copy() does"
        )
    with pytest.raises(ValueError, match="^from_numpy: .*, and tensors on foreign memory have no"):
        opyard.from_numpy(array)
    # A copy has no such trouble.
    assert opyard.tensor(dlpack_only(array)).tolist() == array.tolist()
    assert opyard.tensor(array).tolist() == array.tolist()


def test_a_refused_array_is_let_go():
    array = np.arange(3)[::-1]
    gone = weakref.ref(array)
    with pytest.raises(ValueError, match="below zero"):
        opyard.from_dlpack(array)
    del array
    assert gone() is None


@pytest.mark.parametrize(
    "cut", [lambda a: a[::-1][:1], lambda a: a[::-1][:, :0], lambda a: a[:0:-1, :0]], ids=[1, 2, 3]
)
def test_a_stride_that_leads_nowhere_is_harmless(cut):
    array = cut(np.arange(6).reshape(3, 2))
    tensor = opyard.from_dlpack(array)
    assert tensor.tolist() == opyard.from_numpy(array).tolist() == array.tolist()
    assert tensor.shape == array.shape
    assert min(tensor.strides) >= 0
    if array.size:
        assert tensor.data_ptr() == array.__array_interface__["data"][0]


def test_tensors_come_in_too(x):
    again = opyard.from_dlpack(x)
    assert again is not x
    again.fill_(5)
    assert x.tolist() == [5, 5, 5]


def test_an_array_of_numpy_is_let_go_with_the_tensor():
    array = np.ones(3)
    gone = weakref.ref(array)
    tensor = opyard.from_dlpack(array)
    del array
    assert gone() is not None
    del tensor
    assert gone() is None


@both_forms
def test_a_capsule_is_used_up(versioned):
    producer = Producer(versioned)
    capsule = producer.capsule()
    tensor = opyard.from_dlpack(capsule)
    assert name_of(capsule) == (USED_VERSIONED if versioned else USED)
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="the capsule was consumed already"):
        opyard.from_dlpack(capsule)
    assert producer.deleted == 0
    del capsule
    assert producer.deleted == 0
    part = tensor[1]
    del tensor
    assert producer.deleted == 0
    del part
    assert producer.deleted == 1


@both_forms
def test_a_producer_may_need_nothing_back(versioned):
    producer = Producer(versioned, deleter=False)
    tensor = opyard.from_dlpack(producer.capsule())
    assert tensor.shape == (2, 3)
    del tensor


DEFECTS = [
    ({"ndim": -1}, ValueError, "claims -1 dimensions"),
    ({"ndim": 65}, ValueError, "claims 65 dimensions"),
    ({"lanes": 2}, NotImplementedError, "2 lanes"),
    ({"bits": 3}, NotImplementedError, "3 bits"),
    ({"device_type": 2}, NotImplementedError, "CUDA"),
    ({"data": None}, ValueError, "brings no data"),
    ({"byte_offset": 2}, ValueError, "not aligned to 4 bytes"),
    ({"shape": None}, ValueError, "no shape"),
]


@both_forms
@pytest.mark.parametrize(("changes", "error", "words"), DEFECTS, ids=lambda v: str(v)[:20])
def test_a_refused_struct_is_given_back_once(versioned, changes, error, words):
    producer = Producer(versioned, **changes)
    capsule = producer.capsule()
    with pytest.raises(error, match=words):
        opyard.from_dlpack(capsule)
    assert producer.deleted == 1
    del capsule
    gc.collect()
    assert producer.deleted == 1


def test_another_major_version_is_refused_and_given_back():
    producer = Producer(True, major=2)
    with pytest.raises(NotImplementedError, match="DLPack version 2.0; accepted is version 1"):
        opyard.from_dlpack(producer.capsule())
    assert producer.deleted == 1


def test_read_only_structs_give_read_only_tensors():
    producer = Producer(True, flags=1)
    tensor = opyard.from_dlpack(producer.capsule())
    with pytest.raises(ValueError, match="read-only"):
        tensor.fill_(1)
    assert not tensor.numpy().flags.writeable


@pytest.mark.parametrize("name", [b"dltensor2", None])
def test_other_capsules_are_refused_untouched(name):
    producer = Producer()
    producer.name = name
    capsule = producer.capsule()
    with pytest.raises(TypeError, match="accepted are capsules named 'dltensor'"):
        opyard.from_dlpack(capsule)
    assert name_of(capsule) == name
    assert producer.deleted == 0


@pytest.mark.parametrize("thing", [None, 1, [1.0], b"abc"], ids=str)
def test_what_cannot_be_exchanged_is_refused(thing):
    with pytest.raises(TypeError, match="accepted are objects with __dlpack__ and DLPack capsules"):
        opyard.from_dlpack(thing)


# objects with __dlpack__ ------------------------------------------------------------------


def test_a_producer_is_asked_for_the_version():
    class New:
        def __dlpack__(self, *, max_version):
            self.asked = max_version
            return producer.capsule()

    producer, new = Producer(True), New()
    assert opyard.from_dlpack(new).shape == (2, 3)
    assert new.asked == (1, 0)
    assert producer.deleted == 1


def test_a_producer_without_versions_is_asked_again():
    class Old:
        def __dlpack__(self, stream=None):
            return producer.capsule()

    producer = Producer()
    assert opyard.from_dlpack(Old()).shape == (2, 3)
    assert producer.deleted == 1


def test_exceptions_of_a_producer_come_out_as_themselves():
    class Breaks:
        def __dlpack__(self, **arguments):
            raise error

    for error in (ZeroDivisionError("on purpose"), TypeError("always")):
        with pytest.raises(type(error)) as caught:
            opyard.from_dlpack(Breaks())
        assert caught.value is error


def test_a_producer_must_give_a_capsule():
    class Wrong:
        def __dlpack__(self, **arguments):
            return 42

    with pytest.raises(TypeError, match="__dlpack__ of Wrong gave a int where a capsule"):
        opyard.from_dlpack(Wrong())


# threads ----------------------------------------------------------------------------------


def test_a_deleter_runs_with_the_gil_wherever_the_tensor_dies(x):
    # The last owner is an exported struct, which a consumer gives back without the GIL.
    producer = Producer()
    capsule = opyard.from_dlpack(producer.capsule()).__dlpack__()
    managed = Managed.from_address(api.PyCapsule_GetPointer(capsule, LEGACY))
    api.PyCapsule_SetName(capsule, USED)
    give_back = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)  # releases the GIL
    assert producer.deleted == 0
    thread = threading.Thread(target=give_back, args=(ctypes.addressof(managed),))
    thread.start()
    thread.join()
    x + x  # an entry from Python drops what was left behind
    assert producer.deleted == 1
    assert producer.threads == [threading.main_thread().ident]


def test_an_exception_on_its_way_survives_a_deleter():
    producer = Producer()

    def fail():
        tensor = opyard.from_dlpack(producer.capsule())
        raise KeyError(tensor.shape)

    with pytest.raises(KeyError):
        fail()
    gc.collect()
    assert producer.deleted == 1


def test_arrays_of_jax_are_read_and_never_written():
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    array = jnp.arange(4.0)
    shared = opyard.from_dlpack(array)
    assert shared.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert memoryview(shared).readonly and not shared.numpy().flags.writeable
    aten = opyard.ops.aten
    for write in (
        lambda: shared.add_(1),
        lambda: shared.view([2, 2]).fill_(1.0),
        lambda: shared[0:2].__setitem__(0, 1.0),
        lambda: aten.copy_(array, array),
    ):
        with pytest.raises(ValueError, match="is read-only"):
            write()
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]
    result = aten.add(array, 1)
    assert type(result) is type(array) and result.tolist() == [1.0, 2.0, 3.0, 4.0]
    number = jnp.array(2.5)
    assert aten.add(opyard.tensor([1.0]), 1, alpha=number).tolist() == [3.5]
    array.delete()
    assert shared.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_memory_that_runs_backwards_is_not_handed_out():
    x = opyard.arange(6).as_strided([6], [-1], 5)
    text = r"int64\[6\] has stride -1 in dimension 0 and cannot be handed to another library"
    with pytest.raises(BufferError, match=text):
        x.__dlpack__()
    with pytest.raises(BufferError, match=text):
        np.from_dlpack(x)
    assert np.from_dlpack(x.clone()).tolist() == [5, 4, 3, 2, 1, 0]
    x[:1].__dlpack__()  # of one element there is no direction
