"""test_nn_refusals.py: what layers refuse, in which words, and that PyTorch refuses it, too.

nn_refusals.txt has the layers, the calls and the messages. Containers are here, too. Suspect the
file of the layer in opyard/_nn.
"""

import inspect

import pytest

import opyard
from opyard import nn

np = pytest.importorskip("numpy")

from nn_cases import HERE, Case, Opyard, Torch  # noqa: E402

pytestmark = pytest.mark.once


def rows():
    lines = (HERE / "nn_refusals.txt").read_text().splitlines()
    for line in lines:
        if line and line[0] != "#":
            call, _, message = line.removeprefix("!").rpartition(" | ")
            yield Case(call), message, line[0] == "!"


ROWS = list(rows())


@pytest.mark.parametrize(("case", "message"), [row[:2] for row in ROWS], ids=repr)
def test_a_refusal_says_what_came_and_what_is_accepted(case, message):
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        case.run(Opyard())
    assert f"{type(caught.value).__name__}: {caught.value}" == message


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [row[0] for row in ROWS if not row[2]], ids=repr)
def test_pytorch_refuses_it_too(case):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(Exception):  # noqa: B017
        case.run(Torch())


def test_a_module_dict_has_parts_by_name():
    parts = nn.ModuleDict({"a": nn.Linear(1, 2), "b": nn.ReLU()})
    parts["c"] = nn.Linear(2, 2)
    parts.update([("d", nn.Tanh())])
    assert list(parts) == list(parts.keys()) == ["a", "b", "c", "d"] and len(parts) == 4
    assert "a" in parts and "e" not in parts and parts["b"] is dict(parts.items())["b"]
    assert list(parts.state_dict()) == ["a.weight", "a.bias", "c.weight", "c.bias"]
    assert parts.pop("a") is not None and list(parts.values())[-1] is parts["d"]
    del parts["b"]
    parts.update(nn.ModuleDict({"c": nn.GELU()}))
    assert repr(parts) == "ModuleDict(\n  (c): GELU(approximate='none')\n  (d): Tanh()\n)"
    parts.clear()
    assert not len(parts)
    with pytest.raises(TypeError, match="'a' must be a Module or None, not an object of int"):
        nn.ModuleDict({"a": 3})
    with pytest.raises(TypeError, match="^ModuleDict: what it takes is a dict, or pairs of a name"):
        nn.ModuleDict([nn.ReLU()])
    with pytest.raises(KeyError, match="not empty and has no point: 'a.b'"):
        parts["a.b"] = nn.ReLU()


def test_a_module_list_is_a_list():
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    layers.insert(0, nn.Linear(1, 1))
    layers.insert(-1, nn.GELU())
    layers += [nn.SiLU()]
    kinds = [type(each).__name__ for each in layers]
    assert kinds == ["Linear", "ReLU", "GELU", "Tanh", "SiLU"]
    assert list(layers.state_dict()) == ["0.weight", "0.bias"]
    del layers[1:3]
    assert isinstance(layers.pop(), nn.SiLU) and isinstance(layers.pop(0), nn.Linear)
    assert [name for name, _ in layers.named_children()] == ["0"]
    assert isinstance(layers.__add__([nn.ReLU()]), nn.ModuleList) and len(layers) == 1
    named = nn.Sequential({"first": nn.ReLU(), "second": nn.Tanh()})
    del named[0]
    assert [name for name, _ in named.named_children()] == ["second"]
    with pytest.raises(IndexError, match="^ModuleList: index 3 is out of range for 1 modules"):
        del layers[3]


def test_a_parameter_list_is_found():
    given = nn.ParameterList([nn.Parameter(opyard.ones(2)), opyard.zeros(1), "text"])
    given.append(opyard.zeros(3))
    given += [opyard.ones(1)]
    assert len(given) == 5 and isinstance(given[1], nn.Parameter) and given[2] == "text"
    assert list(given.state_dict()) == ["0", "1", "3", "4"]
    given[-1] = opyard.zeros(4)
    assert given[4].shape == (4,) and len(list(given.parameters())) == 4
    assert isinstance(given[1:3], nn.ParameterList) and len(given[1:3]) == 2
    assert (
        repr(given[:1]) == "ParameterList(  (0): Parameter containing: [opyard.float32 of size 2])"
    )
    with pytest.raises(
        TypeError, match="^ParameterList: values must be a list of parameters, not a"
    ):
        nn.ParameterList(opyard.ones(2))
    with pytest.raises(IndexError, match="^ParameterList: index 9 is out of range for 5 values"):
        given[9]


def test_a_parameter_dict_is_found():
    given = nn.ParameterDict({"a": opyard.ones(2), "b": nn.Parameter(opyard.zeros(1))})
    given["c"] = opyard.ones(3)
    given.update([("d", opyard.ones(1))])
    assert given.keys() == list(given) == ["a", "b", "c", "d"] and len(given.values()) == 4
    assert list(given.state_dict()) == ["a", "b", "c", "d"]
    assert given.get("e") is None and given.setdefault("e", opyard.ones(5)).shape == (5,)
    assert given.popitem()[0] == "e" and given.pop("b").shape == (1,) and "b" not in given
    assert list(reversed(given)) == ["d", "c", "a"] and dict(given.items())["a"].requires_grad
    del given["a"]
    given.clear()
    assert not len(given) and not given.state_dict()
    with pytest.raises(KeyError, match="'x'"):
        given["x"]
    with pytest.raises(KeyError, match="has an attribute 'training' already"):
        given["training"] = opyard.ones(1)
    with pytest.raises(TypeError, match="^ParameterDict: a name must be a str, not int"):
        given[0] = opyard.ones(1)


def test_dropout_of_channels_leaves_whole_channels_out():
    opyard.manual_seed(1)
    x = np.ones((50, 40, 3, 2), np.float32)
    for layer in (nn.Dropout2d(0.25), nn.FeatureAlphaDropout(0.25)):
        found = layer(x).numpy().reshape(2000, 6)
        assert (found == found[:, :1]).all() and len(np.unique(found)) == 2
        assert abs((found[:, 0] == found.min()).mean() - 0.25) < 0.05
    assert nn.Dropout3d(0.5)(x).numpy()[:, :, 0, 0].sum(1).max() > 0
    normal = np.random.default_rng(0).standard_normal((300, 300))
    kept = nn.AlphaDropout(0.3)(normal).numpy()
    assert abs(kept.mean()) < 0.02 and abs(kept.std() - 1) < 0.02
    in_place = opyard.ones(100, 100)
    assert nn.Dropout(0.5, inplace=True)(in_place) is in_place and (in_place == 0).any().item()


def test_rrelu_draws_slopes_while_it_trains():
    layer, x = nn.RReLU(0.2, 0.4), opyard.full([1000], -1.0)
    found = layer(x).numpy()
    assert -0.4 <= found.min() < -0.39 and -0.21 < found.max() <= -0.2
    written = opyard.full([3], -1.0)
    assert nn.RReLU(inplace=True)(written) is written and (written > -1).all().item()


@pytest.mark.parametrize("kind", [nn.CrossEntropyLoss, nn.NLLLoss])
def test_a_loss_that_was_traced_knows_targets_that_are_ignored(kind):
    loss, x = kind(), opyard.randn(3, 4)
    first, second = opyard.tensor([0, 1, 2]), opyard.tensor([0, -100, 3])
    traced = opyard.jit.trace(loss, (x, first))
    compiled = opyard.jit.compile(loss)
    compiled(x, first)
    for run in (traced, compiled):
        for target in (second, first):
            assert run(x, target).item() == pytest.approx(loss(x, target).item(), rel=1e-6)


WITH_WEIGHTS = {
    "Linear": (2, 3),
    "Bilinear": (2, 3, 4),
    "Conv2d": (2, 3, 1),
    "ConvTranspose1d": (2, 3, 1),
    "BatchNorm1d": (3,),
    "GroupNorm": (1, 2),
    "LayerNorm": (2,),
    "RMSNorm": (2,),
    "PReLU": (),
    "Embedding": (2, 3),
    "EmbeddingBag": (2, 3),
    "LSTM": (2, 3),
    "GRUCell": (2, 3),
    "MultiheadAttention": (4, 2),
    "TransformerEncoderLayer": (4, 2),
    "Transformer": (4, 2, 1, 1, 4),
}


@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_a_layer_with_weights_is_made_with_a_dtype_and_a_device(name):
    kind, args = getattr(nn, name), WITH_WEIGHTS[name]
    made = kind(*args, device="cpu", dtype=opyard.float64)
    assert {each.dtype for each in made.parameters()} == {opyard.float64}
    plain = kind(*args, device=None, dtype=None)
    assert {each.dtype for each in plain.parameters()} == {opyard.float32}
    with pytest.raises(TypeError, match=f"^{name} has no argument 'dtyp'; 'dtype' may be meant"):
        kind(*args, dtyp=opyard.float64)
    with pytest.raises(TypeError, match="floating point or complex numbers, not opyard.int64"):
        kind(*args, dtype=opyard.int64)
    assert {"device", "dtype"} <= inspect.signature(kind).parameters.keys()


@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_a_layer_says_what_a_dtype_and_a_device_are(name):
    made = getattr(nn, name)(*WITH_WEIGHTS[name])
    for caller, make in {
        name: lambda **place: getattr(nn, name)(*WITH_WEIGHTS[name], **place),
        f"{name}.to": made.to,
    }.items():
        for place, message in [
            ({"dtype": "float64"}, "dtype must be a dtype such as opyard.float64, not 'float64'"),
            ({"dtype": "float"}, "dtype must be a dtype such as opyard.float32, not 'float'"),
            ({"dtype": 3}, "dtype must be a dtype such as opyard.float32, not 3"),
            ({"device": 3}, "device must be a device such as 'cpu', not 3"),
        ]:
            with pytest.raises(TypeError) as caught:
                make(**place)
            assert str(caught.value) == f"{caller}: {message}"
    assert {each.dtype for each in made.to(dtype=float).parameters()} == {opyard.float64}


def test_a_layer_without_weights_has_no_dtype():
    for make in (nn.ReLU, nn.Dropout, nn.MSELoss, lambda **place: nn.MaxPool2d(2, **place)):
        with pytest.raises(TypeError, match="has no argument 'dtype'"):
            make(dtype=opyard.float64)
