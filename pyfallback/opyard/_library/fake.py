"""Fake kernels: results of an operator for tensors without elements. opyard.library has the names.

A fake kernel is registered at the key Meta and is called with meta tensors. It computes sizes,
dtypes and devices, and reads no elements. If a size depends on elements,
get_ctx().new_dynamic_size() gives a number that is not known: a SymInt.
"""

import itertools
import math
import operator
import threading
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.queries import provenance
from .._tensor.symbolic import SymInt
from .definitions import definition_of
from .kernel_signature import require_fit
from .library import _outer_frame

_running = threading.local()
# Where modules have registered those that stay, by operator: there they may register them again.
_known_fakes: dict[str, tuple] = {}
_names = itertools.count()


class DynamicSize:
    """A node for a size, or a number made of sizes. It computes in text, and with its hint.

    Without a hint it is a size that only the elements tell, and nothing decides it.
    """

    def __init__(
        self,
        text: str,
        kind: str = "int",
        least: int | None = 0,
        most: int | None = None,
        hint: Any = None,
    ) -> None:
        self.text, self.kind = text, kind
        self.min, self.max = least, most
        self.hint = hint

    def __str__(self) -> str:
        return self.text

    def is_int(self) -> bool:
        return self.kind == "int"

    def is_float(self) -> bool:
        return self.kind == "float"

    def is_bool(self) -> bool:
        return self.kind == "bool"

    def wrap_int(self, number: int) -> "DynamicSize":
        return DynamicSize(str(number), "int", number, number, number)

    def wrap_float(self, number: float) -> "DynamicSize":
        return DynamicSize(repr(number), "float", hint=number)

    def wrap_bool(self, truth: bool) -> "DynamicSize":
        return DynamicSize(repr(truth), "bool", hint=truth)

    def maybe_as_int(self) -> int | None:
        return self.min if self.kind == "int" and self.min == self.max else None

    def _decide(self, file: str, line: int) -> Any:
        if self.hint is not None:
            return self.hint
        raise RuntimeError(
            f"{file}:{line} asks for the value of {self.text}, which depends on the elements of a "
            "tensor; a fake kernel has none"
        )

    guard_int = guard_float = guard_bool = _decide


def _binary(name: str, sign: str, compute: Callable[..., Any], kind: str | None = None) -> None:
    def apply(self: DynamicSize, other: DynamicSize) -> DynamicSize:
        known = self.hint is not None and other.hint is not None
        hint = compute(self.hint, other.hint) if known else None
        text = f"({self.text} {sign} {other.text})"
        return DynamicSize(text, kind or self.kind, None, hint=hint)

    setattr(DynamicSize, name, apply)


def _unary(name: str, compute: Callable[..., Any], kind: str | None = None) -> None:
    def apply(self: DynamicSize) -> DynamicSize:
        hint = None if self.hint is None else compute(self.hint)
        return DynamicSize(f"{name}({self.text})", kind or self.kind, None, hint=hint)

    setattr(DynamicSize, name, apply)


for _name, _sign, _compute in (
    ("add", "+", operator.add), ("sub", "-", operator.sub), ("mul", "*", operator.mul),
    ("floordiv", "//", operator.floordiv), ("mod", "%", operator.mod), ("pow", "**", operator.pow),
    ("sym_min", "min", min), ("sym_max", "max", max),
):  # fmt: skip
    _binary(_name, _sign, _compute)
_binary("truediv", "/", operator.truediv, "float")
for _name, _sign, _compute in (
    ("eq", "==", operator.eq), ("ne", "!=", operator.ne), ("lt", "<", operator.lt),
    ("le", "<=", operator.le), ("gt", ">", operator.gt), ("ge", ">=", operator.ge),
    ("sym_and", "and", operator.and_), ("sym_or", "or", operator.or_),
):  # fmt: skip
    _binary(_name, _sign, _compute, "bool")
_unary("neg", operator.neg)
_unary("floor", math.floor, "int")
_unary("ceil", math.ceil, "int")
_unary("sym_not", operator.not_, "bool")
_unary("sym_float", float, "float")


class FakeContext:
    """What a fake kernel may ask while it runs; see get_ctx()."""

    def __init__(self, op: str) -> None:
        self.op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> SymInt:
        """A size that depends on elements, from `min` to `max`.

        Raises ValueError for bounds that no size has, RuntimeError after the kernel has returned.
        """
        if getattr(_running, "context", None) is not self:
            raise RuntimeError(
                f"{self.op}: its fake kernel has returned, and new_dynamic_size() is for fake "
                "kernels that run"
            )
        if min < 0 or (max is not None and max < min):
            raise ValueError(
                f"{self.op}: a size from {min} to {max} is none; min is at least 0 and max at "
                "least min"
            )
        return SymInt(DynamicSize(f"u{next(_names)}", "int", min, max))


def get_ctx() -> FakeContext:
    """The context of the fake kernel that runs on this thread. Raises RuntimeError elsewhere."""
    context = getattr(_running, "context", None)
    if context is None:
        raise RuntimeError(
            "get_ctx() is for fake kernels while they run, and none runs on this thread"
        )
    return context


def with_context(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A fake kernel of an operator that has get_ctx() while it runs."""

    def fake_kernel(*args: Any, **kwargs: Any) -> Any:
        former = getattr(_running, "context", None)
        _running.context = FakeContext(name)
        try:
            return fn(*args, **kwargs)
        finally:
            _running.context = former

    fake_kernel.__wrapped__ = fn
    return fake_kernel


def _check_module(name: str, module: str) -> None:
    from .. import _bind

    said, _ = _bind.python_module(name)
    if said and said != module:
        raise RuntimeError(
            f"register_fake: the fake kernel of {name} is in the Python module {module}, but the "
            f"operator ({provenance(name)}) says with set_python_module() that it is in {said}; "
            "register it there, or say the other module there"
        )


def _check_free(name: str) -> None:
    from .. import _bind
    from .._core.keys import DispatchKey

    if _bind.has_kernel_at(name, int(DispatchKey.Meta)):
        raise RuntimeError(
            f"register_fake: {name} already has a Meta implementation, "
            f"{provenance(name, 'Meta')}; allow_override=True puts the fake kernel on top of it"
        )
    if _bind.has_kernel_at(name, int(DispatchKey.CompositeImplicitAutograd)):
        raise RuntimeError(
            f"register_fake: {name} has a kernel at CompositeImplicitAutograd, "
            f"{provenance(name, 'CompositeImplicitAutograd')}, which serves meta tensors by the "
            "operators that it is made of; allow_override=True puts a fake kernel on top of it"
        )


def register_fake(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
    fn: Callable[..., Any] | None = None,
    *,
    lib: Any = None,
    allow_override: bool = False,
) -> Any:
    from .reload import site_in_run
    from .shortcuts import library_of, operator_for, require_callable

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        operator = operator_for("register_fake", op)
        name = operator.name()
        require_callable("register_fake", name, fn)
        definition = definition_of(operator)
        if definition is not None and lib is None:
            return definition.register_fake(fn)
        if lib is None or not lib._is_reloading:
            require_fit(name, fn, 0)
        # What custom_op() puts at Meta while there is no fake kernel may be covered.
        override = allow_override or (definition is not None and definition._fake is None)
        site = None if lib is not None else site_in_run(_outer_frame(), ("fake kernel", name))
        # A library that is made again replaces what it had registered, and so does the code that
        # has registered without one; see _library/reload.py.
        again = lib._is_reloading if lib is not None else site and site == _known_fakes.get(name)
        if not override and not again:
            _check_free(name)
        _check_module(name, getattr(fn, "__module__", "") or "")
        target = library_of(operator.namespace) if lib is None else lib
        target.impl(name, with_context(name, fn), "Meta", allow_override=override)
        if site is not None:
            _known_fakes[name] = site
        return fn

    if not isinstance(op, (str, _C.OpOverload, _C.OpOverloadPacket, _C.OpCaller)):
        operator_for("register_fake", op)
    return register if fn is None else register(fn)
