"""test_requests.py: a connection and its worker over a carrier that loses what it likes (K15).

Both ends are real and in one thread; hypothesis makes up what the carrier does to the frames. Each
request is applied once, in the order in which they were made, and gets its own answer; values that
were dropped are gone. Suspect remote/python/opyard/_remote/calls.py, worker.py and link.py.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import VOLUME, volume

from opyard._remote import calls
from opyard._remote.calls import Connection, Request
from opyard._remote.worker import Worker

pytestmark = pytest.mark.once

HISTORIES = volume(200) if VOLUME < 10 else 10_000
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "put", "drop", "again", "apply", "deliver", "double", "lose"]),
        st.booleans(),
        st.integers(0, 1000),
    ),
    max_size=60,
)

applied = []


def note(number):
    """What a request has the worker do."""
    applied.append(number)
    if number % 7 == 3:
        raise ValueError(f"refused: {number}")
    return number * 2


def copied(frames):
    """As a carrier has them: the sender may do as it likes with its own."""
    return [bytes(each) for each in frames]


class World:
    """A driver's end, a worker, and what is on its way to each."""

    def __init__(self):
        applied.clear()
        self.to_worker, self.to_driver = [], []
        self.worker = Worker(lambda to, frames: None, keeps=True)
        self.connection = Connection(0, self.send, True)
        self.asked = []
        self.answers = {}
        self.values = []
        self.dropped = set()

    def send(self, worker, frames):
        self.to_worker.append(copied(frames))

    def request(self, kind, body, keep=None):
        request = Request(kind, None)
        self.connection.request(kind, body, request, check=lambda ref: None, keep=keep)
        return request

    def ask(self):
        number = len(self.asked)
        self.asked.append(self.request("call", (note, (number,), {}, None)))

    def put(self):
        self.values.append(len(self.values) + 1)
        self.request("put", ("value",), keep=self.values[-1])

    def drop(self, place):
        left = [each for each in self.values if each not in self.dropped]
        if left:
            number = left[place % len(left)]
            self.dropped.add(number)
            self.connection.drop(number)

    def apply(self):
        self.worker.close()
        self.worker._apply_all()

    def deliver(self, to_worker, frames):
        if to_worker:
            self.worker.receive(copied(frames), lambda made: self.to_driver.append(copied(made)))
            return
        for request, answer in self.connection.receive(copied(frames)):
            assert request not in self.answers
            self.answers[request] = calls.read(answer[1:], None)

    def step(self, what, to_worker, place):
        waiting = self.to_worker if to_worker else self.to_driver
        if what == "again":
            self.connection.send_again(0.0)
        elif what == "drop":
            self.drop(place)
        elif what in ("ask", "put", "apply"):
            getattr(self, what)()
        elif waiting:
            frames = waiting.pop(place % len(waiting))
            if what != "lose":
                self.deliver(to_worker, frames)
            if what == "double":
                self.deliver(to_worker, frames)

    def settle(self):
        """From here on nothing is lost."""
        self.request("drop", ())
        for _ in range(4):
            self.connection.send_again(0.0)
            for to_worker, waiting in ((True, self.to_worker), (False, self.to_driver)):
                while waiting:
                    self.deliver(to_worker, waiting.pop(0))
                self.apply()


@settings(max_examples=HISTORIES, deadline=None)
@given(STEPS)
def test_K15_each_request_is_applied_once_in_order_and_gets_its_own_answer(steps):
    world = World()
    for step in steps:
        world.step(*step)
        assert applied == list(range(len(applied)))
        assert len(applied) <= len(world.asked)
    world.settle()
    assert applied == list(range(len(world.asked)))
    for number, request in enumerate(world.asked):
        _, kind, value = world.answers[request]
        if number % 7 == 3:
            assert kind == "error" and value[1].message == f"refused: {number}"
        else:
            assert (kind, value) == ("value", number * 2)
    assert set(world.worker._values) == set(world.values) - world.dropped
    # Nothing is left of what was sent, but answers that the next message would acknowledge.
    assert world.connection.load == 0 and world.connection._link.held == 0
    assert not world.worker._replies
    world.settle()
    assert world.worker._link.held <= 1
