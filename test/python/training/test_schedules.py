"""test_schedules.py: learning rates of schedules are PyTorch's, and a state goes on where it was.

schedule_cases.txt has the schedules with PyTorch's answers, and where PyTorch is installed each
rate is compared. Suspect opyard/_optim/schedules.py and cycles.py.
"""

import copy
import math

import pytest

import opyard
from opyard import optim
from opyard.optim import lr_scheduler, swa_utils

np = pytest.importorskip("numpy")

from nn_cases import Schedule  # noqa: E402

pytestmark = pytest.mark.once

SCHEDULES = Schedule.all()
NAMES = {**vars(lr_scheduler), "SWALR": swa_utils.SWALR}


def optimizer(kind=optim.SGD, **settings):
    weights = [opyard.nn.Parameter(opyard.ones(1)) for _ in range(2)]
    groups = [{"params": [weights[0]], "lr": 0.5}, {"params": [weights[1]], "lr": 0.2}]
    return kind(groups, **(settings or {"momentum": 0.9}))


def test_every_schedule_is_in_the_table():
    text = " ".join(schedule.text for schedule in SCHEDULES)
    missing = {name for name in lr_scheduler.__all__ if f"{name}(" not in text}
    assert missing == {"LRScheduler"}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_rates_are_those_of_pytorch(schedule):
    rates = schedule.rates(NAMES, optimizer())
    assert schedule.answer is not None, "run test/torch/nn_answers.py"
    np.testing.assert_allclose(schedule.digest(rates), schedule.answer, rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_each_rate_is_that_of_pytorch(schedule):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    found = schedule.rates(NAMES, optimizer())
    np.testing.assert_allclose(found, schedule.torch_rates(torch), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_a_state_goes_on_where_it_was(schedule):
    wanted = schedule.rates(NAMES, optimizer())
    half = len(schedule.steps) // 2
    first = optimizer()
    scheduler = schedule.made(NAMES, first)
    rates = schedule.stepped(scheduler, first, schedule.steps[:half])
    states = copy.deepcopy([scheduler.state_dict(), first.state_dict()])
    second = optimizer()
    again = schedule.made(NAMES, second)
    again.load_state_dict(states[0])
    second.load_state_dict(states[1])
    rates += schedule.stepped(again, second, schedule.steps[half:])[1:]
    np.testing.assert_allclose(rates, wanted, rtol=1e-12)
    assert again.get_last_lr() == [group["lr"] for group in second.param_groups]


def test_betas_take_the_place_of_a_momentum():
    adam = optimizer(optim.AdamW, betas=(0.9, 0.99))
    scheduler = lr_scheduler.OneCycleLR(adam, 0.1, 5, base_momentum=0.8, max_momentum=0.95)
    seen = []
    for _ in range(4):
        seen.append(adam.param_groups[1]["betas"])
        scheduler.step()
    assert seen[0] == (0.95, 0.99) and all(betas[1] == 0.99 for betas in seen)
    assert min(betas[0] for betas in seen) < 0.9


def test_a_schedule_of_a_user_defines_get_lr():
    class Halved(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    scheduler = Halved(optimizer())
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25, 0.1] and scheduler.last_epoch == 1
    with pytest.raises(NotImplementedError, match=r"^LRScheduler has no get_lr\(\): define it"):
        lr_scheduler.LRScheduler(optimizer())


def test_a_schedule_goes_on_after_an_epoch_with_the_first_rates():
    given = optimizer()
    with pytest.raises(KeyError, match="group 0 needs the setting 'initial_lr' to go on after"):
        lr_scheduler.StepLR(given, 2, last_epoch=3)
    for group in given.param_groups:
        group["initial_lr"] = 1.0
    scheduler = lr_scheduler.StepLR(given, 2, last_epoch=3)
    assert scheduler.last_epoch == 4 and scheduler.get_last_lr() == [0.05, 0.020000000000000004]
    weight = opyard.nn.Parameter(opyard.ones(1))
    kept = optim.SGD([{"params": [weight], "initial_lr": 0.3}], lr=0.1)
    assert kept.param_groups[0]["initial_lr"] == 0.3


def test_functions_are_left_out_of_a_state_and_objects_are_in_it():
    class Decay:
        def __init__(self, rate):
            self.rate = rate

        def __call__(self, epoch):
            return self.rate**epoch

    scheduler = lr_scheduler.LambdaLR(optimizer(), [Decay(0.5), lambda epoch: 1.0])
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [{"rate": 0.5}, None] and "optimizer" not in state
    other = lr_scheduler.LambdaLR(optimizer(), [Decay(0.1), lambda epoch: 1.0])
    other.load_state_dict(state)
    assert other.lr_lambdas[0].rate == 0.5


REFUSED = [
    (lambda o: lr_scheduler.StepLR(3, 1), TypeError, "StepLR: optimizer must be an Optimizer, not"),
    (
        lambda o: lr_scheduler.StepLR(o, 0),
        ValueError,
        "StepLR: step_size must be at least 1, not 0",
    ),
    (lambda o: lr_scheduler.StepLR(o), TypeError, "StepLR is missing step_size"),
    (lambda o: lr_scheduler.StepLR(o, 1, gama=2), TypeError, "StepLR has no argument 'gama'; 'gam"),
    (lambda o: lr_scheduler.MultiStepLR(o, 3), TypeError, "MultiStepLR: milestones must be a list"),
    (
        lambda o: lr_scheduler.ExponentialLR(o, "a"),
        TypeError,
        "ExponentialLR: gamma must be an int",
    ),
    (lambda o: lr_scheduler.ConstantLR(o, 2), ValueError, "ConstantLR: factor is from 0 to 1, not"),
    (lambda o: lr_scheduler.LinearLR(o, 0), ValueError, "LinearLR: start_factor is above 0 and at"),
    (lambda o: lr_scheduler.CosineAnnealingLR(o, 2.5), TypeError, "CosineAnnealingLR: T_max must"),
    (
        lambda o: lr_scheduler.LambdaLR(o, [abs]),
        ValueError,
        "LambdaLR: lr_lambda must be a function",
    ),
    (
        lambda o: lr_scheduler.OneCycleLR(o, 1.0),
        ValueError,
        "OneCycleLR: total_steps, or epochs and",
    ),
    (
        lambda o: lr_scheduler.OneCycleLR(o, 1.0, 3, anneal_strategy="sine"),
        ValueError,
        "OneCycleLR: anneal_strategy is cos or linear, not 'sine'",
    ),
    (
        lambda o: lr_scheduler.CyclicLR(o, [1.0, 2.0, 3.0], 2.0),
        ValueError,
        "CyclicLR: base_lr must be a number or 2, not 3",
    ),
    (
        lambda o: lr_scheduler.CyclicLR(o, 1.0, 2.0, mode="up"),
        ValueError,
        "CyclicLR: mode is one of",
    ),
    (
        lambda o: lr_scheduler.ReduceLROnPlateau(o, "low"),
        ValueError,
        "ReduceLROnPlateau: mode is min",
    ),
    (
        lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=1.0),
        ValueError,
        "ReduceLROnPlateau: factor",
    ),
    (
        lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 1)], [1]),
        ValueError,
        "SequentialLR: 1 schedulers need 0 milestones, not 1",
    ),
    (
        lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(o, 1)], optimizer()),
        ValueError,
        "ChainedScheduler: scheduler 0 is of another optimizer",
    ),
    (
        lambda o: lr_scheduler.StepLR(o, 1).load_state_dict(3),
        TypeError,
        r"StepLR.load_state_dict: a state is what state_dict\(\) gives, not an object of int",
    ),
]


@pytest.mark.parametrize(("make", "kind", "message"), REFUSED)
def test_what_a_schedule_cannot_be_made_with_is_refused(make, kind, message):
    with pytest.raises(kind, match=f"^{message}"):
        make(optimizer())


def test_a_step_after_the_last_is_refused_and_a_plain_adam_has_no_momentum_to_cycle():
    scheduler = lr_scheduler.OneCycleLR(optimizer(), 1.0, 2)
    scheduler.step()
    scheduler.step()
    with pytest.raises(ValueError, match="step 3 comes after the last one; total_steps is 2"):
        scheduler.step()

    class Plain(optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

    with pytest.raises(ValueError, match="CyclicLR: Plain has no momentum and no betas; give cyc"):
        lr_scheduler.CyclicLR(Plain([opyard.nn.Parameter(opyard.ones(1))]), 0.1, 0.2)


def test_a_measure_may_be_a_tensor():
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer(), patience=0)
    for loss in (opyard.tensor(1.0), np.float32(2.0), 3):
        scheduler.step(loss)
    assert scheduler.get_last_lr() == pytest.approx([0.005, 0.002])
    assert scheduler.best == 1.0 and math.isfinite(scheduler.best)
