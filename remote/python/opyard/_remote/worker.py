"""A worker: applies the messages of its session in order, whichever engine brings them.

Threads. The engine's hand over messages by receive() and deliver() and never wait. One thread, that
of run(), applies the driver's messages one after the other. What other workers ask for, and word of
workers that have ended, is answered on the engine's threads, so that a call which waits for
another worker does not keep that one waiting.
"""

import itertools
import pickle
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from .. import _blocks
from .._C import OpOverloadPacket, Tensor
from . import block_runs, failures, lacks, pickling, wire
from .block_runs import Failed, raise_failed
from .group import Group, Mailbox
from .link import Link, Packet
from .references import Counts, Ref
from .things import Table

_LACKS = (
    "This worker lacks what the message names: operators that Python defines are to be defined on "
    "each worker, by the function that session(setup=) is given; modules and packages are to be "
    "the same there"
)
Reply = Callable[[wire.Frames], None]

_current: "list[Worker]" = []


def current() -> "Worker":
    """The worker that this process is. Raises RuntimeError if it is none."""
    if not _current:
        raise RuntimeError(
            "this process is no worker of a session: call this in a function that a session runs"
        )
    return _current[-1]


class Worker:
    """What an engine runs in each of its processes. `send` hands frames to another worker."""

    def __init__(self, send: "Callable[[int, wire.Frames], None]", *, keeps: bool = False) -> None:
        self.number = -1  # the driver says it
        self.counts = Counts()
        self._send = send
        self._keeps = keeps  # what the carrier may lose
        self._lock = threading.Lock()  # of the link and of the replies
        self._link: Link[wire.Frames] = Link(keeps=keeps)
        self._replies: dict[int, Reply] = {}
        self._due: queue.SimpleQueue[wire.Frames | None] = queue.SimpleQueue()
        self._table = Table(pickling.loads)
        self._values: dict[int, Any] = {}
        self._values_changed = threading.Condition()
        self._asked: dict[int, list[tuple[int, int]]] = {}  # value: who, under which ticket
        self._tickets = itertools.count(1)
        self._answers: dict[int, list] = {}  # guarded by _values_changed
        self._own = itertools.count(-1, -1)  # numbers of values that calls here keep
        self.mailbox = Mailbox()
        self.group: Group | None = None
        self._recorder: Any = None  # of a profile

    # What the engine calls.

    def receive(self, frames: wire.Frames, reply: Reply) -> None:
        """A message of the driver; `reply` is called with the frames of the answer."""
        number, applied = wire.read_envelope(frames[0])
        if number == 0 and len(frames) > 1:
            self._control(self._unpack(frames[1:]))
            return
        with self._lock:
            if number > self._link.sent:  # else it was answered, and nothing would take this away
                self._replies[number] = reply
            due = self._link.incoming(Packet(number, applied, frames if number else None))
            again = [each for each in self._link.again() if number in (0, each.number)]
            known = self._link.applied
        for each in due:
            self._due.put(each)
        for packet in again:
            self._reply(reply, packet)
        if self._keeps and not again and not due:
            reply([wire.envelope(0, known)])  # it was here before, and is being applied

    def deliver(self, frames: wire.Frames) -> None:
        """A message of another worker."""
        message = self._unpack(frames)
        if message[0] == "chunk":
            self.mailbox.put(message[1], message[2])
        elif message[0] == "fetch":
            _, sender, ticket, number = message
            with self._values_changed:
                if number not in self._values:
                    self._asked.setdefault(number, []).append((sender, ticket))
                    return
            self._give(number, sender, ticket)
        else:
            _, ticket, is_good, value = message
            with self._values_changed:
                self._answers[ticket] = [is_good, value]
                self._values_changed.notify_all()

    def close(self) -> None:
        """Ends run() after what is queued."""
        self._due.put(None)

    def run(self) -> None:
        """Applies messages until close()."""
        _current.append(self)
        try:
            self._apply_all()
        finally:
            _current.remove(self)

    def _apply_all(self) -> None:
        while (frames := self._due.get()) is not None:
            answer = self._apply(frames[1:])
            with self._lock:
                packet = self._link.outgoing(answer)
                reply = self._replies.pop(packet.number, None)
            if reply is not None:
                self._reply(reply, packet)
            del frames, answer, packet, reply  # a value must not live until the next message

    def _reply(self, reply: Reply, packet: Packet) -> None:
        assert packet.message is not None
        envelope = wire.envelope(packet.number, packet.applied)
        try:
            reply([envelope, *packet.message])
        except MemoryError as error:
            described = failures.describe(error, self.number, "sending a result", None)
            reply([envelope, *self._pack((0.0, "error", described))])

    # Messages of the driver.

    def _apply(self, frames: wire.Frames) -> wire.Frames:
        """Runs one message, and packs its answer: how long it took, what it is, and the value."""
        started = time.perf_counter()
        kind, drops, keep, label, position = pickle.loads(frames[0])
        self._drop(drops)
        try:
            answer = getattr(self, f"_on_{kind}")(*self._body(frames[1:]))
            if type(keep) is int:
                self._set(keep, answer)
                answer = None
            took = time.perf_counter() - started
            return self._pack((took, "value", answer), label)
        except BaseException as error:
            if type(keep) is int:
                self._set(keep, Failed(error))
            elif keep is not None:
                self._fail_block(keep, error)
            took = time.perf_counter() - started
            label = getattr(error, "_operator", label)
            described = failures.describe(error, self.number, label, position)
            return self._pack((took, "error", described))

    def _on_call(self, function: Any, args: tuple, kwargs: "dict[str, Any]", group: Any) -> Any:
        try:
            if group is not None:
                number, members = group
                self.group = Group(number, members, self.number, self.mailbox, self._send_to)
            args = tuple(self._arrived(each) for each in args)
            kwargs = {name: self._arrived(each) for name, each in kwargs.items()}
            return _called(function, args, kwargs)
        finally:
            if group is not None:
                self.mailbox.close_group(group[0])
                self.group = None

    def _on_hello(self, number: int, needed: Any, threads: "int | None", setup: Any) -> Any:
        from .._core.threads import set_num_threads

        self.number = number
        found = lacks.find_lacks(needed)
        if not found:
            if threads is not None:
                set_num_threads(threads)
            if setup is not None:
                setup()
        return found

    def _on_put(self, value: Any) -> Any:
        return value

    def _on_get(self, number: int) -> Any:
        value = self._values[number]
        if isinstance(value, Failed):
            raise_failed(value)
        return value

    def _on_block(
        self,
        code: Any,
        inputs: "list[Any]",
        refs: bytes,
        outputs: bytes,
        expected: bytes,
        tail: Any,
        forget: "list[str]",
    ) -> Any:
        """Runs a block of recorded calls; see block_runs.py."""
        numbers = block_runs.words(outputs)
        self._table.forget(forget)
        places = block_runs.words(refs)
        named = dict(zip(places[::2], places[1::2], strict=True))
        for position, number in named.items():
            inputs[position] = self._values[number]
        values, spoiled = block_runs.run(code, inputs, expected)
        for number, value in zip(numbers, values, strict=True):
            if number:
                self._set(number, value)
        for position, failed in spoiled.items():
            if position in named:
                self._set(named[position], failed)
        if tail is None:
            return None
        if type(tail) is int:
            given = block_runs.filled(block_runs.Output(tail), values)
            return [_blocks.elements(given) or ("value", given)]
        function, args, kwargs, first = tail
        args = [block_runs.filled(each, values) for each in args]
        kwargs = {name: block_runs.filled(each, values) for name, each in kwargs.items()}
        results = block_runs.results_of(function, function(*args, **kwargs))
        return block_runs.answers_of(results, first, self._set)

    def _on_fail(self, outputs: bytes, described: Any) -> None:
        """A block could not be sent: its values are the error of that."""
        self._fail_block(outputs, failures.rebuild(described))

    def _fail_block(self, outputs: bytes, error: BaseException) -> None:
        """Those of its values that are not there become the error."""
        for number in block_runs.words(outputs):
            if number and number not in self._values:
                self._set(number, Failed(error))

    def _on_have(self, number: int) -> None:
        self._on_get(number)

    def _on_drop(self) -> None:
        """The drops that came with it were the message."""

    def _on_clock(self) -> int:
        return time.time_ns()

    def _on_profile(self, on: bool, options: "dict[str, Any]") -> "bytes | None":
        from .timeline import Recorder

        if not on:
            return (self._recorder or Recorder()).stop()
        self._recorder = Recorder()
        return self._recorder.start(options)

    def _control(self, message: tuple) -> None:
        """A message without a number, which does no harm if it is lost or comes twice."""
        if message[0] == "gone":
            self.mailbox.gone(message[1])
            with self._values_changed:
                for answer in self._answers.values():
                    if answer[0] is None and answer[1] == message[1]:
                        answer[0] = "gone"
                self._values_changed.notify_all()

    # Values.

    def _arrived(self, value: Any) -> Any:
        """An argument: of a reference its value."""
        return self.fetch(value, None) if type(value) is Ref else value

    def _set(self, number: int, value: Any) -> None:
        with self._values_changed:
            self._values[number] = value
            asked = self._asked.pop(number, ())
            self._values_changed.notify_all()
        for sender, ticket in asked:
            self._give(number, sender, ticket)

    def _drop(self, numbers: "list[int]") -> None:
        with self._values_changed:
            dropped = [self._values.pop(number, None) for number in numbers]
        del dropped  # here, not under the lock: their ends may run anything

    def _give(self, number: int, receiver: int, ticket: int) -> None:
        value = self._values[number]
        if isinstance(value, Failed):
            described = failures.describe(value.error, self.number, f"value {number}", None)
            self._send_to(receiver, ("answer", ticket, False, described))
            return
        try:
            self._send_to(receiver, ("answer", ticket, True, value))
        except Exception as error:
            described = failures.describe(error, self.number, f"value {number}", None)
            self._send_to(receiver, ("answer", ticket, False, described))

    def put(self, value: Any) -> Ref:
        number = next(self._own)
        self._set(number, value)
        return Ref(self, self.number, number)

    # What a Ref asks.

    def is_owner(self, ref: Ref) -> bool:
        return ref.owner == self.number

    def local_value(self, ref: Ref) -> Any:
        if ref.owner != self.number:
            raise RuntimeError(
                f"{ref!r}: local_value() is for its owner, and this is worker {self.number}; "
                "to_here() copies the value"
            )
        return self.fetch(ref, None)

    def future_of(self, ref: Ref) -> Any:
        raise RuntimeError(f"{ref!r}: a future of it is to be had on the driver")

    def fetch(self, ref: Ref, timeout: "float | None") -> Any:
        deadline = None if timeout is None else time.monotonic() + timeout
        if ref.owner == self.number:
            value = self._own_value(ref, deadline, timeout)
            if isinstance(value, Failed):
                raise_failed(value)
            return value
        ticket = next(self._tickets)
        with self._values_changed:
            self._answers[ticket] = [None, ref.owner]
        self._send_to(ref.owner, ("fetch", self.number, ticket, ref.number))
        with self._values_changed:
            try:
                while self._answers[ticket][0] is None:
                    self._wait(ref, deadline, timeout)
                is_good, value = self._answers[ticket]
            finally:
                del self._answers[ticket]
        if is_good == "gone":
            raise failures.lost(ref.owner, f"has ended, and with it the value of {ref!r}")
        if not is_good:
            raise failures.rebuild(value)
        return value

    def _own_value(self, ref: Ref, deadline: "float | None", timeout: "float | None") -> Any:
        with self._values_changed:
            while ref.number not in self._values:
                self._wait(ref, deadline, timeout)
            return self._values[ref.number]

    def _wait(self, ref: Ref, deadline: "float | None", timeout: "float | None") -> None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError(f"{ref!r}: its value was not there after {timeout} s")
        self._values_changed.wait(left)

    # Frames.

    def _unpack(self, frames: wire.Frames) -> Any:
        return pickling.unpack(
            frames, table=self._table, ref=lambda owner, number: Ref(self, owner, number)
        )

    def _body(self, frames: wire.Frames) -> Any:
        """What a message is about. Raises LookupError for what this worker has not."""
        try:
            return self._unpack(frames)
        except (AttributeError, LookupError, RuntimeError, ValueError) as error:
            raise LookupError(f"{error}. {_LACKS}") from error

    def _pack(self, answer: tuple, label: str = "a call") -> wire.Frames:
        """An answer behind what has changed of this worker's references."""
        try:
            frames = self._pack_answer(answer, label)
        except Exception as error:
            described = failures.describe(error, self.number, "sending a result", None)
            frames, _ = pickling.pack((answer[0], "error", described), check=self._accept)
        changes, _ = pickling.pack(self.counts.changes(), check=self._accept)
        return [changes[0], *frames]

    def _pack_answer(self, answer: tuple, label: str) -> wire.Frames:
        try:
            return pickling.pack(answer, check=self._accept)[0]
        except pickling.UNSENDABLE as error:
            pickling.refuse(f"the result of {label}", error)

    def _send_to(self, worker: int, message: tuple) -> None:
        frames, _ = pickling.pack(message, check=self._accept)
        self._send(worker, frames)

    def _accept(self, ref: Ref) -> None:
        if ref._home is not self:
            raise RuntimeError(f"{ref!r} is of another session")


def _called(function: Any, args: tuple, kwargs: "dict[str, Any]") -> Any:
    """The result of a call; what an operator writes into is copied first, if it is read-only."""
    written = _written(function, args, kwargs)
    if written:
        args = tuple(
            _copied(each) if position in written else each for position, each in enumerate(args)
        )
        kwargs = {k: _copied(each) if k in written else each for k, each in kwargs.items()}
    return function(*args, **kwargs)


def _written(function: Any, args: tuple, kwargs: "dict[str, Any]") -> "set[int | str]":
    """Positions and names of what an operator writes into."""
    if isinstance(function, OpOverloadPacket):
        try:
            function = function._resolve(*args, **kwargs)
        except TypeError:
            return set()  # the call itself says why no overload takes it
        except RuntimeError as error:  # there are none
            raise LookupError(f"{error}. {_LACKS}") from error
    schema = getattr(function, "_schema", None)
    found: set[int | str] = set()
    for position, argument in enumerate(schema.arguments if schema is not None else ()):
        if argument.is_write:
            found.update((argument.name,) if argument.kwarg_only else (argument.name, position))
    return found


def _copied(value: Any) -> Any:
    """A value, or a copy of a tensor that is on memory which is read-only."""
    if not isinstance(value, Tensor) or not memoryview(value._bytes()).readonly:
        return value
    return value.clone()
