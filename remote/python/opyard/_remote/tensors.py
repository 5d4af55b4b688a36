"""Tensors on workers, on the driver: recorders, and what sends the blocks that they close.

    x.to("remote:0")     a tensor on worker 0 of the current session: the one that was opened last

Calls on such tensors are recorded in C++ (opyard/remote/recorder.h). What is here sends a closed
block as one message: its graph once and by hash from then on, its inputs, and the numbers under
which the worker keeps its outputs. These are counted like values of Refs, and are dropped when the
tensors die.

[Order] Blocks of a worker leave in the order in which they were closed, whoever sends them: one
thread at a time does.

[Pause] A thread of each worker that has tensors waits, in C++, until the program has recorded
nothing for a moment and no block is on its way, and then has the block sent.
"""

import threading
import weakref
from typing import Any

from .. import _blocks
from .._C import Future
from .._core import ops
from . import block_runs, failures, things
from .calls import Request, fail

_MOST_BLOCKS = 512  # graphs that a worker keeps: programs whose blocks are all different exist


class WorkerTensors:
    """What a session has of the tensors on one worker."""

    def __init__(self, session: Any, worker: int) -> None:
        self.worker = worker
        self._session = weakref.ref(session)
        self._lock = threading.RLock()  # of the order in which blocks leave
        self._is_sending = False
        self._waited: dict[int, Future] = {}  # by the number of the block
        self._things: dict[bytes, things.Thing] = {}
        self._forget: list[str] = []
        own = weakref.ref(self)
        self.recorder = _blocks.Recorder(
            worker,
            lambda: _alive(own).send(),
            lambda block: _alive(own).wait(block),
            lambda: _alive(own).refuse(),
        )
        self._pauses = threading.Thread(
            target=_send_at_pauses,
            args=(self.recorder,),
            name=f"opyard-remote-blocks-{worker}",
            daemon=True,
        )
        self._pauses.start()

    def send(self) -> None:
        """Sends what the recorder has closed. Does nothing within itself: the outer one goes on."""
        with self._lock:
            if self._is_sending:
                return
            self._is_sending = True
            try:
                while (block := self.recorder.take()) is not None:
                    self._send(block)
            finally:
                self._is_sending = False

    def _send(self, block: "_blocks.Block") -> None:
        session = self._session()
        outputs = block.outputs()
        request = Request(block.label, None if session is None else session._timeout)
        tail = block.tail(block_runs.Output)
        if tail is not None:
            self._waited[block.serial] = request.future
        else:
            request.future.add_done_callback(self._on_answer)
        try:
            if session is None:
                raise failures.SessionClosed("this session has ended; open another one")
            for number in block_runs.words(outputs):
                if number:
                    session.counts.created(self.worker, number)
            session._settle()
            self._request(session, block, outputs, tail, request)
        except Exception as error:
            self._note_unsent(session, outputs, request, error)
        finally:
            self.recorder.sent(block)

    def _request(
        self, session: Any, block: "_blocks.Block", outputs: bytes, tail: Any, request: Request
    ) -> None:
        thing = self._thing(block)
        forget = self._forgotten()
        body = (
            thing,
            block.values(),
            block.refs(),
            outputs,
            block.expected,
            tail,
            forget,
        )
        connection = session._choose(self.worker, ())
        connection.forget(forget)
        connection.request("block", body, request, check=session._check, keep=outputs)
        session._limit(request, self.worker)

    def _thing(self, block: "_blocks.Block") -> things.Thing:
        """The graph of a block: made once for all that have the same key."""
        known = self._things.get(block.key)
        if known is None:
            if len(self._things) >= _MOST_BLOCKS:
                self._forget += [each.digest for each in self._things.values()]
                self._things.clear()
            known = self._things[block.key] = things.block(block.text())
        return known

    def _forgotten(self) -> "list[str]":
        """The hashes that the worker need not keep any more, once."""
        if not self._forget:
            return []
        needed = {each.digest for each in self._things.values()}
        forget, self._forget = self._forget, []
        return [each for each in forget if each not in needed]

    def _note_unsent(
        self, session: Any, outputs: bytes, request: Request, error: Exception
    ) -> None:
        """What depends on a block that could not be sent raises why."""
        fail(request.future, error)
        if session is None or isinstance(error, (failures.WorkerLost, failures.SessionClosed)):
            return  # whoever reads hears of that
        described = failures.describe(error, self.worker, request.label, None)
        try:
            connection = session._choose(self.worker, ())
            told = Request("fail", None)
            connection.request("fail", (outputs, described), told, check=session._check)
        except failures.WorkerLost:
            pass

    def _on_answer(self, done: Future) -> None:
        done.exception()  # seen: who reads a tensor that depends on it gets it
        self.recorder.answered()

    def wait(self, block: int) -> "list[tuple]":
        """What the worker answers to a block that gives something. Raises what it raised."""
        self.send()
        try:
            answers = self._waited.pop(block).wait()
        finally:
            self.recorder.answered()
        session = self._session()
        if session is not None:
            for number in block_runs.numbers_in(answers):
                session.counts.created(self.worker, number)
        return answers

    def refuse(self) -> None:
        raise failures.SessionClosed(
            f"the session of this tensor on remote:{self.worker} has ended, and its values with "
            "it; open another one, and make the tensor there"
        )

    def close(self) -> None:
        self.recorder.close()
        if self._pauses is not threading.current_thread():
            self._pauses.join(5.0)


def _alive(own: "weakref.ref[WorkerTensors]") -> WorkerTensors:
    tensors = own()
    if tensors is None:
        raise failures.SessionClosed("the session of this tensor has ended; open another one")
    return tensors


def _send_at_pauses(recorder: "_blocks.Recorder") -> None:
    while recorder.wait_for_pause():
        try:
            recorder.flush()
        except failures.SessionClosed:
            return


class Tensors:
    """What a session has of the tensors on its workers."""

    def __init__(self, session: Any) -> None:
        self._session = weakref.ref(session)
        self._lock = threading.Lock()  # of which workers have some
        self._of: dict[int, WorkerTensors] = {}

    def of(self, worker: int) -> WorkerTensors:
        """Those on a worker. Raises as a call on that worker does, if there is none."""
        session = self._session()
        session._choose(worker, ())
        with self._lock:
            found = self._of.get(worker)
            if found is None:
                found = self._of[worker] = WorkerTensors(session, worker)
        return found

    def flush(self) -> None:
        for each in list(self._of.values()):
            each.recorder.flush()

    def dropped(self) -> "list[tuple[int, int]]":
        """The values that no tensor has any more, by worker and number."""
        return [
            (worker, number)
            for worker, each in list(self._of.items())
            for number in each.recorder.take_dropped()
        ]

    def close(self) -> None:
        session = self._session()
        _opened[:] = [each for each in _opened if each() not in (None, session)]
        for each in list(self._of.values()):
            each.close()


_opened: "list[weakref.ref[Any]]" = []  # sessions, in order: the last is the current one


def note_opened(session: Any) -> None:
    """A session is the current one from now on, until it is closed or another is opened."""
    _opened.append(weakref.ref(session))
    ops.load_aten()
    _blocks.register_key(_recorder_of)


def _recorder_of(worker: int) -> "_blocks.Recorder":
    for each in reversed(_opened):
        session = each()
        if session is not None:
            return session._tensors.of(worker).recorder
    raise RuntimeError(
        f'device "remote:{worker}" is worker {worker} of a session, and none is open: open one '
        "with opyard.remote.session()"
    )
