"""test_link.py: messages are applied once and in order, whatever the carrier does to them (K15).

Histories are made up by hypothesis: an in-process carrier loses, doubles and reorders packets.
Suspect remote/python/opyard/_remote/link.py.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import volume

from opyard._remote.link import Link, Packet

pytestmark = pytest.mark.once

# What happens next: an end sends something new, sends again, or the carrier does something to the
# packet at a place of those that are on their way.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "again", "deliver", "double", "lose"]),
        st.booleans(),
        st.integers(0, 1000),
    ),
    max_size=60,
)


class Ends:
    """Two ends, and what is on its way to each."""

    def __init__(self):
        self.links = Link(keeps=True), Link(keeps=True)
        self.on_their_way = [], []
        self.sent = [], []
        self.applied = [], []

    def send(self, end):
        message = f"{end}:{len(self.sent[end])}"
        self.sent[end].append(message)
        self.on_their_way[1 - end].append(self.links[end].outgoing(message))

    def again(self, end):
        self.on_their_way[1 - end].extend(self.links[end].again())

    def deliver(self, end, packet):
        self.applied[end].extend(self.links[end].incoming(packet))

    def step(self, what, end, place):
        waiting = self.on_their_way[end]
        if what in ("send", "again"):
            getattr(self, what)(end)
        elif waiting:
            packet = waiting.pop(place % len(waiting))
            if what != "lose":
                self.deliver(end, packet)
            if what == "double":
                self.deliver(end, packet)


@settings(max_examples=volume(1000), deadline=None)
@given(STEPS)
def test_K15_each_message_is_applied_once_and_in_order(steps):
    ends = Ends()
    for what, end, place in steps:
        ends.step(what, int(end), place)
        for receiver in (0, 1):
            sent = ends.sent[1 - receiver]
            assert ends.applied[receiver] == sent[: len(ends.applied[receiver])]
    # From here on nothing is lost: everything arrives, and nothing is held any more.
    for _ in range(3):
        for end in (0, 1):
            ends.again(end)
            ends.on_their_way[1 - end].append(Packet(0, ends.links[end].applied, None))
        for end in (0, 1):
            for packet in ends.on_their_way[end]:
                ends.deliver(end, packet)
            ends.on_their_way[end].clear()
    assert ends.applied == (ends.sent[1], ends.sent[0])
    assert [link.held for link in ends.links] == [0, 0]
    assert [link.unacknowledged for link in ends.links] == [0, 0]


def test_what_a_carrier_cannot_lose_is_not_kept():
    link = Link(keeps=False)
    assert link.outgoing("message") == Packet(1, 0, "message")
    assert link.again() == [] and link.held == 0 and link.unacknowledged == 1
    assert link.incoming(Packet(1, 1, "answer")) == ["answer"]
    assert link.unacknowledged == 0


def test_a_message_that_could_not_be_sent_gives_its_number_back():
    link = Link(keeps=True)
    link.outgoing("one")
    link.outgoing("two")
    link.withdraw(2)
    assert link.outgoing("three").number == 2
    with pytest.raises(ValueError, match="message 1 is not the last one"):
        link.withdraw(1)


def test_an_answer_to_what_was_never_sent_acknowledges_nothing():
    link = Link(keeps=True)
    link.outgoing("one")
    assert link.incoming(Packet(0, 5, None)) == []
    assert link.unacknowledged == 0
    assert link.outgoing("two").number == 2
    assert link.unacknowledged == 1
