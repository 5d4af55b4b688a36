"""test_error_causes.py: an error names the argument that is at fault, and no other cause.

Rows of calls with one wrong argument; and that no text of pybind11's reaches a user, whatever of
its functions, methods, properties and constructors is called. Suspect bind/refused_calls.h for
_graphs, _models, _bind and _gradients.
"""

import inspect

import pytest

import opyard
from opyard import _bind, _gradients, _graphs, _models, jit, profiler

X = opyard.tensor([1.0])
GRAPH = "graph(%x : Tensor):\n  return (%x)\n"

CAUSES = {
    "backward of a number": (
        lambda: opyard.autograd.backward(5),
        TypeError, "backward: a Tensor or several are wanted, not an object of int"),
    "gradients of a number": (
        lambda: opyard.autograd.grad(5, X),
        TypeError, "grad: a Tensor or several are wanted, not an object of int"),
    "bytes beyond": (
        lambda: profiler.flight_recorder(bytes=2**62),
        ValueError, "bytes must be from 1048576 to 1125899906842623, not 4611686018427387904"),
    "bytes of another type": (
        lambda: profiler.flight_recorder(bytes="many"),
        TypeError, "bytes must be an int, not an object of str"),
    "a schedule that is none": (
        lambda: profiler.profile(schedule=5),
        TypeError, "profile: schedule must be a function, not an object of int"),
    "a receiver that is none": (
        lambda: profiler.profile(on_trace_ready=5),
        TypeError, "profile: on_trace_ready must be a function, not an object of int"),
    "a surrogate in a graph": (
        lambda: jit.parse_ir(GRAPH + "\udc80"),
        TypeError, "parse_ir(): argument 'text' is a str that is no text of UTF-8: it has a "
        f"surrogate at place {len(GRAPH)}"),
    "a surrogate in a kind": (
        lambda: jit.parse_ir(GRAPH).create("aten::\udc80"),
        TypeError, "create(): argument 'kind' is a str that is no text of UTF-8: it has a "
        "surrogate at place 6"),
    "a kind that is no text": (
        lambda: jit.parse_ir(GRAPH).create(5),
        TypeError, "create(): argument 'kind' is of type str, and an object of type int was given"),
    "one argument too many": (
        lambda: _graphs.Graph(5),
        TypeError, "__init__(): it takes opyard._graphs.Graph(), and ("),
    "an input that is no value": (
        lambda: jit.parse_ir(GRAPH).create("aten::neg", [None]),
        TypeError, "create(): argument 'inputs' is several of type Value, and an object of type "
        "NoneType is at place 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_the_argument_at_fault_is_named(name):
    call, error, text = CAUSES[name]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(text)


class Odd:
    """No function takes it."""


def functions_of(module):
    for name, item in vars(module).items():
        if inspect.isclass(item):
            for inner, function in vars(item).items():
                yield f"{name}.{inner}", function, item
        elif callable(item):
            yield name, item, None


@pytest.mark.parametrize(
    "module", [_graphs, _models, _bind, _gradients], ids=lambda module: module.__name__
)
def test_no_text_of_pybind11_reaches_a_user(module):
    asked = 0
    for name, function, owner in functions_of(module):
        if "conduit" in name:  # between modules of pybind11
            continue
        if isinstance(function, property):
            calls = [lambda f=function: f.fget(Odd())] if function.fget else []
            calls += [lambda f=function: f.fset(Odd(), Odd())] if function.fset else []
        elif owner is not None and name.endswith("__init__"):
            calls = [lambda owner=owner: owner(Odd(), Odd(), Odd(), Odd(), Odd(), Odd(), Odd())]
        elif callable(getattr(function, "__func__", function)):
            function = getattr(function, "__func__", function)
            calls = [lambda f=function: f(*[Odd()] * 12), lambda f=function: f(nothing=Odd())]
        else:
            continue
        for call in calls:
            try:
                call()
            except Exception as error:
                asked += 1
                assert "incompatible" not in str(error), (name, str(error))
                assert "Invoked with" not in str(error), (name, str(error))
    assert asked > 20
