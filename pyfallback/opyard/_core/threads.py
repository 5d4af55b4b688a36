"""The size of the thread pool that kernels share: `OPYARD_NUM_THREADS`, else all processors."""

from operator import index

from .. import _bind
from .keywords import names_keywords


def get_num_threads() -> int:
    """How many threads compute at a time."""
    return _bind.num_threads()


@names_keywords
def set_num_threads(count: int) -> None:
    """Sets how many threads compute at a time, from 1 to 1024, for what begins afterwards.

    Results do not depend on it, to the bit. Raises TypeError for what is no int.
    """
    try:
        count = index(count)
    except TypeError:
        raise TypeError(
            f"set_num_threads() takes a number of threads, from 1 to 1024, not {count!r}"
        ) from None
    _bind.set_num_threads(count)
