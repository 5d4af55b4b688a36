"""test_clipping_and_averages.py: gradients that are clipped, weights that are averaged, and states
that come from PyTorch.

Suspect opyard/_nn/clipping.py, averaging.py and optimizer.py.
"""

import math
import pickle

import pytest

import opyard
from opyard import nn, optim
from opyard.nn import utils
from opyard.optim import swa_utils

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.once

GRADIENTS = [[3.0, -4.0], [[12.0]], [[-0.5, 0.25]]]


def parameters(gradients=GRADIENTS):
    made = []
    for gradient in gradients:
        tensor = opyard.tensor(gradient)
        made.append(nn.Parameter(opyard.zeros(*tensor.shape)))
        made[-1].grad = tensor
    return [*made, nn.Parameter(opyard.zeros(2))]  # the last one has no gradient


def grads(given):
    return [each.grad.tolist() for each in given if each.grad is not None]


def near(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("p", [1.0, 2, 3.5, math.inf])
def test_the_norm_of_all_gradients_is_clipped(p):
    given = parameters()
    flat = np.concatenate([np.ravel(each) for each in GRADIENTS])
    norm = np.linalg.norm(flat, p)
    found = utils.clip_grad_norm_(iter(given), 2.0, norm_type=p)
    assert found.item() == pytest.approx(norm, rel=1e-6) and not found.requires_grad
    near(grads(given), [np.array(each) * (2 / (norm + 1e-6)) for each in GRADIENTS])
    known = parameters()
    gradients = [each.grad for each in known[:-1]]
    utils.clip_grads_with_norm_(known, 2.0, utils.get_total_norm(gradients, p))
    assert grads(known) == grads(given)
    kept = parameters()
    utils.clip_grad_norm_(kept, norm * 2, p)
    assert grads(kept) == GRADIENTS


def test_each_element_of_gradients_is_clipped():
    given = parameters()
    assert utils.clip_grad_value_(given, 3.5) is None
    assert grads(given) == [[3.0, -3.5], [[3.5]], [[-0.5, 0.25]]]
    utils.clip_grad_value_(given[0], 1)
    assert given[0].grad.tolist() == [1.0, -1.0]


def test_parameters_are_one_vector_and_back():
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,) and vector.requires_grad
    utils.vector_to_parameters(opyard.arange(9).float(), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert layer.bias.tolist() == [6.0, 7.0, 8.0] and layer.bias.requires_grad


def test_what_cannot_be_clipped_is_refused():
    nan = parameters([[math.nan, 1.0]])
    with pytest.raises(
        RuntimeError, match="clip_grad_norm_: the norm is nan, so that gradients ca"
    ):
        utils.clip_grad_norm_(nan, 1.0, error_if_nonfinite=True)
    assert grads(nan)[0][1] == 1.0
    with pytest.raises(TypeError, match=r"^clip_grad_norm_: .* an object of Linear; give its para"):
        utils.clip_grad_norm_(nn.Linear(1, 1), 1.0)
    with pytest.raises(TypeError, match="^clip_grad_value_: .* one of them is an object of int"):
        utils.clip_grad_value_([3], 1.0)
    with pytest.raises(
        TypeError, match="^clip_grad_norm_: max_norm must be an int or a float, not"
    ):
        utils.clip_grad_norm_(parameters(), "1")
    with pytest.raises(ValueError, match="the parameters have 9 elements, and vec has the shape"):
        utils.vector_to_parameters(opyard.ones(8), nn.Linear(2, 3).parameters())
    assert utils.clip_grad_norm_([], 1.0).item() == 0


def walked(averaged, steps=4):
    """A layer whose parameters change, and the parameters that it had."""
    layer, seen = nn.BatchNorm1d(2), []
    ema = averaged(layer)
    for step in range(steps):
        with opyard.no_grad():
            layer.weight.add_(float(step + 1))
            layer.running_mean.fill_(step)
        seen.append(layer.weight.tolist()[0])
        ema.update_parameters(layer)
    return ema, seen


@pytest.mark.parametrize("kind", ["avg_fn", "multi_avg_fn"])
def test_an_average_with_a_decay_is_that_of_all_steps(kind):
    function = {
        "avg_fn": swa_utils.get_ema_avg_fn(0.75),
        "multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.75),
    }
    ema, seen = walked(lambda layer: swa_utils.AveragedModel(layer, **{kind: function[kind]}))
    wanted = seen[0]
    for each in seen[1:]:
        wanted = 0.75 * wanted + 0.25 * each
    assert ema.module.weight.tolist() == pytest.approx([wanted] * 2)
    assert ema.module.running_mean.tolist() == [3.0, 3.0]  # buffers are copied
    assert ema.n_averaged.item() == 4 and ema.module.weight.requires_grad


def test_an_average_of_all_alike_is_the_mean_and_may_have_the_buffers():
    ema, seen = walked(lambda layer: swa_utils.AveragedModel(layer, use_buffers=True))
    assert ema.module.weight.tolist() == pytest.approx([sum(seen) / 4] * 2)
    assert ema.module.running_mean.tolist() == [1.5, 1.5]
    x = opyard.randn(3, 2)
    assert ema.eval()(x).tolist() == ema.module(x).tolist()
    names = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert list(ema.state_dict()) == ["n_averaged", *(f"module.{name}" for name in names)]


def test_running_statistics_are_computed_anew():
    model = nn.Sequential(nn.BatchNorm1d(3, momentum=0.3), nn.ReLU()).eval()
    batches = [np.random.default_rng(seed).standard_normal((4, 3)) for seed in range(3)]
    model.double()
    swa_utils.update_bn([(each, None) for each in batches], model)
    np.testing.assert_allclose(model[0].running_mean.numpy(), np.mean(batches, (0, 1)))
    variances = [each.var(0, ddof=1) for each in batches]
    np.testing.assert_allclose(model[0].running_var.numpy(), np.mean(variances, 0))
    assert model[0].momentum == 0.3 and not model.training


def test_what_cannot_be_averaged_is_refused():
    with pytest.raises(TypeError, match="^AveragedModel: model must be a Module, not an object of"):
        swa_utils.AveragedModel(3)
    ema = swa_utils.AveragedModel(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="the model has other parameters than what is averaged"):
        ema.update_parameters(nn.Linear(2, 3))
    function = swa_utils.get_ema_avg_fn()
    with pytest.raises(ValueError, match="one of avg_fn and multi_avg_fn is taken, not both"):
        swa_utils.AveragedModel(nn.ReLU(), avg_fn=function, multi_avg_fn=function)
    with pytest.raises(ValueError, match="get_ema_avg_fn: decay is a share, from 0 to 1, not 2"):
        swa_utils.get_ema_avg_fn(2)


def test_a_step_of_a_state_may_be_an_array_of_no_dimensions():
    """PyTorch's Adam counts its steps in a tensor."""
    weight = nn.Parameter(opyard.ones(2))
    adam = optim.Adam([weight], lr=0.1)
    ones = np.full(2, 0.5, np.float32)
    state = {"step": np.array(3.0, np.float32), "exp_avg": ones, "exp_avg_sq": opyard.ones(2)}
    groups = adam.state_dict()["param_groups"]
    adam.load_state_dict({"state": {0: state}, "param_groups": groups})
    kept = adam.state[weight]
    assert kept["step"] == 3 and type(kept["step"]) is int
    assert isinstance(kept["exp_avg"], opyard.Tensor) and kept["exp_avg"].tolist() == [0.5, 0.5]
    ones[0] = 9
    assert kept["exp_avg"].tolist() == [0.5, 0.5]
    weight.grad = opyard.ones(2)
    adam.step()
    assert kept["step"] == 4
    with pytest.raises(
        ValueError, match=r"exp_avg of the state has the shape \[3\], but its param"
    ):
        state = {**state, "exp_avg": np.ones(3)}
        adam.load_state_dict({"state": {0: state}, "param_groups": groups})


SETTINGS = [
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.8)}),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_a_state_of_pytorch_goes_on_here_and_ours_there(name, settings):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = torch.nn.Linear(3, 2).double()
    first = getattr(torch.optim, name)(theirs.parameters(), **settings)
    x = torch.randn(4, 3, dtype=torch.float64)

    def step(model, optimizer, x):
        optimizer.zero_grad()
        (model(x) ** 2).sum().backward()
        optimizer.step()

    for _ in range(3):
        step(theirs, first, x)
    ours = nn.Linear(3, 2).double()
    ours.load_state_dict(theirs.state_dict())
    second = getattr(optim, name)(ours.parameters(), lr=7.0)
    second.load_state_dict(first.state_dict())
    pickle.dumps(second.state_dict()["param_groups"])
    for _ in range(3):
        step(theirs, first, x)
        step(ours, second, opyard.from_dlpack(x))
    np.testing.assert_allclose(ours.weight.detach().numpy(), theirs.weight.detach().numpy())
    third = getattr(torch.optim, name)(theirs.parameters(), lr=7.0)
    state = second.state_dict()
    for entries in state["state"].values():
        for key, value in entries.items():
            is_ours = isinstance(value, opyard.Tensor)
            entries[key] = torch.tensor(value.numpy()) if is_ours else torch.tensor(float(value))
    third.load_state_dict(state)
    for _ in range(2):
        step(theirs, third, x)
        step(ours, second, opyard.from_dlpack(x))
    np.testing.assert_allclose(ours.weight.detach().numpy(), theirs.weight.detach().numpy())


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_gradients_are_clipped_as_in_pytorch(p):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = [torch.nn.Parameter(torch.zeros(np.shape(each))) for each in GRADIENTS]
    for parameter, gradient in zip(theirs, GRADIENTS, strict=True):
        parameter.grad = torch.tensor(gradient)
    ours = parameters()
    wanted = torch.nn.utils.clip_grad_norm_(theirs, 1.5, norm_type=p)
    assert utils.clip_grad_norm_(ours, 1.5, norm_type=p).item() == pytest.approx(wanted.item())
    near(grads(ours), [each.grad.numpy() for each in theirs])
