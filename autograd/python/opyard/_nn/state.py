"""The state of modules: parameters and buffers by name, out of a module and into it, with hooks."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from .. import _C
from .._autograd.modes import no_grad
from .._core.keywords import names_keywords
from .hooks import HookHandle
from .parameter import Parameter
from .sizes import truth

_EXTRA = "_extra_state"  # the name of what get_extra_state() gives
_NOT_CALLED = {
    "_save_to_state_dict": "register_state_dict_post_hook() or get_extra_state()",
    "_load_from_state_dict": "register_load_state_dict_pre_hook() or set_extra_state()",
}


class IncompatibleKeys(NamedTuple):
    """What a state dict has too little and too much of."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class _StateHook(NamedTuple):
    kind: str
    function: Callable[..., Any]


class _Place(NamedTuple):
    """Where a tensor of the state is: in a dictionary of a module, by a name there."""

    full: str
    own: dict[str, Any]
    name: str

    @property
    def tensor(self) -> _C.Tensor:
        found: _C.Tensor = self.own[self.name]
        return found


class HasState:
    """What a module has for its state."""

    _parameters: "dict[str, Any]"
    _buffers: "dict[str, Any]"
    _modules: "dict[str, Any]"
    _not_saved: set[str]
    # What a state may lack, since those of older files do: it stays as it is.
    _may_lack: frozenset[str] = frozenset()
    _state_hooks: "dict[int, _StateHook]"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _NOT_CALLED.keys() & vars(cls).keys():
            warnings.warn(
                f"{cls.__name__}.{name} is called by nothing here; use {_NOT_CALLED[name]}",
                UserWarning,
                stacklevel=3,
            )

    def get_extra_state(self) -> Any:
        """What else belongs to the state, under the name "_extra_state": define it, and
        set_extra_state(), in a class that has more than tensors in attributes."""
        self._not_defined("get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Takes what get_extra_state() gave."""
        self._not_defined("set_extra_state")

    def _not_defined(self, name: str) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__} has no {name}(): define get_extra_state() and set_extra_state()"
        )

    def _defines(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(HasState, name)

    # Hooks.

    def _state_hooks_of(self, kind: str) -> list[Callable[..., Any]]:
        return [hook.function for hook in list(self._state_hooks.values()) if hook.kind == kind]

    def _add_state_hook(self, kind: str, hook: Callable[..., Any]) -> HookHandle:
        if not callable(hook):
            raise TypeError(
                f"register_{kind}: a hook must be a function, not an object of "
                f"{type(hook).__name__}"
            )
        return HookHandle(self._state_hooks, _StateHook(kind, hook))

    def _run_post_hook(self, method: str, hook: Callable[..., Any], *given: Any) -> None:
        if hook(self, *given) is not None:
            raise RuntimeError(
                f"{method}: a hook of {type(self).__name__} changes what it is given, and returns "
                "None"
            )

    @names_keywords
    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls hook(module, prefix, keep_vars) before state_dict() asks this module."""
        return self._add_state_hook("state_dict_pre_hook", hook)

    @names_keywords
    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls hook(module, state_dict, prefix, local_metadata) behind state_dict() of this
        module: it may change the dict in place. The metadata are an empty dict."""
        return self._add_state_hook("state_dict_post_hook", hook)

    @names_keywords
    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs) before load_state_dict() looks at the state: the hook may
        change the dict, which is a copy, and adds to the lists what is to be refused."""
        return self._add_state_hook("load_state_dict_pre_hook", hook)

    @names_keywords
    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls hook(module, incompatible_keys) once the state is copied; what it takes off the
        two lists is not refused. Modules of which others are parts come last."""
        return self._add_state_hook("load_state_dict_post_hook", hook)

    # Out of the module.

    @names_keywords
    def state_dict(
        self,
        *,
        destination: "dict[str, Any] | None" = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by name, on the memory that they have.

        They are detached unless `keep_vars` is True. A tensor that two names lead to is there
        under both. With `destination` they are added to that dict, which is returned.
        """
        state: dict[str, Any] = {} if destination is None else destination
        for hook in self._state_hooks_of("state_dict_pre_hook"):
            hook(self, prefix, keep_vars)
        for place in self._places(prefix):
            state[place.full] = place.tensor if keep_vars else place.tensor.detach()
        if self._defines("get_extra_state"):
            state[prefix + _EXTRA] = self.get_extra_state()
        for name, part in self._modules.items():
            if part is not None:
                part.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_hooks_of("state_dict_post_hook"):
            self._run_post_hook("state_dict", hook, state, prefix, {})
        return state

    def _places(self, prefix: str) -> Iterator[_Place]:
        """The tensors of this module itself that belong to its state."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield _Place(prefix + name, self._parameters, name)
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._not_saved:
                yield _Place(prefix + name, self._buffers, name)

    def _holders(self, prefix: str) -> "Iterator[tuple[str, HasState]]":
        """The prefixes of all names that lead to a module, with the module."""
        yield prefix, self
        for name, part in self._modules.items():
            if part is not None:
                yield from part._holders(f"{prefix}{name}.")

    # Into the module.

    @names_keywords
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies a state into the parameters and buffers; their dtype and device stay.

        Arrays of other libraries are taken, too: those of a state_dict() of PyTorch, say. With
        `assign` the module gets the tensors of the state themselves, with their dtype and device,
        as new parameters: make the optimizer afterwards. Raises RuntimeError, and changes nothing,
        for tensors of other shapes and, if `strict`, for names that are missing or unknown; without
        `strict` these are returned. Where hooks are registered that see what is missing, the state
        is copied before names are refused.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                "load_state_dict: a state must be a dict, not an object of "
                f"{type(state_dict).__name__}"
            )
        truth("load_state_dict", "strict", strict)
        truth("load_state_dict", "assign", assign)
        given = dict(state_dict)
        keys = IncompatibleKeys([], [])
        faults: list[str] = []
        holders = list(self._holders(""))
        for prefix, holder in holders:
            for hook in holder._state_hooks_of("load_state_dict_pre_hook"):
                hook(holder, given, prefix, {}, strict, *keys, faults)
        places = [place for prefix, holder in holders for place in holder._places(prefix)]
        extras = {
            prefix + _EXTRA: holder
            for prefix, holder in holders
            if holder._defines("set_extra_state")
        }
        wanted = {place.full: None for place in places} | dict.fromkeys(extras)
        spared = {prefix + name for prefix, holder in holders for name in holder._may_lack}
        keys.missing_keys.extend(
            name for name in wanted if name not in given and name not in spared
        )
        keys.unexpected_keys.extend(name for name in given if name not in wanted)
        pairs = [(at, _as_tensor(given[at.full])) for at in places if at.full in given]
        faults += [fault for pair in pairs if (fault := _misfit(*pair))]
        posts = [
            (holder, hook)
            for _, holder in reversed(holders)
            for hook in holder._state_hooks_of("load_state_dict_post_hook")
        ]
        if faults or not posts:
            self._refuse(faults, keys, strict)
        (_assign if assign else _copy)(pairs)
        for name, holder in extras.items():
            if name in given:
                holder.set_extra_state(given[name])
        for holder, hook in posts:
            holder._run_post_hook("load_state_dict", hook, keys)
        self._refuse(faults, keys, strict)
        return keys

    def _refuse(self, faults: list[str], keys: IncompatibleKeys, strict: bool) -> None:
        """Raises RuntimeError if there is something to refuse."""
        faults = list(faults)
        if strict and keys.missing_keys:
            faults.append(f"missing: {', '.join(map(str, keys.missing_keys))}")
        if strict and keys.unexpected_keys:
            faults.append(f"unknown here: {', '.join(map(str, keys.unexpected_keys))}")
        if faults:
            raise RuntimeError(
                f"load_state_dict: the state does not fit this {type(self).__name__}; "
                + "; ".join(faults)
            )


def _as_tensor(given: Any) -> Any:
    """An array as the Tensor on its memory; anything else as it is."""
    if given is None or isinstance(given, _C.Tensor):
        return given
    made = _C.tensor_for(given)
    return given if made is None else made


def _misfit(place: _Place, given: object) -> str:
    """Why a tensor of a state does not fit, or nothing."""
    if not isinstance(given, _C.Tensor):
        return f"{place.full} is a {type(given).__name__}, not a Tensor"
    if given.shape != place.tensor.shape:
        return f"{place.full} has the shape {list(given.shape)}, not {list(place.tensor.shape)}"
    return ""


def _copy(pairs: "list[tuple[_Place, _C.Tensor]]") -> None:
    with no_grad():
        for place, given in pairs:
            if place.tensor.device.type == "meta" and given.device.type != "meta":
                warnings.warn(
                    f"load_state_dict: {place.full} has no memory (it is on meta), and stays so; "
                    "load with assign=True, or call to_empty() before",
                    UserWarning,
                    stacklevel=4,
                )
            place.tensor.copy_(given)


def _assign(pairs: "list[tuple[_Place, _C.Tensor]]") -> None:
    """A tensor that two names lead to stays one: what the later name brings, as in _copy()."""
    made: dict[int, Any] = {}
    before = [place.tensor for place, _ in pairs]
    for (_, given), tensor in zip(pairs, before, strict=True):
        if isinstance(tensor, Parameter):
            given = given if isinstance(given, Parameter) else Parameter(given.detach())
            given.requires_grad_(tensor.requires_grad)
        made[id(tensor)] = given
    for (place, _), tensor in zip(pairs, before, strict=True):
        place.own[place.name] = made[id(tensor)]
