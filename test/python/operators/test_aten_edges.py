"""test_aten_edges.py: answers at the edges of what an operator takes, which are PyTorch's.

Found by calls with random arguments that were made of PyTorch as well. Suspect the file of
kernels/src/ that has the operator.
"""

import math

import pytest

import opyard

pytestmark = [pytest.mark.once, pytest.mark.memory]

aten = opyard.ops.aten


def row(*numbers, dtype=opyard.float32):
    return opyard.tensor(list(numbers), dtype=dtype)


@pytest.mark.parametrize("name", ["any", "all"])
def test_an_empty_list_of_dims_reduces_none(name):
    op = getattr(aten, name).dims
    x = opyard.tensor([[1.0, 0.0], [2.0, 3.0]])
    assert op(x, []).tolist() == [[True, False], [True, True]]
    assert op(x, [], True).tolist() == [[True, False], [True, True]]
    assert op(x.to(opyard.uint8), []).tolist() == [[1, 0], [1, 1]]
    assert op(x).shape == op(x, None).shape == ()
    assert op(x, [0, 1], True).shape == (1, 1)


def test_the_divergence_from_a_negative_target_is_not_a_number():
    losses = aten.kl_div(row(-1.5, -1.5, -1.5), row(-1.0, 0.0, 1.0), 0).tolist()
    assert math.isnan(losses[0])
    assert losses[1:] == [0.0, 1.5]


def test_the_logit_of_an_integer_does_not_wrap():
    answers = aten.logit(row(0, 1, 2, dtype=opyard.uint8)).tolist()
    assert answers[:2] == [-math.inf, math.inf]
    assert math.isnan(answers[2])


def test_the_square_of_a_bool_is_an_integer():
    squared = aten.square(row(False, True, dtype=opyard.bool))
    assert (squared.tolist(), squared.dtype) == ([0, 1], opyard.int64)


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_a_shift_by_a_number_keeps_the_dtype_of_a_number(name):
    pytest.importorskip("numpy")
    op = getattr(aten, name).Tensor_Scalar
    assert op(opyard.tensor(8, dtype=opyard.int16), 1).dtype == opyard.int16
    assert op(row(8, dtype=opyard.int16), 1).dtype == opyard.int16


def test_what_is_cut_off_is_not_wrapped_around():
    x = opyard.tensor([[1.0, 2.0, 3.0]])
    assert aten._pad_circular(x, [-1, 1]).tolist() == [[2.0, 3.0, 2.0]]
    assert aten._pad_circular(x, [1, -1]).tolist() == [[2.0, 1.0, 2.0]]
    assert aten._pad_circular(x, [2, 1]).tolist() == [[2.0, 3.0, 1.0, 2.0, 3.0, 1.0]]


def test_a_mask_on_meta_is_written_through():
    x = aten.empty([2, 3], device="meta")
    mask = aten.empty([2], dtype=opyard.bool, device="meta")
    version = x._version
    assert aten.index_put_(x, [mask], aten.empty([3], device="meta")) is x
    assert x._version == version + 1
    with pytest.raises(Exception, match="mask"):
        aten.index_put_(x, [None, mask], aten.empty([], device="meta"))
    with pytest.raises(NotImplementedError, match="how many places it selects"):
        aten.index(x, [mask])


def argument_for(given):
    kind = str(given.type)
    matrix = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    if kind.startswith("Tensor"):
        return [matrix, matrix] if kind.endswith("[]") else matrix
    return [0] if "int[]" in kind else kind == "bool" or 1


def test_each_form_that_writes_finds_the_function_whose_result_it_writes():
    calls = 0
    for name in dir(aten):
        packet = getattr(aten, name)
        for overload in [] if name.startswith("_") else packet.overloads():
            op = getattr(packet, overload)
            by_name = [one for one in op._schema.arguments if one.kwarg_only]
            if not (name.endswith("_") or any(one.name == "out" for one in by_name)):
                continue
            given = [argument_for(one) for one in op._schema.arguments if not one.kwarg_only]
            named = {one.name: argument_for(one) for one in by_name if one.name == "out"}
            calls += 1
            try:
                op(*given, **named)
            except Exception as error:
                assert "Could not find schema" not in str(error), f"{name}.{overload}: {error}"
    assert calls > 200


def refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_scatter_that_reduces_adds_or_multiplies():
    x, at, src = row(1, 2, 3), opyard.tensor([0, 0]), row(4, 5)
    assert aten.scatter(x, 0, at, src, reduce="add").tolist() == [10, 2, 3]
    assert aten.scatter(x, 0, at, 3, reduce="multiply").tolist() == [9, 2, 3]
    for value in (src, 3):
        refused(
            lambda value=value: aten.scatter(x, 0, at, value, reduce="amax"),
            ValueError,
            'reduce is "amax"; accepted are "add" and "multiply"',
        )
    refused(
        lambda: aten.scatter_reduce(x, 0, at, src, "add"), ValueError, 'reduce is "add"; accepted'
    )


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_what_is_written_in_place_keeps_its_dtype(name):
    x = row(1, 2, 3)
    op = getattr(aten, name)
    refused(lambda: op(x, 0, dtype=opyard.float64), TypeError, "dtype is float64 and self is")
    assert x.tolist() == [1, 2, 3]
    assert op(x, 0, dtype=opyard.float32) is x
    assert x.tolist()[2] == 6


def test_a_weight_is_between_two_of_one_dtype():
    other = row(3, 4, dtype=opyard.float64)
    refused(lambda: aten.lerp(row(1, 2), other, 0.5), TypeError, "both need one dtype")


def test_pooling_backward_takes_the_windows_that_the_forward_takes():
    x = opyard.ones(1, 1, 4, 4)
    values, indices = aten.max_pool2d_with_indices(x, [2, 2])
    backward = aten.max_pool2d_with_indices_backward
    assert backward(values, x, [2, 2], [], [0], [1], False, indices).sum().item() == 4
    for kernel, grad in (([], values), ([3, 3], values), ([2, 2], x)):
        refused(
            lambda kernel=kernel, grad=grad: backward(
                grad, x, kernel, [], [0], [1], False, indices
            ),
            ValueError,
            "max_pool2d_with_indices_backward: ",
        )


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float64", "bfloat16"])
def test_nansum_counts_no_nan_whatever_it_gives(dtype):
    pytest.importorskip("numpy")
    x = row(1.0, float("nan"), 2.0)
    made = aten.nansum(x, dtype=getattr(opyard, dtype))
    assert (made.item(), made.dtype) == (3, getattr(opyard, dtype))
    assert aten.nansum(aten.to(x, opyard.float16), [0], True).tolist() == [3]


def test_one_hot_of_the_largest_int_is_refused():
    with pytest.raises(ValueError, match="no numbers for so many classes"):
        aten.one_hot(opyard.tensor([2**63 - 1]))


@pytest.mark.parametrize("order", [0, 171, 2**63 - 1])
def test_an_order_of_digamma_that_no_float_holds_is_refused(order):
    with pytest.raises(ValueError, match="accepted is 1 to 170"):
        opyard.ops.opyard.derived_digamma(order, opyard.ones(1))


# Sizes of views that no memory has -------------------------------------------------------------

REDUCTIONS = "sum mean amax amin max min any all argmax argmin var std".split()


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("sizes", [[2**62], [2**61], [2**31, 2**31]])
def test_reductions_refuse_views_of_more_bytes_than_there_are(name, sizes):
    x = opyard.ones(1).expand(sizes)
    with pytest.raises(ValueError, match=f"aten::{name}.*needs more bytes than fit in 64 bits"):
        getattr(x, name)()
    for other in ("prod", "norm"):
        with pytest.raises(
            ValueError, match=r"sizes \[.*\] of float32 need more bytes than fit in"
        ):
            getattr(x, other)()


@pytest.mark.parametrize("stride", [2**62, -(2**62), 2**63 - 1])
def test_the_stride_of_one_element_may_be_any(stride):
    """It leads nowhere; as that of pairs it is the lowest number of all."""
    x = aten.as_strided(opyard.arange(12.0), [2, 1, 3], [3, stride, 1], 0)
    assert (x * x).sum().item() == sum(n * n for n in range(6))
    z = aten.as_strided(opyard.ones(12, dtype=opyard.complex64), [2, 1, 3], [3, stride, 1], 0)
    if abs(stride) <= 2**62:
        real = aten.real(z)
        assert (real * real).sum().item() == 6.0


def test_is_signed_is_false_for_each_unsigned_dtype():
    for name in ("uint8", "uint16", "uint32", "uint64", "bool"):
        assert aten.is_signed(opyard.zeros(1, dtype=getattr(opyard, name))) is False
    for name in ("int8", "int64", "float16", "complex64"):
        assert aten.is_signed(opyard.zeros(1, dtype=getattr(opyard, name))) is True


@pytest.mark.parametrize(
    ("x", "least", "most", "wanted"),
    [
        (opyard.tensor([150], dtype=opyard.uint8), [-3], [70000], 150),
        (opyard.tensor([-3], dtype=opyard.int8), [0], [300], 0),
    ],
)
def test_clamp_compares_in_the_dtype_of_all_three(x, least, most, wanted):
    found = aten.clamp(x, opyard.tensor(least), opyard.tensor(most))
    assert (found.tolist(), found.dtype) == ([wanted], opyard.int64)


LOSSES = """mse_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy_with_logits""".split()


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_complex_numbers_are_refused(name):
    x = opyard.tensor([1 + 1j, 2 - 1j])
    with pytest.raises((NotImplementedError, TypeError), match=f"^aten::{name}.*complex"):
        getattr(aten, name)(x, x * 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: aten.layer_norm(x, [2]),
        lambda x: aten.rms_norm(x, [2]),
        lambda x: aten.group_norm(x, 1),
        lambda x: aten.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False),
        lambda x: aten.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False),
    ],
    ids=["layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm"],
)
def test_norms_of_complex_numbers_are_refused(call):
    with pytest.raises(NotImplementedError, match=r"^aten::\w*_norm: input is complex64"):
        call(opyard.ones(2, 2, 2).to(opyard.complex64))
