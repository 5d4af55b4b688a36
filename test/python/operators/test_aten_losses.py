"""Losses and distances that are blocks of text, dropout of planes, and products of three: values
beside NumPy's, gradients, and what is refused.

Suspect kernels/operators/losses.ops.
"""

import numpy as np
import pytest

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten


def t(*sizes, shift=0.0):
    count = int(np.prod(sizes))
    return opyard.from_numpy(np.sin(np.arange(1, count + 1) * 1.7 + shift).reshape(sizes))


SIGNS = opyard.tensor([1.0, -1.0, -1.0, 1.0], dtype=opyard.float64)
COUNTS = opyard.tensor([0.0, 1.0, 2.0, 7.0], dtype=opyard.float64)
S = SIGNS.numpy()


def distance(x, y, p=2.0):
    return (abs(x - y + 1e-6) ** p).sum(-1) ** (1 / p)


def cosine(x, y):
    return (x * y).sum(-1) / np.sqrt(((x * x).sum(-1) + 1e-12) * ((y * y).sum(-1) + 1e-12))


def stirling():
    many = np.array([2.0, 7.0])
    return np.array([0, 0, *(many * np.log(many) - many + 0.5 * np.log(2 * np.pi * many))])


# What takes inputs and a reduction, and the losses of each.
LOSSES = {
    "cosine_embedding_loss": (
        lambda x, y, n: aten.cosine_embedding_loss(x, y, SIGNS, 0.1, n),
        [t(4, 3), t(4, 3, shift=1)],
        lambda x, y: np.where(S == 1, 1 - cosine(x, y), np.maximum(cosine(x, y) - 0.1, 0)),
    ),
    "hinge_embedding_loss": (
        lambda x, n: aten.hinge_embedding_loss(x, SIGNS, 1.5, n), [t(4)],
        lambda x: np.where(S == 1, x, np.maximum(1.5 - x, 0)),
    ),
    "margin_ranking_loss": (
        lambda x, y, n: aten.margin_ranking_loss(x, y, SIGNS, 0.5, n), [t(4), t(4, shift=1)],
        lambda x, y: np.maximum(-S * (x - y) + 0.5, 0),
    ),
    "soft_margin_loss": (
        lambda x, n: aten.soft_margin_loss(x, SIGNS, n), [t(4)],
        lambda x: np.log1p(np.exp(-S * x)),
    ),
    "triplet_margin_loss": (
        lambda x, y, z, n: aten.triplet_margin_loss(x, y, z, 1.0, 3.0, reduction=n),
        [t(4, 3), t(4, 3, shift=1), t(4, 3, shift=2)],
        lambda x, y, z: np.maximum(1 + distance(x, y, 3) - distance(x, z, 3), 0),
    ),
    "triplet_margin_loss, swapped": (
        lambda x, y, z, n: aten.triplet_margin_loss(x, y, z, swap=True, reduction=n),
        [t(4, 3), t(4, 3, shift=1), t(4, 3, shift=2)],
        lambda x, y, z: np.maximum(
            1 + distance(x, y) - np.minimum(distance(x, z), distance(y, z)), 0
        ),
    ),
    "poisson_nll_loss": (
        lambda x, n: aten.poisson_nll_loss(x, COUNTS, True, False, 1e-8, n), [t(4)],
        lambda x: np.exp(x) - COUNTS.numpy() * x,
    ),
    "poisson_nll_loss, full": (
        lambda x, n: aten.poisson_nll_loss(x, COUNTS, False, True, 1e-8, n), [t(4) + 2],
        lambda x: x - COUNTS.numpy() * np.log(x + 1e-8) + stirling(),
    ),
}  # fmt: skip
OTHERS = {
    "pairwise_distance": (
        lambda x, y: aten.pairwise_distance(x, y, 3.0), [t(4, 3), t(3, shift=1)],
        lambda x, y: distance(x, y, 3.0),
    ),
    "pairwise_distance, kept": (
        lambda x, y: aten.pairwise_distance(x, y, keepdim=True), [t(4, 3), t(4, 3, shift=1)],
        lambda x, y: distance(x, y)[:, None],
    ),
    "bilinear": (
        aten.bilinear, [t(2, 4, 3), t(2, 4, 2), t(5, 3, 2)],
        lambda x, y, w: np.einsum("abi,kij,abj->abk", x, w, y),
    ),
    "bilinear with bias": (
        aten.bilinear, [t(4, 3), t(4, 2), t(5, 3, 2), t(5)],
        lambda x, y, w, b: np.einsum("ai,kij,aj->ak", x, w, y) + b,
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_losses_are_numpys_and_have_gradients(row, reduction):
    function, inputs, wanted = row
    losses = wanted(*(each.numpy() for each in inputs))
    expected = (losses, losses.mean(), losses.sum())[reduction]
    np.testing.assert_allclose(function(*inputs, reduction).numpy(), expected, rtol=1e-12)
    leaves = [each.clone().requires_grad_() for each in inputs]
    assert autograd.gradcheck(lambda *given: function(*given, reduction), leaves)


@pytest.mark.parametrize("row", OTHERS.values(), ids=OTHERS)
def test_values_are_numpys_and_gradients_right(row):
    function, inputs, wanted = row
    made = function(*inputs)
    np.testing.assert_allclose(made.numpy(), wanted(*(each.numpy() for each in inputs)), rtol=1e-12)
    assert autograd.gradcheck(function, [each.clone().requires_grad_() for each in inputs])
    meta = function(*(each.to(device="meta") for each in inputs))
    assert (meta.shape, meta.dtype) == (made.shape, made.dtype)


def test_a_loss_stays_finite_far_from_the_margin():
    x = opyard.tensor([-1000.0]).requires_grad_()
    loss = aten.soft_margin_loss(x, opyard.tensor([1.0]))
    loss.backward()
    assert (loss.item(), x.grad.item()) == (1000.0, -1.0)


@pytest.mark.parametrize("name", ["feature_dropout", "alpha_dropout"])
def test_dropout_does_nothing_in_evaluation_and_all_at_one(name):
    function, x = getattr(aten, name), t(2, 3, 4)
    for given in ((0.5, False), (0.0, True)):
        assert function(x, *given).data_ptr() == x.data_ptr()
    assert aten.abs(function(x, 1.0, True)).sum().item() == 0
    with pytest.raises(ValueError, match=f"aten::{name}: .*p is 1.5"):
        function(x, 1.5, True)


def test_dropout_of_planes_takes_whole_ones():
    opyard.manual_seed(1)
    made = aten.feature_dropout(opyard.ones(50, 40, 3, 2), 0.25, True).numpy()
    assert set(np.unique(made)) == {0.0, np.float32(1 / 0.75)}
    assert (made.reshape(2000, 6).std(1) == 0).all()
    assert abs((made == 0).mean() - 0.25) < 0.05


@pytest.mark.parametrize("name", ["feature_dropout_", "alpha_dropout_"])
def test_dropout_in_place_writes_its_argument(name):
    x = opyard.ones(20, 30, 4)
    assert getattr(aten, name)(x, 0.5, False) is x and x.min().item() == 1
    assert getattr(aten, name)(x, 0.5, True) is x and len(np.unique(x.numpy())) == 2


def test_dropout_of_selu_keeps_mean_and_deviation():
    opyard.manual_seed(1)
    x = aten.randn([200, 200])
    made = aten.alpha_dropout(x, 0.3, True).numpy()
    assert abs(made.mean()) < 0.02 and abs(made.std() - 1) < 0.02


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: aten.soft_margin_loss(t(4), SIGNS, 3), "reduction is 3; accepted are 0, 1 and 2"),
        (lambda: aten.bilinear(t(2), t(2), t(2, 2)), "weight needs 3 dimensions"),
        (lambda: aten.bilinear(t(2), t(1, 2), t(1, 2, 2)), "need as many dimensions"),
        (lambda: aten.feature_dropout(t(2), 0.5, True), "input needs two dimensions"),
    ],
)
def test_what_does_not_fit_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
