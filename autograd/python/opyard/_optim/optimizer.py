"""Optimizer: the base class, which changes parameters by their gradients. See opyard.optim."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from .. import _C
from .._autograd.modes import enable_grad, no_grad
from .._core.keywords import names_keywords
from .._core.near_names import near_name
from .._core.ops import ops
from .._nn.keywords import name_arguments_of
from .._nn.module import Module, drop_gradients

# Settings that schedules of learning rates keep in groups.
_OF_SCHEDULES = {"initial_lr", "swa_lr", "max_lr", "min_lr", "max_momentum", "base_momentum"}


def _settings_of_all() -> set[str]:
    """The settings of all optimizers of this package that are loaded."""
    found: set[str] = set()
    kinds = [Optimizer]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind.__module__.partition(".")[0] == "opyard":
            found.update(inspect.signature(kind).parameters)
    return found


def _is_named(given: object) -> bool:
    return (
        isinstance(given, tuple)
        and len(given) == 2
        and isinstance(given[0], str)
        and isinstance(given[1], _C.Tensor)
    )


class Optimizer:
    """The base of optimizers: parameters in groups with settings, and a state for each parameter.

    `param_groups` is a list of dictionaries with "params" and the settings, which may be changed
    between steps: `optimizer.param_groups[0]["lr"] = 0.01`. `state` has, for each parameter that
    was changed, what the next step needs. A subclass defines _update(), for one parameter.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name_arguments_of(cls)

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: dict[_C.Tensor, dict[str, Any]] = {}
        self.param_groups: list[dict[str, Any]] = []
        self._known: set[_C.Tensor] = set()  # the parameters of the first so many groups
        self._counted = 0
        if isinstance(params, (_C.Tensor, dict)):
            raise TypeError(
                f"{type(self).__name__}: params is a list of tensors or of groups, not one "
                + ("dict" if isinstance(params, dict) else "Tensor")
            )
        given = _listed(self, params, "a list of tensors or of groups")
        if not given:
            raise ValueError(f"{type(self).__name__}: there is no parameter")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    @names_keywords
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds {"params": ..., setting: value}; settings that are not there are the defaults.

        Parameters may come with their names, as pairs: the group keeps these as "param_names". Keys
        that are no settings are kept for their owner, as a factor of layers. Raises ValueError for
        one that is nearly a setting or is another optimizer's, for a parameter that is no leaf or
        is in a group already, TypeError for what is no Tensor.
        """
        name = type(self).__name__
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(f"{name}: a group must be a dict with 'params', not {param_group!r}")
        for key in set(param_group) - {"params", "param_names", *_OF_SCHEDULES, *self.defaults}:
            meant = near_name(str(key), self.defaults)
            if meant or key in _settings_of_all():
                hint = f"; {meant!r} may be meant" if meant else ", which another optimizer has"
                raise ValueError(
                    f"{name} has no setting {key!r}{hint}. It has {', '.join(self.defaults)}"
                )
        params = param_group["params"]
        is_one = isinstance(params, _C.Tensor)
        params = [params] if is_one else _listed(self, params, "a Tensor or a list of tensors")
        if params and all(_is_named(each) for each in params):
            param_group = {**param_group, "param_names": [each for each, _ in params]}
            params = [each for _, each in params]
        if self._counted != len(self.param_groups):  # groups may be put into the list by hand
            self._known = set(self._parameters())
        fresh: set[_C.Tensor] = set()
        for each in params:
            if not isinstance(each, _C.Tensor):
                raise TypeError(
                    f"{name}: a parameter must be a Tensor, not an object of {type(each).__name__}"
                )
            if not each.is_leaf:
                raise ValueError(f"{name}: a parameter is a leaf, no result of a taped operator")
            if each in fresh or each in self._known:
                raise ValueError(f"{name}: a parameter of shape {list(each.shape)} is there twice")
            fresh.add(each)
        group = {**self.defaults, **param_group, "params": params}
        self._check(group)
        self.param_groups.append(group)
        self._known |= fresh
        self._counted = len(self.param_groups)

    def _check(self, group: dict[str, Any]) -> None:
        """Raises TypeError, ValueError for settings that cannot be."""

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _update(): define it")

    def step(self, closure: "Callable[[], Any] | None" = None) -> Any:
        """Changes each parameter that has a gradient. Returns what `closure` does, called first."""
        loss = None
        if closure is not None:
            if not callable(closure):
                raise TypeError(
                    f"{type(self).__name__}.step: closure must be a function that computes the "
                    f"loss, or None, not {closure!r}"
                )
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is not None:
                        self._update(parameter, gradient, group)
        return loss

    @names_keywords
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or sets them to zero."""
        drop_gradients(self._parameters(), set_to_none)

    def _parameters(self) -> Iterator[Any]:
        return (each for group in self.param_groups for each in group["params"])

    def state_dict(self) -> dict[str, Any]:
        """{"state": …, "param_groups": …}, with parameters by number, in order."""
        numbers = {id(each): number for number, each in enumerate(self._parameters())}
        groups = [
            {**group, "params": [numbers[id(each)] for each in group["params"]]}
            for group in self.param_groups
        ]
        state = {numbers[id(each)]: dict(entries) for each, entries in self.state.items()}
        return {"state": state, "param_groups": groups}

    @names_keywords
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes up a state of state_dict(); its tensors are copied.

        Changes nothing if it raises: TypeError for what state_dict() does not give, ValueError if
        its groups have other numbers of parameters, or a tensor another shape than its parameter.
        """
        groups, states = self._parts_of(state_dict)
        have = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in groups]
        if have != given:
            raise ValueError(
                f"{type(self).__name__}: the state is for groups of {given} parameters, but here "
                f"they have {have}"
            )
        numbers = [number for group in groups for number in group["params"]]
        parameters = dict(zip(numbers, self._parameters(), strict=True))
        state = {}
        for number, entries in states.items():
            if number not in parameters:
                raise ValueError(f"{type(self).__name__}: the state names no parameter {number!r}")
            parameter = parameters[number]
            state[parameter] = {key: self._taken(parameter, key, v) for key, v in entries.items()}
        merged = [
            {**own, **{key: value for key, value in new.items() if key != "params"}}
            for own, new in zip(self.param_groups, groups, strict=True)
        ]
        for group in merged:
            self._check(group)
        self.state, self.param_groups = state, merged

    def _parts_of(self, state_dict: object) -> tuple[list[dict[str, Any]], Mapping[Any, Any]]:
        """The groups and the states of a state. Raises TypeError."""
        refusal = f"{type(self).__name__}.load_state_dict: a state is what state_dict() gives, "
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"{refusal}not an object of {type(state_dict).__name__}")
        for key in ("param_groups", "state"):
            if key not in state_dict:
                has = ", ".join(map(repr, state_dict)) or "nothing"
                raise TypeError(f"{refusal}with 'param_groups' and 'state'; this one has {has}")
        groups, states = state_dict["param_groups"], state_dict["state"]
        if not isinstance(groups, (list, tuple)) or not all(map(_is_group, groups)):
            raise TypeError(f"{refusal}whose 'param_groups' are dicts with a list of 'params'")
        if not isinstance(states, Mapping) or not all(
            isinstance(entries, Mapping) for entries in states.values()
        ):
            raise TypeError(f"{refusal}whose 'state' is a dict of a dict for each parameter")
        return list(groups), states

    def _taken(self, parameter: _C.Tensor, key: str, given: Any) -> Any:
        value = given
        if not isinstance(value, _C.Tensor):
            value = value if value is None else _C.tensor_for(value)
        if not isinstance(value, _C.Tensor):
            return given
        if key == "step" and value.ndim == 0:  # PyTorch counts steps in a Tensor
            return int(value.item())
        wanted = self._shape_of(key, parameter)
        if list(value.shape) != wanted:
            whose = "its parameter has" if wanted == list(parameter.shape) else "it has here"
            raise ValueError(
                f"{type(self).__name__}: {key} of the state has the shape {list(value.shape)}, "
                f"but {whose} {wanted}"
            )
        return value.detach().clone()

    def _shape_of(self, key: str, parameter: _C.Tensor) -> list[int]:
        """The shape of an entry of a parameter's state."""
        return list(parameter.shape)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            shown = ", ".join(f"{k}={v!r}" for k, v in group.items() if k != "params")
            lines.append(f"  group {number}: {len(group['params'])} parameters, {shown}")
        return "\n".join([*lines, ")"])


def _listed(optimizer: Optimizer, params: object, accepted: str) -> list[Any]:
    """What an optimizer is given, as a list. Raises TypeError."""
    name, kind = type(optimizer).__name__, type(params).__name__
    if isinstance(params, Module):
        raise TypeError(f"{name}: params is {accepted}, not a {kind}; give its parameters()")
    if isinstance(params, str) or not isinstance(params, Iterable):
        what = "None" if params is None else f"an object of {kind}"
        raise TypeError(f"{name}: params is {accepted}, not {what}")
    return list(params)


def _is_group(group: object) -> bool:
    return isinstance(group, Mapping) and isinstance(group.get("params"), (list, tuple))


def check_numbers(optimizer: Optimizer, group: dict[str, Any], *names: str) -> None:
    """Raises TypeError for a setting that is no number."""
    for name in names:
        value = group[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            what = "None" if value is None else f"an object of {type(value).__name__}"
            raise TypeError(
                f"{type(optimizer).__name__}: {name} must be an int or a float, not {what}"
            )


def check_at_least_zero(optimizer: Optimizer, group: dict[str, Any], *names: str) -> None:
    """Raises TypeError for a setting that is no number, ValueError for one that is below 0."""
    check_numbers(optimizer, group, *names)
    for name in names:
        if not group[name] >= 0:
            raise ValueError(
                f"{type(optimizer).__name__}: {name} must be at least 0, not {group[name]!r}"
            )


def check_shares(optimizer: Optimizer, group: dict[str, Any], name: str) -> None:
    """Raises TypeError, ValueError for a setting that is not two numbers from 0 to below 1."""
    shares = group[name]
    refusal = (
        f"{type(optimizer).__name__}: {name} must be two numbers from 0 to below 1, not {shares!r}"
    )
    if not isinstance(shares, Collection) or not all(isinstance(b, (int, float)) for b in shares):
        raise TypeError(refusal)
    if len(shares) != 2 or not all(0 <= share < 1 for share in shares):
        raise ValueError(refusal)


def directed(parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> _C.Tensor:
    """The gradient to go down by: up with maximize, and with the share of the parameter that
    weight_decay adds, unless the weights decay beside it."""
    if group["maximize"]:
        gradient = -gradient
    decay = group["weight_decay"]
    if decay == 0:
        return gradient
    if group.get("decoupled_weight_decay", False):
        parameter.mul_(1 - group["lr"] * decay)
        return gradient
    return gradient.add(parameter, alpha=decay)


def pairs(*tensors: Any) -> Iterator[Any]:
    """Complex tensors as pairs of real numbers, on the same memory; others as they are."""
    for each in tensors:
        is_complex = isinstance(each, _C.Tensor) and each.dtype.is_complex
        yield ops.aten.view_as_real(each) if is_complex else each


def one_number(value: float, like: _C.Tensor) -> _C.Tensor:
    """A tensor of one number, as PyTorch keeps some between steps: of float32, which rounds it."""
    return ops.aten.full([], value, dtype=_C.float32, device=like.device)
