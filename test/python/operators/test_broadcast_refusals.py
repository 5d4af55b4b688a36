"""test_broadcast_refusals.py: shapes that do not fit, refused in one sentence, by what was called.

Suspect dispatcher/src/tensor/broadcast.cpp for the words, kernels/src/common/broadcast.cpp for the
operands that are named. An operator whose refusal names another one checks its own operands first,
with require_broadcast() or require_expandable(), or calls the other one through named().
"""

import re

import pytest
from operator_calls import Call, call_of, numbers, overloads

import opyard

pytestmark = pytest.mark.once

aten = opyard.ops.aten
ones = opyard.ops.aten.ones

CLASH = re.compile(
    r"(?P<op>[\w:.]+): (?P<a>.+) is .* and (?P<b>.+) is .*, which do not broadcast: dimension "
    r"-\d+ is \d+ in one and \d+ in the other, and must be equal or 1 in one of them"
)
MISFIT = re.compile(
    r"(?P<op>[\w:.]+): (?P<a>.+) is .* and does not fit (?P<b>.+), which is .*: (dimension -\d+ of "
    r".+ is \d+, and must be \d+( or 1)?|.+ has \d+ dimensions?, and must have (at most )?\d+)"
)


def mask(*shape):
    return ones(list(shape)) > 0


def place(*shape):
    return aten.zeros(list(shape), dtype=opyard.int64)


def x(*shape):
    return ones(list(shape))


# The operands of a call that do not broadcast with each other, and who is named.
CLASHES = [
    (aten.add.Tensor, [x(2, 3), x(4)], "self", "other"),
    (aten.add.out, [x(2, 3), x(4)], "self", "other"),
    (aten.add_.Tensor, [x(2, 3), x(4)], "self", "other"),
    (aten.pow.Tensor_Tensor, [x(2), x(3)], "self", "exponent"),
    (aten.pow_.Tensor, [x(2), x(3)], "self", "exponent"),
    (aten.__and__.Tensor, [mask(2), mask(3)], "self", "other"),
    (aten.special_xlogy, [x(2), x(3)], "self", "other"),
    (aten.max.other, [x(2), x(3)], "self", "other"),
    (aten.fmax, [x(2), x(3)], "self", "other"),
    (aten.nextafter, [x(2), x(3)], "self", "other"),
    (aten.where.self, [mask(2), x(1), x(3)], "condition", "other"),
    (aten.where.ScalarOther, [mask(2), x(3), 1.0], "condition", "self"),
    (aten.where.ScalarSelf, [mask(2), 1.0, x(3)], "condition", "other"),
    (aten.masked_fill.Scalar, [x(2), mask(3), 1.0], "mask", "self"),
    (aten.masked_fill_.Scalar, [x(2), mask(3), 1.0], "mask", "self"),
    (aten.masked_fill.Tensor, [x(2), mask(3), x()], "mask", "self"),
    (aten.masked_select, [x(2), mask(3)], "self", "mask"),
    (aten.masked_scatter, [x(2), mask(3), x(3)], "self", "mask"),
    (aten.clamp.Tensor, [x(2), x(3), None], "self", "min"),
    (aten.clamp.Tensor, [x(1), x(2), x(3)], "min", "max"),
    (aten.addcmul, [x(2), x(3), x(3)], "self", "tensor1"),
    (aten.addcdiv, [x(1), x(2), x(3)], "tensor1", "tensor2"),
    (aten.addcmul_, [x(2), x(3), x(3)], "self", "tensor1"),
    (aten.lerp.Scalar, [x(2), x(3), 0.5], "self", "end"),
    (aten.lerp.Tensor, [x(2), x(2), x(3)], "self", "weight"),
    (aten.isclose, [x(2), x(3)], "self", "other"),
    (aten.allclose, [x(2), x(3)], "self", "other"),
    (aten.float_power.Tensor_Tensor, [x(2), x(3)], "self", "exponent"),
    (aten.cross, [x(2, 3), x(4, 3)], "self", "other"),
    (aten.linalg_cross, [x(2, 3), x(4, 3)], "self", "other"),
    (aten.linalg_vecdot, [x(2, 3), x(4, 3)], "x", "y"),
    (aten.cosine_similarity, [x(2, 3), x(4, 3)], "x1", "x2"),
    (aten.matmul, [x(2, 3, 4), x(3, 4, 1)], "self", "other"),
    (aten.matmul.out, [x(2, 3, 4), x(3, 4, 1)], "self", "other"),
    (aten.linalg_matmul, [x(2, 3, 4), x(3, 4, 1)], "self", "other"),
    (aten.take_along_dim, [x(2, 3), place(4, 3), 1], "self", "indices"),
    (aten.index.Tensor, [x(4, 4), [place(2), place(3)]], "indices[0]", "indices[1]"),
    (aten.mse_loss, [x(2), x(3)], "self", "target"),
    (aten.l1_loss, [x(2), x(3)], "self", "target"),
    (aten.huber_loss, [x(2), x(3)], "self", "target"),
    (aten.smooth_l1_loss, [x(2), x(3)], "self", "target"),
    (aten.kl_div, [x(2), x(3)], "self", "target"),
    (aten.normal.Tensor_Tensor, [x(2), x(3)], "mean", "std"),
    (aten.scaled_dot_product_attention, [x(2, 3, 4), x(3, 3, 4), x(3, 3, 4)], "query", "key"),
    (aten.cdist, [x(2, 3, 4), x(3, 3, 4)], "x1", "x2"),
    (aten.linear, [x(3), x(5, 3), x(4)], "the product of input and weight", "bias"),
]

# An operand that has to fit another thing, which is named second.
MISFITS = [
    (aten.expand, [x(3), [2, 4]], {}, "self", "size"),
    (aten.expand_as, [x(3), x(2, 4)], {}, "self", "other"),
    (aten.copy_, [x(2, 4), x(3)], {}, "src", "self"),
    (aten.copy, [x(2, 4), x(3)], {}, "src", "self"),
    (aten.index_put_, [x(4, 2), [place(2)], x(3)], {}, "values", "the indexed part of self"),
    (aten.index_put, [x(4, 2), [place(2)], x(3)], {}, "values", "the indexed part of self"),
    (aten.addmm, [x(3), x(2, 2), x(2, 2)], {}, "self", "the product"),
    (aten.addmv.out, [x(3), x(2, 2), x(2)], {"out": x(2)}, "self", "the product"),
    (aten.addr_, [x(3), x(2), x(2)], {}, "self", "the product"),
    (aten.addmv, [x(3), x(2, 2), x(2)], {}, "self", "the product"),
    (aten.addr, [x(3), x(2), x(2)], {}, "self", "the product"),
    (aten.addbmm, [x(3), x(1, 2, 2), x(1, 2, 2)], {}, "self", "the product"),
    (aten.baddbmm, [x(3), x(1, 2, 2), x(1, 2, 2)], {}, "self", "the product"),
    (aten.add_.Tensor, [x(3), x(2, 3)], {}, "the result", "self"),
    (aten.mul.out, [x(2), x(2)], {"out": x(3)}, "the result", "out"),
    (aten.masked_fill_.Scalar, [x(3), mask(2, 3), 1.0], {}, "the result", "self"),
    (aten.select_scatter, [x(2, 3), x(4), 0, 0], {}, "the part of self", "src"),
    (aten.linear, [x(2, 3), x(5, 3), x(4)], {}, "bias", "the product of input and weight"),
    (aten.linear, [x(2, 2, 3), x(5, 3), x(4)], {}, "bias", "the product of input and weight"),
    (opyard.ops.opyard.sum_to, [x(2, 3), x(4)], {}, "size", "self"),
]


def name_of(op):
    """aten::add.Tensor, also of what chooses an overload."""
    return str(op).replace(".", "::", 1)


def refusal_of(call):
    try:
        call()
    except Exception as error:
        return error
    return None


def as_id(each):
    return name_of(each) if callable(each) else ""


@pytest.mark.parametrize("op, args, first, second", CLASHES, ids=as_id)
def test_operands_that_do_not_broadcast(op, args, first, second):
    kwargs = {"out": x(2, 3)} if name_of(op).endswith("out") else {}
    refusal = refusal_of(Call(op, args, kwargs))
    found = CLASH.fullmatch(str(refusal))
    assert type(refusal) is ValueError
    assert found, str(refusal)
    assert (found["op"], found["a"], found["b"]) == (name_of(op), first, second)


@pytest.mark.parametrize("op, args, kwargs, first, second", MISFITS, ids=as_id)
def test_operands_that_do_not_fit_what_they_are_written_to(op, args, kwargs, first, second):
    refusal = refusal_of(Call(op, args, kwargs))
    found = MISFIT.fullmatch(str(refusal))
    assert type(refusal) is ValueError
    assert found, str(refusal)
    assert (found["op"], found["a"], found["b"]) == (name_of(op), first, second)


def test_whole_sentences():
    assert str(refusal_of(lambda: aten.cross(x(2, 3), x(4, 3)))) == (
        "aten::cross: self is float32[2, 3] and other is float32[4, 3], which do not broadcast: "
        "dimension -2 is 2 in one and 4 in the other, and must be equal or 1 in one of them"
    )
    assert str(refusal_of(lambda: aten.copy_(x(2, 4), x(3)))) == (
        "aten::copy_: src is float32[3] and does not fit self, which is float32[2, 4]: "
        "dimension -1 of src is 3, and must be 4 or 1"
    )


def test_weights_of_channels_are_refused_by_the_norm_that_was_called():
    for weight, bias in [(x(3), None), (None, x(3)), (x(1, 4), None)]:
        refusal = str(refusal_of(Call(aten.group_norm, [x(2, 4), 2, weight, bias], {})))
        assert refusal.startswith("aten::group_norm: ")
        assert "of 4 channels; a vector of as many is needed" in refusal


# What autograd calls, whose arguments no one else passes, and operators whose operands are sizes
# of their own parts.
OTHERS = re.compile(
    r"aten::(\w+_backward|_\w+|cumulative_trapezoid|trapezoid|trapz|repeat_interleave)\b"
)


def wrong_shapes(shape):
    if not shape:
        return [[7], [7, 7]]
    return [[*shape[:-1], shape[-1] + 4], [5, *shape], [shape[0] + 4, *shape[1:]]]


def test_a_refusal_of_shapes_names_the_operator_that_was_called():
    wrong, count = [], 0
    for op in overloads():
        call = call_of(op)
        if call is None or not op.name().startswith("aten::") or OTHERS.match(op.name()):
            continue
        for at, given in call.tensors():
            for shape in wrong_shapes(list(given.shape)):
                other = numbers(shape, given.dtype)
                text = str(
                    refusal_of(call.changed(lambda y: other if y is given else y.clone()))  # noqa: B023
                )
                # An operator with a body says which of its calls refused, in the first line.
                if text.startswith(f"{op.name()}: aten::"):
                    inner = text.partition("\n")[0].removeprefix(f"{op.name()}: ")
                    text = f"{op.name()}: {inner.partition(': ')[2]}"
                if "broadcast" in text or "does not fit" in text:
                    count += 1
                    sentence = CLASH.fullmatch(text) or MISFIT.fullmatch(text)
                    if sentence is None or sentence["op"] != op.name():
                        wrong.append((op.name(), at, shape, text))
    assert count > 250
    assert not wrong, wrong
