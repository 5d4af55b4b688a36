"""The engine of a name: what session() takes, imported when it is asked for."""

from typing import Any

from .._core.near_names import hint
from .engines import Engine

NAMES = ("pipes", "ray", "dask")


def make(
    engine: "str | Engine", address: "str | None", timeout: float, options: "dict[str, Any]"
) -> Engine:
    """The engine of a name, not started. Raises ImportError if it is not installed."""
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
        return PipeEngine(timeout=timeout, **options)
    if engine == "ray":
        from .ray_engine import RayEngine

        return RayEngine(address, timeout=timeout, **options)
    if engine == "dask":
        from .dask_engine import DaskEngine

        return DaskEngine(address, timeout=timeout, **options)
    raise ValueError(
        f"session: there is no engine {engine!r}{hint(engine, NAMES)}; accepted are "
        f"{', '.join(map(repr, NAMES))}, and objects with start, send, close and on_message"
    )
