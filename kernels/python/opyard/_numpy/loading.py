"""Lazy loading of answers: at the first look-up of one of their operators that finds none.

An operator that the kernels define is never answered here. OPYARD_NUMPY=off turns all answers off;
so does a process without NumPy, and for special functions one without SciPy. NumPy serves the first
interpreter of a process alone, and so do its answers.
"""

import importlib.util
import os
import threading
import warnings

from .. import _C
from .._core import ops as _ops
from .._core import queries as _queries
from .names import MODULES

# The answers with results whose sizes depend on values.
_DYNAMIC_SHAPES = frozenset(
    (
        *("_unique2", "bincount", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor"),
        *("unique_consecutive", "unique_dim"),
    )
)

_SWITCH = "OPYARD_NUMPY"
_BY_SCIPY = "special"
_ALIASES = (
    "CompositeExplicitAutogradNonFunctional",
    "CompositeExplicitAutograd",
    "CompositeImplicitAutograd",
)
_module_of = {name: module for module, names in MODULES.items() for name in names.split()}
_loaded: dict[str, object] = {}  # by module its library, or None if it cannot be imported
_lock = threading.RLock()
_warned_of = ""


def is_on() -> bool:
    """Whether OPYARD_NUMPY lets NumPy answer; a value that means nothing gives a warning."""
    global _warned_of
    value = os.environ.get(_SWITCH, "on")
    if value not in ("on", "off") and value != _warned_of:
        _warned_of = value
        warnings.warn(
            f"ignoring invalid value for {_SWITCH}: {value}; valid values are on or off",
            stacklevel=2,
        )
    return value != "off"


def load_for(name: str) -> None:
    """Defines the operators of the module that answers `aten::name`, if there is one."""
    module = _module_of.get(name)
    if module is not None and module not in _loaded and is_on():
        _ops.while_loading(lambda: _load(module))


def names() -> set[str]:
    """The operators that can be answered here; imports nothing."""
    if not is_on():
        return set()
    there = {
        package: importlib.util.find_spec(package) is not None for package in ("numpy", "scipy")
    }
    return {
        name
        for name, module in _module_of.items()
        if _loaded.get(module, True) is not None
        and there["numpy"]
        and (there["scipy"] or module != _BY_SCIPY)
    }


def why_not(name: str) -> str:
    """Why `aten::name`, which NumPy or SciPy could answer, is not answered; "" for other names."""
    module = _module_of.get(name)
    if module is None:
        return ""
    if not is_on():
        return f"NumPy could answer it, and {_SWITCH}=off keeps it from that"
    package, distribution = ("scipy", "SciPy") if module == _BY_SCIPY else ("numpy", "NumPy")
    if importlib.util.find_spec(package) is None:
        return f"{distribution} answers it where it is installed; here it is not"
    if _loaded.get(module, True) is None:
        return f"{distribution} could answer it, and could not be imported"
    return ""


def load_all() -> None:
    """Defines all operators that have an answer."""
    for module in MODULES if is_on() else ():
        if module not in _loaded:
            _ops.while_loading(lambda module=module: _load(module))


def _load(module: str) -> None:
    with _lock:
        if module in _loaded:
            return
        try:
            importlib.import_module(f".{module}", __package__)
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in ("numpy", "scipy"):
                raise
            _loaded[module] = None
            return
        # A plugin package that wants an operator now, and fails, does not undo it.
        thread = threading.get_ident()
        notes = _ops._notes.pop(thread, None)
        try:
            _loaded[module] = _define(module)
        finally:
            if notes is not None:
                _ops._notes[thread] = notes


def _define(module: str) -> object:
    from .._library.library import Library
    from .answers import Kernel, compositions, depending, meta, table
    from .stand_ins import meta_kernel

    provenance = _provenance(module)
    made = Library("aten", "FRAGMENT")
    answered = set()
    by_hand = {name for name, _ in meta.get(f"{__package__}.{module}", ())}
    for schema, function in table[f"{__package__}.{module}"]:
        name, _, overload = schema.partition("(")[0].partition(".")
        there = _overloads(name)
        if (overload or "default") in there:
            continue
        tags = ("overlaps",) if there else ()  # as PyTorch's do
        if schema.partition("(")[0] in _DYNAMIC_SHAPES:
            tags = (*tags, "dynamic_output_shape")
        made._define_at(provenance, schema, False, tags, "")
        kernel = Kernel(schema, function)
        full = f"{name}.{overload}" if overload else name
        if not _is_served(full, "CPU"):
            made._target().impl(full, kernel, "CPU", 0, 1, provenance)
        if full not in by_hand and function not in depending and not _is_served(full, "Meta"):
            made._target().impl(full, meta_kernel(kernel), "Meta", 0, 1, provenance)
        answered.add(full)
    for name, function in meta.get(f"{__package__}.{module}", ()):
        if name in answered and not _is_served(name, "Meta"):
            made._target().impl(name, function, "Meta", 0, 1, provenance)
    for schema, function in compositions.get(f"{__package__}.{module}", ()):
        name = schema.partition("(")[0]
        if "default" not in _overloads(name):
            made._define_at(provenance, schema, False, (), "")
            if not _is_served(name, "CompositeImplicitAutograd"):
                made._target().impl(name, function, "CompositeImplicitAutograd", 0, 1, provenance)
    return made


def _is_served(name: str, key: str) -> bool:
    """Whether the operator has a kernel at the key, or at an alias of it: one that was registered
    before the operator was defined here, as by a plugin, stays."""
    return any(_queries.has_kernel(f"aten::{name}", one) for one in (key, *_ALIASES))


def _overloads(name: str) -> list[str]:
    full = f"aten::{name}"
    return _ops.overload_names(_ops.packet_of(full)) if _C.overloads(full) else []


def _provenance(module: str) -> str:
    import numpy

    by = f"NumPy {numpy.__version__}"
    if module == _BY_SCIPY:
        import scipy

        by = f"SciPy {scipy.__version__}"
    return f"opyard/_numpy/{module}.py, computed by {by} ({_SWITCH}=off turns it off)"
