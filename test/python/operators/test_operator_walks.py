"""test_operator_walks.py: invariants of all registered operators.

Suspect the file of kernels/src that has the operator. An operator that is added is met here at
once, by a call that operator_calls.py finds; if it finds none, the first test says so.
"""

import warnings
from typing import ClassVar

import numpy as np
import pytest
from operator_calls import FLOATS, Call, call_of, is_composition, overloads
from wrapped import Wrapped

import opyard
from opyard.dispatch import DispatchMode

pytestmark = pytest.mark.once

aten = opyard.ops.aten
ALL = list(overloads())
# Without a call, and why.
TAKES_A_GENERATOR = {f"opyard::{name}" for name in (
    "clone_generator", "generator_device", "generator_identity", "generator_seed",
    "generator_state", "seed_generator", "set_generator_state",
)}  # fmt: skip
OF_FORMULAS = {f"opyard::{name}" for name in (
    "as_strided_backward", "complex_of_parts", "convolution_grad_input",
    "convolution_grad_weight", "lu_backward",
    "matrix_exp_backward", "scatter_strided",
)}  # fmt: skip
WITHOUT = TAKES_A_GENERATOR | OF_FORMULAS


@pytest.fixture(autouse=True)
def without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_every_operator_has_a_call():
    missing = {op.name() for op in ALL if call_of(op) is None}
    assert missing <= WITHOUT, sorted(missing - WITHOUT)


def tensors_in(value):
    if isinstance(value, opyard.Tensor):
        return [value]
    several = value if isinstance(value, (list, tuple)) else ()
    return [x for each in several for x in tensors_in(each)]


# Operands of several dtypes ------------------------------------------------------------------

# A wide dtype and a narrow one, and a number of the narrow one whose square or half it cannot hold.
PAIRS = [
    ("float32", "uint8", 200), ("int64", "uint8", 200), ("float32", "float16", 300),
    ("float64", "float32", 0.1),
]  # fmt: skip
DIGITS = {opyard.float16: 2e-3, opyard.bfloat16: 2e-2, opyard.float32: 2e-6}
# The moments that these save and take are of the dtype of the weight, and rounded to it.
BY_MOMENTS = "norm"


def mixed_calls(call, wide, narrow, number):
    """One tensor of the wide dtype and the others of the narrow one, and the other way round."""
    count = sum(x.dtype == FLOATS for _, x in call.tensors())
    for chosen in range(count if count > 1 else 0):
        for is_wide in (True, False):
            places = iter(range(count))

            def change(x, chosen=chosen, is_wide=is_wide, places=places):
                if x.dtype != FLOATS:
                    return x.clone()
                if (next(places, None) == chosen) == is_wide:
                    return aten.to(x, wide)
                plain = aten.to(x, opyard.float64)
                return aten.to(plain * (number <= 1) + number, narrow)

            yield call.changed(change)


def same_numbers(got, wanted, digits):
    kind = opyard.complex128 if got.dtype.is_complex else opyard.float64
    a, b = (np.asarray(aten.to(x, kind)) for x in (got, aten.to(wanted, got.dtype)))
    return a.shape == b.shape and np.allclose(a, b, rtol=digits, atol=digits, equal_nan=True)


@pytest.mark.parametrize(("wide", "narrow", "number"), PAIRS)
def test_compositions_compute_in_the_dtype_that_their_operands_meet_in(wide, narrow, number):
    wide, narrow = getattr(opyard, wide), getattr(opyard, narrow)
    compared, wrong = 0, []
    for op in ALL:
        if not is_composition(op) or not op.name().startswith("aten::"):
            continue  # what formulas are made of gets gradients in the dtype of their tensors
        if (call := call_of(op)) is None or "out" in call.kwargs:
            continue
        for mixed in mixed_calls(call, wide, narrow, number):
            alike = mixed.changed(lambda x: aten.to(x, wide) if x.dtype == narrow else x.clone())
            try:
                opyard.manual_seed(1)
                got = tensors_in(mixed())
            except (TypeError, ValueError, NotImplementedError):
                continue  # refused, with a reason
            opyard.manual_seed(1)
            compared += 1
            for result, wanted in zip(got, tensors_in(alike()), strict=True):
                digits = DIGITS.get(result.dtype, 1e-12)
                if BY_MOMENTS in op.name():
                    digits = 4 * DIGITS.get(narrow, digits)
                if not same_numbers(result, wanted, digits):
                    wrong.append((op.name(), [str(x.dtype) for _, x in mixed.tensors()]))
    assert compared > 100
    assert not wrong, wrong


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x, a, b: aten.addcmul(x, a, b), 40000),
        (lambda x, a, b: aten.addcmul_(x.clone(), a, b), 40000),
        (lambda x, a, b: aten.addcdiv(x, a, b), 1),
        (lambda x, a, b: aten.addr(x.reshape(1, 1), a, b)[0], 40000),
        (lambda x, a, b: aten.addmv(x, a.reshape(1, 1), b), 40000),
        (lambda x, a, b: aten.baddbmm(x, a.reshape(1, 1, 1), b.reshape(1, 1, 1))[0, 0], 40000),
        (lambda x, a, b: aten.addbmm(x, a.reshape(1, 1, 1), b.reshape(1, 1, 1))[0], 40000),
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16"])
def test_products_that_are_added_do_not_wrap(call, wanted, dtype):
    x, factor = opyard.tensor([0.0]), opyard.tensor([200], dtype=getattr(opyard, dtype))
    result = call(x, factor, factor)
    assert (result.tolist(), result.dtype) == ([wanted], opyard.float32)


# Results that are written --------------------------------------------------------------------


def outs_of(call):
    named = call.kwargs.items()
    return [name for name, x in named if name.startswith("out") and isinstance(x, opyard.Tensor)]


def test_each_out_form_refuses_a_result_of_another_shape():
    written, wrong = 0, []
    for op in ALL:
        call = call_of(op)
        for name in outs_of(call) if call else ():
            own = list(call.kwargs[name].shape)
            written += 1
            for shape in ([*own, 2], [2, *own], [7], [0], []):
                if shape == own:
                    continue
                bad = aten.zeros(shape, dtype=call.kwargs[name].dtype)
                packet = op.name().partition(".")[0]
                try:
                    Call(op, call.args, {**call.kwargs, name: bad})()
                    wrong.append((op.name(), shape, "is taken"))
                except ValueError as error:
                    said = "does not fit out" in str(error) or "out must be one dim" in str(error)
                    if not str(error).startswith(packet) or not said:
                        wrong.append((op.name(), shape, str(error)))
    assert written > 90
    assert not wrong, wrong


# What modes and handlers see -----------------------------------------------------------------


class Seeing(DispatchMode):
    def __init__(self):
        self.seen = []

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.seen.append(op)
        return op(*args, **(kwargs or {}))


def seen_of(call):
    with Seeing() as mode:
        result = call()
    return mode.seen, result


def fresh(call):
    return call.changed(lambda x: x.clone())


def draws(call):
    """Whether the process's numbers go on by the call."""

    def next_number(after):
        opyard.manual_seed(5)
        after()
        return aten.rand([1]).item()

    return next_number(lambda: None) != next_number(fresh(call))


def drawing_calls():
    for op in ALL:
        call = call_of(op)
        if call is not None and op.name() != "opyard::seed_random_numbers":
            for each in with_chances(call):
                if draws(each):
                    yield each
                    break


def with_chances(call):
    """The call, and if it has a chance and a flag of training, the call that draws."""
    yield call
    names = [each.name for each in call.op._schema.arguments]
    for chance in {"p", "dropout_p", "dropout"} & set(names):
        given = dict(zip(names, call.args, strict=False)) | call.kwargs | {chance: 0.5}
        yield Call(call.op, [], given | ({"train": True} if "train" in names else {}))


def is_tagged(op):
    return opyard.Tag.nondeterministic_seeded in op.tags


def test_F48_what_draws_numbers_is_seen_as_itself():
    found, wrong = [], []
    for call in drawing_calls():
        op = call.op
        found.append(op.name())
        seen, _ = seen_of(fresh(call))
        right = any(map(is_tagged, seen)) if is_composition(op) else seen == [op]
        if not right or not (is_tagged(op) or is_composition(op)):
            wrong.append((op.name(), [each.name() for each in seen]))
    assert len(found) > 30, found
    assert not wrong, wrong


def test_F48_what_is_tagged_as_random_draws():
    drawing = {call.op for call in drawing_calls()}
    assert not [op.name() for op in ALL if is_tagged(op) and op not in drawing]


class Noisy(opyard.Tensor):
    """Notes what it is asked, and answers with an instance of its own."""

    seen: ClassVar = []

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        cls.seen.append(op)
        result = super().__opyard_dispatch__(op, types, args, kwargs)
        return result.as_subclass(cls) if type(result) is opyard.Tensor else result


def test_F48_what_draws_numbers_gives_the_classs_own_results():
    asked = 0
    for call in drawing_calls():
        op = call.op
        if is_composition(op) or not any(True for _ in call.tensors()):
            continue
        Noisy.seen.clear()
        result = call.changed(lambda x: x.clone().as_subclass(Noisy))()
        asked += 1
        assert op in Noisy.seen, op.name()
        assert isinstance(result, (Noisy, tuple)), op.name()
    assert asked > 10


def test_F48_compositions_are_seen_as_what_they_call():
    seen_by, unseen = 0, []
    for op in ALL:
        if not is_composition(op) or (call := call_of(op)) is None:
            continue
        call = fresh(call)
        given = [x for value in [*call.args, *call.kwargs.values()] for x in tensors_in(value)]
        seen, result = seen_of(call)
        made = [x for x in tensors_in(result) if not any(x is each for each in given)]
        seen_by += bool(seen)
        if made and not seen:
            unseen.append(op.name())
    assert seen_by > 300
    assert not unseen, unseen


# Compositions that read offsets of bags, which no operator of theirs does.
READ_BY_THEMSELVES = {
    "aten::_embedding_bag_backward", "aten::_embedding_bag_per_sample_weights_backward",
}  # fmt: skip
# Their last results have no elements, or are of no argument.
GIVE_PLAIN = {
    "aten::_native_batch_norm_legit_functional", "aten::_native_batch_norm_legit_no_training",
}  # fmt: skip


def wrapped_result(call):
    """What the call gives for wrappers without memory; None if it has no tensors or is refused."""
    if not any(True for _ in call.tensors()):
        return None
    try:
        fresh(call)()
    except Exception:
        return None
    return call.changed(lambda x: Wrapped.of(x.detach().clone()))()


def test_operators_of_wrappers_give_the_classs_own_results():
    asked, wrong = 0, []
    for op in ALL:
        if (call := call_of(op)) is None or op.name() in READ_BY_THEMSELVES:
            continue
        try:
            found = tensors_in(wrapped_result(call))
        except Exception as error:
            wrong.append((op.name(), str(error)))
            continue
        asked += 1
        if op.name() not in GIVE_PLAIN and not all(isinstance(x, Wrapped) for x in found):
            wrong.append((op.name(), [type(x).__name__ for x in found]))
    assert asked > 1000
    assert not wrong, wrong


# Undefined tensors ---------------------------------------------------------------------------


def without_one(call):
    """The call with None, an undefined tensor, in place of each tensor in turn."""
    for at, _ in call.tensors():
        if isinstance(at, str):
            yield Call(call.op, call.args, {**call.kwargs, at: None})
        else:
            yield Call(call.op, [*call.args[:at], None, *call.args[at + 1 :]], call.kwargs)


def test_an_undefined_tensor_is_refused_or_taken_and_never_followed():
    """A crash ends the process: the last name that is printed is the operator's."""
    tried = 0
    for op in ALL:
        call = call_of(op)
        for other in without_one(call.changed(lambda x: x.clone())) if call is not None else ():
            print(op.name())
            tried += 1
            try:
                other()
            except Exception as error:
                assert str(error), op.name()
    assert tried > 1000
