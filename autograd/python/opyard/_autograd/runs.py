"""backward() and grad(): runs of the engine."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

from .. import _C, _gradients
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .edges import GradientEdge, stand_in
from .errors import GradientError, GradientTypeError
from .modes import is_inference_mode_enabled

# What the engine raises by this name when backwards are nested too deep.
_C.register_error("RecursionError", RecursionError)


def _keeps(retain_graph: Any, keep_graph: Any, create_graph: bool) -> bool:
    """Whether what was saved is kept for another run. Raises TypeError."""
    given = [one for one in (retain_graph, keep_graph) if one is not None]
    for one in given:
        if not isinstance(one, int):
            raise TypeError(f"retain_graph must be True, False or None, not {one!r}")
    return any(given) if given else bool(create_graph)


def _tensors(what: str, given: Any, *, none: bool = False) -> list:
    """A Tensor, or several, as a list. Raises TypeError."""
    if given is None:
        return []
    if isinstance(given, GradientEdge):
        return [stand_in(given)]
    if not isinstance(given, _C.Tensor | Iterable):
        kind = type(given).__name__
        raise TypeError(f"{what}: a Tensor or several are wanted, not an object of {kind}")
    items = [given] if isinstance(given, _C.Tensor) else list(given)
    for number, item in enumerate(items):
        if isinstance(item, _C.Tensor) or (none and item is None):
            continue
        if isinstance(item, GradientEdge):
            items[number] = stand_in(item)
            continue
        kind = type(item).__name__
        raise GradientTypeError(f"{what}: a Tensor is wanted, not an object of {kind}")
    return items


def _with_leaves(inputs: Any) -> Any:
    """The inputs of a backward: an edge has no tensor whose .grad could be set, but for a leaf."""
    if inputs is None or isinstance(inputs, _C.Tensor) or not isinstance(inputs, Iterable):
        return inputs
    items = [inputs] if isinstance(inputs, GradientEdge) else list(inputs)
    for one in items:
        if isinstance(one, GradientEdge) and one.node.name() != "AccumulateGrad":
            raise GradientError(
                "backward: edges among inputs are those of leaves, to whose grad it adds, and "
                f"{one.node.name()} has none; grad() gives what arrives there"
            )
    return items


@names_keywords
def backward(
    tensors: "_C.Tensor | Sequence[_C.Tensor]",
    grad_tensors: "_C.Tensor | Sequence[_C.Tensor | None] | None" = None,
    retain_graph: "bool | None" = None,
    create_graph: bool = False,
    inputs: "_C.Tensor | Iterable[_C.Tensor] | None" = None,
    *,
    keep_graph: "bool | None" = None,
) -> None:
    """Accumulates the gradients of the leaves that `tensors` were computed from.

    `retain_graph`, or `keep_graph`, keeps what was saved for another run; with `create_graph` the
    run is taped itself. `inputs` are the only tensors to accumulate for.
    """
    _ops.load_aten()
    keep = _keeps(retain_graph, keep_graph, create_graph)
    inputs = _with_leaves(inputs)
    if inputs is not None and not (wanted := _tensors("backward: inputs", inputs)):
        raise RuntimeError("'inputs' argument to backward cannot be empty.")
    _gradients.backward(
        _tensors("backward", tensors),
        _tensors("backward: gradients", grad_tensors, none=True),
        keep,
        create_graph,
        [] if inputs is None else wanted,
    )


@names_keywords
def increment_version(tensor: "_C.Tensor | Iterable[_C.Tensor]") -> None:
    """Counts a write that no operator made, such as one through an array on the same memory.

    A graph that saved the tensor raises then, instead of giving a wrong gradient. Raises
    RuntimeError for an inference tensor outside of inference_mode(), since none saves it.
    """
    for one in _tensors("increment_version", tensor):
        if one.is_inference() and not is_inference_mode_enabled():
            raise RuntimeError(
                "increment_version: an inference tensor does not count its writes; it was made "
                "under inference_mode: clone() it outside of that"
            )
        _gradients.increment_version(one)


def _batch_size(roots: list, gradients: list) -> int:
    """The length of the first dimension of the gradients. Raises ValueError."""
    if not gradients:
        raise ValueError("grad: is_grads_batched=True goes with grad_outputs, and none were given")
    sizes = {}
    for number, (root, gradient) in enumerate(zip(roots, gradients, strict=False)):
        if gradient is None:
            continue
        if tuple(gradient.shape[1:]) != tuple(root.shape) or gradient.dim() == 0:
            raise ValueError(
                f"grad: gradient {number} of a batch has the shape {tuple(gradient.shape)}, and "
                f"the output there has {tuple(root.shape)}: it takes one dimension more, in front"
            )
        sizes[number] = gradient.shape[0]
    if len(set(sizes.values())) != 1:
        said = ", ".join(f"{size} of gradient {number}" for number, size in sizes.items())
        raise ValueError(
            f"grad: the gradients of a batch have one length of their first dimension; here "
            f"{said or 'there are none'}"
        )
    return next(iter(sizes.values()))


def _batched(
    roots: list, wanted: list, gradients: list, keep: bool, create_graph: bool, unused: bool
) -> tuple:
    """A run for each item of a batch; what the last one may free is kept until then."""
    size = _batch_size(roots, gradients)
    aten = _ops.ops.aten
    if size == 0:
        none = [None if one is None else aten.zeros_like(one[:0].sum(0)) for one in gradients]
        once = _gradients.grad_of(roots, wanted, none, keep, create_graph, unused)
        return tuple(None if one is None else one.unsqueeze(0)[:0] for one in once)
    runs = []
    for item in range(size):
        seeds = [None if one is None else one[item] for one in gradients]
        kept = keep or item + 1 < size
        runs.append(_gradients.grad_of(roots, wanted, seeds, kept, create_graph, unused))
    return tuple(
        None if column[0] is None else aten.stack(list(column), 0)
        for column in zip(*runs, strict=True)
    )


@overload
def grad(
    outputs: "_C.Tensor | Sequence[_C.Tensor]",
    inputs: "_C.Tensor | Sequence[_C.Tensor]",
    grad_outputs: "_C.Tensor | Sequence[_C.Tensor | None] | None" = None,
    retain_graph: "bool | None" = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: "Literal[False] | None" = None,
    *,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    keep_graph: "bool | None" = None,
) -> "tuple[_C.Tensor, ...]": ...
@overload
def grad(
    outputs: "_C.Tensor | Sequence[_C.Tensor]",
    inputs: "_C.Tensor | Sequence[_C.Tensor]",
    grad_outputs: "_C.Tensor | Sequence[_C.Tensor | None] | None" = None,
    retain_graph: "bool | None" = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: "bool | None" = None,
    *,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    keep_graph: "bool | None" = None,
) -> "tuple[_C.Tensor | None, ...]": ...
@names_keywords
def grad(
    outputs: "_C.Tensor | Sequence[_C.Tensor]",
    inputs: "_C.Tensor | Sequence[_C.Tensor]",
    grad_outputs: "_C.Tensor | Sequence[_C.Tensor | None] | None" = None,
    retain_graph: "bool | None" = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: "bool | None" = None,
    *,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    keep_graph: "bool | None" = None,
) -> "tuple[_C.Tensor | None, ...]":
    """The gradients of `outputs` for `inputs`, which are not accumulated anywhere.

    `only_inputs` is PyTorch's: it can be nothing but True, and False is refused with ValueError.
    Raises ValueError for an input that was not used, unless `allow_unused`; then it is None, or
    zeros with `materialize_grads`, which needs no `allow_unused`. With `create_graph` the zeros
    require a gradient, as what else it gives.

    With `is_grads_batched` each of `grad_outputs` has one dimension more, in front, and so has what
    it gives: the gradients for each item along it. They are taken one after the other, since
    operators have no batching rules; hooks run for each.
    """
    if only_inputs is not True:
        raise ValueError(
            f"grad: only_inputs must be True, not {only_inputs!r}: gradients are accumulated by "
            "backward() alone. The argument behind it is allow_unused"
        )
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads gives zeros where allow_unused=False raises")
    _ops.load_aten()
    keep = _keeps(retain_graph, keep_graph, create_graph)
    wanted = _tensors("grad: inputs", inputs)
    roots = _tensors("grad", outputs)
    gradients = _tensors("grad: gradients", grad_outputs, none=True)
    unused = bool(allow_unused) or materialize_grads
    if is_grads_batched:
        found = _batched(roots, wanted, gradients, keep, create_graph, unused)
    else:
        found = _gradients.grad_of(roots, wanted, gradients, keep, create_graph, unused)
    if not materialize_grads:
        return found
    zeros_like = _ops.ops.aten.zeros_like
    return tuple(
        zeros_like(of).requires_grad_(create_graph) if one is None else one
        for one, of in zip(found, wanted, strict=True)
    )
