"""Frames over a pair of sockets between two processes of one machine, large ones in shared memory.

    header   magic, number of frames, where they are            16 bytes, then 8 a frame: its size
    frames   in the stream, or in a file without a name whose descriptor comes with the header

Both are laid out by wire.layout(). A file is mapped by who receives it, privately: a page is
copied when it is first written into, so nothing that arrives is read-only. It has no name in the
file system, so nothing stays of it when the processes end, however they do.
"""

import array
import mmap
import os
import socket
import struct
import tempfile
import threading
from typing import Any

from . import wire

_HEADER = struct.Struct("<III4x")
_MAGIC = 0x4F595052
_IN_STREAM, _IN_FILE = 0, 1
LARGE = 1 << 16  # bytes; from here on a file costs less than two copies through the socket


class Closed(ConnectionError):
    """The other end is gone."""


def _memory_file(size: int) -> int:
    """The descriptor of a file without a name."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("opyard-remote", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile(dir="/dev/shm") as named:
            file = os.dup(named.fileno())
    try:
        os.ftruncate(file, size)
    except OSError:
        os.close(file)
        raise
    return file


def _write_file(frames: wire.Frames, offsets: "list[int]", size: int) -> int:
    file = -1
    try:
        file = _memory_file(size)
        for frame, offset in zip(frames, offsets, strict=True):
            view = memoryview(frame).cast("B")
            while view.nbytes:
                written = os.pwrite(file, view[: 1 << 30], offset)
                view, offset = view[written:], offset + written
    except OSError as error:
        if file >= 0:
            os.close(file)
        raise MemoryError(
            f"a message of {size:,} bytes cannot be put into the memory that processes share "
            f"({error}); send less at a time, or keep it on the workers with remote() and put()"
        ) from error
    return file


class Channel:
    """One end. Any thread may send; one receives."""

    def __init__(self, end: socket.socket, *, send_timeout: float = 60.0) -> None:
        seconds, rest = divmod(send_timeout, 1)
        limit = struct.pack("ll", int(seconds), int(rest * 1e6))
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._end = end
        self._sending = threading.Lock()
        self.descriptor = end.fileno()

    def send(self, frames: wire.Frames) -> None:
        """Raises Closed, TimeoutError if the other end takes nothing, and MemoryError."""
        sizes = [wire.size_of(each) for each in frames]
        offsets, size = wire.layout(sizes)
        is_large = size >= LARGE
        head = _HEADER.pack(_MAGIC, len(frames), _IN_FILE if is_large else _IN_STREAM)
        head += struct.pack(f"<{len(sizes)}Q", *sizes)
        if is_large:
            file = _write_file(frames, offsets, size)
            try:
                self._send(head, [file])
            finally:
                os.close(file)
            return
        parts = [head]
        for frame, length in zip(frames, sizes, strict=True):
            parts += (frame, bytes(-length % wire.ALIGNMENT))
        self._send(b"".join(parts), [])

    def _send(self, data: bytes, files: "list[int]") -> None:
        ancillary: Any = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        with self._sending:
            try:
                sent = self._end.sendmsg([data], ancillary if files else [], socket.MSG_NOSIGNAL)
                view = memoryview(data)[sent:]
                while view.nbytes:
                    view = view[self._end.send(view, socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                raise TimeoutError("the other end has taken no message for a long time") from None
            except OSError as error:
                raise Closed(str(error)) from None

    def receive(self) -> "list[wire.Frame]":
        """Waits for the next message. Raises Closed."""
        head, files = self._receive_head()
        try:
            magic, count, where = _HEADER.unpack(head)
            if magic != _MAGIC:
                raise Closed("what came is no message")
            sizes = struct.unpack(f"<{count}Q", self._receive_exactly(bytearray(8 * count)))
            offsets, size = wire.layout(sizes)
            if where == _IN_FILE:
                whole = memoryview(mmap.mmap(files[0], size, access=mmap.ACCESS_COPY))
            else:
                whole = self._receive_exactly(_aligned(size))
        finally:
            for file in files:
                os.close(file)
        return [whole[o : o + size] for o, size in zip(offsets, sizes, strict=True)]

    def _receive_head(self) -> "tuple[bytes, list[int]]":
        files = array.array("i")
        try:
            head, ancillary, _, _ = self._end.recvmsg(
                _HEADER.size, socket.CMSG_SPACE(files.itemsize), socket.MSG_CMSG_CLOEXEC
            )
        except OSError as error:
            raise Closed(str(error)) from None
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                files.frombytes(data)
        if not head:
            raise Closed("it was closed")
        if len(head) < _HEADER.size:
            head += self._receive_exactly(bytearray(_HEADER.size - len(head)))
        return head, list(files)

    def _receive_exactly(self, buffer: Any) -> Any:
        view = memoryview(buffer)
        while view.nbytes:
            try:
                count = self._end.recv_into(view)
            except OSError as error:
                raise Closed(str(error)) from None
            if count == 0:
                raise Closed("it was closed in the middle of a message")
            view = view[count:]
        return buffer

    def close(self) -> None:
        try:
            self._end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._end.close()


def _aligned(size: int) -> memoryview:
    """Memory that begins at a multiple of wire.ALIGNMENT."""
    from .._C import from_numpy

    memory = memoryview(bytearray(size + wire.ALIGNMENT))
    start = -from_numpy(memory).data_ptr() % wire.ALIGNMENT
    return memory[start : start + size]
