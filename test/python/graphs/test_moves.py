"""Moves of nodes that keep what a graph computes: try_move_before() and try_move_after().

Suspect jit/src/passes/moves.cpp, then alias_builder.cpp beside it.
"""

import itertools
import random

import pytest

import opyard
from opyard import jit

pytestmark = pytest.mark.once


def graph_of(*lines):
    """Lines such as "a = aten::neg(%x)"; the last one gives the outputs."""
    *nodes, outputs = lines
    body = "".join(
        f"  %{node.split(' = ')[0]} : Tensor = {node.split(' = ')[1]}\n" for node in nodes
    )
    return jit.parse_ir(f"graph(%x : Tensor):\n{body}  return ({outputs})\n")


def order_of(graph):
    nodes = [node for node in graph.nodes() if node.kind != "prim::Constant"]
    return "".join(node.outputs()[0].debug_name if node.outputs() else "!" for node in nodes)


def node_of(graph, name):
    return next(n for n in graph.nodes() if n.outputs() and n.outputs()[0].debug_name == name)


CHAIN = ("a = aten::neg(%x)", "b = aten::relu(%a)", "c = aten::abs(%x)", "d = aten::exp(%c)")


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        # Nothing depends on what is passed.
        ("c before a", "cabd"),
        ("b after c", "acbd"),
        # Forwards, to the far side: what needs the node goes along.
        ("a after d", "cdab"),
        # Forwards, to the near side: what needs it goes past the other one (SplitsDeps).
        ("a before d", "cadb"),
        # Backwards, to the far side: what it needs goes along.
        ("d before a", "cdab"),
        # Backwards, to the near side: what it needs goes past the other one (SplitsDeps).
        ("d after a", "cadb"),
        ("a before a", "abcd"),
        # The order is right already.
        ("a before b", "abcd"),
        ("b after a", "abcd"),
    ],
)
def test_H18_a_node_is_next_to_the_other_one_with_what_goes_along(move, expected):
    graph = graph_of(*CHAIN, "%b, %d")
    name, side, other = move.split()
    assert getattr(node_of(graph, name), f"try_move_{side}")(node_of(graph, other))
    graph.lint()
    assert order_of(graph) == expected


@pytest.mark.parametrize("move", ["b before a", "a after b", "d before c", "d after b"])
def test_H18_a_move_that_would_change_what_is_computed_is_refused(move):
    lines = (*CHAIN[:2], "c = aten::abs(%b)", "d = aten::exp(%c)")
    graph = graph_of(*(CHAIN if move != "d after b" else lines), "%b, %d")
    if move == "d after b":
        move = "a after d"  # b and c go along, and d needs them
    before = order_of(graph)
    name, side, other = move.split()
    assert not getattr(node_of(graph, name), f"try_move_{side}")(node_of(graph, other))
    assert order_of(graph) == before


WRITES = [
    # A read and a write of one memory, through a view.
    (
        ("a = aten::neg(%x)", "v = aten::t(%a)", "b = aten::relu(%a)", "w = aten::zero_(%v)"),
        "b",
        "w",
    ),
    # Two writes of one memory.
    (("a = aten::neg(%x)", "b = aten::relu_(%a)", "c = aten::zero_(%a)"), "b", "c"),
    # Memory of the caller, which inputs may share.
    (("a = aten::relu(%x)", "b = aten::zero_(%x)"), "a", "b"),
]


@pytest.mark.parametrize(("lines", "first", "second"), WRITES)
def test_H18_reads_and_writes_of_one_memory_keep_their_order(lines, first, second):
    graph = graph_of(*lines, f"%{first}, %{second}")
    assert not node_of(graph, first).try_move_after(node_of(graph, second))
    assert not node_of(graph, second).try_move_before(node_of(graph, first))


def test_H18_writes_of_different_memory_may_change_places():
    graph = graph_of(
        "a = aten::neg(%x)",
        "b = aten::abs(%x)",
        "c = aten::relu_(%a)",
        "d = aten::zero_(%b)",
        "%c, %d",
    )
    assert node_of(graph, "c").try_move_after(node_of(graph, "d"))
    assert order_of(graph) == "abdc"


def test_H18_effects_and_blocks_keep_their_order():
    graph = jit.parse_ir(
        "graph(%x : Tensor, %flag : bool):\n"
        "  %p : float = prim::Constant[value=0.5]()\n"
        "  %train : bool = prim::Constant[value=1]()\n"
        "  %a : Tensor = aten::neg(%x)\n"
        "  %r : Tensor = aten::dropout(%x, %p, %train)\n"
        "  %s : Tensor = aten::dropout(%x, %p, %train)\n"
        "  %i : Tensor = prim::If(%flag)\n"
        "    block0():\n"
        "      %j : Tensor = aten::relu_(%a)\n"
        "      -> (%j)\n"
        "    block1():\n"
        "      -> (%s)\n"
        "  %b : Tensor = aten::abs(%a)\n"
        "  %c : Tensor = aten::exp(%x)\n"
        "  return (%r, %s, %i, %b, %c)\n"
    )
    assert not node_of(graph, "r").try_move_after(node_of(graph, "s")), "draws of random numbers"
    assert not node_of(graph, "b").try_move_before(node_of(graph, "i")), "a block writes it"
    assert not node_of(graph, "s").try_move_after(node_of(graph, "i")), "a block gives it"
    assert node_of(graph, "c").try_move_before(node_of(graph, "i"))
    with pytest.raises(ValueError, match="a node moves within its block"):
        node_of(graph, "c").try_move_before(node_of(graph, "i").blocks()[0].nodes()[0])
    graph.lint()


def test_H18_the_end_of_a_block_and_stages_are_borders():
    graph = graph_of(*CHAIN, "%b, %d")
    assert not node_of(graph, "c").try_move_before(graph.return_node())
    assert node_of(graph, "d").try_move_before(graph.return_node())
    graph = graph_of("a = aten::neg(%x)", "b = aten::relu(%x)", "%b")
    jit.passes.differentiate(graph)
    first, *_, last = graph.nodes()
    assert first.stage < last.stage
    assert not first.try_move_after(last)
    assert not last.try_move_before(first)


def random_graph(seed):
    draw = random.Random(seed)
    names, lines = ["x"], []
    for number in range(8):
        kind = draw.choice(["neg", "relu", "abs", "t", "relu_", "add_", "mul"])
        name, inputs = f"v{number}", [f"%{draw.choice(names)}"]
        if kind in ("add_", "mul"):
            inputs.append(f"%{draw.choice(names)}")
        lines.append(
            f"  %{name} : Tensor = aten::{kind}({', '.join(inputs)}"
            + (", %one)\n" if kind == "add_" else ")\n")
        )
        names.append(name)
    head = "graph(%x : Tensor):\n  %one : int = prim::Constant[value=1]()\n"
    return head + "".join(lines) + f"  return ({', '.join(f'%{name}' for name in names[1:])})\n"


def run(text_or_graph):
    x = opyard.tensor([[1.0, -2.0], [3.0, -4.0]])
    results = jit.compile(text_or_graph)(x)
    return [one.tolist() for one in results], x.tolist()


def moves_of(seed):
    """How many moves of a random graph were made; each leaves its results as they were."""
    text = random_graph(seed)
    expected = run(jit.parse_ir(text))
    draw = random.Random(seed)
    moved = 0
    count = len(jit.parse_ir(text).nodes())
    for first, second in draw.sample(list(itertools.permutations(range(1, count), 2)), 20):
        for side in ("before", "after"):
            graph = jit.parse_ir(text)
            nodes = graph.nodes()
            names = [node.outputs()[0].debug_name for node in nodes]
            told = getattr(nodes[first], f"try_move_{side}")(nodes[second])
            graph.lint()
            now = [node.outputs()[0].debug_name for node in graph.nodes()]
            assert told or now == names
            if told:
                at, other = now.index(names[first]), now.index(names[second])
                assert at == other + (1 if side == "after" else -1)
                assert run(graph) == expected
                moved += now != names
    return moved


def test_H18_whatever_is_moved_the_graph_gives_the_same():
    assert sum(map(moves_of, range(40))) > 200
