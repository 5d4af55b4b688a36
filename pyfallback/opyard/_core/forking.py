"""Forking while another thread loads: the load is finished first.

The child of a fork has one thread. Half of a plugin that another thread was loading would stay
registered there, and a module of this package that it was importing could never be imported. So
before os.fork() the forking thread waits until no one is inside of either, and who would begin
meanwhile waits until the fork is done. No one waits for long: a load that itself waits for the
forking thread is left alone after a while, and the child then says what is missing.

An import asks no one whether it may begin, so one may begin between that look and the fork. Its
child imports the module anew.
"""

import os
import sys
from _frozen_importlib import _module_locks
from _imp import acquire_lock, release_lock
from _thread import get_ident
from time import monotonic, sleep

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Result = TypeVar("Result")

_LONGEST_WAIT = 10.0
_PAUSE = 0.0005
_OURS = ("opyard.", "numpy")  # what begins like this is waited for

_by_thread: list[dict] = []


def by_thread() -> dict:
    """A dictionary whose keys are threads; a child keeps only the thread that forked."""
    _by_thread.append({})
    return _by_thread[-1]


_loading: dict[int, int] = by_thread()  # how deep each thread is inside of loads
_forking: set[int] = set()  # the threads that fork


def while_loading(load: "Callable[[], Result]") -> "Result":
    """Gives load(), while which no other thread of Python forks."""
    me = get_ident()
    depth = _loading.get(me, 0)
    # First this, then a look for forks; a fork does it the other way round.
    _loading[me] = depth + 1
    try:
        while depth == 0 and _forking - {me} and me not in _importing():
            del _loading[me]
            sleep(_PAUSE)
            _loading[me] = 1
        return load()
    finally:
        if depth == 0:
            _loading.pop(me, None)
        else:
            _loading[me] = depth


def _importing() -> "set[int | None]":
    """The threads that import a module of this package or of NumPy; None if one is about to.

    A load in the middle of an import waits for no fork, since that fork waits for the import.
    """
    return {owner for _, owner in _importers()}


def _importers() -> "list[tuple[str, int | None]]":
    """The modules that are being imported, and by which thread.

    Python keeps a lock for each of them, also before it is in sys.modules.
    """
    acquire_lock()  # no one is in the middle of making one
    try:
        locks = [(name, find()) for name, find in list(_module_locks.items())]
    finally:
        release_lock()
    ours = [(name, lock) for name, lock in locks if name.startswith(_OURS)]
    return [(name, lock.owner) for name, lock in ours if lock is not None]


def _before() -> None:
    me = get_ident()
    _forking.add(me)
    latest = monotonic() + _LONGEST_WAIT
    while monotonic() < latest:
        others = [thread for thread in list(_loading) if thread != me]
        if not others and not _importing() - {me}:
            return
        sleep(_PAUSE)


def _after_in_parent() -> None:
    _forking.discard(get_ident())


def _after_in_child() -> None:
    me = get_ident()
    _forking.clear()
    for notes in _by_thread:
        for thread in list(notes):
            if thread != me:
                notes.pop(thread, None)
    for name, owner in _importers():
        if owner != me:
            _forget(name)


def _forget(name: str) -> None:
    """Gives up an import whose thread is not in this process; its lock is held for ever."""
    _module_locks.pop(name, None)
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if getattr(spec, "_initializing", False):
        del sys.modules[name]


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
