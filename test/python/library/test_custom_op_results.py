"""Protects that results of custom operators alias no argument and no other result.

Suspect kernels/result_rules.cpp.
"""

import pytest
from custom_ops import both_ways, here, lambda_of, twice, values
from raised import message_of

import opyard
from opyard import Tensor, ops
from opyard.dispatch import DispatchMode, dump

aten = ops.aten


def aliasing(ns, name, place, result, other, declaration):
    return (
        f"{ns}::{name}: the Python kernel registered at {place}, a function of the module "
        f"{__name__}, returned for result {result} a tensor with the memory of {other}. Results of "
        "a custom operator may not alias its arguments or each other, unless the schema says so: "
        f"return a copy, such as .clone().\nDeclaration: {ns}::{name}{declaration}"
    )


def test_F17_an_argument_itself_or_a_view_of_it(make, ns, x):
    def f(x: Tensor, y: Tensor, view: bool) -> Tensor:
        return y[1:] if view else y

    made = make(f)
    place = here(-1)
    # The nearest caller outside of the package is `make` above.
    place = dump(made.op).partition("CompositeExplicitAutograd[alias]: registered at ")[2]
    place = place.partition(" ")[0]
    y = x.clone()
    says = aliasing(ns, "f", place, 0, "argument 'y'", "(Tensor x, Tensor y, bool view) -> Tensor")
    assert both_ways(made, x, y, False) == both_ways(made, x, y, True) == says
    assert both_ways(made, x, view=False, y=y) == says


def test_F17_every_place_of_arguments_and_results(make, x):
    y = x.clone()
    answer = None

    @make
    def several(
        a: "list[Tensor]", b: "Tensor | None" = None, n: int = 1
    ) -> "tuple[Tensor, Tensor]":
        return answer

    @make
    def listed(a: Tensor, b: Tensor) -> "list[Tensor]":
        return answer

    @make
    def pair(a: Tensor, b: "Tensor | None" = None) -> "tuple[Tensor, Tensor, int]":
        return answer

    answer = (x.clone(), y)
    assert "result 1 a tensor with the memory of argument 'a'" in both_ways(several, [x, y])
    assert "result 1 a tensor with the memory of argument 'b'" in both_ways(several, [x], y)
    assert several([x], n=2) == answer
    z = x.clone()
    answer = (z, z[1:])
    assert "result 1 a tensor with the memory of result 0" in both_ways(several, [x, y])
    answer = (z, z[1:], 3)
    assert "result 1 a tensor with the memory of result 0" in both_ways(pair, x)
    assert "result 0 a tensor with the memory of argument 'b'" in both_ways(pair, x, z)
    answer = (y, y, 3)
    assert "result 1 a tensor with the memory of result 0" in both_ways(pair, x)
    assert "result 0 a tensor with the memory of argument 'a'" in both_ways(pair, y)
    answer = (x, z, 3)
    assert "result 0 a tensor with the memory of argument 'a'" in both_ways(pair, x)
    answer = (z, x.clone(), 3)
    assert pair(x) == answer
    assert pair(x, y) == answer
    answer = [z, x[0]]
    assert "result 0 a tensor with the memory of argument 'a'" in both_ways(listed, x, y)
    for given in ([z, z], [x.clone(), z, z[1:]]):  # within one result
        answer = given
        assert "returned for result 0 several tensors with the same memory" in both_ways(
            listed, x, y
        )
    answer = [z, x.clone()]
    assert all(map(is_same, listed(x, y), answer))


def test_F17_memory_that_went_through_an_array(make, x):
    answer = None

    @make
    def one(a: Tensor) -> Tensor:
        return answer

    @make
    def pair(a: Tensor, b: Tensor) -> "tuple[Tensor, Tensor]":
        return answer

    array = x.numpy()
    for given in (opyard.from_numpy(array), opyard.from_numpy(array[1:])):
        answer = given
        assert "result 0 a tensor with the memory of argument 'a'" in both_ways(one, x)
    y = x.clone()
    answer = (y.clone(), opyard.from_numpy(array[1:]))
    assert "result 1 a tensor with the memory of argument 'b'" in both_ways(pair, y, x)
    answer = (opyard.from_numpy(array), opyard.from_numpy(array))
    assert "result 1 a tensor with the memory of result 0" in both_ways(pair, y, y)
    answer = opyard.from_numpy(array.copy())
    assert one(x) is answer


def is_same(one, other):
    return one is other


def test_F17_within_lists_of_lists_and_dicts(make, x):
    y = x.clone()
    answer = None
    nested = make(lambda x: answer, "nested", schema="(Tensor x) -> Tensor[][]")
    named = make(lambda x: answer, "named", schema="(Tensor x) -> Dict(str, Tensor)")
    inner = [y]
    for given in ([[y], [y]], [inner, inner], [[y, y[:1]]]):
        answer = given
        assert "result 0 several tensors with the same memory" in both_ways(nested, x)
    answer = [[x.clone()], [x]]
    assert "result 0 a tensor with the memory of argument 'x'" in both_ways(nested, x)
    answer = [[y], [x.clone()], []]
    assert len(nested(x)) == 3
    answer = {"a": y, "b": y}
    assert "result 0 several tensors with the same memory" in both_ways(named, x)
    answer = {"a": y, "b": x.clone()}
    assert set(named(x)) == {"a", "b"}
    declared = make(lambda x: [x, x], "declared", schema="(Tensor(a) x) -> Tensor(a)[]")
    assert len(declared(x)) == 2


def test_F17_memory_that_two_storages_share(make, x):
    np = pytest.importorskip("numpy")
    array = np.ones(4)
    answer = None
    one = make(lambda x: answer(x), "one", schema="(Tensor x) -> Tensor")
    two = make(lambda x: answer(x), "two", schema="(Tensor x) -> (Tensor, Tensor)")
    for given in (np.asarray, lambda x: np.asarray(x)[1:]):
        answer = given
        assert "result 0 a tensor with the memory of argument 'x'" in both_ways(one, x)
        assert "result 0 a tensor with the memory of argument 'x'" in message_of(
            RuntimeError, one, array
        )
    answer = lambda _: array  # noqa: E731
    message_of(RuntimeError, one, array[:3])
    message_of(RuntimeError, one, array[3:])
    answer = lambda _: array[2:]  # noqa: E731
    assert values(one(opyard.from_numpy(array[:2]))) == [1.0, 1.0]  # side by side
    answer = lambda _: (array, array[1:])  # noqa: E731
    assert "result 1 a tensor with the memory of result 0" in both_ways(two, x)
    answer = lambda _: (array[:1], array[1:])  # noqa: E731
    assert [len(each) for each in two(x)] == [1, 3]
    listed = make(lambda x: answer(x), "listed", schema="(Tensor x) -> Tensor[]")
    parts = [array[3:], array[:1], array[1:1], array[1:3]]
    answer = lambda _: parts  # noqa: E731
    assert [len(each) for each in listed(x)] == [1, 1, 0, 2]
    parts.append(array[2:3])
    assert "result 0 several tensors with the same memory" in both_ways(listed, x)
    empty = aten.empty([0])
    parts[:] = [empty, x.clone(), empty]
    both_ways(listed, x)
    answer = lambda _: array[:0]  # noqa: E731
    assert values(one(opyard.from_numpy(array))) == []


def test_F17_a_mutated_argument_may_not_be_returned_either(make, x):
    @make(mutates_args=["x"])
    def f(x: Tensor) -> Tensor:
        x += 1
        return x

    assert "the memory of argument 'x'" in both_ways(f, x)


def test_F17_unless_the_schema_says_so(make, x):
    view = make(lambda x: x[1:], "view", schema="(Tensor(a) x) -> Tensor(a)")
    assert values(view(x)) == values(view.op._call_boxed(x)) == [2.0, 3.0]

    part = make(
        lambda x, y: (x, y), "part", schema="(Tensor(a) x, Tensor y) -> (Tensor(a), Tensor)"
    )
    assert "result 1 a tensor with the memory of argument 'y'" in both_ways(part, x, x.clone())
    assert both_ways(part, x, x).count("result 1 a tensor with the memory of argument 'x'")
    fresh = make(lambda x, y: (x, y.clone()), "fresh",
                 schema="(Tensor(a) x, Tensor y) -> (Tensor(a), Tensor)")  # fmt: skip
    assert fresh(x, x)[0] is x


def test_F17_fresh_results_of_every_kind(make, x):
    kept = x.clone()

    @make
    def f(x: Tensor) -> "tuple[Tensor, Tensor]":
        return kept, x.clone()

    assert f(x)[0] is f(x)[0] is kept

    @make
    def none(x: Tensor, y: "Tensor | None") -> "Tensor | None":
        return None

    assert none(x, x) is none(x, None) is none.op._call_boxed(x, x) is None

    @make
    def number(x: Tensor) -> int:
        return 3

    assert number(x) == 3


def test_F17_can_be_left_out(make, x):
    def f(x: Tensor) -> Tensor:
        return x

    made = make(f, check_aliasing=False)
    assert made(x) is made.op._call_boxed(x) is x
    made.register_kernel("cpu", lambda x: x)
    assert made(x) is x
    again = make(f)
    both_ways(again, x)
    again.register_kernel("cpu", lambda x: x)
    both_ways(again, x)


def test_F17_kernels_by_device_and_the_original_one_are_watched(make, x):
    f = make(lambda_of(twice, lambda x: x))
    f.register_kernel("cpu", lambda x: x * 2)
    f(x)
    with f.set_kernel_enabled("cpu", False):
        both_ways(f, x)
    f.register_kernel("cpu", lambda x: x)
    both_ways(f, x)


def test_F17_with_the_python_dispatcher_and_in_a_mode(make, x):
    from opyard.dispatch import enable_python_dispatcher

    f = make(lambda_of(twice, lambda x: x))

    class Through(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            return op(*args, **(kwargs or {}))

    text = both_ways(f, x)
    with enable_python_dispatcher():
        assert message_of(RuntimeError, f, x) == text
    with Through():
        assert message_of(RuntimeError, f, x) == text


def test_F17_other_kernels_are_not_watched(define, x):
    assert define("f(Tensor x) -> Tensor", CPU=lambda x: x)(x) is x
