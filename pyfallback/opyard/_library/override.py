"""opyard.library.override: kernels on top of others, for as long as an object lives."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from .. import _C
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .kernel_signature import require_fit
from .library import _OUTERMOST, _function, _key_name, _provenance, _wants


def _operators_of(op: Any) -> list[str]:
    """The full names of the operators that override() was given."""
    from .. import _bind

    if isinstance(op, _ops._OpNamespace) or (isinstance(op, str) and op.endswith("::*")):
        namespace = op[:-3] if isinstance(op, str) else op.__name__
        for name in dir(getattr(_ops.ops, namespace)):  # loads what brings its operators
            _ops.load_for(f"{namespace}::{name}")  # and those that NumPy answers
        bases = {
            name.partition(".")[0]
            for name in _bind.operator_names()
            if name.startswith(f"{namespace}::")
        }
        packets = [_ops.packet_of(name) for name in sorted(bases)]
        found = [
            getattr(packet, overload).name()
            for packet in packets
            for overload in _ops.overload_names(packet)
        ]
        if not found:
            raise LookupError(f"no operator of the namespace {namespace} is defined")
        return found
    if isinstance(op, (list, tuple, set, frozenset)):
        names = [name for each in op for name in _operators_of(each)]
        if not names:
            raise ValueError("override() got an empty list of operators")
        return list(dict.fromkeys(names))
    return [_ops.operator_of(op).name()]


def _keys_of(dispatch_key: Any) -> list[str]:
    if isinstance(dispatch_key, (list, tuple, set, frozenset, _C.DispatchKeySet)):
        keys = [_key_name(key) for key in dispatch_key]
        if not keys:
            raise ValueError("override() got an empty list of dispatch keys")
        return list(dict.fromkeys(keys))
    return [_key_name(dispatch_key)]


def _missing(*args: Any) -> None:
    """In place of the function of an override that is given later."""


class override:
    """Puts a kernel on top of an operator's kernel at one key, until it is removed.

        with override("demo::twice", "CPU", lambda x: x * 2):
            ...

        @override("demo::twice", "CPU", name="counting", with_next=True)
        def counting(call_next, x):
            counts.append(call_next.op)
            return call_next(x)

        counting.remove()

    `op` is "ns::name", "ns::name.overload", or an operator of opyard.ops; a packet stands for its
    only overload. Several are given as a list; "ns::*" or opyard.ops.ns stands for all that are
    in a namespace, also if they were not used yet. `dispatch_key` may be a list likewise, and
    a device type such as "cpu" stands for the key of its kernels. Without `fn` it is a
    decorator, which gives the override itself. `name` is what explain(), dump(), dump_table() and
    history() show beside it.

    The function gets the arguments of the operator. With `with_keyset` it gets the key set of the
    call first. With `with_next` it gets a callable before the arguments: call_next(*args, **kwargs)
    calls the kernel that this one covers, with the keys of the call; at the bottom what the
    operator does at this key without any, such as a composite kernel or a fallback. What is below
    is found at each call, so overrides may come and go meanwhile. `call_next.op` is the operator,
    `call_next.keyset` the keys.

    Dropping the object removes the kernels as well. Overrides may be removed in any order. Gives
    no warning. The overrides of one object are all made, or none.

    Raises LookupError if there is no such operator or key, TypeError if `fn` is not callable, or
    is a Python function to whose parameters no call of an operator fits, or `name` is no text.
    """

    @names_keywords
    def __init__(
        self,
        op: Any,
        dispatch_key: Any,
        fn: "Callable[..., Any]" = _missing,
        *,
        name: str = "",
        with_keyset: bool = False,
        with_next: bool = False,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of an override must be a str, not a {type(name).__name__}")
        if not name.isprintable() or '"' in name:
            raise ValueError(f"the name of an override is printable and without quotes: {name!r}")
        self.name = name
        self.operators = tuple(_operators_of(op))
        self.dispatch_keys = tuple(_keys_of(dispatch_key))
        self.provenance = _provenance()
        self._wants = _wants(with_keyset, with_next)
        self._libraries: list[_C.Library] = []
        self._state = "new"
        self._former: override | None = None
        frame = sys._getframe(2)
        if frame.f_code.co_name.startswith(_OUTERMOST):
            from .reload import former_override

            self._former = former_override(self, frame)
        if fn is not _missing:
            self._start(fn)

    def _start(self, fn: "Callable[..., Any]") -> None:
        function = _function(fn)
        if self._former is None:  # not in a reload
            for operator in self.operators:
                require_fit(operator, function, self._wants.bit_count())
        former, self._former = self._former, None
        libraries: dict[str, _C.Library] = {}
        if former is not None and former._state == "live":
            libraries = former._hand_over()
        shown = f'{self.provenance} (override "{self.name}")' if self.name else self.provenance
        try:
            for operator in self.operators:
                namespace = operator.partition("::")[0]
                library = libraries.get(namespace)
                if library is None:
                    library = _C.Library(namespace, "IMPL", "", self.provenance)
                    libraries[namespace] = library
                for key in self.dispatch_keys:
                    library.impl(operator, function, key, self._wants, True, shown)
        except BaseException:
            _reset(libraries.values())
            raise
        self._libraries = list(libraries.values())
        self._state = "live"
        for library in self._libraries:
            library.end_reload()
        _ops.note(self.remove)

    def _is_as(self, other: "override") -> bool:
        """Whether this one is registered, and `other` is for the same places."""
        return self._state == "live" and (
            (self.operators, self.dispatch_keys, self.name)
            == (other.operators, other.dispatch_keys, other.name)
        )

    def _hand_over(self) -> "dict[str, _C.Library]":
        """Gives the libraries by namespace, in which kernels then replace those of this one."""
        self._state = "removed"
        libraries, self._libraries = self._libraries, []
        for library in libraries:
            library.begin_reload()
        namespaces = dict.fromkeys(each.partition("::")[0] for each in self.operators)
        return dict(zip(namespaces, libraries, strict=False))

    def __call__(self, fn: "Callable[..., Any]") -> "override":
        """Takes the function of an override that was made without one."""
        if self._state != "new":
            raise TypeError(f"{self!r} has its function already; call the operator to run it")
        self._start(fn)
        return self

    def remove(self) -> None:
        """Unregisters the kernels; once is enough.

        Called by a plugin package while it is loaded, on an override that was there before, it
        removes them once that has succeeded.
        """
        _ops.end(self, self._end)

    def _end(self) -> None:
        self._state = "removed"
        libraries, self._libraries = self._libraries, []
        _reset(libraries)

    def __enter__(self) -> "override":
        if self._state == "removed":
            raise RuntimeError("this override was removed already; make a new one")
        if self._state == "new":
            raise RuntimeError("this override has no function; give it one before the with block")
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        first, *more = self.operators
        what = f"{first} and {len(more)} more" if more else first
        name = f' "{self.name}"' if self.name else ""
        return f"<override{name} of {what} at {', '.join(self.dispatch_keys)}, {self.provenance}>"


def _reset(libraries: "Iterable[_C.Library]") -> None:
    for library in reversed(list(libraries)):
        library.reset()
