"""The cache of freed tensor memory on the CPU.

    opyard.memory.stats()          # {'cached_bytes': 4194304, 'hits': 17, 'misses': 3}
    opyard.memory.empty_cache()    # 4194304: bytes that went back to the system

A thread keeps up to 64 MiB of what it gives back, and a process 256 MiB, since fresh pages cost
more than the arithmetic that fills them. It goes back by itself when a thread ends, and when an
allocation fails, which is then tried again.
"""

from ._bind import cached_memory, empty_cached_memory
from ._core import late as _late

__all__ = ["empty_cache", "stats"]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())


def empty_cache() -> int:
    """Gives the cached memory of all threads back to the system; returns how many bytes that is."""
    return empty_cached_memory()


def stats() -> dict[str, int]:
    """Bytes that wait, tensors that were given such memory, and those for which none was there."""
    return dict(zip(("cached_bytes", "hits", "misses"), cached_memory(), strict=True))
