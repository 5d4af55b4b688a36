"""Classes whose calls a profile shows by instance: modules, optimizers, and named ones."""

from __future__ import annotations

import sys

from .. import _tracer

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _tensor_facts(tensor: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"shape": list(tensor.shape), "dtype": str(tensor.dtype)}
    for name in ("device", "layout"):
        value = getattr(tensor, name, None)
        if value is not None:
            # A layout of ours is a number, too.
            facts[name] = repr(value) if name == "layout" else str(value)
    return facts


def _with_gradient(tensor: Any) -> dict[str, Any]:
    facts = _tensor_facts(tensor)
    gradient = getattr(tensor, "grad", None)
    if gradient is not None:
        facts["grad"] = _tensor_facts(gradient)
    return facts


def _describe_module(module: Any) -> str:
    import json  # with `re`, half of what importing the profiler would cost

    parameters = [
        {"name": name, **_with_gradient(tensor)}
        for name, tensor in module._parameters.items()
        if isinstance(name, str) and tensor is not None
    ]
    return json.dumps({"parameters": parameters})


def _state_of(optimizer: Any, parameter: Any) -> dict[str, Any]:
    state = optimizer.state.get(parameter, {})
    return {
        name: _tensor_facts(value)
        for name, value in state.items()
        if isinstance(name, str) and hasattr(value, "dtype")
    }


def _describe_optimizer(optimizer: Any) -> str:
    import json

    parameters = []
    for group in optimizer.param_groups:
        for parameter in group.get("params", ()):
            facts = _with_gradient(parameter)
            state = _state_of(optimizer, parameter)
            if state:
                facts["state"] = state
            parameters.append(facts)
    return json.dumps({"parameters": parameters})


# Where a class is found once its module is there: its module, how to reach the function whose
# first argument is the instance, the label, whether it is an optimizer, and who describes an
# instance at its first call.
_CLASSES: list[tuple[str, Callable[[Any], Any], str, bool, Callable[[Any], str] | None]] = [
    ("torch.nn", lambda m: m.Module.__call__, "nn.Module", False, _describe_module),
    (
        "torch.optim",
        lambda m: m.Optimizer._optimizer_step_code,
        "Optimizer",
        True,
        _describe_optimizer,
    ),
    ("opyard.nn", lambda m: m.Module.__call__, "nn.Module", False, _describe_module),
    ("opyard.optim", lambda m: m.Optimizer.step, "Optimizer", True, _describe_optimizer),
]
_known: set[str] = set()


def refresh_classes() -> None:
    """Called before a profile starts: modules may have been imported since the last one."""
    for module, find, label, is_optimizer, describe in _CLASSES:
        if module in _known or module not in sys.modules:
            continue
        try:
            function = find(sys.modules[module])
        except AttributeError:  # another thread is just importing it: the next profile shows it
            continue
        _tracer.show_instances(function.__code__, label, is_optimizer, describe)
        _known.add(module)


def _only_objects(describe: Callable[[Any], str]) -> Callable[[Any], str]:
    """Exports have the text as it is, so it has to be JSON of the kind that others read."""

    def said(instance: Any) -> str:
        import json

        facts = json.loads(describe(instance))
        if not isinstance(facts, dict):
            raise TypeError("what describes an instance is a JSON object")
        return json.dumps(facts, allow_nan=False)

    return said


def show_instances(
    cls: type,
    method: str = "__call__",
    *,
    label: str | None = None,
    describe: Callable[[Any], str] | None = None,
) -> None:
    """Shows calls of a method by instance: "Layer: Dense_0", numbered per class.

    Subclasses are included as long as they do not override the method. `describe` is called once
    for an instance, at its first call, and returns what the exports show of it, as a JSON object;
    if it raises or returns anything else, nothing more is shown.
    """
    function = getattr(cls, method)
    code = getattr(function, "__code__", None)
    if code is None:
        raise TypeError(
            f"show_instances() takes a method that is written in Python; {cls.__name__}.{method} "
            f"is {type(function).__name__}"
        )
    said = None if describe is None else _only_objects(describe)
    _tracer.show_instances(code, label or cls.__name__, False, said)
