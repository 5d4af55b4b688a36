"""test_optim.py: optimizers take the steps that their formulas say, and keep a state.

Suspect opyard/_optim/optimizer.py, then sgd.py or adam.py. The formulas are written once more here,
for one number at a time.
"""

import copy
import math
import pickle
import random

import pytest

import opyard
from opyard import nn, optim


def sgd(x, gradients, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False,
        maximize=False):  # fmt: skip
    velocity = None
    for gradient in gradients:
        gradient = (-gradient if maximize else gradient) + weight_decay * x
        if momentum:
            velocity = gradient if velocity is None else (
                momentum * velocity + (1 - dampening) * gradient)  # fmt: skip
            gradient = gradient + momentum * velocity if nesterov else velocity
        x -= lr * gradient
    return x


def adam(x, gradients, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False,
         maximize=False, decoupled_weight_decay=False):  # fmt: skip
    mean = squares = largest = 0.0
    for step, gradient in enumerate(gradients, 1):
        gradient = -gradient if maximize else gradient
        if decoupled_weight_decay:
            x -= lr * weight_decay * x
        else:
            gradient += weight_decay * x
        mean = betas[0] * mean + (1 - betas[0]) * gradient
        squares = betas[1] * squares + (1 - betas[1]) * gradient**2
        largest = max(largest, squares)
        used = (largest if amsgrad else squares) / (1 - betas[1] ** step)
        x -= lr * mean / (1 - betas[0] ** step) / (math.sqrt(used) + eps)
    return x


def adamw(x, gradients, weight_decay=0.01, **settings):
    return adam(x, gradients, weight_decay=weight_decay, decoupled_weight_decay=True, **settings)


CASES = [
    (optim.SGD, sgd, {"lr": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.5, "dampening": 0.3, "weight_decay": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "maximize": True}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"lr": 0.1, "weight_decay": 0.1}),
    (optim.Adam, adam, {"lr": 0.1, "amsgrad": True, "betas": (0.5, 0.6)}),
    (optim.Adam, adam, {"lr": 0.1, "eps": 0.1, "maximize": True}),
    (optim.Adam, adam, {"lr": 0.1, "weight_decay": 0.3, "decoupled_weight_decay": True}),
    (optim.AdamW, adamw, {"lr": 0.1}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
]


@pytest.mark.parametrize(("cls", "formula", "settings"), CASES)
def test_steps_are_those_of_the_formula(cls, formula, settings):
    chance = random.Random(1)
    begin = [chance.gauss(0, 1) for _ in range(6)]
    gradients = [[chance.gauss(0, 1) for _ in range(6)] for _ in range(9)]
    parameter = nn.Parameter(opyard.tensor(begin, dtype=opyard.float64))
    optimizer = cls([parameter], **settings)
    for row in gradients:
        parameter.grad = opyard.tensor(row, dtype=opyard.float64)
        optimizer.step()
    wanted = [
        formula(x, [row[place] for row in gradients], **settings) for place, x in enumerate(begin)
    ]
    assert parameter.tolist() == pytest.approx(wanted, rel=1e-9)


def line():
    """A layer, and a function that takes a step of it with an optimizer and gives the loss."""
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": opyard.tensor([[1.0, -1.0]]), "bias": opyard.tensor([0.0])})
    x = opyard.tensor([[1.0, 2.0], [3.0, -1.0]])

    def step(optimizer):
        optimizer.zero_grad()
        loss = layer(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    return layer, step


@pytest.mark.parametrize("cls", [optim.SGD, optim.Adam, optim.AdamW])
def test_a_state_goes_on_where_it_was_taken(cls):
    settings = {"lr": 0.01, "momentum": 0.9} if cls is optim.SGD else {"lr": 0.01, "amsgrad": True}
    (one, step_one), (other, step_other) = line(), line()
    first, second = cls(one.parameters(), **settings), cls(other.parameters(), lr=0.5)
    step_one(first), step_one(first)
    state = pickle.loads(pickle.dumps(first.state_dict()))
    other.load_state_dict(one.state_dict())
    second.load_state_dict(state)
    assert second.param_groups[0]["lr"] == 0.01
    step_one(first), step_other(second)
    assert other.weight.tolist() == one.weight.tolist()
    assert other.bias.tolist() == one.bias.tolist()


def test_a_state_that_does_not_fit_changes_nothing():
    layer, step = line()
    optimizer = optim.SGD(layer.parameters(), momentum=0.9)
    step(optimizer)
    before = copy.deepcopy(optimizer.state_dict())
    other = optim.SGD([nn.Parameter(opyard.ones(3))], momentum=0.9)
    with pytest.raises(
        ValueError, match=r"for groups of \[1\] parameters, but here they have \[2\]"
    ):
        optimizer.load_state_dict(other.state_dict())
    wrong = copy.deepcopy(before)
    wrong["state"][0]["momentum_buffer"] = opyard.ones(3)
    with pytest.raises(ValueError, match="momentum_buffer of the state has the shape"):
        optimizer.load_state_dict(wrong)
    wrong = copy.deepcopy(before)
    wrong["state"][7] = {}
    with pytest.raises(ValueError, match="names no parameter 7"):
        optimizer.load_state_dict(wrong)
    wrong = copy.deepcopy(before)
    wrong["param_groups"][0]["lr"] = -1
    with pytest.raises(ValueError, match="lr must be at least 0, not -1"):
        optimizer.load_state_dict(wrong)
    assert optimizer.state_dict()["param_groups"] == before["param_groups"]
    kept = optimizer.state_dict()["state"][0]["momentum_buffer"]
    assert kept.tolist() == before["state"][0]["momentum_buffer"].tolist()


def test_groups_have_settings_of_their_own():
    a, b = nn.Parameter(opyard.ones(1)), nn.Parameter(opyard.ones(1))
    optimizer = optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.1)
    a.grad, b.grad = opyard.ones(1), opyard.ones(1)
    optimizer.step()
    assert (a.item(), b.item()) == (pytest.approx(0.9), 0.5)
    optimizer.param_groups[0]["lr"] = 1.0
    optimizer.step()
    assert a.item() == pytest.approx(-0.1)
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.item() == 0
    optimizer.zero_grad()
    assert a.grad is None and b.grad is None
    optimizer.step()  # nothing has a gradient
    assert b.item() == 0.0
    assert "group 1: 1 parameters, params" not in repr(optimizer)
    assert "group 1: 1 parameters, lr=0.5" in repr(optimizer)


def test_a_closure_is_called_first_with_gradients():
    parameter = nn.Parameter(opyard.tensor([3.0]))
    optimizer = optim.SGD([parameter], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        return loss

    with opyard.autograd.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert parameter.item() == 0.0


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda p: optim.SGD([]), ValueError, "SGD: there is no parameter"),
        (lambda p: optim.SGD(p), TypeError, "a list of tensors or of groups, not one Tensor"),
        (lambda p: optim.SGD([p, 3]), TypeError, "must be a Tensor, not an object of int"),
        (lambda p: optim.SGD([p, p]), ValueError, r"of shape \[1\] is there twice"),
        (lambda p: optim.SGD([p * 2]), ValueError, "a parameter is a leaf"),
        (lambda p: optim.SGD([p], lr=-1), ValueError, "lr must be at least 0, not -1"),
        (lambda p: optim.SGD([p], lr=float("nan")), ValueError, "lr must be at least 0, not nan"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "nesterov needs a momentum"),
        (lambda p: optim.Adam([p], betas=(0.9, 1)), ValueError, "from 0 to below 1"),
        (lambda p: optim.Adam([{"params": p, "momentum": 1}]), ValueError, "no setting 'momentum'"),
        (lambda p: optim.Adam([{"lr": 1}]), TypeError, "a group must be a dict with 'params'"),
    ],
)
def test_what_cannot_be_is_refused(make, kind, text):
    with pytest.raises(kind, match=text):
        make(nn.Parameter(opyard.ones(1)))


def test_an_optimizer_without_a_formula_says_so():
    parameter = nn.Parameter(opyard.ones(1))
    parameter.grad = opyard.ones(1)
    with pytest.raises(NotImplementedError, match=r"Optimizer has no _update\(\)"):
        optim.Optimizer([parameter], {}).step()


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW, optim.SGD])
@pytest.mark.parametrize("target", [1 + 1j, 1j, -0.5 - 2j])
def test_complex_parameters_are_pairs_of_real_ones(kind, target):
    """Each part goes as a real parameter would that has the same gradients."""
    options = {"amsgrad": True} if kind is not optim.SGD else {"momentum": 0.9}
    w = nn.Parameter(opyard.tensor([0j], dtype=opyard.complex128))
    pair = nn.Parameter(opyard.tensor([0.0, 0.0], dtype=opyard.float64))
    wanted = opyard.tensor([target.real, target.imag], dtype=opyard.float64)
    optimizers = [kind([each], lr=0.05, **options) for each in (w, pair)]
    for _ in range(60):
        for optimizer in optimizers:
            optimizer.zero_grad()
        ((w - target).abs() ** 2).sum().backward()
        ((pair - wanted) ** 2).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
        assert w.item() == pytest.approx(complex(*pair.tolist()), rel=1e-9, abs=1e-12)
    for entries in optimizers[0].state.values():
        kept = [each for each in entries.values() if isinstance(each, opyard.Tensor)]
        assert kept and all(each.dtype is opyard.complex128 for each in kept)


def test_parameters_of_earlier_groups_are_known_also_after_a_copy():
    p, q = (nn.Parameter(opyard.ones(1)) for _ in range(2))
    optimizer = copy.deepcopy(optim.SGD([{"params": [p]}]))
    optimizer.add_param_group({"params": [p]})  # the copy has a copy of it
    with pytest.raises(ValueError, match="is there twice"):
        optimizer.add_param_group({"params": [p]})
    optimizer.param_groups.append({**optimizer.defaults, "params": [q]})
    with pytest.raises(ValueError, match="is there twice"):
        optimizer.add_param_group({"params": [q]})
    with pytest.raises(ValueError, match="is there twice"):
        optim.SGD([{"params": [p, q]}, {"params": [q]}])


def groups_with_names(library):
    layers = library.nn.Sequential(library.nn.Linear(1, 1), library.nn.Linear(1, 1))
    optimizer = library.optim.SGD(layers[0].named_parameters(), lr=0.5)
    optimizer.add_param_group({"params": layers[1].named_parameters(), "lr_scale": 0.1})
    for group in optimizer.param_groups:
        group["lr"] *= group.get("lr_scale", 1)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    return [
        (group["param_names"], group["lr"], group.get("lr_scale"), len(group["params"]))
        for group in optimizer.param_groups
    ]


def searches_of_few_steps(library):
    rows = []
    for most in (1, 2, 3, 20):
        x = library.zeros(6, dtype=library.float64, requires_grad=True)
        calls = []

        def closure(x=x, calls=calls):
            calls.append(0)
            x.grad = None
            loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
            loss.backward()
            return loss

        optimizer = library.optim.LBFGS([x], max_iter=most, line_search_fn="strong_wolfe")
        for _ in range(3):
            optimizer.step(closure)
        rows.append((len(calls), [round(each, 9) for each in x.tolist()]))
    return rows


@pytest.mark.parametrize("program", [groups_with_names, searches_of_few_steps])
def test_programs_with_optimizers_give_what_those_with_pytorch_give(program):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert program(opyard) == program(torch)


def test_a_key_that_is_nearly_a_setting_is_refused():
    w = opyard.ones(1).requires_grad_()
    with pytest.raises(ValueError, match="SGD has no setting 'momentun'; 'momentum' may be meant"):
        optim.SGD([{"params": [w], "momentun": 0.9}], lr=0.1)
    assert groups_with_names(opyard)[1][2] == 0.1
