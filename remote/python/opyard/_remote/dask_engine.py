"""Workers that are actors of Dask: the engine "dask".

Each worker of the cluster gets one actor, which stays there; its method `handle` takes the frames
of a message and gives those of the answer, and `deliver` takes what another worker sends, from
worker to worker. What arrives is in memory that is read-only.

A worker that its nanny begins again gets another actor, and is a new worker of the session.
"""

import asyncio
import itertools
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from . import wire
from .actors import Actor, carried, separated
from .engines import Ended, Joined, Receive

_LOOK = 0.25  # seconds between two looks at who is in the cluster


class DaskActor(Actor):
    """What runs in a worker of Dask, which sends views of memory without a copy."""

    _uncopied = memoryview

    def _send(self, number: int, frames: "list[Any]") -> None:
        self._peers[number].deliver(*frames)

    async def set_peers(self, numbers: "list[int]", actors: "list[Any]") -> int:
        for actor in actors:
            actor.deliver  # noqa: B018 - an actor finds its worker here, and not on other threads
            actor._future = None  # which would keep the others in a cluster that goes on
        return await super().set_peers(numbers, actors)


class DaskEngine:
    """The engine "dask"."""

    name = "dask"
    loses = False

    def __init__(
        self,
        address: "str | None",
        *,
        timeout: float = 120.0,
        cluster: Any = None,
        client: Any = None,
    ) -> None:
        try:
            import distributed
        except ImportError as error:
            raise ImportError(
                f'session: the engine "dask" is not installed here ({error}): pip install '
                '"dask[distributed]", or use "pipes" for workers of this machine'
            ) from error
        self._distributed = distributed
        self._address = address
        self._timeout = timeout
        self._cluster_options = dict(cluster or {})
        self._client_options = dict(client or {})
        self._receive: Receive | None = None
        self._lock = threading.Lock()
        self._cluster: Any = None
        self._client: Any = None
        self._futures: dict[int, Any] = {}  # an actor is freed with its future
        self._actors: dict[int, Any] = {}
        self._places: dict[int, str] = {}  # address by number, of those that live
        self._pids: dict[int, int] = {}
        self._numbers = itertools.count()
        self._wanted = self._size = 0
        self._are_told = False
        self._closing = threading.Event()
        self._watcher: threading.Thread | None = None

    def on_message(self, receive: Receive) -> None:
        self._receive = receive

    def start(self, workers: int) -> "Sequence[int]":
        self._wanted = workers
        try:
            self._begin(workers)
            self._client.wait_for_workers(workers, timeout=self._timeout)
        except Exception as error:
            where = f"the cluster at {self._address}" if self._address else "a cluster here"
            raise RuntimeError(
                f"session: Dask could not reach or begin {where} with {workers} workers: "
                f"{type(error).__name__}: {error}"
            ) from error
        for place in list(self._workers())[:workers]:
            self._place(place)
        self._tell_peers()
        if not self._are_told:
            raise RuntimeError(
                "session: a worker of Dask has ended while it started; if it cannot import opyard, "
                "install it where it runs"
            )
        self._watcher = threading.Thread(target=self._watch, name="opyard-remote-dask", daemon=True)
        self._watcher.start()
        return list(self._places)

    def _begin(self, workers: int) -> None:
        if self._address is None:
            options = {
                "n_workers": workers,
                "threads_per_worker": 1,
                "processes": True,
                "dashboard_address": ":0",
                **self._cluster_options,
            }
            self._size = options["n_workers"]
            self._cluster = self._distributed.LocalCluster(**options)
        self._client = self._distributed.Client(
            self._cluster or self._address,
            direct_to_workers=True,
            set_as_default=False,
            timeout=self._timeout,
            **self._client_options,
        )

    def _workers(self) -> "dict[str, Any]":
        """The addresses of all workers, as the scheduler answers.

        Not scheduler_info(), which gives what the client has noted: its own clock notes an answer
        without workers every two seconds, and a thread that is late reads that one.
        """
        return self._client.nthreads()

    def _place(self, place: str) -> int:
        """Begins an actor at a worker's address."""
        path = list(sys.path) if self._address is None else []
        future = self._client.submit(
            DaskActor, path, actor=True, workers=[place], allow_other_workers=False, pure=False
        )
        actor = self._result(future, place)
        with self._client.as_current():
            actor.handle  # noqa: B018 - an actor finds its client when it is first asked
        # Else a call of an actor whose worker has ended waits until it is made again: it is not.
        actor._future = None
        with self._lock:
            number = next(self._numbers)
            self._futures[number], self._actors[number] = future, actor
            self._places[number] = place
        return number

    def _tell_peers(self) -> None:
        with self._lock:
            numbers = sorted(self._places)
            actors = [self._actors[each] for each in numbers]
        are_told = True
        for number, actor in zip(numbers, actors, strict=True):
            try:
                answer = actor.set_peers(numbers, actors)
                self._pids[number] = self._result(answer, self._places[number])
            except Exception:
                are_told = False  # _watch() tells them again, or finds that they have left
        self._are_told = are_told

    def _result(self, future: Any, place: str) -> Any:
        """What a worker gives back, as long as it is in the cluster.

        The scheduler may list one that was killed for a while, and what is sent there is never
        answered.
        """
        deadline = time.monotonic() + self._timeout
        next_look = time.monotonic() + _LOOK
        while not future.done():
            now = time.monotonic()
            if self._closing.wait(0.005):
                raise RuntimeError("the session is being closed")
            if now > deadline:
                raise TimeoutError(f"the worker at {place} has not answered in {self._timeout:g} s")
            if now > next_look:
                if place not in self._workers():
                    raise RuntimeError(f"the worker at {place} has left the cluster")
                next_look = time.monotonic() + _LOOK
        return future.result()

    def process_ids(self) -> "list[int]":
        """Of the workers that live, by number."""
        return [self._pids[each] for each in sorted(self._places) if each in self._pids]

    def send(self, worker: int, frames: wire.Frames) -> None:
        with self._lock:
            if worker not in self._places:
                return
            actor = self._actors[worker]
        is_told = wire.read_envelope(frames[0])[0] == 0
        self._client.loop.add_callback(
            self._ask, worker, actor, carried(frames, memoryview), is_told
        )

    async def _ask(self, worker: int, actor: Any, frames: "list[Any]", is_told: bool) -> None:
        """On the client's loop, so that calls leave in the order of send()."""
        try:
            answer = await actor.handle(*frames)
        except Exception as error:
            if not self._closing.is_set():
                how = str(error) or type(error).__name__
                # It says so to the session, which may take long: not on the loop's thread.
                await asyncio.get_running_loop().run_in_executor(None, self._end, worker, how)
            return
        if answer and not is_told and not self._closing.is_set():
            assert self._receive is not None
            read = separated(answer)
            await asyncio.get_running_loop().run_in_executor(None, self._receive, worker, read)

    def _end(self, worker: int, how: str) -> None:
        with self._lock:
            if self._places.pop(worker, None) is None:
                return
            self._pids.pop(worker, None)
            self._actors.pop(worker, None)
            self._futures.pop(worker, None)
        assert self._receive is not None
        self._receive(worker, Ended(f"ended, as Dask says: {how}"))

    def _watch(self) -> None:
        """Looks for workers that have left, or that were begun."""
        while not self._closing.wait(_LOOK):
            try:
                there = self._workers()
            except Exception:
                continue  # the client connects again, or the session is being closed
            with self._lock:
                places = dict(self._places)
            for number, place in places.items():
                if place not in there:
                    self._end(number, f"the worker at {place} has left the cluster")
            if not self._are_told:
                self._tell_peers()
            if self._cluster is not None and len(there) < self._size:
                # It gives a worker up that was away for some seconds, or is away again when these
                # are over; this begins another one, and does nothing to one that is on its way.
                self._cluster.scale(self._size)
            fresh = [place for place in there if place not in places.values()]
            for place in fresh[: self._wanted - len(self._places)]:
                try:
                    number = self._place(place)
                except Exception:
                    continue  # it left again; the next look tells
                self._tell_peers()
                assert self._receive is not None
                self._receive(number, Joined())

    def close(self) -> None:
        self._closing.set()
        if self._watcher is not None:
            self._watcher.join(5.0)
        self._actors.clear()
        self._futures.clear()
        if self._client is not None:
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()
