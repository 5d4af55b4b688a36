"""test_aten_exported.py: operators that programs have as PyTorch exports and traces them.

Suspect kernels/src/composition/other_names.cpp, one_hot.cpp, similarity.cpp; pointwise/shift.cpp
and where.cpp; reduction/histogram.cpp; neural/grid_sampler.cpp, multi_head.cpp.
"""

import numpy as np
import pytest

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten
NAN = float("nan")


def ints(*values, dtype="int64"):
    return opyard.tensor(list(values), dtype=getattr(opyard, dtype))


def numbers(*shape, dtype="float64"):
    values = np.sin(np.arange(1, np.prod(shape, dtype=int) + 1) * 1.7).reshape(shape)
    return opyard.from_numpy(np.asarray(values, dtype))


def close(got, wanted, digits=1e-12):
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=digits, atol=digits)


# Bits ----------------------------------------------------------------------------------------

A, B = np.array([[5, -6, 0]]), np.array([[3], [1]])
BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
        "lshift": np.left_shift, "rshift": np.right_shift}  # fmt: skip


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8"])
def test_operators_on_bits_are_numpys(name, dtype):
    a, b = A.astype(dtype), B.astype(dtype)
    function, own = getattr(aten, f"__{name}__"), getattr(aten, f"__i{name}__")
    x, y = opyard.from_numpy(a), opyard.from_numpy(b)
    assert function(x, y).tolist() == BITS[name](a, b).tolist()
    assert function(x, 2).tolist() == BITS[name](a, 2).tolist()
    for other, plain in ((y[:1], b[:1]), (2, 2)):
        written = x.clone()
        assert own(written, other) is written
        assert (written.tolist(), written.dtype) == (BITS[name](a, plain).tolist(), x.dtype)
    assert function(x, y).dtype == function(x, 2).dtype == x.dtype
    assert function(aten.to(x, device="meta"), aten.to(y, device="meta")).shape == (2, 3)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_operators_on_bits_take_bools(name):
    x, y = opyard.tensor([True, False, True]), opyard.tensor([True, True, False])
    made = getattr(aten, f"__{name}__")(x, y)
    assert (made.tolist(), made.dtype) == (BITS[name](x.numpy(), y.numpy()).tolist(), opyard.bool)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_no_bit_is_left_of_a_shift_by_all_of_them_and_more(dtype):
    bits = np.dtype(dtype).itemsize * 8
    x = ints(5, 1, dtype=dtype)
    for by in (bits, 100, *([] if dtype == "uint8" else [-1])):
        for shift in (aten.bitwise_left_shift, aten.bitwise_right_shift):
            assert shift(x, by).tolist() == [0, 0]
            assert shift(x, aten.full([2], by, dtype=x.dtype)).tolist() == [0, 0]
    assert aten.__rshift__(ints(-5, dtype="int16"), 20).tolist() == [-1]
    assert aten.bitwise_left_shift(3, ints(1, 2)).tolist() == [6, 12]
    with pytest.raises(TypeError, match="integers are needed"):
        aten.__lshift__(numbers(2), 1)
    with pytest.raises(TypeError, match="integers are needed"):
        aten.bitwise_left_shift(opyard.tensor([True]), opyard.tensor([True]))


# Choices, conversions, names -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("number", [2, 2.5, True, 1j])
def test_where_takes_numbers_that_count_by_their_category(dtype, number):
    condition = opyard.tensor([True, False])
    x = aten.to(opyard.tensor([1, 0]), getattr(opyard, dtype))
    wanted = aten.add(x, number).dtype if not isinstance(number, bool) else x.dtype
    other, own = aten.where(condition, x, number), aten.where(condition, number, x)
    assert (other.dtype, own.dtype) == (wanted, wanted)
    assert other.tolist() == [x.tolist()[0], number] and own.tolist() == [number, x.tolist()[1]]


def test_where_of_two_numbers():
    condition = opyard.tensor([[True, False]])
    for a, b, dtype in ((1, 2, "int64"), (1, 2.5, "float32"), (True, False, "bool")):
        made = aten.where(condition, a, b)
        assert (made.tolist(), made.dtype) == ([[a, b]], getattr(opyard, dtype))


def test_to_dtype_layout_converts_and_refuses_what_is_not_here():
    x = opyard.tensor([1.5, 2.0])
    assert aten.to.dtype_layout(x) is x
    assert aten.to.dtype_layout(x, copy=True) is not x
    assert aten.to.dtype_layout(x, dtype=opyard.int64, layout=0, device="cpu").tolist() == [1, 2]
    with pytest.raises(NotImplementedError, match="aten::to.dtype_layout: pin_memory"):
        aten.to.dtype_layout(x, pin_memory=True)


def test_axes_are_swapped_as_views():
    x = numbers(2, 3, 4)
    for swap in (aten.swapaxes, aten.swapdims):
        assert swap(x, 0, -1).shape == (4, 3, 2)
        assert swap(x, 0, -1).data_ptr() == x.data_ptr()
    assert aten.moveaxis(x, 0, 2).tolist() == np.moveaxis(x.numpy(), 0, 2).tolist()
    assert aten.moveaxis(x, [0, 1], [2, 0]).shape == (3, 4, 2)


X, Y = numbers(2, 3), numbers(3) * 2
NAMES = {
    "absolute": ("abs", X), "arccos": ("acos", X), "arccosh": ("acosh", X + 3),
    "arcsin": ("asin", X), "arcsinh": ("asinh", X), "arctan": ("atan", X),
    "arctan2": ("atan2", X, Y), "arctanh": ("atanh", X * 0.9), "clip": ("clamp", X, -0.5, 0.5),
    "divide": ("div", X, Y), "fix": ("trunc", X * 3), "greater": ("gt", X, Y),
    "greater_equal": ("ge", X, 0.5), "less": ("lt", X, 0.5), "less_equal": ("le", X, Y),
    "multiply": ("mul", X, Y), "negative": ("neg", X), "not_equal": ("ne", X, 0.5),
    "subtract": ("sub", X, Y), "true_divide": ("div", X, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_numpys_names_are_the_same_operators(name):
    other, x, *rest = NAMES[name]
    wanted, made = getattr(aten, other)(x, *rest), getattr(aten, name)(x, *rest)
    assert (made.tolist(), made.dtype) == (wanted.tolist(), wanted.dtype)
    written = x.clone()
    assert getattr(aten, name + "_")(written, *rest) is written
    assert written.tolist() == getattr(aten, other + "_")(x.clone(), *rest).tolist()


def test_numpys_names_of_what_joins_and_finds():
    assert aten.concat([X, X], 1).tolist() == aten.concatenate([X, X], 1).tolist()
    assert aten.concat([X, X], 1).shape == (2, 6) and aten.row_stack([X, X]).shape == (4, 3)
    assert aten.argwhere(X > 0.5).tolist() == aten.nonzero(X > 0.5).tolist()
    assert aten.subtract(X, Y, alpha=2).tolist() == aten.sub(X, Y, alpha=2).tolist()
    assert aten.divide(X, Y, rounding_mode="floor").tolist() == aten.floor(X / Y).tolist()


def test_an_empty_tensor_has_the_order_that_it_is_asked_for():
    x = aten.empty_permuted([2, 3, 4], [0, 2, 1], dtype=opyard.int64)
    assert (x.shape, x.stride(), x.dtype) == ((2, 3, 4), (12, 1, 3), opyard.int64)
    assert aten.empty_permuted([2, 0], [1, 0], device="meta").stride() == (1, 2)
    for layout in ([0, 0, 1], [0, 1], [0, 1, 3], [0, 1, -1]):
        with pytest.raises(ValueError, match="aten::empty_permuted"):
            aten.empty_permuted([2, 3, 4], layout)


# Classes -------------------------------------------------------------------------------------


def test_one_hot_has_a_one_at_the_class():
    assert aten.one_hot(ints(0, 2, 1)).tolist() == np.eye(3, dtype=int)[[0, 2, 1]].tolist()
    assert aten.one_hot(opyard.tensor([[1], [0]]), 4).shape == (2, 1, 4)
    assert aten.one_hot(opyard.tensor(1), 2).tolist() == [0, 1]
    assert aten.one_hot(aten.empty([2], dtype=opyard.int64, device="meta"), 3).shape == (2, 3)
    for x, classes, error, text in (
        (ints(0, 3), 3, IndexError, "contains 3"),
        (ints(-1), 3, IndexError, "contains -1"),
        (ints(1), 0, ValueError, "num_classes is 0"),
        (numbers(2), 3, TypeError, "accepted are int64"),
        (aten.empty([0], dtype=opyard.int64), -1, ValueError, "give num_classes"),
        (aten.empty([2], dtype=opyard.int64, device="meta"), -1, NotImplementedError, "on meta"),
    ):
        with pytest.raises(error, match=text):
            aten.one_hot(x, classes)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("bounds", [(0, 0), (-0.5, 0.7)])
def test_histc_counts_as_numpy_does(dtype, bounds):
    x = aten.to(numbers(5, 8), getattr(opyard, dtype))
    plain = x.numpy().astype("float64")
    low, high = (plain.min(), plain.max()) if bounds == (0, 0) else bounds
    made = aten.histc(x, 7, *bounds)
    assert made.tolist() == np.histogram(plain, 7, (low, high))[0].tolist()
    assert made.dtype == x.dtype
    assert aten.histc(opyard.tensor([2.0, NAN, 5.0]), 3, 1, 3).tolist() == [0, 1, 0]
    assert aten.histc(opyard.tensor([2.0, 2.0]), 2).tolist() == [0, 2]
    assert aten.histc(aten.empty([9], device="meta"), 4).shape == (4,)
    for given, text in (([x, 0], "bins is 0"), ([x, 2, 3, 1], "min is 3"),
                        ([opyard.tensor([NAN])], "no equal parts")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            aten.histc(*given)


# Layers --------------------------------------------------------------------------------------


def test_prelu_has_a_slope_for_each_channel():
    x, slopes = numbers(2, 3, 2), numbers(3)
    plain = x.numpy()
    wanted = np.where(plain > 0, plain, plain * slopes.numpy().reshape(1, 3, 1))
    close(aten.prelu(x, slopes), wanted)
    close(aten.prelu(x, slopes[:1]), np.where(plain > 0, plain, plain * slopes.numpy()[0]))
    close(aten.prelu(numbers(4), slopes[0]), aten.prelu(numbers(4), slopes[:1]).numpy())
    leaves = [x.clone().requires_grad_(), slopes.clone().requires_grad_()]
    assert autograd.gradcheck(aten.prelu, leaves) and autograd.gradgradcheck(aten.prelu, leaves)
    with pytest.raises(ValueError, match="as many as self has channels"):
        aten.prelu(x, numbers(2))
    with pytest.raises(TypeError, match="both need one dtype"):
        aten.prelu(x, aten.to(slopes, opyard.float32))


def test_cosine_similarity_is_the_product_of_directions():
    x, y = numbers(2, 3, 4), numbers(3, 4)
    a, b = x.numpy(), y.numpy()
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=0)
    close(aten.cosine_similarity(x, y), (a * b).sum(1) / lengths)
    close(aten.cosine_similarity(x, y, -1), (a * b).sum(-1) / (
        np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)))  # fmt: skip
    assert aten.cosine_similarity(aten.zeros([1, 3]), aten.ones([1, 3])).tolist() == [0]
    leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
    assert autograd.gradcheck(aten.cosine_similarity, leaves)
    with pytest.raises(TypeError, match="must meet in a float"):
        aten.cosine_similarity(ints(1), ints(1), 0)


def test_a_short_vector_has_the_gradient_of_its_own_length():
    x = opyard.tensor([[1e-9, 0.0, 0.0]]).requires_grad_()
    aten.cosine_similarity(x, aten.ones([1, 3])).sum().backward()
    close(x.grad, [[51961524.0, 57735028.0, 57735028.0]], 1e-6)  # PyTorch's


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_weight_norm_gives_a_direction_its_length(dim):
    v = numbers(2, 3, 4)
    others = tuple(i for i in range(3) if i != dim)
    norms = np.sqrt((v.numpy() ** 2).sum(axis=others, keepdims=True))
    g = numbers(*norms.shape)
    close(aten.norm_except_dim(v, 2, dim), norms if dim >= 0 else norms.reshape(()))
    close(aten._weight_norm(v, g, dim), v.numpy() * (g.numpy() / norms))
    made, length = aten._weight_norm_interface(v, g, dim)
    close(made, v.numpy() * (g.numpy() / norms))
    close(length, norms)
    leaves = [v.clone().requires_grad_(), g.clone().requires_grad_()]
    assert autograd.gradcheck(lambda v, g: aten._weight_norm(v, g, dim), leaves)


def test_convolutions_as_tracing_prints_them():
    x, w, b = numbers(1, 2, 5, 5), numbers(3, 2, 2, 2), numbers(3)
    lists = [[2, 1], [1, 0], [1, 1]]
    wanted = aten.conv2d(x, w, b, *lists).numpy()
    close(aten._convolution(x, w, b, *lists, False, [0, 0], 1, *[False] * 4), wanted)
    close(aten._convolution(x, w, b, *lists, False, [0, 0], 1, *[False] * 3), wanted)
    turned = aten.conv_transpose2d(x, numbers(2, 3, 2, 2), None, [2, 2], [0, 0], [1, 1])
    close(
        aten._convolution(
            x, numbers(2, 3, 2, 2), None, [2, 2], [0, 0], [1, 1], True, [1, 1], 1, *[False] * 4
        ),
        turned.numpy(),
    )


def plain_attention(x, w, b, pw, pb, heads, left_out=None):
    batch, length, width = x.shape
    q, k, v = (
        part.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)
        for part in np.split(x @ w.T + b, 3, -1)
    )
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(width // heads)
    scores = scores if left_out is None else np.where(left_out, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width) @ pw.T + pb, weights


@pytest.mark.parametrize("mask_type", [None, 0, 1, 2])
def test_attention_of_several_heads(mask_type):
    x, w, b, pw, pb = (numbers(*s) for s in ((2, 3, 4), (12, 4), (12,), (4, 4), (4,)))
    masks = {
        None: None,
        0: np.triu(np.ones((3, 3), bool), 1),
        1: np.array([[0, 0, 1], [0, 1, 1]], bool),
        2: np.random.default_rng(0).random((2, 2, 3, 3)) > 0.7,
    }
    mask = masks[mask_type]
    left_out = mask[:, None, None] if mask_type == 1 else mask
    wanted, weights = plain_attention(*(t.numpy() for t in (x, w, b, pw, pb)), 2, left_out)
    given = None if mask is None else opyard.from_numpy(mask)
    op = aten._native_multi_head_attention
    made, mean = op(x, x, x, 4, 2, w, b, pw, pb, given, mask_type=mask_type)
    close(made, wanted)
    close(mean, weights.mean(1))
    _, each = op(x, x, x, 4, 2, w, b, pw, pb, given, True, False, mask_type)
    close(each, weights)
    made, none = op(x, x, x, 4, 2, w, b, pw, pb, given, False, True, mask_type)
    close(made, wanted)
    assert none is None
    with pytest.raises(ValueError, match="mask_type"):
        op(x, x, x, 4, 2, w, b, pw, pb, opyard.tensor([True]))


# Images read at places -----------------------------------------------------------------------

GRID = [[[[-1.2, 0.3], [0.1, -0.4], [0.9, 1.1]], [[0.4, 0.8], [-0.6, -1.3], [0.7, 0.2]]]]


def image(dims):
    shape = (1, 2, 3, 4) if dims == 2 else (1, 2, 2, 3, 4)
    return numbers(*shape)


def grid(dims):
    places = opyard.tensor(GRID, dtype=opyard.float64)
    return places if dims == 2 else aten.cat([places, places[..., :1] * 0.7], -1).unsqueeze(1)


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize(("dims", "mode"), [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1)])
def test_grid_sampler_is_pytorchs(dims, mode, padding, align):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, places = image(dims), grid(dims)
    theirs = [torch.tensor(np.asarray(t), requires_grad=True) for t in (x, places)]
    ours = [t.clone().requires_grad_() for t in (x, places)]
    wanted = torch.ops.aten.grid_sampler(*theirs, mode, padding, align)
    made = aten.grid_sampler(*ours, mode, padding, align)
    close(made.detach(), wanted.detach().numpy())
    made.sum().backward()
    wanted.sum().backward()
    close(ours[0].grad, theirs[0].grad.numpy(), 1e-10)
    if mode == 1:  # zeros of theirs
        assert ours[1].grad is None and not theirs[1].grad.any()
    else:
        close(ours[1].grad, theirs[1].grad.numpy(), 1e-10)


@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize(("dims", "mode"), [(2, 0), (2, 2), (3, 0)])
def test_grid_sampler_has_the_gradients_that_differences_say(dims, mode, padding):
    leaves = [image(dims).requires_grad_(), grid(dims).requires_grad_()]
    assert autograd.gradcheck(lambda x, g: aten.grid_sampler(x, g, mode, padding, False), leaves)


def test_the_middle_of_pixels_is_read_as_it_is():
    x = image(3)
    axes = [(np.arange(n) * 2 + 1) / n - 1 for n in (2, 3, 4)]
    places = np.stack(np.meshgrid(*axes, indexing="ij")[::-1], -1)[None]
    for mode in (0, 1):
        close(aten.grid_sampler(x, opyard.from_numpy(places), mode, 0, False), x.numpy())
    flat = opyard.from_numpy(places[:, 0, :, :, :2].copy())
    for mode in (0, 1, 2):
        close(aten.grid_sampler(x[:, :, 0], flat, mode, 0, False), x[:, :, 0].numpy())
    assert aten.grid_sampler_3d(
        aten.to(x, device="meta"), aten.to(opyard.from_numpy(places), device="meta"), 0, 0, False
    ).shape == (1, 2, 2, 3, 4)


def test_grid_sampler_refuses_what_it_cannot_read():
    for x, places, mode, text in (
        (image(2), grid(3), 0, "aten::grid_sampler: input is"),
        (image(3), grid(3), 2, "accepted are 0 \\(linear\\) and 1"),
        (image(2), grid(2), 3, "1 \\(nearest\\) and 2 \\(cubic\\)"),
        (numbers(3, 4), grid(2), 0, "aten::grid_sampler: input is"),
    ):
        with pytest.raises(ValueError, match=text):
            aten.grid_sampler(x, places, mode, 0, False)
