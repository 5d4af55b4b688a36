"""compile(function): a graph for each kind of call, with its backward as a second stage.

The first call of a kind runs the function, and a trace observes it: what it gives is what the
function gave. Then

    1. what was seen is checked: is a graph all that the function does?
    2. the graph is differentiated by the inputs that require a gradient, optimised and fused
    3. it is cached under the key of the call: gradients/call_keys.cpp

A later call of that kind runs the graph. If a step finds a reason not to, calls of the kind run
the function as it is, and explain() says why.

Threads: nothing is locked. Two threads that come first with one kind both run the function, and one
of their graphs is held.
"""

import functools
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C, _gradients, _graphs
from .._core import ops as _ops
from .._core import queries as _queries
from .._nn.module import Module
from .._nn.parameter import Parameter
from . import passes
from .containers import Shape, flatten
from .surroundings import Surroundings

LIMIT = 64  # kinds of calls that are cached
_DERIVATIVES = -8  # where a key says how often derivatives have changed: gradients/call_keys.cpp
_DYNAMIC = (
    *("argwhere", "bincount", "masked_select", "nonzero", "repeat_interleave", "unique"),
    *("_unique", "_unique2", "unique_consecutive", "unique_dim"),
)


class CompileWarning(UserWarning):
    """A function runs as it is though it was given to compile()."""


class _Kind:
    """What was made of one kind of calls."""

    __slots__ = ("build", "derivatives", "extent", "graph", "held", "label", "reason", "run")

    def __init__(self, label: str, key: bytes, held: list, extent: tuple[int, int]) -> None:
        self.label = label
        self.derivatives = key[_DERIVATIVES:]  # of which its gradients are; zeros if there are none
        self.held = held  # what the key names by its address
        self.extent = extent  # of the surroundings that are in the key
        self.run: Any = None  # a Code or a Staged; None if calls run the function
        self.build: Any = None  # makes the result of what `run` gives
        self.graph: _graphs.Graph | None = None
        self.reason = ""


class CompiledFunction:
    """A function that runs as a graph; made by compile().

    Gradients flow through it as through the function; its history is one function, whose backward
    is the graph's next stage.
    """

    def __init__(self, function: Callable) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__name__: str = getattr(function, "__name__", type(function).__name__)
        self._function = function
        self._owner = _owner_of(function)
        self._surroundings = Surroundings()
        self._surroundings.add(function)
        self._kinds: dict[bytes, _Kind] = {}
        self._others: dict[str, int] = {}  # why calls had no key, and how often
        self._warned: set[str] = set()
        self._keys = _gradients.CallKeys(
            *(_C.Tensor, Parameter, Module),
            (complex, bytes, range, _C.dtype, _C.device, type(...), type(NotImplemented)),
            CompiledFunction,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._keys(self._surroundings.read(), self._owner, args, kwargs, None)
        if type(found) is tuple:
            kind = self._kinds.get(found[0])
            if kind is None:
                return self._begin(args, kwargs)
            if kind.run is not None:
                return kind.build(kind.run(*found[1]))
        elif found is not None:
            self._run_as_it_is(found)
        return self._function(*args, **kwargs)

    def __get__(self, instance: object, owner: "type | None" = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}>"

    def graphs(self) -> "list[_graphs.Graph]":
        """The graphs that calls run, in the order in which they were made."""
        return [kind.graph for kind in list(self._kinds.values()) if kind.graph is not None]

    def explain(self) -> str:
        """For each kind of calls that came, what runs, or why the function runs as it is."""
        lines = [f"{self.__name__}: {len(self._kinds)} of at most {LIMIT} kinds of calls"]
        for kind in list(self._kinds.values()):
            if kind.graph is None:
                lines.append(f"  {kind.label}: runs as it is, since {kind.reason}")
                continue
            counts: dict[int, int] = {}
            for node in kind.graph.nodes():
                counts[node.stage] = counts.get(node.stage, 0) + 1
            nodes = counts.get(0, 0)
            words = f"a graph of {nodes} node{'' if nodes == 1 else 's'}"
            if kind.graph.stage > 0:
                words += f", and {counts.get(1, 0)} for its gradients"
            lines.append(f"  {kind.label}: {words}")
        for reason, count in list(self._others.items()):
            lines.append(f"  {count} calls ran as it is, since {reason}")
        return "\n".join(lines)

    def _run_as_it_is(self, reason: str) -> None:
        """Notes, and says once, why a call does not run a graph."""
        self._others[reason] = self._others.get(reason, 0) + 1
        self._warn(reason)

    def _warn(self, reason: str) -> None:
        if reason in self._warned:
            return
        self._warned.add(reason)
        warnings.warn(
            f"compile: {self.__name__} runs as it is, since {reason}",
            CompileWarning,
            stacklevel=4,
        )

    def _begin(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The first call of a kind."""
        if len(self._kinds) >= LIMIT:
            self._run_as_it_is(
                f"{LIMIT} kinds of calls are compiled already; make sizes and numbers alike, or "
                "pass numbers that change as Tensors"
            )
            return self._function(*args, **kwargs)
        surroundings, held, found = self._look_around(args, kwargs)
        if type(found) is not tuple:
            if found is not None:
                self._run_as_it_is(found)
            return self._function(*args, **kwargs)
        key, tensors, changeable = found
        kind = _Kind(_label(args, kwargs), key, held, surroundings.extent)
        if surroundings.reasons:
            kind.reason = surroundings.reasons[0]
            result = self._function(*args, **kwargs)
        else:
            before = _State(key, tensors, changeable, surroundings)
            result = self._observe(kind, before, args, kwargs)
        if kind.derivatives.strip(b"\0"):  # it may have loaded operators, with derivatives
            kind.derivatives = _gradients.derivatives_changed()
            key = key[:_DERIVATIVES] + kind.derivatives
        self._kinds.setdefault(key, kind)
        if kind.run is None:
            self._warn(kind.reason)
        return result

    def _look_around(
        self, args: tuple, kwargs: dict[str, Any]
    ) -> "tuple[Surroundings, list, tuple | str | None]":
        """What the call sees, what its key names by address, and the key and tensors, or why not.

        Values lead to functions, and these to names outside, until there are no more. What calls of
        other kinds see is seen as well, so that all keys are made in one way.
        """
        surroundings = Surroundings(self._surroundings)  # others see the former until it is whole
        surroundings.add(self._function)
        for one in (*args, *kwargs.values()):
            if isinstance(one, Module):
                surroundings.add(one)
        while True:
            held: list = []
            found = self._keys(surroundings.read(), self._owner, args, kwargs, held)
            if not surroundings.add_found(held) or type(found) is not tuple:
                break
        self._surroundings = surroundings
        derivatives = _gradients.derivatives_changed()
        for key, kind in list(self._kinds.items()):
            is_old = kind.derivatives.strip(b"\0") and kind.derivatives != derivatives
            if is_old or kind.extent != surroundings.extent:  # no call has that key any more
                self._kinds.pop(key, None)
        return surroundings, held, found

    def _observe(
        self,
        kind: _Kind,
        before: "_State",
        args: tuple,
        kwargs: dict[str, Any],
    ) -> Any:
        """Runs the function; fills the kind with a graph, or a reason."""
        _ops.load_aten()
        tensors = before.tensors
        outputs: list = []
        shapes: list[Shape] = []

        def outputs_of(result: object) -> "list | str":
            try:
                found, shape = flatten(result, "the result", _refuse)
            except (_Refused, ValueError) as error:
                return str(error)
            outputs.extend(found)
            shapes.append(shape)
            now = self._keys(before.surroundings.read(), self._owner, args, kwargs, [])
            return before.difference(now) or _fault_of_results(tensors, found) or found

        is_taped = _gradients.gradient_mode() == 0 and any(one.requires_grad for one in tensors)
        if is_taped and any(_gradients.tangent_of(one) is not None for one in tensors):
            kind.reason = (
                "it is called with a tensor that has a tangent and one that requires a gradient: "
                "the graph of gradients has no tangents"
            )
            return self._function(*args, **kwargs)
        names = [f"x{number}" for number in range(len(tensors))]
        result, graph, why = _graphs.observe(
            lambda: self._function(*args, **kwargs), list(tensors), names, is_taped, outputs_of
        )
        if graph is None:
            kind.reason = str(why)
            return result
        try:
            self._make(kind, graph, tensors, outputs)
        except (_Refused, NotImplementedError, ValueError) as error:
            kind.run, kind.graph, kind.reason = None, None, str(error)
        else:
            kind.build = _builder(shapes[0], len(outputs))
        return result

    def _make(self, kind: _Kind, graph: "_graphs.Graph", tensors: list, outputs: list) -> None:
        _check_nodes(graph)
        wanted = [place for place, one in enumerate(outputs) if one.requires_grad]
        if not wanted:
            _optimise(graph)
            kind.run, kind.graph = _graphs.Code(graph), graph
            return
        _check_gradients(graph)
        both = graph.copy()
        inputs = both.inputs()
        places = [place for place, one in enumerate(tensors) if one.requires_grad]
        used, of = _graphs.differentiate(both, [inputs[place] for place in places], True)
        if of != wanted:
            raise _Refused(
                "gradients flow to other results in the graph than in the function: is there a "
                "result that is detached?"
            )
        _optimise(both)
        passes.fuse(graph)
        forward, code = _graphs.Code(graph), _graphs.Code(both)
        kind.run = _gradients.make_staged(
            self.__name__, forward, code, [places[number] for number in used], of
        )
        kind.graph = both


class _State:
    """What a call is given and finds outside, before it: a graph leaves all of that as it was."""

    def __init__(
        self, key: bytes, tensors: list, changeable: list, surroundings: Surroundings
    ) -> None:
        self.key = key
        self.tensors = tensors
        self.surroundings = surroundings
        self._changeable = changeable
        self._versions = [tensor._version for tensor in tensors]
        self._grads = _grads_of(tensors)
        self._names = surroundings.names_of_modules()

    def difference(self, found: object) -> str:
        """What the call did that no graph does; `found` is what describes it now."""
        if [tensor._version for tensor in self.tensors] != self._versions:
            return "it writes into a tensor that it is given, or finds outside"
        # Two tensors, or containers, of one kind have the same key, and are not the same.
        is_same = type(found) is tuple and found[0][:_DERIVATIVES] == self.key[:_DERIVATIVES]
        if not is_same or not _are_same(found[2], self._changeable):  # type: ignore[index]
            return "it changes something that it is given, or finds outside"
        if not _are_same(_grads_of(self.tensors), self._grads):
            return "it assigns the grad of a tensor that it is given, or finds outside"
        return next(filter(None, (one.change() for one in self._names)), "")


def _grads_of(tensors: list) -> list:
    """The `grad` of each; what is no leaf has one if it is kept, and asking for others warns."""
    return [
        _gradients.grad(tensor) if tensor.is_leaf or _gradients.retains_grad(tensor) else None
        for tensor in tensors
    ]


def _are_same(some: Sequence, others: Sequence) -> bool:
    return len(some) == len(others) and all(
        one is other for one, other in zip(some, others, strict=True)
    )


class _Refused(Exception):
    """A reason not to run a graph."""


def _refuse(item: object, path: str) -> _C.Tensor:
    raise _Refused(
        f"{path} is of type {type(item).__name__}; accepted are Tensors, plain values, and lists, "
        "tuples and dicts of them"
    )


def _owner_of(function: Callable) -> object:
    """What is called: the function itself, the object of a method, or a callable object."""
    if isinstance(function, types.FunctionType):
        return function
    if isinstance(function, types.BuiltinFunctionType):
        return None
    owner = function.__self__ if isinstance(function, types.MethodType) else function
    return owner if hasattr(owner, "__dict__") and not isinstance(owner, type) else None


def _fault_of_results(tensors: Sequence, outputs: Sequence) -> str:
    """Why these are not what a graph gives, or nothing."""
    if any(one is other for one in outputs for other in tensors):
        return "it returns a tensor that it was given, or found outside, as it is"
    if len({id(one) for one in outputs}) != len(outputs):
        return "it returns one tensor twice"
    if any(type(one) is not _C.Tensor for one in outputs):
        return "it returns a tensor of a class of its own"
    if any(one.requires_grad for one in outputs):
        memory = [_memory_of(one) for one in outputs if one.numel()]
        if len(set(memory)) != len(memory) or {_memory_of(one) for one in tensors} & set(memory):
            return (
                "it returns a view of a tensor that it was given, or two on the same memory, and "
                "gradients are enabled; return a clone()"
            )
    return ""


def _memory_of(tensor: _C.Tensor) -> int:
    """Where the memory begins that a tensor's elements are in."""
    return tensor.data_ptr() - tensor.storage_offset() * tensor.dtype.itemsize


def _check_nodes(graph: "_graphs.Graph") -> None:
    """Raises for nodes whose next run may do something else than this one."""
    for node in graph.nodes():
        if node.kind == "prim::Constant":
            if node.has_attribute("value") and node.kind_of("value") == "t":
                raise _Refused(
                    "it finds a tensor in a place that compile() does not look at, where another "
                    "may be at the next call; make it an argument, or an attribute of a Module"
                )
            continue
        name_space, _, name = node.kind.partition("::")
        if name_space == "prim":
            continue
        packet = getattr(getattr(_ops.ops, name_space), name)
        op = getattr(packet, node.overload or "default")
        tags = {str(tag) for tag in op.tags}
        if "nondeterministic_seeded" in tags:
            raise _Refused(f"{node.kind} gives random numbers")
        if "dynamic_output_shape" in tags or name in _DYNAMIC or _is_mask(node, name):
            raise _Refused(f"{node.kind} gives a tensor whose sizes depend on values")


def _autograd_keys() -> _C.DispatchKeySet:
    from .._core.keys import DispatchKey

    layers = ("Autograd", "AutogradFunctionality")
    names = [name for name in DispatchKey.__members__ if name.startswith("Autograd")]
    return _C.DispatchKeySet([DispatchKey[name] for name in names if name not in layers])


def _check_gradients(graph: "_graphs.Graph") -> None:
    """Raises for operators whose gradients come of a kernel, which no formula tells."""
    for node in graph.nodes():
        if node.kind.startswith("prim::"):
            continue
        name = f"{node.kind}.{node.overload}" if node.overload else node.kind
        is_alias = _queries.has_kernel(name, "Autograd")
        if is_alias or _queries.has_kernel_for_any(name, _autograd_keys()):
            raise _Refused(
                f"{node.kind} has a kernel of its own where gradients begin, and a graph would not "
                "run it in its backward"
            )


def _is_mask(node: "_graphs.Node", name: str) -> bool:
    return name == "index" and any(
        "Bool" in value.type or "UInt8" in value.type or "Byte" in value.type
        for one in node.inputs()
        for value in (one.node().inputs() if one.node().kind == "prim::ListConstruct" else (one,))
    )


def _optimise(graph: "_graphs.Graph") -> None:
    before = len({value.unique for value in graph.outputs()})
    trial = graph.copy()
    passes.eliminate_common_subexpressions(trial)
    if len({value.unique for value in trial.outputs()}) == before:  # results stay tensors apart
        passes.eliminate_common_subexpressions(graph)
    passes.specialize_shapes(graph)  # the key of a call has the sizes and strides of the inputs
    passes.peephole(graph)
    passes.eliminate_dead_code(graph)
    passes.fuse(graph)


def _builder(shape: Shape, count: int) -> Callable:
    """What makes a function's result of what its graph gives."""
    if count == 1:
        if shape.is_leaf:
            return lambda given: given
        return lambda given: shape.build((given,))
    return (lambda given: shape.build(given)) if count else (lambda given: shape.build(()))


def _label(args: tuple, kwargs: dict[str, Any]) -> str:
    """A call in words."""
    words = [_word(one) for one in args]
    words += [f"{name}={_word(one)}" for name, one in kwargs.items()]
    mode = "" if _gradients.gradient_mode() == 0 else " without gradients"
    return f"({', '.join(words)}){mode}"


def _word(value: object) -> str:
    if isinstance(value, _C.Tensor):
        gradient = ", requires a gradient" if value.requires_grad else ""
        return f"{value.dtype}{list(value.shape)}{gradient}".replace("opyard.", "")
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of {len(value)}"
    text = repr(value) if not isinstance(value, Module) else type(value).__name__
    return text if len(text) < 40 else type(value).__name__
