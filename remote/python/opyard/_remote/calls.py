"""Requests to workers: numbering, sending, answers, time limits, and the end of a worker.

A `Connection` is what a session has of one worker. Its lock covers the numbering and the sending of
a message, so that messages leave in the order of their numbers; the engine's threads take it for a
moment when an answer comes. Futures are completed under no lock: what waits for them may do as it
likes.
"""

import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

from .._C import Future
from . import failures, pickling, wire
from .link import Link, Packet
from .references import Ref
from .things import Table


def label_of(function: Any) -> str:
    """What a call is called in messages and tables."""
    name = getattr(function, "name", None)
    if callable(name):  # of an operator
        try:
            return str(name())
        except TypeError:
            pass
    for attribute in ("qualified_name", "__qualname__", "__name__"):
        name = getattr(function, attribute, None)
        if isinstance(name, str):
            return name
    return type(function).__name__


def limit_of(what: str, timeout: Any, usual: "float | None") -> "float | None":
    """A time limit in seconds, or the usual one. Raises ValueError for what is none."""
    if timeout is None:
        return usual
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not is_number or not timeout > 0:
        raise ValueError(f"{what}: timeout must be a number of seconds above 0, not {timeout!r}")
    return timeout


class Request:
    """A message to a worker that waits for its answer."""

    __slots__ = (
        "__weakref__",
        "asked",
        "deadline",
        "defined",
        "future",
        "label",
        "limit",
        "refs",
        "sent_at",
        "size",
    )

    def __init__(self, label: str, limit: "float | None") -> None:
        self.future: Future = Future()
        self.label = label
        self.limit = limit
        self.deadline = float("inf")
        self.refs: list[Ref] = []  # what it was given lives until it is answered
        self.defined: list[str] = []
        self.sent_at = self.asked = 0.0  # and for how long it was asked for
        self.size = 0


def fail(future: Future, error: BaseException) -> None:
    """Completes a future, unless its user has cancelled it or its time was up."""
    try:
        if not future.done():
            future.set_exception(error)
    except RuntimeError:  # between the two
        pass


def expire(request: "Request | None", worker: int) -> None:
    """Fails a request whose time is up, if it is still wanted and not answered."""
    if request is not None and not request.future.done():
        fail(
            request.future,
            TimeoutError(
                f"{request.label} on worker {worker} gave no result in {request.limit:g} s; it may "
                "still run there, and what follows on that worker waits for it"
            ),
        )


class Statistics:
    """What a session has seen of a worker."""

    def __init__(self) -> None:
        self.calls = self.errors = 0
        self.bytes_out = self.bytes_in = 0
        self.busy = self.waited = 0.0  # seconds: what the worker says, and until the answer


class Connection:
    """One worker, as its session sees it."""

    def __init__(
        self, number: int, send: "Callable[[int, wire.Frames], None]", keeps: bool
    ) -> None:
        self.number = number
        self.statistics = Statistics()
        self.ended: failures.WorkerLost | None = None
        self.is_ready = False
        self._send = send
        self._lock = threading.Lock()
        self._link: Link[wire.Frames] = Link(keeps=keeps)
        self._waiting: dict[int, Request] = {}
        self._known: set[str] = set()
        self._drops: list[int] = []

    @property
    def load(self) -> int:
        """How many requests it has not answered."""
        return len(self._waiting)

    @property
    def known(self) -> "set[str]":
        """The hashes of what the worker has."""
        with self._lock:
            return set(self._known)

    def waits_to_drop(self) -> bool:
        return bool(self._drops)

    def drop(self, number: int) -> None:
        """Tells the worker, with the next message, that no one needs a value."""
        with self._lock:
            self._drops.append(number)

    def request(
        self,
        kind: str,
        body: tuple,
        request: Request,
        *,
        check: "Callable[[Ref], None]",
        keep: "int | None" = None,
        position: "int | None" = None,
    ) -> Request:
        """Sends a message. Raises what pickling it raises, and WorkerLost."""
        # Not under the lock, since pickling runs what it finds. What is known was sent before.
        try:
            packed, pickler = pickling.pack(body, known=self._known, check=check)
        except pickling.UNSENDABLE as error:
            pickling.refuse(f"what is given to {request.label}", error)
        request.refs, request.defined = pickler.refs, pickler.defined
        with self._lock:
            if self.ended is not None:
                raise self.ended
            drops, self._drops = self._drops, []
            header = pickle.dumps((kind, drops, keep, request.label, position), 5)
            packet = self._link.outgoing([header, *packed])
            frames = [wire.envelope(packet.number, packet.applied), header, *packed]
            request.sent_at = time.monotonic()
            request.size = wire.total(frames)
            self._waiting[packet.number] = request
            try:
                self._send(self.number, frames)
            except BaseException:
                # It has a number and was not sent: the link would wait for it for ever.
                del self._waiting[packet.number]
                self._link.withdraw(packet.number)
                self._drops += drops
                raise
            self._known.update(pickler.defined)
            self.statistics.calls += 1
            self.statistics.bytes_out += request.size
        return request

    def tell(self, message: tuple) -> None:
        """Sends a message without a number, which may be lost."""
        frames, _ = pickling.pack(message)
        if self.ended is None:
            self._send(self.number, [wire.envelope(0, 0), *frames])

    def receive(self, frames: wire.Frames) -> "list[tuple[Request, wire.Frames]]":
        """What a message answers. The engine's threads call it."""
        number, applied = wire.read_envelope(frames[0])
        with self._lock:
            self.statistics.bytes_in += wire.total(frames)
            message = frames[1:] if number else None
            before = self._link.applied
            due = self._link.incoming(Packet(number, applied, message))
            found = []
            for each in due:
                before += 1
                # An answer has the number of its request; see Worker.run().
                request = self._waiting.pop(before, None)
                if request is not None:
                    found.append((request, each))
        return found

    def send_again(self, after: float) -> None:
        """Sends what was not answered in so many seconds again, over an engine that loses."""
        with self._lock:
            if self.ended is not None:
                return
            late = time.monotonic() - after
            again = {packet.number: packet for packet in self._link.again()}
            is_asked = False
            for number, request in self._waiting.items():
                if request.sent_at + request.asked > late:
                    continue
                request.asked += after
                packet = again.get(number)
                if packet is not None and packet.message is not None:
                    envelope = wire.envelope(number, packet.applied)
                    self._send(self.number, [envelope, *packet.message])
                elif not is_asked:
                    # It was applied, or is: the answer may be what was lost.
                    is_asked = True
                    self._send(self.number, [wire.envelope(0, self._link.applied)])

    def late(self, now: float) -> "list[Request]":
        """The requests whose time is up, and that no one was told of yet."""
        with self._lock:
            waiting = list(self._waiting.values())
        return [each for each in waiting if each.deadline <= now and not each.future.done()]

    def forget(self, defined: "list[str]") -> None:
        """The worker could not read a message, so it may not know what was defined in it."""
        with self._lock:
            self._known.difference_update(defined)

    def end(self, lost: failures.WorkerLost) -> "list[Request]":
        """Takes no more. Gives the requests that will not be answered."""
        with self._lock:
            self.ended = lost
            waiting = list(self._waiting.values())
            self._waiting.clear()
        return waiting


def read(frames: wire.Frames, ref: "Callable[[int, int], Ref]") -> "tuple[float, str, Any]":
    """How long a worker took for an answer, what it is, and the value."""
    return pickling.unpack(frames, table=Table(pickling.loads), ref=ref)


def read_changes(frame: wire.Frame) -> "list[tuple[int, int, int]]":
    return pickle.loads(frame)
