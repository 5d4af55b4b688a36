"""The mode that a graph was exported in: training or evaluation, as its operators say."""

from collections.abc import Iterator

from .. import _graphs
from .._core import ops as _ops

# What operators call the argument that says whether they train.
_ARGUMENTS = ("train", "training", "use_input_stats")


def _nodes(nodes: "list[_graphs.Node]") -> "Iterator[_graphs.Node]":
    for node in nodes:
        yield node
        for block in node.blocks():
            yield from _nodes(block.nodes())


def _flag_of(node: "_graphs.Node") -> "bool | None":
    """Whether an operator trains; None for one that computes the same in both modes."""
    if "::" not in node.kind or node.kind.startswith("prim::"):
        return None
    if node.kind.endswith("_no_training"):
        return False
    overload = _ops.overload_of(f"{node.kind}.{node.overload}" if node.overload else node.kind)
    for argument, value in zip(overload._schema.arguments, node.inputs(), strict=False):
        if argument.name in _ARGUMENTS:
            constant = value.node()
            if constant.kind == "prim::Constant" and constant.has_attribute("value"):
                return bool(constant.i("value"))
    return None


def by_mode(graph: "_graphs.Graph") -> dict[bool, list[str]]:
    """The operators that train, and those that would in the other mode, each kind once."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for node in _nodes(graph.nodes()):
        flag = _flag_of(node)
        if flag is not None and node.kind not in found[flag]:
            found[flag].append(node.kind)
    return found
