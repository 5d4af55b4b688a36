"""References: a value that stays on its worker, and who still needs it.

    ref = session.remote(opyard.ops.aten.mm, x, w)    # the product stays where it is made
    session.call(opyard.ops.aten.relu, ref)           # on the worker that has it
    ref.to_here(timeout=10.0)

A value has the number of its worker and one of its own. Each process counts its Refs to a value;
the driver hears with every answer of a worker which values that worker has begun and ceased to
refer to, so that the session knows of every holder. When the last one is gone, the owner is told
with the next message to it. A call holds what it was given until it is answered, so a value is
there as long as a Ref to it is on its way.
"""

import threading
from collections import deque
from typing import Any, Protocol


class Home(Protocol):
    """What a Ref asks: the session on the driver, the worker on a worker."""

    counts: "Counts"

    def is_owner(self, ref: "Ref") -> bool: ...
    def local_value(self, ref: "Ref") -> Any: ...
    def fetch(self, ref: "Ref", timeout: "float | None") -> Any: ...
    def future_of(self, ref: "Ref") -> Any: ...


class Ref:
    """A value on a worker of a session. Made by Session.remote() and put(), and by put()."""

    __slots__ = ("__weakref__", "_home", "number", "owner")

    def __init__(self, home: Home, owner: int, number: int) -> None:
        self._home = home
        self.owner: int = owner
        self.number: int = number
        home.counts.created(owner, number)

    def __del__(self) -> None:
        home = getattr(self, "_home", None)
        if home is not None:
            home.counts.dropped.append((self.owner, self.number))

    @property
    def is_owner(self) -> bool:
        """Whether its value is in this process."""
        return self._home.is_owner(self)

    def local_value(self) -> Any:
        """The value itself, on its owner. Raises RuntimeError elsewhere."""
        return self._home.local_value(self)

    def to_here(self, timeout: "float | None" = None) -> Any:
        """A copy of the value; the value itself on its owner.

        Waits until the value is there, at most `timeout` seconds: then it is TimeoutError. Raises
        what the call raised that was to make the value, and WorkerLost if its worker has ended.
        """
        return self._home.fetch(self, timeout)

    def future(self) -> Any:
        """A Future that completes when the value is set: with None, or with what was raised."""
        return self._home.future_of(self)

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: a reference travels as an argument or a result of a "
            "call of its session, and nowhere else"
        )

    def __repr__(self) -> str:
        return f"<opyard.remote.Ref {self.number} on worker {self.owner}>"


class Counts:
    """How many Refs to each value a process has.

    Threads: Refs die on any thread, wherever a collection happens, so their end only appends to
    `dropped`; everything else is guarded by the lock.
    """

    def __init__(self) -> None:
        self.dropped: deque[tuple[int, int]] = deque()
        self._lock = threading.Lock()
        self._counts: dict[tuple[int, int], int] = {}
        self._changes: dict[tuple[int, int], int] = {}

    def created(self, owner: int, number: int) -> None:
        key = (owner, number)
        with self._lock:
            count = self._counts.get(key, 0)
            self._counts[key] = count + 1
            if count == 0:
                self._change(key, 1)

    def changes(self) -> "list[tuple[int, int, int]]":
        """(owner, number, 1) for a value referred to since the last time, -1 for one no longer, and
        0 for one that came and went meanwhile."""
        with self._lock:
            while self.dropped:
                key = self.dropped.popleft()
                self._counts[key] -= 1
                if self._counts[key] == 0:
                    del self._counts[key]
                    self._change(key, -1)
            changes = self._changes.items()
            found = [(*key, by) for key, by in changes if by or key not in self._counts]
            self._changes.clear()
        return found

    def _change(self, key: "tuple[int, int]", by: int) -> None:
        self._changes[key] = self._changes.get(key, 0) + by

    def __len__(self) -> int:
        return len(self._counts)


DRIVER = -1


class Holders:
    """Who refers to each value of a session's workers. Guarded by the session's lock."""

    def __init__(self) -> None:
        self._holders: dict[tuple[int, int], set[int]] = {}

    def apply(self, holder: int, changes: "list[tuple[int, int, int]]") -> "list[tuple[int, int]]":
        """Takes over what a process says of itself. Gives the values that no one needs now."""
        unneeded = []
        for owner, number, change in changes:
            key = (owner, number)
            holders = self._holders.setdefault(key, set())
            if change > 0:
                holders.add(holder)
                continue
            holders.discard(holder)
            if not holders:
                del self._holders[key]
                unneeded.append(key)
        return unneeded

    def forget(self, worker: int) -> "list[tuple[int, int]]":
        """Takes a worker that has ended out of everything; as apply()."""
        unneeded = []
        for key, holders in list(self._holders.items()):
            holders.discard(worker)
            if key[0] == worker:
                del self._holders[key]
            elif not holders:
                del self._holders[key]
                unneeded.append(key)
        return unneeded

    def __len__(self) -> int:
        return len(self._holders)
