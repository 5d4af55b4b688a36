"""Workers that are actors of Ray: the engine "ray".

An actor is a worker; its method `handle` takes the frames of a message and gives those of the
answer, and `deliver` takes what another worker sends. Only calls of actors and Ray's own store are
used: frames above some 100 KB are put there by Ray itself, and read from it without a copy by a
worker of the same machine. Such memory is read-only.

Actors are begun again by Ray, `restarts` times; one that was is a new worker of the session.
"""

import itertools
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pickle import PickleBuffer
from typing import Any

from . import wire
from .actors import Actor, carried, separated
from .engines import Ended, Joined, Receive


class RayActor(Actor):
    """What runs in a process of Ray, which pickles buffers without a copy."""

    _uncopied = PickleBuffer

    def _send(self, number: int, frames: "list[Any]") -> None:
        self._peers[number].deliver.remote(*frames)


def _place_of(address: "str | None") -> "tuple[str, int] | None":
    """Host and port, of an address that has both and is of a cluster itself."""
    host, _, port = (address or "").rpartition(":")
    return (host.strip("[]"), int(port)) if host and "/" not in host and port.isdigit() else None


class RayEngine:
    """The engine "ray"."""

    name = "ray"
    loses = False

    def __init__(
        self,
        address: "str | None",
        *,
        timeout: float = 120.0,
        restarts: int = 0,
        num_cpus: float = 1,
        object_store_memory: "int | None" = None,
        init: Any = None,
        actor: Any = None,
    ) -> None:
        try:
            import ray
        except ImportError as error:
            raise ImportError(
                f'session: the engine "ray" is not installed here ({error}): pip install ray, or '
                'use "pipes" for workers of this machine'
            ) from error
        self._ray = ray
        self._address = address
        self._timeout = timeout
        self._restarts = restarts
        self._store = object_store_memory
        self._init = dict(init or {})
        self._options = {
            "num_cpus": num_cpus,
            "max_restarts": restarts,
            "max_task_retries": 0,
            "max_concurrency": 1000,
            **dict(actor or {}),
        }
        self._receive: Receive | None = None
        self._lock = threading.Lock()
        self._actors: dict[int, Any] = {}  # by number; one that was begun again has two
        self._alive: set[int] = set()
        self._pids: dict[int, int] = {}
        self._numbers = itertools.count()
        self._owns_cluster = False
        self._closing = threading.Event()

    def on_message(self, receive: Receive) -> None:
        self._receive = receive

    def start(self, workers: int) -> "Sequence[int]":
        ray = self._ray
        if not ray.is_initialized():
            self._begin(workers)
            self._owns_cluster = True
        else:
            self._require_same_cluster()
        remote = ray.remote(RayActor).options(**self._options)
        numbers = [next(self._numbers) for _ in range(workers)]
        path = list(sys.path) if self._owns_cluster and self._address is None else []
        self._actors = {number: remote.remote(path) for number in numbers}
        self._alive = set(numbers)
        try:
            pids = ray.get(self._tell_peers(), timeout=self._timeout)
        except ray.exceptions.GetTimeoutError:
            raise RuntimeError(
                f"session: Ray has not begun {workers} workers of {self._options['num_cpus']} CPUs "
                f"each in {self._timeout:g} s; it has {ray.cluster_resources().get('CPU', 0):g} "
                "CPUs in all: ask for fewer workers, give num_cpus=, or a longer start_timeout="
            ) from None
        except ray.exceptions.RayError as error:
            raise RuntimeError(
                f"session: Ray could not begin the workers; if they cannot import opyard, install "
                f"it where they run: {error}"
            ) from error
        self._pids = dict(zip(numbers, pids, strict=True))
        return numbers

    def _begin(self, workers: int) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if self._address is None:
            options["num_cpus"] = workers * max(1, int(self._options["num_cpus"]))
            options["include_dashboard"] = False
            if self._store is not None:
                options["object_store_memory"] = self._store
        else:
            self._require_reachable()
            options["address"] = self._address
        try:
            self._ray.init(**{**options, **self._init})
        except Exception as error:
            where = f"the cluster at {self._address}" if self._address else "a cluster here"
            raise RuntimeError(f"session: Ray could not reach or begin {where}: {error}") from error

    def _require_reachable(self) -> None:
        """Asks before Ray does, which goes on for minutes."""
        place = _place_of(self._address)
        if place is None:
            return
        try:
            socket.create_connection(place, min(self._timeout, 30.0)).close()
        except OSError as error:
            raise RuntimeError(
                f"session: Ray could not reach the cluster at {self._address}: {error}; begin one "
                "with `ray start --head`, or leave address= out for a cluster of this machine"
            ) from error

    def _require_same_cluster(self) -> None:
        place = _place_of(self._address)
        here = self._ray.get_runtime_context().gcs_address
        if place is not None and place[1] != int(here.rpartition(":")[2]):
            raise ValueError(
                f"session: this process is connected to Ray at {here}, and address= is "
                f"{self._address!r}; call ray.shutdown() first, or leave address= out"
            )

    def _tell_peers(self) -> "list[Any]":
        with self._lock:
            numbers = sorted(self._alive)
            actors = [self._actors[each] for each in numbers]
        return [each.set_peers.remote(numbers, actors) for each in actors]

    def process_ids(self) -> "list[int]":
        """Of the workers that live, by number."""
        return [pid for _, pid in sorted(self._pids.items())]

    def send(self, worker: int, frames: wire.Frames) -> None:
        is_told = wire.read_envelope(frames[0])[0] == 0
        with self._lock:
            if worker not in self._alive:
                return
        try:
            answer = self._actors[worker].handle.remote(*carried(frames, PickleBuffer))
        except self._ray.exceptions.RayActorError as error:
            self._end(worker, error)
            return
        except (self._ray.exceptions.ObjectStoreFullError, OSError) as error:
            raise MemoryError(
                f"a message of {wire.total(frames):,} bytes does not fit into Ray's store "
                f"({error}); send less at a time, or give object_store_memory= a larger one"
            ) from error
        if not is_told:
            answer.future().add_done_callback(lambda done: self._answered(worker, done))

    def _answered(self, worker: int, done: Any) -> None:
        if self._closing.is_set():
            return
        error = done.exception()
        if error is None:
            assert self._receive is not None
            if arguments := done.result():
                self._receive(worker, separated(arguments))
        else:
            # Ray says so of each message that was on its way; the first one counts.
            self._end(worker, error)

    def _end(self, worker: int, error: BaseException) -> None:
        with self._lock:
            if worker not in self._alive:
                return
            self._alive.discard(worker)
            self._pids.pop(worker, None)
        if not isinstance(error, self._ray.exceptions.RayActorError):
            # A message failed on its way: what came of it is not known, so the worker is given up.
            self._ray.kill(self._actors[worker], no_restart=True)
        assert self._receive is not None
        lines = [line.strip() for line in str(error).splitlines()]
        why = next((each for each in reversed(lines) if each), type(error).__name__)
        why = why.partition(" Some common causes include")[0].rstrip(".")
        self._receive(worker, Ended(f"ended, as Ray says: {why}"))
        if self._restarts and isinstance(error, self._ray.exceptions.RayActorError):
            threading.Thread(target=self._rejoin, args=(worker,), daemon=True).start()

    def _rejoin(self, worker: int) -> None:
        """Waits until Ray has begun an actor again."""
        actor = self._actors[worker]
        deadline = time.monotonic() + self._timeout
        while time.monotonic() < deadline and not self._closing.wait(0.1):
            try:
                pid = self._ray.get(actor.set_peers.remote([], []), timeout=self._timeout)
                break
            except self._ray.exceptions.ActorDiedError:
                return  # for good
            except Exception:
                continue
        else:
            return
        with self._lock:
            number = next(self._numbers)
            self._actors[number] = actor
            self._alive.add(number)
            self._pids[number] = pid
        self._tell_peers()
        assert self._receive is not None
        self._receive(number, Joined())

    def close(self) -> None:
        self._closing.set()
        if not self._ray.is_initialized():
            return
        for actor in {id(each): each for each in self._actors.values()}.values():
            try:
                self._ray.kill(actor, no_restart=True)
            except Exception:
                continue  # it has ended
        self._actors.clear()
        if self._owns_cluster:
            self._ray.shutdown()
