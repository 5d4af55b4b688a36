"""Complex numbers, dicts and capsules on their way into values and out; what has no object.

Suspect pyfallback/objects/convert/.
"""

import ctypes
import gc
import sys
from typing import ClassVar

import pytest

import opyard

pytestmark = pytest.mark.memory

np = pytest.importorskip("numpy")


class Index:
    def __index__(self):
        return 7


def echo(define, type_):
    """An operator that gives back its argument, and the list of what its Python kernel saw."""
    seen = []

    def kernel(a):
        seen.append(a)
        return a

    return define(f"op({type_} a) -> {type_}", CompositeExplicitAutograd=kernel), seen


COMPLEX = [
    (1 + 2j, 1 + 2j),
    (2.5, 2.5 + 0j),
    (3, 3 + 0j),
    (True, 1 + 0j),
    (np.complex64(1 - 2j), 1 - 2j),
    (np.complex128(1 - 2j), 1 - 2j),
    (np.float32(0.5), 0.5 + 0j),
    (opyard.tensor(1.5), 1.5 + 0j),
    (opyard.tensor(4), 4 + 0j),
    (opyard.from_numpy(np.array(1 - 2j, dtype="complex64")), 1 - 2j),
    (opyard.from_numpy(np.array(1 - 2j)), 1 - 2j),
]


@pytest.mark.parametrize(("given", "expected"), COMPLEX, ids=lambda v: repr(v)[:20])
def test_D1_complex_numbers_go_in_and_come_out(define, given, expected):
    op, seen = echo(define, "complex")
    result = op(given)
    assert (type(result), result) == (complex, expected)
    assert (type(seen[0]), seen[0]) == (complex, expected)


@pytest.mark.parametrize(
    "given",
    ["1j", None, [1j], np.str_("1"), np.datetime64(1, "s"), opyard.tensor([1.0])],
    ids=repr,
)
def test_what_is_no_complex_number_is_refused(define, given):
    op, _ = echo(define, "complex")
    with pytest.raises(TypeError, match="'complex'"):
        op(given)


def test_D1_the_parts_of_a_complex_number_are_kept_exactly(define):
    op, _ = echo(define, "complex")
    result = op(complex(-0.0, float("inf")))
    assert repr(result) == repr(complex(-0.0, float("inf")))


@pytest.mark.parametrize("given", [1 + 2j, np.complex64(1 + 2j)], ids=repr)
def test_D1_a_scalar_may_be_complex(define, given):
    op, _ = echo(define, "Scalar")
    result = op(given)
    assert (type(result), result) == (complex, 1 + 2j)
    assert type(op(2)) is int


@pytest.mark.parametrize(
    "given",
    [1j, np.complex64(1j), np.clongdouble(1j), np.str_("1"), np.datetime64(1, "s")],
    ids=repr,
)
def test_what_only_poses_as_a_float_is_refused(define, given):
    op, _ = echo(define, "float")
    with pytest.raises(TypeError, match="'float'"):
        op(given)


DICTS = [
    ("Dict(str, int)", {"b": 1, "a": 2}),
    ("Dict(str, int)", {}),
    ("Dict(int, str)", {3: "x", -1: "y"}),
    ("Dict(float, bool)", {0.5: True}),
    ("Dict(complex, int)", {1j: 2}),
    ("Dict(bool, int)", {True: 1, False: 0}),
    ("Dict(str, int[])", {"a": [1, 2]}),
    ("Dict(str, Dict(str, float))", {"a": {"b": 0.5}}),
    ("Dict(str, int)?", {"a": 1}),
    ("Dict(str, int)?", None),
    ("Dict(str, int)[]", [{"a": 1}, {}]),
    ("Any", {"a": 1, 2: [1j, {"b": None}]}),
]


@pytest.mark.parametrize(("type_", "given"), DICTS, ids=lambda v: repr(v)[:30])
def test_D5_dicts_go_in_and_come_out_in_order(define, type_, given):
    op, seen = echo(define, type_)
    for result in (op(given), seen[0]):
        assert result == given
        assert type(result) is type(given)
        if type(given) is dict:
            assert list(result) == list(given)
            assert result is not given


def test_D5_keys_and_values_are_converted_as_the_schema_says(define):
    op, _ = echo(define, "Dict(int, float)")
    result = op({Index(): 1, opyard.tensor(2): 2})
    assert result == {7: 1.0, 2: 2.0}
    assert [type(value) for value in result.values()] == [float, float]


def test_D5_the_values_of_a_dict_come_out_as_the_schema_says(define):
    op, _ = echo(define, "Dict(str, ScalarType)")
    assert op({"d": opyard.int64}) == {"d": opyard.int64}


def test_D5_tensors_are_keys_by_identity(define, x):
    y = opyard.tensor([1.0, 2.0, 3.0])
    op, seen = echo(define, "Dict(Tensor, int)")
    result = op({x: 1, y: 2})
    assert [key is wanted for key, wanted in zip(result, (x, y), strict=True)] == [True, True]
    assert list(seen[0].values()) == [1, 2]


@pytest.mark.parametrize(
    "given", [{"a": "b"}, {1: 1}, [("a", 1)], {"a": None}, "a", None], ids=repr
)
def test_what_is_no_such_dict_is_refused(define, given):
    op, _ = echo(define, "Dict(str, int)")
    with pytest.raises(TypeError, match=r"'Dict\(str, int\)'"):
        op(given)


def test_a_dict_with_other_keys_is_itself_where_anything_is_taken(define):
    op, _ = echo(define, "Any")
    for given in ({None: 1}, {(1, 2): 3}, {"a": 1, frozenset(): 2}, {2**70: 1}):
        assert op(given) is given
    subclass = type("Mapping", (dict,), {})()
    assert op(subclass) is subclass


def test_a_dict_that_contains_itself_is_refused(define):
    op, _ = echo(define, "Any")
    loop = {}
    loop["loop"] = loop
    with pytest.raises(RecursionError):
        op(loop)


def test_a_dict_that_changes_while_it_is_converted(define):
    class Changing:
        given: ClassVar[dict] = {}

        def __index__(self):
            self.given.clear()
            gc.collect()
            return 1

    given = Changing.given
    given.update({"a": Changing(), "b": 2})
    op, _ = echo(define, "Dict(str, int)")
    assert op(given) == {"a": 1, "b": 2}
    assert given == {}


def test_D5_a_dict_leaves_no_references_behind(define):
    op, seen = echo(define, "Any")
    thing = object()
    before = sys.getrefcount(thing)
    op({"a": thing})
    seen.clear()
    assert sys.getrefcount(thing) == before


def test_D4_a_value_that_contains_itself_raises_and_does_not_crash(plugin):
    try:
        with pytest.raises(RecursionError):
            plugin.loop_list()
        with pytest.raises(RecursionError):
            plugin.loop_dict()
    finally:
        plugin.break_loops()


def new_capsule(content, name):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(content), name, None)


def pointer_of(capsule, name):
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype = ctypes.c_void_p
    read.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return read(capsule, name)


def test_D1_capsules_of_python_go_in_and_come_out(plugin):
    content = ctypes.c_int(17)
    name = b"test.int"
    capsule = new_capsule(content, name)
    assert plugin.read_capsule(capsule) == 17
    before = sys.getrefcount(capsule)
    plugin.keep_value(capsule)
    assert sys.getrefcount(capsule) == before + 1, "the value keeps what Python made"
    plugin.keep_value(None)
    assert sys.getrefcount(capsule) == before
    assert pointer_of(plugin.same_capsule(capsule), name) == ctypes.addressof(content)


def test_D1_capsules_of_cpp_are_released_once(plugin):
    before = plugin.count_released()
    capsule = plugin.make_capsule()
    assert type(capsule).__name__ == "PyCapsule"
    assert ctypes.c_int.from_address(pointer_of(capsule, b"test.int")).value == 42
    again = plugin.same_capsule(capsule)
    del capsule
    assert plugin.count_released() == before
    assert plugin.read_capsule(again) == 42
    del again
    assert plugin.count_released() == before + 1


def test_a_value_without_an_object_in_python_raises(plugin):
    with pytest.raises(NotImplementedError) as raised:
        plugin.give_storage()
    assert str(raised.value) == (
        "a value of kind Storage has no object in Python in this version; it can only be passed "
        "between operators in C++"
    )
    with pytest.raises(TypeError, match="'Storage'"):
        plugin.take_storage(1)


# Every dtype, every kind: rows that are made of the lists -----------------------------------

DTYPES = [value for value in vars(opyard._C).values() if isinstance(value, opyard.dtype)]
# The number of a tensor with one element, by the kind of its element.
WHOLE = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
NUMBERS = {
    **{name: ("int", 3) for name in WHOLE},
    "float32": ("float", 2.5),
    "float64": ("float", 2.5),
    "complex64": ("complex", 1 + 2j),
    "complex128": ("complex", 1 + 2j),
    "bool": ("Scalar", True),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_tensor_without_dimensions_is_a_number_of_its_kind(define, dtype):
    name = str(dtype).removeprefix("opyard.")
    if name not in NUMBERS:
        assert name in ("float16", "bfloat16"), "a new dtype needs its row"
        return
    type_, number = NUMBERS[name]
    op, seen = echo(define, type_)
    scalar = define("scalar(Scalar a) -> ()", CompositeExplicitAutograd=seen.append)
    tensor = opyard.from_numpy(np.array(number, dtype=name))
    assert tensor.dim() == 0 and tensor.dtype == dtype
    for given in (tensor, np.array(number, dtype=name)):
        seen.clear()
        op(given)
        assert seen == [number] and type(seen[0]) is type(number)
        seen.clear()
        scalar(given)
        assert seen == [number] and type(seen[0]) is type(number)


# Arrays of other libraries as numbers. None: refused.
ARRAYS = [
    (np.array(3), {"int": 3, "SymInt": 3, "float": 3.0, "Scalar": 3, "complex": 3 + 0j}),
    (np.array(3, np.uint64), {"int": 3, "Scalar": 3}),
    (np.array(2.5), {"int": None, "float": 2.5, "SymFloat": 2.5, "Scalar": 2.5}),
    (np.array(1j), {"int": None, "float": None, "Scalar": 1j, "complex": 1j}),
    (np.array(True), {"int": None, "float": None, "Scalar": True}),
    (np.array([3]), {"int": None, "float": None, "Scalar": None, "complex": None}),
    (np.array([2.5]), {"int": None, "float": None, "Scalar": None, "complex": None}),
    (np.ones((2, 2)), {"int": None, "float": None, "Scalar": None, "complex": None}),
    (np.array("3"), {"int": None, "float": None, "Scalar": None, "complex": None}),
    (np.array(1, "M8[s]"), {"int": None, "float": None, "Scalar": None, "complex": None}),
    (np.array(1, ">i4"), {"int": 1}),
    (memoryview(np.array(3)), {"int": 3, "Scalar": 3}),
    (memoryview(b"3"), {"int": None, "float": None, "Scalar": None}),
    (np.array(3, np.int16), {"int[2]": [3, 3], "int[]": None, "Scalar?": 3, "float?": 3.0}),
    (np.array(1.5), {"float[2]": [1.5, 1.5], "int[2]": None, "int[]": None}),
]


@pytest.mark.parametrize(
    ("given", "type_", "number"),
    [(given, type_, number) for given, row in ARRAYS for type_, number in row.items()],
    ids=repr,
)
def test_an_array_without_dimensions_is_a_number_as_a_tensor_is(define, given, type_, number):
    op, seen = echo(define, type_)
    if number is None:
        with pytest.raises((TypeError, ValueError), match="for argument 'a'") as caught:
            op(given)
        assert "op(" in str(caught.value) and type(given).__name__ in str(caught.value)
        assert seen == []
    else:
        result = op(given)
        assert seen == [number] and type(seen[0]) is type(number)
        assert result == number and type(result) is type(number)


def test_an_array_for_a_number_is_a_tensor_if_an_overload_takes_one(define):
    define("op.Number(Scalar a) -> str", CompositeExplicitAutograd=lambda a: "number")
    op = define("op.Tensor(Tensor a) -> str", CPU=lambda a: "tensor")
    assert [op(np.array(2.5)), op(np.array(2)), op(2.5), op(np.float64(2))] == [
        "tensor",
        "tensor",
        "number",
        "number",
    ]


def test_a_future_passes_as_any_value(define):
    op, seen = echo(define, "Any")
    future = opyard.futures.Future()
    future.set_result(3)
    assert op(future) is future
    assert op([future])[0] is future
    assert seen[0] is future and seen[1][0] is future


def test_a_refusal_of_a_union_says_why_its_tensor_is_none(define):
    op, seen = echo(define, "Union(Tensor, str)")
    with pytest.raises((TypeError, ValueError), match="another byte order|byte order"):
        op(np.ones(2, ">f4"))
    assert seen == []
