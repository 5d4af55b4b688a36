"""Schedules of learning rates: after each epoch they set `lr` of an optimizer's groups.

    scheduler = opyard.optim.lr_scheduler.StepLR(optimizer, step_size=30)
    for epoch in range(90):
        train_one_epoch()
        scheduler.step()

Each sets the new rate from the one that a group has, so that schedules may be combined.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._core.keywords import names_keywords
from .._nn.keywords import name_arguments_of
from .._nn.sizes import at_least, number
from .optimizer import Optimizer


def checked_optimizer(name: str, optimizer: object) -> Optimizer:
    """Raises TypeError for what is no Optimizer."""
    if not isinstance(optimizer, Optimizer):
        what = "a class" if isinstance(optimizer, type) else type(optimizer).__name__
        raise TypeError(f"{name}: optimizer must be an Optimizer, not {what}")
    return optimizer


class LRScheduler:
    """The base of schedules: a subclass defines get_lr(), which gives a rate for each group.

    It may read last_epoch, base_lrs, with which the groups began, and optimizer.param_groups. With
    another last_epoch than -1 a schedule goes on: the groups need the setting "initial_lr" then.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name_arguments_of(cls)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        name = type(self).__name__
        self.optimizer = checked_optimizer(name, optimizer)
        at_least(name, -1, last_epoch=last_epoch)
        for number_, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{name}: group {number_} needs the setting 'initial_lr' to go on after epoch "
                    f"{last_epoch}"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch, self._step_count = last_epoch, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self.step()

    def get_lr(self) -> list[float]:
        """The rate of each group for last_epoch."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr(): define it")

    def _now(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _set(self, rates: Iterable[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = self._now()

    def step(self) -> None:
        """Goes on by one epoch, and sets the rates."""
        self._step_count += 1
        self.last_epoch += 1
        self._set(self.get_lr())

    def _begin(self) -> None:
        """Begins at epoch 0, after another schedule of a SequentialLR."""
        self._step_count += 1
        self.last_epoch = 0
        self._set(self._first_lr())

    def _first_lr(self) -> list[float]:
        return self.get_lr()

    def get_last_lr(self) -> list[float]:
        """The rates that it set last, one for each group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() takes: all attributes but the optimizer."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    @names_keywords
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes up a state of state_dict(). Raises TypeError for what is no dict."""
        if not isinstance(state_dict, dict):
            raise TypeError(
                f"{type(self).__name__}.load_state_dict: a state is what state_dict() gives, not "
                f"an object of {type(state_dict).__name__}"
            )
        vars(self).update(state_dict)


class _ByFactor(LRScheduler):
    """The rate is multiplied by a factor, which depends on the epoch."""

    def _factor(self) -> float:
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        factor = self._factor()
        return [rate * factor for rate in self._now()]

    def _first_lr(self) -> list[float]:
        factor = self._factor()
        return [rate * factor for rate in self.base_lrs]


class StepLR(_ByFactor):
    """Multiplies by gamma after every step_size epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        at_least("StepLR", 1, step_size=step_size)
        self.step_size, self.gamma = step_size, number("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0


class MultiStepLR(_ByFactor):
    """Multiplies by gamma at each of the epochs `milestones`."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(milestones, Iterable):
            what = type(milestones).__name__
            raise TypeError(f"MultiStepLR: milestones must be a list of ints, not a {what}")
        self.milestones = Counter(milestones)
        for each in self.milestones:
            at_least("MultiStepLR", 0, milestones=each)
        self.gamma = number("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones[self.last_epoch]


class ExponentialLR(_ByFactor):
    """Multiplies by gamma after every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = number("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma if self.last_epoch else 1.0


class ConstantLR(_ByFactor):
    """Multiplies by `factor` for the first total_iters epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= number("ConstantLR", "factor", factor) <= 1:
            raise ValueError(f"ConstantLR: factor is from 0 to 1, not {factor}")
        at_least("ConstantLR", 0, total_iters=total_iters)
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1 / self.factor if self.last_epoch == self.total_iters else 1.0


class LinearLR(_ByFactor):
    """Multiplies by a factor that goes from start_factor to end_factor in total_iters epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < number("LinearLR", "start_factor", start_factor) <= 1:
            raise ValueError(f"LinearLR: start_factor is above 0 and at most 1, not {start_factor}")
        if not 0 <= number("LinearLR", "end_factor", end_factor) <= 1:
            raise ValueError(f"LinearLR: end_factor is from 0 to 1, not {end_factor}")
        at_least("LinearLR", 1, total_iters=total_iters)
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        epoch, start = self.last_epoch, self.start_factor
        if epoch == 0:
            return start
        if epoch > self.total_iters:
            return 1.0
        step = (self.end_factor - start) / self.total_iters
        return (start + epoch * step) / (start + (epoch - 1) * step)


class PolynomialLR(_ByFactor):
    """Multiplies by (1 - epoch / total_iters)^power, until it is 0."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        at_least("PolynomialLR", 1, total_iters=total_iters)
        self.total_iters, self.power = total_iters, number("PolynomialLR", "power", power)
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        epoch, total = self.last_epoch, self.total_iters
        if epoch == 0 or epoch > total:
            return 1.0
        return ((total - epoch) / (total - epoch + 1)) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Goes from the first rate to eta_min along half a cosine in T_max epochs, and back."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        at_least("CosineAnnealingLR", 1, T_max=T_max)
        self.T_max, self.eta_min = T_max, number("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, half, least = self.last_epoch, self.T_max, self.eta_min
        rates = self._now()
        if epoch == 0:
            return rates
        if self._step_count == 1:  # it goes on: the rates are those of no epoch of this run
            share = (1 + math.cos(math.pi * epoch / half)) / 2
            return [least + (base - least) * share for base in self.base_lrs]
        if (epoch - 1 - half) % (2 * half) == 0:  # the one before was eta_min: no ratio tells
            share = (1 - math.cos(math.pi / half)) / 2
            return [
                rate + (base - least) * share
                for rate, base in zip(rates, self.base_lrs, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * epoch / half)) / (
            1 + math.cos(math.pi * (epoch - 1) / half)
        )
        return [ratio * (rate - least) + least for rate in rates]

    def _first_lr(self) -> list[float]:
        return list(self.base_lrs)


Lambda = Callable[[int], float]


class _ByFunctions(LRScheduler):
    """Functions of the epoch: one for all groups, or one for each."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: "Lambda | list[Lambda]", last_epoch: int = -1
    ) -> None:
        name = type(self).__name__
        groups = len(checked_optimizer(name, optimizer).param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        self.lr_lambdas: list[Lambda] = list(lr_lambda) if several else [lr_lambda] * groups  # type: ignore[arg-type,list-item]
        if len(self.lr_lambdas) != groups or not all(map(callable, self.lr_lambdas)):
            raise ValueError(
                f"{name}: lr_lambda must be a function, or a list of {groups}, one for each group"
            )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """As of other schedules, but functions are left out; of objects that are called their
        attributes are in it."""
        states = [
            None if isinstance(each, type(checked_optimizer)) else dict(vars(each))
            for each in self.lr_lambdas
        ]
        return {**super().state_dict(), "lr_lambdas": states}

    @names_keywords
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes up a state of state_dict(); functions stay those of this schedule."""
        own = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = own
        for each, state in zip(own, state_dict.get("lr_lambdas", ()), strict=False):
            if state:
                vars(each).update(state)


class LambdaLR(_ByFunctions):
    """The first rate times what a function gives for the epoch."""

    def get_lr(self) -> list[float]:
        epoch = self.last_epoch
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(epoch) for base, function in pairs]


class MultiplicativeLR(_ByFunctions):
    """The last rate times what a function gives for the epoch."""

    def get_lr(self) -> list[float]:
        return self._first_lr() if self.last_epoch else self._now()

    def _first_lr(self) -> list[float]:
        pairs = zip(self._now(), self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in pairs]


class _Several(LRScheduler):
    """Schedules of one optimizer."""

    def __init__(self, optimizer: "Optimizer | None", schedulers: Sequence[LRScheduler]) -> None:
        name = type(self).__name__
        given = list(schedulers)
        if not given or not all(isinstance(each, LRScheduler) for each in given):
            raise ValueError(f"{name}: schedulers must be a list of schedulers, at least one")
        self.optimizer = given[0].optimizer if optimizer is None else optimizer
        for index, each in enumerate(given):
            if each.optimizer is not self.optimizer:
                raise ValueError(f"{name}: scheduler {index} is of another optimizer")
        self._schedulers = given

    def state_dict(self) -> dict[str, Any]:
        """As of other schedules, with the state of each one."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    @names_keywords
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes up a state of state_dict()."""
        own = self._schedulers
        super().load_state_dict(state_dict)
        self._schedulers = own
        for each, state in zip(own, state_dict["_schedulers"], strict=True):
            each.load_state_dict(state)


class ChainedScheduler(_Several):
    """All schedules at once: each goes on from the rate that the one before it set."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: "Optimizer | None" = None
    ) -> None:
        super().__init__(optimizer, schedulers)
        self._last_lr = self._now()

    def step(self) -> None:
        """Goes on by one epoch with all of them."""
        for each in self._schedulers:
            each.step()
        self._last_lr = self._now()


class SequentialLR(_Several):
    """One schedule after the other: each of the epochs `milestones` begins the next one."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        checked_optimizer("SequentialLR", optimizer)
        super().__init__(optimizer, schedulers)
        if len(milestones) != len(self._schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(self._schedulers)} schedulers need "
                f"{len(self._schedulers) - 1} milestones, not {len(milestones)}"
            )
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        # Each one has set its first rate: the first schedule begins anew.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for each in self._schedulers:
            each.last_epoch -= 1
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:
        """Goes on by one epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._begin()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()
