"""Changes of a graph that its runs do not show, but for speed and memory: opyard.jit.passes.

    graph = opyard.jit.parse_ir(text)
    opyard.jit.passes.eliminate_dead_code(graph)      # True if it changed anything

A write is a barrier to all that may see it, and stages are kept. A node that is not needed does not
run: it raises no error either, and modes and overrides do not see its call. A code made before a
pass changed its graph is stale; see compile().
"""

from collections.abc import Iterator

from .. import _graphs
from .._core import ops as _ops


def _kinds(part: "_graphs.Graph | _graphs.Block") -> Iterator[str]:
    for node in part.nodes():
        yield node.kind
        for block in node.blocks():
            yield from _kinds(block)


def _run(graph: "_graphs.Graph", name: str) -> bool:
    if not isinstance(graph, _graphs.Graph):
        raise TypeError(f"{name}() takes a Graph, not {type(graph).__name__}; see parse_ir()")
    if not graph.is_restricted:  # a stranger's names load nothing
        for kind in set(_kinds(graph)):
            _ops.load_for(kind)
    return _graphs.run_pass(graph, name)


def eliminate_dead_code(graph: "_graphs.Graph") -> bool:
    """Takes away what no output, effect or visible write needs, also values of an If or Loop."""
    return _run(graph, "eliminate_dead_code")


def eliminate_common_subexpressions(graph: "_graphs.Graph") -> bool:
    """Computes once what was computed from the same inputs before, in the same stage."""
    return _run(graph, "eliminate_common_subexpressions")


def pool_constants(graph: "_graphs.Graph") -> bool:
    """Keeps one of equal constants."""
    return _run(graph, "pool_constants")


def propagate_constants(graph: "_graphs.Graph") -> bool:
    """Computes numbers and texts that are known, and takes the branch that is always taken.

    No tensor is computed: a constant one shares its memory with others, who may write it.
    """
    return _run(graph, "propagate_constants")


def lower_tuples(graph: "_graphs.Graph") -> bool:
    """Takes items of tuples from where the tuples were made."""
    return _run(graph, "lower_tuples")


def canonicalize(graph: "_graphs.Graph") -> bool:
    """Numbers values without a name in the order of the text."""
    return _run(graph, "canonicalize")
