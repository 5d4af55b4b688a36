"""Workers over pipes: processes of this machine, for one machine and for tests.

    driver ═══ socket pair ═══ worker 0          a pair of sockets to each worker, and one between
           ═══ socket pair ═══ worker 1 ═╗       every two; large messages in shared memory
                               worker 0 ═╝       (pipe_socket.py)

Nothing listens: the pairs are made before the workers and inherited. A worker ends with its
driver, however that ends: it holds a pipe that no one writes to, and asks the kernel for SIGKILL
when the other end is gone. Workers that end are not begun again.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from . import wire
from .engines import Ended, Receive
from .pipe_socket import Channel, Closed

MOST = 32  # workers: each has an open file for every other one

# Closed in a child of fork(), which would keep the workers of its parent alive.
_engines: "weakref.WeakSet[PipeEngine]" = weakref.WeakSet()


def _in_child() -> None:
    for engine in list(_engines):
        engine.abandon()


os.register_at_fork(after_in_child=_in_child)


class PipeEngine:
    """The engine "pipes"."""

    name = "pipes"

    def __init__(
        self,
        *,
        timeout: float = 60.0,
        python: "str | None" = None,
        env: Any = None,
        loses: bool = False,
    ) -> None:
        self.loses = loses  # for a double in tests; a pipe does not
        self._timeout = timeout
        self._python = python or sys.executable
        self._env = dict(env or {})
        self._processes: list[subprocess.Popen] = []
        self._channels: list[Channel] = []
        self._lifelines: list[int] = []
        self._threads: list[threading.Thread] = []
        self._receive: Receive | None = None
        self._closing = False
        _engines.add(self)

    def on_message(self, receive: Receive) -> None:
        self._receive = receive

    def start(self, workers: int) -> "Sequence[int]":
        if workers > MOST:
            raise ValueError(
                f"session: {workers} workers over pipes, and at most {MOST} are possible; use "
                '"ray" or "dask" for more'
            )
        pairs = {(a, b): socket.socketpair() for a in range(workers) for b in range(a + 1, workers)}
        try:
            for number in range(workers):
                peers = [
                    (b if a == number else a, pair[0 if a == number else 1])
                    for (a, b), pair in pairs.items()
                    if number in (a, b)
                ]
                self._start_worker(number, peers)
        finally:
            for pair in pairs.values():
                for end in pair:
                    end.close()
        for number in range(workers):
            thread = threading.Thread(
                target=self._read, args=(number,), name=f"opyard-remote-{number}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        return range(workers)

    def _start_worker(self, number: int, peers: "list[tuple[int, socket.socket]]") -> None:
        ours, theirs = socket.socketpair()
        alive, lifeline = os.pipe()
        arguments = [str(theirs.fileno()), str(alive), ",".join(_say(*each) for each in peers)]
        arguments += ["keeps"] if self.loses else []
        code = "from opyard._remote.pipe_worker import main; main()"
        path = [each or os.getcwd() for each in sys.path]
        try:
            process = subprocess.Popen(
                [self._python, "-c", code, *arguments],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **self._env},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), alive, *(end.fileno() for _, end in peers)],
                start_new_session=True,  # Ctrl-C is for the driver
            )
        except OSError as error:
            ours.close()
            os.close(lifeline)
            raise RuntimeError(
                f"session: a worker could not be started with {self._python!r} ({error}); name "
                'the Python that has Opyard: session("pipes", python=...)'
            ) from error
        finally:
            theirs.close()
            os.close(alive)
        self._processes.append(process)
        self._lifelines.append(lifeline)
        self._channels.append(Channel(ours, send_timeout=self._timeout))

    def process_ids(self) -> "list[int]":
        """Of the workers, by number."""
        return [process.pid for process in self._processes]

    def send(self, worker: int, frames: wire.Frames) -> None:
        try:
            self._channels[worker].send(frames)
        except TimeoutError:
            # It is stopped, or its threads cannot run: what is lost is that one worker.
            self._processes[worker].kill()
        except Closed:
            pass  # the thread that reads says how it ended

    def _read(self, worker: int) -> None:
        channel, receive = self._channels[worker], self._receive
        assert receive is not None
        try:
            while True:
                receive(worker, channel.receive())
        except Closed:
            pass
        if not self._closing:
            receive(worker, Ended(self._how_ended(worker)))

    def _how_ended(self, worker: int) -> str:
        process = self._processes[worker]
        try:
            code = process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return "closed its pipe and was killed"
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"

    def close(self) -> None:
        self._closing = True
        for channel in self._channels:
            channel.close()
        for process in self._processes:
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for lifeline in self._lifelines:
            os.close(lifeline)
        self._lifelines.clear()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(5.0)

    def abandon(self) -> None:
        """Closes what a child of fork() has of it."""
        for channel in self._channels:
            os.close(channel.descriptor)
        for lifeline in self._lifelines:
            os.close(lifeline)
        self._lifelines.clear()


def _say(number: int, end: socket.socket) -> str:
    return f"{number}:{end.fileno()}"
