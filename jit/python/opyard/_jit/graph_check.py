"""An operator in a graph beside its plain call: results, and gradients as a later stage.

opyard.library.opcheck() asks it, as "test_aot_dispatch_dynamic".
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

from .. import _C, _graphs
from .._autograd.runs import grad
from .._core import ops as _ops
from . import passes

# Relative and absolute tolerance of numbers that were computed in another order, by the bytes of
# a real element.
_CLOSE = {2: (1e-3, 1e-3), 4: (1.3e-6, 1e-5), 8: (1e-7, 1e-7)}

Run = Callable[..., "list[_C.Tensor]"]
Copies = Callable[[], "list[_C.Tensor]"]


def _numbers(tensor: "_C.Tensor") -> list:
    return tensor.detach().reshape([-1]).tolist()


def _is_close(one: Any, other: Any, rtol: float, atol: float) -> bool:
    if one == other or (one != one and other != other):  # equal infinities, two NaN
        return True
    if isinstance(one, complex):
        return abs(one - other) <= atol + rtol * abs(other)
    return math.isclose(one, other, rel_tol=rtol, abs_tol=atol)


def _difference(
    mine: "_C.Tensor", its: "_C.Tensor", rtol: "float | None", atol: "float | None"
) -> str:
    """What is wrong with a result of the graph, beside that of the call; "" if nothing is."""
    if (mine.dtype, list(mine.shape)) != (its.dtype, list(its.shape)):
        return (
            f"is {mine.dtype}{list(mine.shape)} in a graph, and {its.dtype}{list(its.shape)} in a "
            "call"
        )
    if its.device.type == "meta":
        return ""
    size = its.element_size() // (2 if its.dtype.is_complex else 1)
    inexact = its.dtype.is_floating_point or its.dtype.is_complex
    known = _CLOSE.get(size, (0.0, 0.0)) if inexact else (0.0, 0.0)
    rtol = known[0] if rtol is None else rtol
    atol = known[1] if atol is None else atol
    for place, (a, b) in enumerate(zip(_numbers(mine), _numbers(its), strict=True)):
        if not _is_close(a, b, rtol, atol):
            return f"has {a!r} as element {place} in a graph, and {b!r} in a call"
    return ""


def _weights(like: "_C.Tensor") -> "_C.Tensor":
    """A gradient whose elements differ, so that none passes for another."""
    count = like.numel()
    flat = _C.tensor([(i % 7 + 1) / 4 for i in range(count)], dtype=_C.float64)
    return flat.reshape(list(like.shape)).to(like.dtype)


def _gradients(outputs: "list[_C.Tensor]", inputs: "list[_C.Tensor]") -> "dict[int, _C.Tensor]":
    """By their numbers those of the inputs that require one, and that an output depends on."""
    numbers = [number for number, one in enumerate(inputs) if one.requires_grad]
    roots = [one for one in outputs if one.requires_grad]
    found = grad(
        roots, [inputs[i] for i in numbers], [_weights(one) for one in roots], allow_unused=True
    )
    return {i: one for i, one in zip(numbers, found, strict=True) if one is not None}


def _staged_gradients(
    graph: "_graphs.Graph",
    wrt: "Iterable[int]",
    inputs: "list[_C.Tensor]",
    outputs: "list[_C.Tensor]",
) -> "list[_C.Tensor]":
    values = graph.inputs()
    passes.differentiate(graph, [values[i] for i in wrt])
    state = _graphs.InterpreterState(_graphs.Code(graph))
    state.run_one_stage(*inputs)
    # A gradient for each result; what has none in the call gets zeros.
    given = [
        _weights(one) if one.requires_grad else _ops.ops.aten.zeros_like(one) for one in outputs
    ]
    found = state.run_one_stage(*given)
    return list(found) if isinstance(found, tuple) else [found]


def find_faults(
    run: Run, copies: Copies, writes: bool, rtol: "float | None", atol: "float | None"
) -> "list[str]":
    """Where a graph of a call differs from the call; empty if it does not.

    `run` makes the call with tensors that `copies` gives, and gives the tensors of its results.
    The gradients of the tensors that require one are compared, too, unless the call `writes`.
    """
    inputs = copies()
    outputs = run(*inputs)
    differentiable = not writes and any(one.requires_grad for one in outputs)
    traced = copies()
    names = [f"input_{number}" for number in range(len(inputs))]
    graph = _graphs.trace(lambda: run(*traced), traced, names, differentiable)
    in_graph = copies()
    code = _graphs.Code(graph)
    results = code(*in_graph)
    count = code.output_count(0)
    results = results if count > 1 else [results][:count]

    faults: list[str] = []

    def compare(mine: "_C.Tensor", its: "_C.Tensor", what: str) -> None:
        if difference := _difference(mine, its, rtol, atol):
            faults.append(f"{what} {difference}")

    for number, (mine, its) in enumerate(zip(results, outputs, strict=True)):
        compare(mine, its, f"the result {number}")
    for number, (mine, its) in enumerate(zip(in_graph, inputs, strict=True)):
        compare(mine, its, f"after the call the tensor {number} among the arguments")
    if faults or not differentiable:
        return faults
    wanted = _gradients(outputs, inputs)
    if wanted:
        found = _staged_gradients(graph, wanted, copies(), outputs)
        for (number, its), mine in zip(wanted.items(), found, strict=True):
            compare(mine, its, f"the gradient of the tensor {number} among the arguments")
    return faults
