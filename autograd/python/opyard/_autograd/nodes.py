"""Node: a function of a graph of gradients, as tensor.grad_fn gives it, with its hooks."""

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _C, _gradients
from .saved import SavedTensor

if TYPE_CHECKING:
    from .functions import FunctionCtx


class RemovableHandle:
    """What takes a hook away again: remove(), or the end of a `with` statement."""

    def __init__(self, function: "_gradients.Function", number: int) -> None:
        # Keeps nothing of the graph: a hook may hold its own handle.
        self._function: _gradients.FunctionOfHook | None = function._for_hook()
        self.id = number

    def remove(self) -> None:
        """Takes the hook away; once is enough, and it may be done by the hook."""
        function, self._function = self._function, None
        if function is not None:
            function.remove(self.id)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Node:
    """A function of a graph of gradients, as tensor.grad_fn gives it.

    One object stands for a function while it is held, and its class has the function's name.
    """

    __slots__ = ("__weakref__", "_function")

    def __init__(self, function: "_gradients.Function") -> None:
        self._function = function

    def name(self) -> str:
        """What it is called in messages: "MulBackward"."""
        return self._function.name()

    @property
    def next_functions(self) -> "tuple[tuple[Node | None, int], ...]":
        """For each edge the function that it leads to, and which input of that."""
        return tuple(
            (None if function is None else node_of(function), number)
            for function, number in self._function.next_functions
        )

    @property
    def num_inputs(self) -> int:
        """How many gradients it takes: one for each result of the call that it is of."""
        return self._function.num_inputs

    @property
    def sequence_nr(self) -> int:
        """Its number among those that this thread has made."""
        return self._function.sequence_nr

    def register_prehook(self, hook: Callable) -> Any:
        """Calls hook(gradients) before it runs; a tuple that it returns takes their place."""
        return RemovableHandle(self._function, self._function._register_prehook(hook))

    def register_hook(self, hook: Callable) -> Any:
        """Calls hook(results, gradients) after it ran; a tuple that it gives replaces these."""
        return RemovableHandle(self._function, self._function._register_hook(hook))

    @property
    def metadata(self) -> dict:
        """A dict for whatever is to be noted at this function, which keeps it."""
        return self._function.metadata

    @property
    def saved_tensors(self) -> "tuple[_C.Tensor | None, ...]":
        """What a Function's save_for_backward() saved. Raises RuntimeError once it was freed."""
        return self._context().saved_tensors

    @property
    def _raw_saved_tensors(self) -> "tuple[SavedTensor, ...]":
        """The same as SavedTensors, which take hooks."""
        return self._context()._raw_saved_tensors

    def _context(self) -> "FunctionCtx":
        backward = self._function.backward
        if backward is None:
            raise AttributeError(_without_context(self))
        return backward._ctx

    def __getattr__(self, name: str) -> Any:
        """`_saved_self`, `_saved_other`, ...: what it saved, by the names of the call.

        A tensor, a number, or a tuple; None for what was not needed. Raises RuntimeError once it
        was freed. `_raw_saved_self` is the SavedTensor, which takes hooks.
        """
        if name.startswith("__"):  # what is asked of all objects
            raise AttributeError(name)
        if name in ("saved_tensors", "_raw_saved_tensors"):  # of the properties
            raise AttributeError(_without_context(self))
        for prefix, find in (("_saved_", _saved), ("_raw_saved_", _raw_saved)):
            if name.startswith(prefix):
                field = name[len(prefix) :]
                if field in _gradients.saved_names(self._function):
                    return find(self._function, field)
        raise _no_attribute(self, name)

    def __dir__(self) -> list[str]:
        names = _gradients.saved_names(self._function)
        raw = [f"_raw_saved_{name}" for name in names]
        return [*super().__dir__(), *(f"_saved_{name}" for name in names), *raw]

    def __call__(self, *gradients: "_C.Tensor | None") -> Any:
        return self._function(*gradients)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._function == other._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"cannot pickle '{self.name()}' object: the history of a tensor stays here")

    def __repr__(self) -> str:
        return f"<{self.name()} object of opyard.autograd>"


_classes: "dict[str, type[Node]]" = {}


def node_of(function: "_gradients.Function") -> Node:
    """The object that stands for a function: the same one as long as someone holds it."""
    known = function.node
    node = None if known is None else known()
    if node is None:
        name = function.name()
        cls = _classes.get(name)
        if cls is None:
            made = type(name, (Node,), {"__slots__": (), "__module__": Node.__module__})
            cls = _classes.setdefault(name, made)
        node = cls(function)
        function.node = weakref.ref(node)
    return node


def _saved(function: "_gradients.Function", field: str) -> Any:
    value = _gradients.saved_value(function, field)
    return tuple(value) if isinstance(value, list) else value


def _raw_saved(function: "_gradients.Function", field: str) -> Any:
    value = _gradients.saved_value(function, field)

    def at(position: int, tensor: object) -> SavedTensor:
        if not isinstance(tensor, _C.Tensor):
            return SavedTensor(None)
        return SavedTensor(functools.partial(_gradients.pack_saved, function, field, position))

    if isinstance(value, list) and any(isinstance(one, _C.Tensor) for one in value):
        return tuple(at(position, one) for position, one in enumerate(value))
    return at(0, value)


def _without_context(node: Node) -> str:
    names = [f"_saved_{name}" for name in _gradients.saved_names(node._function)]
    said = f"; what it saved are {', '.join(names)}" if names else ""
    return f"{node.name()} is of no Function in Python and has no saved_tensors{said}"


def _no_attribute(node: Node, name: str) -> AttributeError:
    known = [one for one in dir(node) if not one.startswith("__")]
    return AttributeError(
        f"{node.name()} has no attribute '{name}'; it has {', '.join(sorted(known))}"
    )
