"""Engines: what carries the messages of a session. Four functions each.

    start(workers)        begins so many, and gives their numbers
    send(worker, frames)  hands frames over and does not wait for an answer
    close()               ends all of them
    on_message(receive)   has receive(worker, frames) called, on any thread, for what comes back;
                          with Ended in place of frames for a worker that ended, and with Joined
                          for a new one that the engine began in place of one

An engine places workers and begins them again as it is used to; Opyard neither schedules nor
listens. On a worker, whatever the engine runs there makes a `worker.Worker`, hands it what comes,
and carries what workers send to each other.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from .wire import Frames


class Ended(NamedTuple):
    """A worker that ended by itself."""

    how: str
    """As in "was killed by SIGKILL"."""


class Joined(NamedTuple):
    """A worker that the engine has begun since the session was."""


Event = Any  # Frames, Ended or Joined
Receive = Callable[[int, Event], None]


class Engine(Protocol):
    """What a session needs of an engine. send() may be called by any thread, one a worker."""

    name: str
    loses: bool
    """Whether messages may be lost, doubled or reordered; they are kept and sent again then."""

    def start(self, workers: int) -> "Sequence[int]": ...
    def send(self, worker: int, frames: Frames) -> None: ...
    def close(self) -> None: ...
    def on_message(self, receive: Receive) -> None: ...
