"""Hooks of modules: functions that are called around a module's forward and its gradients."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _C, _gradients
from .._autograd.functions import Function
from .._core.keywords import names_keywords
from .calls import as_tensors
from .sizes import truth

_numbers = itertools.count(1)


class _Hook(NamedTuple):
    kind: str
    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


class HookHandle:
    """Takes a hook away: by remove(), or at the end of a `with` statement."""

    def __init__(self, hooks: "dict[int, Any]", hook: object, prepend: bool = False) -> None:
        self._hooks: dict[int, Any] | None = hooks
        # Hooks run in the order of these.
        self.id = -next(_numbers) if prepend else next(_numbers)
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


def _described(gradient: object) -> str:
    if not isinstance(gradient, _C.Tensor):
        return "None" if gradient is None else f"an object of {type(gradient).__name__}"
    return f"{gradient.dtype} of shape {list(gradient.shape)} on {gradient.device}"


def _may_have(tensor: _C.Tensor) -> bool:
    """Whether tensors of this dtype can have gradients."""
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _may_replace(before: object, after: object) -> bool:
    if after is None or after is before:
        return True
    if not isinstance(before, _C.Tensor) or not isinstance(after, _C.Tensor):
        return False
    kinds = [(one.shape, one.dtype, one.device) for one in (before, after)]
    return kinds[0] == kinds[1]


class _Positions:
    """Which of some values have gradients: hooks see one gradient for each, or None."""

    def __init__(self) -> None:
        self.watched: list[int] = []
        self.count = 0

    def spread(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        spread: list[Any] = [None] * self.count
        for position, gradient in zip(self.watched, gradients, strict=True):
            spread[position] = gradient
        return tuple(spread)

    def picked(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(gradients[position] for position in self.watched)


class WatchedCall:
    """One call of a module with backward hooks: the gradients of its outputs, then its inputs'."""

    def __init__(self, module: "HasHooks") -> None:
        self.module = module
        self.inputs = _Positions()
        self.outputs = _Positions()
        # Of the run that is on its way from the outputs to the inputs, and dropped behind the
        # hooks or with the run: with create_graph it leads back to this call.
        self.grad_output: tuple[Any, ...] | None = None

    def begin(self, grad_output: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the hooks make of the gradients of the outputs."""
        grad_output = self.outputs.spread(grad_output)
        for hook in self.module._hooks_of("backward_pre"):
            given = hook.function(self.module, grad_output)
            grad_output = self._replaced("backward pre-hook", "outputs", grad_output, given)
        self.grad_output = grad_output
        if _gradients.run_depth() > 0:
            _gradients.queue_callback(self._forget)
        return self.outputs.picked(grad_output)

    def _forget(self) -> None:
        self.grad_output = None

    def run(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the hooks make of the gradients of the inputs: nothing in a run that does not come
        from the outputs, as of second derivatives."""
        grad_output, self.grad_output = self.grad_output, None
        if grad_output is None:
            return grad_input
        grad_input = self.inputs.spread(grad_input)
        for hook in self.module._hooks_of("backward"):
            given = hook.function(self.module, grad_input, grad_output)
            grad_input = self._replaced("backward hook", "inputs", grad_input, given)
        return self.inputs.picked(grad_input)

    def _replaced(self, kind: str, of: str, before: tuple[Any, ...], given: Any) -> tuple[Any, ...]:
        """The gradients that go on: those before, or what a hook gave in their place."""
        if given is None:
            return before
        given = given if isinstance(given, tuple) else (given,)
        name = type(self.module).__name__
        if len(given) != len(before):
            raise RuntimeError(
                f"a {kind} of {name} returned {len(given)} gradients for {len(before)} {of}"
            )
        for number, (old, new) in enumerate(zip(before, given, strict=True)):
            if not _may_replace(old, new):
                raise RuntimeError(
                    f"a {kind} of {name} has changed gradient {number}: it got "
                    f"{_described(old)} and gave {_described(new)}. What a hook gives has the "
                    "shape, dtype and device of what it got"
                )
        return tuple(given)

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._through(_Inputs, self.inputs, args)

    def leave(self, output: Any) -> Any:
        if isinstance(output, tuple):
            return self._through(_Outputs, self.outputs, output)
        return self._through(_Outputs, self.outputs, (output,))[0]

    def _through(
        self, function: type[Function], positions: _Positions, values: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """The values, the tensors among them passed through a function if one has a gradient."""
        positions.count = len(values)
        found = [i for i, v in enumerate(values) if isinstance(v, _C.Tensor) and _may_have(v)]
        watched = any(values[i].requires_grad for i in found)
        positions.watched = found if watched else []
        passed = list(values)
        if positions.watched:
            given = function.apply(self, *positions.picked(values))
            for position, tensor in zip(positions.watched, given, strict=True):
                passed[position] = tensor
        return tuple(passed)


class _Passed(Function):
    """Passes tensors on, so that its backward sees their gradients."""

    @staticmethod
    def forward(ctx: Any, call: WatchedCall, *tensors: _C.Tensor) -> tuple[Any, ...]:
        ctx.call = call
        ctx.mark_non_differentiable(*(each for each in tensors if not each.requires_grad))
        return tensors


class _Inputs(_Passed):
    """The inputs of a call: their gradients come all at once, zeros for those that have none."""

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        return (None, *ctx.call.run(gradients))


class _Outputs(_Passed):
    """The outputs of a call: their gradients come first."""

    @staticmethod
    def forward(ctx: Any, call: WatchedCall, *tensors: _C.Tensor) -> tuple[Any, ...]:
        ctx.set_materialize_grads(False)
        return _Passed.forward(ctx, call, *tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        gradients = ctx.call.begin(gradients)
        if not ctx.call.inputs.watched:
            ctx.call.run(())
        return (None, *gradients)


class HasHooks:
    """What a module has for hooks: they are called around forward() and around its gradients."""

    _call_hooks: "dict[int, _Hook]"
    _forward_takes: Any
    forward: Callable[..., Any]

    def _hooks_of(self, kind: str) -> list[_Hook]:
        # By their numbers: those that were prepended have negative ones.
        hooks = [hook for _, hook in sorted(self._call_hooks.items(), key=lambda pair: pair[0])]
        return [hook for hook in hooks if hook.kind == kind]

    def _add_hook(self, method: str, hook: _Hook, prepend: bool) -> HookHandle:
        if not callable(hook.function):
            raise TypeError(
                f"{method}: a hook must be a function, not an object of "
                f"{type(hook.function).__name__}"
            )
        for name in ("with_kwargs", "always_call"):
            truth(method, name, getattr(hook, name))
        return HookHandle(self._call_hooks, hook, truth(method, "prepend", prepend))

    @names_keywords
    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls hook(module, args) before forward(); what it returns replaces the arguments.

        With `with_kwargs` it is hook(module, args, kwargs), which returns None or a pair
        (args, kwargs). With `prepend` it runs before those that are there.
        """
        made = _Hook("forward_pre", hook, with_kwargs)
        return self._add_hook("register_forward_pre_hook", made, prepend)

    @names_keywords
    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Calls hook(module, args, output) after forward(); what it returns replaces the output.

        With `with_kwargs` it is hook(module, args, kwargs, output). With `prepend` it runs before
        those that are there. With `always_call` it also runs, with the output None, when the call
        has failed.
        """
        made = _Hook("forward", hook, with_kwargs, always_call)
        return self._add_hook("register_forward_hook", made, prepend)

    @names_keywords
    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> HookHandle:
        """Calls hook(module, grad_output) once the gradients of the outputs are known.

        This is a tuple with one gradient for each output, None for those that have none. A tuple
        that the hook returns replaces it. With `prepend` it runs before those that are there.
        """
        made = _Hook("backward_pre", hook)
        return self._add_hook("register_full_backward_pre_hook", made, prepend)

    @names_keywords
    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> HookHandle:
        """Calls hook(module, grad_input, grad_output) once the gradients of the inputs are known.

        These are tuples with one gradient for each positional argument, and for each output. Of a
        tensor that has none it is zeros behind an argument and None behind an output, and of what
        is no tensor None. A tuple that the hook returns replaces the gradients of the inputs. With
        `prepend` it runs before those that are there.
        """
        return self._add_hook("register_full_backward_hook", _Hook("backward", hook), prepend)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        waiting = [hook for hook in self._hooks_of("forward") if hook.always_call]
        try:
            return self._call_between_hooks(args, kwargs, waiting)
        except Exception:
            for hook in waiting:
                given = (args, kwargs) if hook.with_kwargs else (args,)
                try:
                    hook.function(self, *given, None)
                except Exception as error:
                    warnings.warn(
                        f"a forward hook of {type(self).__name__} with always_call=True raised "
                        f"{type(error).__name__}: {error}; the error of the call goes on",
                        RuntimeWarning,
                        stacklevel=3,
                    )
            raise

    def _call_between_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], waiting: list[_Hook]
    ) -> Any:
        """Takes a hook that has begun off those that wait for the end of a call that fails."""
        for hook in self._hooks_of("forward_pre"):
            if hook.with_kwargs:
                given = hook.function(self, args, kwargs)
                if given is None:
                    continue
                if not isinstance(given, tuple) or len(given) != 2:
                    raise RuntimeError(
                        f"a forward pre-hook of {type(self).__name__} with with_kwargs=True must "
                        f"return None or a pair (args, kwargs), not {given!r}"
                    )
                args, kwargs = given
            else:
                given = hook.function(self, args)
                if given is None:
                    continue
                args = given if isinstance(given, tuple) else (given,)
            if self._forward_takes:
                args, kwargs = as_tensors(self, args, kwargs)
        watches = self._hooks_of("backward") or self._hooks_of("backward_pre")
        watched = WatchedCall(self) if watches else None
        if watched is not None:
            args = watched.enter(args)
        output = self.forward(*args, **kwargs)
        for hook in self._hooks_of("forward"):
            if hook in waiting:
                waiting.remove(hook)
            given = (args, kwargs) if hook.with_kwargs else (args,)
            given = hook.function(self, *given, output)
            if given is not None:
                output = given
        return output if watched is None else watched.leave(output)
