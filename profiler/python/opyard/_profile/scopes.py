"""RecordScope: for whom a span was captured; apart from events.py, which imports more modules."""

from enum import IntEnum


class RecordScope(IntEnum):
    """For whom a span was captured, with PyTorch's names and numbers."""

    FUNCTION = 0  # a call
    BACKWARD_FUNCTION = 1  # a function of gradients that a backward runs
    TORCHSCRIPT_FUNCTION = 2  # an instruction of a graph
    USER_SCOPE = 7  # a range of the program's own, or a step
