"""test_in_process.py: a session over a transport within the process (K15).

The engine is forty lines: what each of its four functions has to do, and nothing else. Suspect
remote/python/opyard/_remote/engines.py, which says that, and session.py.
"""

import threading

import pytest
import remote_functions as functions

import opyard
import opyard.remote
from opyard._remote.engines import Ended
from opyard._remote.worker import Worker


class LocalEngine:
    """Workers that are threads of this process."""

    name = "threads"
    loses = False

    def __init__(self):
        self.workers, self.threads, self.receive = [], [], None

    def on_message(self, receive):
        self.receive = receive

    def start(self, workers):
        for _ in range(workers):
            worker = Worker(lambda to, frames: self.workers[to].deliver(frames))
            self.workers.append(worker)
            self.threads.append(threading.Thread(target=worker.run, daemon=True))
            self.threads[-1].start()
        return range(workers)

    def send(self, worker, frames):
        def answer(made):
            self.receive(worker, [bytes(each) for each in made])

        self.workers[worker].receive([bytes(each) for each in frames], answer)

    def close(self):
        for worker, thread in zip(self.workers, self.threads, strict=True):
            worker.close()
            thread.join(10.0)


@pytest.fixture
def engine():
    return LocalEngine()


def test_K15_calls_maps_and_references_within_the_process(engine):
    with opyard.remote.session(engine, workers=2, threads=None) as s:
        x = opyard.arange(6, dtype=opyard.float32)
        assert s.call(opyard.ops.aten.mul, x, x).tolist() == (x * x).tolist()
        assert list(s.map(functions.double, range(9))) == [2 * n for n in range(9)]
        ref = s.remote(functions.double, x, worker=0)
        assert s.call(opyard.ops.aten.sum, ref, worker=1).item() == 30.0
        assert ref.to_here(10.0).tolist() == (x * 2).tolist()
        with pytest.raises(ValueError, match="refused"):
            s.call(functions.fail, 1)
    assert not any(thread.is_alive() for thread in engine.threads)


def test_an_engine_that_says_a_worker_has_ended_is_believed(engine):
    with opyard.remote.session(engine, workers=2, threads=None) as s:
        late = s.call_async(functions.wait, 0.5, worker=1)
        engine.receive(1, Ended("was unplugged"))
        with pytest.raises(opyard.remote.WorkerLost, match="worker 1 was unplugged before it had"):
            late.wait(10.0)
        assert s.workers == [0] and s.call(functions.double, 4) == 8
