"""Gradients where formulas have corners: at 0, at ends of ranges, of equal values, of NaN; and the
layouts of incoming gradients, for every formula.

test/torch/formula_corners.py walks more, beside PyTorch. Suspect kernels/src/gradients/ and the
file that has the operator; of layouts kernels/src/gradients/positions.cpp; of writes
autograd/src/write_function.cpp.
"""

import importlib.util
import math

import gradient_layouts
import pytest
import test_formula_rows

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten
NAN, INF = float("nan"), float("inf")
WRONG = 1e12 / (1 - 1e-12)  # the slope of a certain and wrong answer
LOG2 = math.log(2)


def t(values):
    return opyard.tensor(values, dtype=opyard.float64).requires_grad_()


def logits_loss(x, y):
    return aten.binary_cross_entropy_with_logits(x, y, None, None, 2)


def probability_loss(p, y):
    return aten.binary_cross_entropy(p, y, None, 2)


def huber(x):
    return aten.huber_loss(x, aten.zeros([3], dtype=opyard.float64), 2)


def smooth_l1(x):
    return aten.smooth_l1_loss(x, aten.zeros([3], dtype=opyard.float64), 2)


def norm(order):
    return lambda x: aten.linalg_vector_norm(x, order)


# Name, function, inputs, and for each input the first gradients and the second ones, those of the
# sum of all first ones; None where they are not compared.
CORNERS = [
    # Smooth, though a formula goes by abs() or max(x, 0).
    (
        "logits",
        logits_loss,
        [[0.0, 0.0, 0.0], [0.0, 0.25, 1.0]],
        [[0.5, 0.25, -0.5], [0.0] * 3],
        [[-0.75] * 3, [-1.0] * 3],
    ),
    ("mish", aten.mish, [[0.0, -0.0]], [[0.6, 0.6]], [[0.64, 0.64]]),
    (
        "sinc",
        aten.sinc,
        [[0.0, -0.0, 1e-9]],
        [[0.0, 0.0, -3.2898681337e-9]],
        [[-(math.pi**2) / 3] * 3],
    ),
    # Finite where the plain formula divides by 0.
    (
        "cross entropy",
        probability_loss,
        [[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]],
        [[0.0, 0.0, -WRONG, WRONG], [100.0, -100.0, 100.0, -100.0]],
        None,
    ),
    (
        "atan2",
        aten.atan2,
        [[0.0, -0.0, 0.0], [0.0, 0.0, 2.0]],
        [[0.0, 0.0, 0.5], [0.0, 0.0, 0.0]],
        [[0.0, 0.0, -0.25], [0.0, 0.0, -0.25]],
    ),
    ("hypot", aten.hypot, [[0.0, 3.0], [0.0, 4.0]], [[0.0, 0.6], [0.0, 0.8]], None),
    ("norm below 1", norm(0.5), [[0.0, 3.0]], [[0.0, 1.0]], [[0.0, 0.0]]),
    ("norm below 2", norm(1.5), [[0.0, 3.0]], [[0.0, 1.0]], [[0.0, 0.0]]),
    ("norm of zeros", norm(0.5), [[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]),
    ("norm below 0", norm(-1), [[0.0, 3.0]], [[0.0, 0.0]], [[0.0, 0.0]]),
    (
        "xlogy",
        aten.xlogy,
        [[0.0, 0.0, 0.0], [-1.0, 0.0, 2.0]],
        [[0.0, 0.0, LOG2], [-0.0, NAN, 0.0]],
        None,
    ),
    (
        "power",
        aten.pow,
        [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]],
        [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.0, 0.0, 2.0], [0.0, 1.0, 0.0]],
    ),
    (
        "power of 0",
        lambda x: aten.pow(0, x),
        [[-1.0, -0.5, 0.0, 2.0]],
        [[-INF, -INF, 0.0, 0.0]],
        None,
    ),
    # Ends of ranges.
    ("relu6", aten.relu6, [[0.0, 6.0, 3.0, NAN]], [[0.0, 0.0, 1.0, 0.0]], None),
    ("hardtanh", aten.hardtanh, [[-1.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]], None),
    (
        "clamp",
        lambda x: aten.clamp(x, -1, 1),
        [[-1.0, 1.0, NAN, 2.0]],
        [[1.0, 1.0, 0.0, 0.0]],
        None,
    ),
    ("clamp_min", lambda x: aten.clamp_min(x, -1), [[-1.0, NAN, -2.0]], [[1.0, 0.0, 0.0]], None),
    (
        "clamp.Tensor",
        aten.clamp,
        [[1.0, 2.0, 0.0, 3.0, 1.5, NAN], [1.0] * 6, [2.0] * 6],
        [
            [1.0, 1.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        ],
        None,
    ),
    ("clamp.Tensor, max below min", aten.clamp, [[1.0], [2.0], [0.0]], [[0.0], [0.0], [1.0]], None),
    ("logit", aten.logit, [[-1.0, 2.0, 0.5]], [[NAN, NAN, 4.0]], None),
    (
        "logit of clamped",
        lambda x: aten.logit(x, 0.25),
        [[-1.0, 0.25, 0.75, 0.8]],
        [[0.0, 16 / 3, 16 / 3, 0.0]],
        None,
    ),
    ("huber", huber, [[1.0, INF, -INF]], [[1.0, 1.0, -1.0]], [[0.0, 0.0, 0.0]]),
    ("smooth_l1", smooth_l1, [[1.0, INF, -INF]], [[1.0, 1.0, -1.0]], [[0.0, 0.0, 0.0]]),
    ("fmod", aten.fmod, [[1.0, 1.0], [0.0, 0.5]], [[1.0, 1.0], [-INF, -2.0]], None),
    ("lgamma", aten.lgamma, [[-1e-30]], [[1e30]], None),
    # NaN is shared among what is NaN.
    ("max", aten.max, [[1.0, NAN, 2.0, NAN]], [[0.0, 0.5, 0.0, 0.5]], None),
    ("min", aten.min, [[1.0, NAN, 2.0, NAN]], [[0.0, 0.5, 0.0, 0.5]], None),
    ("median", aten.median, [[1.0, NAN, 2.0, NAN]], [[0.0, 0.5, 0.0, 0.5]], None),
    (
        "amax",
        lambda x: aten.amax(x, [1]),
        [[[1.0, NAN], [3.0, 3.0]]],
        [[[0.0, 1.0], [0.5, 0.5]]],
        None,
    ),
    (
        "amin",
        lambda x: aten.amin(x, [0]),
        [[[1.0, NAN], [1.0, 3.0]]],
        [[[0.5, 1.0], [0.5, 0.0]]],
        None,
    ),
]
if importlib.util.find_spec("scipy") is not None:
    CORNERS += [
        (
            "xlog1py",
            aten.special_xlog1py,
            [[0.0, 0.0], [1.0, -1.0]],
            [[LOG2, 0.0], [0.0, NAN]],
            None,
        ),
    ]


def flat(value):
    return [inner for one in value for inner in flat(one)] if isinstance(value, list) else [value]


def same(found, wanted):
    return len(found) == len(wanted) and all(
        (math.isnan(a) and math.isnan(b))
        or a == b
        or math.isclose(a, b, rel_tol=1e-8, abs_tol=1e-15)
        for a, b in zip(found, wanted, strict=True)
    )


def in_row(gradient, like):
    return flat([0.0] * like.numel()) if gradient is None else gradient.reshape([-1]).tolist()


@pytest.mark.parametrize(
    ("name", "fn", "inputs", "first", "second"), CORNERS, ids=[one[0] for one in CORNERS]
)
def test_X31_gradients_at_a_corner(name, fn, inputs, first, second):
    leaves = [t(values) for values in inputs]
    found = autograd.grad(fn(*leaves).sum(), leaves, create_graph=True, allow_unused=True)
    for one, leaf, wanted in zip(found, leaves, first, strict=True):
        assert same(in_row(one, leaf), flat(wanted))
    if second is None:
        return
    total = sum(one.sum() for one in found if one is not None)
    for one, leaf, wanted in zip(autograd.grad(total, leaves), leaves, second, strict=True):
        assert same(in_row(one, leaf), flat(wanted))


SMOOTH = {
    "mish": aten.mish,
    "softplus": aten.softplus,
    "silu": aten.silu,
    "gelu": aten.gelu,
    "gelu by tanh": lambda x: aten.gelu(x, approximate="tanh"),
    "log_sigmoid": aten.log_sigmoid,
    "sinc": aten.sinc,
    "logits of 0": lambda x: logits_loss(x, x.detach() * 0),
    "logits of 1, weighted": lambda x: aten.binary_cross_entropy_with_logits(
        x, x.detach() * 0 + 1, None, x.detach() * 0 + 3, 2
    ),
    "logaddexp": lambda x: aten.logaddexp(x, -x),
    "huber": lambda x: aten.huber_loss(x, x.detach() * 0, 2),
    "smooth_l1": lambda x: aten.smooth_l1_loss(x, x.detach() * 0, 2),
    "norm of 3": lambda x: aten.linalg_vector_norm(aten.stack([x, x * 0 + 1]), 3, [0]),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_X31_a_smooth_function_has_its_limits_at_0(name):
    at = t([-1e-6, 0.0, -0.0, 1e-6])
    (first,) = autograd.grad(SMOOTH[name](at).sum(), [at], create_graph=True)
    (second,) = autograd.grad(first.sum(), [at])
    for gradient in (first.tolist(), second.tolist()):
        assert all(math.isclose(one, gradient[0], rel_tol=1e-3, abs_tol=1e-3) for one in gradient)


def test_X31_the_slope_of_a_power_changes_with_an_exponent_of_0():
    x, e = t([2.0]), t([0.0])
    (first,) = autograd.grad(aten.pow(x, e).sum(), [x], create_graph=True)
    assert autograd.grad(first.sum(), [e])[0].tolist() == [0.5]


def test_X31_a_step_gives_zeros_for_any_incoming_gradient():
    for name in ("ceil", "floor", "round", "trunc", "sign", "sgn"):
        x = t([0.5, 1.5])
        getattr(aten, name)(x).backward(opyard.tensor([INF, NAN], dtype=opyard.float64))
        assert x.grad.tolist() == [0, 0], name


ROWS = list(test_formula_rows.rows_of_all_files())


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_X31_any_layout_of_an_incoming_gradient_gives_the_same(row):
    fn, leaves = ROWS[row]
    assert gradient_layouts.differs(fn, leaves) == []


def square_of(view):
    return lambda x: view(x) * view(x)


VIEWS_BEHIND = {
    "diagonal": lambda x: x[1:].diagonal(),
    "diagonal of turned": lambda x: x.t()[1:].diagonal(),
    "unfold": lambda x: x[1:].unfold(1, 3, 1),
    "unfold of turned": lambda x: x.t()[1:].unfold(0, 2, 1),
    "diagonal of unfold": lambda x: x[1:].unfold(1, 3, 1)[:, 1:].diagonal(),
    "as_strided": lambda x: aten.as_strided(x[1:], [2, 2], [5, 1], 5),
    "as_strided of unfold": lambda x: aten.as_strided(x[1:].unfold(1, 3, 1), [3], [1], 5),
    "as_strided of expand": lambda x: aten.as_strided(x[1:, :1].expand([2, 4]), [2], [4], 4),
    "real": lambda x: aten.view_as_complex(aten.stack([x, x * 2], -1))[1:].real.diagonal(),
}


@pytest.mark.parametrize("name", VIEWS_BEHIND)
def test_X31_second_gradients_of_views_of_views_that_begin_later(name):
    view = VIEWS_BEHIND[name]
    x = gradient_layouts.seed_of(aten.zeros([3, 4], dtype=opyard.float64), 0.3)
    assert autograd.gradcheck(square_of(view), [x.requires_grad_()])
    assert autograd.gradgradcheck(square_of(view), [x])


def written_part(x):
    h = x * x
    h[1:].mul_(x[:2])
    return h[1:].diagonal() * h[:2, 0]


def written_view_of_view(x):
    h = x * x
    h[1:].t()[1:].add_(x[:2, :3].t() ** 2)
    return h * h


@pytest.mark.parametrize("fn", [written_part, written_view_of_view])
def test_X31_second_gradients_of_what_was_written_through_views(fn):
    x = gradient_layouts.seed_of(aten.zeros([3, 4], dtype=opyard.float64), 0.3).requires_grad_()
    assert autograd.gradgradcheck(fn, [x])


def test_X31_a_second_gradient_of_a_view_from_before_its_memory_was_a_leaf():
    leaf = gradient_layouts.seed_of(aten.zeros([3, 3], dtype=opyard.float64), 1.0)
    view = leaf[1:]  # the elements 3 to 8
    leaf.requires_grad_()
    (first,) = autograd.grad((view * view * view).sum(), [leaf], create_graph=True)
    incoming = gradient_layouts.behind_others(aten.arange(9, dtype=opyard.float64).reshape([3, 3]))
    (second,) = autograd.grad([first], [leaf], [incoming])
    values = leaf.detach().reshape([-1]).tolist()
    assert same(in_row(second, leaf), [0.0] * 3 + [6 * i * values[i] for i in range(3, 9)])


def test_X31_complex_parts_may_have_any_strides_where_they_are_one():
    z = opyard.tensor([[1 + 2j]], dtype=opyard.complex128).requires_grad_()
    odd = aten.as_strided(t([9.0, 3.0, 4.0]).detach(), [1, 1, 2], [3, 5, 1], 1)
    aten.view_as_real(z).backward(odd)
    assert z.grad.tolist() == [[3 + 4j]]
    even = aten.as_strided(t([3.0, 4.0]).detach(), [1, 1, 2], [3, 5, 1], 0)
    assert aten.view_as_complex(even).tolist() == [[3 + 4j]]


# Writes to memory that shows an element twice.

OVERLAPPING = {
    "expand": lambda h: h[:1].expand([3]),
    "unfold": lambda h: h.unfold(0, 2, 1),
    "as_strided": lambda h: aten.as_strided(h, [2, 3], [1, 1], 0),
    "as_strided with gaps": lambda h: aten.as_strided(h, [3, 2], [2, 4], 0),
}
WRITES = {
    "sub_": lambda v: v.sub_(0.5),
    "mul_": lambda v: v.mul_(2),
    "neg_": lambda v: v.neg_(),
    "masked_fill_": lambda v: v.masked_fill_(v.detach() > 2, 1.0),
    "copy_": lambda v: v.copy_(v.detach() * 2),
    "fill_": lambda v: v.fill_(1.0),
    "index": lambda v: v.__setitem__(0, 1.0) if v.dim() == 1 else v.relu_(),
    "with what needs one": lambda v: v.add_(t([1.0])),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", OVERLAPPING)
def test_X31_writes_to_what_shows_an_element_twice_are_refused(view, write):
    h = t([float(i) for i in range(10)]) * 1
    shown = OVERLAPPING[view](h)
    if (view, write) == ("expand", "index"):
        pytest.skip("one element alone is no overlap")
    with pytest.raises(ValueError, match="several elements are one place in memory"):
        WRITES[write](shown)


def test_X31_strides_in_any_order_that_show_each_element_once_are_written():
    x = t([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    h = x * 1
    aten.as_strided(h, [2, 3], [3, 2], 0).mul_(3)  # elements 0, 2, 4, 3, 5, 7
    h.sum().backward()
    assert x.grad.tolist() == [3, 1, 3, 3, 3, 3, 1, 3]


def slopes(function, x):
    """The first derivative and the second."""
    x = x.requires_grad_()
    (first,) = autograd.grad(function(x), x, create_graph=True)
    (second,) = autograd.grad(first, x)
    return first.item(), second.item()


@pytest.mark.parametrize(
    ("dtype", "x"), [("float16", 1e-5), ("float32", 1e-39), ("float64", 1e-310)]
)
def test_the_power_0_has_no_slope_where_that_of_minus_1_is_past_the_largest_number(dtype, x):
    base = opyard.tensor(x, dtype=getattr(opyard, dtype))
    exponent = opyard.tensor(0.0, dtype=base.dtype)
    assert slopes(lambda x: aten.pow(x, exponent), base)[0] == 0
    assert slopes(lambda x: aten.pow(x, exponent), opyard.tensor(2.0))[0] == 0


def test_corners_at_infinity():
    pytest.importorskip("scipy")
    for dtype, x in (("float32", 20.0), ("float32", 100.0), ("float64", 40.0), ("float64", 100.0)):
        at = opyard.tensor(x, dtype=getattr(opyard, dtype))
        first, second = slopes(aten.special_log_ndtr, at)
        assert abs(first) < 1e-80 and abs(second) < 1e-80
    first, second = slopes(aten.special_log_ndtr, opyard.tensor(-30.0, dtype=opyard.float64))
    assert abs(first - 30.033259) < 1e-5 and abs(second + 0.9989) < 1e-4


def test_huber_losses_without_a_far_part_and_logits_of_crossed_bounds():
    x, target = opyard.tensor(3.0), opyard.tensor(1.0)
    first, second = slopes(lambda x: aten.huber_loss(x, target, 1, float("inf")), x)
    assert (first, second) == (2.0, 1.0)
    assert slopes(lambda x: aten.huber_loss(x, target, 1, float("inf")), opyard.tensor(1.0))[0] == 0
    crossed = aten.logit(opyard.tensor([0.0, 0.3, 0.9], dtype=opyard.float64), 0.7).tolist()
    assert [round(each, 4) for each in crossed] == [0.8473, 0.8473, -0.8473]
