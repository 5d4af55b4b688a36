"""Profiles on request: a Unix socket at which this process can be asked for one.

The environment variable OPYARD_PROFILE_SOCKET names it; `python -m opyard.profiler attach` asks.
One line of JSON comes in, and lines of JSON go out: that the profile has begun, then how it ended,
and behind the last one the file that was asked for. Only this user's processes and root's are
heard. The thread that listens sleeps until then, and is left out of what is captured.
"""

from __future__ import annotations

import _thread
import atexit
import os
import sys

from .. import _tracer

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    import socket
    from typing import Any

VARIABLE = "OPYARD_PROFILE_SOCKET"
MOST_SECONDS = 86_400.0
_MOST_REQUEST = 4096


def path_in(value: str, process: int) -> str:
    """What the variable says for a process."""
    return value.replace("{pid}", str(process))


def _warn(message: str) -> None:
    import warnings

    warnings.warn(f"{message}; the program goes on without it", RuntimeWarning, stacklevel=2)


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The number of the process at the other end, and of its user."""
    import socket
    import struct

    form = "iII"
    answer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
    process, user, _ = struct.unpack(form, answer)
    return process, user


class Listener:
    """The socket, and the thread that serves one request after another."""

    def __init__(self, path: str) -> None:
        import socket

        self.path = path
        self.process = os.getpid()
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            os.fchmod(self.socket.fileno(), 0o600)  # before it has a name: it is never wider
            self._bind()
            self.socket.listen(4)
        except OSError:
            self.socket.close()
            raise

    def _bind(self) -> None:
        """Takes the place of a socket at which nobody listens any more, and of no other file."""
        import errno
        import socket
        import stat

        try:
            self.socket.bind(self.path)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not stat.S_ISSOCK(os.lstat(self.path).st_mode):
                raise
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(self.path) != errno.ECONNREFUSED:
                    raise
            os.unlink(self.path)
            self.socket.bind(self.path)

    def serve(self, once: bool) -> None:
        """Until the socket is closed, or one request."""
        is_last = False
        while not is_last:
            is_last = once
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                try:
                    _answer(connection)
                except OSError:  # the other end has gone
                    continue
        _listening.remove(self)
        self.close(unlink=True)

    def close(self, *, unlink: bool) -> None:
        self.socket.close()
        if unlink and self.process == os.getpid():
            try:
                os.unlink(self.path)
            except OSError:  # someone has removed it
                pass


def _say(connection: socket.socket, **facts: object) -> None:
    import json

    connection.sendall(json.dumps(facts).encode() + b"\n")


def _answer(connection: socket.socket) -> None:
    import json

    _, user = peer_of(connection)
    if user not in (0, os.geteuid()):
        return _say(connection, error=f"this process is of user {os.geteuid()}, not of {user}")
    connection.settimeout(5.0)
    request = b""
    try:
        while not request.endswith(b"\n") and len(request) < _MOST_REQUEST:
            piece = connection.recv(_MOST_REQUEST)
            if not piece:
                return
            request += piece
        wanted = json.loads(request)
        recorder = _recorder_of(wanted)
        seconds = min(max(float(wanted["seconds"]), 0.0), MOST_SECONDS)
    except (KeyError, TypeError, ValueError) as error:
        return _say(connection, error=f"the request is not understood: {error}")
    try:
        recorder.start()
    except Exception as error:  # another profile is on, say
        return _say(connection, error=str(error))
    try:
        _say(connection, began=True, process=os.getpid(), program=" ".join(sys.argv))
        has_left = _wait(connection, seconds)
    finally:
        recorder.stop()
    if not has_left:
        _send_results(connection, recorder, wanted)


def _recorder_of(wanted: dict[str, Any]) -> Any:
    if wanted.get("mode") == "trace":
        from .session import profile

        return profile()
    from .sampling import sample

    return sample(wanted["hz"])


def _wait(connection: socket.socket, seconds: float) -> bool:
    """Whether the other end goes away meanwhile."""
    import select

    readable, _, _ = select.select([connection], [], [], seconds)
    return bool(readable)


def _send_results(connection: socket.socket, recorder: Any, wanted: dict[str, Any]) -> None:
    connection.settimeout(60.0)
    recorder._warns = False
    name = wanted.get("output")
    try:
        if name is None:
            contents = _tables(recorder, bool(wanted.get("fold", True))).encode()
        else:
            contents = _file(recorder, name, wanted.get("format"))
    except Exception as error:  # a full disk, say
        return _say(connection, error=f"the profile was taken, and could not be written: {error}")
    _say(connection, bytes=len(contents))
    connection.sendall(contents)


def _tables(recorder: Any, fold: bool) -> str:
    text = recorder.key_averages().table(sort_by=recorder._sort_by, row_limit=40, fold=fold)
    if hasattr(recorder, "line_averages"):
        text += recorder.line_averages().table(row_limit=15)
    return text


def _file(recorder: Any, name: str, format: str | None) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="opyard-") as folder:
        path = os.path.join(folder, os.path.basename(name))
        recorder.export(path, format)
        with open(path, "rb") as file:
            return file.read()


_listening: list[Listener] = []


def begin(path: str, *, once: bool = False) -> None:
    """Listens at a path from now on, or for one request; warns if that cannot be."""
    try:
        listener = Listener(path)
    except OSError as error:
        return _warn(f"no one can attach to this process by {path!r} of {VARIABLE}: {error}")
    _listening.append(listener)
    _thread.start_new_thread(listener.serve, (once,))


def begin_by_environment() -> None:
    """At the import of the package. Not in a program with more rights than who started it."""
    value = os.environ.get(VARIABLE, "")
    has_own_rights = os.getuid() == os.geteuid() and os.getgid() == os.getegid()
    if value and has_own_rights and not _listening and _tracer.is_main_interpreter():
        begin(path_in(value, os.getpid()))


@atexit.register
def _end() -> None:
    for listener in _listening:
        listener.close(unlink=True)
    _listening.clear()


def _begin_in_child() -> None:
    """The socket is the parent's. A child has one of its own if the path has its number."""
    if not _listening:
        return
    for listener in _listening:
        listener.close(unlink=False)
    _listening.clear()
    if "{pid}" in os.environ.get(VARIABLE, ""):
        begin_by_environment()


os.register_at_fork(after_in_child=_begin_in_child)

for _function in (Listener.serve, _answer, _wait, _say, _send_results, _tables, _file):
    _tracer.hide(_function.__code__)
