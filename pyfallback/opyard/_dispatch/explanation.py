"""The result of opyard.dispatch.explain(): the route of one call, as data and as text."""

import inspect
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import _C
from .._C import DispatchKeySet
from .._core import hooks, queries
from .._core.keys import DispatchKey


@dataclass(frozen=True)
class ArgumentKeys:
    """The keys of one argument that can carry some."""

    position: int
    name: str
    keys: DispatchKeySet


@dataclass(frozen=True)
class ConsideredKey:
    """One key on the way down, and what was found there."""

    key: DispatchKey
    taken: bool
    """The route stops here."""
    reason: str
    """"falls through", "kernel", "backend fallback", "no kernel", …"""
    provenance: str
    """Where that was registered; empty if nothing was."""


@dataclass(frozen=True)
class AskedHandler:
    """A mode, or a class of tensors, whose handler the call asks."""

    receiver: Any
    """The mode, or the class."""
    arguments: tuple[str, ...]
    """The names of the arguments that are of this class; empty for a mode."""
    rule: str
    """Where the operator's rule for this class is, which is asked first; empty if it has none."""
    handler: str
    """Where its __opyard_dispatch__ is."""

    @property
    def is_mode(self) -> bool:
        return not isinstance(self.receiver, type)

    def __str__(self) -> str:
        if self.is_mode:
            who = f"the mode {_one_line(self.receiver)}"
        else:
            named = ", ".join(map(repr, self.arguments))
            who = f"the class {self.receiver.__qualname__}, of {named}"
        rule = f"the operator's rule {self.rule}, then " if self.rule else ""
        return f"{who}: {rule}{self.handler}"


@dataclass(frozen=True)
class Explanation:
    """The route of one call. str() gives the text that people read."""

    op: str
    """"ns::name" or "ns::name.overload"."""
    declaration: str
    """The schema."""
    arguments: tuple[ArgumentKeys, ...]
    include: DispatchKeySet
    """What the thread adds to every call."""
    exclude: DispatchKeySet
    """What the thread takes out of every call."""
    mask: DispatchKeySet
    """The layers that do not fall through for this operator."""
    keys: DispatchKeySet
    """The keys of the call: those of the arguments, with what the thread adds and takes out."""
    considered: tuple[ConsideredKey, ...]
    """Highest first."""
    key: DispatchKey
    """Where the call goes."""
    has_kernel: bool
    """Whether it finds a kernel there."""
    kernel: str
    """Where that kernel was registered, or why there is none."""
    chain: tuple[ConsideredKey, ...]
    """Below that kernel, should it redispatch with what is left of its keys; highest first."""
    body: str
    """The text of that kernel, if it is a composite one; else empty."""
    asked: tuple[AskedHandler, ...]
    """Who is asked at the key Python, in this order, until one does not give NotImplemented."""
    taped: str
    """If the call is taped for gradients: by which formulas. Else empty."""
    text: str = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, op: "_C.OpOverload", args: tuple, kwargs: "dict[str, Any]") -> "Explanation":
        """That of a call of an operator, which is not made."""
        parts = op._explain(*args, **kwargs)
        parts["arguments"] = tuple(ArgumentKeys(*row) for row in parts["arguments"])
        for rows in ("considered", "chain"):
            parts[rows] = tuple(ConsideredKey(*row) for row in parts[rows])
        parts["asked"], parts["taped"] = (), ""
        given = list(_given(op, args, kwargs))
        if DispatchKey.Python in parts["keys"]:
            parts["asked"] = tuple(_asked(op, args, kwargs, given))
        if parts.pop("gradients") and any(_needs_gradient(each) for _, each in given):
            _add_tape(op, parts)
        lines = parts["text"].splitlines()
        where = next(i for i, line in enumerate(lines) if line.startswith(("  runs", "  no k")))
        asked = [f"    {each}" for each in parts["asked"]]
        if asked and parts["key"].name.startswith("Python"):
            asked.insert(0, "  which asks, until one answers:")
        elif asked:
            asked.insert(0, "  at Python it would ask:")
        parts["text"] = "\n".join([*lines[: where + 1], *asked, *lines[where + 1 :], ""])
        return cls(**parts)


def with_tensors(
    ops: "Sequence[_C.OpOverload]", args: tuple, kwargs: "dict[str, Any]"
) -> "tuple[tuple, dict[str, Any]]":
    """The arguments, and for arrays of other libraries the tensors that a call takes them for: an
    explanation looks at arguments several times, and reads each array once. Those that may be
    meant for anything but a tensor stay, and so do those that the call refuses.
    """
    schemas = [op._schema.arguments for op in ops]
    by_place = [
        {_kind(arguments[i].type) if i < len(arguments) else "" for arguments in schemas}
        for i in range(len(args))
    ]
    by_name = {
        name: {_kind(each.type) for arguments in schemas for each in arguments if each.name == name}
        for name in kwargs
    }
    return (
        tuple(map(_with_tensor, args, by_place)),
        {name: _with_tensor(value, by_name[name]) for name, value in kwargs.items()},
    )


def _kind(kind: Any) -> str:
    """ "Tensor" also for `Tensor?` and `Tensor[]`."""
    while kind.kind in ("Optional", "List"):
        [kind] = kind.elements
    return kind.kind


def _with_tensor(value: Any, kinds: "set[str]") -> Any:
    if isinstance(value, (list, tuple)) and kinds == {"Tensor"}:
        items = [_with_tensor(each, kinds) for each in value]
        return items if any(map(operator.is_not, items, value)) else value
    may_be_number = not kinds or kinds - {"Tensor"}
    if isinstance(value, _C.Tensor) or (may_be_number and not _has_dimensions(value, kinds)):
        return value
    try:
        tensor = _C.tensor_for(value)
    except Exception:  # the call says why
        return value
    return value if tensor is None else tensor


def _has_dimensions(value: Any, kinds: "set[str]") -> bool:
    """Whether it is an array that cannot stand for a number, where a tensor or one may be given."""
    return kinds == {"Tensor", "Scalar"} and getattr(value, "ndim", 0) > 0


def _given(op: "_C.OpOverload", args: tuple, kwargs: "dict[str, Any]") -> Iterator[tuple[str, Any]]:
    """The arguments by name; those of a list one by one."""
    names = [argument.name for argument in op._schema.arguments]
    for name, each in [*zip(names, args, strict=False), *kwargs.items()]:
        for one in each if isinstance(each, (list, tuple)) else (each,):
            yield name, one


def _asked(
    op: "_C.OpOverload", args: tuple, kwargs: "dict[str, Any]", given: "list[tuple[str, Any]]"
) -> Iterator[AskedHandler]:
    for receiver, is_mode, rule in _C.asked_handlers(op, *args, **kwargs):
        cls = type(receiver) if is_mode else receiver
        own = dict.fromkeys(name for name, each in given if not is_mode and type(each) is cls)
        yield AskedHandler(
            receiver,
            tuple(own),
            "" if rule is None else _place(rule),
            _place(inspect.getattr_static(cls, "__opyard_dispatch__", None)),
        )


def _needs_gradient(given: Any) -> bool:
    return isinstance(given, _C.Tensor) and given.requires_grad


def _add_tape(op: "_C.OpOverload", parts: "dict[str, Any]") -> None:
    """Says at the key of the tape what it does, where it passes a call on otherwise."""
    rows = list(parts["considered"])
    for i, row in enumerate(rows):
        is_tape = row.key.name.startswith("Autograd") and row.reason == "falls through"
        if not is_tape or row.provenance != "built in":
            continue
        formulas = hooks["formulas"](op)
        if op.name() == "aten::detach":
            continue  # its result has no history
        if formulas is None:
            parts["taped"] = (
                "without a derivative: backward() through a result that requires a gradient raises"
            )
        elif isinstance(formulas, str):
            backward = hooks["registered_backward"](op.name())
            parts["taped"] = f"by {formulas if backward is None else _place(backward)}"
        else:
            if all(text == "None" for _, text in formulas):
                continue  # no result has a gradient
            parts["taped"] = "by " + "; ".join(f"{of}: {text}" for of, text in formulas)
        rows[i] = replace(row, reason="tapes the call", provenance=parts["taped"])
        former = f"     {row.key.name:<22} falls through, built in\n"
        now = f"     {row.key.name:<22} tapes the call, {parts['taped']}\n"
        parts["text"] = parts["text"].replace(former, now, 1)
    parts["considered"] = tuple(rows)
    if not parts["taped"] and parts["key"].name.startswith("Autograd") and _is_composite(op):
        parts["taped"] = "by the operators that it calls"
        parts["text"] = re.sub(
            r"^  runs at .*\n",
            r"\g<0>    the operators that it calls are taped\n",
            parts["text"],
            count=1,
            flags=re.MULTILINE,
        )


def _is_composite(op: "_C.OpOverload") -> bool:
    return queries.has_kernel(op, "CompositeImplicitAutograd")


def _place(function: Any) -> str:
    """`Name at file.py:12`, of a function or a method."""
    function = getattr(function, "__func__", function)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        code = getattr(inspect.unwrap(function), "__code__", None)
    except ValueError:  # what it wraps leads back to it
        code = None
    return f"{name}" if code is None else f"{name} at {code.co_filename}:{code.co_firstlineno}"


def _one_line(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # the object cannot show itself
        text = ""
    return text if 0 < len(text) <= 80 and "\n" not in text else object.__repr__(value)
