"""Failures on workers: what travels of an exception, and what is raised of it here."""

import pickle
import traceback
from typing import Any, NamedTuple


class Origin(NamedTuple):
    """Where an exception of a worker was raised; it has this as `remote`."""

    worker: int
    operator: str
    """The operator, or the function or graph, that was called."""
    position: "int | None"
    """The number of the shard, of a map."""
    kind: str
    """The full name of its class."""
    message: str
    traceback: str
    """The worker's, as text."""


class RemoteTraceback(Exception):
    """The cause of an exception that was raised on a worker: its text is the traceback there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text.rstrip()}"


class RemoteError(RuntimeError):
    """An exception of a worker whose class cannot be made here."""


class WorkerLost(RuntimeError):
    """A worker ended before it had answered."""

    worker: int = -1
    how: str = "has ended"
    """As in "was killed by SIGKILL"."""


class SessionClosed(RuntimeError):
    """What belonged to a session was used after the session had ended."""


def describe(error: BaseException, worker: int, operator: str, position: "int | None") -> Any:
    """What travels of an exception."""
    kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    origin = Origin(worker, operator, position, kind, _message(error), text)
    return _pickled(error), origin


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as another:
        return f"(its __str__ raised {type(another).__name__})"


def _pickled(error: BaseException) -> "bytes | None":
    """The pickle of an exception that is the same afterwards."""
    try:
        pickled = pickle.dumps(error, 5)
        again = pickle.loads(pickled)
    except Exception:
        return None
    is_same = type(again) is type(error) and _message(again) == _message(error)
    return pickled if is_same else None


def rebuild(described: Any) -> BaseException:
    """The exception that describe() described: of the same class, if that can be made here."""
    pickled, origin = described
    error: BaseException | None = None
    if pickled is not None:
        try:
            error = pickle.loads(pickled)
        except Exception:
            error = None
    if not isinstance(error, BaseException):
        error = RemoteError(f"{origin.kind}: {origin.message}")
    try:
        error.remote = origin  # type: ignore[attr-defined]
    except AttributeError:  # a class with slots
        pass
    shard = "" if origin.position is None else f", shard {origin.position}"
    said = f"{origin.operator} on worker {origin.worker}{shard}:\n{origin.traceback}"
    error.__cause__ = RemoteTraceback(said)
    return error


def lost(worker: int, how: str, running: str = "") -> WorkerLost:
    """The error of what a worker did not answer. `how` says how it ended, as "was killed"."""
    said = f"worker {worker} {how}"
    if running:
        said += (
            f" before it had answered {running}, which was not repeated, since part of it may "
            "have run: call it again, or with repeat=True if running it twice does no harm"
        )
    error = WorkerLost(said)
    error.worker, error.how = worker, how
    return error
