"""Queries of the registry, its listeners, and watchers of calls, for opyard.dispatch.

A function that takes an operator takes its name, an object of opyard.ops, or a packet with one
overload. has_kernel() and has_kernel_for_any() answer for any name; the others raise LookupError
for the name of an operator that is not there.
"""

import _thread
import functools
from collections.abc import Callable
from typing import Any

from .. import _C
from . import ops as _ops
from .keys import DispatchKey, key_of
from .keywords import names_keywords


def _name_of(op: object) -> str:
    from .. import _bind

    if not isinstance(op, str):
        return _ops.operator_of(op).name()
    _ops.load_for(op)
    if "::" not in op:
        _bind.has_kernel(op)  # raises for what is no name
        raise _ops.undefined(op)
    return op


def _defined(op: object) -> str:
    """The name of an operator that is defined. Raises LookupError for another."""
    from .. import _bind

    name = _name_of(op)
    if not _bind.registered(name)[0]:
        _ops.overload_of(name)  # raises, and names overloads if there are any
        raise _ops.undefined(name)
    return name


def is_there(name: str) -> bool:
    """Whether an operator has a definition or kernels."""
    from .. import _bind

    definition, _, kernels = _bind.registered(name)
    return bool(definition or kernels)


def known_name_of(op: object) -> str:
    """The name of an operator that has a definition or kernels. Raises LookupError for another."""
    name = _name_of(op)
    return name if is_there(name) else _defined(op)


def names_of(op: object) -> list[str]:
    """The operators that are meant by one, by its name, or by a packet or its name, which stand for
    all overloads; a name is given as it is if there is nothing of that name.
    """
    from .. import _bind

    if isinstance(op, _C.OpOverloadPacket):
        found = [getattr(op, overload).name() for overload in _ops.overload_names(op)]
        return found or [op.qualified_name]
    name = _name_of(op)
    if is_there(name) or "." in name:
        return [name]
    overloads = [f"{name}.{overload}" for overload in _C.overloads(name)]
    return overloads or _bind.dangling_overloads(name) or [name]


# Asking ------------------------------------------------------------------------------------


def has_kernel(op: object, key: "str | int | None" = None) -> bool:
    """Whether kernels are registered for an operator; with a key, at exactly this one.

    The key may be an alias. Raises ValueError for a text that is no operator's name, LookupError
    for a key that does not exist.
    """
    from .. import _bind

    name = _name_of(op)
    if key is None:
        return _bind.has_kernel(name)
    return _bind.has_kernel_at(name, int(key_of(key)))


def has_kernel_for_any(op: object, keys: object) -> bool:
    """Whether a kernel is registered at exactly one of the keys of a set, or of a list."""
    from .. import _bind

    keys = keys if isinstance(keys, _C.DispatchKeySet) else _C.DispatchKeySet(keys)
    return _bind.has_kernel_at_any(_name_of(op), keys.raw_repr())


def has_computed_kernel(op: object, key: "str | int") -> bool:
    """Whether a call that goes to this key finds a kernel, by whatever rule; fallthroughs count.

    Raises LookupError for an operator that is not defined, ValueError for an alias and for a layer
    that has a key on each backend.
    """
    from .. import _bind

    return _bind.has_computed_kernel(_defined(op), int(key_of(key)))


@names_keywords
def is_fallthrough(op: object, key: "str | int") -> bool:
    """Whether calls of the operator pass this key by. Raises as has_computed_kernel()."""
    from .. import _bind

    return _bind.is_fallthrough(_defined(op), int(key_of(key)))


@names_keywords
def has_fallback(key: "str | int") -> bool:
    """Whether a fallback is registered for the key."""
    from .. import _bind

    return _bind.has_fallback(int(key_of(key)))


def metadata(op: object) -> dict[str, Any]:
    """What other programs need to know of an operator, as JSON has it: name, overload, schema, doc,
    tags, arguments and results, the latter each with name, type, default, alias and keyword_only
    if they have them.

    Raises LookupError for an operator that is not defined.
    """
    import json

    from .. import _bind

    return json.loads(_bind.metadata(_defined(op)))


@names_keywords
def provenance(op: object, key: "str | int | None" = None) -> str:
    """Where an operator was defined, "registered at demo.py:12"; with a key, where the kernel was
    registered that is at exactly this key now, which may be an alias.

    Raises LookupError for an operator that is not defined or has no kernel there.
    """
    from .. import _bind

    name = _defined(op) if key is None else known_name_of(op)
    definition, _, kernels = _bind.registered(name)
    if key is None:
        return definition
    asked = key_of(key)
    for number, registered in kernels:
        if number == int(asked):
            return registered
    raise LookupError(f"{name} has no kernel at {asked.name}")


def alias_analysis(op: object) -> str:
    """How the aliases of an operator are known: "FROM_SCHEMA" as its schema says, "CONSERVATIVE" if
    it may write to everything, "PURE_FUNCTION" if it does nothing but give results.

    Raises LookupError for an operator that is not defined.
    """
    from .. import _bind

    _, kind, _ = _bind.registered(_defined(op))
    return kind


def operator_names() -> list[str]:
    """The names of all operators that are defined, in order: "ns::name", "ns::name.overload".

    Those of a plugin are among them when it is loaded.
    """
    from .. import _bind

    return _bind.operator_names()


@names_keywords
def operators_at(key: "str | int | None" = None) -> list[str]:
    """The names of the operators that have a kernel at exactly this key, which may be an alias, in
    order; without a key of those that have one anywhere. Operators of which nothing but kernels is
    registered count; fallbacks, which serve every operator, do not.
    """
    from .. import _bind

    return _bind.names_at(None if key is None else int(key_of(key)))


def dangling() -> list[str]:
    """What dump() gives for each operator that has kernels and no definition."""
    from .. import _bind

    return _bind.dangling()


class ComputedKernel:
    """The kernel of an operator that served a key when this was made, to be called there whatever
    keys arguments carry, and whatever was registered on top of it since.

    Calls raise RuntimeError when the kernel, or the definition, is unregistered. A library that
    replaces its own kernel replaces this one. Made by computed_kernel().
    """

    def __init__(self, op: "_C.OpOverload", key: DispatchKey) -> None:
        self.op = op
        self.key = key
        # None for what is built in, which no one unregisters: what is at the key is called.
        self._place = op._place_at(key)

    def _call(self, keyset: Any, args: tuple, kwargs: dict) -> Any:
        if self._place is None:
            return self.op._call_at(self.key, keyset, *args, **kwargs)
        return self.op._call_pinned(self._place, self.key, keyset, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the kernel; it gets the key set of the call from this key down."""
        return self._call(None, args, kwargs)

    def call_boxed(self, keyset: "_C.DispatchKeySet", /, *args: Any, **kwargs: Any) -> Any:
        """Calls the kernel; it gets this key and what the given set has below it."""
        if not isinstance(keyset, _C.DispatchKeySet):
            raise TypeError(
                f"call_boxed() takes a DispatchKeySet first, not {type(keyset).__name__}"
            )
        return self._call(keyset, args, kwargs)

    def __repr__(self) -> str:
        return f"<ComputedKernel of {self.op.name()} at {self.key}>"


@names_keywords
def computed_kernel(op: object, key: "str | int") -> ComputedKernel:
    """The kernel that a call of the operator finds at this key now. It stays the same one, so an
    override may keep the kernel that it covers and call it.

    Raises LookupError if the operator is not defined or has no kernel there, ValueError as
    has_computed_kernel().
    """
    key = key_of(key)
    if not has_computed_kernel(op, key):
        raise LookupError(f"{_name_of(op)} has no kernel at {key}")
    return ComputedKernel(_ops.operator_of(op), key)


# Listening ---------------------------------------------------------------------------------


class RegistrationHandle:
    """Keeps callbacks of on_registration() going, until remove() or the end of a with block.

    Dropping the object ends them as well.
    """

    def __init__(self, listening: object) -> None:
        self._listening = listening

    def remove(self) -> None:
        """Ends it; once is enough. A callback may still be running on another thread."""
        _C.stop_listening(self._listening)

    def __enter__(self) -> "RegistrationHandle":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


@names_keywords
def on_registration(
    on_defined: "Callable[[_C.OpOverload], object] | None" = None,
    on_undefined: "Callable[[_C.OpOverload], object] | None" = None,
) -> RegistrationHandle:
    """Calls back for every operator: on_defined for those that are there and each new one,
    on_undefined before a definition is unregistered, while the operator can still be used.

    Kernels are not told of. Callbacks run on the thread that registers. What on_defined raises
    comes out of the definition, which is unregistered, or out of this function, which then does not
    listen; what on_undefined raises goes to sys.unraisablehook. Raises TypeError for what is
    neither a callable nor None.
    """
    return RegistrationHandle(_C.listen(on_defined, on_undefined))


def set_report_error_callback(op: object, fn: "Callable[[str], object] | None") -> None:
    """Has `fn` raise when a call of the operator finds no kernel, in place of Opyard.

    It gets the name of the key at which the call ended, and must raise; if it returns, Opyard
    raises its own error. None takes the callback away, and so does the end of the definition.
    Raises LookupError for an operator that is not defined, TypeError for what is neither a callable
    nor None.
    """
    _C.set_missing_kernel_reporter(_ops.operator_of(op), fn)


# Watching ----------------------------------------------------------------------------------

# The dispatch log is on if it was switched on, by the environment or set_dispatch_log(), or while a
# DispatchLog is open on any thread. None: no one has asked yet which.
_switched_on: "bool | None" = None
_open_logs = 0
_log_lock = _thread.allocate_lock()


def _change_log(bind: Any, on: "bool | None", opened: int) -> None:
    global _switched_on, _open_logs
    _log_lock.acquire()  # a with statement needs memory
    try:
        if _switched_on is None:
            _switched_on = bind.dispatch_log()
        if on is not None:
            _switched_on = on
        _open_logs += opened
        bind.set_dispatch_log(_switched_on or _open_logs > 0)
    finally:
        _log_lock.release()


def set_dispatch_log(on: bool) -> None:
    """Shows where every call of the process goes on the standard error stream, or no more.

    One line a kernel, " [callBoxed] op=[demo::twice], key=[CPU]", behind as many spaces as calls
    are under way, its own among them. The environment variable OPYARD_DISPATCH_LOG=1 does
    the same from the start. Off, it costs nothing. Raises TypeError for what is no bool.
    """
    from .. import _bind

    if not isinstance(on, int):
        raise TypeError(f"set_dispatch_log() takes True or False, not {on!r}")
    _change_log(_bind, bool(on), 0)


class DispatchLog:
    """Shows the calls of a with block, as set_dispatch_log() does, on all threads."""

    def __enter__(self) -> "DispatchLog":
        from .. import _bind

        self._end = functools.partial(_change_log, _bind, None, -1)  # needs no memory, nor imports
        _change_log(_bind, None, 1)
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()
