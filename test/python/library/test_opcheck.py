"""test_opcheck.py: opcheck finds operators that do not do what they say.

Suspect _library/opcheck.py.
"""

import array

import numpy as np
import pytest

import opyard
from opyard.library import OpCheckError, opcheck, register_fake

TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)
GOOD = dict.fromkeys(TESTS, "SUCCESS")
DYNAMIC = "test_aot_dispatch_dynamic"


@pytest.fixture
def y():
    return opyard.tensor([4.0, 5.0, 6.0])


def fault(op, args, kwargs=None, test="test_schema"):
    """The middle of the one error that a test gives: what is between its head and its hint."""
    with pytest.raises(OpCheckError) as caught:
        opcheck(op, args, kwargs, test_utils=test)
    text = str(caught.value)
    name = op.qualified_name
    assert text.startswith(f"{name}: {test} failed: ")
    assert f"\nDeclaration: {op.default.declaration}\nTo repeat it: opyard.library.opcheck(" in text
    return text.removeprefix(f"{name}: {test} failed: ").partition("\nDeclaration: ")[0]


def writing(x, value=9.0):
    x[0] = value
    return x


def write(x):
    writing(x)


def test_F30_a_good_operator_passes(define, x):
    f = define("f(Tensor x, int n=2) -> Tensor", CPU=lambda x, n=2: x * n,
               Meta=lambda x, n=2: opyard.ops.aten.empty_like(x))  # fmt: skip
    assert opcheck(f, (x,)) == GOOD
    assert opcheck(f.qualified_name, (x,), {"n": 3}) == GOOD
    assert opcheck(f.default, (x, 3), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_F30_operators_in_cpp_pass(x, y):
    aten = opyard.ops.aten
    for op, args, kwargs in [
        (aten.add.Tensor, (x, y), {"alpha": 2}),
        (aten.add, (x, 2), {}),  # the overload that takes the call
        (aten.add_.Tensor, (x, y), {}),
        (aten.mul.out, (x, y), {"out": opyard.tensor([0.0, 0.0, 0.0])}),
        (aten.transpose.int, (opyard.tensor([[1.0, 2.0]]), 0, 1), {}),
    ]:
        assert opcheck(op, args, kwargs) == GOOD
    found = opcheck(aten.cat.default, ([x, y, x],), test_utils=TESTS[:3])
    assert found == dict.fromkeys(TESTS[:3], "SUCCESS")
    assert x.tolist() == [1.0, 2.0, 3.0], "the caller's own are not touched"


def test_F30_the_results_hold_the_exceptions_where_none_is_raised(define, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x)
    found = opcheck(f, (x,), raise_exception=False)
    assert list(found) == [*TESTS]
    assert found.pop("test_autograd_registration") == "SUCCESS"
    assert all(isinstance(error, OpCheckError) for error in found.values())
    assert isinstance(found["test_faketensor"].__cause__, NotImplementedError)


def test_F30_the_error_says_how_to_repeat_the_test(ns, define, x, y):
    f = define("f(Tensor x, Tensor[] more, *, str s) -> Tensor", CPU=lambda x, more, *, s: x)
    with pytest.raises(OpCheckError) as caught:
        opcheck(f, (x, [y, opyard.ops.aten.zeros([5, 5])]), {"s": "a"})
    assert str(caught.value) == (
        f"{ns}::f: test_schema failed: Argument x is not defined to alias output but was aliasing; "
        "give both the same alias set in the schema, or return a copy\n"
        f"Declaration: {ns}::f(Tensor x, Tensor[] more, *, str s) -> Tensor\n"
        f"To repeat it: opyard.library.opcheck('{ns}::f', "
        "(opyard.tensor([1.0, 2.0, 3.0], dtype=opyard.float32), "
        "[opyard.tensor([4.0, 5.0, 6.0], dtype=opyard.float32), "
        "opyard.ops.aten.empty([5, 5], dtype=opyard.float32)]), {'s': 'a'}, "
        "test_utils='test_schema')"
    )
    hint = str(caught.value).rpartition("To repeat it: ")[2]
    with pytest.raises(OpCheckError):
        eval(hint, {"opyard": opyard})


def test_F30_wrong_questions_are_refused(x):
    with pytest.raises(ValueError) as caught:
        opcheck("aten::neg", (x,), test_utils=("test_schema", "test_nothing"))
    assert str(caught.value) == (
        "opcheck() has no test called 'test_nothing'; it has test_schema, "
        "test_autograd_registration, test_faketensor, test_aot_dispatch_dynamic"
    )
    with pytest.raises(LookupError):
        opcheck("aten::no_such", (x,))


def dynamic_fault(f, *args, **options):
    """What the test of the graph says, without the operator's name and the hint."""
    with pytest.raises(OpCheckError) as caught:
        opcheck(f, args, test_utils=DYNAMIC, **options)
    return str(caught.value).partition("failed: ")[2].partition("\nDeclaration: ")[0]


def test_F30_gradients_in_a_graph_are_those_of_a_backward(define, library, x, y):
    f = define(
        "f(Tensor x, Tensor[] ys, float s) -> (Tensor, Tensor)",
        CPU=lambda x, ys, s: (x * ys[0] * s, x + 1),
        Meta=lambda x, ys, s: (x * 1, x * 1),
    )
    library.derivative("f", {"x": "grad0 * ys[0] * s + grad1"})
    x.requires_grad_()
    assert opcheck(f, (x, [y, y], 2.0)) == GOOD
    assert x.grad is None
    assert x.requires_grad
    assert opcheck("aten::where.self", (x > 1, x, y)) == GOOD


def test_F30_a_gradient_that_another_run_gives_otherwise_is_found(define, x):
    calls = []

    def backward(ctx, grad):
        calls.append(grad)
        return grad * len(calls)

    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2, Meta=lambda x: x * 2)
    opyard.library.register_autograd(f, backward)
    assert opcheck(f, (x,)) == GOOD, "no gradient is asked for"
    assert not calls
    text = dynamic_fault(f, x.requires_grad_())
    assert text == (
        "the gradient of the tensor 0 among the arguments has 0.5 as element 0 in a graph, and "
        "0.25 in a call"
    )


def test_F30_an_operator_without_the_derivative_that_is_asked_for(define, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2, Meta=lambda x: x * 2)
    assert opcheck(f, (x,)) == GOOD
    assert "f, which has no autograd formula" in dynamic_fault(f, x.requires_grad_())


def test_F30_a_result_that_another_run_gives_otherwise_is_found(define, x):
    calls = []

    def drifting(x):
        calls.append(x)
        return x + len(calls) * 1e-3

    f = define("f(Tensor x) -> Tensor", CPU=drifting, Meta=lambda x: x * 2)
    assert "the result 0 has " in dynamic_fault(f, x)
    assert "the result 0 has " in dynamic_fault(f, x, rtol=1e-6)
    for options in ({"atol": 0.1}, {"rtol": 0.1}):
        assert opcheck(f, (x,), test_utils=DYNAMIC, **options) == {DYNAMIC: "SUCCESS"}


def test_F30_numbers_that_are_infinite_or_none_agree_with_themselves(define):
    given = opyard.tensor([float("nan"), float("inf"), -float("inf"), 1.0])
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2, Meta=lambda x: x * 2)
    assert opcheck(f, (given,)) == GOOD
    assert opcheck("aten::mul.Tensor", (given.to(opyard.complex64), given)) == GOOD
    assert opcheck("aten::logical_not", (opyard.tensor([True, False]),)) == GOOD


def test_F30_a_fake_kernel_gets_symbols_for_sizes(define, x):
    seen = []

    def fake(x, y):
        seen.append((x.shape, x.strides, y.shape))
        return opyard.ops.aten.empty([x.shape[0], y.shape[1]], device="meta")

    f = define("f(Tensor x, Tensor y) -> Tensor", CPU=lambda x, y: x.matmul(y), Meta=fake)
    a, b = opyard.ones(3, 4).T, opyard.ones(3, 1)
    assert opcheck(f, (a, b), test_utils=DYNAMIC) == {DYNAMIC: "SUCCESS"}
    [(shape, strides, other)] = seen
    assert [str(size) for size in (*shape, *strides, *other)] == ["s0", "s1", "1", "s0", "s1", "1"]
    assert isinstance(other[1], int), "sizes of 0 and 1 are what they are"


def test_F30_a_fake_kernel_that_takes_no_symbols_is_found(define, x):
    def needs_numbers(x):
        if not isinstance(x.shape[0], int):
            raise TypeError("an int is wanted")
        return opyard.ops.aten.empty_like(x)

    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2, Meta=needs_numbers)
    with pytest.raises(OpCheckError) as caught:
        opcheck(f, (x,), test_utils=DYNAMIC)
    assert isinstance(caught.value.__cause__, TypeError)
    assert (
        "called without elements and with symbols for sizes (s0 = 3), it raised TypeError: an int "
        "is wanted\n"
    ) in str(caught.value)
    assert opcheck(f, (x,), test_utils="test_faketensor") == {"test_faketensor": "SUCCESS"}


def test_F30_a_fake_kernel_that_computes_other_sizes_from_symbols_is_found(define, x):
    def fake(x):
        more = 0 if isinstance(x.shape[0], int) else 1
        return opyard.ops.aten.empty([x.shape[0] + more], device="meta")

    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2, Meta=fake)
    assert dynamic_fault(f, x) == (
        "with symbols for sizes the fake result 0 has the shape ((s0 + 1),), and (3,) in truth"
    )


class Twice(opyard.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def test_F32_a_kernel_that_tapes_its_calls_itself(define, x):
    f = define("f(Tensor x) -> Tensor", CPU=Twice.apply)
    with pytest.raises(OpCheckError, match="the result 0 requires a gradient.*below autograd"):
        opcheck(f, (x,), test_utils="test_autograd_registration")
    g = define("g(Tensor x) -> Tensor", CPU=lambda x: x * 2)
    assert opcheck(g, (x,), test_utils="test_autograd_registration") == {
        "test_autograd_registration": "SUCCESS"
    }


@pytest.mark.parametrize("key", ["CompositeExplicitAutograd", "CompositeImplicitAutograd"])
def test_F32_a_composite_kernel_that_tapes_is_not_at_the_autograd_key(define, x, key):
    f = define("f(Tensor x) -> Tensor", **{key: Twice.apply})
    text = fault(f, (x,), test="test_autograd_registration")
    assert text.startswith("the result 0 requires a gradient, though the call was made below")
    assert text.endswith("or register this kernel at the Autograd key")


def test_F30_a_formula_with_a_fault_is_found(formulas_unread, define, library, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2)
    library.derivative("f", {"x": "grad * nothing"})
    with pytest.raises(OpCheckError, match="nothing"):
        opcheck(f, (x,), test_utils="test_autograd_registration")


def test_F31_an_undeclared_mutation(define, x):
    f = define("f(Tensor x) -> ()", CPU=lambda x: write(x))
    assert fault(f, (x,)) == (
        "Argument x is not defined as mutable but was mutated; write it as Tensor(a!) in the "
        "schema, or work on a copy"
    )
    assert x.tolist() == [1.0, 2.0, 3.0]
    g = define("g(Tensor(a!) x) -> ()", CPU=lambda x: write(x))
    assert opcheck(g, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_F31_a_mutation_in_a_list_and_by_keyword(define, x, y):
    f = define("f(Tensor[] xs, *, Tensor? z=None) -> ()",
               CPU=lambda xs, *, z=None: (write(xs[1]), write(z))[0])  # fmt: skip
    text = fault(f, ([x, y],), {"z": opyard.tensor([7, 8])})
    assert text.count("was mutated") == 2
    assert "\n  - Argument xs[1] is not defined as mutable" in text
    assert "\n  - Argument z is not defined as mutable" in text


def test_F31_a_mutation_by_an_operator_in_cpp(plugin, define, x):
    f = define("f(Tensor x) -> ()", CompositeExplicitAutograd=lambda x: (x.add_(1), None)[1])
    assert "Argument x is not defined as mutable" in fault(f, (x,))


def test_F31_undeclared_aliasing(define, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x[1:])
    assert fault(f, (x,)) == (
        "Argument x is not defined to alias output but was aliasing; give both the same alias set "
        "in the schema, or return a copy"
    )
    g = define("g(Tensor(a) x) -> Tensor(a)", CPU=lambda x: x[1:])
    assert opcheck(g, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_F31_aliasing_of_another_argument_than_declared(define, x, y):
    f = define("f(Tensor(a) x, Tensor y) -> Tensor(a)", CPU=lambda x, y: y)
    assert "Argument y is not defined to alias output" in fault(f, (x, y))


def test_F31_outputs_that_alias_each_other(define, x):
    def pair(x):
        made = x * 2
        return made, made[1:]

    f = define("f(Tensor x) -> (Tensor, Tensor)", CPU=pair)
    assert fault(f, (x,)) == "Outputs 0 and 1 alias unexpectedly; return a copy of one"
    g = define("g(Tensor x) -> Tensor[]", CPU=lambda x: list(pair(x)))
    assert fault(g, (x,)) == "Outputs 0[0] and 0[1] alias unexpectedly; return a copy of one"
    h = define("h(Tensor(a) x) -> (Tensor(a), Tensor(a))", CPU=lambda x: (x, x))
    assert opcheck(h, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_F31_inputs_that_alias_each_other_beforehand(define, x):
    """What reaches an argument through another one is not held against it."""
    f = define("f(Tensor(a!) x, Tensor y) -> Tensor(a!)", CPU=lambda x, y: writing(x))
    assert opcheck(f, (x, x), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    assert opcheck(f, (x[:2], x[0:3]), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    g = define("g(Tensor x, Tensor y) -> ()", CPU=lambda x, y: write(x))
    text = fault(g, (x[:2], x[0:3]))
    assert "Argument x is not" in text and "Argument y is not" in text
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_F31_views_in_the_copies_share_as_before(define, x):
    seen = []

    def looking(a, b, c):
        a[0] = 5.0
        seen.append((b.tolist(), c.tolist(), a.strides, b.strides))
        return a

    f = define("f(Tensor(a!) a, Tensor b, Tensor c) -> Tensor(a!)", CPU=looking)
    whole = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert opcheck(f, (whole[0], whole.T, x), test_utils="test_schema")
    assert seen == [([[5.0, 3.0], [2.0, 4.0]], [1.0, 2.0, 3.0], (1,), (1, 2))]


def test_F31_strided_views_beside_each_other_do_not_alias(define):
    whole = opyard.tensor([1.0, 2.0, 3.0, 4.0])
    f = define("f(Tensor(a!) x, Tensor y) -> Tensor(a!)", CPU=lambda x, y: writing(x))
    assert opcheck(f, (whole[:2], whole[2:]), test_utils="test_schema")
    g = define("g(Tensor x, Tensor(a!) y) -> ()", CPU=lambda x, y: write(x))
    assert "Argument x is not defined as mutable" in fault(g, (whole[:2], whole[2:]))


def test_F31_tensors_without_elements_and_nan(define):
    empty = opyard.tensor([])
    nan = opyard.tensor([float("nan")])
    f = define("f(Tensor x, Tensor y) -> Tensor", CPU=lambda x, y: x + y)
    assert opcheck(f, (empty, nan), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    g = define("g(Tensor x) -> Tensor", CPU=lambda x: x)
    assert "Argument x is not defined to alias" in fault(g, (empty,))


def test_F31_arrays_of_others(define):
    f = define("f(Tensor x) -> ()", CPU=lambda x: write(x))
    given = np.array([1.0, 2.0])
    assert "Argument x is not defined as mutable" in fault(f, (given,))
    assert given.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("of", [bytearray, memoryview, array.array], ids=lambda of: of.__name__)
def test_F31_buffers_are_copied_as_arrays_are(define, of):
    f = define("f(Tensor x, Tensor[] y, *, Tensor? z=None) -> ()",
               CPU=lambda x, y, *, z=None: (write(x), write(y[0]), write(z))[0])  # fmt: skip
    given = [array.array("b", [1, 2]) for _ in range(3)]
    x, y, z = given if of is array.array else map(of, given)
    assert fault(f, (x, [y]), {"z": z}).count("is not defined as mutable") == 3
    assert bytes(x) == bytes(y) == bytes(z) == b"\1\2"


def test_F31_bytes_are_an_array_only_where_the_schema_has_a_tensor(define):
    kinds = []
    f = define("f(Any a, Tensor x) -> ()", CPU=lambda a, x: kinds.extend([type(a), type(x)]))
    opcheck(f, (b"ab", bytearray(b"ab")), test_utils="test_schema")
    assert kinds == [bytes, opyard.Tensor]


def test_F31_an_array_that_operators_refuse_fails_the_call(define):
    f = define("f(Tensor x) -> ()", CPU=lambda x: None)
    masked = np.ma.MaskedArray([1.0, 2.0], mask=[0, 1])
    assert "the array is masked" in fault(f, (masked,))


def test_F31_a_call_that_fails_is_told_with_its_cause(define, x):
    def failing(x):
        raise KeyError("mine")

    f = define("f(Tensor x) -> Tensor", CPU=failing)
    with pytest.raises(OpCheckError) as caught:
        opcheck(f, (x,), test_utils="test_schema")
    assert "test_schema failed: the call raised KeyError: 'mine'\n" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("fake", "message"),
    [
        (lambda x: opyard.ops.aten.empty([4], device="meta"),
         "the fake result 0 has the shape (4,), and (3,) in truth"),
        (lambda x: opyard.ops.aten.empty([3], dtype=opyard.int64, device="meta"),
         "the fake result 0 is of opyard.int64, and of opyard.float32 in truth"),
        (lambda x: opyard.ops.aten.empty([6], device="meta")[::2],
         "the fake result 0 has the strides (2,), and (1,) in truth"),
        (lambda x: opyard.ops.aten.empty([3]),
         "the fake result 0 has elements, on cpu, though no argument has"),
    ],
)  # fmt: skip
def test_F32_the_fake_result_differs(define, x, fake, message):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2, Meta=fake)
    assert fault(f, (x,), test="test_faketensor") == message


def test_F32_fake_results_in_lists_and_of_other_types(define, x):
    f = define("f(Tensor x) -> (Tensor[], Any)", CPU=lambda x: ([x * 2, x * 2], 3),
               Meta=lambda x: ([opyard.ops.aten.empty_like(x)], "three"))  # fmt: skip
    assert fault(f, (x,), test="test_faketensor") == (
        "\n  - the fake result 0 has 1 items, and 2 in truth"
        "\n  - the fake result 1 is a str, and a int in truth"
    )


def test_F32_identity_of_results_in_place(define, x):
    f = define("f(Tensor(a!) x) -> Tensor(a!)", CPU=writing,
               Meta=lambda x: opyard.ops.aten.empty_like(x))  # fmt: skip
    assert fault(f, (x,), test="test_faketensor") == (
        "the result 0 is the argument x in truth, and the fake one differs"
    )


def test_F32_numbers_that_elements_tell_may_be_any(define, library, x):
    f = define("f(Tensor x) -> SymInt", CPU=lambda x: 2)

    def fake(x):
        from opyard.library import get_ctx

        return get_ctx().new_dynamic_size()

    register_fake(f, fake, lib=library)
    assert opcheck(f, (x,)) == GOOD


def test_F32_strided_arguments_keep_their_strides_in_the_fake_call(define):
    seen = []

    def fake(x):
        seen.append((x.shape, x.strides, x.device.type))
        return opyard.ops.aten.empty_like(x)

    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x.clone(), Meta=fake)
    given = opyard.tensor([[1, 2, 3], [4, 5, 6]]).T
    opcheck(f, (given,), test_utils="test_faketensor", raise_exception=False)
    assert seen == [((3, 2), (1, 3), "meta")]


@pytest.mark.parametrize(
    "check",
    [
        "opyard.library.opcheck('checked::negated', (opyard.tensor([1.0]),),"
        " test_utils='test_autograd_registration')",
        "opyard.autograd.check_formulas('checked::negated')",
    ],
)
def test_formulas_are_checked_before_aten_was_ever_used(run_program, check):
    done = run_program(
        "import opyard\n"
        "lib = opyard.library.Library('checked', 'DEF')\n"
        "lib.define('negated(Tensor x) -> Tensor')\n"
        "lib.impl('negated', lambda x: opyard.ops.aten.neg(x), 'CPU')\n"
        "lib.derivative('negated', {'x': '-grad'})\n"
        f"{check}\n"
        "print('checked')\n"
    )
    assert done.stdout == "checked\n", done.stderr


def test_a_missing_fake_kernel_is_answered_with_how_to_register_one(define, plugin, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: opyard.tensor(x.tolist()))
    with pytest.raises(OpCheckError) as caught:
        opcheck(f.default, (x,), test_utils="test_faketensor")
    advice = f'Register one by opyard.library.register_fake("{f.default.name()}", fake)'
    assert advice in str(caught.value)
    with pytest.raises(OpCheckError) as caught:  # a kernel in C++
        opcheck(
            "test_plugin::first_of_all", ([x.double()], x.double()), test_utils="test_faketensor"
        )
    assert "if opyard::is_meta(x), or the operator gets a kernel of its own at Meta" in str(
        caught.value
    )
