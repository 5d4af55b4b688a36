"""Sessions: workers over an engine, and calls that run on them.

[Threads] Any thread may call. The engine's threads bring answers, the clock's thread ends what has
taken too long; both complete futures, and hold no lock then.

[Ends] A worker that ends fails what it was asked and had not answered, and nothing else. The
session goes on with those that live, and takes in those that the engine begins again.
"""

import atexit
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._C import Future
from . import calls, engines, failures, lacks, pickling, tensors, wire
from . import table as tables
from .calls import Connection, Request, expire, fail, label_of
from .clock import Clock
from .mapping import Mapping
from .references import DRIVER, Counts, Holders, Ref

_TICK = 0.25  # seconds: how long a value that no one needs stays if nothing else is sent
_SOON = 4.0  # seconds: what ends sooner is ended to the moment, and not at the next tick
_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for session in list(_sessions):
        session.close()


class Session:
    """Workers, and what is asked of them. Made by session(); a context manager, which closes it."""

    def __init__(
        self,
        engine: engines.Engine,
        *,
        workers: int,
        timeout: "float | None",
        start_timeout: float,
        send_plugins: bool,
        setup: "Callable[[], object] | None",
        threads: "int | None",
        retry: float,
    ) -> None:
        self.counts = Counts()
        self._engine = engine
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._retry = retry
        self._setup = None if setup is None else pickling.describe_callable(setup)
        self._send_plugins = send_plugins
        self._threads = threads
        self._lock = threading.RLock()  # of the fields below
        self._connections: dict[int, Connection] = {}
        self._changed = threading.Condition(self._lock)
        self._holders = Holders()
        self._unset: dict[tuple[int, int], Future] = {}  # of values that are not there yet
        self._numbers = itertools.count(1)
        self._groups = itertools.count(1)
        self._turn = itertools.count()
        self._tensors = tensors.Tensors(self)
        self._process = os.getpid()
        self._closed = False
        self._clock: Clock | None = None
        engine.on_message(self._on_message)
        try:
            self._start(workers)
        except BaseException:
            self.close()
            raise
        _sessions.add(self)
        tensors.note_opened(self)

    # Starting and ending.

    def _start(self, workers: int) -> None:
        self._clock = Clock(self._tick, min(_TICK, self._retry / 2))
        with self._lock:
            for number in self._engine.start(workers):
                self._connections[number] = self._connect(number)
            connections = list(self._connections.values())
        needed = lacks.needs(send_plugins=self._send_plugins)
        try:
            greetings = {each.number: self._greet(each, needed) for each in connections}
            found = {n: self._greeted(n, greeting) for n, greeting in greetings.items()}
        except failures.WorkerLost as lost:
            raise RuntimeError(
                f"session: worker {lost.worker} {lost.how} while it started; what it wrote "
                "to the standard error says why, such as that it cannot import opyard"
            ) from lost
        if any(found.values()):
            raise RuntimeError(lacks.refusal(self._engine.name, found))
        with self._changed:
            for each in connections:
                each.is_ready = each.ended is None

    def _connect(self, number: int) -> Connection:
        return Connection(number, self._engine.send, self._engine.loses)

    def _greet(self, connection: Connection, needed: "dict[str, Any]") -> Request:
        body = (connection.number, needed, self._threads, self._setup)
        request = Request("the start", None)
        return connection.request("hello", body, request, check=self._check)

    def _greeted(self, number: int, greeting: Request) -> Any:
        try:
            return greeting.future.wait(self._start_timeout)
        except TimeoutError:
            raise RuntimeError(
                f"session: worker {number} over {self._engine.name} has not answered in "
                f"{self._start_timeout:g} s; start_timeout= gives it longer"
            ) from None

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers. What was not answered fails with SessionClosed. Again does nothing."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._tensors.close()
        if self._clock is not None:
            self._clock.close()
        self._engine.close()
        closed = failures.SessionClosed("the session was closed before this was answered")
        for connection in list(self._connections.values()):
            lost = failures.lost(connection.number, "is of a session that has ended")
            for request in connection.end(lost):
                fail(request.future, closed)
                request.future.exception()  # seen: who closes a session knows

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self.workers)} workers"
        return f"<opyard.remote.Session over {self._engine.name}, {state}>"

    @property
    def workers(self) -> "list[int]":
        """The numbers of the workers that live. One that the engine begins again has a new one."""
        with self._lock:
            return [n for n, each in self._connections.items() if each.is_ready]

    # Calls.

    def call(
        self,
        function: "Callable[..., Any]",
        *args: Any,
        timeout: "float | None" = None,
        worker: "int | None" = None,
        repeat: bool = False,
        **kwargs: Any,
    ) -> Any:
        """The result of a call on a worker.

        `function` is a function, an operator, a graph, compiled code, a compiled function or a
        Model; it travels once. A Ref among the arguments arrives as its value. Without a `worker`
        it is the one that has most of the Refs, else the one with the least to do.

        Raises what the call raises, of the same class, with `remote` that says where; TimeoutError
        after `timeout` seconds (the worker goes on with it); WorkerLost if the worker ends, unless
        `repeat` says that it may run twice: then it runs on another one.
        """
        made = self.call_async(
            function, *args, timeout=timeout, worker=worker, repeat=repeat, **kwargs
        )
        return made.wait()

    def call_async(
        self,
        function: "Callable[..., Any]",
        *args: Any,
        timeout: "float | None" = None,
        worker: "int | None" = None,
        repeat: bool = False,
        **kwargs: Any,
    ) -> Future:
        """call() that gives a Future at once: `await` it, or wait() for it."""
        described = pickling.describe_callable(function)
        limit = calls.limit_of("call", timeout, self._timeout)
        label = label_of(function)
        if not repeat:
            return self._call(described, args, kwargs, label, worker=worker, limit=limit).future
        made: Future = Future()
        self._call_until(made, described, args, kwargs, label, worker, limit)
        return made

    def _call_until(
        self,
        made: Future,
        described: Any,
        args: tuple,
        kwargs: "dict[str, Any]",
        label: str,
        worker: "int | None",
        limit: "float | None",
    ) -> None:
        """Calls again when the worker ends, on another one."""

        def pass_on(done: Future) -> None:
            error = done.exception()
            if isinstance(error, failures.WorkerLost) and not made.done():
                try:
                    self._call_until(made, described, args, kwargs, label, None, limit)
                except BaseException as another:
                    fail(made, another)
            elif error is not None:
                fail(made, error)
            elif not made.done():
                made.set_result(done.value())

        request = self._call(described, args, kwargs, label, worker=worker, limit=limit)
        request.future.add_done_callback(pass_on)

    def _call(
        self,
        described: Any,
        args: tuple,
        kwargs: "dict[str, Any]",
        label: str,
        *,
        worker: "int | None" = None,
        limit: "float | None" = None,
        keep: "int | None" = None,
        position: "int | None" = None,
        group: Any = None,
    ) -> Request:
        connection = self._choose(worker, (*args, *kwargs.values()))
        request = Request(label, limit)
        self._settle()
        body = (described, args, kwargs, group)
        connection.request("call", body, request, check=self._check, keep=keep, position=position)
        self._limit(request, connection.number)
        return request

    def _choose(self, worker: "int | None", values: "Iterable[Any]") -> Connection:
        """The worker of a call. Raises what says why there is none."""
        self._require_open()
        with self._lock:
            if worker is not None:
                if worker not in self._connections:
                    raise ValueError(f"there is no worker {worker!r}; there are {self.workers}")
                found = self._connections[worker]
                if found.ended is not None:
                    raise found.ended
                return found
            alive = [each for each in self._connections.values() if each.is_ready]
            if not alive:
                raise failures.WorkerLost(
                    "all workers of this session have ended; open another session"
                )
            owners = [each.owner for each in values if type(each) is Ref]
            if owners:
                most = max(owners, key=owners.count)
                if self._connections[most].is_ready:
                    return self._connections[most]
            turn = next(self._turn)
            return min(alive, key=lambda each: (each.load, (each.number - turn) % len(alive)))

    def _require_open(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this session belongs to process {self._process}; a child of fork() opens its own"
            )
        if self._closed:
            raise failures.SessionClosed("this session has ended; open another one")

    def _check(self, ref: Ref) -> None:
        """Refuses a Ref that is of no use here."""
        home: Any = ref._home
        if home is not self:
            raise ValueError(f"{ref!r} is of another session; pass what its to_here() gives")
        ended = self._connections[ref.owner].ended
        if ended is not None:
            raise failures.lost(ref.owner, f"has ended, and with it the value of {ref!r}")

    def _limit(self, request: Request, worker: int) -> None:
        """Ends a request when its time is up: soon ones by the clock, others at a tick."""
        if request.limit is None or self._clock is None:
            return
        request.deadline = time.monotonic() + request.limit
        if request.limit < _SOON:
            late = weakref.ref(request)
            self._clock.at(request.deadline, lambda: expire(late(), worker))

    def map(
        self,
        function: "Callable[..., Any]",
        shards: "Iterable[Any]",
        *,
        window: "int | None" = None,
        ordered: bool = True,
        timeout: "float | None" = None,
        progress: "Callable[[int, int | None], object] | bool" = False,
    ) -> "Iterator[Any]":
        """function(shard) for each shard, on all workers; gives the results one by one.

        At most `window` shards are on their way or wait to be taken, by default two a worker. In
        the order of the shards, or as they come. `progress` is called with how many are done and
        how many there are, if that is known, or is True for a line on the standard error. `timeout`
        is of each shard.

        A shard whose worker ends runs again on another one, so the function must bear that part of
        it runs twice. Raises the first exception of a shard, WorkerLost for one that has ended
        three workers.
        """
        self._require_open()
        return Mapping(
            self,
            function,
            shards,
            window=window,
            ordered=ordered,
            limit=calls.limit_of("map", timeout, self._timeout),
            progress=progress,
        ).run()

    def each(
        self,
        function: "Callable[..., Any]",
        items: "Iterable[Any] | None" = None,
        *,
        timeout: "float | None" = None,
    ) -> "list[Any]":
        """Runs function(item) on every worker that lives, together, an item each; gives a list.

        Without items it is function(). Inside, rank(), size() and all_reduce() are of these
        workers. Raises ValueError for another number of items than workers, and WorkerLost if one
        ends: none is repeated, since the others have waited for it.
        """
        members = self.workers
        given = [()] * len(members) if items is None else [(each,) for each in items]
        if len(given) != len(members):
            raise ValueError(
                f"each: {len(given)} items for {len(members)} workers; session.workers has those "
                "that live"
            )
        described = pickling.describe_callable(function)
        limit = calls.limit_of("each", timeout, self._timeout)
        group = (next(self._groups), members)
        requests = [
            self._call(described, args, {}, label_of(function), worker=n, limit=limit, group=group)
            for n, args in zip(members, given, strict=True)
        ]
        return self._wait_for_all(requests)

    def _wait_for_all(self, requests: "list[Request]") -> "list[Any]":
        """Results in order. Of several exceptions that of a worker which ended is the cause."""
        errors = []
        for request in requests:
            try:
                request.future.wait()
            except BaseException as error:
                if not isinstance(error, Exception):
                    raise
                errors.append(error)
        if errors:
            lost = [each for each in errors if isinstance(each, failures.WorkerLost)]
            first = [each for each in lost if not hasattr(each, "remote")]
            raise (first or lost or errors)[0]
        return [request.future.value() for request in requests]

    def table(self) -> str:
        """A line for each worker: calls, errors, bytes, how long calls ran there and took here."""
        with self._lock:
            return tables.table(list(self._connections.values()))

    def profile(self, **options: Any) -> Any:
        """A profile of this process and all workers, on one timeline: use it with `with`.

        `options` are those of opyard.profiler.profile(). Afterwards `export_chrome_trace(path)`
        writes it; `offsets` are those of the workers' clocks, and `missing` the workers of which
        there is nothing, since they ended.
        """
        from .timeline import Timeline

        return Timeline(self, options)

    def _ask_worker(self, worker: int, kind: str, *body: Any) -> Any:
        """The answer to a message that is no call."""
        connection = self._choose(worker, ())
        request = Request(kind, self._timeout)
        connection.request(kind, body, request, check=self._check)
        self._limit(request, worker)
        return request.future.wait()

    def explain(self, function: "Callable[..., Any]") -> str:
        """How something that is called travels, which workers have it, and what it writes into."""
        with self._lock:
            known = {n: each.known for n, each in self._connections.items() if each.is_ready}
        return tables.explain(function, known)

    # Values that stay.

    def remote(
        self,
        function: "Callable[..., Any]",
        *args: Any,
        worker: "int | None" = None,
        **kwargs: Any,
    ) -> Ref:
        """call() whose result stays on its worker: gives a Ref at once."""
        described = pickling.describe_callable(function)
        connection = self._choose(worker, (*args, *kwargs.values()))
        ref = Ref(self, connection.number, next(self._numbers))
        request = self._call(
            described, args, kwargs, label_of(function), worker=ref.owner, keep=ref.number
        )
        self._note_unset(ref, request.future)
        return ref

    def put(self, value: Any, *, worker: "int | None" = None) -> Ref:
        """Sends a value to a worker, and gives a Ref to it."""
        connection = self._choose(worker, ())
        ref = Ref(self, connection.number, next(self._numbers))
        request = Request("put", None)
        self._settle()
        connection.request("put", (value,), request, check=self._check, keep=ref.number)
        self._note_unset(ref, request.future)
        return ref

    def _note_unset(self, ref: Ref, future: Future) -> None:
        key = (ref.owner, ref.number)
        self._unset[key] = future

        def forget(done: Future) -> None:
            self._unset.pop(key, None)
            done.exception()  # seen: who asks the Ref for its value gets it

        future.add_done_callback(forget)

    def is_owner(self, ref: Ref) -> bool:
        """Whether a reference's value is in this process: never, on the driver."""
        return False

    def local_value(self, ref: Ref) -> Any:
        """Raises, since the values of references are on workers."""
        raise RuntimeError(
            f"{ref!r}: local_value() is for its owner, and this is the driver; to_here() copies "
            "the value"
        )

    def fetch(self, ref: Ref, timeout: "float | None") -> Any:
        """The value of a reference. Raises TimeoutError, and what its worker raised."""
        self._require_open()
        self._check(ref)
        limit = calls.limit_of("to_here", timeout, self._timeout)
        request = Request(f"to_here of {ref!r}", limit)
        self._settle()
        connection = self._connections[ref.owner]
        connection.request("get", (ref.number,), request, check=self._check)
        self._limit(request, ref.owner)
        return request.future.wait()

    def future_of(self, ref: Ref) -> Future:
        """A future that is done when the value of a reference is there."""
        known = self._unset.get((ref.owner, ref.number))
        if known is not None:
            return known
        self._require_open()
        self._check(ref)
        request = Request(f"future of {ref!r}", self._timeout)
        self._connections[ref.owner].request("have", (ref.number,), request, check=self._check)
        return request.future

    def _settle(self) -> None:
        """Takes over which Refs this process has made and dropped, and tells owners."""
        self.counts.dropped.extend(self._tensors.dropped())
        self._apply_changes(DRIVER, self.counts.changes())

    def _apply_changes(self, holder: int, changes: "list[tuple[int, int, int]]") -> None:
        if not changes:
            return
        with self._lock:
            for owner, number in self._holders.apply(holder, changes):
                self._connections[owner].drop(number)

    def flush(self) -> None:
        """Sends the calls on tensors of workers that were recorded; waits for none of them."""
        self._require_open()
        self._tensors.flush()

    # What the engine and the clock call.

    def _on_message(self, worker: int, event: engines.Event) -> None:
        if isinstance(event, engines.Ended):
            self._on_ended(worker, event.how)
        elif isinstance(event, engines.Joined):
            self._on_joined(worker)
        else:
            with self._lock:
                connection = self._connections.get(worker)
            if connection is not None:
                for request, frames in connection.receive(event):
                    self._on_answer(connection, request, frames)

    def _on_answer(self, connection: Connection, request: Request, frames: wire.Frames) -> None:
        changes = calls.read_changes(frames[0])
        self._apply_changes(connection.number, [each for each in changes if each[2] > 0])
        try:
            took, kind, value = calls.read(frames[1:], self._ref)
            error = failures.rebuild(value) if kind == "error" else None
        except BaseException as unreadable:
            took, kind, value, error = 0.0, "error", None, unreadable
        self._settle()
        self._apply_changes(connection.number, [each for each in changes if each[2] <= 0])
        statistics = connection.statistics
        statistics.busy += took
        statistics.waited += time.monotonic() - request.sent_at
        request.refs = []
        if error is not None:
            statistics.errors += 1
            connection.forget(request.defined)
            fail(request.future, error)
        elif not request.future.done():
            request.future.set_result(value)

    def _ref(self, owner: int, number: int) -> Ref:
        return Ref(self, owner, number)

    def _on_ended(self, worker: int, how: str) -> None:
        with self._changed:
            connection = self._connections.get(worker)
            if connection is None or connection.ended is not None or self._closed:
                return
            connection.is_ready = False
            for owner, number in self._holders.forget(worker):
                self._connections[owner].drop(number)
            others = [each for each in self._connections.values() if each.is_ready]
            self._changed.notify_all()
        waiting = connection.end(failures.lost(worker, how))
        for other in others:
            other.tell(("gone", worker))
        for request in waiting:
            fail(request.future, failures.lost(worker, how, request.label))

    def _on_joined(self, worker: int) -> None:
        """The engine has begun a worker: it is greeted as the others were."""
        with self._lock:
            if self._closed or worker in self._connections:
                return
            connection = self._connections[worker] = self._connect(worker)

        def ready(done: Future) -> None:
            if done.exception() is None and not done.value():
                with self._changed:
                    connection.is_ready = connection.ended is None
                    self._changed.notify_all()

        try:
            greeting = self._greet(connection, lacks.needs(send_plugins=self._send_plugins))
        except failures.WorkerLost:
            return
        greeting.future.add_done_callback(ready)

    def wait_for_workers(self, count: int, timeout: float = 60.0) -> None:
        """Waits until so many workers live, as after one was begun again. Raises TimeoutError."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while len(self.workers) < count:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(
                        f"wait_for_workers: {len(self.workers)} workers live after {timeout:g} s, "
                        f"and {count} were wanted"
                    )
                self._changed.wait(left)

    def _tick(self) -> None:
        self._settle()
        with self._lock:
            connections = [each for each in self._connections.values() if each.is_ready]
        now = time.monotonic()
        for each in connections:
            for request in each.late(now):
                expire(request, each.number)
            try:
                if each.waits_to_drop():
                    each.request("drop", (), Request("drops", None), check=self._check)
                if self._engine.loses:
                    each.send_again(self._retry)
            except failures.WorkerLost:
                pass
