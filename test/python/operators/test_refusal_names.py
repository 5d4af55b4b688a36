"""test_refusal_names.py: a refusal begins with the operator that was called, not one that it calls.

Suspect the file of kernels/src/ that has the operator: it checks its arguments first, with what
common/check.h and common/broadcast.h have, or calls the other operator through named(). Every
operator is called with one argument wrong: a tensor of another dtype or of other sizes, a number
out of range, a list that is shorter, longer or out of range.
"""

import re
import warnings

import pytest
from operator_calls import Call, call_of, numbers, overloads

import opyard

pytestmark = pytest.mark.once

DTYPES = [opyard.int64, opyard.bool, opyard.float32, opyard.float64, opyard.complex64]
DTYPES += [opyard.float16]
# What only formulas call, with arguments that are made by formulas.
OF_FORMULAS = re.compile(r"opyard::|aten::\w+_backward\b")
# Refused before an operator is chosen: no such format.
NOT_ASKED = {"memory_format"}
NAMED = re.compile(r"((?:aten|opyard)::[\w.]+)[:( ]")
# What a call from Python puts before the text of another operator.
CALLED = re.compile(r"aten::[\w.]+: in (?=(?:aten|opyard)::)")

# Operators that leave something to another one, and what.
LEAVES_TO_ANOTHER = {
    f"aten::{name}": what
    for what, names in {
        "operands of one dtype to matmul": (
            "gru.input gru_cell lstm.input lstm_cell rnn_relu.input rnn_relu_cell rnn_tanh.input "
            "rnn_tanh_cell scaled_dot_product_attention einsum _native_multi_head_attention"
        ),
        "what the form with more dimensions refuses, too, to that": (
            "adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d max_pool1d max_pool1d_with_indices"
        ),
        "numbers without an order to a comparison or a bound": (
            "bernoulli binary_cross_entropy clamp.Tensor logit logit.out logit_ threshold "
            "threshold.out threshold_"
        ),
        "what is out of range to the operator that reads or writes there": (
            "index_add index_add_ index_fill.int_Scalar index_fill_.int_Scalar masked_scatter "
            "masked_scatter_ nll_loss2d_forward nll_loss_forward nll_loss_nd take take_along_dim"
        ),
        "the form with a generator, or with a lower bound, to the one with fewer arguments": (
            "rand.generator randint randint.generator randint.low_generator randn.generator "
            "randn_like.generator randperm.generator eye.m"
        ),
        "places between which there is an area to the product of heights and widths": (
            "cumulative_trapezoid.x trapezoid.x trapz.x"
        ),
        "matrices to the inverse, and vectors to their norm": (
            "linalg_matrix_power matrix_power norm.ScalarOpt_dim norm_except_dim"
        ),
        "strides of a new tensor to the operator without self": "new_empty_strided",
    }.items()
    for name in names.split()
}


def wrong_tensors(given):
    shape = list(given.shape)
    shapes = [[7], [7, 7]]
    if shape:
        shapes = [[*shape[:-1], shape[-1] + 4], [5, *shape], [shape[0] + 4, *shape[1:]], [], [0]]
    yield from (numbers(each, given.dtype) for each in shapes)
    yield from (opyard.ops.aten.to(given, dtype) for dtype in DTYPES if dtype != given.dtype)


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def wrong_values(value):
    if is_whole(value):
        return [99, -99]
    if not isinstance(value, list):
        return []
    if all(is_whole(each) for each in value):
        return [[], [*value, 1], [99] * len(value), [-99] * len(value)]
    if isinstance(value[0], opyard.Tensor):
        first, *rest = value
        wide = numbers([5, *first.shape], first.dtype)
        return [[], value[:-1], [wide, *rest], [opyard.ops.aten.to(first, opyard.complex64), *rest]]
    return []


def wrong_calls(call):
    for _, given in call.tensors():
        for other in wrong_tensors(given):
            yield call.changed(lambda x: other if x is given else x.clone())  # noqa: B023
    for at, value in [*enumerate(call.args), *call.kwargs.items()]:
        name = at if isinstance(at, str) else call.op._schema.arguments[at].name
        if name in NOT_ASKED:
            continue
        for wrong in wrong_values(value):
            plain = call.changed(lambda x: x.clone())
            args, kwargs = list(plain.args), dict(plain.kwargs)
            (args if isinstance(at, int) else kwargs)[at] = wrong
            yield Call(call.op, args, kwargs)


def refusals_of(op):
    call = call_of(op)
    for wrong in wrong_calls(call) if call is not None else ():
        try:
            wrong()
        except MemoryError:
            continue
        except Exception as error:
            yield str(error)


def test_a_refusal_names_the_operator_that_was_called():
    count, others = 0, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in overloads():
            if OF_FORMULAS.match(op.name()):
                continue
            for text in refusals_of(op):
                count += 1
                named = NAMED.match(CALLED.sub("", text, count=1))
                if named is None or named[1] != op.name():
                    others.setdefault(op.name(), text)
    assert count > 5000
    unknown = {name: text for name, text in others.items() if name not in LEAVES_TO_ANOTHER}
    assert not unknown, unknown
    mended = LEAVES_TO_ANOTHER.keys() - others.keys()
    assert not mended, "take what is mended out of the list"
