"""opyard.ops: operators by name, and the plugins that bring them.

`ops.demo` is a namespace, `ops.demo.twice` a packet (all operators of that name), and
`ops.demo.twice.default` one operator. There is one packet for a name, held for ever, so `is`
compares them. A namespace keeps the packets that were asked for among its attributes, where
finding them costs what any attribute costs; taking a library back removes those that then have
no operator left.

An operator belongs to its name and schema. If its definition is unregistered, its object raises
RuntimeError when it is called; the same definition made again gives the same object, which works
again, and another schema gives another object.

The operators of `aten`, and those of `opyard` that formulas of derivatives call, are a plugin that
is loaded when one of them is first wanted.
"""

import os
import sys
from _thread import get_ident

from .. import _C
from . import hooks
from .forking import by_thread, while_loading

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Callable

    from .._plugins.trial import Notes
    from .unloading import Plugin, UnloadReport

# The namespaces of the plugin that comes with the package.
_PLAIN = ("opyard::", "quantized_decomposed::")  # NumPy answers none of these
_OURS = ("aten::", "prim::", *_PLAIN)

_packets: dict = {}
_aten_is_loaded = False
# By thread that loads a plugin package: the notes of what it registers; see _plugins/trial.py.
_notes: dict = by_thread()


def load_library(path: "str | bytes | os.PathLike") -> "Plugin":
    """Loads a plugin: a shared library with operators. Loading it again does nothing.

    Gives an object with the plugin's `path` and `unload()`, which no one needs to keep.
    A name without a slash that is no file here is looked for where the system looks for
    libraries. Raises OSError if the file cannot be opened or is no plugin for this Opyard,
    and what its registrations raise; nothing of it is registered then. TypeError for what is no
    path.
    """
    from .. import _bind
    from .paths import encoded_path
    from .unloading import Plugin

    encoded = encoded_path("load_library", path)
    if notes() is not None:
        before = set(_bind.loaded_libraries())
        while_loading(lambda: _bind.load_library(encoded))
        for loaded in set(_bind.loaded_libraries()) - before:
            note(Plugin(os.fsencode(loaded), unload_library).unload)
    else:
        while_loading(lambda: _bind.load_library(encoded))
    if "opyard._core.keys" in sys.modules:
        from .late import imported

        imported("opyard._core.keys", "refresh_names")()  # the library may have named some
    return Plugin(encoded, unload_library)


def unload_library(path: "str | bytes | os.PathLike") -> "UnloadReport":
    """Unregisters all that a plugin registered; its code stays in memory.

    Gives the number of kernels that calls still under way keep alive; the same object lists what
    is left of the plugin (`survivors`), and its str() says so in words. Raises LookupError if
    no plugin was loaded from this path, OSError for a text that cannot be one, TypeError.
    """
    from .paths import encoded_path
    from .unloading import unload

    report = unload(encoded_path("unload_library", path))
    if notes() is not None:  # a plugin package that fails leaves it loaded
        again = os.fsencode(report.path)
        note(lambda: load_library(again))
    for name in list(_packets):
        forget(name)
    return report


def load_environment_libraries() -> None:
    """Loads the plugins that OPYARD_LIBRARIES names, once; what fails becomes a warning."""
    from .. import _bind

    while_loading(_bind.load_environment_libraries)


def loaded_libraries() -> list[str]:
    """The paths of the loaded plugins, absolute, in order of loading."""
    from .. import _bind

    return _bind.loaded_libraries()


def load_aten() -> None:
    """Loads the operators of aten, once. Raises what load_library() raises."""
    global _aten_is_loaded
    if _aten_is_loaded:
        return
    from .. import _build_info

    if _build_info.options["kernels"] == "true":
        load_library(_build_info.kernels)
    _aten_is_loaded = True


def load_for(name: str) -> None:
    """Loads the operators of aten where a name is one of theirs, and those that NumPy answers if
    no kernel of ours does; if an operator of another namespace is not defined, the packages that
    say that they bring it.
    """
    if name.startswith(_OURS):
        load_aten()
        base = name.partition(".")[0]
        if not base.startswith(_PLAIN) and not _C.overloads(base):
            while_loading(lambda: hooks["load_answers_for"](base.partition("::")[2]))
    elif not _C.overloads(name.partition(".")[0]):
        hooks["load_packages_for"](name.partition("::")[0])


def notes() -> "Notes | None":
    """The notes of this thread's registrations while it loads a plugin package."""
    return _notes.get(get_ident()) if _notes else None


def note(take_back: "Callable[[], object]") -> None:
    """Notes what ends a registration that was just made, if a plugin package is being loaded."""
    made = notes()
    if made is not None:
        made.append(take_back)


def when_committed(action: "Callable[[], object]") -> None:
    """Does something now; if a plugin package is being loaded, once that has succeeded."""
    made = notes()
    if made is None:
        action()
    else:
        made.when_committed.append(action)


def end(owner: object, action: "Callable[[], object]") -> None:
    """Ends the registrations of `owner` now. Those that were there before the plugin package that
    is being loaded end once that has succeeded."""
    made = notes()
    if made is None or made.has_made(owner):
        action()
    else:
        made.when_committed.append(action)


def packet_of(name: str) -> "_C.OpOverloadPacket":
    """The one packet of "ns::name", whether or not there is an operator of that name now."""
    packet = _packets.get(name)
    if packet is None:
        if name.startswith(_OURS):
            load_aten()
        packet = _packets.setdefault(name, _C.packet(name))
    return packet


def find_packet(name: str) -> "_C.OpOverloadPacket | None":
    """The packet of "ns::name" if an operator of that name is defined."""
    load_for(name)
    return packet_of(name) if _C.overloads(name) else None


def require_packet(name: str) -> "_C.OpOverloadPacket":
    """As find_packet(), but raises LookupError if there is none."""
    packet = find_packet(name)
    if packet is None:
        raise undefined(name)
    return packet


def find_aten(name: str) -> "_C.OpOverloadPacket | None":
    """The packet of "aten::<name>", else the method of Tensor that is made of others, else None.

    `where` is such a method first: the operator's first argument is not the tensor.
    """
    packet = None if name == "where" else getattr(ops.aten, name, None)
    return hooks["method"](name) if packet is None else packet


def overload_names(packet: "_C.OpOverloadPacket") -> list[str]:
    """What packet.overloads() gives, also if an overload is called `overloads`."""
    return _C.OpOverloadPacket.overloads(packet)


def overload_of(name: str) -> "_C.OpOverload":
    """The operator "ns::name" or "ns::name.overload". Raises LookupError if there is none."""
    full_name, _, overload = name.partition(".")
    packet = find_packet(full_name)
    if packet is None:
        raise undefined(name if "::" not in name else full_name)
    overload = overload or "default"
    has = overload_names(packet)
    if overload not in has:
        raise undefined(f"{full_name}.{overload}")
    return getattr(packet, overload)


def operator_of(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
) -> "_C.OpOverload":
    """The operator that a name, an operator, a packet with one overload or a CustomOpDef is for.

    Raises LookupError if there is none, TypeError for a packet with several overloads and for
    other objects.
    """
    if isinstance(op, _C.OpOverload):
        return op
    if isinstance(op, str):
        return overload_of(op)
    if isinstance(op, _C.OpCaller):
        return op.op
    if not isinstance(op, _C.OpOverloadPacket):
        raise TypeError(
            "an operator is given as a name or as an object of opyard.ops, not as "
            f"{type(op).__name__}"
        )
    overloads = overload_names(op)
    if not overloads:
        raise undefined(op.qualified_name)
    if len(overloads) > 1:
        raise TypeError(f"{op} has several overloads, name one of: {', '.join(overloads)}")
    return getattr(op, overloads[0])


def forget(name: str) -> None:
    """Drops the attribute of "ns::name" if no operator of that name is left."""
    namespace, _, base = name.partition("::")
    space = vars(ops).get(namespace, _nowhere)
    if base in vars(space) and not _C.overloads(name):
        space._drop(base)


# Python and others probe for dunder names; these alone are operators, of aten.
_DUNDER = frozenset(
    f"__{form}{name}__" for form in ("", "i") for name in ("and", "or", "xor", "lshift", "rshift")
)


def _kernels_alone(name: str) -> str:
    """What to say of an operator that has kernels and no definition, or ""."""
    from .. import _bind

    found = ", ".join(_bind.dangling_overloads(name))
    if not found:
        return ""
    return (
        f": kernels are registered for {found}, but no definition; is a define() missing, or the "
        "library that has it?"
    )


def undefined(name: str) -> LookupError:
    """What is raised for the name of an operator that is not defined."""
    full_name, _, overload = name.partition(".")
    if has := _C.overloads(full_name):
        overload = overload or "default"
        known = ", ".join(each or "default" for each in has)
        return LookupError(f"{full_name} has no overload {overload!r}; it has: {known}")
    return LookupError(f"operator {name} does not exist{_why_not_there(name)}")


def _why_not_there(name: str) -> str:
    """What to say of an operator "ns::name" that is not defined."""
    from .. import _bind
    from .near_names import hint, public

    if alone := _kernels_alone(name.partition(".")[0]):
        return alone
    namespace, colons, base = name.partition(".")[0].partition("::")
    if not colons:
        return f": a name begins with a namespace, as in aten::relu{_in_namespaces(name)}"
    by_namespace: dict[str, set[str]] = {}
    for each in _bind.operator_names():
        space, _, rest = each.partition("::")
        by_namespace.setdefault(space, set()).add(rest.partition(".")[0])
    if namespace in by_namespace:
        if name.startswith(_OURS) and (reason := hooks["why_not_answered"](base)):
            return f": {reason}"
        near = hint(base, public(by_namespace[namespace]))
        if name.startswith(_OURS):
            return near or (
                f': Opyard has none; Library("{namespace}", "FRAGMENT") of opyard.library defines '
                "one in this process"
            )
        return near or "; is its library loaded?"
    return (
        f": no library defines operators of {namespace}{hint(namespace, by_namespace)}; load one "
        "with opyard.load_library(path), or import the package that has it"
    )


def _in_namespaces(base: str) -> str:
    """The operators that may be meant by a name without a namespace, as a part of a sentence."""
    from .. import _bind

    load_aten()
    names = {name.partition(".")[0] for name in _bind.operator_names()}
    dotted = base.replace(".", "::", 1).partition(".")[
        0
    ]  # aten.relu, as opyard.ops.aten.relu is written
    base = base.partition(".")[0]
    found = sorted(name for name in names if name == dotted or name.partition("::")[2] == base)
    return f"; {' or '.join(map(repr, found))} may be meant" if found else ""


class _OpNamespace(_C.NameSpace):
    """The operators of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def _find(self, name: str) -> "_C.OpOverloadPacket":
        # Called only for what is not cached yet.
        if not name.startswith("__") or name in _DUNDER:
            packet = find_packet(f"{self.__name__}::{name}")
            if packet is not None:
                return self._keep(name, packet)
        from .near_names import MissingName

        raise MissingName(
            f"'_OpNamespace' '{self.__name__}' object has no attribute '{name}'",
            name,
            lambda name: _why_not_there(f"{self.__name__}::{name}"),
        )

    def __dir__(self) -> list[str]:
        from .. import _bind

        if f"{self.__name__}::" in _OURS:
            load_aten()
        else:
            try:
                hooks["load_packages_for"](self.__name__)
            except ImportError as error:
                # What completes a name, or lists what there is, wants the others.
                import warnings

                warnings.warn(
                    f"a package with operators of {self.__name__} cannot be loaded, so they are "
                    f"not listed: {error}",
                    RuntimeWarning,
                    stacklevel=2,
                )
        prefix = f"{self.__name__}::"
        names = {
            name[len(prefix) :].partition(".")[0]
            for name in _bind.operator_names()
            if name.startswith(prefix)
        }
        names = {name for name in names if not name.startswith("__") or name in _DUNDER}
        if self.__name__ == "aten":
            names |= while_loading(lambda: hooks["answered_names"]())
        return sorted(names)

    def __reduce__(self) -> tuple:
        return namespace_of, (self.__name__,)

    def __copy__(self) -> "_OpNamespace":
        return self

    def __deepcopy__(self, memo: object) -> "_OpNamespace":
        return self

    def __repr__(self) -> str:
        return f"<opyard.ops.{self.__name__}>"


class _Ops(_C.NameSpace):
    """All operators: ops.<namespace>.<name>. Every namespace exists; operators may not."""

    load_library = staticmethod(load_library)

    def _find(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(f"'_Ops' object has no attribute '{name}'")
        return self._keep(name, _OpNamespace(name))

    def __dir__(self) -> list[str]:
        from .. import _bind

        names = {name.partition("::")[0] for name in _bind.operator_names()}
        return sorted(names | {*vars(self), "aten", "load_library"})

    def __reduce__(self) -> str:
        return "ops"

    def __repr__(self) -> str:
        return "<opyard.ops>"


def namespace_of(name: str) -> _OpNamespace:
    """opyard.ops.<name>, as pickle finds it again."""
    return getattr(ops, name)


_nowhere = _OpNamespace("")
ops = _Ops()


class _Doc:
    """A __doc__ that is made when someone asks an instance for it; the class keeps its own."""

    def __init__(self, of_class: str, hook: str) -> None:
        self._of_class, self._hook = of_class, hook

    def __get__(self, instance: object, owner: object) -> str:
        if instance is None:
            return self._of_class
        return hooks[self._hook](instance)


_C.OpOverload.__doc__ = _Doc(_C.OpOverload.__doc__, "doc")
_C.OpOverloadPacket.__doc__ = _Doc(_C.OpOverloadPacket.__doc__, "packet_doc")
