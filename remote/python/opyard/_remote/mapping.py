"""A map over shards: a window of them on their way, and what is repeated when a worker ends."""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._C import Future
from . import failures, pickling
from .calls import label_of

WORKERS_A_SHARD = 3  # that may end while they run it: then it is the shard that ends them


class _Shard:
    __slots__ = ("future", "lost", "position", "value")

    def __init__(self, position: int, value: Any) -> None:
        self.position, self.value = position, value
        self.lost = 0
        self.future: Future | None = None


class Mapping:
    """One map of a session. Run by the thread that takes its results."""

    def __init__(
        self,
        session: Any,
        function: "Callable[..., Any]",
        shards: "Iterable[Any]",
        *,
        window: "int | None",
        ordered: bool,
        limit: "float | None",
        progress: "Callable[[int, int | None], object] | bool",
    ) -> None:
        if window is not None and (not isinstance(window, int) or window < 1):
            raise ValueError(f"map: window must be a number of shards above 0, not {window!r}")
        if not isinstance(shards, Iterable):
            raise TypeError(f"map: shards must be iterable, not {type(shards).__name__} {shards!r}")
        self._session = session
        self._function = pickling.describe_callable(function)
        self._label = label_of(function)
        self._shards = shards
        self._window = window
        self._ordered = ordered
        self._limit = limit
        self._progress = _line if progress is True else progress or None
        self._count = len(shards) if hasattr(shards, "__len__") else None
        self._done: deque[_Shard] = deque()  # in the order in which they came
        self._came = threading.Condition()

    def run(self) -> "Iterator[Any]":
        waiting = enumerate(self._shards)
        held: dict[int, _Shard] = {}  # on their way, or done and not taken
        finished: dict[int, _Shard] = {}
        done = taken = 0
        is_over = False
        while True:
            while not is_over and len(held) < self._window_now():
                found = next(waiting, None)
                if found is None:
                    is_over = True
                    break
                held[found[0]] = shard = _Shard(*found)
                self._send(shard)
            if not held:
                return
            if self._ordered and taken in finished:
                shard = finished.pop(taken)
            else:
                shard = self._next()
                if self._is_lost(shard):
                    self._send(shard)
                    continue
                done += 1
                if self._progress is not None:
                    self._progress(done, self._count)
                if self._ordered and shard.position != taken:
                    finished[shard.position] = shard
                    continue
            assert shard.future is not None
            value = shard.future.value()
            del held[shard.position]
            taken += 1
            del shard
            yield value

    def _window_now(self) -> int:
        return self._window or 2 * max(1, len(self._session.workers))

    def _send(self, shard: _Shard) -> None:
        while True:
            try:
                request = self._session._call(
                    self._function,
                    (shard.value,),
                    {},
                    self._label,
                    limit=self._limit,
                    position=shard.position,
                )
                break
            except failures.WorkerLost as error:
                if not self._session.workers:
                    raise failures.WorkerLost(
                        f"map: shard {shard.position} of {self._label} was not run, since all "
                        "workers of this session have ended; open another session"
                    ) from (shard.future.exception() if shard.future else error)
        shard.future = request.future
        request.future.add_done_callback(lambda _: self._put(shard))

    def _put(self, shard: _Shard) -> None:
        assert shard.future is not None
        shard.future.exception()  # seen, also if no one takes what comes behind another exception
        with self._came:
            self._done.append(shard)
            self._came.notify()

    def _next(self) -> _Shard:
        with self._came:
            while not self._done:
                self._came.wait(1.0)  # so that Ctrl-C is heard
            return self._done.popleft()

    def _is_lost(self, shard: _Shard) -> bool:
        """Whether it has to run again. Raises WorkerLost if that has been tried often enough."""
        assert shard.future is not None
        error = shard.future.exception()
        if not isinstance(error, failures.WorkerLost):
            return False
        shard.lost += 1
        if shard.lost >= WORKERS_A_SHARD:
            raise failures.WorkerLost(
                f"map: shard {shard.position} of {self._label} has ended {shard.lost} workers, "
                f"the last of which {error.how}"
            ) from error
        return True


def _line(done: int, count: "int | None") -> None:
    of = "" if count is None else f" of {count}"
    end = "\n" if done == count else ""
    sys.stderr.write(f"\r{done}{of} shards{end}")
    sys.stderr.flush()
