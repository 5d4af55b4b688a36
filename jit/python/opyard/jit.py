"""Graphs of operators: read from text or built, compiled to flat code, run stage by stage.

    graph = opyard.jit.parse_ir('''
        graph(%x : Tensor, %w : Tensor):
          %2 : Tensor = aten::mul(%x, %w)
          return (%2)
        stage 1(%grad : Tensor):
          %4 : Tensor = aten::mul(%grad, %w)
          return (%4)
    ''')
    state = opyard.jit.InterpreterState(opyard.jit.compile(graph))
    y = state.run_one_stage(x, w)
    again = state.clone()              # runs the next stage from here as often as is wanted
    grad = state.run_one_stage(opyard.tensor([1.0]))

The text is the one that TorchScript prints, with a line `stage N(...)` before the nodes of each
later stage. A graph of one stage is called like a function, by its code: compile(graph)(x, w).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from . import _graphs
from ._core import late as _late
from ._core import ops as _ops
from ._core.allowed import Allowed, allowed_names
from ._core.keywords import names_keywords
from ._graphs import Block, Code, Graph, InterpreterState, Node, Value
from ._jit import passes
from ._jit.builder import GraphBuilder
from ._jit.reads import TracerWarning
from ._jit.tracing import TracedFunction, TracingCheckError, trace

if TYPE_CHECKING:
    from ._files.model import Model, from_exported, load, save
    from ._jit.compiled import CompiledFunction, CompileWarning

__all__ = [
    "Block",
    "Code",
    "CompileWarning",
    "CompiledFunction",
    "Graph",
    "GraphBuilder",
    "InstructionTime",
    "InterpreterState",
    "Model",
    "Node",
    "StageLifetimes",
    "TracedFunction",
    "TracerWarning",
    "TracingCheckError",
    "Value",
    "compile",
    "create_python_op",
    "from_exported",
    "lifetimes",
    "load",
    "parse_expression",
    "parse_ir",
    "parse_ir_with_names",
    "passes",
    "save",
    "times",
    "trace",
]


def __dir__() -> list[str]:
    return _late.names(globals())


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"the text of a graph must be a str, not {type(text).__name__}")


def _load_operators(text: str) -> None:
    """Loads the plugins whose operators a graph's text names. Raises TypeError for no text."""
    _check_text(text)
    for name in {word for word in text.replace("(", " ").replace("[", " ").split() if "::" in word}:
        _ops.load_for(name)


@names_keywords
def parse_ir(
    text: str,
    *,
    source: str = "<graph>",
    tensors: Iterable[object] = (),
    untrusted: bool = False,
    allowed: Allowed = (),
) -> Graph:
    """The graph that a text says. `tensors` are what its <Tensor>s stand for, in order.

    An `untrusted` text comes from a stranger: nothing is loaded for it, its graph may call the
    operators in `allowed` and no others, and it runs in a state that has a budget
    (InterpreterState.set_budget). `allowed` has full names, with or without overload, or objects
    of opyard.ops.

    Raises ValueError with line, column and a caret for a text that is no graph.
    """
    if untrusted:
        _check_text(text)
    names = allowed_names("parse_ir", allowed)
    if not untrusted and names:
        raise ValueError("parse_ir: allowed=... says what an untrusted text may call")
    if not untrusted:
        _load_operators(text)
    return _graphs.parse_ir(text, source, list(tensors), False, untrusted, names)


@names_keywords
def parse_ir_with_names(
    text: str, *, source: str = "<graph>", tensors: Iterable[object] = ()
) -> tuple[Graph, dict[str, Value]]:
    """As parse_ir(), and what each name means at the end of the text."""
    _load_operators(text)
    return _graphs.parse_ir(text, source, list(tensors), True, False, [])


@names_keywords
def parse_expression(
    text: str,
    inputs: Mapping[str, str] | Sequence[str],
    *,
    name_space: str = "aten",
) -> Graph:
    """The graph of one expression, as `sum_to(grad * conj(other), self)`.

    `inputs` are its names with their types; names alone are Tensors. Functions are looked for in
    `name_space`, then in aten. Raises ValueError with line, column and a caret.
    """
    _ops.load_aten()
    if name_space != "aten":
        _ops.load_for(f"{name_space}::{text.partition('(')[0]}")
    typed = inputs.items() if isinstance(inputs, Mapping) else ((name, "Tensor") for name in inputs)
    return _graphs.parse_expression(text, list(typed), name_space)


@overload
def compile(graph: Graph) -> Code: ...
@overload
def compile(graph: Callable[..., Any]) -> "CompiledFunction": ...
@names_keywords
def compile(graph: Any) -> Any:
    """A graph as flat code, or a function that runs as graphs.

    A Graph gives a Code, which any number of states and threads can run. Raises ValueError for a
    graph that breaks a rule, an operator that does not exist, and types that do not fit. The graph
    must not be changed while its code is used.

    A function, or a Module, gives a function that does the same. At the first call with each kind
    of arguments it is run, and the operators that it calls are traced: Tensors by dtype, device,
    sizes, strides, and whether they require a gradient, other values as they are. From then on a
    graph of these runs; its backward is one function, with the bits of the function's own. What
    Modules hold, and the Tensors and values that the function finds by names outside, belong to the
    arguments. At most 64 kinds are cached.

        step = opyard.jit.compile(lambda x, w: (x @ w).relu().sum())

    A function that does what a graph does not hold runs as it is, with a CompileWarning: one that
    depends on values of tensors, returns what it was given, writes into it, changes what it finds
    outside, draws random numbers, or prints. `explain()` says for each kind what runs, and why.
    """
    if isinstance(graph, Graph):
        if not graph.is_restricted:  # a stranger's names load nothing
            _load_operators(str(graph))
        return Code(graph)
    if not callable(graph) or isinstance(graph, type):
        raise TypeError(
            f"compile() takes a Graph, a function or a Module, not {_described(graph)}; see "
            "parse_ir()"
        )
    from ._jit.compiled import CompiledFunction

    return CompiledFunction(graph)


def _described(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


# They need the library of gradients.
_LATE = {
    "CompileWarning": "opyard._jit.compiled",
    "CompiledFunction": "opyard._jit.compiled",
    "Model": "opyard._files.model",
    "from_exported": "opyard._files.model",
    "load": "opyard._files.model",
    "save": "opyard._files.model",
}


_late.find_names(globals(), _LATE)


class StageLifetimes(NamedTuple):
    """What lives when in one stage of a code."""

    peak: int
    """How many values that may own memory live at once, at most."""
    peak_at: int
    """The number of the first instruction if they do."""
    peak_values: list[Value]
    live_after: list[tuple[Value, Node]]
    """What lives on behind the stage, and the node of a later one, or the Return, that needs it."""
    unused_inputs: list[Value]
    """Never held."""
    unused_outputs: list[Value]
    """Of nodes; freed at once."""


@names_keywords
def lifetimes(code: Code) -> list[StageLifetimes]:
    """What lives when, a line each stage; code.report() is the same as text.

    InterpreterState.check_frees() has each step of a run checked against this plan.
    """
    if not isinstance(code, Code):
        raise TypeError(f"lifetimes() takes a Code, not {type(code).__name__}; see compile()")
    return [StageLifetimes(*stage) for stage in code._lifetimes()]


class InstructionTime(NamedTuple):
    """How often an instruction ran in a state that measures, and how long that took."""

    instruction: int
    count: int
    nanoseconds: int


@names_keywords
def times(state: InterpreterState) -> list[InstructionTime]:
    """The times of the instructions that ran since state.measure(); the slowest first."""
    if not isinstance(state, InterpreterState):
        raise TypeError(f"times() takes an InterpreterState, not {type(state).__name__}")
    every = [InstructionTime(number, *each) for number, each in enumerate(state._times())]
    return sorted((each for each in every if each.count), key=lambda each: -each.nanoseconds)


@names_keywords
def create_python_op(
    graph: Graph,
    function: Callable[..., object],
    inputs: Sequence[Value] = (),
    *,
    calling: str | None = None,
    scalars: Sequence[object] = (),
    outputs: int = 1,
) -> Node:
    """A node that calls a Python function, not yet in a block.

    `calling` has a letter for each argument of the function: "t" takes the next input, "s" the
    next scalar; without it the inputs come first. An object with a method `apply`, such as a
    class of `autograd.Function`'s kind, is called by that. The function gives a Tensor or a tuple
    of `outputs` Tensors. Raises ValueError if `calling` asks for other numbers than were given.
    """
    if calling is None:
        calling = "t" * len(inputs) + "s" * len(scalars)
    called = getattr(function, "apply", function)
    if not callable(called):
        raise TypeError(f"a PythonOp calls a function, not an object of {type(function).__name__}")
    name = getattr(function, "__name__", type(function).__name__)
    return _graphs.create_python_op(
        graph, called, name, list(inputs), calling, list(scalars), outputs
    )
