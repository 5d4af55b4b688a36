"""The scope of a node: which modules of a program call it. Suspect opyard/_jit/scopes.py."""

import pytest
from built import TESTS

import opyard
from opyard import jit, nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.ReLU(), nn.Tanh())

    def forward(self, x):
        return self.layers(x) + 1


class Net(nn.Module):
    def __init__(self, hooked):
        super().__init__()
        self.block = Block()
        self.deep = nn.ModuleList([nn.Sigmoid()])
        if hooked:
            for module in self.modules():
                module.register_forward_hook(lambda module, args, output: None)

    def forward(self, x):
        return opyard.ops.aten.exp(self.deep[0](self.block(x)))


def scopes(graph):
    return {node.kind: node.scope for node in graph.nodes() if node.kind.startswith("aten::")}


@pytest.mark.parametrize("hooked", [False, True])
def test_H3_nodes_of_a_traced_module_have_the_modules_that_call_them_as_scope(hooked):
    net = Net(hooked)
    graph = jit.trace(lambda x: net(x).sum(), opyard.ones(1, 2)).graph
    assert scopes(graph) == {
        "aten::relu": "Net/block/layers/0",
        "aten::tanh": "Net/block/layers/1",
        "aten::add": "Net/block",
        "aten::sigmoid": "Net/deep/0",
        "aten::exp": "Net",
        "aten::sum": "",
    }
    text = str(graph)
    assert "scope: Net/block/layers/0" in text
    assert scopes(jit.parse_ir(text)) == scopes(graph)


def test_H3_a_module_that_is_no_part_of_its_caller_is_known_by_its_class():
    class Calls(nn.Module):
        def __init__(self, others):
            super().__init__()
            self.others = (others,)

        def forward(self, x):
            return self.others[0](x)

    graph = jit.trace(Calls(nn.ReLU()), opyard.ones(1, 2)).graph
    assert scopes(graph) == {"aten::relu": "Calls/ReLU"}


def test_H3_an_exported_model_keeps_the_modules_that_it_came_from():
    """The file says that its calls were made in a module of the class Twice."""
    path = TESTS / "models" / "twice.pt2"
    graph = jit.load(path).graph
    assert set(scopes(graph).values()) == {"Twice"}
