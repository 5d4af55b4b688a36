"""Gradients: the backward of an operator as one more operator of PyTorch.

What it takes and gives, and how it runs, is in _publish/gradients.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .._publish.gradients import Backward
from .._publish.schemas import spread


def backward_kernel(torch: Any, backward: Backward) -> Callable[..., Any]:
    """What runs for `<name>_backward` on the CPU."""

    def kernel(*values: Any) -> list[Any]:
        with torch.no_grad():
            return backward.run(*values)

    return kernel


def backward_fake(torch: Any, backward: Backward) -> Callable[..., Any]:
    """Its fake kernel: each gradient is as large as its tensor, and contiguous."""
    first = len(backward.gradients)
    places = [first + backward.arguments.index(number) for number in backward.gives]

    def fake(*values: Any) -> list[Any]:
        *given, wanted = values
        return [
            torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
            for place, is_wanted in zip(places, wanted, strict=True)
            if is_wanted
            for tensor in spread(given[place])
            if _has_gradient(torch, tensor)
        ]

    return fake


def autograd_of(
    torch: Any, backward: Backward, backward_op: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """setup_context and backward as torch.library.register_autograd() takes them."""
    arguments = backward.op._schema.arguments
    positional = [number for number, argument in enumerate(arguments) if not argument.kwarg_only]
    place_in = {number: place for place, number in enumerate(positional)}

    def given_to(inputs: tuple, named: dict, number: int) -> Any:
        if number in place_in:
            return inputs[place_in[number]]
        return named[arguments[number].name]

    def setup_context(
        ctx: Any, inputs: tuple, output: Any, keyword_only_inputs: Any = None
    ) -> None:
        named = keyword_only_inputs or {}
        values = [given_to(inputs, named, number) for number in backward.arguments]
        results = output if isinstance(output, tuple) else (output,)
        values += [results[number] for number in backward.results]
        for value in inputs:
            if isinstance(value, list | tuple) and any(one is None for one in value):
                _refuse_gradients_of(torch, backward.op.name(), value)
        tensors: list[Any] = []
        # Where tensors are is said by what is in their place: one, or as many as a list has.
        plan: list[Any] = []
        for value in values:
            several = spread(value)
            if any(isinstance(one, torch.Tensor) for one in several):
                at = [_take(torch, one, tensors) for one in several]
                plan.append((at if isinstance(value, list | tuple) else at[0], True))
            else:
                plan.append((value, False))
        ctx.save_for_backward(*tensors)
        ctx.opyard_plan = plan

    def run(ctx: Any, *gradients: Any) -> Any:
        saved = ctx.saved_tensors
        values = [gradients[number] for number in backward.gradients]
        for what, is_saved in ctx.opyard_plan:
            if not is_saved:
                values.append(what)
            elif isinstance(what, list):
                values.append([saved[at] if at is not None else None for at in what])
            else:
                values.append(saved[what])
        given = list(ctx.needs_input_grad)  # of the arguments that were passed
        needs = dict(zip(positional, given, strict=False))
        for number in backward.missing:
            if _any_of(needs.get(number, False)):
                backward.refuse_missing(number)
        wanted = [_any_of(needs.get(number, False)) for number in backward.gives]
        made = iter(backward_op(*values, wanted) if any(wanted) else ())
        result: list[Any] = [[None] * len(n) if isinstance(n, list) else None for n in given]
        first = len(backward.gradients)
        for number, is_wanted in zip(backward.gives, wanted, strict=True):
            if not is_wanted:
                continue
            value = values[first + backward.arguments.index(number)]
            got = [next(made) if _has_gradient(torch, one) else None for one in spread(value)]
            result[place_in[number]] = got if isinstance(value, list | tuple) else got[0]
        return tuple(result)

    return setup_context, run


def _refuse_gradients_of(torch: Any, name: str, values: Sequence[Any]) -> None:
    """PyTorch sees no tensors in a list with None in it. Raises if one requires a gradient."""
    if any(isinstance(one, torch.Tensor) and one.requires_grad for one in values):
        raise RuntimeError(
            f"{name}: PyTorch has no gradient for the tensors of a list with None in it; pass "
            "detach() of them, or call under torch.no_grad()"
        )


def _take(torch: Any, value: Any, tensors: list[Any]) -> "int | None":
    if not isinstance(value, torch.Tensor):
        return None
    tensors.append(value)
    return len(tensors) - 1


def _has_gradient(torch: Any, value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def _any_of(needs: Any) -> bool:
    return any(needs) if isinstance(needs, list | tuple) else bool(needs)
