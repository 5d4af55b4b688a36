"""Hooks of modules: functions that are called around a module's forward and its gradients."""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _C, _gradients
from .._autograd.functions import Function

if TYPE_CHECKING:
    from .module import Module


_numbers = itertools.count()


class HookHandle:
    """Takes a hook away: by remove(), or at the end of a `with` statement."""

    def __init__(self, hooks: "dict[int, Any]", hook: object) -> None:
        self._hooks: dict[int, Any] | None = hooks
        self.id = next(_numbers)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Once is enough, and the hook may do it itself."""
        hooks, self._hooks = self._hooks, None
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> "HookHandle":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def checked(hook: object, method: str) -> Callable[..., Any]:
    if not callable(hook):
        raise TypeError(
            f"{method}: a hook must be a function, not an object of {type(hook).__name__}"
        )
    return hook


def _described(gradient: object) -> str:
    if not isinstance(gradient, _C.Tensor):
        return "None" if gradient is None else f"an object of {type(gradient).__name__}"
    return f"{gradient.dtype} of shape {list(gradient.shape)} on {gradient.device}"


def _may_replace(before: object, after: object) -> bool:
    if after is None or after is before:
        return True
    if not isinstance(before, _C.Tensor) or not isinstance(after, _C.Tensor):
        return False
    kinds = [(one.shape, one.dtype, one.device) for one in (before, after)]
    return kinds[0] == kinds[1]


class _Call:
    """One call of a module with backward hooks: the gradients of its outputs, then its inputs'."""

    def __init__(self, module: "Module") -> None:
        self.module = module
        # Of the run that is on its way from the outputs to the inputs, and dropped behind the
        # hooks or with the run: with create_graph it leads back to this call.
        self.grad_output: tuple[Any, ...] | None = None

    def begin(self, grad_output: tuple[Any, ...]) -> None:
        self.grad_output = grad_output
        if _gradients.run_depth() > 0:
            _gradients.queue_callback(self._forget)

    def _forget(self) -> None:
        self.grad_output = None

    def run(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the hooks make of the gradients of the inputs: nothing in a run that does not come
        from the outputs, as of second derivatives."""
        grad_output, self.grad_output = self.grad_output, None
        if grad_output is None:
            return grad_input
        for hook in self.module._hooks_of("backward"):
            given = hook(self.module, grad_input, grad_output)
            if given is None:
                continue
            given = given if isinstance(given, tuple) else (given,)
            if len(given) != len(grad_input):
                raise RuntimeError(
                    f"a backward hook of {type(self.module).__name__} returned {len(given)} "
                    f"gradients for {len(grad_input)} inputs"
                )
            for number, (before, after) in enumerate(zip(grad_input, given, strict=True)):
                if not _may_replace(before, after):
                    raise RuntimeError(
                        f"a backward hook of {type(self.module).__name__} has changed gradient "
                        f"{number}: it got {_described(before)} and gave {_described(after)}. What "
                        "a hook gives has the shape, dtype and device of what it got"
                    )
            grad_input = given
        return grad_input


class _Passed(Function):
    """Passes tensors on, so that its backward sees their gradients."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: _C.Tensor) -> tuple[Any, ...]:
        ctx.call = call
        ctx.set_materialize_grads(False)
        return tensors


class _Inputs(_Passed):
    """The inputs of a call: their gradients come all at once."""

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        return (None, *ctx.call.run(gradients))


class _Outputs(_Passed):
    """The outputs of a call: their gradients come first."""

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        ctx.call.begin(gradients)
        if not ctx.call.has_inputs:
            ctx.call.run(())
        return (None, *gradients)


def _through(function: type[Function], call: _Call, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, those that are tensors with a gradient passed through a function."""
    positions = [i for i, v in enumerate(values) if isinstance(v, _C.Tensor) and v.requires_grad]
    passed = list(values)
    if positions:
        given = function.apply(call, *(values[position] for position in positions))
        for position, tensor in zip(positions, given, strict=True):
            passed[position] = tensor
    return tuple(passed)


class WatchedCall(_Call):
    """A call of a module whose backward hooks are to be run."""

    has_inputs = False

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        passed = _through(_Inputs, self, args)
        self.has_inputs = any(a is not b for a, b in zip(args, passed, strict=True))
        return passed

    def leave(self, output: Any) -> Any:
        if isinstance(output, tuple):
            return _through(_Outputs, self, output)
        return _through(_Outputs, self, (output,))[0]
