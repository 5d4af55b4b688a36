"""test_reset_parameters.py: layers fill their parameters in a method that may be called again.

Suspect _nn/init.py, and the file of the layer's family.
"""

import pytest

import opyard
from opyard import nn

pytestmark = pytest.mark.once

LAYERS = [
    lambda: nn.Linear(3, 2),
    lambda: nn.Bilinear(2, 3, 2),
    lambda: nn.Conv2d(2, 4, 3, groups=2),
    lambda: nn.ConvTranspose1d(2, 4, 3, bias=False),
    lambda: nn.Embedding(5, 3, padding_idx=1),
    lambda: nn.EmbeddingBag(5, 3),
    lambda: nn.LSTM(2, 3, 2, bidirectional=True, proj_size=2),
    lambda: nn.GRUCell(2, 3),
    lambda: nn.LayerNorm(3),
    lambda: nn.RMSNorm(3),
    lambda: nn.GroupNorm(1, 2),
    lambda: nn.BatchNorm2d(3),
    lambda: nn.InstanceNorm1d(2, affine=True, track_running_stats=True),
    lambda: nn.PReLU(2, 0.1),
]


def state_of(layer):
    return {name: tensor.tolist() for name, tensor in layer.state_dict().items()}


@pytest.mark.parametrize("made", LAYERS, ids=lambda made: type(made()).__name__)
def test_a_layer_begins_again_with_what_it_would_be_made_with(made):
    opyard.manual_seed(1)
    begun = made()
    layer = made()
    parameters = dict(layer.named_parameters())
    with opyard.no_grad():
        for each in layer.state_dict().values():
            each.fill_(7)
    opyard.manual_seed(1)
    layer.reset_parameters()
    assert state_of(layer) == state_of(begun)
    assert all(layer.get_parameter(name) is each for name, each in parameters.items())
    assert all(each.is_leaf and each.requires_grad for each in parameters.values())


def test_a_subclass_fills_them_in_its_own_way():
    class Halves(nn.Linear):
        def reset_parameters(self):
            nn.init.constant_(self.weight, 0.5)
            nn.init.zeros_(self.bias)

    assert state_of(Halves(1, 2)) == {"weight": [[0.5], [0.5]], "bias": [0.0, 0.0]}


def test_running_statistics_begin_again_without_the_weights():
    layer = nn.BatchNorm1d(2)
    layer(opyard.randn(4, 2))
    with opyard.no_grad():
        layer.weight.fill_(3)
    layer.reset_running_stats()
    assert state_of(layer) == {
        "weight": [3.0, 3.0],
        "bias": [0.0, 0.0],
        "running_mean": [0.0, 0.0],
        "running_var": [1.0, 1.0],
        "num_batches_tracked": 0,
    }
    nn.BatchNorm1d(2, track_running_stats=False).reset_running_stats()


def test_weights_of_a_recurrent_layer_are_listed_by_layer_and_direction():
    layer = nn.GRU(2, 3, 2, bidirectional=True, bias=False)
    names = {id(each): name for name, each in layer.named_parameters()}
    assert [[names[id(each)] for each in one] for one in layer.all_weights] == [
        ["weight_ih_l0", "weight_hh_l0"],
        ["weight_ih_l0_reverse", "weight_hh_l0_reverse"],
        ["weight_ih_l1", "weight_hh_l1"],
        ["weight_ih_l1_reverse", "weight_hh_l1_reverse"],
    ]
