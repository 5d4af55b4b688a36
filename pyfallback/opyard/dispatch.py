"""Dispatch: keys, key sets, thread-local key sets, modes, and explanations of routes.

    print(explain(opyard.ops.demo.twice, x))       # which kernel would run, and why
    print(dump("demo::twice"))                     # which kernels are registered
    print(what_if("demo::twice", "Autograd"))      # what one more would change
    print(history("demo::twice"))                  # which came and went
    with ExcludeDispatchKeyGuard(DispatchKey.AutogradCPU):
        ...

A function that takes a key takes a DispatchKey, its number or its name; one that takes a key set
takes a DispatchKeySet or one key.
"""

from typing import TYPE_CHECKING

from . import _C
from ._C import DispatchKeySet, disabled_dispatch
from ._core import late as _late
from ._core import ops as _ops
from ._core import queries as _queries
from ._core.keys import DispatchKey, LayerGap, register_backend, register_layer, rename_backend
from ._core.keywords import names_keywords
from ._core.queries import (
    ComputedKernel,
    DispatchLog,
    RegistrationHandle,
    alias_analysis,
    computed_kernel,
    dangling,
    has_computed_kernel,
    has_fallback,
    has_kernel,
    has_kernel_for_any,
    is_fallthrough,
    metadata,
    on_registration,
    operator_names,
    operators_at,
    provenance,
    set_dispatch_log,
    set_report_error_callback,
)
from ._dispatch.guards import (
    AutoDispatchBelowADInplaceOrView,
    AutoDispatchBelowAutograd,
    ExcludeDispatchKeyGuard,
    ForceDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    PreserveDispatchKeyGuard,
    SetExcludeDispatchKeyGuard,
    no_dispatch,
    skip,
    tls_is_dispatch_key_excluded,
    tls_is_dispatch_key_included,
    tls_local_exclude_set,
    tls_local_include_set,
    tls_set_dispatch_key_excluded,
    tls_set_dispatch_key_included,
)
from ._dispatch.modes import (
    DispatchMode,
    ModeKey,
    disable_current_modes,
    get_current_dispatch_mode,
    get_current_dispatch_mode_stack,
    get_mode,
    len_dispatch_mode_stack,
    pop_mode,
    pop_mode_temporarily,
    push_mode,
)

if TYPE_CHECKING:
    from ._dispatch.explanation import Explanation
    from ._dispatch.higher_order import HigherOrderOperator
    from ._dispatch.history import History, RegistryEvent, history
    from ._dispatch.table_model import PythonDispatcher
    from ._dispatch.what_if import TableChange, WhatIf, what_if
    from ._library.check_writes import check_writes
    from ._library.py_impl import enable_python_dispatcher, no_python_dispatcher, resolve_key

__all__ = [
    "AutoDispatchBelowADInplaceOrView",
    "AutoDispatchBelowAutograd",
    "ComputedKernel",
    "DispatchKey",
    "DispatchKeySet",
    "DispatchLog",
    "DispatchMode",
    "ExcludeDispatchKeyGuard",
    "Explanation",
    "ForceDispatchKeyGuard",
    "HigherOrderOperator",
    "History",
    "IncludeDispatchKeyGuard",
    "LayerGap",
    "ModeKey",
    "PreserveDispatchKeyGuard",
    "PythonDispatcher",
    "RegistrationHandle",
    "RegistryEvent",
    "SetExcludeDispatchKeyGuard",
    "TableChange",
    "WhatIf",
    "alias_analysis",
    "check_invariants",
    "check_writes",
    "computed_kernel",
    "dangling",
    "disable_current_modes",
    "disabled_dispatch",
    "dump",
    "dump_table",
    "enable_python_dispatcher",
    "explain",
    "get_current_dispatch_mode",
    "get_current_dispatch_mode_stack",
    "get_mode",
    "has_computed_kernel",
    "has_fallback",
    "has_kernel",
    "has_kernel_for_any",
    "history",
    "is_fallthrough",
    "keys_of",
    "len_dispatch_mode_stack",
    "metadata",
    "no_dispatch",
    "no_python_dispatcher",
    "on_registration",
    "operator_names",
    "operators_at",
    "pop_mode",
    "pop_mode_temporarily",
    "provenance",
    "push_mode",
    "register_backend",
    "register_layer",
    "rename_backend",
    "resolve_key",
    "set_dispatch_log",
    "set_report_error_callback",
    "skip",
    "tls_is_dispatch_key_excluded",
    "tls_is_dispatch_key_included",
    "tls_local_exclude_set",
    "tls_local_include_set",
    "tls_set_dispatch_key_excluded",
    "tls_set_dispatch_key_included",
    "what_if",
    "would_dispatch",
]


_LATE = {
    "Explanation": "opyard._dispatch.explanation",
    "History": "opyard._dispatch.history",
    "HigherOrderOperator": "opyard._dispatch.higher_order",
    "PythonDispatcher": "opyard._dispatch.table_model",
    "RegistryEvent": "opyard._dispatch.history",
    "TableChange": "opyard._dispatch.what_if",
    "WhatIf": "opyard._dispatch.what_if",
    "check_writes": "opyard._library.check_writes",
    "enable_python_dispatcher": "opyard._library.py_impl",
    "history": "opyard._dispatch.history",
    "no_python_dispatcher": "opyard._library.py_impl",
    "resolve_key": "opyard._library.py_impl",
    "what_if": "opyard._dispatch.what_if",
}


_late.find_names(globals(), _LATE)


def __dir__() -> list[str]:
    return _late.names(globals())


@names_keywords
def keys_of(tensor: "_C.Tensor") -> DispatchKeySet:
    """The keys that a tensor adds to a call. Raises TypeError for what is no Tensor."""
    return _C.tensor_keys(tensor)


# What is registered -----------------------------------------------------------------------


def _names_of(op: object) -> list[str]:
    """Those that dump_table() shows: of operators that are there, or were."""
    names = _queries.names_of(op)
    if len(names) == 1 and not _queries.is_there(names[0]):
        from ._dispatch.history import was_there

        if not was_there(names[0]):
            raise _ops.undefined(names[0])
    return names


def dump(op: object) -> str:
    """The registered kernels of an operator, a line each; newest first, inactive ones marked.

    `op` is a name, an operator, or a packet for all its overloads, as is a packet's name. An
    operator that is not there gives "". Raises LookupError for a name without a namespace,
    ValueError for a text that is no operator's name.
    """
    from . import _bind

    return "".join(_bind.dump(name) for name in _queries.names_of(op))


# As dump_table() shows a key without a kernel of anyone.
_PASSES = ": fallthrough built in [backend fallback]"
_BUILT_IN = ": built in ["


def _folded(table: str) -> str:
    lines = table.splitlines(keepends=True)
    passes = [line for line in lines if line.rstrip().endswith(_PASSES)]
    built_in = [line for line in lines if _BUILT_IN in line]
    first = [line for line in lines if line not in passes and line not in built_in]
    count = len(passes)
    fold = f"{count} more: fallthrough, built in; whole=True names them\n" if count > 1 else ""
    return "".join([*first, *built_in, *([fold] if fold else passes)])


@names_keywords
def dump_table(op: object, *, interpreter: "int | None" = None, whole: bool = False) -> str:
    """The kernel of each key of an operator, with the rule that put it there.

    `op` is as for dump(). An operator that was unregistered gives "", as long as history()
    remembers it. Raises LookupError for one that never was there.

    What was registered comes first, then what is built in; the keys that fall through since no one
    has registered anything are counted. With `whole` each key has a line, in the order of keys. Of
    several overloads each has its name above its lines.

    Kernels that Python registers serve the calls of their own interpreter. The table is that of
    this interpreter, or of another one of the process by its number, as its module `_interpreters`
    counts, 0 for the main one. Raises LookupError for one that has not imported opyard.
    """
    from . import _C, _bind

    names = _names_of(op)
    tables = [
        _bind.dump_table(name) if interpreter is None else _C.dump_table(name, interpreter)
        for name in names
    ]
    shown = tables if whole else list(map(_folded, tables))
    if len(names) > 1:
        shown = [f"{name}\n{table}" for name, table in zip(names, shown, strict=True)]
    return "".join(shown)


def check_invariants(op: object = None) -> None:
    """Raises RuntimeError if the stored table of an operator is not the computed one; of this
    operator, a packet's overloads, or of all. LookupError for one that is not there.
    """
    from . import _bind

    for name in [""] if op is None else _queries.names_of(op):
        if name and not _queries.is_there(name):
            raise _ops.undefined(name)
        _bind.check_invariants(name)


def explain(op: object, /, *args: object, **kwargs: object) -> "Explanation":
    """Where op(*args, **kwargs) would go, and why, without making the call: key by key, with
    the modes and classes that would be asked, and by which formulas it is taped.

    `op` is an operator, a packet, or "ns::name". Raises what the call would raise for arguments
    that do not fit; a call that finds no kernel is explained as well.
    """
    from ._dispatch.explanation import Explanation, with_tensors

    if isinstance(op, str):
        op = _ops.overload_of(op) if "." in op else _ops.require_packet(op)
    if isinstance(op, _C.OpCaller):
        op = op.op
    if isinstance(op, _C.OpOverloadPacket):
        overloads = [getattr(op, name) for name in _ops.overload_names(op)]
        args, kwargs = with_tensors(overloads, args, kwargs)
        op = _C.OpOverloadPacket._resolve(op, *args, **kwargs)
    if not isinstance(op, _C.OpOverload):
        raise TypeError(
            "explain() takes an operator, as a name or as an object of opyard.ops, not "
            f"{type(op).__name__}"
        )
    args, kwargs = with_tensors([op], args, kwargs)
    return Explanation.of(op, args, kwargs)


def would_dispatch(op: object, /, *args: object, **kwargs: object) -> "DispatchKey | None":
    """The key whose kernel op(*args, **kwargs) would run, without making the call.

    None if it would find no kernel. Raises as explain(), which tells more.
    """
    explanation = explain(op, *args, **kwargs)
    return explanation.key if explanation.has_kernel else None
