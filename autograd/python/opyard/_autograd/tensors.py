"""Gradient attributes and methods of `_C.Tensor`, by their names."""

from collections.abc import Callable
from typing import Any

from .. import _C, _gradients
from .._core import ops as _ops
from .errors import GradientError, GradientTypeError
from .modes import enable_grad
from .nodes import RemovableHandle, node_of
from .runs import backward as _backward


def get(tensor: "_C.Tensor", name: str) -> Any:
    if name == "grad_fn":
        function = _gradients.grad_fn(tensor)
        if function is None:
            return None
        tensor.__dict__  # noqa: B018 - so that the collector sees the wrapper beside the node
        return node_of(function)
    return getattr(_gradients, name)(tensor)


def set_(tensor: "_C.Tensor", name: str, value: Any) -> None:
    if name == "requires_grad":
        if not isinstance(value, bool):
            raise GradientTypeError(f"requires_grad must be True or False, not {value!r}")
        if value and not tensor.is_leaf:
            raise GradientError("you can only change requires_grad flags of leaf variables.")
        _gradients.set_requires_grad(tensor, value)
    elif value is None or isinstance(value, _C.Tensor):
        _gradients.set_grad(tensor, value)
    else:
        raise TypeError(f"grad must be a Tensor or None, not an object of {type(value).__name__}")


def _requires_grad_(tensor: "_C.Tensor", requires_grad: bool = True) -> "_C.Tensor":
    if not isinstance(requires_grad, bool):
        raise TypeError(
            "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
            + type(requires_grad).__name__
        )
    _gradients.set_requires_grad(tensor, requires_grad)
    return tensor


def _run_backward(
    tensor: "_C.Tensor",
    gradient: "_C.Tensor | None" = None,
    retain_graph: "bool | None" = None,
    create_graph: bool = False,
    inputs: Any = None,
    *,
    keep_graph: "bool | None" = None,
) -> None:
    _backward(tensor, gradient, retain_graph, create_graph, inputs, keep_graph=keep_graph)


def _retain_grad(tensor: "_C.Tensor") -> None:
    _gradients.retain_grad(tensor)


def _register_hook(tensor: "_C.Tensor", hook: Callable) -> RemovableHandle:
    if not callable(hook):
        raise TypeError(
            f"register_hook: a hook must be a function, not an object of {type(hook).__name__}"
        )
    tensor.__dict__  # noqa: B018 - so that the collector sees the wrapper, and by it the hook
    return RemovableHandle(*_gradients.add_tensor_hook(tensor, hook))


def _register_post_accumulate_grad_hook(
    tensor: "_C.Tensor", hook: Callable[["_C.Tensor"], None]
) -> RemovableHandle:
    if not callable(hook):
        raise TypeError(
            "register_post_accumulate_grad_hook: a hook must be a function, not an object of "
            f"{type(hook).__name__}"
        )
    if not (tensor.is_leaf and tensor.requires_grad):
        raise GradientError(
            "register_post_accumulate_grad_hook: the tensor is no leaf that requires a gradient, "
            "and none is accumulated for it; see retain_grad() and register_hook()"
        )
    tensor.__dict__  # noqa: B018 - so that the collector sees the wrapper, and by it the hook
    with enable_grad():
        view = _ops.ops.aten.alias(tensor)
    ((function, _),) = _gradients.grad_fn(view).next_functions

    def told(_: tuple, __: tuple) -> None:
        given = hook(tensor)
        if given is not None:
            raise GradientError(
                "register_post_accumulate_grad_hook: the hook gave an object of "
                f"{type(given).__name__}, and what it gives is not used; assign tensor.grad, and "
                "give None"
            )

    return RemovableHandle(function, function._register_hook(told, first=True))


_METHODS = {
    "requires_grad_": _requires_grad_,
    "backward": _run_backward,
    "retain_grad": _retain_grad,
    "register_hook": _register_hook,
    "register_post_accumulate_grad_hook": _register_post_accumulate_grad_hook,
}

for _name, _method in _METHODS.items():  # as Python names them in errors
    _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"


def call(name: str, tensor: "_C.Tensor", *args: Any, **kwargs: Any) -> Any:
    return _METHODS[name](tensor, *args, **kwargs)


_ops.load_aten()  # formulas name operators of aten
