"""Cases of test_compile_state.py: `CASES`, by name, and those of containers and of numbers."""

import abc
import builtins
import collections
import enum
import functools
import sys
import types

import numpy as np

from opyard import nn

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


# ---- what Python lets a program put in the place of what is called


def function_of(value):
    """A function of a Tensor that has a number in its code."""
    return eval(f"lambda x: x * {value}")


@case
def a_name_of_builtins():
    builtins.compile_number = 1.0
    return lambda x: x * compile_number, functools.partial(setattr, builtins, "compile_number")  # noqa: F821


@case
def a_function_of_builtins():
    def change(value):
        builtins.compile_function = lambda: value

    change(1.0)
    return lambda x: x * compile_function(), change  # noqa: F821


@case
def a_module_that_is_imported():
    def change(value):
        made = sys.modules["compile_imported"] = types.ModuleType("compile_imported")
        made.number = value

    def function(x):
        import compile_imported

        return x * compile_imported.number

    change(1.0)
    return function, change


def registering(answers):
    """A function that asks for a class, and a way to register that with a class."""

    class Base(abc.ABC):  # noqa: B024
        pass

    class Held:
        pass

    return answers(Base, Held()), lambda value: value == 3 and Base.register(Held)


@case
def a_class_that_is_registered_with_another():
    return registering(lambda base, held: lambda x: x * (3 if isinstance(held, base) else 1))


@case
def a_subclass_that_is_registered_with_another():
    return registering(lambda base, held: lambda x: x * (3 if issubclass(type(held), base) else 1))


@case
def a_class_that_is_matched():
    def answer(base, held):
        def function(x):
            match held:
                case base():
                    return x * 3
                case _:
                    return x * 1

        return function

    return registering(answer)


@case
def the_code_of_the_function():
    def function(x):
        return x * 1.0

    def change(value):
        function.__code__ = function_of(value).__code__

    return function, change


@case
def the_code_of_a_function_that_it_calls():
    def inner(x):
        return x * 1.0

    def change(value):
        inner.__code__ = function_of(value).__code__

    return lambda x: inner(x), change


@case
def the_code_of_a_method():
    class Held:
        def scaled(self, x):
            return x * 1.0

    def change(value):
        Held.scaled.__code__ = eval(f"lambda self, x: x * {value}").__code__

    held = Held()
    return lambda x: held.scaled(x), change


@case
def the_code_of_the_forward_of_a_module():
    class Held(nn.Module):
        def forward(self, x):
            return x * 1.0

    def change(value):
        Held.forward.__code__ = eval(f"lambda self, x: x * {value}").__code__

    return Held(), change
