"""register_autograd(): a backward in Python for an operator."""

import weakref
from collections.abc import Callable
from typing import Any

from .. import _C, _gradients
from .functions import FunctionCtx, like_of, materialized

# The last one of each operator, while it is registered.
_registered: "weakref.WeakValueDictionary[str, _Part]" = weakref.WeakValueDictionary()


class _Part:
    """A registration, as the parts of a Library are; undone once."""

    def __init__(self, registration: "_gradients.RegisteredDerivative", backward: Callable) -> None:
        self.registration = registration
        self.backward = backward

    def reset(self) -> None:
        self.registration.reset()

    def begin_reload(self) -> None:
        """What is registered again takes its place."""

    def end_reload(self) -> None:
        """There is nothing to be unregistered."""


def backward_of(name: str) -> "Callable | None":
    """The function of Python that is the backward of an operator, by its name; or None."""
    part = _registered.get(name)
    return None if part is None else part.backward


class _OperatorCtx(FunctionCtx):
    """The context of an operator's backward."""


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _is_default(value: object, argument: Any) -> bool:
    """Whether an argument has the default of its schema; no Tensor is one."""
    if not argument.has_default_value() or isinstance(value, _C.Tensor):
        return False
    default = argument.default_value
    return value is default or (type(value) is type(default) and bool(value == default))


def _needs_of(value: object, needs: bool) -> "bool | list[bool]":
    """What needs_input_grad says of an argument: of a list of tensors, one bool for each."""
    if not _is_list(value) or not any(isinstance(one, _C.Tensor) for one in value):
        return needs
    return [isinstance(one, _C.Tensor) and one.requires_grad for one in value]


class _OperatorBackward:
    """What the engine calls for one call of the operator."""

    def __init__(
        self, name: str, ctx: _OperatorCtx, backward: Callable, arguments: tuple, results: tuple
    ) -> None:
        self._name = name
        self._ctx = ctx
        self._backward = backward
        self._lengths = [len(a) if _is_list(a) else None for a in arguments]
        self._result_lengths = [len(r) if _is_list(r) else None for r in results]
        self._likes = [
            like_of(one) for result in results for one in (result if _is_list(result) else [result])
        ]
        self._tensor_arguments: list[bool] = []

    def __call__(self, function: "_gradients.Function", gradients: tuple) -> tuple:
        if self._ctx.materialize_grads:
            gradients = materialized(gradients, self._likes)
        given: list = []
        at = 0
        for length in self._result_lengths:
            if length is None:
                given.append(gradients[at])
                at += 1
            else:
                given.append(list(gradients[at : at + length]))
                at += length
        self._ctx._running.append(function)
        try:
            results = self._backward(self._ctx, *given)
        finally:
            self._ctx._running.pop()
        flat: list = []
        for place, result in enumerate(self._for_all(results)):
            if not self._tensor_arguments[place]:
                if result is not None:
                    raise RuntimeError(
                        f"{self._name}: the backward function returned a gradient different than "
                        f"None at position {place + 1}, but the argument there is no Tensor"
                    )
                continue
            length = self._lengths[place]
            if length is None:
                flat.append(result)
            elif result is None:
                flat.extend([None] * length)
            elif not _is_list(result) or len(result) != length:
                raise RuntimeError(
                    f"{self._name}: expected the gradient of argument {place} to be a list of "
                    f"{length}, as the argument is; got {result!r}"
                )
            else:
                flat.extend(result)
        return tuple(flat)

    def _for_all(self, results: object) -> tuple:
        """What backward gave, with None for the arguments for which it gave nothing."""
        if not isinstance(results, tuple):
            results = (results,)
        least, whole = self._least, len(self._lengths)
        while len(results) > whole and results[-1] is None:
            results = results[:-1]
        if not least <= len(results) <= whole:
            raise RuntimeError(
                f"{self._name}: the backward function returned an incorrect number of gradients "
                f"(expected {whole if least == whole else f'{least} to {whole}'}, got "
                f"{len(results)}); it gives one, or None, for each argument, and none for those at "
                "the end that have their defaults"
            )
        return results + (None,) * (whole - len(results))

    # How many arguments there are before those at the end that have their defaults, or are given by
    # name only.
    _least = 0


def register(
    op: "_C.OpOverload",
    backward: Callable,
    setup_context: "Callable | None",
    place: str,
    parts: "list | None",
) -> None:
    """Gives an operator a backward, which ends with what has `parts`, else with the operator.

    A second one takes the place of the first.
    """
    schema = op._schema
    full_name = op.name()
    names = [argument.name for argument in schema.arguments]
    keyword_only = [argument.name for argument in schema.arguments if argument.kwarg_only]
    passed = [argument for argument in schema.arguments if not argument.kwarg_only]
    takes_tensors = ["Tensor" in str(argument.type) for argument in schema.arguments]

    def prepare(arguments: tuple, results: tuple, needs: tuple) -> _OperatorBackward:
        ctx = _OperatorCtx()
        ctx.needs_input_grad = tuple(map(_needs_of, arguments, needs))
        if setup_context is not None:
            positional = tuple(
                a for a, name in zip(arguments, names, strict=True) if name not in keyword_only
            )
            output = results[0] if len(results) == 1 else results
            if keyword_only:
                keywords = dict(zip(names, arguments, strict=True))
                setup_context(
                    ctx,
                    positional,
                    {name: keywords[name] for name in keyword_only},
                    output,
                )
            else:
                setup_context(ctx, positional, output)
        call = _OperatorBackward(full_name, ctx, backward, arguments, results)
        call._least = len(arguments) - len(keyword_only)
        while call._least > 0 and _is_default(arguments[call._least - 1], passed[call._least - 1]):
            call._least -= 1
        call._tensor_arguments = takes_tensors
        outputs = [t for r in results for t in (r if _is_list(r) else (r,))]
        ctx._keep(outputs)
        for one in outputs:
            if isinstance(one, _C.Tensor):
                one.__dict__  # noqa: B018 - so that the collector sees the wrapper, and by it `ctx`
        return call

    part = _Part(_gradients.differentiate(op, prepare, place), backward)
    former = _registered.get(full_name)
    if former is not None:
        former.reset()
    _registered[full_name] = part
    if parts is not None:
        parts.append(part)
    else:
        weakref.finalize(op, part.reset).atexit = False
