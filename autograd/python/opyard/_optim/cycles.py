"""Schedules in cycles, those that also set a momentum, and one that looks at a measure."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from .._nn.sizes import at_least, number, truth
from .optimizer import Optimizer
from .schedules import LRScheduler, checked_optimizer

Rates = float | Sequence[float]


def _for_groups(name: str, what: str, given: Any, optimizer: Optimizer) -> list[float]:
    """One number for each group; one alone is that of all. Raises TypeError, ValueError."""
    groups = len(optimizer.param_groups)
    several = list(given) if isinstance(given, (list, tuple)) else [given] * groups
    if len(several) != groups:
        raise ValueError(f"{name}: {what} must be a number or {groups}, not {len(several)}")
    return [number(name, what, each) for each in several]


def _with_momentum(name: str, optimizer: Optimizer) -> "tuple[str, ...]":
    """The setting of an optimizer that is its momentum. Raises ValueError if it has none."""
    for setting in ("momentum", "betas"):
        if setting in optimizer.defaults:
            return (setting,)
    raise ValueError(
        f"{name}: {type(optimizer).__name__} has no momentum and no betas; give "
        "cycle_momentum=False"
    )


def _set_momentum(group: dict[str, Any], setting: str, value: float) -> None:
    group[setting] = value if setting == "momentum" else (value, *group["betas"][1:])


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


def _line(start: float, end: float, share: float) -> float:
    return (end - start) * share + start


_BETWEEN = {"cos": _cosine, "linear": _line}


def _between(name: str, strategy: str) -> Callable[[float, float, float], float]:
    if strategy not in _BETWEEN:
        raise ValueError(f"{name}: anneal_strategy is cos or linear, not {strategy!r}")
    return _BETWEEN[strategy]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Goes from the first rate to eta_min along half a cosine in T_0 epochs, then begins anew; each
    time takes T_mult times as long. step(epoch) sets the rate of an epoch, also of a part of one.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        name = "CosineAnnealingWarmRestarts"
        at_least(name, 1, T_0=T_0, T_mult=T_mult)
        self.T_0, self.T_i, self.T_mult = T_0, T_0, T_mult
        self.eta_min = number(name, "eta_min", eta_min)
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: "float | None" = None) -> None:
        """Goes on by one epoch, or to the epoch that is given, and sets the rates."""
        self._step_count += 1
        if epoch is None:
            epoch = self.last_epoch + 1 if self.last_epoch >= 0 else 0
            self.T_cur = self.T_cur + 1 if self.last_epoch >= 0 else 0
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if not number("CosineAnnealingWarmRestarts", "epoch", epoch) >= 0:
                raise ValueError(
                    f"CosineAnnealingWarmRestarts: epoch must be at least 0, not {epoch}"
                )
            self.T_i, self.T_cur = self.T_0, epoch
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())

    def _begin(self) -> None:
        self.step(0)


class OneCycleLR(LRScheduler):
    """Goes from max_lr / div_factor up to max_lr, and down to 1 / final_div_factor of the first, in
    total_steps steps, or in epochs * steps_per_epoch.

    pct_start is the share of the way up. The momentum goes the other way, between base_momentum and
    max_momentum. With three_phase the way down is as long as the way up, and then to the last rate.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: "Rates",
        total_steps: "int | None" = None,
        epochs: "int | None" = None,
        steps_per_epoch: "int | None" = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: "Rates" = 0.85,
        max_momentum: "Rates" = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        name = "OneCycleLR"
        checked_optimizer(name, optimizer)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(
                    f"{name}: total_steps, or epochs and steps_per_epoch, must be given"
                )
            at_least(name, 1, epochs=epochs, steps_per_epoch=steps_per_epoch)
            total_steps = epochs * steps_per_epoch
        at_least(name, 1, total_steps=total_steps)
        if not 0 <= number(name, "pct_start", pct_start) <= 1:
            raise ValueError(f"{name}: pct_start is a share, from 0 to 1, not {pct_start}")
        self.total_steps, self.anneal_strategy = total_steps, anneal_strategy
        _between(name, anneal_strategy)
        self._phases = _phases(total_steps, pct_start, truth(name, "three_phase", three_phase))
        highest = _for_groups(name, "max_lr", max_lr, optimizer)
        self.cycle_momentum = truth(name, "cycle_momentum", cycle_momentum)
        self._momenta = _with_momentum(name, optimizer) if cycle_momentum else ()
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
            if self._momenta:
                lows = _for_groups(name, "base_momentum", base_momentum, optimizer)
                highs = _for_groups(name, "max_momentum", max_momentum, optimizer)
                for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
                    _set_momentum(group, self._momenta[0], high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"OneCycleLR: step {step} comes after the last one; total_steps is "
                f"{self.total_steps}"
            )
        last = len(self._phases) - 1
        phase = next(i for i, (end, *_) in enumerate(self._phases) if step <= end or i == last)
        start = self._phases[phase - 1][0] if phase else 0.0
        end, *ends = self._phases[phase]
        share = (step - start) / (end - start)
        between, rates = _BETWEEN[self.anneal_strategy], []
        for group in self.optimizer.param_groups:
            rates.append(between(group[ends[0]], group[ends[1]], share))
            for setting in self._momenta:
                momentum = between(group[ends[2]], group[ends[3]], share)
                _set_momentum(group, setting, momentum)
        return rates


def _phases(total: int, share: float, three: bool) -> "list[list[Any]]":
    """The last step of each phase, and the settings that it goes from and to."""
    up = ["initial_lr", "max_lr", "max_momentum", "base_momentum"]
    if not three:
        down = ["max_lr", "min_lr", "base_momentum", "max_momentum"]
        return [[share * total - 1, *up], [total - 1, *down]]
    back = ["max_lr", "initial_lr", "base_momentum", "max_momentum"]
    rest = ["initial_lr", "min_lr", "max_momentum", "max_momentum"]
    return [[share * total - 1, *up], [2 * share * total - 2, *back], [total - 1, *rest]]


class CyclicLR(LRScheduler):
    """Goes up from base_lr to max_lr in step_size_up steps, and down in step_size_down, again and
    again; the momentum goes the other way.

    The height is halved each time with mode "triangular2", and times gamma^step with "exp_range";
    scale_fn is a function of the cycle, or with scale_mode "iterations" of the step, instead.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: "Rates",
        max_lr: "Rates",
        step_size_up: int = 2000,
        step_size_down: "int | None" = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: "Callable[[float], float] | None" = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: "Rates" = 0.8,
        max_momentum: "Rates" = 0.9,
        last_epoch: int = -1,
    ) -> None:
        name = "CyclicLR"
        checked_optimizer(name, optimizer)
        lows = _for_groups(name, "base_lr", base_lr, optimizer)
        self.max_lrs = _for_groups(name, "max_lr", max_lr, optimizer)
        down = step_size_up if step_size_down is None else step_size_down
        at_least(name, 1, step_size_up=step_size_up, step_size_down=down)
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(
                f"{name}: mode is one of triangular, triangular2, exp_range, not {mode!r}"
            )
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"{name}: scale_mode is cycle or iterations, not {scale_mode!r}")
        self.mode, self.gamma = mode, number(name, "gamma", gamma)
        self._scale_fn, self.scale_mode = scale_fn, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = truth(name, "cycle_momentum", cycle_momentum)
        self._momenta = _with_momentum(name, optimizer) if cycle_momentum else ()
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, lows, strict=True):
                group["lr"] = rate
        if self._momenta:
            self.base_momentums = _for_groups(name, "base_momentum", base_momentum, optimizer)
            self.max_momentums = _for_groups(name, "max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                pairs = zip(optimizer.param_groups, self.max_momentums, strict=True)
                for group, high in pairs:
                    _set_momentum(group, self._momenta[0], high)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def _scale(self, cycle: float) -> float:
        if self._scale_fn is not None:
            return self._scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.mode == "exp_range":
            return self.gamma**self.last_epoch
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (cycle - 1)

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        at = 1.0 + self.last_epoch / self.total_size - cycle
        share = at / self.step_ratio if at <= self.step_ratio else (at - 1) / (self.step_ratio - 1)
        height = share * self._scale(cycle)
        for setting in self._momenta:
            ends = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, ends, strict=True):
                _set_momentum(group, setting, high - (high - low) * height)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """As of other schedules; a scale_fn is left out."""
        return {key: value for key, value in super().state_dict().items() if key != "_scale_fn"}


class ReduceLROnPlateau(LRScheduler):
    """Multiplies by `factor` when a measure was not better for more than `patience` epochs.

    step(measure) is told it: a loss, or with mode "max" what shall grow. Better is by the share
    `threshold` of the best, or by that much with threshold_mode "abs". After a change `cooldown`
    epochs are not counted; rates stay at min_lr, and are not changed by less than eps.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: "Rates" = 0,
        eps: float = 1e-8,
    ) -> None:
        name = "ReduceLROnPlateau"
        self.optimizer = checked_optimizer(name, optimizer)
        if not 0 <= number(name, "factor", factor) < 1:
            raise ValueError(f"{name}: factor is from 0 to below 1, not {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"{name}: mode is min or max, not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"{name}: threshold_mode is rel or abs, not {threshold_mode!r}")
        at_least(name, 0, patience=patience, cooldown=cooldown)
        self.factor, self.mode, self.patience, self.cooldown = factor, mode, patience, cooldown
        self.threshold = number(name, "threshold", threshold)
        self.threshold_mode, self.eps = threshold_mode, number(name, "eps", eps)
        self.min_lrs = _for_groups(name, "min_lr", min_lr, optimizer)
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._now()

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Goes on by one epoch, of which the measure is a number or a Tensor of one element."""
        measure = float(metrics)
        self.last_epoch += 1
        if self._is_better(measure):
            self.best, self.num_bad_epochs = measure, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._now()

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate

    def _is_better(self, measure: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "abs":
            return sign * measure < sign * self.best - self.threshold
        # An infinite best is worse than any measure.
        return sign * measure < sign * self.best * (1 - sign * self.threshold)


class SWALR(LRScheduler):
    """Goes from the last rate to swa_lr in anneal_epochs epochs, and stays there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: "Rates",
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        checked_optimizer("SWALR", optimizer)
        at_least("SWALR", 0, anneal_epochs=anneal_epochs)
        _between("SWALR", anneal_strategy)
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        rates = _for_groups("SWALR", "swa_lr", swa_lr, optimizer)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        along = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * along)) / 2 if self.anneal_strategy == "cos" else along

    def get_lr(self) -> list[float]:
        # While it trains the steps are counted from 1: the first is that of the constructor.
        step = self._step_count - (0 if self.anneal_epochs == 0 else 1)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target, rate = group["swa_lr"], group["lr"]
            first = target if before == 1 else (rate - before * target) / (1 - before)
            rates.append(target * now + first * (1 - now))
        return rates
