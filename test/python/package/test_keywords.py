"""test_keywords.py: every public callable refuses a misspelt keyword with the one that is meant.

All modules are walked: each function, class and method of `__all__` that has a parameter is called
with the name of its last one without a letter. Suspect a missing @names_keywords of
_core/keywords.py; a layer's forward() is looked at in _nn/calls.py.
"""

import enum
import inspect
import operator
import types

import pytest

import opyard
from opyard import nn

pytestmark = pytest.mark.once

MODULES = [
    "", "array_api", "autograd", "autograd.forward_ad", "autograd.functional", "dispatch",
    "futures", "gpu_trace", "jit", "jit.passes", "library", "memory", "nn", "nn.functional",
    "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "optim.swa_utils", "schema", "testing",
]  # fmt: skip
# What other functions make, or the calls of which cost more if they look at keywords.
LEFT_OUT = {
    "CompiledFunction", "TracedFunction", "Model", "CFunction", "CustomOpDef", "Explanation",
    "WhatIf", "TableChange", "RegistryEvent", "RegistrationHandle", "ComputedKernel", "Node",
    "RemovableHandle", "Function", "FunctionCtx", "CallLog", "LoggingMode", "LoggingTensor",
    "SymBool", "SymFloat", "SymInt", "IncludeDispatchKeyGuard", "ExcludeDispatchKeyGuard",
    "ForceDispatchKeyGuard", "SetExcludeDispatchKeyGuard", "no_grad", "enable_grad",
    "inference_mode", "set_grad_enabled", "detect_anomaly", "has_kernel", "has_kernel_for_any",
    "has_computed_kernel", "HigherOrderOperator", "LRScheduler", "Optimizer", "load_library",
    "unload_library", "History",
    "checkpoint",  # what is unknown goes to the function
    "cat", "stack", "full", "where",  # those of them that come with all others are looked at
}  # fmt: skip


def functions_of(name, found):
    """The functions that are called by a public name, with what the message calls them."""
    if not isinstance(found, type):
        if isinstance(found, types.FunctionType):
            yield name, found
        return
    if issubclass(found, (enum.Enum, tuple)):
        return
    for method, value in vars(found).items():
        value = getattr(value, "__func__", value)
        made = method in ("__init__", "__new__")
        if isinstance(value, types.FunctionType) and (made or method[0] != "_"):
            if method not in ("forward", "step"):
                yield name if made else f"{name}.{method}", value


def walked():
    for module in MODULES:
        at = operator.attrgetter(module)(opyard) if module else opyard
        for name in at.__all__:
            if name in LEFT_OUT:
                continue
            for called, function in functions_of(name, getattr(at, name)):
                yield pytest.param(function, id=f"{module}.{called}")


def misspelt(function):
    """The name of its last parameter that can be given by name, without a letter; or ""."""
    every = inspect.signature(function).parameters
    names = [
        each.name
        for each in every.values()
        if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD) and len(each.name) > 3
        and each.name not in ("self", "cls")
    ]  # fmt: skip
    wrong = names[-1][:-2] + names[-1][-1] if names else ""
    return ("", "") if not wrong or wrong in every else (names[-1], wrong)


@pytest.mark.parametrize("function", list(walked()))
def test_a_misspelt_keyword_is_refused_with_the_near_one(function):
    meant, wrong = misspelt(function)
    if not wrong:
        return
    needed = [
        None
        for each in inspect.signature(function).parameters.values()
        if each.default is each.empty and each.name != meant
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]  # fmt: skip
    with pytest.raises(TypeError) as caught:
        function(*needed, **{wrong: None})
    message = str(caught.value)
    assert f"has no argument {wrong!r}; {meant!r} may be meant. Its arguments are: " in message


x = opyard.ones(2, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: nn.CrossEntropyLoss()(x),
            "CrossEntropyLoss() is missing target. Its arguments are: x, target",
        ),
        (
            lambda: nn.CrossEntropyLoss()(x, targett=x),
            "CrossEntropyLoss() has no argument 'targett'; 'target' may be meant. Its arguments "
            "are: x, target",
        ),
        (
            lambda: nn.ReLU()(x, x),
            "ReLU() takes at most 1 by position, and 2 were given. Its arguments are: x",
        ),
        (lambda: nn.ReLU()(), "ReLU() is missing x. Its arguments are: x"),
    ],
)
def test_a_call_of_a_layer_that_does_not_fit_names_the_layer(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_numpys_names_are_led_to_those_here(name):
    with pytest.raises(TypeError) as caught:
        getattr(opyard, name)([x, x], axis=0)
    assert str(caught.value) == (
        f"{name}() has no argument 'axis'; 'dim' may be meant. Its arguments are: tensors, dim"
    )
