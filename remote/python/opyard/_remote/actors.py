"""Actors: what runs in a worker of an engine that has actors, such as Dask and Ray.

The engine calls the methods on a loop of asyncio. `handle` takes the frames of a message of the
driver and gives those of the answer; `deliver` takes what another worker sends.
"""

import asyncio
import os
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from . import wire

_SMALL = 4096  # bytes that are copied into the message rather than counted as a buffer
_ALIGNMENT = 16  # of what is copied: that of the memory of bytes


def carried(frames: wire.Frames, uncopied: "Callable[[Any], Any]") -> "list[Any]":
    """Frames as arguments of an engine's call, each of which costs it some time.

    The first has the small ones one behind the other, after how many there are and their sizes, -1
    for the others: these follow, by what is not copied.
    """
    sizes, small, large = [], [], []
    for each in frames:
        size = wire.size_of(each)
        if size < _SMALL:
            sizes.append(size)
            small += (bytes(each), bytes(-size % _ALIGNMENT))
        else:
            sizes.append(-1)
            large.append(uncopied(each))
    head = struct.pack(f"<{len(sizes) + 1}q", len(sizes), *sizes)
    return [b"".join([head, bytes(-len(head) % _ALIGNMENT), *small]), *large]


def separated(arguments: "Sequence[Any]") -> "list[memoryview]":
    """The frames that carried() was given."""
    joined, large = memoryview(arguments[0]), iter(arguments[1:])
    (count,) = struct.unpack_from("<q", joined)
    start = 8 * (count + 1)
    frames = []
    for size in struct.unpack_from(f"<{count}q", joined, 8):
        if size < 0:
            frames.append(memoryview(next(large)))
            continue
        start += -start % _ALIGNMENT
        frames.append(joined[start : start + size])
        start += size
    return frames


class Actor:
    """A worker, as an engine's object. A subclass knows what is not copied, and how to send."""

    _uncopied: "Callable[[Any], Any]"

    def __init__(self, path: "list[str]") -> None:
        from .worker import Worker

        sys.path += [each for each in path if each not in sys.path]
        self._peers: dict[int, Any] = {}
        self._worker = Worker(_sender(weakref.ref(self)))
        self._thread = threading.Thread(
            target=self._worker.run, name="opyard-remote-worker", daemon=True
        )
        self._thread.start()

    def __del__(self) -> None:
        """The engine frees an actor with its session; a process of a cluster goes on."""
        worker = getattr(self, "_worker", None)
        if worker is not None:
            worker.close()

    def _carried(self, frames: wire.Frames) -> "list[Any]":
        return carried(frames, type(self)._uncopied)

    def _send(self, number: int, frames: "list[Any]") -> None:
        raise NotImplementedError

    async def handle(self, *frames: Any) -> "list[Any]":
        """The answer to a message of the driver."""
        loop = asyncio.get_running_loop()
        answered = loop.create_future()

        def answer(made: wire.Frames) -> None:
            loop.call_soon_threadsafe(_set, answered, self._carried(made))

        read = separated(frames)
        self._worker.receive(read, answer)
        return [] if wire.read_envelope(read[0])[0] == 0 else await answered

    async def deliver(self, *frames: Any) -> None:
        # Not on the loop's thread: packing what another worker asked for may take a while.
        read = separated(frames)
        await asyncio.get_running_loop().run_in_executor(None, self._worker.deliver, read)

    async def set_peers(self, numbers: "list[int]", actors: "list[Any]") -> int:
        """Which workers there are. Gives the number of this process."""
        self._peers = dict(zip(numbers, actors, strict=True))
        return os.getpid()


def _sender(actor: "weakref.ref[Actor]") -> "Callable[[int, wire.Frames], None]":
    """What hands frames to another worker, and keeps no actor: the worker's thread has it."""

    def send(number: int, frames: wire.Frames) -> None:
        found = actor()
        if found is not None:
            found._send(number, found._carried(frames))

    return send


def _set(answered: "asyncio.Future", frames: "list[Any]") -> None:
    if not answered.done():
        answered.set_result(frames)
