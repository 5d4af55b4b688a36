"""Edges of a graph, from and to which a backward runs, and hooks on several tensors at once."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import _C, _gradients
from .errors import GradientError
from .nodes import Node, RemovableHandle, node_of


class GradientEdge(NamedTuple):
    """Where gradients arrive: a function, and which of its inputs.

    backward() and grad() take it in the place of the tensor that get_gradient_edge() was given. It
    keeps the graph, and nothing of the tensor.
    """

    node: Node
    output_nr: int


def get_gradient_edge(tensor: "_C.Tensor") -> GradientEdge:
    """The edge at which the gradient of a tensor arrives; of a leaf that of its AccumulateGrad.

    Raises TypeError for what is no Tensor, RuntimeError for one that requires no gradient.
    """
    if not isinstance(tensor, _C.Tensor):
        raise TypeError(
            f"get_gradient_edge: a Tensor is wanted, not an object of {type(tensor).__name__}"
        )
    found = _gradients.edge_of(tensor)
    if found is None:
        raise GradientError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(node_of(found[0]), found[1])


def stand_in(edge: GradientEdge) -> "_C.Tensor":
    """A tensor for an edge, with the sizes of the gradient there and memory for one element."""
    return _gradients.tensor_at(edge.node._function, edge.output_nr)


class _Handles(RemovableHandle):
    """What takes several hooks away again."""

    def __init__(self, handles: tuple) -> None:
        self._handles = handles
        self.id = handles[0].id if handles else 0

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


class _Run:
    """What one backward has brought so far."""

    def __init__(self, expected: int, count: int) -> None:
        self.missing = expected
        self.gradients: list = [None] * count
        self.thread = threading.get_ident()
        self.depth = _gradients.run_depth()

    def is_over(self, later: "_Run") -> bool:
        """Whether it has ended, with an error, since a later one has begun on its thread."""
        return self.thread == later.thread and self.depth >= later.depth


class _All:
    """Calls a function once in each backward, with the gradients of all tensors."""

    def __init__(self, fn: Callable, tensors: "Sequence[_C.Tensor]") -> None:
        self._fn = fn
        # Keeps nothing of the graph: a hook is kept by it.
        self._functions = [get_gradient_edge(one).node._function._for_hook() for one in tensors]
        self._lock = threading.Lock()
        self._runs: dict[int, _Run] = {}

    def hook(self, position: int) -> "Callable[[_C.Tensor], None]":
        def arrived(gradient: "_C.Tensor") -> None:
            number = _gradients.run_number()
            with self._lock:
                run = self._runs.get(number)
                if run is None:
                    run = self._begin(number)
                run.gradients[position] = gradient
                run.missing -= 1
                is_last = run.missing == 0
            if is_last:
                self._fn(run.gradients)

        return arrived

    def _begin(self, number: int) -> _Run:
        expected = sum(one.is_in_run() for one in self._functions)
        fresh = _Run(expected, len(self._functions))
        self._runs = {of: run for of, run in self._runs.items() if not run.is_over(fresh)}
        self._runs[number] = fresh
        _gradients.queue_callback(lambda: self._runs.pop(number, None))
        return fresh


class _Any:
    """Calls a function once in each backward, with the first gradient that arrives."""

    def __init__(self, fn: Callable) -> None:
        self._fn = fn
        self._lock = threading.Lock()
        self._seen: set[int] = set()

    def __call__(self, gradient: "_C.Tensor") -> None:
        number = _gradients.run_number()
        with self._lock:
            if number in self._seen:
                return
            self._seen.add(number)
        _gradients.queue_callback(lambda: self._seen.discard(number))
        self._fn(gradient)


def register_multi_grad_hook(
    tensors: "Sequence[_C.Tensor]", fn: "Callable[..., Any]", *, mode: str = "all"
) -> RemovableHandle:
    """Calls a function once in each backward that reaches some of the tensors.

    mode="all": fn(gradients), with a list as long as `tensors`, once the gradients of all of them
    that this backward reaches are there; None for the others. mode="any": fn(gradient), with the
    first one that arrives; tensors that require no gradient are passed over. What `fn` gives is not
    used. A backward that raises before calls nothing.

    Raises ValueError for another mode, TypeError for what is no function, RuntimeError for a tensor
    that requires no gradient.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode!r}")
    if not callable(fn):
        raise TypeError(
            "register_multi_grad_hook: fn must be a function of gradients, not an object of "
            + type(fn).__name__
        )
    tensors = tuple(tensors)
    if mode == "all":
        every = _All(fn, tensors)
        return _Handles(
            tuple(one.register_hook(every.hook(place)) for place, one in enumerate(tensors))
        )
    first = _Any(fn)
    return _Handles(tuple(one.register_hook(first) for one in tensors if one.requires_grad))
