"""Shared parts of the tests of custom_op(): functions to register, and comparisons."""

import sys
from pathlib import Path

from raised import message_of

from opyard import Tensor

# The fixture `make` calls custom_op() there.
MADE_IN = Path(__file__).with_name("conftest.py")


def here(offset=0):
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"


def twice(x: Tensor) -> Tensor:
    """Twice as much."""
    return x * 2


def values(tensor):
    return tensor.tolist()


def lambda_of(like, fn):
    """A function with the annotations and the name of another."""

    def made(x: Tensor) -> Tensor:
        return fn(x)

    made.__name__, made.__doc__ = like.__name__, like.__doc__
    return made


# F17 --------------------------------------------------------------------------------------


def both_ways(f, *args, **kwargs):
    """The message of the direct call, which is that of the boxed one."""
    text = message_of(RuntimeError, f, *args, **kwargs)
    assert message_of(RuntimeError, f.op._call_boxed, *args, **kwargs) == text
    return text


# F28 --------------------------------------------------------------------------------------


def add_one_(x: Tensor, n: int = 1) -> Tensor:
    x += n
    return x
