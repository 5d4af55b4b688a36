"""test_tensor.py: making tensors and asking them. Suspect objects/{tensor*,element,dtype}.cpp."""

import array
import copy
import inspect
import math
import operator
import pickle

import pytest

import opyard

pytestmark = pytest.mark.memory

DTYPES = {
    "uint8": (1, False, False),
    "int8": (1, False, False),
    "int16": (2, False, False),
    "int32": (4, False, False),
    "int64": (8, False, False),
    "float16": (2, True, False),
    "bfloat16": (2, True, False),
    "float32": (4, True, False),
    "float64": (8, True, False),
    "complex64": (8, False, True),
    "complex128": (16, False, True),
    "bool": (1, False, False),
}


# dtype, device ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_knows_its_name_and_size(name):
    dtype = getattr(opyard, name)
    size, is_floating_point, is_complex = DTYPES[name]
    assert repr(dtype) == f"opyard.{name}"
    assert (dtype.name, dtype.itemsize) == (name, size)
    assert (dtype.is_floating_point, dtype.is_complex) == (is_floating_point, is_complex)


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_is_one_object_however_it_is_copied(name):
    dtype = getattr(opyard, name)
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy([dtype])[0] is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert opyard.tensor(1, dtype=dtype).dtype is dtype


def test_dtypes_are_not_made():
    with pytest.raises(TypeError, match="such as opyard.float32"):
        opyard.dtype("float32")


def test_a_device_is_a_value():
    one, two = opyard.device("cuda:1"), opyard.device("cuda", 1)
    assert one == two
    assert hash(one) == hash(two)
    assert one != opyard.device("cuda")
    assert one != "cuda:1"
    assert len({one, two, opyard.device("cpu")}) == 2
    assert (one.type, one.index, str(one), repr(one)) == (
        "cuda",
        1,
        "cuda:1",
        "opyard.device('cuda:1')",
    )
    assert opyard.device("cpu").index is None
    assert opyard.device(type=one) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("nowhere",), ValueError, "'nowhere' names no device"),
        (("cuda:x",), ValueError, "'cuda:x' has no valid device index"),
        (("cuda:1", 2), ValueError, "'cuda:1' has an index already"),
        (("cuda", -1), ValueError, "the index is -1"),
        (("cuda", 1 << 40), ValueError, f"the index is {1 << 40}"),
        (
            ("cuda", 1 << 70),
            ValueError,
            f"^device: the index is {1 << 70}; accepted are 0 to 32767",
        ),
        (("cuda", "1"), TypeError, "the index must be an int, not str"),
        ((1,), TypeError, "a device must be a str, not int"),
        ((), TypeError, "type"),
    ],
)
def test_a_wrong_device_is_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        opyard.device(*arguments)


# opyard.tensor() --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (True, "bool", ()),
        (3, "int64", ()),
        (1.5, "float32", ()),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        ([True, False], "bool", (2,)),
        ([True, 2], "int64", (2,)),
        ([1, 2.0], "float32", (2,)),
        ([True, 2.0], "float32", (2,)),
        (((1, 2), [3, 4], range(2)), "int64", (3, 2)),
        ([[[1.0]]], "float32", (1, 1, 1)),
    ],
)
def test_data_without_a_dtype(data, dtype, shape):
    made = opyard.tensor(data)
    assert made.dtype is getattr(opyard, dtype)
    assert made.shape == shape
    assert made.tolist() == _plain(data)


def _plain(data):
    return [_plain(item) for item in data] if isinstance(data, list | tuple | range) else data


@pytest.mark.parametrize("name", [name for name in DTYPES if name != "bool"])
def test_data_with_a_dtype(name):
    made = opyard.tensor([[1, 0], [2, 3]], dtype=getattr(opyard, name))
    assert made.tolist() == [[1, 0], [2, 3]]
    assert made.element_size() == DTYPES[name][0]


def test_numbers_are_converted_as_the_dtype_says():
    assert opyard.tensor([0, 2, 0.5, math.nan], dtype=opyard.bool).tolist() == [0, 1, 1, 1]
    assert opyard.tensor([-1.9, 1.9], dtype=opyard.int8).tolist() == [-1, 1]
    assert opyard.tensor([(1 << 24) + 1], dtype=opyard.float32).item() == 1 << 24
    assert opyard.tensor(1.5, dtype=opyard.complex64).item() == 1.5 + 0j


@pytest.mark.parametrize(
    ("value", "half", "brain"),
    [
        (1 / 3, 0.333251953125, 0.333984375),
        (2049.0, 2048.0, 2048.0),  # ties go to even
        (2051.0, 2052.0, 2048.0),
        (65519.0, 65504.0, 65536.0),
        (65520.0, math.inf, 65536.0),
        (2.0**-24, 2.0**-24, 2.0**-24),  # the smallest half
        (2.0**-25, 0.0, 2.0**-25),
        (3 * 2.0**-26, 2.0**-24, 3 * 2.0**-26),
        (1023.5 * 2.0**-24, 2.0**-14, 1024 * 2.0**-24),  # rounds out of the subnormals
        (1 + 2.0**-8, 1 + 2.0**-8, 1.0),
        (1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 2.0**-7),  # no tie: must not round twice
        (3.4e38, math.inf, math.inf),
        (-math.inf, -math.inf, -math.inf),
    ],
)
def test_sixteen_bit_floats_round_to_the_nearest(value, half, brain):
    for sign in (1, -1):
        assert opyard.tensor(sign * value, dtype=opyard.float16).item() == sign * half
        assert opyard.tensor(sign * value, dtype=opyard.bfloat16).item() == sign * brain
    for dtype in (opyard.float16, opyard.bfloat16):
        assert math.isnan(opyard.tensor(math.nan, dtype=dtype).item())
        assert math.copysign(1, opyard.tensor(-0.0, dtype=dtype).item()) == -1


INTS = "accepted are ints from -9223372036854775808 to 9223372036854775807, and floats"


@pytest.mark.parametrize(
    ("data", "dtype", "text"),
    [
        ([[1, 2], [3]], None, r"data\[1\] has length 1 where those before it have length 2"),
        ([[1], 2], None, r"data\[1\] is a number where the elements before it are sequences"),
        ([1, [2]], None, r"data\[1\] is a sequence where the elements before it are numbers"),
        ([[], [1]], None, r"data\[1\] has length 1 where those before it have length 0"),
        ([[[]], [[[]]]], None, r"data\[1\]\[0\] has length 1 where those before it have length 0"),
        (-(1 << 63) - 1, None, f"^tensor: data is the int {-(1 << 63) - 1}; {INTS}$"),
        ([1, 1 << 63], None, rf"^tensor: data\[1\] is the int {1 << 63}; {INTS}$"),
        ([range(1 << 70, (1 << 70) + 1)], None, rf"data\[0\]\[0\] is the int {1 << 70}; {INTS}$"),
        ([[0, 256]], "uint8", r"data\[0\]\[1\] is 256 and does not fit in uint8, which holds 0 to"),
        ([-1], "uint8", r"data\[0\] is -1"),
        ([128], "int8", r"does not fit in int8, which holds -128 to 127"),
        ([math.nan], "int64", r"data\[0\] is nan and does not fit in int64"),
        (2.0**63, "int64", r"data is 9.223372036854776e\+18 and does not fit in int64"),
    ],
)
def test_wrong_values_are_named_with_their_place(data, dtype, text):
    with pytest.raises(ValueError, match=text):
        opyard.tensor(data, dtype=None if dtype is None else getattr(opyard, dtype))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("abc", "data is a str"),
        ([1, "2"], r"data\[1\] is a str"),
        ([None], r"data\[0\] is a NoneType"),
        (None, "data is a NoneType"),
        ({1: 2}, "data is a dict"),
        (object(), "data is a object"),
    ],
)
def test_what_is_no_number_is_refused(data, text):
    with pytest.raises(TypeError, match=text + "; accepted are bool, int, float, complex and seq"):
        opyard.tensor(data)


def test_a_dtype_must_be_one():
    with pytest.raises(TypeError, match="dtype is 'flaot32'; accepted are dtypes such as"):
        opyard.tensor([1], dtype="flaot32")
    with pytest.raises(TypeError, match="^dtype is 'float32', a text; write opyard.float32$"):
        opyard.tensor([1], dtype="float32")


def test_endless_nesting_is_refused():
    data = []
    data.append(data)
    with pytest.raises(ValueError, match="nested more than 64 levels deep"):
        opyard.tensor(data)
    deep = 1
    for _ in range(64):
        deep = [deep]
    assert opyard.tensor(deep).ndim == 64


def test_data_that_shrinks_while_it_is_read():
    class Shrinks:
        def __len__(self):
            return 1

        def __getitem__(self, index):
            if index:
                raise IndexError
            data.clear()
            return 1

    data = [Shrinks(), [1]]
    with pytest.raises(ValueError, match="became shorter"):
        opyard.tensor(data)


def test_an_exception_of_a_sequence_comes_out_as_itself():
    class Breaks:
        def __len__(self):
            return 1

        def __getitem__(self, index):
            raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        opyard.tensor([Breaks()])


def test_tensors_are_data_too(x):
    same = opyard.tensor(x)
    same += 1
    assert x.tolist() == [1, 2, 3]
    assert opyard.tensor(x, dtype=opyard.int64).tolist() == [1, 2, 3]
    assert opyard.tensor([opyard.tensor(1), opyard.tensor(2.5)]).tolist() == [1, 2.5]
    assert opyard.tensor([x, x]).shape == (2, 3)


def test_arrays_without_dimensions_are_numbers_among_the_data():
    np = pytest.importorskip("numpy")
    made = opyard.tensor([np.array(1.5), np.array(2), 3])
    assert (made.tolist(), made.dtype) == ([1.5, 2.0, 3.0], opyard.float32)
    assert opyard.tensor([np.array(True)]).dtype == opyard.bool
    assert opyard.tensor([[np.array(1j)], [np.float32(2)]]).tolist() == [[1j], [2]]
    frozen = np.array(7)
    frozen.setflags(write=False)
    assert opyard.tensor((frozen, np.arange(3)[1])).tolist() == [7, 1]
    with pytest.raises(ValueError, match=r"ragged: data\[1\] is a number where"):
        opyard.tensor([np.arange(2), np.array(1)])


def test_an_array_by_dlpack_without_dimensions_is_a_number_among_the_data():
    class Array:
        def __dlpack__(self, **arguments):
            return opyard.tensor(2.5).__dlpack__(**arguments)

    assert opyard.tensor([Array(), 1]).tolist() == [2.5, 1.0]


def test_arrays_of_other_libraries_are_copied(x):
    class Array:
        def __dlpack__(self, **arguments):
            return x.__dlpack__(**arguments)

    copied = opyard.tensor(Array())
    copied += 1
    assert (copied.tolist(), x.tolist()) == ([2, 3, 4], [1, 2, 3])
    assert opyard.tensor(Array(), dtype=opyard.bool).tolist() == [True] * 3


def test_the_type_itself_makes_nothing():
    with pytest.raises(TypeError, match=r"use opyard.tensor\(data\)"):
        opyard.Tensor([1])


# attributes and questions -----------------------------------------------------------------


def test_geometry():
    tensor = opyard.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert (tensor.shape, tensor.size(), tensor.ndim, tensor.dim()) == ((2, 3), (2, 3), 2, 2)
    assert tensor.stride() == tensor.strides == (3, 1)
    assert (tensor.T.strides, tensor[:, ::2].strides, tensor[0, 0].strides) == ((1, 3), (3, 2), ())
    assert (tensor.size(0), tensor.size(-1), tensor.size(dim=1), tensor.stride(0)) == (2, 3, 3, 3)
    assert (tensor.numel(), tensor.element_size(), tensor.storage_offset()) == (6, 4, 0)
    assert tensor.device == opyard.device("cpu")
    assert tensor.is_contiguous()
    assert not tensor.T.is_contiguous()
    assert tensor.data_ptr() % 64 == 0
    part = tensor[1, 1:]
    assert part.storage_offset() == 4
    assert part.data_ptr() == tensor.data_ptr() + 16


@pytest.mark.parametrize("method", ["size", "stride"])
def test_a_dimension_must_exist(x, method):
    with pytest.raises(IndexError, match="dimension 1 is out of range"):
        getattr(x, method)(1)
    with pytest.raises(TypeError):
        getattr(x, method)("0")
    with pytest.raises(TypeError):
        getattr(x, method)(0, 1)
    with pytest.raises(IndexError) as caught:
        getattr(x, method)(1 << 70)
    assert str(caught.value) == f"dimension {1 << 70} is out of range for the tensor float32[3]"


def test_transposing():
    matrix = opyard.tensor([[1, 2, 3]])
    assert matrix.T.tolist() == [[1], [2], [3]]
    assert opyard.tensor([1, 2]).T.tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"T: the tensor is int64\[1, 1, 1\]"):
        opyard.tensor([[[1]]]).T  # noqa: B018


def test_attributes_are_not_written(x):
    for name in ("shape", "dtype", "ndim", "T"):
        with pytest.raises(AttributeError):
            setattr(x, name, 1)


def test_signatures_can_be_asked_for(x):
    assert str(inspect.signature(opyard.Tensor.size)) == "(self, /, dim=None)"
    assert str(inspect.signature(x.item)) == "()"
    assert (
        str(inspect.signature(opyard.tensor))
        == "(data, *, dtype=None, device=None, requires_grad=False)"
    )
    assert "A negative dimension counts from the end" in x.size.__doc__


# numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "bool"),
        (200, "uint8"),
        (-7, "int8"),
        (-300, "int16"),
        (-70000, "int32"),
        (-(1 << 63), "int64"),
        (1.5, "float16"),
        (1.5, "bfloat16"),
        (1.5, "float32"),
        (1e300, "float64"),
        (2.0, "complex128"),
    ],
)
def test_an_element_is_a_number_again(value, dtype):
    item = opyard.tensor([[value]], dtype=getattr(opyard, dtype)).item()
    assert item == value
    kinds = {"bool": bool, "int": int, "uint": int, "float": float, "bfloat": float}
    assert type(item) is kinds.get(dtype.rstrip("0123456789"), complex)


def test_one_element_is_a_number():
    tensor = opyard.tensor([[2.5]])
    assert (int(tensor), float(tensor), bool(tensor)) == (2, 2.5, True)
    assert not opyard.tensor(0)
    assert math.sqrt(opyard.tensor(4)) == 2
    assert [10, 20][opyard.tensor(1)] == 20
    assert operator.index(opyard.tensor([3])) == 3
    with pytest.raises(ValueError, match="NaN"):
        int(opyard.tensor(math.nan))


@pytest.mark.parametrize(("convert", "name"), [(int, "int"), (float, "float")])
def test_many_elements_are_no_number(x, convert, name):
    with pytest.raises(ValueError) as caught:
        convert(x)
    assert str(caught.value) == (
        f"{name}: the tensor is float32[3] with 3 elements; "
        "only a tensor of one element is a number"
    )


def test_the_truth_of_many_elements_is_not_defined(x):
    for tensor in (x, opyard.tensor([])):
        with pytest.raises(ValueError, match=f"the truth of a tensor of {tensor.numel()} elements"):
            bool(tensor)


@pytest.mark.parametrize("tensor", [opyard.tensor(1.0), opyard.tensor(True), opyard.tensor([1, 2])])
def test_an_index_is_one_integer(tensor):
    with pytest.raises(TypeError, match="only an integer tensor of one element"):
        operator.index(tensor)


def test_tolist_of_strided_and_empty_tensors():
    tensor = opyard.tensor([[1, 2, 3], [4, 5, 6]])
    assert tensor.T.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert tensor[:, ::2].tolist() == [[1, 3], [4, 6]]
    assert tensor[:, :0].tolist() == [[], []]
    assert opyard.tensor(5).tolist() == 5


def test_tolist_stops_before_the_stack_does():
    deep = [1] * 500_000  # CPython 3.14 looks at the stack itself, which has room for 50,000
    many = opyard.ops.aten.as_strided(opyard.tensor([1]), deep, deep)
    with pytest.raises(RecursionError):
        many.tolist()


def test_memory_that_python_cannot_read_is_named():
    meta = opyard.ops.aten.empty([2], device="meta")
    for read in (meta.tolist, meta[0].item, meta.numpy):
        with pytest.raises(
            NotImplementedError, match="'meta', whose memory .*; it has no elements$"
        ):
            read()


# as a container ---------------------------------------------------------------------------


def test_length_and_iteration():
    tensor = opyard.tensor([[1, 2], [3, 4], [5, 6]])
    assert len(tensor) == 3
    assert [row.tolist() for row in tensor] == [[1, 2], [3, 4], [5, 6]]
    assert [x + y for x, y in tensor] == [3, 7, 11]
    assert [row.tolist() for row in reversed(tensor)] == [[5, 6], [3, 4], [1, 2]]
    assert 3 in opyard.tensor([1, 2, 3])
    assert 4 not in opyard.tensor([1, 2, 3])


def test_a_number_has_no_length():
    for ask in (len, iter, list):
        with pytest.raises(TypeError, match="a tensor without dimensions is not possible"):
            ask(opyard.tensor(1))


def test_elements_are_not_deleted(x):
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]


def test_hash_is_identity(x):
    twin = opyard.tensor(x)
    assert hash(x) == hash(x)
    assert len({x, twin, x}) == 2
    assert {x: "found"}[x] == "found"


# operators as methods ---------------------------------------------------------------------


def test_other_methods_are_aten_operators(x):
    assert (x - 2).relu().tolist() == [0, 0, 1]
    assert x.sum(dim=[0]).item() == 6
    assert x.sum.__self__ is x
    assert x.sum.__func__ is opyard.ops.aten.sum


def test_a_method_that_is_no_operator_is_missing(x):
    with pytest.raises(AttributeError, match="'opyard.Tensor' object has no attribute 'no_such'"):
        x.no_such()
    assert not hasattr(x, "")
    assert getattr(x, "no_such", 7) == 7


def test_operators_come_and_go_as_methods(x):
    from opyard.library import Library

    assert not hasattr(x, "t7_thrice")
    library = Library("aten", "FRAGMENT")
    library.define("t7_thrice(Tensor x) -> Tensor")
    library.impl("t7_thrice", lambda x: x * 3, "CPU")
    assert x.t7_thrice().tolist() == [3, 6, 9]
    library._destroy()
    assert not hasattr(x, "t7_thrice")


def test_private_names_never_reach_the_registry(run_program):
    done = run_program("""
        import copy
        import opyard
        from opyard._core import ops as _ops

        x = opyard.tensor([1.0])
        for name in ("__array_interface__", "_foo", "__torch_function__", "_to_copy"):
            assert not hasattr(x, name), name
        assert {"shape", "item", "numpy"} <= set(dir(type(x)))
        assert not _ops._aten_is_loaded
        assert hasattr(x, "relu")
        assert _ops._aten_is_loaded
    """)
    assert done.returncode == 0, done.stderr


def test_what_is_made_has_not_been_written_yet():
    given = array.array("b", [1, 2])
    for made in (
        opyard.tensor([1.0, 2.0]),
        opyard.tensor(3),
        opyard.tensor([[1, 2], [3, 4]], dtype=opyard.float64, device="cpu"),
        opyard.tensor(given),
        opyard.tensor(opyard.ones(2).add_(1)),
        opyard.from_numpy(given),
        opyard.zeros(2),
        opyard.full((2,), 3.0),
        opyard.arange(3),
        opyard.rand(3),
        opyard.eye(2),
        opyard.ones(2) + 1,
    ):
        assert made._version == 0
        assert made.add_(1)._version == 1
