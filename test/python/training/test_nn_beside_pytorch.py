"""test_nn_beside_pytorch.py: layers compute what PyTorch's of the same name and weights compute.

Each line of nn_cases.txt is a layer, what it is called with, and PyTorch's answers as sums. Where
PyTorch is installed, all elements of outputs, gradients and buffers are compared, and names in a
state and repr(), too. Suspect the file of the layer in opyard/_nn. New lines get their answers by
test/torch/nn_answers.py.
"""

import re

import pytest

import opyard
from opyard import nn

np = pytest.importorskip("numpy")

from nn_cases import Opyard, Torch, cases, digest  # noqa: E402

pytestmark = pytest.mark.once

CASES = cases()
# Not in the table: without a forward(), or random alone.
ELSEWHERE = {
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
}


def test_every_layer_is_in_the_table():
    classes = {*nn.__all__} - {"functional", "init", "utils"}
    assert {*ELSEWHERE, *(case.name for case in CASES)} == classes


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_layer_gives_the_answers_of_pytorch(case):
    runs, _ = case.run(Opyard())
    assert case.answers is not None, "run test/torch/nn_answers.py"
    np.testing.assert_allclose(digest(runs), case.answers, rtol=1e-6, atol=1e-7)


# PyTorch shows no sizes of an attention; constants of float32 in its formulas need the tolerance.
SAYS_MORE = re.compile(r"\(self_attn\): |\(multihead_attn\): |^MultiheadAttention|^Parameter")


# PyTorch recommends other arguments than those that are compared.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_layer_is_as_in_pytorch(case):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    runs, ours = case.run(Opyard())
    wanted, theirs = case.run(Torch())
    for run, other in zip(runs, wanted, strict=True):
        for kind, found in run.items():
            assert len(found) == len(other[kind]), kind
            for one, two in zip(found, other[kind], strict=True):
                assert one.shape == two.shape and one.dtype == two.dtype, kind
                np.testing.assert_allclose(one, two, rtol=5e-8, atol=1e-10, err_msg=kind)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_parameters()] == [
        name for name, _ in theirs.named_parameters()
    ]
    if not SAYS_MORE.search(repr(theirs)):
        assert repr(ours) == repr(theirs)


def test_one_seed_gives_the_same_weights_and_a_copy_gives_the_same_results():
    for case in CASES[::7]:
        library = Opyard()
        opyard.manual_seed(3)
        runs, layer = case.run(library)
        opyard.manual_seed(3)
        again, _ = case.run(library)
        for run, other in zip(runs, again, strict=True):
            for one, two in zip(run["outputs"], other["outputs"], strict=True):
                np.testing.assert_array_equal(one, two)


# Training loops: a program of PyTorch's, run with each library.


def tagger(nn):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(11, 6, padding_idx=0)
            self.states = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
            self.heads = nn.ModuleDict({"tags": nn.Linear(10, 4)})

        def forward(self, x):
            return self.heads["tags"](self.states(self.words(x))[0]).transpose(1, 2)

    words = np.array([[1, 4, 9, 3, 0, 0], [7, 2, 5, 10, 8, 6], [3, 3, 1, 0, 0, 0]])
    tags = np.where(words == 0, -100, words % 4)
    return Tagger(), words, tags, nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)


def pictures(nn):
    layers = [nn.Conv2d(2, 4, 3, padding="same", padding_mode="reflect"), nn.BatchNorm2d(4)]
    layers += [nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, groups=2)]
    layers += [nn.GroupNorm(2, 4), nn.Hardswish(inplace=True), nn.Flatten(), nn.Linear(16, 3)]
    x = np.random.default_rng(0).standard_normal((6, 2, 8, 8))
    return nn.Sequential(*layers), x, np.arange(6) % 3, nn.CrossEntropyLoss()


def transformer(nn):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2, nn.LayerNorm(8)), nn.Linear(8, 8))
    x = np.random.default_rng(1).standard_normal((3, 5, 8))
    return model, x, x[:, ::-1].copy(), nn.SmoothL1Loss(beta=0.5)


def adamw(optim, model):
    optimizer = optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.1)
    return optimizer, optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=40)


def sgd(optim, model):
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    rates = [
        optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5),
        optim.lr_scheduler.CosineAnnealingLR(optimizer, 20),
    ]
    return optimizer, optim.lr_scheduler.SequentialLR(optimizer, rates, milestones=[5])


def trained(library, nn, optim, make, optimize, state):
    """The losses of a loop, and the state after it, with an average of weights."""
    model, x, target, loss_of = make(nn)
    model = library.as_double(model)
    model.load_state_dict(state or model.state_dict())
    begun = {name: np.array(library.numbers(each)) for name, each in model.state_dict().items()}
    x, target = library.tensor(x), library.tensor(target)
    optimizer, schedule = optimize(optim, model)
    average = optim.swa_utils.get_ema_multi_avg_fn(0.8)
    average, losses = optim.swa_utils.AveragedModel(model, multi_avg_fn=average), []
    for _ in range(25):
        optimizer.zero_grad()
        loss = loss_of(model(x), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        average.update_parameters(model)
        losses.append(loss.item())
    average.eval()
    losses.append(loss_of(average(x), target).item())
    return losses, begun


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("optimize", [adamw, sgd])
@pytest.mark.parametrize("make", [tagger, pictures, transformer])
def test_a_training_loop_has_the_losses_of_pytorch(make, optimize):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    wanted, begun = trained(Torch(), torch.nn, torch.optim, make, optimize, None)
    found, _ = trained(Opyard(), nn, opyard.optim, make, optimize, begun)
    assert wanted[-2] < wanted[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("make", [tagger, pictures, transformer])
def test_a_training_loop_learns(make):
    opyard.manual_seed(2)
    losses, _ = trained(Opyard(), nn, opyard.optim, make, adamw, None)
    assert losses[-2] < losses[0] / 2
