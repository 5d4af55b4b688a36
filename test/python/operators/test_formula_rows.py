"""No formula of aten without a row: each is compared with differences of values in some file.

Suspect kernels/src/gradients/derivatives.cpp, and who added a formula there without a row. Here are
also the rows of operators that only formulas and other operators call, and of small forms.
"""

import contextlib
import importlib.util

import pytest
import test_answered_gradients
import test_aten_convolution
import test_aten_neural
import test_aten_order
import test_aten_parts
import test_aten_pointwise
import test_complex_gradients
import test_formulas

import opyard
from opyard import autograd
from opyard.profiler import profile

pytestmark = pytest.mark.once

aten, ours = opyard.ops.aten, opyard.ops.opyard
A = [[0.6, -1.2, 2.1], [1.4, 0.7, -0.4]]
PICKED = [[0.9, -0.6], [0.3, 1.1]]
ROW = [0.9, -0.6, 1.7, 0.3, 1.1, -0.2]
CHANCES = [0.2, 0.45, 0.9]
PLACES = opyard.tensor([[2, 0], [1, 2]])
LINES = opyard.tensor([2, 0])


def t(values):
    return opyard.tensor(values, dtype=opyard.float64).requires_grad_()


def numbers(*shape):
    """So many different numbers, no two of which differences could bring together."""
    count = 1
    for size in shape:
        count *= size
    return opyard.tensor(
        [((7 * i + 3) % (count + 1)) / 5 - 1 for i in range(count)], dtype=opyard.float64
    ).reshape(list(shape))


def all_of_rows(x, weight, bias):
    """What depends on a normal row, its mean and its scale."""
    normal, mean, scale = ours.normalise_rows(x, 1, weight, bias, 0.1)
    return normal + mean * scale * x


def dropped(x):
    """With the same elements dropped at each call."""
    opyard.manual_seed(3)
    return aten.native_dropout(x, 0.4, True)[0]


PLAIN = [[1, 1], [0, 0], [1, 1], False, [0, 0], 1]  # stride to groups, of a convolution
IMAGE, VOLUME = numbers(1, 2, 3, 4), numbers(1, 2, 3, 2, 2)
ROWS = {
    "_adaptive_avg_pool2d_backward": (
        lambda g: aten._adaptive_avg_pool2d_backward(g, IMAGE),
        [numbers(1, 2, 2, 3)],
    ),
    "_adaptive_avg_pool3d": (lambda x: aten._adaptive_avg_pool3d(x, [2, 1, 2]), [VOLUME]),
    "_adaptive_avg_pool3d_backward": (
        lambda g: aten._adaptive_avg_pool3d_backward(g, VOLUME),
        [numbers(1, 2, 2, 1, 2)],
    ),
    "adaptive_max_pool3d": (lambda x: aten.adaptive_max_pool3d(x, [2, 1, 2])[0], [VOLUME]),
    "attention": (
        lambda q, k, v, m: ours.attention(q, k, v, m, False, 0.7),
        [numbers(2, 3, 2), numbers(2, 4, 2), numbers(2, 4, 3), numbers(3, 4)],
    ),
    "avg_pool2d_backward": (
        lambda g: aten.avg_pool2d_backward(g, IMAGE, [2, 2], [1, 2], [0, 1], False, True, None),
        [numbers(1, 2, 2, 3)],
    ),
    "avg_pool3d_backward": (
        lambda g: aten.avg_pool3d_backward(
            g, VOLUME, [2, 2, 2], [1, 1, 1], [0, 0, 0], False, True, 3
        ),
        [numbers(1, 2, 2, 1, 1)],
    ),
    "ceil": (lambda x: aten.ceil(x) * x, [A]),
    "certainty_losses": (lambda p, y: ours.certainty_losses(p, y), [CHANCES, CHANCES[::-1]]),
    "certainty_slope": (lambda p, y: ours.certainty_slope(p, y), [CHANCES, CHANCES[::-1]]),
    "clamp_max.Tensor": (lambda x: aten.clamp_max(x, x * x - 0.3), [A]),
    "clamp_min.Tensor": (lambda x: aten.clamp_min(x, x * x - 0.3), [A]),
    "col2im": (
        lambda c: aten.col2im(c, [3, 4], [2, 2], [1, 1], [0, 1], [1, 1]),
        [numbers(1, 8, 10)],
    ),
    "conj": (lambda x: aten.conj(x) * x, [A]),
    "convolution_grad_input": (
        lambda g, w: ours.convolution_grad_input(g, w, [1, 2, 3, 4], *PLAIN),
        [numbers(1, 3, 2, 3), numbers(3, 2, 2, 2)],
    ),
    "convolution_grad_weight": (
        lambda g, x: ours.convolution_grad_weight(g, x, [3, 2, 2, 2], *PLAIN),
        [numbers(1, 3, 2, 3), IMAGE],
    ),
    "copysign.Scalar": (lambda x: aten.copysign(x, -2.0), [A]),
    "euclidean_distances": (
        lambda a, b: ours.euclidean_distances(a, b),
        [numbers(2, 3, 2), numbers(2, 2, 2)],
    ),
    "floor": (lambda x: aten.floor(x) * x, [A]),
    "fmod.Scalar": (lambda x: aten.fmod(x, 0.8) * x, [A]),
    "gather_backward": (lambda v: ours.gather_backward(v, [2, 3], 1, PLACES), [PICKED]),
    "gather_strided": (lambda r: ours.gather_strided(r, [2, 2], [3, 1], 1), [ROW]),
    "im2col": (lambda x: aten.im2col(x, [2, 2], [1, 1], [0, 1], [1, 1]), [IMAGE]),
    "index_backward": (lambda v: ours.index_backward(v, [3, 2], [LINES]), [PICKED]),
    "index_select_backward": (
        lambda v: aten.index_select_backward(v, [2, 3], 1, LINES),
        [PICKED],
    ),
    "less_log_odds": (lambda p: ours.less_log_odds(p), [CHANCES]),
    "logit": (lambda p: aten.logit(p), [CHANCES]),
    "logcumsumexp_backward": (
        lambda v, x, y: ours.logcumsumexp_backward(v, x, y, 0),
        [PICKED, PICKED[::-1], PICKED],
    ),
    "logcumsumexp_tangent": (
        lambda v, x, y: ours.logcumsumexp_tangent(v, x, y, 0),
        [PICKED, PICKED[::-1], PICKED],
    ),
    "narrow_backward": (lambda v: ours.narrow_backward(v, [2, 4], 1, 1, 2), [PICKED]),
    "native_dropout": (dropped, [A]),
    "normalise_channels": (
        lambda *given: ours.normalise_channels(*given),
        [IMAGE, numbers(2), numbers(2), numbers(2), numbers(2)],
    ),
    "normalise_rows": (all_of_rows, [numbers(2, 4), numbers(4), numbers(4)]),
    "pow_.Scalar": (lambda x: aten.pow_(x * 1, 3), [A]),
    "pow_.Tensor": (lambda x, e: aten.pow_(x * x + 0.5, e), [PICKED, PICKED]),
    "transpose_": (lambda x: (x * 1).transpose_(0, 1), [numbers(2, 3)]),
    "replace_strided": (
        lambda r, v: ours.replace_strided(r, v, [2, 2], [3, 1], 1),
        [ROW, PICKED],
    ),
    "round": (lambda x: aten.round(x) * x, [A]),
    "scatter.value": (lambda x: aten.scatter(x, 1, PLACES, 2.0) * x, [A]),
    "scatter_strided": (lambda v: ours.scatter_strided(v, 8, [2, 2], [3, 1], 1), [PICKED]),
    "select_backward": (lambda v: aten.select_backward(v, [2, 3], 0, 1), [[0.4, -1.0, 2.0]]),
    "sign": (lambda x: aten.sign(x) * x, [A]),
    "slice_backward": (lambda v: aten.slice_backward(v, [2, 5], 1, 1, 5, 2), [PICKED]),
    "sort.stable": (lambda x: aten.sort(x, stable=True, dim=1)[0] * x, [A]),
    "sum_to.sizes": (lambda x: ours.sum_to(x, [1, 3]) * x, [A]),
    "sum_to": (lambda x: ours.sum_to(x, LINES.reshape([2, 1])) * x, [A]),
    "trunc": (lambda x: aten.trunc(x) * x, [A]),
    "xlogy.Scalar_Other": (lambda x: aten.xlogy(x, 2.5), [A]),
    "xlogy.Scalar_Self": (lambda y: aten.xlogy(2.5, y), [[0.5, 1.2, 3.0]]),
}


def leaves_of(inputs):
    return [
        one.clone().requires_grad_() if isinstance(one, opyard.Tensor) else t(one) for one in inputs
    ]


@pytest.mark.parametrize("name", ROWS)
def test_X31_gradients_of_small_forms_are_what_differences_say(name):
    fn, inputs = ROWS[name]
    assert autograd.gradcheck(fn, leaves_of(inputs))
    assert autograd.gradgradcheck(fn, leaves_of(inputs))


def rows_of_all_files():
    """Function and leaves of each call that a file compares with differences."""
    for _, fn, inputs in test_formulas.CASES:
        yield fn, [t(values) for values in inputs]
    for fn, inputs in test_aten_parts.CASES:
        yield fn, [t(values) for values in inputs]
    for file in (test_aten_convolution, test_aten_neural, test_aten_order):
        for fn, shapes in file.CASES:
            yield fn, [file.leaf(*shape) for shape in shapes]
    pointwise = test_aten_pointwise
    for name in [*pointwise.FLOATS, *pointwise.ACTIVATIONS, "digamma", "lgamma", "frac", "square"]:
        yield getattr(aten, name), [t(pointwise.ABOVE_ONE)]
    yield ours.trigamma, [t(pointwise.ABOVE_ONE)]
    yield lambda x: ours.derived_digamma(2, x), [t(pointwise.ABOVE_ONE)]
    for name in [*pointwise.PAIRS, "xlogy"]:
        yield getattr(aten, name), [t(pointwise.SMALL), t([1.1, 0.8, 1.7])]
    for _, fn, inputs in test_complex_gradients.CASES:
        yield fn, [test_complex_gradients.leaf(values) for values in inputs]
    answered = test_answered_gradients
    rows = [*answered.MATRICES, *answered.REAL]
    if importlib.util.find_spec("scipy") is not None:
        rows += answered.BY_SCIPY
    for _, fn, inputs in rows:
        yield fn, [answered.leaf(values) for values in inputs]
    for fn, inputs in ROWS.values():
        yield fn, leaves_of(inputs)


def taped_by(rows):
    """The operators of which a call made a function."""
    with profile(with_stack=False) as prof:
        for fn, leaves in rows:
            fn(*leaves)
    return {
        event.name
        for event in prof.events()
        if event.kind == "Operator" and event.sequence_number >= 0
    }


def form_of(op):
    """The operator that one in place, such as aten.mul_.Tensor, is written in place of."""
    base, _, overload = op.name().partition("::")[2].partition(".")
    packet = getattr(aten, base[:-1], None) if base.endswith("_") else None
    return getattr(packet, overload or "default", None)


def with_formulas():
    """Those that give a gradient to something: "None" gives none, and has no differences."""
    packets = [getattr(space, name) for space in (aten, ours) for name in dir(space)]
    for packet in packets:
        if not hasattr(packet, "overloads"):
            continue
        for overload in packet.overloads():
            op = getattr(packet, overload)
            formulas = autograd.formulas(op)
            functional = form_of(op)
            if functional is not None and formulas == autograd.formulas(functional):
                continue  # in place, by the rows of its functional form
            if any(text.strip() != "None" for _, text in formulas or []):
                yield op.name()


def test_X31_no_formula_is_without_a_row():
    missing = sorted(set(with_formulas()) - taped_by(rows_of_all_files()))
    assert missing == []


def test_X31_a_formula_without_a_row_is_found():
    with contextlib.closing(opyard.library.Library("aten", "FRAGMENT")) as lib:
        lib.define("_without_a_row(Tensor x) -> Tensor")
        lib.impl("_without_a_row", lambda x: x.clone(), "CPU")
        lib.derivative("_without_a_row", {"x": "grad * 1"})
        assert "aten::_without_a_row" in set(with_formulas())
        assert taped_by([(aten._without_a_row, [t(A)])]) == {"aten::_without_a_row"}
