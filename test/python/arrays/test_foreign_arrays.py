"""test_foreign_arrays.py: arrays of other libraries as arguments and results of operators.

Suspect objects/arrays/foreign_array.cpp, then foreign_results.cpp. What is wrong with arrays is in
test_malformed_arrays.py.
"""

import array
import gc

import numpy as np
import pytest
from array_libraries import LIBRARIES, Constant, Exporter
from built import import_arrays

import opyard
from opyard.dispatch import DispatchMode
from opyard.library import Library

pytestmark = pytest.mark.memory

arrays = import_arrays()
aten = opyard.ops.aten

every_library = pytest.mark.parametrize("of", LIBRARIES, ids=lambda of: of.name)


def is_kind(result, of):
    return type(result) is of.kind


# forms of calls ---------------------------------------------------------------------------


@every_library
def test_F57_one_array(of):
    a = of.make([1.0, -2.0, 3.0])
    for call in (aten.neg, aten.neg.default, aten.neg.default._call_boxed):
        result = call(a)
        assert is_kind(result, of)
        assert result.tolist() == [-1.0, 2.0, -3.0]
    assert a.tolist() == [1.0, -2.0, 3.0]


@every_library
def test_F57_by_position_by_name_and_with_a_number(of):
    a, b = of.make([1.0, 2.0]), of.make([10.0, 20.0])
    for result, expected in (
        (aten.add(a, b), [11.0, 22.0]),
        (aten.add(a, other=b, alpha=2), [21.0, 42.0]),
        (aten.add.Tensor(self=a, other=b), [11.0, 22.0]),
        (aten.add(a, 2), [3.0, 4.0]),
        (aten.add(a, a), [2.0, 4.0]),
    ):
        assert is_kind(result, of)
        assert result.tolist() == expected


@every_library
def test_F57_lists_of_arrays(of):
    a, b = of.make([1.0, 2.0]), of.make([3.0])
    for given in ([a, b], (a, b)):
        assert aten.cat(given).tolist() == [1.0, 2.0, 3.0]
        assert is_kind(aten.cat(given), of)
    assert aten.cat([a, a, a]).tolist() == [1.0, 2.0] * 3


@every_library
def test_F57_optional_arguments_and_lists_of_them(of, define):
    op = define("maybe(Tensor? x, Tensor?[] more) -> (Tensor?, Tensor?[])")
    op.default.py_impl("CPU")(lambda x, more: (x, more))
    a, b = of.make([1.0]), of.make([2.0])
    x, more = op(a, [None, b, a])
    assert x is a
    assert more[0] is None
    assert more[1] is b and more[2] is a
    assert op(None, [b])[1][0] is b


@every_library
def test_F57_in_place_gives_the_same_object_back(of):
    a = of.make([1.0, 2.0])
    assert aten.add_(a, 1) is a
    assert aten.add_.Tensor(a, of.make([1.0, 1.0])) is a
    assert a.tolist() == [3.0, 4.0]


@every_library
def test_F57_out_gives_the_same_object_back(of):
    a, out = of.make([1.0, 2.0]), of.make([0.0, 0.0])
    assert aten.add.out(a, a, out=out) is out
    assert out.tolist() == [2.0, 4.0]


@every_library
def test_F57_several_results_and_results_that_are_no_tensors(of, define):
    op = define("several(Tensor x, Tensor(a!) y) -> (Tensor, Tensor(a!), int, Tensor[], Tensor?)")
    op.default.py_impl("CPU")(lambda x, y: (x + x, y, 7, [x, x * 3], None))
    x, y = of.make([1.0]), of.make([2.0])
    double, same, number, items, nothing = op(x, y)
    assert double.tolist() == [2.0]
    assert is_kind(double, of)
    assert same is y
    assert number == 7
    assert items[0] is x
    assert is_kind(items[1], of)
    assert nothing is None


@every_library
def test_F57_redispatch(of):
    a = of.make([1.0, 2.0])
    keys = opyard.dispatch.DispatchKeySet("CPU")
    result = aten.neg.default.redispatch(keys, a)
    assert is_kind(result, of)
    assert result.tolist() == [-1.0, -2.0]
    result = aten.neg.default._call_at("CPU", None, a)
    assert is_kind(result, of)
    assert "CPU" in str(opyard.dispatch.explain(aten.neg.default, a))


@every_library
def test_F57_a_python_kernel_gets_tensors_and_may_return_arrays(of, define):
    seen = []

    def kernel(x, n, ys, *, scale=1.0):
        seen.extend([type(x), n, [type(y) for y in ys], x.tolist(), scale])
        return of.make([7.0])

    op = define("kernel(Tensor x, int n, Tensor[] ys, *, float scale=1.0) -> Tensor", CPU=kernel)
    a = of.make([1.0, 2.0])
    result = op(a, 3, [a], scale=0.5)
    assert seen == [opyard.Tensor, 3, [opyard.Tensor], [1.0, 2.0], 0.5]
    assert is_kind(result, of)
    assert result.tolist() == [7.0]
    # Without an array among the arguments the result is a tensor.
    assert type(op(opyard.tensor([1.0]), 3, [])) is opyard.Tensor


@every_library
def test_F57_what_a_python_kernel_writes_is_written(of, define):
    op = define("fill(Tensor(a!) x) -> Tensor(a!)", CPU=lambda x: x.fill_(5))
    a = of.make([1.0, 2.0])
    assert op(a) is a
    assert a.tolist() == [5.0, 5.0]


@every_library
def test_F57_fallbacks_see_tensors(of, define):
    op = define("falls(Tensor x) -> Tensor")
    seen = []

    def fallback(op, *args, **kwargs):
        seen.append((op, [type(a) for a in args]))
        return args[0]

    library = Library("_", "IMPL", "CPU")
    library.fallback(fallback)
    a = of.make([1.0])
    assert op(a) is a
    assert seen == [(op.default, [opyard.Tensor])]
    library._destroy()


class CallLog(DispatchMode):
    def __init__(self):
        self.seen = []

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.seen.append((op, types, [type(a) for a in args]))
        return op(*args, **(kwargs or {}))


@every_library
def test_F57_modes_see_tensors(of):
    a = of.make([1.0, 2.0])
    with CallLog() as mode:
        result = aten.neg(a)
        same = aten.add_(a, 1)
    assert mode.seen[0] == (aten.neg.default, (), [opyard.Tensor])
    assert is_kind(result, of)
    assert same is a
    assert result.tolist() == [-1.0, -2.0]


@every_library
def test_F57_classes_with_a_handler_see_tensors_and_stay_what_they_are(of):
    seen = []

    class Handled(opyard.Tensor):
        def __new__(cls, data):
            return opyard.Tensor.make_subclass(cls, data)

        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            seen.append([type(a) for a in args])
            return Handled(opyard.tensor([9.0]))

    h = Handled(opyard.tensor([1.0]))
    result = aten.add(of.make([1.0]), h)
    assert seen == [[opyard.Tensor, Handled]]
    assert type(result) is Handled


@every_library
def test_F57_a_mode_may_answer_with_an_array(of):
    class Answers(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            return of.make([4.0])

    with Answers():
        assert is_kind(aten.neg(of.make([1.0])), of)
        result = aten.neg(opyard.tensor([1.0]))
    assert type(result) is opyard.Tensor
    assert result.tolist() == [4.0]


# what comes back --------------------------------------------------------------------------


def test_F57_results_are_of_the_kind_of_the_first_array():
    a, b, t = np.float32([1.0]), arrays.Array([2.0]), opyard.tensor([4.0])
    assert type(aten.add(a, b)) is np.ndarray
    assert type(aten.add(b, a)) is arrays.Array
    assert type(aten.add(t, b)) is arrays.Array
    assert type(aten.cat([t, b, a])) is arrays.Array
    assert type(aten.add(other=a, self=b)) is arrays.Array
    assert type(aten.add(t, t)) is opyard.Tensor


def test_F57_a_tensor_that_is_given_comes_back_itself(define):
    t, a = opyard.tensor([1.0]), np.float32([2.0])
    assert aten.add_(t, a) is t
    assert t.tolist() == [3.0]
    assert aten.add.out(a, a, out=t) is t
    op = define("last(Tensor[] xs) -> Tensor", CPU=lambda xs: xs[-1])
    assert op([a, t]) is t
    assert op([t, a]) is a


@every_library
def test_F57_no_memory_is_copied(of, define):
    a = of.make([1.0, 2.0])
    assert define("where(Tensor x) -> int", CPU=lambda x: x.data_ptr())(a) == of.address(a)
    view = aten.view(a, [2, 1])
    assert of.address(view) == of.address(a)


@every_library
def test_F57_a_view_keeps_the_memory(of):
    view = aten.view(of.make([1.0, 2.0]), [2, 1])
    gc.collect()
    assert view.tolist() == [[1.0], [2.0]]


def test_F57_the_same_array_twice_is_one_tensor(define):
    op = define(
        "same(Tensor x, Tensor y, Tensor[] zs) -> bool", CPU=lambda x, y, zs: x is y is zs[0]
    )
    a, b = np.zeros(3), np.zeros(3)
    assert op(a, a, [a])
    assert not op(a, b, [a])


def test_F57_numpy_arrays_are_made_without_copying():
    a = np.arange(6.0).reshape(2, 3)
    t = aten.t(a)
    assert np.shares_memory(t, a)
    assert t.tolist() == a.T.tolist()
    assert aten.neg(a[:, ::2]).tolist() == (-a[:, ::2]).tolist()


def test_F57_what_numpy_cannot_hold_stays_a_tensor(define):
    narrow = define(
        "narrow(Tensor x) -> Tensor", CPU=lambda x: aten.empty([1], dtype=opyard.bfloat16)
    )
    result = narrow(np.float32([1.0]))
    assert type(result) is opyard.Tensor
    assert result.dtype is opyard.bfloat16
    meta = define("meta(Tensor x) -> Tensor", CPU=lambda x: aten.empty([2], device="meta"))
    assert meta(np.float32([1.0])).device.type == "meta"
    assert type(meta(arrays.Array([1.0]))) is opyard.Tensor


def test_F57_a_result_of_a_class_of_its_own_stays_one(define):
    class Mine(opyard.Tensor):
        pass

    mine = opyard.Tensor.make_subclass(Mine, opyard.tensor([1.0]))
    gives = define("gives(Tensor x) -> Tensor", CPU=lambda x: mine)
    makes = define(
        "makes(Tensor x) -> Tensor",
        CPU=lambda x: opyard.Tensor.make_subclass(Mine, opyard.tensor([2.0])),
    )
    for x in (np.float32([1.0]), arrays.Array([1.0])):
        assert gives(x) is mine
        assert type(makes(x)) is Mine


def test_F57_a_library_that_cannot_hold_a_result_says_so():
    with pytest.raises(BufferError, match="^only float32 of up to 8 dimensions$"):
        aten.gt(arrays.Array([1.0]), 0.5)
    made, back = arrays.counts()
    assert made == back


@pytest.mark.parametrize(
    ("layout", "device", "advice"),
    [
        ("torch.strided", "meta", "it is on meta, without elements: pass opyard.empty"),
        ("torch.sparse_coo", "cpu", r"its layout is torch.sparse_coo: pass x.to_dense\(\)"),
        ("torch.strided", "cpu", "accepted are arrays with strides and elements in memory"),
    ],
)
def test_F57_what_a_table_refuses_is_told_by_its_first_line(layout, device, advice):
    kind = type("Refused", (arrays.Subclassable,), {"layout": layout, "device": device})
    a = kind([1.0, 2.0])
    a.fail = RuntimeError("no memory here\nframe #0: c10::Error::Error(...)")
    why = f"its exchange table raised RuntimeError: no memory here; {advice}"
    for call, begin in (
        (lambda: aten.neg.default(a), r"^aten::neg\(\) cannot take .* argument 'self', .*: "),
        (lambda: aten.cat([opyard.ones(2), a]), r"^aten::cat\(\) .* argument 'tensors'\[1\], .*: "),
        (lambda: opyard.ones(2) + a, "^an operand of type 'Refused' cannot be taken as a Tensor: "),
        (lambda: opyard.from_dlpack(a), "^from_dlpack: "),
    ):
        with pytest.raises(ValueError, match=begin + why) as caught:
            call()
        assert "frame" not in str(caught.value)
    a.fail = RecursionError("as itself")
    with pytest.raises(RecursionError, match="^as itself$"):
        aten.neg.default(a)


def test_F57_tensors_of_pytorch_without_memory_are_refused_in_one_line():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for x, advice in (
        (torch.ones(2, device="meta"), "on meta, without elements: pass opyard.empty"),
        (torch.eye(2).to_sparse(), "torch.sparse_coo: pass x.to_dense()"),
    ):
        came = "argument 'self', a value of type 'torch.Tensor'"
        with pytest.raises(ValueError, match=came) as caught:
            aten.neg.default(x)
        assert advice in str(caught.value) and "frame" not in str(caught.value)


def test_F57_arrays_without_dimensions_are_tensors_and_numbers_are_not(define):
    op = define("which.Tensor(Tensor x) -> str", CPU=lambda x: "Tensor")
    library = Library(op.qualified_name.partition("::")[0], "FRAGMENT")
    library.define("which.Scalar(Scalar x) -> str")
    library.impl("which.Scalar", lambda x: "Scalar")
    for number in (1, 2.5, True, np.float64(2), np.float32(2), np.int8(1), np.bool_(True)):
        assert op(number) == "Scalar"
        with pytest.raises(TypeError, match="Expected a value of type 'Tensor' for argument 'x'"):
            op.Tensor(number)
    assert op(np.array(2.0)) == "Tensor"
    library._destroy()


@pytest.mark.parametrize(
    "thing", ["text", [1.0], {"a": 1}, object(), int, np.ndarray, np, None.__class__], ids=repr
)
def test_F57_other_objects_are_no_tensors(thing):
    with pytest.raises(TypeError, match="Expected a value of type 'Tensor' for argument 'self'"):
        aten.neg.default(thing)


@pytest.mark.parametrize(
    "data",
    [b"\x01\x02", bytearray(b"\x01\x02"), array.array("B", [1, 2]), memoryview(b"\x01\x02")],
    ids=lambda v: type(v).__name__,
)
def test_F57_buffers_are_tensors(data):
    result = aten.to(data, opyard.int64)
    assert type(result) is opyard.Tensor
    assert result.tolist() == [1, 2]


def test_F57_an_array_is_no_list_of_its_rows():
    with pytest.raises(TypeError, match=r"Expected a value of type 'Tensor\[\]'"):
        aten.cat.default(np.zeros((2, 2)))
    # If the length is known one is used for all of them, as with numbers.
    assert aten.sum(np.ones((2, 3)), [0]).tolist() == [2.0, 2.0, 2.0]


def test_F57_any_takes_an_array_as_it_is(define):
    op = define("any(Any x) -> Any", CompositeImplicitAutograd=lambda x: x)
    a = np.zeros(2)
    assert op(a) is a


def test_F57_what_another_candidate_took_for_an_array_counts_for_nothing(define, library):
    define("pick.tensor(Tensor x, Tensor y, int z) -> Tensor", CPU=lambda x, y, z: x)
    op = define("pick.sizes(Tensor x, int[] y) -> Tensor", CPU=lambda x, y: x + sum(y))
    result = op(opyard.tensor([1.0]), np.array([1, 2]))
    assert type(result) is opyard.Tensor
    assert result.tolist() == [4.0]
    assert type(op(np.float32([1.0]), np.array([1, 2]))) is np.ndarray


def test_F57_arithmetic_of_a_tensor_and_an_array_gives_a_tensor():
    t, a = opyard.tensor([1.0]), np.float32([2.0])
    for result in (t + a, a + t):
        assert type(result) is opyard.Tensor
        assert result.tolist() == [3.0]


# results in containers --------------------------------------------------------------------


@every_library
def test_F57_results_in_containers_are_of_the_kind_too(define, of):
    op = define(
        "deep(Tensor x) -> (Tensor[][], Dict(str, Tensor), Dict(int, Tensor?[]), (Tensor, int)[])",
        CPU=lambda x: ([[x, x * 2], []], {"a": x, "b": x * 3}, {4: [x * 4, None]}, [(x * 5, 5)]),
    )
    x = of.make([1.0])
    lists, by_name, by_number, pairs = op(x)
    assert lists[0][0] is x and by_name["a"] is x
    made = [lists[0][1], by_name["b"], by_number[4][0], pairs[0][0]]
    assert all(is_kind(each, of) for each in made)
    assert [each.tolist() for each in made] == [[2.0], [3.0], [4.0], [5.0]]
    assert lists[1] == [] and by_number[4][1] is None and pairs[0][1] == 5
    assert type(pairs[0]) is tuple


def test_F57_a_tensor_that_is_given_in_containers_comes_back_itself(define):
    op = define(
        "given(Tensor x, Tensor[][] y, Dict(str, Tensor) z) -> (Tensor[][], Tensor)",
        CPU=lambda x, y, z: (y, z["a"]),
    )
    y, z = opyard.tensor([1.0]), opyard.tensor([2.0])
    lists, one = op(np.ones(1), [[y]], {"a": z})
    assert lists[0][0] is y and one is z


@pytest.mark.parametrize("name", ["__array_namespace__", "from_dlpack"])
def test_F57_none_in_place_of_from_dlpack_means_none(name):
    class Library:
        from_dlpack = None

    value = None if name == "__array_namespace__" else lambda self: Library
    Kind = type("Kind", (Exporter,), {name: value, "__array_namespace__": value})
    result = aten.neg(Kind([1.0]))
    assert type(result) is opyard.Tensor and result.tolist() == [-1.0]


def test_F57_a_read_only_buffer_counts_where_the_capsule_cannot_say_it(library):
    library.define("write(Tensor(a!) x) -> ()")
    library.define("look(Tensor x) -> float")
    calls = []
    library.impl("write", calls.append, "CPU")
    library.impl("look", lambda x: float(x[0]), "CPU")
    own = getattr(opyard.ops, library.ns)
    constant = Constant(np.float32([1.5, 2.5]).tobytes())
    assert own.look(constant) == 1.5
    with pytest.raises(ValueError, match="the memory of the array is read-only"):
        own.write(constant)
    assert calls == []
