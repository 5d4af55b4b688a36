"""Numbered messages: each is applied once and in order, whatever the carrier does to them.

    driver                                              worker
    outgoing(m)  ── 1 m ──────────────────────────────▶ incoming() gives [m]
    outgoing(n)  ── 2 n ──── lost                       outgoing(r)
    incoming()   ◀───────────────────────── 1 r ─────── "applied: 1"
    again()      ── 2 n ──────────────────────────────▶ incoming() gives [n]
    again()      ── 2 n ──────────────────────────────▶ incoming() gives []: it was applied

A Link is one end. It numbers what leaves from 1, and says with each message up to which number it
has applied those of the other end. What the other end has not said that of is kept, if the carrier
may lose messages, and sent again. A message that arrives early waits for those before it; one that
was applied is dropped. Nothing here sends, waits or locks: the owner does.
"""

from typing import Any, Generic, NamedTuple, TypeVar

_T = TypeVar("_T")


class Packet(NamedTuple):
    """A message with its number, and up to which number the sender has applied the other end's.

    The number is 0 for a packet that says the latter alone.
    """

    number: int
    applied: int
    message: Any


class Link(Generic[_T]):
    """One end of a connection. Guarded by a lock of its owner."""

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps  # what is not known to have been applied
        self._sent = 0
        self._applied = 0
        self._acknowledged = 0
        self._kept: dict[int, _T] = {}
        self._early: dict[int, _T] = {}

    @property
    def applied(self) -> int:
        """Up to which number the messages of the other end were applied."""
        return self._applied

    @property
    def sent(self) -> int:
        return self._sent

    @property
    def unacknowledged(self) -> int:
        """How many messages the other end has not said to have applied."""
        return self._sent - self._acknowledged

    @property
    def held(self) -> int:
        """How many messages this end holds, for sending them again or for their turn."""
        return len(self._kept) + len(self._early)

    def outgoing(self, message: _T) -> "Packet":
        """The packet to send for a new message."""
        self._sent += 1
        if self._keeps:
            self._kept[self._sent] = message
        return Packet(self._sent, self._applied, message)

    def withdraw(self, number: int) -> None:
        """Undoes outgoing(), for the last message if it could not be sent at all."""
        if number != self._sent:
            raise ValueError(f"message {number} is not the last one, which is {self._sent}")
        self._kept.pop(number, None)
        self._sent -= 1

    def incoming(self, packet: "Packet") -> "list[_T]":
        """The messages whose turn it is now, in order; none for a packet that was here before."""
        for number in range(self._acknowledged + 1, min(packet.applied, self._sent) + 1):
            self._kept.pop(number, None)
            self._acknowledged = number
        if packet.number > self._applied and packet.message is not None:
            self._early.setdefault(packet.number, packet.message)
        due = []
        while self._applied + 1 in self._early:
            self._applied += 1
            due.append(self._early.pop(self._applied))
        return due

    def again(self) -> "list[Packet]":
        """What has to be sent again, lowest number first."""
        return [Packet(n, self._applied, message) for n, message in self._kept.items()]
