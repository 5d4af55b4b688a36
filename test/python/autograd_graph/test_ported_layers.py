"""test_ported_layers.py: ways to call and to build layers that ported programs use.

Suspect _nn/calls.py, containers.py and module.py.
"""

import pytest

import opyard
from opyard import nn

pytestmark = pytest.mark.once


def test_arguments_may_have_the_names_that_pytorch_gives_them():
    x, y = opyard.randn(2, 3), opyard.tensor([0, 2])
    loss = nn.CrossEntropyLoss()
    assert loss(input=x, target=y).item() == loss(x, y).item()
    layer = nn.Linear(3, 2)
    assert layer(input=x).tolist() == layer(x).tolist()
    table = nn.Embedding(3, 2)
    assert table(input=y).tolist() == table(y).tolist()
    both = nn.Bilinear(3, 3, 1)
    assert both(input1=x, input2=x).tolist() == both(x, x).tolist()
    assert nn.PoissonNLLLoss()(log_input=x, target=x).item() == nn.PoissonNLLLoss()(x, x).item()


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1,), {"input": 2}), ((), {"x": 1, "input": 2}), ((), {"inputs": 1})]
)
def test_a_name_that_does_not_fit_is_refused(args, kwargs):
    x = opyard.ones(2)
    with pytest.raises(TypeError, match="argument"):
        nn.ReLU()(*(x for _ in args), **{name: x for name in kwargs})


def test_a_slice_of_a_sequential_keeps_the_names_of_its_state():
    layers = nn.Sequential(*(nn.Linear(1, 1, bias=False) for _ in range(4)))
    part = layers[1:3]
    assert list(part.state_dict()) == ["1.weight", "2.weight"]
    part.append(nn.Linear(1, 1, bias=False))
    assert list(part.state_dict()) == ["1.weight", "2.weight", "3.weight"]
    assert part[0] is layers[1] and list(layers[-1:].state_dict()) == ["3.weight"]


def test_lines_of_extra_repr_are_shown_below_each_other():
    class Two(nn.Module):
        def extra_repr(self):
            return "a=1\nb=2"

    assert repr(Two()) == "Two(\n  a=1\n  b=2\n)"
    assert repr(nn.Sequential(Two())) == "Sequential(\n  (0): Two(\n    a=1\n    b=2\n  )\n)"


def test_a_module_becomes_one_of_halves_and_back():
    layer = nn.Linear(2, 1)
    assert layer.half().weight.dtype == opyard.float16
    assert layer.bfloat16().weight.dtype == opyard.bfloat16
    assert layer.float().cpu().weight.dtype == opyard.float32
