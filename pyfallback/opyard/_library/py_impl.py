"""op.py_impl(), which kernel serves a key, and the Python dispatcher."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core import ops as _ops
from .._core.arity import require_count
from .._core.keys import DispatchKey, key_of
from .._core.keywords import names_keywords
from .._dispatch.modes import DispatchMode
from .._dispatch.thread_block import ThreadBlock
from .kernel_signature import require_fit
from .library import Library, _outer_frame, _provenance
from .reload import site_in_run

# What py_impl() registered without a library: one library for each operator, held for ever.
_own_libraries: "dict[_C.OpOverload, Library]" = {}
# Where it did so: the code that has called it, and where, in words.
_own_provenance: "dict[tuple[_C.OpOverload, DispatchKey], tuple[object, str]]" = {}


def _require_first(op: "_C.OpOverload", key: DispatchKey, fn: Callable) -> object:
    """Raises if other code has given the operator a function at this key. The same code may run
    again: the cell of a notebook, a module that is reloaded, or a function that registers. Gives
    what tells this code from other code.
    """
    code = getattr(inspect.unwrap(fn), "__code__", None)
    site = site_in_run(_outer_frame(), ("py_impl", op.name(), key.name))
    same: object = site
    if site is None and code is not None:
        same = (code.co_filename, code.co_firstlineno, code.co_name)
    former, where = _own_provenance.get((op, key), (None, ""))
    if where and (same is None or former != same):
        raise RuntimeError(
            f"py_impl: {op.name()} has a function at {key} already, {where}; override() puts "
            "another on top of it, and a library, as lib=, too"
        )
    return same


class _Rule:
    """A rule of an operator for a class, as a part of a Library: reset() removes it."""

    def __init__(self, op: "_C.OpOverload", cls: type, function: Callable) -> None:
        self._op, self._cls, self._function = op, cls, function
        self._former = _C.set_class_rule(op, cls, function)

    def reset(self) -> None:
        # Another one may have come on top: then that one's former is what is below it.
        current = _C.set_class_rule(self._op, self._cls, self._former)
        if current is not self._function:
            _C.set_class_rule(self._op, self._cls, current)


def _take_back(rule: _Rule, parts: "list | None") -> None:
    rule.reset()
    if parts is not None and rule in parts:
        parts.remove(rule)


def register_rule(
    op: "_C.OpOverload", cls: type, function: Callable, lib: "Library | None"
) -> None:
    """Has the operator ask function(mode or class, op, types, args, kwargs) before the class's own
    __opyard_dispatch__, for exactly this class; NotImplemented leaves the call to that.
    """
    rule = _Rule(op, cls, function)
    if lib is not None:
        lib._parts.append(rule)  # unregistered in reverse order
    made = _ops.notes()
    if made is not None and not made.has_made(lib):
        made.append(functools.partial(_take_back, rule, None if lib is None else lib._parts))


def _require_class(cls: object) -> None:
    """Raises TypeError for a class that no rule can be for."""
    if not (isinstance(cls, type) and issubclass(cls, (DispatchMode, _C.Tensor))):
        raise TypeError(f"a rule is for a class of modes or a subclass of Tensor, not for {cls!r}")
    if cls is _C.Tensor or getattr(cls, "__opyard_dispatch__", None) is _C.disabled_dispatch:
        raise TypeError(
            f"{cls.__name__} has no __opyard_dispatch__, so calls with it do not look for rules; "
            "give the class one, which may return NotImplemented"
        )


@names_keywords
def register_opyard_dispatch(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
    cls: type,
    func: "Callable | None" = None,
    *,
    lib: "Library | None" = None,
) -> Any:
    """Has an operator ask func(mode or class, op, types, args, kwargs) before the handler of
    a class of modes or of a subclass of Tensor, for exactly this class.

    If it gives NotImplemented, the class's own handler is asked. Without `func` it is a
    decorator. A second one for the same class replaces the first; one of another library goes on
    top, and the end of a library uncovers what is below. Without `lib` it stays.

    Raises LookupError if there is no such operator, ValueError for what names none, TypeError
    for other classes and for what is no function.
    """
    from .shortcuts import operator_for

    operator = operator_for("register_opyard_dispatch", op)

    def register(fn: Callable) -> Callable:
        if not callable(fn):
            raise TypeError(
                f"register_opyard_dispatch() registers a function, not a {type(fn).__name__}"
            )
        _require_class(cls)
        gets = ["the mode or the class", "op", "types", "args", "kwargs"]
        require_count(f"register_opyard_dispatch: {operator.name()}: the rule", fn, gets)
        register_rule(operator, cls, fn, lib)
        return fn

    return register if func is None else register(func)


def py_impl(
    op: "_C.OpOverload",
    where: "str | int | type",
    *,
    with_keyset: bool = False,
    lib: "Library | None" = None,
) -> Callable[[Callable], Callable]:
    """See OpOverload.py_impl."""

    def register(fn: Callable) -> Callable:
        if not callable(fn):
            raise TypeError(f"py_impl() registers a function, not a {type(fn).__name__}")
        if isinstance(where, type):
            _require_class(where)
            require_fit(op.name(), fn, int(issubclass(where, DispatchMode)))
            if issubclass(where, DispatchMode):

                @functools.wraps(fn)
                def rule(mode: Any, op: Any, types: Any, args: tuple, kwargs: dict) -> Any:
                    return fn(mode, *args, **kwargs)
            else:

                @functools.wraps(fn)
                def rule(cls: Any, op: Any, types: Any, args: tuple, kwargs: dict) -> Any:
                    return fn(*args, **kwargs)

            register_rule(op, where, rule, lib)
            return fn
        key = key_of(where)
        if lib is not None:
            lib.impl(op, fn, key, with_keyset=with_keyset, allow_override=True)
            return fn
        code = _require_first(op, key, fn)
        own = _own_libraries.get(op)
        if own is None:
            made = Library(op.namespace, "IMPL")
            own = _own_libraries.setdefault(op, made)
            if own is not made:  # another thread was faster
                made._destroy()
        own.impl(op, fn, key, with_keyset=with_keyset, allow_override=True)
        if (op, key) not in _own_provenance:
            _ops.note(functools.partial(_own_provenance.pop, (op, key), None))
        _own_provenance[op, key] = code, f"registered at {_provenance()}"
        return fn

    return register


# Which kernel serves a key ------------------------------------------------------------------

_COMPOSITES = {
    "kernel": (),
    "backend fallback": (),
    "default backend kernel": (
        "CompositeExplicitAutogradNonFunctional",
        "CompositeExplicitAutograd",
    ),
    "nested kernel": ("CompositeImplicitAutogradNestedTensor",),
    "math kernel": ("CompositeImplicitAutograd",),
    "from CPU": ("CPU",),
    "autograd kernel": ("Autograd",),
    "batched kernel": ("BatchedDecomposition",),
}


@names_keywords
def resolve_key(op: object, key: "str | int") -> DispatchKey:
    """The key at which the kernel is registered that serves a runtime key of an operator.

    That is the key itself for its own kernel and for a fallback, else one of the alias keys. The
    registry says it, so kernels in Python and in C++ count alike. Raises NotImplementedError if
    nothing serves the key, RuntimeError if AutogradOther cannot choose, LookupError and
    ValueError as has_computed_kernel() does.
    """
    from .. import _bind

    key = key_of(key)
    op = _ops.operator_of(op)
    _, rule = _bind.resolve(op.name(), int(key))
    if rule == "ambiguous autogradother":
        raise RuntimeError(
            f"{op.name()} has a kernel at CompositeImplicitAutograd and one for a backend that "
            f"shares AutogradOther, so {key} cannot tell which to take"
        )
    if rule == "missing":
        raise NotImplementedError(f"could not find kernel for {op.name()} at dispatch key {key}")
    for alias in _COMPOSITES[rule]:
        if _bind.has_kernel_at(op.name(), int(key_of(alias))) and (
            alias != "CompositeExplicitAutogradNonFunctional"
            or _bind.alias_includes(int(key_of(alias)), int(key))
        ):
            return key_of(alias)
    return key


# The Python dispatcher ----------------------------------------------------------------------


def get_dispatch(op: "_C.OpOverload", key: int) -> "Callable | int":
    """What the Python dispatcher runs for an operator at a key: the Python function that is
    registered for it, else the key, for the kernel that is registered there.

    It is asked once; the answer is cached until a registration changes what is at the key. While
    it runs the Python dispatcher is off.
    """
    function = _C.python_function(op, key)
    return key if function is None else function


class _PythonDispatcher(ThreadBlock):
    """A with block with the Python dispatcher on or off. May be entered again, also inside."""

    _on: bool

    def _begin(self) -> bool:
        return _C.set_python_dispatcher(self._on)

    def _end(self, former: bool) -> None:
        _C.set_python_dispatcher(former)


class enable_python_dispatcher(_PythonDispatcher):
    """Runs a with block in which the operators of this thread are dispatched by their caches in
    Python: each looks up once what serves a key, a function or a kernel, and keeps that.
    """

    _on = True


class no_python_dispatcher(_PythonDispatcher):
    """Runs a with block without the Python dispatcher."""

    _on = False
