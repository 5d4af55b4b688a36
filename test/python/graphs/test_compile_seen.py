"""Compiled functions and the state that they read: graphs that stay, errors, tensors (H47).

Suspect opyard/_jit/surroundings.py.
"""

import collections
import itertools
import random
import warnings

import numpy as np
import pytest
from compile_cases import CASES
from test_compile_state import Scaled, Settings, results

import opyard
from opyard import autograd, jit, nn

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
