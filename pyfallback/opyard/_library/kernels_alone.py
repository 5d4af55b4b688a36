"""Kernels that no call could reach, since their operators are not defined: warnings of them.

A library warns when it ends. One that has not ended at exit, as a module keeps it, warns then, if
its namespace has operators or it could define some: a package may well have kernels for operators
of another one that this process has not loaded.
"""

import weakref

from .. import _C

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .library import Library

# Those that had such kernels when they were registered; made with the first.
_with_some: "weakref.WeakSet[Library] | None" = None


def note(library: "Library", name: str, key: str) -> None:
    """Notes a kernel that was just registered, if its operator is not defined."""
    global _with_some
    base, _, overload = name.partition(".")
    if overload in _C.overloads(base):
        return
    library._alone.add((name, key))
    if _with_some is None:
        import atexit

        _with_some = weakref.WeakSet()
        atexit.register(_warn_at_exit)
    _with_some.add(library)


def said(label: str, why: str, implemented: "Iterable[tuple[str, str]]") -> str:
    """What to say of a library that ends: which kernels no call could reach, since their operators
    were never defined; else "". `implemented` is (operator, key) of those to look at."""
    from .. import _bind
    from .._dispatch.history import was_defined

    alone: dict[str, list[str]] = {}
    for name, key in sorted(implemented):
        if name in _bind.dangling_overloads(name.partition(".")[0]) and not was_defined(name):
            alone.setdefault(name, []).append(key)
    if not alone:
        return ""
    what = "; ".join(f"{name} at {', '.join(keys)}" for name, keys in alone.items())
    return (
        f"{label} ends{why}, and no call could reach its kernels of {what}: no such operator is "
        "defined. Is a define() missing, or the library that has it?"
    )


def _warn_at_exit() -> None:
    import warnings

    for library in list(_with_some or ()):
        alone = library._alone & library._implemented
        library._alone.clear()
        if not alone or not library._end.alive or _may_be_for_others(library):
            continue
        text = said(repr(library), " with the process", alone)
        if text:
            warnings.warn(text, UserWarning, stacklevel=1)


def _may_be_for_others(library: "Library") -> bool:
    from .. import _bind

    prefix = f"{library.ns}::"
    is_loaded = any(name.startswith(prefix) for name in _bind.operator_names())
    return library.kind == "IMPL" and not is_loaded
