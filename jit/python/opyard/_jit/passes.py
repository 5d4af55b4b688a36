"""Graph passes: optimizations that a run does not show: opyard.jit.passes.

    graph = opyard.jit.parse_ir(text)
    opyard.jit.passes.eliminate_dead_code(graph)      # True if it changed anything

A write is a barrier to all that may see it, and stages stay. A node that is not needed does not
run: it raises no error either, and modes and overrides do not see its call. A code made before a
pass changed its graph is stale; see compile().
"""

from collections.abc import Iterator, Sequence

from .. import _graphs
from .._core import late as _late
from .._core import ops as _ops
from .._core.keywords import names_keywords

__all__ = [
    "canonicalize",
    "differentiate",
    "eliminate_common_subexpressions",
    "eliminate_dead_code",
    "find_matches",
    "fuse",
    "inline_forks",
    "lower_tuples",
    "peephole",
    "pool_constants",
    "propagate_constants",
    "propagate_shapes",
    "specialize_shapes",
    "unroll_loops",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())


def _kinds(part: "_graphs.Graph | _graphs.Block") -> Iterator[str]:
    for node in part.nodes():
        yield node.kind
        for block in node.blocks():
            yield from _kinds(block)


def _load_operators(graph: "_graphs.Graph", name: str) -> None:
    if not isinstance(graph, _graphs.Graph):
        raise TypeError(f"{name}() takes a Graph, not {type(graph).__name__}; see parse_ir()")
    if not graph.is_restricted:  # a stranger's names load nothing
        for kind in set(_kinds(graph)):
            _ops.load_for(kind)


def _run(graph: "_graphs.Graph", name: str) -> bool:
    _load_operators(graph, name)
    return _graphs.run_pass(graph, name)


@names_keywords
def eliminate_dead_code(graph: "_graphs.Graph") -> bool:
    """Takes away what no output, effect or visible write needs, also values of an If or Loop."""
    return _run(graph, "eliminate_dead_code")


@names_keywords
def eliminate_common_subexpressions(graph: "_graphs.Graph") -> bool:
    """Computes once what was computed from the same inputs before, in the same stage."""
    return _run(graph, "eliminate_common_subexpressions")


@names_keywords
def pool_constants(graph: "_graphs.Graph") -> bool:
    """Keeps one of equal constants."""
    return _run(graph, "pool_constants")


@names_keywords
def propagate_constants(graph: "_graphs.Graph") -> bool:
    """Computes numbers and texts that are known, and takes the branch that is always taken.

    No tensor is computed: a constant one shares its memory with others, who may write it.
    """
    return _run(graph, "propagate_constants")


@names_keywords
def peephole(graph: "_graphs.Graph") -> bool:
    """Takes what is there already instead of a node that gives the same value.

    Sums with 0 and products with 1 of ints, casts to the same type, items and lengths of lists that
    were just made, values that both branches give or that no trip of a loop changes, and the like.
    """
    return _run(graph, "peephole")


@names_keywords
def unroll_loops(graph: "_graphs.Graph") -> bool:
    """Writes out loops of up to 64 trips whose number is known, of at most 1,024 nodes each.

    Small loops of an int of trips that is not known make eight at a time.
    """
    return _run(graph, "unroll_loops")


@names_keywords
def inline_forks(graph: "_graphs.Graph") -> bool:
    """Runs the graph of a fork in its place if it is waited for in the same block and stage."""
    return _run(graph, "inline_forks")


@names_keywords
def propagate_shapes(graph: "_graphs.Graph") -> bool:
    """Gives tensors the types that operators find for them without memory, on meta.

    It starts from the types of the inputs and the constants. What is not found keeps its type.
    Sizes in types say what an example looks like: no pass but specialize_shapes() draws conclusions
    from them.
    """
    return _run(graph, "propagate_shapes")


@names_keywords
def specialize_shapes(graph: "_graphs.Graph") -> bool:
    """Answers what nodes ask of the sizes of inputs by the types of these.

    For a graph that will run with inputs of the types that it names alone; with others it gives
    wrong answers. The products of gradients are made in the order in memory that types say.
    """
    return _run(graph, "specialize_shapes")


@names_keywords
def lower_tuples(graph: "_graphs.Graph") -> bool:
    """Takes items of tuples from where the tuples were made."""
    return _run(graph, "lower_tuples")


@names_keywords
def canonicalize(graph: "_graphs.Graph") -> bool:
    """Numbers values without a name in the order of the text."""
    return _run(graph, "canonicalize")


@names_keywords
def fuse(graph: "_graphs.Graph") -> int:
    """Makes operators in a row that compute element by element into groups; gives how many it made.

    A group is one prim::FusionGroup, whose graph has its operators. It computes them block by
    block, so that what is between them does not go through memory, with the same bits; the last one
    may be a reduction (sum, mean, amax, amin, max or min of everything) or cat. It does so for
    float32, float64, int64 and bool tensors on the CPU, in any order in memory, that broadcast and
    need no promotion; else, and while gradients are enabled, or a mode, an override or a profile
    looks on, it calls the operators.

    Nothing moves over a write or any other node. Other passes do not look into groups, and
    differentiate() refuses them: fuse last.
    """
    _load_operators(graph, "fuse")
    return _graphs.fuse(graph)


@names_keywords
def differentiate(
    graph: "_graphs.Graph", wrt: "Sequence[_graphs.Value | str] | None" = None
) -> None:
    """Appends the next stage: it takes the gradients of the last stage's outputs, and gives those
    of `wrt`: inputs of the graph, or their names; without it all Tensors that stage 0 takes.

    The formulas are those by which calls are taped, so the stage gives the bits of backward().
    What it needs of earlier stages stays in registers. Applied again it differentiates that stage.
    Gradients get the sizes and the dtype of their tensors. Dtypes are known from the types of
    values, as trace() gives them; one that is not is taken to be that of the others in its call.

    A function of Python or C++, which has no formula, gives a pullback from now on, and the stage
    has a prim::Eval that runs backward from it: see autograd.add_pullback(). Blocks, and operators
    whose derivative is code, become such functions. What flows through them has no history of
    outside the graph then.

    Raises ValueError for a `wrt` that is no Tensor among the inputs, or that no output is computed
    from, and NotImplementedError, naming the node, for tuples, operators without a derivative, and
    a graph that writes in place. The graph is as it was then.
    """
    if not isinstance(graph, _graphs.Graph):
        raise TypeError(
            f"differentiate() takes a Graph, not {type(graph).__name__}; see parse_ir()"
        )
    values: list[_graphs.Value] = []
    if wrt is None:
        values = [one for one in graph.inputs() if one.stage == 0 and _is_tensor(one)]
    for one in wrt or ():
        value = graph.find_value(one) if isinstance(one, str) else one
        if not isinstance(value, _graphs.Value):
            raise ValueError(f"differentiate(): {one!r} is no value of the graph")
        values.append(value)
    _ops.load_aten()
    kinds = set(_kinds(graph))
    for kind in kinds:
        _ops.load_for(kind)
    from .. import _gradients

    _gradients.join_graphs()
    _graphs.differentiate(graph, values)


def _is_tensor(value: "_graphs.Value") -> bool:
    name = value.type.split("(")[0].removesuffix("?")
    return name == "Tensor" or (name[:1].isupper() and "[]" not in value.type and "(" in value.type)


@names_keywords
def find_matches(
    pattern: "_graphs.Graph", graph: "_graphs.Graph"
) -> "list[dict[str, _graphs.Value]]":
    """Where a small graph is in a large one: for each place, its values by the pattern's names.

    An input of the pattern matches any value whose type fits, a node one of the same kind
    with equal attributes, an overload counts if the pattern names it. What a node inside of the
    pattern gives is used by the match alone, unless the pattern returns it. No node is in two
    matches. Nothing is changed.
    """
    for given, name in ((pattern, "pattern"), (graph, "graph")):
        if not isinstance(given, _graphs.Graph):
            raise TypeError(
                f"find_matches() takes a Graph as {name}, not {type(given).__name__}; "
                "see parse_ir()"
            )
    return _graphs.find_matches(pattern, graph)
