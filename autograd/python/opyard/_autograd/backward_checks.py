"""What gradcheck looks at beside values: backwards that give the same each time, and that bear
gradients that are not there."""

from collections.abc import Callable
from typing import Any

from .functions import Function
from .runs import grad


class _Undefined(Function):
    """A tensor as it is, whose gradient goes no further."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view(list(x.shape))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> None:
        return None


def not_repeatable(outputs: list, inputs: list, seeds: list, tolerance: float) -> "str | None":
    """What is wrong if two backwards give gradients that differ by more than `tolerance`."""
    pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o.requires_grad]
    if not pairs:
        return None
    roots, given = [o for o, _ in pairs], [s for _, s in pairs]
    first, second = (
        grad(roots, inputs, given, keep_graph=True, allow_unused=True) for _ in range(2)
    )
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        if (one is None) != (other is None):
            return f"Backward is not reentrant: the gradient of input {number} was there only once"
        if one is None or other is None or one.numel() == 0:
            continue
        apart = (one - other).abs()
        apart = apart.where(one == one, 0)  # NaN stays NaN
        if apart.max().item() > tolerance:
            return (
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                f"multiple times gives different values: those of input {number} are up to "
                f"{apart.max().item()} apart. The tolerance for nondeterminism was {tolerance}"
            )
    return None


def not_undefined(outputs_of: Callable, inputs: list) -> "str | None":
    """What is wrong if a backward cannot do without the gradients of some outputs, or of all."""
    count = len([one for one in outputs_of() if one.requires_grad])
    every = set(range(count))
    for absent in [every, *([{one} for one in every] if count > 1 else [])]:
        outputs = [one for one in outputs_of() if one.requires_grad]
        roots = [
            _Undefined.apply(one) if number in absent else one for number, one in enumerate(outputs)
        ]
        if not roots:
            return None
        seeds = [(one * 0).detach() for one in roots]
        try:
            found = grad(roots, inputs, seeds, allow_unused=True)
        except (RuntimeError, TypeError, AttributeError) as error:
            which = "all outputs" if absent == every else f"output {min(absent)}"
            return (
                "Expected backward function to handle undefined output grads: without that of "
                f"{which} it raised {type(error).__name__}: {error}"
            )
        for number, one in enumerate(found):
            if one is not None and not bool((one == 0).all().item()):
                return (
                    "Expected all input grads to be undefined or zero when all output grads are "
                    f"undefined or zero, and that of input {number} is {one.tolist()}"
                )
    return None
