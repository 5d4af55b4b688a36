"""test_nn_functional.py: functions of opyard.nn.functional have the arguments of PyTorch's, and
compute what those compute.

Suspect _nn/activation_functions.py, layer_functions.py and loss_functions.py.
"""

import inspect
import re

import numpy as np
import pytest

import opyard
import opyard.nn.functional as F

pytestmark = pytest.mark.once

# Each line is a call; what it takes is in made(), and all functions are called.
CALLS = """
    relu(x) | relu(x * 1, True) | relu6(x * 9) | relu6(x * 9, inplace=True) | selu(x)
    selu(x * 1, True) | silu(x) | silu(x * 1, True) | mish(x) | mish(x * 1, inplace=True)
    elu(x, 0.5) | elu(x * 1, alpha=0.5, inplace=True) | celu(x, 0.5) | celu(x * 1, 2.0, True)
    hardsigmoid(x * 3) | hardsigmoid(x * 3, True) | hardswish(x * 3) | hardswish(x * 3, True)
    leaky_relu(x) | leaky_relu(x * 1, 0.2, True) | hardtanh(x, -0.3, 0.2)
    hardtanh(x * 1, inplace=True) | threshold(x, 0.1, 20) | threshold(x * 1, 0.1, 20.0, True)
    relu_(x * 1) | selu_(x * 1) | elu_(x * 1, 0.5) | celu_(x * 1) | leaky_relu_(x * 1, 0.3)
    hardtanh_(x * 1, -0.2, 0.3) | threshold_(x * 1, 0.0, -1.0) | rrelu(x)
    rrelu(x, 0.25, 0.25, True) | rrelu_(x * 1, 0.2, 0.2, True) | sigmoid(x) | tanh(x)
    tanhshrink(x) | softsign(x) | logsigmoid(x) | softplus(x, 2, 0.5) | hardshrink(x, 0.2)
    softshrink(x, lambd=0.1) | gelu(x) | gelu(x, approximate="tanh") | glu(pic, 1)
    prelu(x, p * 0.1) | softmax(x, 1) | softmax(x, dim=0, dtype=L.float32) | log_softmax(x, -1)
    softmin(x, 1) | normalize(x) | normalize(x, p=1.0, dim=0, eps=3.0) | dropout(x, 0.4, False)
    dropout(x, 0.0) | dropout(x, 1.0) | dropout1d(seq, 0.5, training=False) | dropout2d(pic, 1.0)
    dropout3d(vol, p=0.0) | alpha_dropout(x) | alpha_dropout(x, 0.0, True)
    feature_alpha_dropout(pic) | linear(x, w, p) | linear(x, w) | bilinear(x, x, cube, q)
    conv1d(seq, k1, p, 2, 1) | conv1d(seq, k1, padding="same")
    conv2d(pic, k2, p, stride=(2, 1), padding=1, dilation=2) | conv2d(pic, k2) | conv3d(vol, k3)
    conv_transpose1d(seq, k1.transpose(0, 1), None, 2, 1, 1)
    conv_transpose2d(pic, k2.transpose(0, 1), p, stride=2, output_padding=(1, 0))
    conv_transpose3d(vol, k3.transpose(0, 1)) | avg_pool1d(seq, 3, 2, 1, True, False)
    avg_pool2d(pic, (2, 3)) | avg_pool2d(pic, 2, divisor_override=3)
    avg_pool3d(vol, 3, 2, 1, True, False) | avg_pool2d(pic, 4, 3, 1, False, False)
    max_pool1d(seq, 3, stride=2, padding=1) | max_pool2d(pic, 2, ceil_mode=True)
    max_pool2d(pic, 3, 2, 1, 1, False, True)[1] | max_pool2d(pic, 3, return_indices=True)[0]
    max_pool3d(vol, 2, dilation=2) | adaptive_avg_pool1d(seq, 3)
    adaptive_avg_pool2d(pic, (3, None)) | adaptive_avg_pool3d(vol, 2)
    adaptive_max_pool1d(seq, 3) | adaptive_max_pool2d(pic, (2, 3))
    adaptive_max_pool2d(pic, 2, True)[1] | adaptive_max_pool3d(vol, 2) | lp_pool1d(seq, 2, 3)
    lp_pool2d(pic, 2.0, 2, stride=1) | lp_pool3d(vol, 2, 2)
    max_unpool1d(*max_pool1d(seq, 2, return_indices=True), 2)
    max_unpool2d(*max_pool2d(pic, 2, return_indices=True), 2)
    max_unpool3d(*max_pool3d(vol, 2, return_indices=True), 2, output_size=(4, 4, 4))
    batch_norm(pic, z.detach(), z.detach() ** 2 + 1, bias=z)
    batch_norm(pic, None, None, z, z * 2 + 1, True)
    batch_norm(pic, z.detach() * 1, z.detach() * 1, training=True) | instance_norm(pic)
    instance_norm(pic, z.detach() * 1, z.detach() ** 2 + 1, z, z * 2 + 1, False)
    layer_norm(x, [3], q3, q3 * 2 + 1) | group_norm(pic, 2, z, z * 2 + 1, 1e-3)
    rms_norm(x, (3,), q3) | local_response_norm(pic, 2, k=0.5) | embedding(idx, w3)
    embedding(idx, w3, padding_idx=-1) | embedding(idx, w3.detach() * 1, max_norm=0.5)
    embedding(idx, w3, scale_grad_by_freq=True) | one_hot(idx) | one_hot(idx, num_classes=7)
    pad(pic, (1, 2)) | pad(pic, (1, 1, 2, 0), "reflect") | pad(pic, (0, 1), value=2.5)
    unfold(pic, 2, stride=2) | fold(unfold(pic, 2, 1, 1), (6, 6), 2, 1, 1) | pixel_shuffle(pic, 2)
    pixel_unshuffle(pic, 3) | channel_shuffle(pic, 2) | interpolate(pic, 9)
    interpolate(pic, scale_factor=1.5, mode="bilinear")
    interpolate(pic, scale_factor=(2, 1.5), mode="bicubic")
    interpolate(pic, size=(4, 8), mode="bilinear", align_corners=True)
    upsample(seq, scale_factor=2) | upsample_nearest(pic, (7, 5))
    upsample_bilinear(pic, scale_factor=2) | grid_sample(pic, grid, align_corners=False)
    grid_sample(pic, grid, "nearest", "border", True)
    scaled_dot_product_attention(seq, seq, seq)
    scaled_dot_product_attention(seq, seq, seq, is_causal=True, scale=0.3)
    cosine_similarity(x, y) | cosine_similarity(x, y, dim=0)
    pairwise_distance(x, y, 1.0, keepdim=True) | pdist(x) | pdist(x, p=1) | mse_loss(x, y)
    mse_loss(x, y, reduction="sum") | l1_loss(x, y, reduction="none")
    smooth_l1_loss(x, y, beta=0.3) | huber_loss(x, y, "sum", 0.4)
    binary_cross_entropy(sigmoid(x), prob, prob.detach())
    binary_cross_entropy_with_logits(x, prob, reduction="sum", pos_weight=q3.detach() ** 2)
    nll_loss(log_softmax(x, 1), cls)
    nll_loss(log_softmax(x, 1), cls, q3.detach() ** 2, ignore_index=1) | cross_entropy(x, cls)
    cross_entropy(x, cls, q3.detach() ** 2, label_smoothing=0.1, reduction="sum")
    cross_entropy(x, softmax(y, 1))
    kl_div(log_softmax(x, 1), softmax(y, 1), reduction="batchmean")
    kl_div(log_softmax(x, 1), log_softmax(y, 1), reduction="sum", log_target=True)
    poisson_nll_loss(x, prob, full=True) | poisson_nll_loss(prob, prob, log_input=False, eps=1e-3)
    gaussian_nll_loss(x, y, prob, True) | gaussian_nll_loss(x, y, prob[:, :1], reduction="sum")
    soft_margin_loss(x, sign) | hinge_embedding_loss(x, sign, 0.5)
    multilabel_soft_margin_loss(x, prob.detach()) | multilabel_margin_loss(x, cls2)
    multi_margin_loss(x, cls, 2, 0.7) | margin_ranking_loss(x, y, sign, 0.2)
    cosine_embedding_loss(x, y, sign[:, 0], margin=0.1)
    triplet_margin_loss(x, y, x + 1, 2.0, swap=True)
    triplet_margin_with_distance_loss(x, y, x + 1, distance_function=pairwise_distance, margin=0.5)
"""
CALLS = [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" | ")]
DRAWN = {"gumbel_softmax"}  # no draw is PyTorch's


def made(library):
    """What the calls take, in float64; and those of it that require gradients."""
    chance = np.random.default_rng(3)
    shapes = {
        "x": (4, 3), "y": (4, 3), "w": (5, 3), "w3": (6, 3), "cube": (5, 3, 3), "q": (5,),
        "p": (1,), "q3": (3,), "z": (4,), "seq": (2, 4, 8), "pic": (2, 4, 6, 6),
        "vol": (1, 2, 4, 4, 4), "grid": (2, 3, 3, 2), "k1": (1, 4, 3), "k2": (1, 4, 2, 2),
        "k3": (3, 2, 2, 2, 2),
    }  # fmt: skip
    leaves = {name: library.from_numpy(chance.normal(size=each)) for name, each in shapes.items()}
    leaves["prob"] = library.from_numpy(chance.uniform(0.1, 0.9, size=(4, 3)))
    leaves["p"] = library.from_numpy(np.array([0.7]))
    for each in leaves.values():
        each.requires_grad_()
    fixed = {
        "idx": np.array([[0, 5], [2, 0]]),
        "cls": np.array([0, 2, 1, 0]),
        "cls2": np.array([[0, -1, -1], [2, 1, -1], [1, -1, 0], [0, 1, 2]]),
        "sign": np.sign(chance.normal(size=(4, 3))),
    }
    fixed = {name: library.from_numpy(each) for name, each in fixed.items()}
    return {**leaves, **fixed, "L": library}, leaves


def numbers(tensor):
    return np.array(tensor.detach().tolist(), dtype=np.float64)


def answers(library, functions, call):
    """What a call gives, and the gradients of all that it takes."""
    names, leaves = made(library)
    out = eval(call, {**vars(functions), **names})
    found = [numbers(out)]
    if out.requires_grad:
        weights = np.cos(np.arange(found[0].size)).reshape(found[0].shape)
        total = (out * library.tensor(weights.tolist(), dtype=out.dtype)).sum()
        total.backward()
        found += [numbers(each * 0 if each.grad is None else each.grad) for each in leaves.values()]
    return found


def test_every_function_is_called():
    called = {name for call in CALLS for name in re.findall(r"(\w+)\(", call)}
    assert set(F.__all__) - DRAWN <= called


@pytest.mark.parametrize("call", CALLS)
def test_a_function_gives_numbers(call):
    assert all(np.isfinite(each).all() for each in answers(opyard, F, call))


@pytest.mark.filterwarnings("ignore:.*upsample:UserWarning")  # older names, in PyTorch
@pytest.mark.parametrize("call", CALLS)
def test_functions_compute_what_those_of_pytorch_do(call):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    ours, theirs = answers(opyard, F, call), answers(torch, torch.nn.functional, call)
    for mine, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-6, atol=1e-9)


# Arguments of PyTorch's that are not taken: see docs/guides/from_pytorch.md.
ABSENT = {
    "size_average", "reduce", "_stacklevel", "sparse", "out", "recompute_scale_factor", "antialias",
}  # fmt: skip
ALSO_ABSENT = {
    "mse_loss": {"weight"},
    "l1_loss": {"weight"},
    "huber_loss": {"weight"},
    "gumbel_softmax": {"eps"},
}


@pytest.mark.parametrize("name", F.__all__)
def test_arguments_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = getattr(torch.nn.functional, name)
    try:
        wanted = inspect.signature(theirs).parameters
    except ValueError:
        return  # a function of C++, which does not tell
    if "args" in wanted:  # one that chooses among two by return_indices
        wanted = inspect.signature(getattr(torch.nn.functional, f"{name}_with_indices")).parameters
    ours = inspect.signature(getattr(F, name)).parameters
    absent = ABSENT | ALSO_ABSENT.get(name, set())
    assert [each for each in wanted if each not in absent] == list(ours)
    for each, mine in ours.items():
        default = wanted[each].default
        if each in ("dim", "align_corners") and default is None:
            continue  # must be given, or False
        if type(default) is float:
            default = pytest.approx(default)
        assert mine.default == default


def test_samples_of_gumbel_softmax():
    opyard.manual_seed(5)
    logits = opyard.tensor([[0.0, 1.0, 2.0]]).expand(4000, 3).requires_grad_()
    soft = F.gumbel_softmax(logits, tau=0.7)
    assert soft.sum(1).tolist() == pytest.approx([1.0] * 4000)
    hard = F.gumbel_softmax(logits, hard=True, dim=-1)
    assert set(hard.detach().round().reshape(-1).tolist()) == {0.0, 1.0}
    wanted = np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum()
    assert hard.detach().mean(0).tolist() == pytest.approx(wanted, abs=0.03)
    (hard * opyard.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert np.isfinite(numbers(logits.grad)).all() and logits.grad.abs().sum().item() > 0


def test_dropout_draws_while_it_trains():
    opyard.manual_seed(1)
    x = opyard.ones(4000)
    kept = F.dropout(x, 0.25)
    assert {round(each, 4) for each in kept.tolist()} == {0.0, 1.3333}
    assert kept.mean().item() == pytest.approx(1, abs=0.05)
    assert F.dropout(x, 0.25, inplace=True) is x


def test_what_does_not_fit_is_refused_by_name():
    x = opyard.ones(2, 3)
    with pytest.raises(TypeError, match="relu: inplace must be True or False, not 3"):
        F.relu(x, 3)
    with pytest.raises(TypeError, match="'label_smothing'; 'label_smoothing' may be meant"):
        F.cross_entropy(x, opyard.tensor([0, 1]), label_smothing=0.1)
    with pytest.raises(ValueError, match="MSELoss: reduction is one of mean, sum, none"):
        F.mse_loss(x, x, reduction="avg")
    with pytest.raises(ValueError, match="grid_sample: padding_mode is one of zeros, border, refl"):
        F.grid_sample(opyard.ones(1, 1, 2, 2), opyard.zeros(1, 1, 1, 2), padding_mode="wrap")
    with pytest.raises(ValueError, match="embedding: padding_idx must be one of 2 rows, not 2"):
        F.embedding(opyard.tensor([0]), x, padding_idx=2)
