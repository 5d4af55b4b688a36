"""Protects opyard.jit.load() and save(): models that PyTorch exported, and our own files.

The archive is examples/exported/model.pt2; what is bad is made of it. Where PyTorch is installed,
networks that are written here are exported and compared. Suspect models/src/exported/ for files of
PyTorch, models/src/model/ for ours.
"""

import gzip
import math
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from built import TESTS, build_folder, plain_build
from exported_model import MODEL

import opyard
from opyard import jit

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")

EXAMPLES = TESTS.parent / "examples"
FORMATS = [TESTS / "models" / f"format_{number}.safetensors" for number in (1, 2)]
X = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 0.25, 1.0]], np.float32)
SCALE = {"scale": np.array([2.0], np.float32)}


def expected(model, x=X, scale=2.0):
    """What the network gives, by NumPy."""
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    hidden = np.tanh(x @ state["hidden.weight"].T + state["hidden.bias"]) * scale
    scores = np.exp(hidden @ state["out.weight"].T + state["out.bias"])
    return scores / scores.sum(-1, keepdims=True), hidden.sum(), x.shape[0] * 2


def check(model):
    before = model.state_dict()["calls"].item()
    outputs = model(X, SCALE)
    scores, total, rows = expected(model)
    np.testing.assert_allclose(outputs["scores"], scores, rtol=1e-5)
    np.testing.assert_allclose(outputs["rest"][0], total, rtol=1e-5)
    assert list(outputs) == ["scores", "rest"] and outputs["rest"][1] == rows
    assert model.state_dict()["calls"].item() == before + 1


# ---- what runs


def test_X32_an_exported_program_runs_with_nested_inputs_buffers_and_sizes():
    check(jit.load(MODEL))


def test_X32_the_example_trains_and_saves_without_pytorch():
    done = subprocess.run(
        [sys.executable, MODEL.parent / "run.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "saved and loaded: True" in done.stdout, done.stderr


def digits():
    with gzip.open(EXAMPLES / "data" / "digits.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    return np.ascontiguousarray(rows[:, :64]) / np.float32(16), rows[:, 64].astype(np.int64)


def plain_environment():
    """Nothing of Python's, and of the loader's what sanitizers need."""
    kept = ("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")
    return {name: os.environ[name] for name in kept if name in os.environ}


@plain_build  # strict_init_order sees registrars of one library write to each other
def test_X32_a_program_of_cpp_trains_what_was_exported_without_python(tmp_path):
    images, labels = digits()
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "labels.npy", labels)
    source = EXAMPLES / "train_exported" / "model.pt2"
    program = build_folder() / "test" / "python" / "train_exported"
    command = [program, build_folder() / "kernels" / "opyard_kernels.so", source]
    command += [tmp_path / "images.npy", tmp_path / "labels.npy", tmp_path / "trained", "8"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=plain_environment()
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines() if "loss" in line]
    accuracy = float(done.stdout.split()[-1])
    assert len(losses) == 8 and losses[-1] < 0.3 < losses[0] and accuracy > 0.9, done.stdout
    trained = jit.load(tmp_path / "trained")
    assert (trained(images).argmax(1) == labels).mean() == pytest.approx(accuracy, abs=1e-3)
    # The same steps by eager autograd: one function of a whole graph gives the same gradients.
    model = jit.load(source)
    parameters = [parameter.requires_grad_() for parameter in model.parameters()]
    for begin in range(0, len(labels) - 63, 64):
        batch = slice(begin, begin + 64)
        loss = opyard.ops.aten.nll_loss(model(images[batch]), opyard.from_numpy(labels[batch]))
        loss.backward()
        with opyard.autograd.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad * 0.5)
                parameter.grad = None
    once = subprocess.run([*command[:-2], tmp_path / "once", "1"], check=False, capture_output=True)
    assert once.returncode == 0, once.stderr
    for ours, theirs in zip(parameters, jit.load(tmp_path / "once").parameters(), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_X32_a_network_trained_in_two_stages_runs_without_python(tmp_path):
    example = EXAMPLES / "graph" / "train_digits.py"
    saved = tmp_path / "digits.safetensors"
    done = subprocess.run(
        [sys.executable, example, "--epochs", "12", "--save", saved],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (said,) = (line for line in done.stdout.splitlines() if line.startswith("accuracy"))
    assert float(said.split()[1]) > 0.95
    assert re.search(r"a graph of \d+ nodes, and \d+ for its gradients", done.stdout)
    images, labels = digits()
    np.save(tmp_path / "images.npy", images)
    program = build_folder() / "programs" / "opyard-run"
    command = [program, saved, "--input", tmp_path / "images.npy", "--output", tmp_path / "y.npy"]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=plain_environment()
    )
    assert ran.returncode == 0 and ran.stderr == "", ran.stderr
    assert (np.load(tmp_path / "y.npy").argmax(1) == labels).mean() > 0.97


def test_X32_what_is_passed_is_checked_before_anything_runs():
    model = jit.load(MODEL)
    x = np.ones((3, 4), np.float32)
    for args, error, said in [
        ((np.ones((65, 4), np.float32), SCALE), ValueError, "size 65 of dimension 0 is out of"),
        ((np.ones((1, 4), np.float32), SCALE), ValueError, "exported for, 2 to 64"),
        ((np.ones((3, 5), np.float32), SCALE), ValueError, "size 5 of dimension 1; the model was"),
        ((np.ones(4, np.float32), SCALE), ValueError, "has 1 dimensions; the model was exported"),
        ((np.ones((3, 4)), SCALE), TypeError, "is of dtype float64; the model was exported for"),
        ((x, {}), TypeError, r"has the keys \['scale'\]"),
        ((x,), TypeError, r"are \(x, {'scale': options_scale}\): {'scale': options_scale} is"),
        ((x, SCALE, 1), TypeError, "2 are taken by position, and 3 were given"),
        ((x, [1]), TypeError, "is a dict, and list was given"),
        ((3, SCALE), TypeError, "input %x"),
    ]:
        with pytest.raises(error, match=said):
            model(*args)
    assert model.state_dict()["calls"].item() == 0


def test_inputs_that_do_not_fit_are_named():
    model = jit.load(MODEL)
    assert repr(model) == (
        "<opyard.jit.Model (x, {'scale': options_scale}) -> {'scores': output0, 'rest': [output1, "
        "output2]}, 5 tensors of state>"
    )
    tree = {"tuple": [{"tuple": [None, {"tuple": [None]}]}, {"dict": [["mask", None]]}]}
    model._input_tree = tree
    model._model = SimpleNamespace(input_names=["x", "pair", "mask"])
    inputs = "the inputs of this model are (x, (pair,), *, mask): "
    for args, kwargs, said in [
        ((1,), {"mask": 2}, "(pair,) is missing"),
        ((1, (2,)), {"msak": 3}, "none is called 'msak'; 'mask' may be meant; mask is missing"),
        (
            (),
            {"x": 1},
            "x is missing; (pair,) is missing; x is passed by position; mask is missing",
        ),
        ((1, (2,), 3, 4), {"mask": 5}, "2 are taken by position, and 4 were given"),
    ]:
        with pytest.raises(TypeError) as caught:
            model(*args, **kwargs)
        assert str(caught.value) == inputs + said
    with pytest.raises(TypeError, match=r"the input \(pair,\) has 1 item, and 2 were given"):
        model(1, (2, 3), mask=4)


def test_inputs_of_a_graph_are_named(tmp_path):
    graph = jit.parse_ir("graph(%x : Tensor, %y : Tensor):\n  return (%y)")
    jit.save(graph, tmp_path / "g")
    model = jit.load(tmp_path / "g")
    assert repr(model) == "<opyard.jit.Model (x, y) -> output0, 0 tensors of state>"
    with pytest.raises(TypeError, match=r"of this model are \(x, y\): y is missing$"):
        model(opyard.ones(1))
    with pytest.raises(TypeError, match="have no names; pass them by position: x, y$"):
        model(x=opyard.ones(1))


def test_a_model_is_saved_and_loaded_as_it_is(tmp_path):
    model = jit.load(MODEL)
    jit.save(model, tmp_path / "model.safetensors")
    loaded = jit.load(tmp_path / "model.safetensors")
    check(loaded)
    assert set(opyard.load(tmp_path / "model.safetensors")) == set(model.state_dict())
    with pytest.raises(ValueError, match="2 to 64"):
        loaded(np.ones((65, 4), np.float32), SCALE)


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.stem)
def test_a_file_of_a_former_format_is_read(path):
    check(jit.load(path))


def test_a_graph_with_constants_is_saved_and_loaded(tmp_path):
    weights = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    graph = jit.parse_ir(
        """graph(%x : Tensor):
  %w : Tensor = prim::Constant[value=<Tensor>]()
  %one : Long() = prim::Constant[value={1}]()
  %y : Tensor = aten::mul(%x, %w)
  %z : Tensor = aten::add(%y, %one)
  return (%z)
""",
        tensors=[weights],
    )
    jit.save(graph, tmp_path / "g")
    loaded = jit.load(tmp_path / "g")
    assert str(loaded.graph) == str(graph)
    assert loaded(opyard.tensor([2.0, 10.0])).tolist() == [[3.0, 21.0], [7.0, 41.0]]


def test_a_graph_with_python_functions_is_not_saved(tmp_path):
    graph = jit.Graph()
    x = graph.add_input("x")
    node = graph.append_node(jit.create_python_op(graph, lambda x: x, [x]))
    graph.register_output(node.output())
    with pytest.raises(NotImplementedError, match="functions of other layers"):
        jit.save(graph, tmp_path / "g")
    with pytest.raises(TypeError, match="takes a Model or a Graph"):
        jit.save(3, tmp_path / "g")


def test_a_file_is_a_strangers_unless_it_is_trusted(tmp_path):
    with opyard.library.Library("models_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CPU")
        graph = jit.parse_ir(
            "graph(%x : Tensor):\n  %y : Tensor = models_test::twice(%x)\n  return (%y)"
        )
        jit.save(graph, tmp_path / "g")
        x = opyard.tensor([1.5])
        with pytest.raises(ValueError) as caught:
            jit.load(tmp_path / "g")
        assert "models_test::twice" in str(caught.value)
        assert 'allowed=["models_test::twice"]' in str(caught.value)
        allowed = jit.load(tmp_path / "g", allowed=["models_test::twice"])
        assert allowed(x).tolist() == [3.0]
        assert allowed.graph.is_restricted
        assert jit.load(tmp_path / "g", untrusted=False)(x).tolist() == [3.0]


# ---- where PyTorch is


def networks(torch):
    nn = torch.nn

    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(4, 8)

        def forward(self, x, state):
            h, c = self.cell(x, state)
            return h, (h, c)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = (
                part.reshape(b, t, 4, d // 4).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)
            )
            weights = (q @ k.transpose(-2, -1) / math.sqrt(d // 4)).softmax(-1)
            return x + self.out((weights @ v).transpose(1, 2).reshape(b, t, d))

    return {
        "mlp": (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), (torch.ones(5, 4),)),
        "convolution": (
            nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)),
            (torch.randn(2, 1, 4, 4),),
        ),
        "lstm cell": (Cell(), (torch.randn(3, 4), (torch.randn(3, 8), torch.randn(3, 8)))),
        "attention": (Attention(), (torch.randn(2, 6, 16),)),
    }


def leaves(value):
    return (
        [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else [value]
    )


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch about itself
@pytest.mark.parametrize("name", ["mlp", "convolution", "lstm cell", "attention"])
def test_X32_networks_that_pytorch_exports_here_give_what_it_gives(name):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module, inputs = networks(torch)[name]
    with torch.no_grad():
        wanted = module(*inputs)
    model = jit.from_exported(torch.export.export(module, inputs).run_decompositions())
    convert = lambda v: tuple(map(convert, v)) if isinstance(v, tuple) else v.numpy()  # noqa: E731
    got = model(*convert(inputs))
    for ours, theirs in zip(leaves(got), leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5, atol=1e-5)
