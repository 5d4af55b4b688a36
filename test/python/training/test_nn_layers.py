"""test_nn_layers.py: layers with weights compute what they say, and refuse what does not fit.

Suspect opyard/_nn, the layer's own file. Results are compared with NumPy's of the same formula.
"""

import pytest

import opyard
from opyard import nn

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def seeded():
    opyard.manual_seed(5)


def random(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def near(ours, wanted):
    np.testing.assert_allclose(ours.detach().numpy(), wanted, rtol=2e-4, atol=2e-5)


def test_one_seed_gives_the_same_layers():
    opyard.manual_seed(7)
    first = [nn.Linear(2, 3).weight.tolist(), nn.Embedding(3, 2).weight.tolist()]
    opyard.manual_seed(7)
    assert [nn.Linear(2, 3).weight.tolist(), nn.Embedding(3, 2).weight.tolist()] == first
    assert nn.Linear(2, 3).weight.tolist() != first[0]
    opyard.manual_seed(7)
    drawn = opyard.ops.aten.rand([3]).tolist()
    assert opyard.ops.aten.rand([3]).tolist() != drawn
    opyard.manual_seed(7)
    assert opyard.ops.aten.rand([3]).tolist() == drawn
    with pytest.raises(TypeError):
        opyard.manual_seed("7")


def test_a_convolution_sums_over_windows():
    layer, x = nn.Conv2d(2, 3, (2, 3), stride=(1, 2), padding=(0, 1)), random(2, 2, 4, 5)
    weight, padded = layer.weight.detach().numpy(), np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 1)))
    wanted = np.zeros((2, 3, 3, 3), np.float32)
    for row in range(3):
        for column in range(3):
            window = padded[:, :, row : row + 2, 2 * column : 2 * column + 3]
            wanted[:, :, row, column] = np.einsum("nchw,ochw->no", window, weight)
    near(layer(opyard.from_numpy(x)), wanted + layer.bias.detach().numpy()[:, None, None])
    assert np.abs(weight).max() <= 12**-0.5
    with pytest.raises(ValueError, match="multiples of groups, 2, not 3 and 4"):
        nn.Conv2d(3, 4, 1, groups=2)
    with pytest.raises(ValueError, match="kernel_size must be one int or two"):
        nn.Conv2d(1, 1, (1, 2, 3))
    with pytest.raises(ValueError, match="padding must be at least 0, not -1"):
        nn.Conv2d(1, 1, 1, padding=-1)


def test_layer_norm_normalizes_the_last_dimensions():
    layer, x = nn.LayerNorm((3, 4)), random(2, 3, 4)
    with opyard.autograd.no_grad():
        layer.weight.mul_(2.0)
        layer.bias.add_(1.0)
    mean, variance = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    near(layer(opyard.from_numpy(x)), (x - mean) / np.sqrt(variance + 1e-5) * 2 + 1)
    assert list(nn.LayerNorm(2, bias=False).state_dict()) == ["weight"]
    assert not nn.LayerNorm(2, elementwise_affine=False).state_dict()
    with pytest.raises(ValueError, match=r"the last sizes of x must be \[3, 4\]"):
        layer(opyard.ones(4, 3))


def test_batch_norm_keeps_running_statistics():
    layer, x = nn.BatchNorm2d(3), random(4, 3, 2, 5)
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    shaped = [each.reshape(1, 3, 1, 1) for each in (mean, variance)]
    near(layer(opyard.from_numpy(x)), (x - shaped[0]) / np.sqrt(shaped[1] + 1e-5))
    near(layer.running_mean, 0.1 * mean)
    near(layer.running_var, 0.9 + 0.1 * x.var((0, 2, 3), ddof=1))
    assert layer.num_batches_tracked.item() == 1
    kept = layer.running_mean.numpy().reshape(1, 3, 1, 1)
    spread = layer.running_var.numpy().reshape(1, 3, 1, 1)
    near(layer.eval()(opyard.from_numpy(x)), (x - kept) / np.sqrt(spread + 1e-5))
    assert layer.num_batches_tracked.item() == 1
    with pytest.raises(ValueError, match=r"the shape \[n, 3, rows, columns\]"):
        layer(opyard.ones(2, 4, 2, 2))
    with pytest.raises(ValueError, match="one element has no variance"):
        nn.BatchNorm2d(1)(opyard.ones(1, 1, 1, 1))


def test_an_embedding_looks_rows_up_and_leaves_padding_alone():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    indices = opyard.tensor([[0, 3], [3, 2]])
    found = layer(indices)
    near(found, layer.weight.detach().numpy()[indices.numpy()])
    assert layer.weight.tolist()[3] == [0.0, 0.0]
    found.sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    numbers = nn.Embedding(100, 100).weight.detach().numpy()
    assert abs(numbers.mean()) < 0.05 and abs(numbers.std() - 1) < 0.05
    with pytest.raises(TypeError, match="indices must be int64 or int32, not opyard.float32"):
        layer(opyard.ones(2))
    with pytest.raises(ValueError, match="padding_idx must be one of 2 rows, not 2"):
        nn.Embedding(2, 2, padding_idx=2)
    with pytest.raises(IndexError):
        layer(opyard.tensor([4]))


def test_dropout_leaves_out_a_share_while_it_trains():
    layer, ones = nn.Dropout(0.25), opyard.ones(200, 200)
    found = layer(ones).numpy()
    assert set(np.unique(found)) == {np.float32(0), np.float32(4 / 3)}
    assert abs((found == 0).mean() - 0.25) < 0.02
    assert layer(ones).tolist() != found.tolist()
    assert layer.eval()(ones) is ones
    assert nn.Dropout(0.0)(ones) is ones and not nn.Dropout(1.0)(ones).any().item()
    with pytest.raises(ValueError, match="p must be a probability, from 0 to 1, not 1.5"):
        nn.Dropout(1.5)


def attended(layer, query, key, value, mask=None):
    """Attention by its formula, [n, places, embed_dim] in and out."""
    weight = layer.in_proj_weight.detach().numpy()
    bias = layer.in_proj_bias.detach().numpy()
    size, heads = layer.embed_dim, layer.num_heads
    parts = []
    for number, x in enumerate((query, key, value)):
        rows = slice(number * size, (number + 1) * size)
        x = x @ weight[rows].T + bias[rows]
        parts.append(x.reshape(*x.shape[:2], heads, size // heads).transpose(0, 2, 1, 3))
    q, k, v = parts
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(size // heads)
    scores = scores if mask is None else np.where(mask, -np.inf, scores)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    joined = (shares @ v).transpose(0, 2, 1, 3).reshape(query.shape)
    out = layer.out_proj
    return joined @ out.weight.detach().numpy().T + out.bias.detach().numpy(), shares.mean(1)


def test_attention_gathers_by_softmax_of_products():
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    query, other = random(2, 3, 4), random(2, 5, 4)
    wanted, shares = attended(layer, query, other, other)
    found, weights = layer(*map(opyard.from_numpy, (query, other, other)))
    near(found, wanted), near(weights, shares)
    turned = nn.MultiheadAttention(4, 2)
    turned.load_state_dict(layer.state_dict())
    given = [opyard.from_numpy(each.swapaxes(0, 1).copy()) for each in (query, other, other)]
    found, weights = turned(*given, need_weights=False)
    near(found, wanted.swapaxes(0, 1))
    assert weights is None
    single, weights = layer(*(opyard.from_numpy(each[0]) for each in (query, other, other)))
    near(single, wanted[0]), near(weights, shares[0])


def test_attention_passes_over_what_is_masked():
    layer, x = nn.MultiheadAttention(4, 1, batch_first=True), random(2, 3, 4)
    given = [opyard.from_numpy(x)] * 3
    later = np.triu(np.ones((3, 3), bool), 1)
    padding = np.array([[False, False, True], [False, False, False]])
    found, weights = layer(
        *given, attn_mask=opyard.from_numpy(later), key_padding_mask=opyard.from_numpy(padding)
    )
    wanted, shares = attended(layer, x, x, x, later | padding[:, None, None, :])
    near(found, wanted), near(weights, shares)
    added = np.where(later, np.float32(-1e9), np.float32(0))
    near(layer(*given, attn_mask=opyard.from_numpy(added))[0], attended(layer, x, x, x, later)[0])
    with pytest.raises(TypeError, match="a mask must be bool or opyard.float32, not opyard.int64"):
        layer(*given, attn_mask=opyard.tensor([[0] * 3] * 3))
    with pytest.raises(ValueError, match="key must have two or three dimensions"):
        layer(given[0], opyard.ones(3, 5), given[0])
    with pytest.raises(ValueError, match="a multiple of num_heads, not 4 of 3"):
        nn.MultiheadAttention(4, 3)


RANDOM = {
    "uniform_": (lambda w: nn.init.uniform_(w, -1, 3), 1, 4 / 12**0.5),
    "normal_": (lambda w: nn.init.normal_(w, 2, 0.5), 2, 0.5),
    "trunc_normal_": (lambda w: nn.init.trunc_normal_(w, 0, 1, -1, 1), 0, 0.5396),
    "xavier_uniform_": (lambda w: nn.init.xavier_uniform_(w, 2), 0, 2 * (2 / 3600) ** 0.5),
    "xavier_normal_": (nn.init.xavier_normal_, 0, (2 / 3600) ** 0.5),
    "kaiming_uniform_": (nn.init.kaiming_uniform_, 0, (2 / 2400) ** 0.5),
    "kaiming_normal_": (
        lambda w: nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="tanh"),
        0,
        5 / 3 * (1 / 1200) ** 0.5,
    ),
}


@pytest.mark.parametrize("name", RANDOM)
def test_weights_are_filled_with_random_numbers(name):
    fill, mean, deviation = RANDOM[name]
    weight = nn.Parameter(opyard.zeros(300, 600, 2, 2))
    assert fill(weight) is weight and weight.requires_grad and weight.grad_fn is None
    numbers = weight.detach().numpy().astype(np.float64)
    assert abs(numbers.mean() - mean) < 0.01 * deviation
    assert abs(numbers.std() / deviation - 1) < 0.01
    if name == "trunc_normal_":
        assert numbers.min() >= -1 and numbers.max() <= 1
    generator = opyard.Generator().manual_seed(3)
    drawn = nn.init.normal_(opyard.zeros(4), generator=generator).tolist()
    again = nn.init.normal_(opyard.zeros(4), generator=generator.manual_seed(3))
    assert drawn == again.tolist()


def test_weights_are_filled_with_what_is_known():
    assert nn.init.constant_(opyard.zeros(2), 3).tolist() == [3.0, 3.0]
    assert nn.init.ones_(opyard.zeros(2)).tolist() == [1.0, 1.0]
    assert nn.init.zeros_(opyard.ones(2)).tolist() == [0.0, 0.0]
    assert nn.init.eye_(opyard.ones(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    layer, x = nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False), opyard.randn(1, 4, 5, 5)
    nn.init.dirac_(layer.weight, groups=2)
    near(layer(x), x.numpy())
    for shape in ((3, 8), (8, 3), (4, 2, 3)):
        weight = nn.init.orthogonal_(opyard.zeros(*shape).double(), gain=2).numpy()
        flat = weight.reshape(shape[0], -1)
        flat = flat if flat.shape[0] <= flat.shape[1] else flat.T
        np.testing.assert_allclose(flat @ flat.T, 4 * np.eye(len(flat)), atol=1e-12)
    sparse = nn.init.sparse_(opyard.zeros(10, 4), 0.35).numpy()
    assert ((sparse == 0).sum(0) == 4).all()


def test_what_cannot_be_filled_is_refused():
    with pytest.raises(
        ValueError, match="^xavier_normal_: tensor must have at least 2 dimensions,"
    ):
        nn.init.xavier_normal_(opyard.zeros(3))
    with pytest.raises(
        TypeError, match="^uniform_: tensor must be a Tensor, not an object of list"
    ):
        nn.init.uniform_([1.0])
    with pytest.raises(
        ValueError, match="^calculate_gain: nonlinearity is one of linear, sigmoid, "
    ):
        nn.init.kaiming_normal_(opyard.zeros(2, 2), nonlinearity="swish")
    with pytest.raises(ValueError, match="^kaiming_uniform_: mode is fan_in or fan_out, not 'in'"):
        nn.init.kaiming_uniform_(opyard.zeros(2, 2), mode="in")
    with pytest.raises(
        ValueError, match="^trunc_normal_: hardly a number with mean 0.0 and std 1.0"
    ):
        nn.init.trunc_normal_(opyard.zeros(2), a=5.0, b=6.0)
    with pytest.raises(
        ValueError, match="^dirac_: tensor must have from 3 to 5 dimensions, and its"
    ):
        nn.init.dirac_(opyard.zeros(2, 2))


@pytest.mark.parametrize("slope", [None, 0.3])
@pytest.mark.parametrize("name", ["linear", "conv2d", "tanh", "relu", "selu", "leaky_relu"])
def test_gains_are_those_of_pytorch(name, slope):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    wanted = torch.nn.init.calculate_gain(name, slope)
    assert nn.init.calculate_gain(name, slope) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("shape", "dim"), [([3], 0), ([2, 3], 1), ([2, 3, 4], 0), ([2, 3, 4, 5], 1)]
)
@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Softmin"])
def test_softmax_without_dim_takes_the_one_that_pytorch_takes(name, shape, dim):
    x = opyard.rand(shape)
    layer = getattr(nn, name)
    wanted = layer(dim=dim)(x).tolist()
    if len(shape) == 1:
        assert layer()(x).tolist() == wanted
        return
    with pytest.warns(UserWarning, match=rf"{name}: without dim it is taken along dimension {dim}"):
        assert layer()(x).tolist() == wanted


def test_attention_gathers_nothing_for_rows_that_are_masked_away_whole():
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = opyard.rand([2, 4, 4]).requires_grad_()
    mask = opyard.tensor([[True] * 4, [True, False, False, False]])
    output, weights = layer(x, x, x, key_padding_mask=mask, need_weights=False)
    assert weights is None
    assert output[0].tolist() == [layer.out_proj.bias.tolist()] * 4
    output[1].sum().backward()
    assert x.grad[0].abs().sum().item() == 0 and x.grad[1].abs().sum().item() > 0
    for parameter in layer.parameters():
        assert not bool(parameter.grad.isnan().any())
    same = layer(x, x, x, key_padding_mask=mask)[0]
    assert same[1].tolist() == output[1].tolist()


def test_batches_of_none_are_no_channels_of_one_element():
    assert nn.BatchNorm2d(2)(opyard.zeros([0, 2, 3, 3])).shape == (0, 2, 3, 3)


@pytest.mark.parametrize("layer", [nn.Embedding, nn.EmbeddingBag])
def test_tables_of_given_rows_hold_the_rows_and_train_them_unless_frozen(layer):
    rows = opyard.from_numpy(random(4, 3))
    made = layer.from_pretrained(rows, padding_idx=1)
    assert made.weight.data_ptr() == rows.data_ptr() and made.padding_idx == 1
    assert not made.weight.requires_grad
    assert layer.from_pretrained(rows, freeze=False).weight.requires_grad
    name = f"^{layer.__name__}.from_pretrained: "
    for wrong in (rows[0], rows.numpy()):
        with pytest.raises(ValueError, match=name + r"embeddings must be a Tensor \[rows, size\]"):
            layer.from_pretrained(wrong)
    with pytest.raises(TypeError, match=name + "freeze must be"):
        layer.from_pretrained(rows, freeze=1)


SETTINGS = [
    {},
    {"freeze": False, "mode": "max"},
    {"mode": "sum", "include_last_offset": True, "padding_idx": 2},
    {"max_norm": 0.5, "norm_type": 1.0, "mode": "sum"},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_bag_of_given_rows_sums_as_pytorchs(settings):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    indices, offsets = np.array([0, 2, 3, 1, 2]), np.array([0, 2, 5])
    rows = random(4, 3)
    of_torch = torch.from_numpy(rows.copy())
    theirs = torch.nn.EmbeddingBag.from_pretrained(of_torch, **settings)
    wanted = theirs(torch.from_numpy(indices), torch.from_numpy(offsets))
    ours = nn.EmbeddingBag.from_pretrained(opyard.from_numpy(rows), **settings)
    found = ours(opyard.from_numpy(indices), opyard.from_numpy(offsets))
    np.testing.assert_allclose(
        found.detach().numpy(), wanted.detach().numpy(), rtol=1e-6, atol=1e-7
    )
    assert ours.weight.requires_grad == theirs.weight.requires_grad
