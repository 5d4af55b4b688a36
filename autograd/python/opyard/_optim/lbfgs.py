"""L-BFGS: steps by the curvature that the last gradients show, and a search along each.

[Direction] A step changes the gradient by y and the parameters by s. From the pairs of the last
steps the gradient is multiplied by an estimate of the inverse Hessian, which is never formed: once
backward and once forward through the pairs.

[Search] With "strong_wolfe" the step along a direction is searched: first outward, until two points
bracket one where the loss is low enough and its slope flat enough, then between the two, by the
lowest point of the cubic through their values and slopes.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _C
from .._autograd.modes import enable_grad, no_grad
from .._core.keywords import names_keywords
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, check_numbers

_ENOUGH = 1e-4  # of the slope at the start, by which the loss has to fall
_FLAT = 0.9  # of the slope at the start, to which it has to flatten
_LEAST_CURVATURE = 1e-10
_LISTS = ("old_dirs", "old_stps", "ro")


class LBFGS(Optimizer):
    """Many steps in one: step(closure) takes up to max_iter of them, and needs the closure.

    The closure drops the gradients, computes the loss, calls its backward() and returns it; it is
    called up to max_eval times, by default max_iter * 5 // 4. A step ends early once no element of
    the gradient is over tolerance_grad, or no element of the change, or the change of the loss,
    over tolerance_change. history_size is how many steps are remembered. line_search_fn is None,
    for steps of lr, or "strong_wolfe". All parameters are in one group.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: "int | None" = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: "str | None" = None,
    ) -> None:
        settings: dict[str, Any] = {"lr": lr, "max_iter": max_iter}
        settings["max_eval"] = max_iter * 5 // 4 if max_eval is None else max_eval
        settings |= {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change}
        settings |= {"history_size": history_size, "line_search_fn": line_search_fn}
        super().__init__(params, settings)

    @names_keywords
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As of every Optimizer. Raises ValueError for a second group."""
        if self.param_groups:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        super().add_param_group(param_group)

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "tolerance_grad", "tolerance_change")
        check_numbers(self, group, "max_iter", "max_eval", "history_size")
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ValueError(
                "LBFGS: line_search_fn must be None or 'strong_wolfe', not "
                f"{group['line_search_fn']!r}"
            )

    def _taken(self, parameter: _C.Tensor, key: str, given: Any) -> Any:
        """Entries are of all parameters as one row, and some are lists of such."""
        if isinstance(given, (list, tuple)) and key in _LISTS:
            return [self._taken(parameter, "", one) for one in given]
        value = given if isinstance(given, _C.Tensor) else _C.tensor_for(given)
        if not isinstance(value, _C.Tensor):
            return given
        return value.item() if value.ndim == 0 else value.detach().clone()

    def step(self, closure: "Callable[[], Any] | None" = None) -> Any:
        """Takes up to max_iter steps. Returns what `closure` returned first."""
        if closure is None:
            raise TypeError(
                "LBFGS: step() needs a closure, a function that computes the loss again, calls its "
                "backward() and returns it"
            )
        group = self.param_groups[0]
        with no_grad():
            return _Step(self.state, group, closure).run()


@dataclasses.dataclass
class _Point:
    """A place along a direction, and what the loss is there."""

    at: float
    loss: float
    gradient: _C.Tensor
    slope: float


class _Step:
    """One call of step()."""

    def __init__(self, states: Any, group: Mapping[str, Any], closure: Callable) -> None:
        self._group, self._closure = group, closure
        self._params: list[_C.Tensor] = group["params"]
        self._state = states.setdefault(self._params[0], {})
        self._state.setdefault("func_evals", 0)
        self._state.setdefault("n_iter", 0)
        self._evaluations = 0

    def run(self) -> Any:
        state, group = self._state, self._group
        first = self._evaluate()
        loss, gradient = float(first), self._gradient()
        if self._is_flat(gradient):
            return first
        direction, length = state.get("d"), state.get("t")
        former, former_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        for number in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = -gradient
                state |= {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
                length = min(1.0, 1.0 / gradient.abs().sum().item()) * group["lr"]
            else:
                self._remember(gradient - former, direction * length)
                direction = self._direction(gradient)
                length = group["lr"]
            former, former_loss = gradient.clone(), loss
            slope = _dot(gradient, direction)
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                start = _Point(0.0, loss, gradient, slope)
                begin = [parameter.clone() for parameter in self._params]
                found = self._search(begin, direction, start).run(length)
                loss, gradient, length = found.loss, found.gradient, found.at
                self._move(direction, length)
            else:
                self._move(direction, length)
                if number != group["max_iter"]:
                    loss, gradient = float(self._evaluate()), self._gradient()
            if self._is_done(loss, former_loss, gradient, direction, length):
                break
        state |= {"d": direction, "t": length}
        state |= {"prev_flat_grad": former, "prev_loss": former_loss}
        return first

    def _is_done(
        self,
        loss: float,
        former: "float | None",
        gradient: _C.Tensor,
        direction: _C.Tensor,
        length: float,
    ) -> bool:
        group = self._group
        least = group["tolerance_change"]
        return (
            self._evaluations >= group["max_eval"]
            or self._is_flat(gradient)
            or (direction * length).abs().max().item() <= least
            or (former is not None and abs(loss - former) < least)
        )

    def _is_flat(self, gradient: _C.Tensor) -> bool:
        return bool(gradient.abs().max().item() <= self._group["tolerance_grad"])

    # ---- the loss, and all parameters as one row

    def _evaluate(self) -> Any:
        self._evaluations += 1
        self._state["func_evals"] += 1
        with enable_grad():
            return self._closure()

    def _gradient(self) -> _C.Tensor:
        rows = []
        for parameter in self._params:
            gradient = parameter.grad
            if gradient is None:
                gradient = ops.aten.zeros_like(parameter)
            if gradient.dtype.is_complex:
                gradient = ops.aten.view_as_real(gradient)
            rows.append(gradient.reshape([-1]))
        return ops.aten.cat(rows, 0)

    def _move(self, direction: _C.Tensor, length: float) -> None:
        at = 0
        for parameter in self._params:
            own = ops.aten.view_as_real(parameter) if parameter.dtype.is_complex else parameter
            count = own.numel()
            own.add_(direction[at : at + count].reshape(list(own.shape)), alpha=length)
            at += count

    def _search(self, begin: "list[_C.Tensor]", direction: _C.Tensor, start: _Point) -> "_Search":
        """It looks at as many points as are left of max_eval."""
        left = self._group["max_eval"] - self._evaluations
        return _Search(self._look_from(begin, direction), direction, start, left)

    def _look_from(self, begin: "list[_C.Tensor]", direction: _C.Tensor) -> Callable:
        def look(at: float) -> _Point:
            self._move(direction, at)
            loss, gradient = float(self._evaluate()), self._gradient()
            for parameter, value in zip(self._params, begin, strict=True):
                parameter.copy_(value)
            return _Point(at, loss, gradient, _dot(gradient, direction))

        return look

    # ---- see [Direction]

    def _remember(self, change: _C.Tensor, step: _C.Tensor) -> None:
        state = self._state
        curvature = _dot(change, step)
        if curvature <= _LEAST_CURVATURE:
            return
        if len(state["old_dirs"]) == self._group["history_size"]:
            for name in _LISTS:
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(step)
        state["ro"].append(1.0 / curvature)
        state["H_diag"] = curvature / _dot(change, change)

    def _direction(self, gradient: _C.Tensor) -> _C.Tensor:
        state = self._state
        known = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
        row, weights = -gradient, []
        for change, step, inverse in reversed(known):
            weights.append(_dot(step, row) * inverse)
            row.add_(change, alpha=-weights[-1])
        row.mul_(state["H_diag"])
        for (change, step, inverse), weight in zip(known, reversed(weights), strict=True):
            row.add_(step, alpha=weight - _dot(change, row) * inverse)
        return row


def _dot(a: _C.Tensor, b: _C.Tensor) -> float:
    return float(ops.aten.dot(a, b).item())


class _Search:
    """See [Search]."""

    def __init__(self, look: Callable, direction: _C.Tensor, start: _Point, most: int) -> None:
        self._look, self._start, self._most = look, start, most
        self._size = direction.abs().max().item()
        self._count = 0

    def _is_too_high(self, point: _Point) -> bool:
        start = self._start
        return point.loss > start.loss + _ENOUGH * point.at * start.slope

    def _is_flat(self, point: _Point) -> bool:
        return abs(point.slope) <= -_FLAT * self._start.slope

    def run(self, length: float) -> _Point:
        point, former = self._look(length), self._start
        while self._count < self._most:
            rises = self._count > 1 and point.loss >= former.loss
            if self._is_too_high(point) or rises:
                return self._between(former, point)
            if self._is_flat(point):
                return point
            if point.slope >= 0:
                return self._between(former, point)
            bounds = point.at + 0.01 * (point.at - former.at), point.at * 10
            following = _lowest(former, point, bounds)
            former, point = point, self._look(following)
            self._count += 1
        return self._between(self._start, point)

    def _between(self, first: _Point, second: _Point) -> _Point:
        ends = [first, second]
        low = 0 if first.loss <= second.loss else 1
        was_near_an_end = False
        while self._count < self._most:
            if abs(second.at - first.at) * self._size < 1e-9:
                break
            left, right = sorted((first.at, second.at))
            at, near = _lowest(first, second, (left, right)), 0.1 * (right - left)
            if min(right - at, at - left) >= near:
                was_near_an_end = False
            elif was_near_an_end or at >= right or at <= left:
                at = right - near if abs(at - right) < abs(at - left) else left + near
                was_near_an_end = False
            else:
                was_near_an_end = True
            point = self._look(at)
            self._count += 1
            if self._is_too_high(point) or point.loss >= ends[low].loss:
                ends[1 - low] = point
                low = 0 if ends[0].loss <= ends[1].loss else 1
            else:
                is_flat = self._is_flat(point)
                if not is_flat and point.slope * (ends[1 - low].at - ends[low].at) >= 0:
                    ends[1 - low] = ends[low]
                ends[low] = point
                if is_flat:
                    break
            first, second = ends
        return ends[low]


def _lowest(first: _Point, second: _Point, bounds: "tuple[float, float]") -> float:
    """The lowest point of the cubic through two points with their slopes, within bounds."""
    if second.at < first.at:
        first, second = second, first
    lowest, highest = bounds
    width = second.at - first.at
    mean = first.slope + second.slope - 3 * (first.loss - second.loss) / (first.at - second.at)
    squared = mean**2 - first.slope * second.slope
    if not squared >= 0:
        return (lowest + highest) / 2
    root = math.sqrt(squared)
    share = (second.slope + root - mean) / (second.slope - first.slope + 2 * root)
    return min(max(second.at - width * share, lowest), highest)
