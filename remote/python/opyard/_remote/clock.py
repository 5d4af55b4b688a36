"""Deadlines of a session: one thread that calls what is due."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Clock:
    """Calls functions at times, and one at each tick."""

    def __init__(self, tick: "Callable[[], None]", every: float) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._tick, self._every = tick, every
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="opyard-remote-clock", daemon=True)
        self._thread.start()

    def at(self, when: float, function: "Callable[[], None]") -> None:
        """Calls a function at a time of time.monotonic(), on the clock's thread."""
        with self._changed:
            is_next = not self._due or when < self._due[0][0]
            heapq.heappush(self._due, (when, next(self._numbers), function))
            if is_next:
                self._changed.notify()

    def _run(self) -> None:
        next_tick = time.monotonic() + self._every
        while True:
            with self._changed:
                while not self._closed:
                    when = min(next_tick, self._due[0][0] if self._due else next_tick)
                    left = when - time.monotonic()
                    if left <= 0:
                        break
                    self._changed.wait(left)
                if self._closed:
                    return
                now = time.monotonic()
                functions = []
                while self._due and self._due[0][0] <= now:
                    functions.append(heapq.heappop(self._due)[2])
            if next_tick <= now:
                functions.append(self._tick)
                next_tick = now + self._every
            for function in functions:
                function()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._due.clear()
            self._changed.notify()
        if self._thread is not threading.current_thread():
            self._thread.join(5.0)
