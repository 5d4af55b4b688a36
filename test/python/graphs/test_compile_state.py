"""A compiled function beside the same function as it is, while what it reads changes (H47).

Each case gives a function of a Tensor and a way to set the value that it reads from outside. The
compiled one may become a graph or not; it may not give what was right before.

Suspect opyard/_jit/surroundings.py for names, autograd/python/gradients/call_keys.cpp for values.
"""

import contextvars
import dataclasses
import functools
import os
import sys
import types
import warnings
import weakref

import pytest
from compile_cases import CASES, case, put, setter

import opyard
from opyard import jit, nn, optim

aten = opyard.ops.aten
NUMBER = 1.0

settings = types.ModuleType("compile_settings")
settings.inner = types.ModuleType("compile_settings.inner")
sys.modules["compile_settings"] = settings


def set_number(value):
    globals()["NUMBER"] = value


class Scaled(nn.Module):
    """Reads an attribute of its class, and a list of the class by a method."""

    factor = 1.0
    factors = (1.0,)

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(opyard.tensor([1.0, 2.0]))

    def forward(self, x):
        return self.scaled(x * self.weight * self.factor)

    def scaled(self, x):
        return x * self.factors[0]


def fresh_class():
    """A class of its own for each case, with a list that can be changed."""
    return type("Fresh", (Scaled,), {"factors": [1.0]})


# ---- names


@case
def a_global_name():
    return lambda x: x * NUMBER, set_number


@case
def a_name_of_a_closure():
    number = 1.0

    def change(value):
        nonlocal number
        number = value

    return lambda x: x * number, change


@case
def a_default():
    def function(x, number=1.0):
        return x * number

    return function, lambda value: setattr(function, "__defaults__", (value,))


@case
def a_name_that_is_missing_at_first():
    space = {}
    exec("def function(x):\n try: return x * N\n except NameError: return x * 7", space)
    return space["function"], lambda value: space.pop("N", 0) if value == 1 else put(space, "N")(
        value
    )


@case
def one_of_two_names_that_may_be_missing():
    space = {}
    exec(
        "def function(x):\n try: a = A\n except NameError: a = 0\n"
        " try: b = B\n except NameError: b = 0\n return x * a + b",
        space,
    )

    def change(value):
        space.pop("A", None)
        space.pop("B", None)
        space["A" if value == 1 else "B"] = 3.0

    return space["function"], change


@case
def a_builtin_that_gets_another_meaning():
    space = {}
    exec("def function(x): return x * abs(-7)", space)
    return space["function"], lambda value: space.update(abs=lambda _: value)


@case
def an_attribute_of_a_python_module():
    return lambda x: x * settings.number, setter(settings, "number")


@case
def an_attribute_of_a_module_of_a_module():
    return lambda x: x * settings.inner.number, setter(settings.inner, "number")


@case
def an_attribute_of_a_module_that_is_imported_inside():
    def function(x):
        import compile_settings as here

        return x * here.number

    return function, setter(settings, "number")


@case
def a_name_that_is_imported_inside():
    def function(x):
        from compile_settings import number

        return x * number

    return function, setter(settings, "number")


@case
def the_environment():
    return (
        lambda x: x * float(os.environ.get("OPYARD_TEST_NUMBER", "1")),
        lambda value: os.environ.update(OPYARD_TEST_NUMBER=str(value)),
    )


# ---- objects


class Settings:
    pass


@case
def an_attribute_of_an_object():
    held = Settings()
    return lambda x: x * held.number, setter(held, "number")


@case
def an_attribute_by_another_name():
    held = Settings()

    def function(x):
        alias = held
        return x * alias.number

    return function, setter(held, "number")


@case
def an_attribute_of_an_attribute():
    held = types.SimpleNamespace(inner=Settings())
    return lambda x: x * held.inner.number, setter(held.inner, "number")


@case
def an_attribute_whose_name_is_made_up():
    held = Settings()
    parts = ("num", "ber")
    return lambda x: x * getattr(held, "".join(parts)), setter(held, "number")


@case
def an_attribute_of_a_class():
    class Held:
        number = 1.0

    return lambda x: x * Held.number, setter(Held, "number")


@case
def an_attribute_of_the_class_of_an_object():
    class Held:
        pass

    held = Held()
    return lambda x: x * held.number, setter(Held, "number")


@case
def an_item_of_a_list_of_a_class():
    class Held:
        numbers = [1.0]  # noqa: RUF012

    return lambda x: x * Held.numbers[0], put(Held.numbers, 0)


@case
def an_attribute_of_a_metaclass():
    class Meta(type):
        pass

    class Held(metaclass=Meta):
        pass

    return lambda x: x * Held.number, setter(Meta, "number")


@case
def a_slot():
    class Held:
        __slots__ = ("number",)

    held = Held()
    return lambda x: x * held.number, setter(held, "number")


@case
def a_field_of_a_dataclass():
    @dataclasses.dataclass
    class Held:
        number: float = 1.0

    held = Held()
    return lambda x: x * held.number, setter(held, "number")


@case
def a_read_only_dict():
    numbers = {"one": 1.0}
    shown = types.MappingProxyType(numbers)
    return lambda x: x * shown["one"], lambda value: numbers.update(one=value)


@case
def a_property():
    class Held:
        @property
        def number(self):
            return NUMBER

    held = Held()
    return lambda x: x * held.number, set_number


@case
def an_item_that_an_object_makes():
    class Held:
        def __getitem__(self, key):
            return NUMBER

    held = Held()
    return lambda x: x * held["number"], set_number


@case
def an_attribute_that_an_object_makes():
    class Held:
        def __getattr__(self, name):
            return NUMBER

    held = Held()
    return lambda x: x * held.number, set_number


@case
def a_descriptor_with_state():
    class Descriptor:
        def __get__(self, instance, owner=None):
            return self.number

    class Held:
        value = Descriptor()

    held = Held()
    return lambda x: x * held.value, setter(vars(Held)["value"], "number")


@case
def a_method_of_an_object():
    class Held:
        def scaled(self, x):
            return x * self.number

    held = Held()
    return lambda x: held.scaled(x), setter(Held, "number")


@case
def a_callable_object():
    class Held:
        def __call__(self, x):
            return x * self.number

    return Held(), setter(Held, "number")


@case
def an_attribute_of_a_function():
    def function(x):
        return x * function.number

    return function, setter(function, "number")


@case
def the_code_of_a_function():
    def helper(x):
        return x * 2

    codes = {1.0: helper.__code__, 3.0: (lambda x: x * 3).__code__}
    return lambda x: helper(x), lambda value: setattr(helper, "__code__", codes[value])


@case
def a_weak_reference():
    held = Settings()
    reference = weakref.ref(held)
    return lambda x, held=held: x * reference().number, setter(held, "number")


@case
def a_setting_of_an_optimizer():
    one = optim.SGD([nn.Parameter(opyard.tensor([1.0]))], lr=1.0)
    return lambda x: x * one.param_groups[0]["lr"], put(one.param_groups[0], "lr")


@case
def a_context_variable():
    variable = contextvars.ContextVar("number", default=1.0)
    return lambda x: x * variable.get(), variable.set


# ---- functions that others hold


@case
def a_function_in_a_dict():
    held = {"scaled": lambda x: x * NUMBER}
    return lambda x: held["scaled"](x), set_number


@case
def a_partial_function():
    held = [1.0]
    return functools.partial(lambda numbers, x: x * numbers[0], held), put(held, 0)


@case
def a_partial_function_by_name():
    held = [1.0]
    part = functools.partial(lambda numbers, x: x * numbers[0], held)
    return lambda x: part(x), put(held, 0)


@case
def a_function_that_remembers():
    @functools.lru_cache
    def number():
        return NUMBER

    def change(value):
        number.cache_clear()
        set_number(value)

    return lambda x: x * number(), change


@case
def a_function_that_a_decorator_made():
    def decorated(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)

        return wrapper

    helper = decorated(lambda x: x * NUMBER)
    return lambda x: helper(x), set_number


@case
def a_compiled_function():
    inner = jit.compile(lambda x: x * NUMBER)
    return lambda x: inner(x) + 1, set_number


# ---- Modules


@case
def an_attribute_of_the_class_of_a_module():
    kind = fresh_class()
    return kind(), setter(kind, "factor")


@case
def an_attribute_of_a_base_of_it():
    base = fresh_class()
    return type("Derived", (base,), {})(), setter(base, "factor")


@case
def an_item_of_a_list_of_the_class_of_a_module():
    kind = fresh_class()
    return kind(), put(kind.factors, 0)


@case
def the_forward_of_a_class():
    kind = fresh_class()
    return kind(), lambda value: setattr(kind, "forward", lambda self, x: x * value)


@case
def the_forward_of_a_module():
    net = Scaled()
    return net, lambda value: setattr(net, "forward", lambda x: x * value)


@case
def a_method_of_a_class():
    kind = fresh_class()
    return kind(), lambda value: setattr(kind, "scaled", lambda self, x: x * value)


@case
def a_global_name_of_a_method():
    kind = fresh_class()
    kind.scaled = lambda self, x: x * NUMBER
    return kind(), set_number


@case
def a_global_name_of_a_hook():
    net = Scaled()
    net.register_forward_hook(lambda module, given, output: output * NUMBER)
    return net, set_number


@case
def a_hook():
    net = Scaled()
    hooks = []

    def change(value):
        while hooks:
            hooks.pop().remove()
        hooks.append(net.register_forward_hook(lambda module, given, output: output * value))

    return net, change


@case
def a_function_of_a_module():
    class Acting(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = lambda x: x * NUMBER

        def forward(self, x):
            return self.act(x)

    return Acting(), set_number


@case
def settings_of_a_module():
    class Set(nn.Module):
        def __init__(self):
            super().__init__()
            self.settings = Settings()

        def forward(self, x):
            return x * self.settings.number

    net = Set()
    return net, setter(net.settings, "number")


@case
def tensors_of_an_object():
    held = Settings()
    held.tensor = opyard.tensor([1.0, 1.0])
    return lambda x: x * held.tensor, lambda value: held.tensor.fill_(value)


@case
def another_tensor_of_an_object():
    held = Settings()
    held.tensor = opyard.tensor([1.0, 1.0])
    return (
        lambda x: x * held.tensor,
        lambda value: setattr(held, "tensor", opyard.tensor([value, value])),
    )


def results(function, change, calls=2):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.CompileWarning)
        found = []
        for value in (1.0, 3.0, 1.0):
            change(value)
            found += [function(opyard.tensor([1.0, 2.0])).tolist() for _ in range(calls)]
        return found


@pytest.mark.parametrize("name", CASES)
def test_H47_a_compiled_function_sees_what_changes(name):
    function, change = CASES[name]()
    wanted = results(function, change)
    function, change = CASES[name]()
    made = jit.compile(function)
    assert results(made, change) == wanted, made.explain()
