"""Kernels and derivatives of operators that are not defined, which no call reaches: warnings.

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


# In the place of a key, for a derivative.
DERIVATIVE = "its derivative"


def note(library: "Library", name: str, key: str) -> None:
    """Notes what was just registered at a key, or DERIVATIVE, if its operator is not defined."""
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


def noted(library: "Library") -> "set[tuple[str, str]]":
    """What had no operator when it was registered, and is registered still."""
    kept = library._implemented
    return {one for one in library._alone if one in kept or one[1] == DERIVATIVE}


def said(label: str, why: str, implemented: "Iterable[tuple[str, str]]") -> str:
    """What to say of a library that ends: which kernels and derivatives no call could reach, since
    their operators were never defined; else "". `implemented` is (operator, key) of those to look
    at."""
    from .. import _bind
    from .._dispatch.history import was_defined

    alone: dict[str, list[str]] = {}
    formulas: list[str] = []
    for name, key in sorted(implemented):
        base, _, overload = name.partition(".")
        if key == DERIVATIVE:
            if overload not in _C.overloads(base) and not was_defined(name):
                formulas.append(name)
        elif name in _bind.dangling_overloads(base) and not was_defined(name):
            alone.setdefault(name, []).append(key)
    if not alone and not formulas:
        return ""
    kernels = "; ".join(f"{name} at {', '.join(keys)}" for name, keys in alone.items())
    what = [f"its kernels of {kernels}"] * bool(alone)
    what += [f"its derivative of {', '.join(formulas)}"] * bool(formulas)
    return (
        f"{label} ends{why}, and no call could reach {' and '.join(what)}: no such operator is "
        f"defined{_near([*alone, *formulas])}. Is a define() missing, or the library that has it?"
    )


def _near(names: list[str]) -> str:
    """The operators that may be meant, of the same namespaces."""
    from .. import _bind
    from .._core.near_names import near_name

    found = []
    for name in dict.fromkeys(each.partition(".")[0] for each in names):
        space = name.partition("::")[0] + "::"
        known = {each.partition(".")[0] for each in _bind.operator_names()}
        meant = near_name(
            name[len(space) :], (e[len(space) :] for e in known if e.startswith(space))
        )
        found += [] if meant is None else [f"'{space}{meant}'"]
    return f"; {' and '.join(found)} may be meant" if found else ""


def _warn_at_exit() -> None:
    import warnings

    for library in list(_with_some or ()):
        alone = noted(library)
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
