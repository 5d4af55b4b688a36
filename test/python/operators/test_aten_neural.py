"""test_aten_neural.py: pooling, normalisation, embedding, losses and attention beside NumPy.

Suspect kernels/neural and kernels/creation/random.cpp.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import close, tensors_of

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten, inner = opyard.ops.aten, opyard.ops.opyard
RANDOM = np.random.default_rng(5)
here, leaf = tensors_of(RANDOM)


def random(*shape):
    return RANDOM.standard_normal(shape)


@given(
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    size=st.integers(4, 9),
)
@settings(max_examples=60, deadline=None)
def test_pools_take_the_largest_and_the_mean_of_their_windows(kernel, stride, padding, size):
    padding = min(padding, kernel // 2)
    x = random(2, 3, size, size + 1)
    edges = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    windows = np.lib.stride_tricks.sliding_window_view
    low = windows(np.pad(x, edges, constant_values=-np.inf), (kernel, kernel), (2, 3))
    low = low[:, :, ::stride, ::stride]
    zero = windows(np.pad(x, edges), (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
    image = opyard.from_numpy(x)
    values, places = aten.max_pool2d_with_indices(image, kernel, stride, padding)
    close(values, low.max((-1, -2)))
    flat = x.reshape(2, 3, -1)
    for n, c in np.ndindex(2, 3):
        np.testing.assert_array_equal(flat[n, c][places.numpy()[n, c]], values.numpy()[n, c])
    close(aten.avg_pool2d(image, kernel, stride, padding), zero.mean((-1, -2)))
    inside = np.where(np.isinf(low), 0, low).sum((-1, -2)) / np.isfinite(low).sum((-1, -2))
    close(aten.avg_pool2d(image, kernel, stride, padding, False, False), inside)


@given(size=st.integers(1, 9), count=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_adaptive_pools_cover_the_image(size, count):
    x = random(2, 3, size)
    parts = [slice(i * size // count, -(-((i + 1) * size) // count)) for i in range(count)]
    image = opyard.from_numpy(x)
    mean = np.stack([x[:, :, part].mean(-1) for part in parts], -1)
    close(aten.adaptive_avg_pool1d(image, [count]), mean)
    largest = np.stack([x[:, :, part].max(-1) for part in parts], -1)
    close(aten.adaptive_max_pool1d(image, [count])[0], largest)


def test_ceil_mode_adds_a_window_that_begins_inside():
    x = opyard.arange(5, dtype=opyard.float32).reshape([1, 5])
    assert aten.max_pool1d(x, 2, 2).tolist() == [[1, 3]]
    assert aten.max_pool1d(x, 2, 2, 0, 1, True).tolist() == [[1, 3, 4]]
    assert aten.max_pool1d(opyard.tensor([[1.0, math.nan, 3.0]]), 3).isnan().tolist() == [[True]]


def normalised(x, axes, eps=1e-5):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_normalisations_are_by_their_dimensions():
    x, w, b = random(4, 6, 5), random(6), random(6)
    image, weight, bias = (opyard.from_numpy(a) for a in (x, w, b))
    scale, shift = w.reshape(1, 6, 1), b.reshape(1, 6, 1)
    close(aten.layer_norm(image, [6, 5]), normalised(x, (1, 2)))
    v = opyard.from_numpy(random(5))
    close(aten.layer_norm(image, [5], v, v), normalised(x, 2) * v.numpy() + v.numpy())
    close(
        aten.rms_norm(image, [5], v, 0.1), x / np.sqrt((x * x).mean(2)[..., None] + 0.1) * v.numpy()
    )
    groups = normalised(x.reshape(4, 3, 10), 2).reshape(x.shape)
    close(aten.group_norm(image, 3, weight, bias), groups * scale + shift)
    mean, var = np.zeros(6), np.ones(6)
    running = opyard.from_numpy(mean.copy()), opyard.from_numpy(var.copy())
    result = aten.batch_norm(image, weight, bias, *running, True, 0.1, 1e-5, False)
    close(result, normalised(x, (0, 2)) * scale + shift)
    close(running[0], x.mean((0, 2)) * 0.1)
    close(running[1], 0.9 + x.var((0, 2), ddof=1) * 0.1)
    result = aten.batch_norm(image, weight, bias, *running, False, 0.1, 1e-5, False)
    means, variances = (a.numpy().reshape(1, 6, 1) for a in running)
    close(result, (x - means) / np.sqrt(variances + 1e-5) * scale + shift)
    close(
        aten.instance_norm(image, None, None, None, None, True, 0.1, 1e-5, False), normalised(x, 2)
    )


def test_batch_norm_that_writes_nothing_gives_running_moments_back():
    x, w, b = random(4, 6, 5), random(6), random(6)
    image, weight, bias = (opyard.from_numpy(a) for a in (x, w, b))
    for training in (True, False):
        passed, written = [
            [opyard.from_numpy(np.zeros(6) + 0.5), opyard.from_numpy(np.ones(6))] for _ in range(2)
        ]
        result = aten._native_batch_norm_legit_functional(
            image, weight, bias, *passed, training, 0.1, 1e-5
        )
        expected = aten.native_batch_norm(image, weight, bias, *written, training, 0.1, 1e-5)
        assert [a.tolist() for a in result[:3]] == [a.tolist() for a in expected]
        assert [a.tolist() for a in result[3:]] == [a.tolist() for a in written]
        assert passed[0].tolist() == [0.5] * 6 and passed[1].tolist() == [1.0] * 6


def test_lstm_cell_is_its_formula():
    x, h, c = random(3, 4), random(3, 2), random(3, 2)
    w_ih, w_hh, b_ih, b_hh = random(8, 4), random(8, 2), random(8), random(8)
    tensors = [opyard.from_numpy(a) for a in (x, h, c, w_ih, w_hh, b_ih, b_hh)]

    def cell_of(gates):
        kept, forgotten, new, out = np.split(gates, 4, axis=1)
        sigmoid = lambda a: 1 / (1 + np.exp(-a))  # noqa: E731
        cell = sigmoid(forgotten) * c + sigmoid(kept) * np.tanh(new)
        return sigmoid(out) * np.tanh(cell), cell

    hx = tensors[1:3]
    result = aten.lstm_cell(tensors[0], hx, *tensors[3:])
    for ours, wanted in zip(result, cell_of(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh), strict=True):
        close(ours, wanted)
    result = aten.lstm_cell(tensors[0], hx, *tensors[3:5])
    for ours, wanted in zip(result, cell_of(x @ w_ih.T + h @ w_hh.T), strict=True):
        close(ours, wanted)


def sequence_weights(gates, columns, hidden, cells):
    """w_ih, w_hh, b_ih and b_hh of each cell; `columns` is what each takes."""
    return [
        [
            *(random(gates * hidden, size) for size in (columns[cell], hidden)),
            *(random(gates * hidden) for _ in range(2)),
        ]
        for cell in range(cells)
    ]


@pytest.mark.parametrize("name, gates", [("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)])
def test_a_recurrent_network_is_its_cell_step_by_step(name, gates):
    weights = sequence_weights(gates, [3, 3, 4, 4], 2, 4)  # two layers of two directions
    params = [opyard.from_numpy(one) for cell in weights for one in cell]
    input_, states = opyard.from_numpy(random(5, 7, 3)), [opyard.from_numpy(random(4, 7, 2))]
    if name == "lstm":
        states.append(opyard.from_numpy(random(4, 7, 2)))
    hx = states if name == "lstm" else states[0]
    step = getattr(aten, f"{name}_cell")

    def run(rows, cell):
        state, outputs = [one[cell] for one in states], []
        for row in rows:
            given = step(row, state if name == "lstm" else state[0], *params[4 * cell :][:4])
            state = list(given) if name == "lstm" else [given]
            outputs.append(state[0])
        return outputs, state

    rows, last = [input_[i] for i in range(5)], []
    for layer in range(2):
        there, state = run(rows, 2 * layer)
        last.append(state)
        back, state = run(rows[::-1], 2 * layer + 1)
        last.append(state)
        rows = [aten.cat(pair, 1) for pair in zip(there, back[::-1], strict=True)]
    call = getattr(aten, name)
    found = call(input_, hx, params, True, 2, 0.0, False, True, False)
    close(found[0], np.stack([np.asarray(row) for row in rows]))
    for ours, *wanted in zip(found[1:], *last, strict=True):
        close(ours, np.stack([np.asarray(one) for one in wanted]))
    turned = call(input_.transpose(0, 1), hx, params, True, 2, 0.0, False, True, True)
    close(turned[0], np.asarray(found[0]).transpose(1, 0, 2))


def test_a_gated_unit_is_its_formula():
    x, h = random(3, 4), random(3, 2)
    w_ih, w_hh, b_ih, b_hh = random(6, 4), random(6, 2), random(6), random(6)
    sigmoid = lambda a: 1 / (1 + np.exp(-a))  # noqa: E731
    reset_x, update_x, new_x = np.split(x @ w_ih.T + b_ih, 3, axis=1)
    reset_h, update_h, new_h = np.split(h @ w_hh.T + b_hh, 3, axis=1)
    update = sigmoid(update_x + update_h)
    new = np.tanh(new_x + sigmoid(reset_x + reset_h) * new_h)
    tensors = [opyard.from_numpy(a) for a in (x, h, w_ih, w_hh, b_ih, b_hh)]
    close(aten.gru_cell(*tensors), update * h + (1 - update) * new)


def test_running_moments_get_no_history():
    x = here(4, 3).requires_grad_()
    running = opyard.zeros(3, dtype=opyard.float64), opyard.ones(3, dtype=opyard.float64)
    aten.batch_norm(x, None, None, *running, True, 0.1, 1e-5, False)
    assert not running[0].requires_grad


def test_embedding_takes_rows_and_their_gradients_add():
    table = opyard.arange(8, dtype=opyard.float64).reshape([4, 2]).requires_grad_()
    indices = opyard.tensor([[1, 3], [1, 0]])
    rows = aten.embedding(table, indices, 0)
    assert rows.tolist() == [[[2, 3], [6, 7]], [[2, 3], [0, 1]]]
    rows.sum().backward()
    assert table.grad.tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]
    with pytest.raises(IndexError, match="4 at \\[0\\], out of range"):
        aten.embedding(table, opyard.tensor([4]))


def bags_by_hand(w, rows, offsets, mode, padding, weights):
    """Bag by bag: what embedding_bag gives, in NumPy."""
    ends = [*offsets[1:], len(rows)]
    made = np.zeros((len(offsets), w.shape[1]))
    for bag, (begin, end) in enumerate(zip(offsets, ends, strict=True)):
        places = [i for i in range(begin, end) if rows[i] != padding]
        if places:
            lines = w[rows[places]] * weights[places][:, None]
            made[bag] = [lines.sum(0), lines.mean(0), lines.max(0)][mode]
    return made


@pytest.mark.parametrize("dtype", [opyard.int64, opyard.int32])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [-1, 2])
def test_bags_of_rows_are_added_up_averaged_or_compared(dtype, mode, padding):
    rows, offsets = np.array([3, 2, 2, 0, 4, 2, 1]), [0, 3, 3, 5, 6]
    w, weights = random(5, 3), random(7) if mode == 0 else np.ones(7)
    numbers = opyard.tensor(rows, dtype=dtype), opyard.tensor(offsets, dtype=dtype)
    given = opyard.tensor(weights) if mode == 0 else None
    bags, each, sizes, largest = aten._embedding_bag(
        opyard.tensor(w), *numbers, False, mode, False, given, False, padding
    )
    close(bags, bags_by_hand(w, rows, offsets, mode, padding, weights))
    assert each.dtype == sizes.dtype == largest.dtype == dtype
    assert each.tolist() == [0, 0, 0, 2, 2, 3, 4]
    if mode > 0:
        assert sizes.tolist() == ([1, 0, 2, 0, 1] if padding == 2 else [3, 0, 2, 1, 1])
    if mode == 2:
        assert largest.tolist()[1] == [0, 0, 0]
        assert set(largest.tolist()[2]) <= {0, 4}
    ended = opyard.tensor([*offsets, 7], dtype=dtype)
    again = aten.embedding_bag(
        opyard.tensor(w), numbers[0], ended, False, mode, False, given, True, padding % 5
    )
    wanted = bags_by_hand(w, rows, offsets, mode, padding % 5, weights)
    close(again[0], wanted)


def test_a_frequent_row_gets_the_mean_of_its_gradients_where_that_is_asked_for():
    table = opyard.zeros((4, 2)).requires_grad_()
    rows, offsets = opyard.tensor([1, 3, 1, 0]), opyard.tensor([0, 3])
    aten.embedding_bag(table, rows, offsets, True)[0].sum().backward()
    assert table.grad.tolist() == [[1, 1], [1, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1]), "offsets is 1 at \\[0\\]; the first bag begins at 0"),
        (([0, 1], [0, 2, 1]), "offsets is 1 at \\[2\\]; no offset is less than"),
        (([0, 1], [0, 3]), "no offset is more than the number of indices"),
        (([0, 1], [0, 1], False, 0, False, None, True), "the last is the number of indices"),
        (([0, 1], [0], False, 3), "mode is 3; accepted are 0 \\(sum\\)"),
        (([0, 1], [0], False, 1, True), "sparse is True"),
        (([0, 5], [0]), "5 at \\[1\\], out of range"),
        (([[0, 1]], [0]), "indices is int64\\[1, 2\\]"),
    ],
)
def test_bags_that_cannot_be_are_refused(arguments, message):
    rows, offsets, *rest = arguments
    with pytest.raises((ValueError, IndexError, NotImplementedError), match=message):
        aten.embedding_bag(here(5, 3), opyard.tensor(rows), opyard.tensor(offsets), *rest)


@given(smoothing=st.sampled_from([0.0, 0.3]), reduction=st.integers(0, 2), weighted=st.booleans())
@settings(max_examples=20, deadline=None)
def test_cross_entropy_is_the_likelihood_of_the_classes(smoothing, reduction, weighted):
    x, w = random(5, 4), RANDOM.random(4)
    y = np.array([0, 3, -100, 1, 3])
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    use = w if weighted else np.ones(4)
    there = y >= 0
    of_class = np.where(there, use[y.clip(0)], 0)
    hard = -logs[np.arange(5), y.clip(0)] * of_class
    soft = np.where(there, -(logs * use).sum(1), 0)
    losses = hard * (1 - smoothing) + soft * smoothing / 4
    expected = [losses, losses.sum() / of_class.sum(), losses.sum()][reduction]
    weight = opyard.from_numpy(w) if weighted else None
    close(
        aten.cross_entropy_loss(
            opyard.from_numpy(x), opyard.from_numpy(y), weight, reduction, -100, smoothing
        ),
        expected,
    )


def test_losses_are_what_they_are_called():
    x, y = random(3, 4), random(3, 4)
    a, b = opyard.from_numpy(x), opyard.from_numpy(y)
    d = np.abs(x - y)
    close(aten.mse_loss(a, b), (d * d).mean())
    close(aten.l1_loss(a, b, 2), d.sum())
    close(aten.smooth_l1_loss(a, b, 0, 0.5), np.where(d < 0.5, d * d, d - 0.25))
    close(aten.huber_loss(a, b, 0, 0.5), np.where(d <= 0.5, d * d / 2, 0.5 * (d - 0.25)))
    p, t = 1 / (1 + np.exp(-x)), RANDOM.random((3, 4))
    expected = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    target = opyard.from_numpy(t)
    close(aten.binary_cross_entropy(opyard.from_numpy(p), target, None, 0), expected)
    close(aten.binary_cross_entropy_with_logits(a, target, None, None, 0), expected)
    close(aten.kl_div(a, target, 0), t * np.log(t) - t * x)
    with pytest.raises(ValueError, match="reduction is 3; accepted are 0 for none"):
        aten.mse_loss(a, b, 3)


@pytest.mark.parametrize("mask", ["none", "causal", "bool", "float"])
def test_attention_is_the_weighted_mean_of_values(mask):
    q, k, v = random(2, 4, 3, 8), random(2, 2, 5, 8), random(2, 2, 5, 6)
    scores = q @ np.repeat(k, 2, 1).swapaxes(-1, -2) / math.sqrt(8)
    given = None
    if mask == "causal":
        scores = np.where(np.tri(3, 5, dtype=bool), scores, -np.inf)
    if mask == "bool":
        allowed = RANDOM.random((3, 5)) < 0.7
        allowed[:, 0] = True
        given, scores = opyard.from_numpy(allowed), np.where(allowed, scores, -np.inf)
    if mask == "float":
        bias = random(3, 5)
        given, scores = opyard.from_numpy(bias), scores + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    tensors = [opyard.from_numpy(a) for a in (q, k, v)]
    result = aten.scaled_dot_product_attention(
        *tensors, given, 0.0, mask == "causal", enable_gqa=True
    )
    close(result, weights @ np.repeat(v, 2, 1))


def test_random_numbers_are_repeated_by_their_seed():
    opyard.manual_seed(7)
    first = aten.rand([3], dtype=opyard.float64).tolist()
    again = aten.randn([2]).tolist()
    opyard.manual_seed(7)
    assert aten.rand([3], dtype=opyard.float64).tolist() == first
    assert aten.randn([2]).tolist() == again
    opyard.manual_seed(0)
    # The first words of Philox 4x32-10 for a key and a counter of 0.
    assert (
        first[0]
        != aten.rand([1], dtype=opyard.float64).item()
        == (0x6627E8D5E169C58D >> 11) / 2**53
    )
    numbers = aten.rand([20000]).numpy()
    assert 0 <= numbers.min() and numbers.max() < 1 and abs(numbers.mean() - 0.5) < 0.01
    numbers = aten.randn([20000]).numpy()
    assert abs(numbers.mean()) < 0.03 and abs(numbers.std() - 1) < 0.03
    assert sorted(aten.randperm(50).tolist()) == list(range(50))
    numbers = aten.randint(-2, 3, [1000]).numpy()
    assert set(numbers.tolist()) == {-2, -1, 0, 1, 2}


def test_dropout_keeps_the_mean_and_its_gradient_the_mask():
    x = opyard.ones(4000, dtype=opyard.float64).requires_grad_()
    y = aten.dropout(x, 0.25, True)
    assert set(y.tolist()) == {0.0, 1 / 0.75}
    assert abs(y.mean().item() - 1) < 0.1
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert aten.dropout(x, 0.25, False).tolist() == [1.0] * 4000
    with pytest.raises(ValueError, match="p is 1.5; accepted are 0 to 1"):
        aten.dropout(x, 1.5, True)


CLASSES = opyard.tensor([1, 0, 2])
BAGS = opyard.tensor([0, 2])
CASES = [
    (lambda x: aten.max_pool2d(x, 2, 1, 1), [(1, 2, 3, 4)]),
    (lambda x: aten.max_pool3d(x, 2), [(1, 2, 3, 2)]),
    (lambda x: aten.avg_pool1d(x, 2, 1, 1), [(2, 3, 4)]),
    (lambda x: aten.avg_pool2d(x, 2, 2, 1, True, False), [(1, 2, 3, 4)]),
    (lambda x: aten.avg_pool3d(x, 2, 1, 0, False, True, 3), [(1, 2, 3, 2)]),
    (lambda x: aten.adaptive_avg_pool2d(x, [2, 3]), [(1, 2, 3, 4)]),
    (lambda x: aten.adaptive_max_pool2d(x, [2, 3])[0], [(1, 2, 3, 4)]),
    (lambda x, w, b: aten.layer_norm(x, [3], w, b), [(2, 3), (3,), (3,)]),
    (lambda x, w: aten.rms_norm(x, [3], w, 0.1), [(2, 3), (3,)]),
    (lambda x, w, b: aten.group_norm(x, 2, w, b), [(2, 4, 2), (4,), (4,)]),
    (
        lambda x, w, b: aten.batch_norm(x, w, b, None, None, True, 0.1, 1e-5, False),
        [(3, 2, 2), (2,), (2,)],
    ),
    (
        lambda x, h, c, w, v, b: sum(aten.lstm_cell(x, [h, c], w, v, b, b)),
        [(2, 3), (2, 1), (2, 1), (4, 3), (4, 1), (4,)],
    ),
    (lambda w: aten.embedding(w, CLASSES) * w.sum(), [(3, 2)]),
    (
        lambda w, s: aten.embedding_bag(w, CLASSES, BAGS, False, 0, False, s)[0] * w.sum(),
        [(3, 2), (3,)],
    ),
    (lambda w: aten.embedding_bag(w, CLASSES, BAGS, True, 1)[0] * w.sum(), [(3, 2)]),
    (lambda w: aten.embedding_bag(w, CLASSES, BAGS, False, 2)[0] * w.sum(), [(3, 2)]),
    (lambda x: aten.cross_entropy_loss(x, CLASSES, None, 1, -100, 0.1), [(3, 3)]),
    (lambda x: aten.nll_loss(x, CLASSES), [(3, 3)]),
    (lambda x, y: aten.mse_loss(x, y), [(2, 3), (2, 3)]),
    (lambda x, y: aten.huber_loss(x, y, 2), [(2, 3), (2, 3)]),
    (lambda x, y: aten.binary_cross_entropy_with_logits(x, y), [(2, 3), (2, 3)]),
    (
        lambda q, k, v: aten.scaled_dot_product_attention(q, k, v, None, 0.0, True),
        [(1, 3, 2), (1, 3, 2), (1, 3, 2)],
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_X31_gradients_are_what_differences_say(case):
    fn, shapes = CASES[case]
    assert autograd.gradcheck(fn, [leaf(*shape) for shape in shapes])
    assert autograd.gradgradcheck(fn, [leaf(*shape) for shape in shapes])


PLACES = opyard.tensor([0, 1, 0])


def cell(h=None, c=None, w=None, v=None, b=None):
    return aten.lstm_cell(
        here(2, 3),
        [here(2, 1) if h is None else h, here(2, 1) if c is None else c],
        here(4, 3) if w is None else w,
        here(4, 1) if v is None else v,
        b,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: aten.max_pool2d(here(1, 1, 3, 3), 4), "would have no elements"),
        (lambda: aten.max_pool2d(here(1, 1, 3, 3), 2, 1, 2), "at most half of it"),
        (lambda: aten.avg_pool2d(here(1, 1, 3, 3), 0), "numbers from 1 to 2147483647"),
        (lambda: aten.max_pool2d(here(1, 1, 3, 3), 2, 2**62), "stride is .*; one or 2 numbers"),
        (lambda: aten.conv2d(here(1, 1, 3, 3), here(1, 1, 1, 1), None, 2**62), "stride is"),
        (lambda: aten.im2col(here(1, 3, 3), 2**62, 1, 0, 1), "the image is 3 by 3"),
        (lambda: aten.adaptive_avg_pool1d(here(1, 4), []), "output_size is \\[\\]; one size"),
        (lambda: aten.adaptive_max_pool1d(here(1, 4), [2, 2]), "output_size is .*; one size"),
        (lambda: aten.adaptive_avg_pool2d(here(1, 3, 3), [2]), "output_size is .*; 2 sizes"),
        (lambda: aten.adaptive_max_pool2d(here(1, 3, 3), [2]), "output_size is .*; 2 sizes"),
        (lambda: aten.adaptive_max_pool3d(here(1, 3, 3, 3), [2]), "output_size is .*; 3 sizes"),
        (lambda: inner.adaptive_as(here(1, 3, 3), [2], 2), "dims is 2 and sizes is"),
        (lambda: inner.adaptive_as(here(1, 3, 3), [2, 2], 7), "dims is 7 and sizes is"),
        (lambda: inner.max_pool_scatter(here(3), PLACES, [2], -1), "dims, which is -1"),
        (lambda: inner.max_pool_scatter(here(3), PLACES, [2], 2), "dims, which is 2"),
        (lambda: aten.layer_norm(here(2, 3), [2]), "normalized_shape is \\[2\\]"),
        (lambda: aten.group_norm(here(2, 3), 2), "it must divide the number of channels, 3"),
        (lambda: aten.nll_loss(here(2, 3), opyard.tensor([1])), "an int64 target with"),
        (lambda: aten.randint(3, 3, [2]), "low must be the smaller one"),
        (lambda: cell(w=here(3, 3)), "w_ih is .*; its sizes must be 4 and 3"),
        (lambda: cell(v=here(4, 2)), "w_hh is .*; its sizes must be 4 and 1"),
        (lambda: cell(h=here(1, 1)), "the output is .*; its sizes must be 2 and 1"),
        (lambda: cell(c=here(2)), "the cell is .*; each must have two dimensions"),
        (lambda: cell(b=here(3)), "b_ih is .*; its size must be 4"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_window_may_begin_far_outside_of_the_image():
    image = here(1, 1, 1, 5)
    far = [0, 2**29]
    assert aten.max_pool2d(image, [1, 2**30], [1, 2**30], far).item() == aten.max(image).item()


@given(size=st.integers(1, 6), out=st.integers(1, 9), aligned=st.booleans())
@settings(max_examples=40, deadline=None)
def test_upsampling_reads_the_nearest_or_between_two(size, out, aligned):
    x = random(1, 2, size)
    image = opyard.from_numpy(x)
    close(aten.upsample_nearest1d(image, [out]), x[..., np.arange(out) * size // out])
    if aligned:
        places = np.linspace(0, size - 1, out) if out > 1 else np.zeros(1)
    else:
        places = ((np.arange(out) + 0.5) * size / out - 0.5).clip(0)
    expected = [[np.interp(places, np.arange(size), line) for line in page] for page in x]
    close(aten.upsample_linear1d(image, [out], aligned), np.array(expected))


def cubics(size, out, aligned):
    """The part of each element in each of the result."""
    step = ((size - 1) / (out - 1) if out > 1 else 0) if aligned else size / out
    parts = np.zeros((out, size))
    for i in range(out):
        at = step * i if aligned else step * (i + 0.5) - 0.5
        for tap in range(math.floor(at) - 1, math.floor(at) + 3):
            far = abs(at - tap)
            near = 1.25 * far**3 - 2.25 * far**2 + 1
            part = near if far <= 1 else -0.75 * (far**3 - 5 * far**2 + 8 * far - 4)
            parts[i, min(max(tap, 0), size - 1)] += part
    return parts


@given(rows=st.integers(1, 5), out=st.integers(1, 9), aligned=st.booleans())
@settings(max_examples=30, deadline=None)
def test_bicubic_upsampling_reads_four_neighbours(rows, out, aligned):
    x = random(1, 2, rows, 4)
    made = aten.upsample_bicubic2d(opyard.from_numpy(x), [out, 7], aligned)
    close(made, cubics(rows, out, aligned) @ x @ cubics(4, 7, aligned).T)
    exact = aten._upsample_nearest_exact2d(opyard.from_numpy(x), [out, 4])
    close(exact, x[:, :, ((np.arange(out) + 0.5) * np.float32(rows / out)).astype(int)])


def test_upsampling_takes_factors():
    x = leaf(1, 1, 3, 2)
    by_factor = aten.upsample_bicubic2d(x, None, False, [2.0, 1.5])
    assert by_factor.tolist() == aten.upsample_bicubic2d(x, [6, 3], False, 2.0, 1.5).tolist()
    for dims in (1, 2, 3):
        wide = leaf(1, 1, *([2] * dims))
        exact = getattr(aten, f"_upsample_nearest_exact{dims}d")
        assert exact(wide, None, [2.0] * dims).shape == (1, 1, *([4] * dims))
        assert exact(wide, None, [2.0] * dims).tolist() == exact(wide, [4] * dims).tolist()
        assert autograd.gradcheck(lambda x, exact=exact, dims=dims: exact(x, [3] * dims), [wide])
    assert autograd.gradcheck(lambda x: aten.upsample_bicubic2d(x, [4, 5], False), [x])
    meta = aten.upsample_bicubic2d(aten.empty([1, 2, 3, 4], device="meta"), [6, 5], False)
    assert tuple(meta.shape) == (1, 2, 6, 5)
    with pytest.raises(ValueError, match="aten::upsample_bicubic2d: self is .*output_size"):
        aten.upsample_bicubic2d(x, [0, 1], False)


def test_grid_sampler_reads_where_the_grid_says():
    x = opyard.arange(6, dtype=opyard.float64).reshape([1, 1, 2, 3])
    grid = opyard.tensor(
        [[[[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0], [3.0, 0.0]]]], dtype=opyard.float64
    )
    assert aten.grid_sampler_2d(x, grid, 0, 0, True).tolist() == [[[[0, 2.5, 5, 0]]]]
    assert aten.grid_sampler_2d(x, grid, 0, 1, True).tolist() == [[[[0, 2.5, 5, 3.5]]]]
    assert autograd.gradcheck(
        lambda x, g: aten.grid_sampler_2d(x, g, 0, 2, False), [leaf(1, 1, 3, 4), leaf(1, 2, 2, 2)]
    )
    assert autograd.gradcheck(
        lambda x: aten.upsample_bilinear2d(x, None, True, [2.0, 1.5]), [leaf(1, 1, 2, 3)]
    )


@pytest.mark.parametrize("dtype", [opyard.float16, opyard.bfloat16, opyard.float32])
def test_sums_of_bags_without_padding_have_no_bag_of_each_row(dtype):
    table, rows = opyard.ones(5, 3, dtype=dtype), opyard.tensor([0, 2, 4, 1])
    offsets = opyard.tensor([0, 2, 4])
    for call, more in ((aten._embedding_bag, 0), (aten._embedding_bag_forward_only, 1)):
        result = call(table, rows, offsets, False, 0, False, None, True, -1)
        assert [each.shape for each in result] == [(2, 3), (0,), (2 + more,), (2 + more,)]
        assert result[0].tolist() == [[2] * 3] * 2
        padded = call(table, rows, offsets, False, 0, False, None, True, 1)
        assert [each.shape for each in padded] == [(2, 3), (4,), (2 + more,), (2 + more,)]


def test_the_gradients_of_no_groups_are_refused():
    x, mean = opyard.ones(1, 2, 2), opyard.ones(1, 1)
    with pytest.raises(ValueError, match="native_group_norm_backward: .*number of groups is 0"):
        aten.native_group_norm_backward(x, x, mean, mean, None, 1, 2, 2, 0, [True, True, True])


def test_attention_to_nothing_is_zero_as_are_its_gradients():
    allowed = opyard.tensor([[True, True], [False, False], [True, False]])
    bias = opyard.zeros(3, 2, dtype=opyard.float64).masked_fill(~allowed, -math.inf)

    def run(mask):
        parts = [[[1.0, 0.0], [0.5, 2.0], [1.0, 1.0]], [[1.0, 0.3], [0.5, 2.0]], [[1.0, 2.0]] * 2]
        given = [
            opyard.tensor([[part]], dtype=opyard.float64, requires_grad=True) for part in parts
        ]
        result = aten.scaled_dot_product_attention(*given, mask)
        weights = opyard.arange(6, dtype=opyard.float64).reshape(3, 2)
        wanted = [*given, mask] if mask.requires_grad else given
        first = autograd.grad((result * result * weights).sum(), wanted, create_graph=True)
        second = autograd.grad(sum((one * one).sum() for one in first), given)
        return [each.detach().numpy() for each in (result, *first[:3], *second)], first[3:]

    by_bool, _ = run(allowed)
    assert by_bool[0][0, 0, 1].tolist() == [0.0, 0.0] and np.isfinite(np.concatenate(
        [each.ravel() for each in by_bool])).all()  # fmt: skip
    for one, other in zip(run(bias)[0], by_bool, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)
    _, (of_mask,) = run(bias.requires_grad_())
    assert of_mask.isfinite().all() and of_mask[1].tolist() == [0.0, 0.0]
    none = opyard.zeros(3, 0)
    empty = aten.scaled_dot_product_attention(
        opyard.ones(3, 2), opyard.ones(0, 2), opyard.ones(0, 2), none
    )
    assert empty.tolist() == [[0.0, 0.0]] * 3
