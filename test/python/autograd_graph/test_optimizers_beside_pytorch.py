"""Optimizers take PyTorch's steps, all but Muon to 1e-12, and go on from a state that was taken.

optim_cases.txt has the settings with PyTorch's answers. Suspect opyard/_optim, the file of the
optimizer, then optimizer.py.
"""

import copy
import re

import pytest
from optim_cases import Library, OptimCase

import opyard
from opyard import optim

CASES = OptimCase.all()
OURS = Library(opyard)
each = pytest.mark.parametrize("case", CASES, ids=repr)


def test_every_optimizer_is_in_a_table():
    here = {name for name in optim.__all__ if isinstance(getattr(optim, name), type)}
    assert here == {case.name for case in CASES} | {"Optimizer", "SGD", "Adam", "AdamW"}


def within(case, optimizer):
    """How far a number may be off. Muon rounds products of matrices to bfloat16, and the order of
    the sums before that is a machine's."""
    return 0.02 * optimizer.defaults["lr"] * case.steps if case.name == "Muon" else 1e-13


@each
def test_steps_are_those_of_pytorch(case):
    found, optimizer = case.run(OURS)
    assert found == pytest.approx(case.answers, rel=1e-12, abs=within(case, optimizer))


def with_tensors(value, key=""):
    """A state as PyTorch has it: steps, and scalars, in tensors."""
    if isinstance(value, dict):
        return {name: with_tensors(one, name) for name, one in value.items()}
    return opyard.tensor(float(value)) if key == "step" else value


@each
def test_a_state_goes_on_where_it_was_taken(case):
    parameters = OURS.parameters(case.shapes)
    optimizer = case.optimizer(OURS, parameters)
    for number in range(1, case.steps + 1):
        case.step(OURS, optimizer, parameters, number)
        state = copy.deepcopy(with_tensors(optimizer.state_dict()))
        optimizer = case.optimizer(OURS, parameters)
        optimizer.load_state_dict(state)
    close = within(case, optimizer)
    assert case.digest(parameters) == pytest.approx(case.answers, rel=1e-12, abs=close)


WRONG = {
    "Adagrad(p, lr=-1)": "lr must be at least 0",
    "Adagrad(p, initial_accumulator_value=-1)": "initial_accumulator_value must be at least 0",
    "Adadelta(p, rho=1.5)": "rho must be from 0 to 1",
    "Adamax(p, betas=(0.9, 1.0))": "betas must be two numbers from 0 to below 1",
    "NAdam(p, momentum_decay=-1)": "momentum_decay must be at least 0",
    "RAdam(p, eps=-1)": "eps must be at least 0",
    "RMSprop(p, momentum=-1)": "momentum must be at least 0",
    "Rprop(p, etas=(1.2, 0.5))": "etas must be a number between 0 and 1 and one above 1",
    "ASGD(p, weight_decay=-1)": "weight_decay must be at least 0",
    "Adafactor(p, beta2_decay=0.5)": "beta2_decay must be at most 0",
    "Adafactor(p, d=0.5)": "d must be at least 1",
    "Muon(p)": "must have two dimensions, not the shape [2]; give the others to another optimizer",
    "Muon(p[:0], ns_steps=100)": "there is no parameter",
    "Muon([p[0].reshape(2, 1).detach()], ns_steps=100)": "ns_steps must be an int from 0 to 99",
    "Muon([p[0].reshape(2, 1).detach()], adjust_lr_fn='rms')": "must be one of None, 'original'",
    "LBFGS(p, line_search_fn='wolfe')": "line_search_fn must be None or 'strong_wolfe'",
    "LBFGS([{'params': p[:1]}, {'params': p[1:]}])": "doesn't support per-parameter options",
}


@pytest.mark.parametrize("made", WRONG)
def test_settings_that_cannot_be_are_refused(made):
    with pytest.raises(ValueError, match=re.escape(WRONG[made])):
        eval(made, {**vars(optim), "p": OURS.parameters([(2,), (3,)])})


def test_steps_that_cannot_be_are_refused():
    with pytest.raises(TypeError, match=r"step\(\) needs a closure"):
        optim.LBFGS(OURS.parameters([(2,)])).step()
    parameter = opyard.nn.Parameter(opyard.tensor([1j]))
    parameter.grad = opyard.tensor([1j])
    with pytest.raises(NotImplementedError, match="not complex"):
        optim.Adafactor([parameter]).step()
    parameter = opyard.nn.Parameter(opyard.tensor([[1j]]))
    parameter.grad = opyard.tensor([[1j]])
    with pytest.raises(NotImplementedError, match="not complex"):
        optim.Muon([parameter]).step()
    with pytest.raises(TypeError, match=r"ns_coefficients must be three numbers, not \(1, 2\)"):
        optim.Muon([parameter], ns_coefficients=(1, 2))


def test_an_entry_of_a_state_has_the_shape_that_is_kept():
    (parameter,) = OURS.parameters([(3, 2)])
    optimizer = optim.Adafactor([parameter])
    parameter.grad = parameter.detach()
    optimizer.step()
    state = optimizer.state_dict()
    assert [list(state["state"][0][name].shape) for name in ("row_var", "col_var")] == [
        [3, 1],
        [1, 2],
    ]
    state["state"][0]["row_var"] = opyard.ones(3, 2)
    with pytest.raises(ValueError, match=r"row_var of the state has the shape \[3, 2\]"):
        optimizer.load_state_dict(state)


def test_adagrad_begins_with_its_sums():
    (parameter,) = OURS.parameters([(2,)])
    optimizer = optim.Adagrad([parameter], initial_accumulator_value=0.5)
    assert optimizer.state[parameter]["sum"].tolist() == [0.5, 0.5]
