"""test_model_dtypes.py: models whose floats are converted to another dtype.

Suspect models/src/model/convert.cpp, then models/python/opyard/_files/model.py.
"""

import pytest
from exported_model import MODEL

import opyard
from opyard import jit

pytestmark = pytest.mark.once
FLOAT, DOUBLE = opyard.float32, opyard.float64
TOLERANCES = {opyard.float64: 1e-6, opyard.float16: 5e-3, opyard.bfloat16: 5e-2}


def loaded(tmp_path, text, *tensors):
    path = tmp_path / "model.safetensors"
    jit.save(jit.parse_ir(text, tensors=list(tensors)), path)
    return jit.load(path)


def run(model):
    """Its first output, for its example."""
    args, kwargs = model.example_inputs
    return model(*args, **kwargs)["scores"]


def largest(tensor):
    return abs(tensor.double()).max().item()


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_an_exported_model_computes_in_another_dtype(dtype):
    model, other = jit.load(MODEL), jit.load(MODEL)
    wanted = run(model)
    assert other.to(dtype) is other
    found = run(other)
    assert found.dtype == dtype
    assert largest(found.double() - wanted.double()) < TOLERANCES[dtype]
    assert {one.dtype for one in other.state_dict().values()} == {dtype}
    assert list(other.state_dict()) == list(model.state_dict())
    args, kwargs = model.example_inputs
    with pytest.raises(TypeError, match="float32"):
        other(*args, **kwargs)
    again = run(other.to(FLOAT))
    assert again.dtype == FLOAT and largest(again - wanted) < TOLERANCES[dtype]
    assert run(model).tolist() == wanted.tolist()


def test_a_converted_model_trains():
    model = jit.load(MODEL)
    for tensor in model.parameters()[:2]:
        tensor.requires_grad_()
    before = model.parameters()
    model.to(DOUBLE)
    assert [one.requires_grad for one in model.parameters()] == [True, True, False, False]
    assert all(one.is_leaf and one.dtype == DOUBLE for one in model.parameters())
    run(model).sum().backward()
    assert [one.grad is not None for one in model.parameters()] == [True, True, False, False]
    assert all(one.grad is None for one in before)


NUMBERS = """graph(%x : Tensor):
  %w : Tensor = prim::Constant[value=<Tensor>]()
  %six : int = prim::Constant[value=6]()
  %five : int = prim::Constant[value=5]()
  %n : NoneType = prim::Constant[value=None]()
  %zero : int = prim::Constant[value=0]()
  %h : Tensor = aten::mul(%x, %w)
  %shape : int[] = prim::ListConstruct(%six)
  %z : Tensor = aten::zeros(%shape, %six, %n, %n, %n)
  %s : Tensor = aten::softmax(%h, %zero, %five)
  return (%h, %z, %s)
"""


def test_dtypes_that_operators_are_told_are_those_of_the_weights(tmp_path):
    weight = opyard.tensor([1.0, 2.0, 3.0])
    model = loaded(tmp_path, NUMBERS, weight).to(DOUBLE)
    product, zeros, share = model(weight.double())
    assert (product.dtype, zeros.dtype, share.dtype) == (DOUBLE, DOUBLE, opyard.float16)
    assert product.tolist() == [1.0, 4.0, 9.0]
    assert zeros.shape == (6,)  # the same number, and no dtype


BRANCH = """graph(%x : Float(2), %f : bool):
  %y : Tensor = prim::If(%f)
    block0():
      %w : Float(2) = prim::Constant[value=<Tensor>]()
      %a : Float(2) = aten::mul(%x, %w)
      -> (%a)
    block1():
      -> (%x)
  return (%y)
"""


def test_tensors_and_types_in_blocks_are_converted(tmp_path):
    weight = opyard.tensor([2.0, 3.0])
    model = loaded(tmp_path, BRANCH, weight)
    before = str(model.graph)
    kept = model.graph
    model.to(DOUBLE)
    assert "Double(2" in str(model.graph) and "Float(" not in str(model.graph)
    assert model(weight.double(), True).tolist() == [4.0, 9.0]
    assert str(kept) == before


def test_a_model_without_floats_takes_the_dtype_at_its_inputs(tmp_path):
    text = """graph(%x : Float(2), %i : Long(2)):
  %y : Tensor = aten::add(%x, %i)
  return (%y)
"""
    model = loaded(tmp_path, text).to(DOUBLE)
    found = model(opyard.tensor([1.0, 2.0]).double(), opyard.tensor([3, 4]))
    assert (found.dtype, found.tolist()) == (DOUBLE, [4.0, 6.0])


def test_a_model_keeps_how_it_was_prepared(tmp_path):
    weight = opyard.tensor([1.0, 2.0, 3.0])
    model = loaded(tmp_path, NUMBERS, weight).prepare(without=["join_equal"])
    assert model.to(DOUBLE).explain().count("join_equal: left out") == 1


WRONG = [
    (lambda: opyard.int64, ValueError, "become float64, float32, float16 or bfloat16, not opyard"),
    (lambda: opyard.complex64, ValueError, "not opyard.complex64"),
    (lambda: "cuda", TypeError, "dtype must be a dtype, as opyard.float64, not 'cuda'"),
    (lambda: None, TypeError, "dtype must be a dtype"),
]


@pytest.mark.parametrize(("dtype", "kind", "text"), WRONG)
def test_what_is_no_dtype_of_floats_is_refused(dtype, kind, text):
    model = jit.load(MODEL)
    with pytest.raises(kind, match=text):
        model.to(dtype())
    assert {one.dtype for one in model.state_dict().values()} == {FLOAT}


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch about itself
def test_a_network_computes_what_pytorch_computes_in_the_dtype():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
            self.norm = torch.nn.BatchNorm1d(5)

        def forward(self, x, mask):
            scale = torch.full((1,), 0.5, dtype=torch.float32)
            return self.norm(self.layer(x, src_mask=mask)) * scale

    torch.manual_seed(0)
    module = Network().eval()
    mask = torch.nn.Transformer.generate_square_subsequent_mask(5)
    inputs = (torch.randn(3, 5, 8), mask)
    with torch.no_grad():
        program = torch.export.export(module, inputs)
    model = jit.from_exported(program).to(DOUBLE)
    with torch.no_grad():
        wanted = module.double()(*(one.double() for one in inputs))
    found = model(*(one.double() for one in inputs))
    assert found.dtype == torch.float64
    assert (found - wanted).abs().max().item() < 1e-10
