"""Frames: what a message between processes consists of.

    frames[0]    the envelope: the number of the message, and up to where the others were applied
    frames[1]    a pickle
    frames[2:]   the memory of its tensors and arrays, out of band (protocol 5)

An engine carries frames and looks at none. Where frames are laid out one behind the other, each
begins at a multiple of 64 bytes, so that loops over what arrives run as over what was made here.
"""

import io
import struct
from collections.abc import Callable, Sequence
from pickle import PickleBuffer
from typing import Any

Frame = Any  # bytes, or what has the buffer interface
Frames = Sequence[Frame]

ALIGNMENT = 64
_ENVELOPE = struct.Struct("<QQ")


def envelope(number: int, applied: int) -> bytes:
    return _ENVELOPE.pack(number, applied)


def read_envelope(frame: Frame) -> "tuple[int, int]":
    number, applied = _ENVELOPE.unpack(frame)
    return number, applied


def pack(value: object, pickler: Callable[..., Any]) -> "list[Frame]":
    """The pickle of a value, and its buffers. `pickler` is a class of pickle.Pickler's kind."""
    buffers: list[PickleBuffer] = []
    stream = io.BytesIO()
    pickler(stream, 5, buffer_callback=buffers.append).dump(value)
    return [stream.getvalue(), *(each.raw() for each in buffers)]


def unpack(frames: Frames, unpickler: Callable[..., Any]) -> Any:
    """What pack() was given."""
    return unpickler(io.BytesIO(frames[0]), buffers=frames[1:]).load()


def size_of(frame: Frame) -> int:
    return frame.nbytes if isinstance(frame, memoryview) else len(frame)


def total(frames: Frames) -> int:
    """How many bytes the frames have."""
    return sum(size_of(each) for each in frames)


def layout(sizes: "Sequence[int]") -> "tuple[list[int], int]":
    """Where each frame begins if they are laid out one behind the other, and the size of all."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return offsets, end
