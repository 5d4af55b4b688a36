"""Operators on other processes and machines, over engines that exist: pipes, Ray, Dask.

    with opyard.remote.session("ray", workers=2) as s:
        y = s.call(opyard.ops.aten.mm, x, w)
        for part in s.map(score, shards):
            ...

An engine places workers, begins them and carries messages; Ray and Dask are imported when a session
is opened with them, not before. "pipes" needs neither: its workers are processes of this machine.
Workers run what they are sent. Who may connect is the engine's matter: Opyard opens no port.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ._C import Tensor
from ._core import late as _late
from ._core.keywords import names_keywords
from ._remote import opening as _opening
from ._remote import worker as _worker
from ._remote.failures import Origin, RemoteError, RemoteTraceback, SessionClosed, WorkerLost
from ._remote.group import BUCKET as _BUCKET
from ._remote.references import Ref
from ._remote.session import Session

__all__ = [
    "Origin",
    "Ref",
    "RemoteError",
    "RemoteTraceback",
    "Session",
    "SessionClosed",
    "WorkerLost",
    "all_reduce",
    "put",
    "rank",
    "session",
    "size",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())


def session(
    engine: Any = "pipes",
    *,
    workers: int = 2,
    address: "str | None" = None,
    timeout: "float | None" = 600.0,
    start_timeout: float = 120.0,
    send_plugins: bool = False,
    setup: "Callable[[], object] | None" = None,
    threads: "int | None" = 1,
    retry: float = 1.0,
    **options: Any,
) -> Session:
    """Opens a session with so many workers, each of which answers what it lacks first.

    `engine` is "pipes", "ray" or "dask", or an object with the four functions of an engine.
    `address` is that of a running cluster; without one, a cluster of this machine is begun, and
    ended with the session. `timeout` is the time limit of each call that has none of its own, in
    seconds, and None for no limit; `start_timeout` that of the start. `setup` is called on each
    worker first, as to define operators. `threads` is how many a worker's operators use, None for
    all. `send_plugins` sends the libraries that this process has loaded by path to workers that do
    not have them. `retry` is after how many seconds a message is sent again, over an engine that
    loses messages. What else is given goes to the engine.

    Raises ImportError if the engine is not installed, ValueError for another one, and RuntimeError
    if it does not start, or in one list for all that the workers lack.
    """
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise ValueError(f"session: workers must be a number above 0, not {workers!r}")
    for name, limit in (("timeout", timeout), ("start_timeout", start_timeout), ("retry", retry)):
        if limit is not None and not limit > 0:
            raise ValueError(f"session: {name} must be a number of seconds above 0, not {limit!r}")
    return Session(
        _opening.make(engine, address, start_timeout, options, _OWN),
        workers=workers,
        timeout=timeout,
        start_timeout=start_timeout,
        send_plugins=send_plugins,
        setup=setup,
        threads=threads,
        retry=retry,
    )


_OWN = ("engine", *(session.__kwdefaults__ or ()))


def put(value: Any) -> Ref:
    """A Ref to a value of this worker, for a function that a session runs to give back.

    Raises RuntimeError on the driver: Session.put() sends a value to a worker.
    """
    return _worker.current().put(value)


def _group(name: str) -> Any:
    group = _worker.current().group
    if group is None:
        raise RuntimeError(
            f"{name}: this call runs on one worker alone; session.each() runs one on all together"
        )
    return group


def rank() -> int:
    """The place of this worker among those that run an each() together, from 0."""
    return _group("rank").rank


def size() -> int:
    """How many workers run an each() together."""
    return len(_group("size").members)


@names_keywords
def all_reduce(
    tensors: "Sequence[Tensor]", *, bucket: int = _BUCKET, timeout: float = 60.0
) -> "list[Tensor]":
    """The sums of tensors over all workers that run an each() together: new ones, in order.

    All of them call it equally often, with tensors of the same sizes and dtypes; all get the same
    bits. Tensors travel round the ring of workers, `bucket` bytes or more together. Raises
    WorkerLost if a worker ends meanwhile, TimeoutError if nothing comes for `timeout` seconds, and
    ValueError for other sizes.
    """
    return _group("all_reduce").all_reduce(list(tensors), bucket=bucket, timeout=timeout)
