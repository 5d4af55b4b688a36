"""Callbacks for device events: kernels, allocations, streams.

    def allocated(address): ...

    opyard.gpu_trace.register_callback_for_memory_allocation(allocated)

There are ten kinds of events, each with a registry of callbacks. Addresses, events and streams are
the device's own words, as ints. A callback that raises is logged, and the others still run. Memory
and streams of devices are told of by Opyard, events by the plugins that have them. What happens
if no Python code may run, such as the end of a tensor on a thread without the GIL, is told soon
afterwards.

One interpreter of a process is told: the first one that registers a callback.
"""

import logging
from collections.abc import Callable

from . import _C
from ._core import late as _late
from ._core.keywords import names_keywords

__all__ = [
    "CallbackRegistry",
    "register_callback_for_device_synchronization",
    "register_callback_for_event_creation",
    "register_callback_for_event_deletion",
    "register_callback_for_event_record",
    "register_callback_for_event_synchronization",
    "register_callback_for_event_wait",
    "register_callback_for_memory_allocation",
    "register_callback_for_memory_deallocation",
    "register_callback_for_stream_creation",
    "register_callback_for_stream_synchronization",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())


logger = logging.getLogger(__name__)


class CallbackRegistry:
    """The callbacks for one kind of event, in the order in which they came."""

    @names_keywords
    def __init__(self, name: str) -> None:
        self.name = name
        self.callback_list: list[Callable[..., object]] = []

    @names_keywords
    def add_callback(self, callback: Callable[..., object]) -> None:
        """Calls `callback` at each event from now on. Raises TypeError for what is no callable."""
        if not callable(callback):
            raise TypeError(
                f"{self.name}: a callback must be a callable, not a {type(callback).__name__}"
            )
        self.callback_list.append(callback)

    def fire_callbacks(self, *args: int) -> None:
        """Calls them all. One that raises is logged."""
        for callback in tuple(self.callback_list):
            try:
                callback(*args)
            except Exception:
                logger.exception(
                    "Exception in callback for %s registered with gpu trace", self.name
                )


# By the name of the interpreter's function, without "trace_gpu_".
_registries = {
    "event_creation": CallbackRegistry("GPU event creation"),
    "event_deletion": CallbackRegistry("GPU event deletion"),
    "event_record": CallbackRegistry("GPU event record"),
    "event_wait": CallbackRegistry("GPU event wait"),
    "memory_allocation": CallbackRegistry("GPU memory allocation"),
    "memory_deallocation": CallbackRegistry("GPU memory deallocation"),
    "stream_creation": CallbackRegistry("GPU stream creation"),
    "device_synchronization": CallbackRegistry("GPU device synchronization"),
    "stream_synchronization": CallbackRegistry("GPU stream synchronization"),
    "event_synchronization": CallbackRegistry("GPU event synchronization"),
}


def _fire(event: str, *words: int) -> None:
    _registries[event].fire_callbacks(*words)


def _register(event: str, callback: Callable[..., object]) -> None:
    if not _C.set_gpu_trace():
        raise RuntimeError(
            "another interpreter of this process is told of devices already; register the callback "
            "there"
        )
    _registries[event].add_callback(callback)


@names_keywords
def register_callback_for_event_creation(callback: Callable[[int], object]) -> None:
    """Calls callback(event) after an event was made."""
    _register("event_creation", callback)


@names_keywords
def register_callback_for_event_deletion(callback: Callable[[int], object]) -> None:
    """Calls callback(event) before an event goes away."""
    _register("event_deletion", callback)


@names_keywords
def register_callback_for_event_record(callback: Callable[[int, int], object]) -> None:
    """Calls callback(event, stream) when an event is put into a stream."""
    _register("event_record", callback)


@names_keywords
def register_callback_for_event_wait(callback: Callable[[int, int], object]) -> None:
    """Calls callback(event, stream) when a stream is told to wait for an event."""
    _register("event_wait", callback)


@names_keywords
def register_callback_for_memory_allocation(callback: Callable[[int], object]) -> None:
    """Calls callback(address) after memory was taken."""
    _register("memory_allocation", callback)


@names_keywords
def register_callback_for_memory_deallocation(callback: Callable[[int], object]) -> None:
    """Calls callback(address) when memory is given back."""
    _register("memory_deallocation", callback)


@names_keywords
def register_callback_for_stream_creation(callback: Callable[[int], object]) -> None:
    """Calls callback(stream) after a stream was made."""
    _register("stream_creation", callback)


@names_keywords
def register_callback_for_device_synchronization(callback: Callable[[], object]) -> None:
    """Calls callback() before all work of a device is waited for."""
    _register("device_synchronization", callback)


@names_keywords
def register_callback_for_stream_synchronization(callback: Callable[[int], object]) -> None:
    """Calls callback(stream) before the work of a stream is waited for."""
    _register("stream_synchronization", callback)


@names_keywords
def register_callback_for_event_synchronization(callback: Callable[[int], object]) -> None:
    """Calls callback(event) before an event is waited for."""
    _register("event_synchronization", callback)
