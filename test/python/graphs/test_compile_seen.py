"""Compiled functions and the state that they read: graphs that stay, errors, tensors (H47).

Suspect opyard/_jit/surroundings.py.
"""

import collections
import decimal
import gc
import itertools
import os
import random
import signal
import sys
import threading
import types
import warnings

import numpy as np
import pytest
from compile_cases import CASES
from test_compile_state import Scaled, Settings, results

import opyard
from opyard import autograd, dispatch, jit, library, nn

aten = opyard.ops.aten


# What is not to run as it is.
GRAPHS = """
    a_global_name a_name_of_a_closure a_default an_attribute_of_a_python_module
    an_attribute_of_an_object an_attribute_of_a_class an_attribute_of_the_class_of_an_object a_slot
    a_field_of_a_dataclass a_property a_method_of_an_object a_callable_object an_item_of_a_list
    a_setting_of_an_optimizer a_member_of_an_enum a_function_in_a_dict a_compiled_function
    an_attribute_of_the_class_of_a_module the_forward_of_a_class a_global_name_of_a_hook
    settings_of_a_module tensors_of_an_object a_context_variable a_read_only_dict
""".split()


@pytest.mark.parametrize("name", GRAPHS)
def test_H47_what_it_sees_does_not_keep_it_from_becoming_graphs(name):
    function, change = CASES[name]()
    made = jit.compile(function)
    results(made, change)
    assert made.graphs(), made.explain()


def test_H47_what_gives_something_else_each_time_runs_as_it_is():
    own = random.Random(1)
    draw = random.random
    count = itertools.count()
    held = []
    append = held.append

    class Counter:
        number = 0

    def counts(x):
        Counter.number += 1
        return x * Counter.number

    for function in (
        lambda x: x * own.random(),
        lambda x: x * draw(),
        lambda x: x * next(count),
        lambda x: (append(1), x * len(held))[1],
        lambda x: x * (id(x) % 7 + 1),
        lambda x: x * np.random.rand(),
        counts,
    ):
        made = jit.compile(function)
        with pytest.warns(jit.CompileWarning, match="runs as it is, since"):
            made(opyard.tensor([1.0]))
        assert not made.graphs()
    assert Counter.number == 1 and held == [1]


def test_H47_a_parameter_is_no_plain_tensor():
    made = jit.compile(lambda x: x * 2 if isinstance(x, nn.Parameter) else x * 3)
    parameter, tensor = nn.Parameter(opyard.tensor([1.0])), opyard.tensor([1.0]).requires_grad_()
    for given, wanted in ((parameter, 2), (tensor, 3), (parameter, 2), (tensor, 3)):
        assert made(given).item() == wanted
    assert len(made.graphs()) == 2


def test_H47_modules_of_two_classes_in_turn_are_traced_once_each():
    class Doubled(nn.Module):
        def forward(self, x):
            return x * 2

    made = jit.compile(lambda net, x: net(x))
    nets = Doubled(), Scaled()
    x = opyard.tensor([1.0, 2.0])
    for _ in range(4):
        for net in nets:
            with warnings.catch_warnings():
                warnings.simplefilter("error", jit.CompileWarning)
                assert made(net, x).tolist() == net(x).tolist()
    graphs = [str(graph) for graph in made.graphs()]
    assert len(graphs) == 2
    assert [str(graph) for graph in made.graphs()] == graphs


def test_H47_an_error_of_what_it_cannot_see_names_it():
    held = collections.deque([1.0])
    made = jit.compile(lambda x: x * held[0])
    with pytest.warns(jit.CompileWarning, match="the name held is of the class collections.deque"):
        assert made(opyard.tensor([2.0])).item() == 2
    box = Settings()
    box.queue = held
    made = jit.compile(lambda x: x * box.queue[0])
    with pytest.warns(jit.CompileWarning, match="the attribute queue is of the class"):
        made(opyard.tensor([2.0]))
    box.number = 2.0  # what it does not read is no reason
    made = jit.compile(lambda x: x * box.number)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made(opyard.tensor([2.0])).item() == 4


def test_H47_whether_gradients_are_enabled_is_seen():
    made = jit.compile(lambda x: x * 2 if autograd.is_grad_enabled() else x * 3)
    x = opyard.tensor([1.0])
    for _ in range(2):
        assert made(x).item() == 2
        with autograd.no_grad():
            assert made(x).item() == 3


# Derivatives that change --------------------------------------------------------------------


def gradient(function):
    x = opyard.tensor([1.0], requires_grad=True)
    y = function(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist()


def test_H47_a_formula_that_is_given_later_is_that_of_compiled_calls():
    with library.scoped_library("compiled_formula", "FRAGMENT") as lib:
        lib.define("s(Tensor x) -> Tensor")
        lib.impl("s", lambda x: x * 1, "CPU")
        lib.derivative("s", {"x": "grad * 2"})
        made = jit.compile(lambda x: opyard.ops.compiled_formula.s(x))
        assert [gradient(made)[1] for _ in range(3)] == [[2.0]] * 3
        assert len(made.graphs()) == 1
        lib.derivative("s", {"x": "grad * 5"})
        assert [gradient(made)[1] for _ in range(3)] == [[5.0]] * 3
        assert len(made.graphs()) == 1


@pytest.mark.parametrize("key", ["AutogradCPU", "Autograd"])
def test_H47_an_override_where_gradients_begin_is_that_of_compiled_calls(key):
    def function(x):
        return (x * 2).silu()

    made = jit.compile(function)
    plain = gradient(function)
    assert [gradient(made) for _ in range(2)] == [plain] * 2
    with library.override("aten::silu", key, lambda n, x: n(x) * 100, with_next=True):
        other = gradient(function)
        assert other != plain
        with pytest.warns(jit.CompileWarning, match="aten::silu has a kernel of its own where"):
            assert [gradient(made) for _ in range(2)] == [other] * 2
    assert [gradient(made) for _ in range(2)] == [plain] * 2


def test_H47_calls_without_gradients_keep_their_graph_when_derivatives_change():
    made = jit.compile(lambda x: x * 3)
    x = opyard.ones(2)
    made(x)
    (graph,) = made.graphs()
    with library.override("aten::silu", "Autograd", lambda n, x: n(x), with_next=True):
        assert made(x).tolist() == [3.0, 3.0] and made.graphs() == [graph]


# What the process answers --------------------------------------------------------------------


MADE = types.ModuleType("made_names")
MADE.factors = [2.0]


def make_name(name):
    if name != "factor":
        raise AttributeError(name)
    return MADE.factors[0]


MADE.__getattr__ = make_name

ASKS = {
    "a name that a module makes": lambda x: x * MADE.factor,
    "get_num_threads": lambda x: x * opyard.get_num_threads(),
    "getcwd": lambda x: x * len(os.getcwd()),
    "exists": lambda x: x * 2 if os.path.exists("no_such_file") else x * 3,
    "getpid": lambda x: x * os.getpid(),
    "get_native_id": lambda x: x * threading.get_native_id(),
    "getcontext": lambda x: x * decimal.getcontext().prec,
    "getrecursionlimit": lambda x: x * sys.getrecursionlimit(),
    "isenabled": lambda x: x * 2 if gc.isenabled() else x * 3,
    "getsignal": lambda x: x * 2 if signal.getsignal(signal.SIGINT) else x * 3,
    "has_kernel": lambda x: x * 2 if dispatch.has_kernel("aten::relu") else x * 3,
}


@pytest.mark.parametrize("name", ASKS)
def test_H47_what_asks_the_process_runs_as_it_is(name):
    made = jit.compile(ASKS[name])
    with pytest.warns(jit.CompileWarning, match="runs as it is"):
        made(opyard.ones(2))
    assert not made.graphs()


def test_H47_constants_of_the_same_modules_do_not_keep_a_function_from_becoming_graphs():
    made = jit.compile(lambda x: x * (sys.maxsize > 1) + len(os.sep))
    assert made(opyard.ones(2)).tolist() == [2.0, 2.0] and made.graphs(), made.explain()


def test_H47_gradients_are_right_if_an_operator_gives_another_dtype_by_now():
    gives = [opyard.float32]
    with library.Library("compile_dtypes", "DEF") as made:
        made.define("twice(Tensor x) -> Tensor")
        made.impl("twice", lambda x: (x * 2).to(gives[0]), "cpu")
        made.derivative("twice", {"x": "grad * 2"})

        def function(x):
            return opyard.ops.compile_dtypes.twice(x) * x

        x = opyard.tensor([1.0, 3.0], requires_grad=True)
        compiled = jit.compile(function)
        for dtype in (opyard.float32, opyard.float64, opyard.float32):
            gives[0] = dtype
            result = compiled(x)
            assert result.dtype == function(x).dtype == dtype
            (gradient,) = autograd.grad(result.sum(), x)
            assert (gradient.tolist(), gradient.dtype) == ([4.0, 12.0], opyard.float32)
        assert len(compiled.graphs()) == 1
