"""test_foreign_array_types.py: types that are arrays, owners of memory, and refused arrays.

Suspect objects/arrays/foreign_array.cpp, beyond_memory.cpp, then foreign_arguments.cpp.
"""

import gc
import sys
import weakref

import numpy as np
import pytest
from array_libraries import Exporter, Matrix
from built import import_arrays

import opyard

pytestmark = pytest.mark.memory

arrays = import_arrays()
aten = opyard.ops.aten


# types ------------------------------------------------------------------------------------


def test_F57_a_type_that_changes_is_looked_at_again():
    class Late:
        pass

    with pytest.raises(TypeError):
        aten.neg(Late())
    Late.__dlpack__ = lambda self, **arguments: np.float32([1.0]).__dlpack__(**arguments)
    assert aten.neg(Late()).tolist() == [-1.0]
    Late.__dlpack_c_exchange_api__ = arrays.Array.__dlpack_c_exchange_api__
    del Late.__dlpack_c_exchange_api__
    assert aten.neg(Late()).tolist() == [-1.0]
    Late.__dlpack__ = None
    with pytest.raises(TypeError):
        aten.neg(Late())


def test_F57_a_type_is_looked_at_once(define):
    looked = []

    class Meta(type):
        def __getattribute__(cls, name):
            looked.append(name)
            return super().__getattribute__(name)

    class Watched(metaclass=Meta):
        def __dlpack__(self, **arguments):
            return np.float32([1.0]).__dlpack__(**arguments)

    op = define("once(Tensor x) -> int", CPU=lambda x: 1)
    op(Watched())
    looked.clear()
    op(Watched())
    assert looked == []


def test_F57_types_are_not_kept_alive():
    def use():
        Local = type("Local", (Exporter,), {})
        aten.neg(Local([1.0]))
        return weakref.ref(Local)

    gone = [use() for _ in range(200)]  # so many that addresses are used again
    gc.collect()
    assert [ref for ref in gone if ref() is not None] == []


def test_F57_addresses_that_are_used_again_fool_nobody():
    for i in range(300):
        if i % 2:
            kind = type("Same", (Exporter,), {})
            assert aten.neg(kind([float(i)])).tolist() == [-float(i)]
        else:
            kind = type("Same", (), {})
            with pytest.raises(TypeError):
                aten.neg(kind())
        del kind
        gc.collect()


def test_F57_the_attribute_of_an_instance_counts_for_nothing():
    class Plain:
        pass

    plain = Plain()
    plain.__dlpack__ = np.float32([1.0]).__dlpack__
    with pytest.raises(TypeError):
        aten.neg(plain)


def test_F57_none_in_place_of_a_table_means_none():
    class Without(arrays.Subclassable):
        __dlpack_c_exchange_api__ = None

        def __dlpack__(self, **arguments):
            return np.float32([5.0]).__dlpack__(**arguments)

    assert aten.neg(Without([1.0])).tolist() == [-5.0]


# owners -----------------------------------------------------------------------------------


def test_P17_a_struct_is_given_back_once_when_the_last_tensor_is_gone(define):
    kept = []
    op = define("keeps(Tensor x) -> ()", CPU=kept.append)
    made, back = arrays.counts()
    a = arrays.Array([1.0, 2.0])
    op(a)
    assert arrays.counts() == (made + 1, back)
    del a
    assert kept[0].tolist() == [1.0, 2.0]
    part = kept.pop()[1:]
    assert arrays.counts() == (made + 1, back)
    assert part.tolist() == [2.0]
    del part
    assert arrays.counts() == (made + 1, back + 1)


def test_P17_a_failing_kernel_keeps_nothing(define):
    def fails(x, y):
        raise ZeroDivisionError

    op = define("fails(Tensor x, Tensor y) -> Tensor", CPU=fails)
    made, back = arrays.counts()
    with pytest.raises(ZeroDivisionError):
        op(arrays.Array([1.0]), arrays.Array([2.0]))
    gc.collect()
    assert arrays.counts() == (made + 2, back + 2)


def test_P17_a_call_that_does_not_fit_keeps_nothing():
    made, back = arrays.counts()
    with pytest.raises(TypeError):
        aten.add(arrays.Older([1.0]), "text")  # its table exports nothing
    now = arrays.counts()
    assert now[0] - made == now[1] - back
    assert now[0] - made == 1, "several candidates share what was converted"


def test_P17_read_only_arrays_are_read_and_not_written():
    read_only = np.float32([1.0, 2.0])
    read_only.flags.writeable = False
    for a in (read_only, memoryview(read_only), arrays.Array([1.0], None, True)):
        assert aten.neg(a) is not None
        with pytest.raises(ValueError, match="the operator writes to this argument") as caught:
            aten.add_.Scalar(a, 1)
        assert "aten::add_() cannot take" in str(caught.value)


def test_P17_a_result_on_read_only_memory_is_read_only():
    a = np.zeros(4)
    a.flags.writeable = False
    assert not aten.view(a, [2, 2]).flags.writeable
    assert arrays.Array([1.0], None, True).read_only
    assert aten.view(arrays.Array([1.0], None, True), [1, 1]).read_only


def test_P17_nothing_is_written_where_a_later_argument_is_refused(define):
    ran = []
    op = define("both(Tensor(a!) x, Tensor(b!) y) -> ()", CPU=lambda x, y: ran.append(1))
    a, b = np.zeros(2), np.zeros(2)
    b.flags.writeable = False
    with pytest.raises(ValueError, match="argument 'y'"):
        op(a, b)
    with pytest.raises(ValueError, match=r"argument 'xs'\[1\], "):
        define("all(Tensor(a!)[] xs) -> ()", CPU=ran.append)([a, b])
    assert ran == []


def test_F57_references_are_as_before():
    a = np.float32([1.0, 2.0])
    aten.neg(a)
    aten.add_(a, 1)
    before = sys.getrefcount(a)
    for _ in range(10):
        aten.neg(a)
        aten.add_(a, a)
    assert sys.getrefcount(a) == before


def test_F57_a_subclass_of_numpys_arrays_gives_plain_ones():
    assert type(aten.neg(np.zeros(2).view(Matrix))) is np.ndarray
    a = np.zeros(2).view(Matrix)
    assert aten.add_(a, 1) is a


# what no tensor can represent -------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.ma.MaskedArray, type("Own", (np.ma.MaskedArray,), {})])
def test_F57_masked_arrays_are_refused_and_nothing_is_written_under_the_mask(define, kind):
    fill = define("fill(Tensor(a!) x) -> ()", CPU=lambda x: x.mul_(0))
    lists = define("lists(Tensor[] x) -> Tensor[]", CPU=lambda x: x)
    masked = kind([1.0, 2.0, 100.0], mask=[0, 0, 1])
    masked.harden_mask()
    for _ in range(2):
        for call in (fill, aten.sum, aten.neg, lambda m: aten.add(m, 1), lambda m: lists([m])):
            with pytest.raises(TypeError, match=r"(?s)'(x|self)'.*masked.*array\.filled\(\.\.\.\)"):
                call(masked)
    assert masked.data.tolist() == [1.0, 2.0, 100.0]
    assert aten.sum(masked.filled(0)).tolist() == 3.0


@pytest.mark.parametrize("kind", [np.ma.MaskedArray, type("Own", (np.ma.MaskedArray,), {})])
def test_F57_tensors_are_not_made_of_masked_arrays(kind):
    masked = kind([[1.0, 2.0]], mask=[[0, 1]])
    for name, make, given in (
        ("from_numpy", opyard.from_numpy, masked),
        ("tensor", opyard.tensor, masked),
        ("tensor", opyard.tensor, [masked, masked]),
    ):
        with pytest.raises(TypeError) as caught:
            make(given)
        assert str(caught.value) == (
            f"{name}: the array is masked, and tensors have no masks; pass array.filled(...), or "
            "array.data for all elements as they are"
        )
    with pytest.raises(TypeError, match="the array is masked"):
        opyard.from_dlpack(masked)
    assert opyard.from_numpy(masked.data).tolist() == [[1.0, 2.0]]


def test_F57_a_class_that_is_only_called_so_has_no_mask():
    MaskedArray = type("MaskedArray", (Exporter,), {})
    assert aten.neg(MaskedArray([1.0])).tolist() == [-1.0]


def test_F57_a_refused_array_in_a_list_is_named_by_its_own_type(define):
    lists = define("lists(Tensor[] x) -> Tensor[]", CPU=lambda x: x)
    with pytest.raises(ValueError, match=r"'x'\[1\], a value of type 'numpy.ndarray'"):
        lists([np.ones(1), np.ones(2)[::-1]])


def test_F57_a_released_memoryview_is_called_released(define):
    view = memoryview(bytearray(4))
    view.release()
    with pytest.raises(TypeError, match=r"(?s)argument 'self'.*the memoryview was released"):
        aten.neg(view)
