"""register_autograd(): a backward in Python for an operator."""

import weakref
from collections.abc import Callable

from .. import _C, _gradients
from .functions import FunctionCtx, like_of, materialized

# The last one of each operator, while it is registered.
_registered: "weakref.WeakValueDictionary[str, _Part]" = weakref.WeakValueDictionary()


class _Part:
    """A registration, as the parts of a Library are; undone once."""

    def __init__(self, registration: "_gradients.RegisteredDerivative") -> None:
        self.registration = registration

    def reset(self) -> None:
        self.registration.reset()

    def begin_reload(self) -> None:
        """What is registered again takes its place."""

    def end_reload(self) -> None:
        """There is nothing to be unregistered."""


class _OperatorCtx(FunctionCtx):
    """The context of an operator's backward."""


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


class _OperatorBackward:
    """What the engine calls for one call of the operator."""

    def __init__(
        self, name: str, ctx: _OperatorCtx, backward: Callable, arguments: tuple, results: tuple
    ) -> None:
        self._name = name
        self._ctx = ctx
        self._backward = backward
        self._lengths = [len(a) if _is_list(a) else None for a in arguments]
        self._kinds = [
            "list"
            if (_is_list(a) and any(isinstance(i, _C.Tensor) for i in a)) or a == []
            else "tensor"
            if isinstance(a, _C.Tensor) or a is None
            else "other"
            for a in arguments
        ]
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
        if not isinstance(results, tuple):
            results = (results,)
        count, whole = self._passed, len(self._kinds)
        if len(results) not in (count, whole):
            raise RuntimeError(
                f"{self._name}: the backward function returned an incorrect number of gradients "
                f"(expected {count}{'' if count == whole else f' or {whole}'}, got {len(results)})"
            )
        results = results + (None,) * (whole - len(results))
        flat: list = []
        for place, result in enumerate(results):
            if not self._tensor_arguments[place]:
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

    _passed = 0


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
    takes_tensors = ["Tensor" in str(argument.type) for argument in schema.arguments]

    def prepare(arguments: tuple, results: tuple, needs: tuple) -> _OperatorBackward:
        ctx = _OperatorCtx()
        ctx.needs_input_grad = needs
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
        call._passed = len(arguments) - len(keyword_only)
        call._tensor_arguments = takes_tensors
        outputs = [t for r in results for t in (r if _is_list(r) else (r,))]
        ctx._keep(outputs)
        for one in outputs:
            if isinstance(one, _C.Tensor):
                one.__dict__  # noqa: B018 - so that the collector sees the wrapper, and by it `ctx`
        return call

    part = _Part(_gradients.differentiate(op, prepare, place))
    former = _registered.get(full_name)
    if former is not None:
        former.reset()
    _registered[full_name] = part
    if parts is not None:
        parts.append(part)
    else:
        weakref.finalize(op, part.reset).atexit = False
