"""Python packages that bring operators: entry points of the group `opyard.plugins`.

    [project.entry-points."opyard.plugins"]
    demo = "demo_package.operators"             a module, which registers when it is imported
    demo = "demo_package:register_operators"    a function, which is called once, without arguments

An entry point is called like the namespace that it serves. Nothing is loaded when opyard is
imported: the first time that an operator of a namespace is asked for and is not defined, the
entry points with the namespace's name are loaded, and then the operator is looked for again. A
package that serves several namespaces has an entry point for each.

[Failing] What raises while it is loaded leaves the registry as it was: the libraries, overrides and
shared libraries that its thread has made meanwhile are unregistered, and what it has registered
with older libraries (see trial.py); an operator of custom_op() that it has made again is the former
one. The next one who asks tries again. So that all of it is run again then, modules leave
sys.modules that were imported meanwhile and have registered something, or made others do so, or are
of the package itself; extension modules stay, which cannot be imported twice. Another entry point
that was loaded meanwhile and did not fail keeps what it has made. Libraries and overrides of others
that a load ends stay until it has succeeded; shared libraries of others that it unloads are loaded
again. What it does else to what was there before is not undone: names of backends and layers that
it gives, callbacks that it unregisters.

[Threads] One thread loads an entry point, others that want it wait, also for one who imports the
package itself. That thread finds what is there so far. Loading imports modules, which have locks
of their own, so waiting ends after a while.
"""

import itertools
import os
import sys
import threading
import time
import warnings
from importlib.machinery import EXTENSION_SUFFIXES
from types import FrameType
from typing import Any

from .._core import ops as _ops
from .trial import Notes

_GROUP = "opyard.plugins"
_SWITCH = "OPYARD_PLUGINS"
_LONGEST_WAIT = 60.0


class _Made(Notes):
    """The registrations of a load, and the modules that have made them."""

    def __init__(self) -> None:
        super().__init__()
        self.before = set(sys.modules)
        self.modules: set[str] = set()
        self.committed: set[str] = set()  # of entry points that were loaded meanwhile

    def append(self, take_back: Any) -> None:
        super().append(take_back)
        self._note_modules()

    def target_of(self, library: Any) -> Any:
        self._note_modules()
        return super().target_of(library)

    def _note_modules(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not _EntryPoint._load.__code__:
            name = frame.f_globals.get("__name__")
            if isinstance(name, str):
                self.modules.add(name)
            frame = frame.f_back

    def imported(self) -> "set[str]":
        return set(sys.modules) - self.before

    def forget_modules(self, package: str) -> None:
        """See [Failing]."""
        for name in self.imported() - self.committed:
            first = name.partition(".")[0]
            if first != "opyard" and (name in self.modules or first == package):
                _forget_module(name)


def _forget_module(name: str) -> None:
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    origin = getattr(spec, "origin", None)
    if getattr(spec, "_initializing", False):
        return  # someone else imports it now
    if isinstance(origin, str) and origin.endswith(tuple(EXTENSION_SUFFIXES)):
        return
    sys.modules.pop(name, None)
    parent, _, last = name.rpartition(".")
    attributes = getattr(sys.modules.get(parent), "__dict__", {})
    if attributes.get(last) is module:
        del attributes[last]


def _says(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as another:
        text = f"(its __str__ raised {type(another).__name__})"
    return f"{type(error).__name__}: {text}"


def _but(failed: list[Exception]) -> str:
    return ", but this failed: " + "; ".join(_says(each) for each in failed) if failed else ""


def _name_of(distribution: Any) -> str:
    """Its name and version, from the first lines of its file. `distribution.metadata` imports the
    package email, and with it datetime, which takes 10 ms; and CPython 3.13.0 crashes at its end
    when two interpreters with a GIL of their own have imported that."""
    lines = (distribution.read_text("METADATA") or "").splitlines()
    said = dict(line.partition(":")[::2] for line in itertools.takewhile(str.strip, lines))
    if "Name" in said and "Version" in said:
        return f"{said['Name'].strip()} {said['Version'].strip()}"
    return f"{distribution.metadata['Name']} {distribution.version}"


class _EntryPoint:
    """One entry point, and whether it was loaded."""

    def __init__(self, point: Any, distribution: Any) -> None:
        self.point = point
        self.name: str = point.name
        self.distribution = _name_of(distribution) if distribution else "nowhere"
        self.loaded = False
        self.lock = threading.Lock()
        self.thread = 0  # that loads it now

    def load(self) -> bool:
        """Loads it, unless that was done or is being done by this thread: then it gives False."""
        if self.loaded or self.thread == threading.get_ident():
            return False
        try:
            module = self.point.module
        except (AssertionError, AttributeError, ValueError):  # as versions of Python differ
            raise ImportError(
                f"{self} names no module: accepted are 'module' and 'module:function'"
            ) from None
        if _is_being_imported_here(module):
            return False
        if not self.lock.acquire(timeout=_LONGEST_WAIT):
            raise ImportError(
                f"{self}: another thread has been loading it for {_LONGEST_WAIT:.0f} seconds; it "
                "may be waiting for a module that this thread imports"
            )
        try:
            if self.loaded:
                return True
            self.thread = threading.get_ident()
            _ops.while_loading(self._load)
            self.loaded = True
        finally:
            self.thread = 0
            self.lock.release()
        return True

    def _load(self) -> None:
        made = _Made()
        former = _ops._notes.get(self.thread)
        _ops._notes[self.thread] = made
        try:
            found = self.point.load()
            if self.point.attr:
                if not callable(found):
                    raise TypeError(f"{self.point.value} is a {type(found).__name__}, no function")
                found()
            made.keep()
        except BaseException as error:
            del _ops._notes[self.thread]  # unregistering is nothing to be noted
            failed = _take_back(made)
            made.forget_modules(self.point.module.partition(".")[0])
            if not isinstance(error, Exception):
                raise
            raise ImportError(
                f"{self} failed: {_says(error)}. What it had registered was "
                f"unregistered{_but(failed)}. With {_SWITCH}=0 in the environment no plugin is "
                "loaded",
                name=self.point.module,
            ) from error
        else:
            if former is not None:
                former.committed |= made.imported()
        finally:
            if former is None:
                _ops._notes.pop(self.thread, None)
            else:
                _ops._notes[self.thread] = former

    def __str__(self) -> str:
        return (
            f"the entry point {self.name} = {self.point.value} of the group {_GROUP} "
            f"(distribution {self.distribution})"
        )


def _is_being_imported_here(name: str) -> bool:
    """Whether this thread imports the module itself, and is not done yet."""
    module = sys.modules.get(name)
    if not getattr(getattr(module, "__spec__", None), "_initializing", False):
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is module.__dict__ and frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False


def _take_back(made: Notes) -> list[Exception]:
    """See [Failing]. Gives what failed."""
    failed = made.take_back()
    # Libraries that others would go on with.
    for module, attribute in (("shortcuts", "_libraries"), ("py_impl", "_own_libraries")):
        entries: dict = getattr(sys.modules.get(f"opyard._library.{module}"), attribute, {})
        ended = {id(getattr(each, "__self__", None)) for each in made}
        for key in [key for key, value in entries.items() if id(value) in ended]:
            del entries[key]
    for name in list(_ops._packets):
        _ops.forget(name)
    return failed


# Each entry point that was ever found, once, whichever threads look at the same time.
_known: "dict[tuple, _EntryPoint]" = {}
# What was found, as of the folders in sys.path.
_found: "dict[str, list[_EntryPoint]]" = {}
_state: tuple = ()
# When the folders were last looked at, and what sys.path was then. Looking costs two microseconds a
# folder, so it is not done again at once; the times of folders are not finer than that either.
_looked_at = 0.0
_looked_at_path: "list | None" = None
_FRESH = 0.001
# Times of folders are those of the system's last tick, up to ten milliseconds ago. A folder that
# changes again in the same tick keeps its time, so what was found in one that has changed a moment
# before is not relied on: it is looked for again. That takes 1.2 ms a look beside ten packages, so
# a thread that asks for names that are not there, again and again, spends these 50 ms on it; after
# them a name that is not there costs 1.6 microseconds, as before.
_TICK = 50_000_000  # nanoseconds
_warned_of = ""


def _current_state() -> tuple:
    def time_of(path: str) -> int:
        try:
            return os.stat(path or ".").st_mtime_ns
        except (OSError, ValueError):
            return 0

    return tuple((path, time_of(path)) for path in sys.path if isinstance(path, str))


def _is_on() -> bool:
    global _warned_of
    value = os.environ.get(_SWITCH, "")
    if value not in ("", "0", "1") and value != _warned_of:
        _warned_of = value
        warnings.warn(
            f"ignoring invalid value for {_SWITCH}: {value}; valid values are 0 or 1", stacklevel=2
        )
    return value != "0"


def _may_change_unseen(state: tuple) -> bool:
    """Whether a folder may change again and keep its time. See _TICK."""
    now = time.time_ns()
    return any(abs(now - changed) < _TICK for _, changed in state)


def _is_fresh() -> bool:
    return time.monotonic() - _looked_at < _FRESH and sys.path == _looked_at_path


def _entry_points() -> "dict[str, list[_EntryPoint]]":
    """All entry points by name; looked for again when packages came or went."""
    return _found if _is_fresh() else _look()


def _look() -> "dict[str, list[_EntryPoint]]":
    global _found, _state, _looked_at, _looked_at_path
    now, path = time.monotonic(), list(sys.path)
    state = _current_state()
    if state != _state:
        relied_on = () if _may_change_unseen(state) else state
        _found = _find()
        _state = relied_on  # after it: a reader of this one finds that one
    _looked_at_path = path
    _looked_at = now
    return _found


def _invalidate_caches() -> None:
    """importlib.invalidate_caches(), which raises KeyError if another thread, doing the same,
    takes an entry away before it: there is one less each time."""
    import importlib

    while True:
        try:
            return importlib.invalidate_caches()
        except KeyError:
            continue


class _Malformed:
    """An entry point of which CPython 3.15 makes no object."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self.value = name, value

    @property
    def module(self) -> str:
        raise ValueError


def _points() -> "dict[Any, Any]":
    """The entry points of our group, each with its distribution."""
    from importlib.metadata import entry_points

    try:
        return {point: point.dist for point in entry_points(group=_GROUP)}
    except ValueError:
        # From 3.15 on one that is malformed, in whichever group, hides those of all distributions.
        return _points_one_by_one()


def _points_one_by_one() -> "dict[Any, Any]":
    import re
    from importlib.metadata import EntryPoint, distributions

    found: dict[Any, Any] = {}
    seen = set()
    for distribution in distributions():
        name = re.sub(r"[-_.]+", "-", _name_of(distribution).rpartition(" ")[0]).lower()
        if name in seen:
            continue  # one further down the path, which is not imported from
        seen.add(name)
        group = ""
        for line in map(str.strip, (distribution.read_text("entry_points.txt") or "").splitlines()):
            if line.startswith("[") and line.endswith("]"):
                group = line[1:-1]
            elif group == _GROUP and "=" in line and not line.startswith("#"):
                key, value = (part.strip() for part in line.split("=", 1))
                try:
                    found.setdefault(EntryPoint(key, value, _GROUP), distribution)
                except ValueError:
                    found[_Malformed(key, value)] = distribution
    return found


def _find() -> "dict[str, list[_EntryPoint]]":
    from importlib.metadata import MetadataPathFinder

    # What they keep of folders goes by their times, too. CPython 3.10 has no class method there.
    _invalidate_caches()
    MetadataPathFinder().invalidate_caches()
    found: dict[str, list[_EntryPoint]] = {}
    for point, distribution in sorted(_points().items(), key=lambda p: (p[0].name, p[0].value)):
        made = _EntryPoint(point, distribution)
        each = _known.setdefault((made.name, point.value, made.distribution), made)
        found.setdefault(point.name, []).append(each)
    return found


def load_for(namespace: str) -> bool:
    """Loads the entry points of a namespace, if there are some that were not loaded.

    Gives whether something was loaded. Raises ImportError if one fails, with what it was.
    """
    if namespace not in _found and _is_fresh():
        return False  # no one asks the environment: a name that is not there costs 3 microseconds
    if not _is_on():
        return False
    return any([point.load() for point in _entry_points().get(namespace, ())])


def load_plugins(*namespaces: str) -> list[str]:
    """Loads the packages that bring operators of these namespaces, or of all, and gives the names
    of the namespaces that packages say they serve.

    No one needs to call this: the first look at an operator of a namespace that is not defined does
    the same. It is for plugins that only override, and for those who want it early. Does nothing,
    and gives an empty list, if the environment variable OPYARD_PLUGINS is 0.

    Raises LookupError for a namespace that no package serves, ImportError if one cannot be
    loaded; nothing that it had registered stays then.
    """
    if not _is_on():
        return []
    points = _look()
    for namespace in namespaces:
        if namespace not in points:
            raise LookupError(
                f"no installed package has an entry point {namespace!r} in the group {_GROUP}; "
                f"there are: {', '.join(points) or 'none'}"
            )
    names = list(namespaces or points)
    for name in names:
        load_for(name)
    return names
