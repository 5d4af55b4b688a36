"""Protects networks that PyTorch exports: they give here what they give there, and train alike.

Each is written here, exported as it is and after run_decompositions(), in inference and in
training, loaded from a file, and compared to 1e-5. Skipped where PyTorch is not installed. Suspect
the file of kernels/src/ that has the operator, then models/src/exported/nodes.cpp.
"""

import math

import pytest

import opyard
from opyard import jit

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
nn = torch.nn
functional = nn.functional

# Of PyTorch about itself.
pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings(
        "ignore::FutureWarning",
        "ignore::DeprecationWarning",
        "ignore:The tensor attributes:UserWarning",  # of the weights of nn.LSTM and its like
        "ignore:LSTM with projections:UserWarning",
    ),
]


class LeNet(nn.Module):
    """Two convolutions, each with pooling, and three layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten())  # fmt: skip
        self.scores = nn.Sequential(
            nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 24), nn.ReLU(),
            nn.Linear(24, 10))  # fmt: skip

    def forward(self, images):
        return self.scores(self.features(images))


class Residual(nn.Module):
    """A stem, a block that is added to its input, and one that halves the picture."""

    def __init__(self):
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.one, self.one_norm = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.two, self.two_norm = nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16)
        self.short, self.short_norm = nn.Conv2d(8, 16, 1, 2, bias=False), nn.BatchNorm2d(16)
        self.scores = nn.Linear(16, 5)

    def forward(self, images):
        x = self.stem_norm(self.stem(images)).relu()
        x = (self.one_norm(self.one(x)) + x).relu()
        x = (self.two_norm(self.two(x)) + self.short_norm(self.short(x))).relu()
        return self.scores(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(nn.Module):
    """A cell with memory that reads a sequence."""

    def __init__(self):
        super().__init__()
        self.cell, self.scores = nn.LSTMCell(4, 8), nn.Linear(8, 3)

    def forward(self, words, state):
        for place in range(words.shape[1]):
            state = self.cell(words[:, place], state)
        return self.scores(state[0])


class Sequence(nn.Module):
    """A recurrent network of two layers and both directions over whole sequences."""

    def __init__(self, kind, **options):
        super().__init__()
        self.network = kind(4, 6, num_layers=2, bidirectional=True, **options)
        self.scores = nn.LazyLinear(3)

    def forward(self, words):
        outputs, _ = self.network(words)
        return self.scores(outputs)


def sequence(kind, **options):
    network = Sequence(kind, **options)
    network(torch.randn(2, 5, 4))
    return network


class Block(nn.Module):
    """Attention that sees what is before, and a layer, each behind a normalisation."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.parts, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.parts(self.before(x)).chunk(3, -1)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        x = x + self.joined((weights @ value).transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.between(x))))


class Language(nn.Module):
    """A small GPT: words, places, blocks, and the words again as scores."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 16), nn.Embedding(8, 16)
        self.blocks = nn.Sequential(Block(16, 4), Block(16, 2))
        self.norm = nn.LayerNorm(16)

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        return self.norm(self.blocks(x)) @ self.words.weight.t()


def encoder():
    return nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)


NETWORKS = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)),
        lambda: (torch.randn(5, 4),),
    ),
    "lenet": (LeNet, lambda: (torch.randn(3, 1, 16, 16),)),
    "residual network": (Residual, lambda: (torch.randn(4, 3, 8, 8),)),
    "lstm cell": (
        Recurrent,
        lambda: (torch.randn(3, 5, 4), (torch.randn(3, 8), torch.randn(3, 8))),
    ),
    "lstm": (lambda: sequence(nn.LSTM, batch_first=True), lambda: (torch.randn(2, 5, 4),)),
    "projected lstm": (lambda: sequence(nn.LSTM, proj_size=3), lambda: (torch.randn(5, 2, 4),)),
    "gru": (lambda: sequence(nn.GRU, bias=False), lambda: (torch.randn(5, 2, 4),)),
    "rnn": (lambda: sequence(nn.RNN, nonlinearity="relu"), lambda: (torch.randn(5, 2, 4),)),
    "transformer encoder": (encoder, lambda: (torch.randn(2, 6, 16),)),
    "gpt": (Language, lambda: (torch.randint(11, (2, 6)),)),
}


def arrays(value):
    return tuple(map(arrays, value)) if isinstance(value, tuple) else value.numpy()


def close(ours, theirs):
    if isinstance(ours, opyard.Tensor):
        ours = ours.detach().numpy()
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-5, atol=1e-5)


def exported(name, training, decomposed, tmp_path):
    """The network, its inputs, and what was loaded from the file of its program."""
    torch.manual_seed(0)
    make, inputs = NETWORKS[name]
    network, inputs = make().train(training), inputs()
    program = torch.export.export(network, inputs)
    if decomposed:
        program = program.run_decompositions()
    torch.export.save(program, tmp_path / "model.pt2")
    return network, inputs, jit.load(tmp_path / "model.pt2")


@pytest.mark.parametrize("decomposed", [False, True], ids=["whole", "decomposed"])
@pytest.mark.parametrize("name", NETWORKS)
def test_X32_a_network_gives_what_pytorch_gives(name, decomposed, tmp_path):
    network, inputs, model = exported(name, False, decomposed, tmp_path)
    with torch.no_grad():
        close(model(*arrays(inputs)), network(*inputs))
    jit.save(model, tmp_path / "saved")
    with torch.no_grad():
        close(jit.load(tmp_path / "saved")(*arrays(inputs)), network(*inputs))


@pytest.mark.parametrize("decomposed", [False, True], ids=["whole", "decomposed"])
@pytest.mark.parametrize("name", NETWORKS)
def test_X32_a_network_is_trained_as_pytorch_trains_it(name, decomposed, tmp_path):
    network, inputs, model = exported(name, True, decomposed, tmp_path)
    theirs = dict(network.named_parameters())
    assert len(model.parameters()) == len(theirs)
    ours = {key: model.state_dict()[key].requires_grad_() for key in theirs}
    (model(*arrays(inputs)) ** 2).mean().backward()
    (network(*inputs) ** 2).mean().backward()
    with opyard.autograd.no_grad(), torch.no_grad():
        for key, parameter in theirs.items():
            close(ours[key].grad, parameter.grad)
            ours[key].sub_(ours[key].grad * 0.1)
            parameter.sub_(parameter.grad * 0.1)
    after = network.state_dict()
    for key, value in model.state_dict().items():  # running moments, too
        if key in after:
            close(value, after[key])
    with torch.no_grad(), opyard.autograd.no_grad():
        close(model(*arrays(inputs)), network(*inputs))


@pytest.mark.parametrize("decomposed", [False, True], ids=["whole", "decomposed"])
def test_X32_tensors_that_forward_makes_of_numbers_are_constants(decomposed):
    class Scaled(nn.Module):
        def forward(self, x):
            return x * torch.tensor([1.0, 2.0, 3.0]) + torch.tensor(4)

    x = torch.randn(2, 3)
    program = torch.export.export(Scaled(), (x,))
    model = jit.from_exported(program.run_decompositions() if decomposed else program)
    close(model(x.numpy()), Scaled()(x))
