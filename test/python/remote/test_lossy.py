"""test_lossy.py: a session over a carrier that loses, doubles and reorders messages (K15).

The carrier is the one of pipes, with a double in front of it. Suspect
remote/python/opyard/_remote/link.py, calls.py and worker.py.
"""

import random
import threading

import remote_functions as functions
from processes import volume

import opyard.remote
from opyard._remote.engines import Ended
from opyard._remote.pipe_engine import PipeEngine
from opyard._remote.wire import read_envelope


class LossyEngine(PipeEngine):
    """Loses, doubles and holds back what a session sends and receives, once it has begun."""

    def __init__(self, seed):
        super().__init__(loses=True)
        self.chance = random.Random(seed)
        self.is_on = False
        self.lost = 0
        self._guard = threading.Lock()
        self._held = {}

    def _treat(self, key, message, pass_on):
        with self._guard:
            messages = [message]
            if self.is_on:
                what = self.chance.random()
                if what < 0.2:
                    self.lost += 1
                    messages = []
                elif what < 0.4:
                    messages = [message, message]
                elif what < 0.6:  # it comes behind the next one
                    messages, self._held[key] = [], [*self._held.pop(key, []), message]
                else:
                    messages += self._held.pop(key, [])
        for each in messages:
            pass_on(each)

    def send(self, worker, frames):
        frames = [bytes(each) for each in frames]
        self._treat(
            ("to", worker), frames, lambda each: super(LossyEngine, self).send(worker, each)
        )

    def on_message(self, receive):
        def treat(worker, event):
            if isinstance(event, Ended):
                receive(worker, event)
            else:
                self._treat(("from", worker), event, lambda each: receive(worker, each))

        super().on_message(treat)


COUNTED = []


def count(n):
    COUNTED.append(n)
    return len(COUNTED)


def test_K15_each_call_runs_once_and_in_order_over_a_carrier_that_loses():
    for seed in range(volume(3)):
        engine = LossyEngine(seed)
        with opyard.remote.session(engine, workers=1, retry=0.05, timeout=60.0) as s:
            engine.is_on = True
            futures = [s.call_async(count, n) for n in range(40)]
            assert [each.wait(60.0) for each in futures] == list(range(1, 41))
            ref = s.put([1, 2])
            assert s.call(len, ref) == 2
            assert list(s.map(functions.double, range(20))) == [2 * n for n in range(20)]
            engine.is_on = False
            assert s.call(count, 0) == 41
            assert engine.lost > 5
            connection = s._connections[0]
            assert connection.load == 0 and connection._link.held == 0


def test_the_envelope_is_read_as_it_was_written():
    from opyard._remote.wire import envelope

    assert read_envelope(envelope(7, 2**40)) == (7, 2**40)
