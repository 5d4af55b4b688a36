"""The engine of a name: what session() takes, imported when it is asked for."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .._core.keywords import refuse_keyword
from .._core.near_names import hint
from .engines import Engine

NAMES = ("pipes", "ray", "dask")


def require_options(
    engine: "Callable[..., Engine]", options: "Iterable[str]", own: "Iterable[str]"
) -> None:
    """Raises TypeError for an option that neither an engine nor session(), with its own, takes."""
    known = [name for name in inspect.signature(engine).parameters if name not in own]
    for name in options:
        if name not in known:
            raise refuse_keyword("session", name, [*own, *known])


def make(
    engine: "str | Engine",
    address: "str | None",
    timeout: float,
    options: "dict[str, Any]",
    own: "Iterable[str]",
) -> Engine:
    """The engine of a name, not started. `own` are the arguments of session() that go to no engine.
    Raises ImportError if it is not installed, TypeError for an option that it does not take."""
    if not isinstance(engine, str):
        for name in ("start", "send", "close", "on_message"):
            if not callable(getattr(engine, name, None)):
                raise TypeError(
                    f"session: engine must be one of {', '.join(map(repr, NAMES))}, or an object "
                    f"with start, send, close and on_message; {type(engine).__name__} has no {name}"
                )
        if address is not None or options:
            raise TypeError("session: an engine that is an object takes no address and no options")
        return engine
    if engine == "pipes":
        from .pipe_engine import PipeEngine

        if address is not None:
            raise ValueError(
                "session: workers over pipes are processes of this machine and have no address; "
                'use "ray" or "dask" for a running cluster'
            )
        require_options(PipeEngine, options, own)
        return PipeEngine(timeout=timeout, **options)
    if engine == "ray":
        from .ray_engine import RayEngine

        require_options(RayEngine, options, own)
        return RayEngine(address, timeout=timeout, **options)
    if engine == "dask":
        from .dask_engine import DaskEngine

        require_options(DaskEngine, options, own)
        return DaskEngine(address, timeout=timeout, **options)
    raise ValueError(
        f"session: there is no engine {engine!r}{hint(engine, NAMES)}; accepted are "
        f"{', '.join(map(repr, NAMES))}, and objects with start, send, close and on_message"
    )
