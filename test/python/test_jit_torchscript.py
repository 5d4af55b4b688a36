"""H10, H13: what TorchScript prints is read and run unchanged, and gives what PyTorch gave.

The texts and results are in test/graphs/; suspect jit/src/text/ for one that is not read, and
jit/src/ir/builtins*.cpp for a function that is not there.
"""

import json
from pathlib import Path

import pytest

import opyard
from opyard import jit

numpy = pytest.importorskip("numpy")

CORPUS = json.loads((Path(__file__).parent.parent / "graphs/torchscript.json").read_text())


def inputs():
    return [
        (numpy.arange(12, dtype="float32").reshape(3, 4) - 5) / 4,
        (numpy.arange(16, dtype="float32").reshape(4, 4) - 7) / 8,
        numpy.array([0.5, -1, 2, 0.25], dtype="float32"),
    ]


def compare(given, wanted):
    if isinstance(wanted, dict):
        array = given.numpy()
        assert (array.dtype.name, list(array.shape)) == (wanted["dtype"], wanted["sizes"])
        values = numpy.array(wanted["values"], dtype=array.dtype)
        # Sums and exponentials are not rounded alike.
        numpy.testing.assert_allclose(array.reshape(-1), values, rtol=2e-6, atol=1e-6)
    elif isinstance(wanted, list):
        assert len(given) == len(wanted)
        for one, other in zip(given, wanted, strict=True):
            compare(one, other)
    else:
        assert type(given) is type(wanted)
        assert given == wanted


@pytest.mark.parametrize("name", CORPUS)
def test_H10_H13_texts_that_pytorch_printed_run_unchanged(name):
    graph = jit.parse_ir("\n".join(CORPUS[name]["text"]) + "\n")
    compare(graph(*map(opyard.from_numpy, inputs())), CORPUS[name]["result"])
    assert str(jit.parse_ir(str(graph))) == str(graph)
    compare(graph.copy()(*map(opyard.from_numpy, inputs())), CORPUS[name]["result"])


FROZEN = """graph(%self : __torch__.torch.nn.modules.container.___torch_mangle_4.Net,
      %x.1 : Tensor):
  %2 : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x.1, %x.1, %2)
  return (%y)
"""
NOT_FROZEN = """graph(%self : __torch__.Net,
      %x.1 : Tensor):
  %w : Tensor = prim::GetAttr[name="weight"](%self)
  %y : Tensor = aten::mul(%x.1, %w)
  return (%y)
"""


def test_H13_a_module_that_nothing_uses_is_passed_as_none():
    graph = jit.parse_ir(FROZEN)
    assert graph(None, opyard.tensor([1.0, 2.0])).tolist() == [2, 4]
    assert str(jit.parse_ir(str(graph))) == str(graph)


def test_H14_a_module_that_is_used_is_refused_and_says_what_to_do():
    with pytest.raises(ValueError, match=r"%w = prim::GetAttr.*:3:3.*torch\.jit\.freeze"):
        jit.compile(jit.parse_ir(NOT_FROZEN))
