"""Cases of test_compile_state.py: `CASES`, by name, and those of containers and of numbers."""

import collections
import enum
import functools

import numpy as np

CASES = {}


def case(build):
    CASES[build.__name__] = build
    return build


def setter(target, name):
    """Sets an attribute of an object."""
    setattr(target, name, 1.0)
    return functools.partial(setattr, target, name)


def put(container, key):
    """Sets an item of a container."""
    return functools.partial(container.__setitem__, key)


# ---- containers and numbers of other classes


@case
def an_item_of_a_list():
    held = [1.0]
    return lambda x: x * held[0], put(held, 0)


@case
def an_item_of_a_class_of_lists():
    class Held(list):
        pass

    held = Held([1.0])
    return lambda x: x * held[0], put(held, 0)


@case
def an_item_of_a_class_of_dicts():
    held = collections.defaultdict(float)
    return lambda x: x * held["number"], put(held, "number")


@case
def the_order_of_a_dict():
    held = collections.OrderedDict(a=1.0, b=3.0)
    return (
        lambda x: x * next(iter(held.values())),
        lambda value: held.move_to_end("a", last=value == 3),
    )


@case
def an_item_of_a_deque():
    held = collections.deque([1.0])
    return lambda x: x * held[0], put(held, 0)


@case
def an_item_of_an_array():
    held = np.array([1.0])
    return lambda x: x * float(held[0]), put(held, 0)


@case
def a_number_of_numpy():
    held = [np.float32(1)]
    return lambda x: x * float(held[0]), lambda value: put(held, 0)(np.float32(value))


@case
def an_item_of_a_bytearray():
    held = bytearray(1)
    return lambda x: x * held[0], lambda value: put(held, 0)(int(value))


@case
def the_size_of_a_set():
    held = set()
    return lambda x: x * len(held), held.add


@case
def a_member_of_an_enum():
    class Held(enum.Enum):
        ONE = 1.0
        THREE = 3.0

    held = [Held.ONE]
    return lambda x: x * held[0].value, lambda value: put(held, 0)(Held(value))


@case
def a_number_of_an_enum():
    class Held(enum.IntEnum):
        ONE = 1
        THREE = 3

    held = [Held.ONE]
    return lambda x: x * held[0], lambda value: put(held, 0)(Held(int(value)))


@case
def a_text_of_a_class():
    class Held(str):
        pass

    held = [Held("")]
    return lambda x: x * len(held[0]), lambda value: put(held, 0)(Held("x" * int(value)))
