"""Pullbacks: functions in graphs that a later stage runs backward from.

    node = graph.append_node(jit.create_python_op(graph, function, [x]))
    pullback = autograd.add_pullback(node)                         # its last output
    graph.advance_stage()
    gradient = graph.add_input()
    eval = graph.append_node(autograd.create_eval(graph, [gradient], pullback))

What flows through such a node has no history of outside the graph, and leaves it without one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import _gradients
from .._core.keywords import names_keywords

if TYPE_CHECKING:
    from .._graphs import Graph, Node, Value


@names_keywords
def add_pullback(node: "Node", requires_grad: "Sequence[bool] | None" = None) -> "Value":
    """Gives a PythonOp, a CppOp or a prim::Eval a pullback as its last output, and returns that.

    The pullback is made by runs if something uses it. `requires_grad` says of each tensor that the
    node takes whether a gradient is wanted for it; without it one is wanted for all. Raises
    ValueError for a node that has no function of its own, or has a pullback already.
    """
    from .._graphs import Node

    if not isinstance(node, Node):
        raise TypeError(f"add_pullback: a Node of a graph is wanted, not {type(node).__name__}")
    wanted = None if requires_grad is None else [bool(one) for one in requires_grad]
    return _gradients.add_pullback(node, wanted)


@names_keywords
def create_eval(graph: "Graph", gradients: "Sequence[Value]", pullback: "Value") -> "Node":
    """A node that runs backward from a pullback, not yet in a block.

    It takes a gradient for each output of the call that the pullback is of, and gives one for each
    input that requires a gradient. It can have a pullback itself, for gradients of gradients.
    """
    from .._graphs import Graph, Value

    if not isinstance(graph, Graph):
        raise TypeError(f"create_eval: a Graph is wanted, not {type(graph).__name__}")
    values = [*gradients, pullback]
    for value in values:
        if not isinstance(value, Value):
            raise TypeError(
                "create_eval: gradients and the pullback must be Values, not "
                f"{type(value).__name__}"
            )
    return _gradients.create_eval(graph, values[:-1], pullback)
