"""Libraries that are made again by the same code: importlib.reload, and cells that are run again.

[Same] A Library is made again when the code of a module runs again and makes one at its outermost
level: not in a function. The same module is one with the same `__name__` and file, whose entry in
sys.modules the code runs in. Then the library of the same namespace, kind and key is the same;
if the module makes several of them, the first of the new run is the first of the former run,
and so on. No one else takes a library over, so another module that wants to be the definer of a
namespace is refused.

Code that comes from no file is a cell. Cells have no lasting names, so the same cell is one that
Jupyter calls so (its cell id) or, if it tells no ids, one with the same text; two cells do not
take over from each other. One thing is different: a library of the kind "DEF" is taken over from
any cell of the module, since there can be only one. At a prompt, where each line would be a cell
with the same name, only that holds.

Overrides are made again likewise, if the code makes one of the same name for the same operators
and keys: that replaces the kernels of the former one in place. Those that a run does not
make again are removed at its end.

[Run] A run is one execution of the module's code, or of a cell. While it lasts, what is registered
again replaces the former registration, so that calls always find one or the other. When it ends,
what was not registered again is unregistered: then the library holds what this run registered and
nothing else, even if the run failed half-way. A run ends when its code object goes away, in IPython
after the cell, and at the latest when the next one begins. The traceback of an error keeps the code
for a while.
"""

import re
import sys
import weakref
from types import CodeType, FrameType
from typing import Any

_PROMPTS = re.compile(r"<(stdin|string|console|unknown|doctest .*|python-input-\d+)>")
_CELL_NUMBER = re.compile(r"^<ipython-input-\d+-")

_Site = tuple[Any, ...]

# The library that was made last at each place.
_sites: "dict[_Site, weakref.ref[Any]]" = {}
# The overrides of the last run of a module's code or of a cell.
_overrides: "dict[_Site, list[weakref.ref[Any]]]" = {}
# The runs of code objects that are still there, by their addresses.
_runs: "dict[int, _Run]" = {}


class _Run:
    """One execution of a module's code or of a cell."""

    def __init__(self) -> None:
        self.counts: dict[_Site, int] = {}
        self.libraries: list[weakref.ref[Any]] = []
        # Of the run before, by the module or cell that has begun to register.
        self.former_overrides: dict[_Site, list[weakref.ref[Any]]] = {}

    def begin(self, site: _Site) -> "list[weakref.ref[Any]]":
        """Gives the overrides of the run before."""
        if site not in self.former_overrides:
            self.former_overrides[site] = _overrides.pop(site, [])
        return self.former_overrides[site]

    def number(self, site: _Site) -> int:
        """How many libraries this run has made there before."""
        count = self.counts.get(site, 0)
        self.counts[site] = count + 1
        return count

    def end(self) -> None:
        libraries, self.libraries = self.libraries, []
        for reference in libraries:
            library = reference()
            if library is not None:
                library._end_reload()
        for overrides in self.former_overrides.values():
            while overrides:
                made = overrides.pop()()
                if made is not None:
                    made.remove()


class _CodeRun(_Run):
    """Ends with its code object."""

    def __init__(self, code: CodeType) -> None:
        super().__init__()
        address = id(code)

        def gone(_: object, is_finalizing: Any = sys.is_finalizing) -> None:
            if _runs is None or is_finalizing():  # type: ignore[comparison-overlap]
                return  # the interpreter ends, which unregisters everything
            _runs.pop(address, None)
            self.end()

        self.reference = weakref.ref(code, gone)


class _CellRun(_Run):
    """Ends when IPython says that the cell has ended."""

    current: "_CellRun | None" = None

    def __init__(self, shell: Any, name: tuple) -> None:
        super().__init__()
        self.name = name

        def ended(*_: object) -> None:
            shell.events.unregister("post_run_cell", ended)
            if _CellRun.current is self:
                _CellRun.current = None
            self.end()

        shell.events.register("post_run_cell", ended)


def _shell(frame: FrameType) -> Any:
    """The IPython that runs this code as a cell, or None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    return shell if shell is not None and shell.user_ns is frame.f_globals else None


def _run_of(frame: FrameType, shell: Any) -> _Run:
    code = frame.f_code
    if shell is not None:
        name = (code.co_filename, shell.execution_count)
        if _CellRun.current is None or _CellRun.current.name != name:
            _CellRun.current = _CellRun(shell, name)
        return _CellRun.current
    run = _runs.get(id(code))
    if run is None:
        run = _runs[id(code)] = _CodeRun(code)
    return run


def _cell_of(frame: FrameType, shell: Any) -> "str | None":
    """What the cell is known by; None if nothing tells it from others."""
    get_parent = getattr(shell, "get_parent", None)
    if get_parent is not None:
        cell = (get_parent() or {}).get("metadata", {}).get("cellId")
        if cell:
            return f"cell {cell}"
    name = frame.f_code.co_filename
    if _PROMPTS.fullmatch(name):
        return None
    return _CELL_NUMBER.sub("<ipython-input-", name)


def _site_of(frame: FrameType, shell: Any, what: tuple) -> "_Site | None":
    """Where this code makes a library; None if it is no module's. See [Same]."""
    module = frame.f_globals.get("__name__")
    entry = sys.modules.get(module) if isinstance(module, str) else None
    if getattr(entry, "__dict__", None) is not frame.f_globals:
        return None
    file = frame.f_code.co_filename
    if shell is None and file == frame.f_globals.get("__file__"):
        return ("file", module, file, *what)
    if what[1] == "DEF":
        return ("cells", module, *what)
    cell = _cell_of(frame, shell)
    return None if cell is None else ("cell", module, cell, *what)


def site_in_run(frame: FrameType, what: tuple) -> "_Site | None":
    """Where the outermost code of a module registers something, with its number in this run; None
    for other code.
    """
    if not frame.f_code.co_name.startswith(("<module>", "<cell line")):
        return None
    shell = _shell(frame)
    site = _site_of(frame, shell, what)
    return None if site is None else (*site, _run_of(frame, shell).number(site))


def take_over(library: Any, frame: FrameType) -> Any:
    """Notes that the module's code in `frame` has made a library, and gives the one that this one
    takes over from, or None.
    """
    what = (library.ns, library.kind, library.dispatch_key)
    shell = _shell(frame)
    site = _site_of(frame, shell, what)
    if site is None:
        return None
    run = _run_of(frame, shell)
    if site[0] != "cells":
        run.begin(site[: -len(what)])
        site = (*site, run.number(site))
    elif run.number(site) > 0:
        return None  # two in one run: the second is refused
    known = _sites.get(site)
    former = known() if known is not None else None

    def gone(reference: object, sites: Any = _sites) -> None:
        if sites.get(site) is reference:
            del sites[site]

    _sites[site] = weakref.ref(library, gone)
    if former is not None:
        run.libraries.append(weakref.ref(library))
    return former


def former_override(override: Any, frame: FrameType) -> Any:
    """The override that this one, which the module's code in `frame` makes, is again; or None.

    From here on it is one of those that the run has made.
    """
    what = (override.operators, override.dispatch_keys, override.name)
    shell = _shell(frame)
    site = _site_of(frame, shell, what)
    if site is None:
        return None
    site = site[: -len(what)]
    formers = [reference() for reference in _run_of(frame, shell).begin(site)]

    def gone(reference: Any, overrides: Any = _overrides) -> None:
        known = overrides.get(site, [])
        if reference in known:
            known.remove(reference)
            if not known:
                del overrides[site]

    _overrides.setdefault(site, []).append(weakref.ref(override, gone))
    for former in formers:
        if former is not None and former._is_as(override):
            return former
    return None


class TakenOver:
    """What a library holds that another one has taken over from."""

    def __init__(self, provenance: str) -> None:
        self._provenance = provenance

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            "this library was taken over by the one that the same code made again at "
            f"{self._provenance}; register there"
        )
