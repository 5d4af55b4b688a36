"""Calls of layers: arrays are taken as Tensors, and an error says in which layer it occurred.

Module.__call__ reads both. Which arguments are Tensors is read off the annotations of forward(),
when its class is made; a call with Tensors alone then asks for nothing here.
"""

import contextlib
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _C
from .._core.keywords import refuse_keyword

if TYPE_CHECKING:
    from .module import Module

# What is accepted for each parameter of a forward(), in order; "" for one that is no Tensor.
Takes = tuple[tuple[str, str], ...]

_TENSOR = "a Tensor or an array"
_TENSOR_OR_NONE = "a Tensor, an array or None"
_TENSOR_OR_NUMBER = "a Tensor, an array or a number"
_ACCEPTED = {"_C.Tensor | None": _TENSOR_OR_NONE, "_C.Tensor | float": _TENSOR_OR_NUMBER}


def _accepted(annotation: object) -> str:
    return _TENSOR if annotation is _C.Tensor else _ACCEPTED.get(str(annotation), "")


def name_forward_of(cls: type) -> None:
    """Gives a layer that has its forward() of a private class of this package one of its own, which
    errors of calls name: ReLU.forward(), not that of what several layers have in common."""
    forward = getattr(cls, "forward", None)
    is_ours = cls.__module__.partition(".")[0] == "opyard" and not cls.__name__.startswith("_")
    if not is_ours or "forward" in vars(cls) or not isinstance(forward, types.FunctionType):
        return
    if forward.__qualname__.startswith("_"):
        parts = forward.__code__, forward.__globals__, "forward", forward.__defaults__
        own = types.FunctionType(*parts, forward.__closure__)
        own.__qualname__ = f"{cls.__name__}.forward"
        own.__annotations__ = forward.__annotations__
        own.__kwdefaults__ = forward.__kwdefaults__
        cls.forward = own  # type: ignore[attr-defined]


def tensors_taken(forward: Callable[..., Any]) -> Takes:
    """What a forward() of this package takes; nothing for one of a user, which may take anything,
    and for one without a parameter that is a Tensor."""
    package = getattr(forward, "__globals__", {}).get("__name__", "").partition(".")[0]
    if package != "opyard":
        return ()
    code, annotations = forward.__code__, forward.__annotations__
    names = code.co_varnames[1 : code.co_argcount]
    takes = tuple((name, _accepted(annotations.get(name))) for name in names)
    return takes if any(accepted for _, accepted in takes) else ()


def as_tensors(
    module: "Module", args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with Tensors on the memory of arrays. Raises TypeError for anything else."""
    if "forward" in vars(module):  # of a user, who may let it take anything
        return args, kwargs
    takes, layer = module._forward_takes, type(module).__name__
    if kwargs:
        kwargs = _by_own_names(takes, kwargs)
    taken = [_as_tensor(layer, *each, given) for each, given in zip(takes, args, strict=False)]
    accepted = dict(takes)
    named = {key: _as_tensor(layer, key, accepted.get(key, ""), kwargs[key]) for key in kwargs}
    return (*taken, *args[len(takes) :]), named


# What forward() of PyTorch's layers calls its arguments, and this package's.
_OF_PYTORCH = {
    "input": ("x", "indices"),
    "log_input": ("x",),
    "input1": ("x1",),
    "input2": ("x2",),
}


def _by_own_names(takes: Takes, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, where PyTorch's name is one that forward() has another for."""
    known = {name for name, _ in takes}
    own = {}
    for name, value in kwargs.items():
        others = () if name in known else _OF_PYTORCH.get(name, ())
        own[next((each for each in others if each in known), name)] = value
    return own if len(own) == len(kwargs) else kwargs


def _as_tensor(layer: str, name: str, accepted: str, given: Any) -> Any:
    if not accepted or isinstance(given, _C.Tensor):
        return given
    if given is None and accepted == _TENSOR_OR_NONE:
        return given
    if accepted == _TENSOR_OR_NUMBER and isinstance(given, (int, float)):
        return given
    made = _C.tensor_for(given)
    if made is not None:
        return made
    kind = type(given)
    what = "None" if given is None else f"an object of {kind.__name__}"
    is_data = isinstance(given, (list, tuple)) or hasattr(kind, "__float__")
    hint = f"; opyard.tensor({name}) makes a Tensor of numbers" if is_data else ""
    raise TypeError(f"{layer}: {name} must be {accepted}, not {what}{hint}")


def refused_arguments(
    module: "Module", args: tuple[Any, ...], kwargs: dict[str, Any]
) -> "TypeError | None":
    """What to raise for arguments that forward() of a layer does not have, and for those that it
    needs and did not get; None if they fit. Looked at once a call has failed."""
    code, layer = module.forward.__func__.__code__, type(module).__name__
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    for unknown in kwargs:
        if unknown not in known:
            return refuse_keyword(layer, unknown, known)
    most = code.co_argcount - 1
    has = f"Its arguments are: {', '.join(known)}"
    if len(args) > most:
        were = "was" if len(args) == 1 else "were"
        return TypeError(
            f"{layer}() takes at most {most} by position, and {len(args)} {were} given. {has}"
        )
    needed = known[: most - len(module.forward.__func__.__defaults__ or ())]
    missing = [each for each in needed[len(args) :] if each not in kwargs]
    if missing:
        return TypeError(f"{layer}() is missing {', '.join(missing)}. {has}")
    return None


def note_layer(
    module: "Module", error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Adds a note with the layer, its parameters and what it was called with, unless the message
    names the layer. A note that cannot be made is left out: the error itself matters more."""
    with contextlib.suppress(Exception):
        layer = type(module).__name__
        if "forward" in vars(module) or str(error).startswith((f"{layer}: ", f"{layer}.forward()")):
            return
        note = _note(module, error, args, kwargs)
        notes = getattr(error, "__notes__", None)  # as add_note() of Python 3.11
        if notes is None:
            notes = error.__notes__ = []  # type: ignore[attr-defined]
        if note not in notes:  # of an exception object that is raised again and again
            notes.append(note)


def _note(module: "Module", error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    names = (name for name, _ in module._forward_takes)
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    own = {**module._parameters, **module._buffers}
    own = {name: tensor for name, tensor in own.items() if tensor is not None}
    described = [f"{name} is {_shown(value)}" for name, value in (given | own).items()]
    note = f"in {type(module).__name__}({module.extra_repr()}): {', '.join(described)}"
    dtypes = {each.dtype for each in module._parameters.values() if each is not None}
    if not isinstance(error, TypeError) or len(dtypes) != 1:
        return note
    (dtype,) = dtypes
    for name, value in given.items():
        if isinstance(value, _C.Tensor) and value.dtype is not dtype:
            note += f"; convert {name} with {name}.to({dtype})"
            if value.dtype.is_floating_point or value.dtype.is_complex:
                note += f", or the layer with its to({value.dtype})"
            break
    return note


def _shown(value: object) -> str:
    if isinstance(value, _C.Tensor):
        return f"{str(value.dtype).removeprefix('opyard.')}{list(value.shape)}"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return f"an object of {type(value).__name__}"
