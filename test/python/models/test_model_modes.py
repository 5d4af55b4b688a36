"""test_model_modes.py: models say in which mode they were exported, and name their parameters.

Suspect models/python/opyard/_files/modes.py and model.py.
"""

import pytest
from exported_model import MODEL

import opyard
from opyard import jit

pytestmark = pytest.mark.once


def model_of(tmp_path, *lines):
    body = "".join(f"  {line}\n" for line in lines)
    graph = jit.parse_ir(f"graph(%x : Tensor):\n{body}  return (%y)")
    jit.save(graph, tmp_path / "model.safetensors")
    return jit.load(tmp_path / "model.safetensors")


FLAG = "%f : bool = prim::Constant[value={}]()"
DROPOUT = ("%p : float = prim::Constant[value=0.5]()", "%y : Tensor = aten::dropout(%x, %p, %f)")


def test_a_model_without_modes_is_in_both(tmp_path):
    model = model_of(tmp_path, "%y : Tensor = aten::relu(%x)")
    assert model.training is None
    assert model.train() is model and model.eval() is model and model.train(False) is model


def test_a_model_refuses_the_mode_that_it_was_not_exported_in(tmp_path):
    trains = model_of(tmp_path, FLAG.format(1), *DROPOUT)
    assert trains.training is True and trains.train() is trains
    with pytest.raises(RuntimeError) as caught:
        trains.eval()
    assert str(caught.value) == (
        "eval: this model was exported in training mode, in which its graph calls aten::dropout; "
        "export it anew after eval() of the module"
    )
    evaluates = model_of(tmp_path, FLAG.format(0), *DROPOUT)
    assert evaluates.training is False and evaluates.eval() is evaluates
    with pytest.raises(RuntimeError, match="^train: this model was exported in evaluation mode, "):
        evaluates.train()
    with pytest.raises(TypeError, match="^train: mode must be True or False, not 1"):
        trains.train(1)


def test_a_flag_in_a_block_is_seen(tmp_path):
    lines = [
        FLAG.format(1),
        DROPOUT[0],
        "%y : Tensor = prim::If(%f)",
        "  block0():",
        "    %a : Tensor = aten::dropout(%x, %p, %f)",
        "    -> (%a)",
        "  block1():",
        "    -> (%x)",
    ]
    assert model_of(tmp_path, *lines).training is True


def test_parameters_are_named_once():
    model = jit.load(MODEL)
    named = dict(model.named_parameters())
    state = model.state_dict()
    assert list(named) == ["hidden.weight", "hidden.bias", "out.weight", "out.bias"]
    for (name, tensor), parameter in zip(named.items(), model.parameters(), strict=True):
        assert tensor is parameter
        tensor.detach().zero_()
        assert not state[name].any().item()
    opyard.optim.SGD(model.parameters())


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch about itself
@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("mode", [False, True])
def test_what_pytorch_exports_is_in_its_mode(mode, decomposed):
    torch = pytest.importorskip("torch")
    layers = torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Dropout(0.3)
    module = torch.nn.Sequential(*layers).train(mode)
    program = torch.export.export(module, (torch.ones(2, 1, 5, 5),))
    model = jit.from_exported(program.run_decompositions() if decomposed else program)
    assert model.training is mode
    wanted = [name for name, _ in module.named_parameters()]
    assert [name for name, _ in model.named_parameters()] == wanted
