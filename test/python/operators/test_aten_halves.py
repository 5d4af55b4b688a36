"""test_aten_halves.py: float16 and bfloat16 are computed in float32 and rounded once.

Suspect in_carrier() in kernels/src/common/numbers.h, and [Halves] in opyard/_numpy/answers.py.
"""

import numpy as np
import pytest

import opyard

aten = opyard.ops.aten
HALVES = ["float16", "bfloat16"]


def image(*sizes):
    rng = np.random.default_rng(len(sizes))
    return opyard.from_numpy(rng.normal(size=sizes).astype("float32"))


def convolution(x, w, b, transposed=False):
    return aten.convolution(x, w, b, [1, 1], [1, 1], [1, 1], transposed, [0, 0], 1)


def convolution_backward(grad, x, w):
    lists = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    return aten.convolution_backward(grad, x, w, [3], *lists, [True, True, True])


CALLS = {
    "max_pool1d": (lambda x: aten.max_pool1d(x, 2), image(2, 3, 8)),
    "max_pool2d": (lambda x: aten.max_pool2d_with_indices(x, 2, 1, 1), image(2, 3, 5, 6)),
    "max_pool3d": (lambda x: aten.max_pool3d_with_indices(x, 2), image(1, 2, 4, 5, 6)),
    "adaptive_max_pool2d": (lambda x: aten.adaptive_max_pool2d(x, [3, 2]), image(2, 3, 5, 6)),
    "avg_pool1d": (lambda x: aten.avg_pool1d(x, 2), image(2, 3, 8)),
    "avg_pool2d": (lambda x: aten.avg_pool2d(x, 3, 2, 1), image(2, 3, 5, 6)),
    "avg_pool3d": (lambda x: aten.avg_pool3d(x, 2), image(1, 2, 4, 5, 6)),
    "adaptive_avg_pool2d": (lambda x: aten.adaptive_avg_pool2d(x, [3, 2]), image(2, 3, 5, 6)),
    "avg_pool2d_backward": (
        lambda g, x: aten.avg_pool2d_backward(g, x, [2, 2], [2, 2], [0, 0], False, True, None),
        image(2, 3, 2, 3),
        image(2, 3, 4, 6),
    ),
    "convolution": (convolution, image(2, 3, 5, 6), image(4, 3, 3, 3), image(4)),
    "transposed convolution": (
        lambda x, w, b: convolution(x, w, b, True),
        image(2, 4, 5, 6),
        image(4, 3, 3, 3),
        image(3),
    ),
    "convolution_backward": (
        convolution_backward,
        image(2, 3, 5, 6),
        image(2, 2, 5, 6),
        image(3, 2, 3, 3),
    ),
    "upsample_nearest2d": (lambda x: aten.upsample_nearest2d(x, [7, 9]), image(2, 3, 5, 6)),
    "upsample_bilinear2d": (
        lambda x: aten.upsample_bilinear2d(x, [7, 9], False),
        image(2, 3, 5, 6),
    ),
    "grid_sampler_2d": (
        lambda x, g: aten.grid_sampler_2d(x, g, 0, 0, False),
        image(2, 3, 5, 6),
        image(2, 4, 4, 2),
    ),
    "cdist": (aten.cdist, image(4, 3), image(5, 3)),
    "pdist": (aten.pdist, image(5, 3)),
    "im2col": (lambda x: aten.im2col(x, [2, 2], [1, 1], [0, 0], [1, 1]), image(2, 3, 5, 6)),
    "col2im": (lambda x: aten.col2im(x, [5, 6], [2, 2], [1, 1], [0, 0], [1, 1]), image(2, 12, 20)),
    "sort": (aten.sort, image(4, 9)),
    "topk": (lambda x: aten.topk(x, 3), image(4, 9)),
    "cumsum": (lambda x: aten.cumsum(x, 1), image(4, 9)),
    "cumprod": (lambda x: aten.cumprod(x, 0), image(4, 9)),
    "prod": (aten.prod, image(4, 2)),
    "nonzero": (lambda x: aten.nonzero(x > 0), image(4, 9)),
    "addcmul": (lambda *x: aten.addcmul(*x, value=3), image(4, 9), image(5, 9)[:4], image(9)),
    "addcdiv": (lambda *x: aten.addcdiv(*x, value=3), image(4, 9), image(5, 9)[:4], image(9)),
    "lerp": (lambda x, y: aten.lerp(x, y, 0.7), image(4, 9), image(5, 9)[:4]),
    "trace": (aten.trace, image(4, 9)),  # NumPy's answers from here on
    "fmax": (aten.fmax, image(4, 9), image(9)),
    "quantile": (lambda x: aten.nanquantile(x, 0.5), image(9)),
}


def results_of(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", CALLS)
def test_a_half_is_computed_in_float32_and_rounded_once(name, half):
    call, *inputs = CALLS[name]
    half = getattr(opyard, half)
    given = [aten.to(each, half) for each in inputs]
    exact = results_of(call(*[aten.to(each, opyard.float32) for each in given]))
    for mine, theirs in zip(results_of(call(*given)), exact, strict=True):
        wanted = half if theirs.dtype is opyard.float32 else theirs.dtype
        assert mine.dtype is wanted
        rounded = aten.to(aten.to(theirs, wanted), opyard.float64)
        assert aten.to(mine, opyard.float64).tolist() == rounded.tolist()


@pytest.mark.parametrize("half", HALVES)
def test_results_on_meta_are_halves_too(half):
    half = getattr(opyard, half)
    for name in ("max_pool2d", "avg_pool2d", "convolution", "im2col", "sort", "cumsum"):
        call, *inputs = CALLS[name]
        given = [aten.to(each, half) for each in inputs]
        real = results_of(call(*given))
        there = results_of(call(*[aten.to(each, "meta") for each in given]))
        for a, b in zip(real, there, strict=True):
            assert (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides), name


@pytest.mark.parametrize("half", HALVES)
def test_random_halves(half):
    half = getattr(opyard, half)
    x = opyard.rand(100_000, dtype=half)
    assert x.dtype is half and 0 <= x.min().item() and x.max().item() < 1
    assert abs(x.float().mean().item() - 0.5) < 0.01
    x = opyard.randn(100_000, dtype=half)
    assert x.dtype is half and abs(x.float().std().item() - 1) < 0.02
    assert aten.uniform_(x, 2.0, 3.0) is x and 2 <= x.min().item() and x.max().item() <= 3
    assert abs(aten.normal_(x, 5.0, 0.5).float().mean().item() - 5) < 0.02
    kept = aten.native_dropout(opyard.ones(100_000, dtype=half), 0.999, True)[1]
    assert 50 < kept.sum().item() < 200  # a half has too few numbers near 0.999


# Of each dtype: the bits of its fractions, its smallest number above 0, and its largest one.
LIMITS = {"float16": (10, 2.0**-24, 65504.0), "bfloat16": (7, 2.0**-133, (2 - 2**-7) * 2.0**127)}


@pytest.mark.parametrize("name", LIMITS)
def test_what_goes_by_neighbours_of_a_number_knows_its_dtype(name):
    dtype, (bits, smallest, largest) = getattr(opyard, name), LIMITS[name]
    inf, nan = float("inf"), float("nan")
    x = opyard.tensor([1.0, 1.0, -1.0, 0.0, -0.0, largest, -smallest, 3.0, nan, inf], dtype=dtype)
    to = opyard.tensor([2.0, 0.0, 0.0, 1.0, -1.0, inf, 1.0, 3.0, 1.0, 0.0], dtype=dtype)
    after = aten.nextafter(x, to)
    assert after.dtype is dtype and repr(after.tolist()) == repr(
        [
            1 + 2.0**-bits, 1 - 2.0 ** -(bits + 1), -1 + 2.0 ** -(bits + 1), smallest, -smallest,
            inf, -0.0, 3.0, nan, largest,
        ]
    )  # fmt: skip
    assert aten.nextafter(x[:3].reshape(3, 1), to[:2]).shape == (3, 2)
    cleaned = aten.nan_to_num(opyard.tensor([1.0, inf, -inf, nan], dtype=dtype))
    assert cleaned.dtype is dtype and cleaned.tolist() == [1.0, largest, -largest, 0.0]
    given = aten.nan_to_num(opyard.tensor([inf, -inf, nan], dtype=dtype), 7.0, 8.0, 9.0)
    assert given.tolist() == [8.0, 9.0, 7.0]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
def test_narrow_integers(dtype):
    x = opyard.tensor([[3, 1, 2], [0, 5, 4]], dtype=getattr(opyard, dtype))
    values, places = aten.sort(x)
    assert values.dtype is x.dtype and values.tolist() == [[1, 2, 3], [0, 4, 5]]
    assert places.tolist() == [[1, 2, 0], [0, 2, 1]]
    assert aten.cumsum(x, 1).tolist() == [[3, 4, 6], [0, 5, 9]]
    assert aten.cumsum(x, 1).dtype is opyard.int64
    assert aten.cumsum(x, 1, dtype=x.dtype).dtype is x.dtype
    assert aten.nonzero(x).tolist() == [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2]]


def test_running_sums_and_products_of_complex_numbers():
    x = opyard.tensor([1 + 1j, 2j, 3.0])
    assert aten.cumsum(x, 0).tolist() == [1 + 1j, 1 + 3j, 4 + 3j]
    assert aten.cumprod(x, 0).tolist() == [1 + 1j, -2 + 2j, -6 + 6j]
    assert aten.prod(x).item() == -6 + 6j
    assert aten.nonzero(opyard.tensor([0j, 1j])).tolist() == [[1]]


EXACTLY = {
    "mul": (lambda x, by: x * by, lambda x, by: x * by),
    "mul_": (lambda x, by: aten.mul_(aten.clone(x), by), lambda x, by: x * by),
    "div": (lambda x, by: x / by, lambda x, by: x / by),
    "div_": (lambda x, by: aten.div_(aten.clone(x), by), lambda x, by: x / by),
    "div, trunc": (
        lambda x, by: aten.div(x, by, rounding_mode="trunc"),
        lambda x, by: np.trunc(x / by),
    ),
    "leaky_relu": (lambda x, by: aten.leaky_relu(x, by), lambda x, by: np.where(x > 0, x, x * by)),
}


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("op", EXACTLY)
def test_factors_and_divisors_are_not_rounded_to_halves(op, name):
    """As in PyTorch: 0.1 is a thousandth off as a bfloat16, and so would be all products by it."""
    call, in_float32 = EXACTLY[op]
    x = image(40, 10).to(getattr(opyard, name))
    by = np.float32(0.1)
    wanted = opyard.from_numpy(in_float32(x.to(opyard.float32).numpy(), by)).to(x.dtype)
    assert call(x, 0.1).tolist() == wanted.tolist()
    assert call(x.t(), 0.1).tolist() == wanted.t().tolist()


def large(*sizes):
    """So large that squares are past float16."""
    return opyard.ops.aten.mul(image(*sizes), 400.0)


COMPOSED = {
    "std": (lambda x: aten.std(x, [1]), large(4, 30)),
    "std of all": (lambda x: aten.std(x), large(4, 30)),
    "var of an outlier": (
        lambda x: aten.var(x),
        opyard.from_numpy(np.array([300.0] + [0.0] * 199, "float32")),
    ),
    "linalg_vector_norm": (lambda x: aten.linalg_vector_norm(x), large(4, 30)),
    "linalg_vector_norm of rows": (lambda x: aten.linalg_vector_norm(x, 3, [1]), large(4, 30)),
    "norm": (lambda x: aten.norm(x), large(4, 30)),
    "layer_norm": (lambda x, w: aten.layer_norm(x, [30], w), large(4, 30), image(30)),
    "rms_norm": (lambda x, w: aten.rms_norm(x, [30], w, 1e-5), large(4, 30), image(30)),
    "group_norm": (lambda x, w: aten.group_norm(x, 2, w), large(2, 4, 5), image(4)),
    "native_group_norm": (
        lambda x: aten.native_group_norm(x, None, None, 2, 4, 5, 2, 1e-5),
        large(2, 4, 5),
    ),
    "batch_norm": (
        lambda x, w: aten.batch_norm(x, w, None, None, None, True, 0.1, 1e-5, False),
        large(6, 4, 5),
        image(4),
    ),
    "batch_norm by running moments": (
        lambda x, m, v: aten.batch_norm(x, None, None, m, v, False, 0.1, 1e-5, False),
        large(6, 4, 5),
        image(4),
        aten.abs(image(4)),
    ),
    "instance_norm": (
        lambda x: aten.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False),
        large(2, 4, 5),
    ),
    "native_layer_norm_backward": (
        lambda g, x, w, m, r: aten.native_layer_norm_backward(
            g, x, [30], m, r, w, None, [True, True, True]
        ),
        image(4, 30),
        large(4, 30),
        image(30),
        image(4, 1),
        aten.mul(aten.abs(image(4, 1)), 0.01),
    ),
    "softplus": (lambda x: aten.softplus(x), aten.mul(image(4, 30), 15.0)),
    "mish": (lambda x: aten.mish(x), aten.mul(image(4, 30), 15.0)),
    "logit": (lambda x: aten.logit(x), aten.sigmoid(image(4, 30))),
    "sinc": (lambda x: aten.sinc(x), image(4, 30)),
    "baddbmm": (
        lambda x, a, b: aten.baddbmm(x, a, b, beta=0.3, alpha=0.7),
        image(2, 3, 4),
        image(2, 3, 5),
        image(2, 5, 4),
    ),
    "addbmm": (lambda x, a, b: aten.addbmm(x, a, b), image(3, 4), image(2, 3, 5), image(2, 5, 4)),
    "addmv": (lambda x, a, b: aten.addmv(x, a, b), image(3), image(3, 5), image(5)),
    "cross_entropy_loss": (
        lambda x: aten.cross_entropy_loss(x, opyard.tensor([0] * 5000)),
        aten.mul(image(5000, 20), 8.0),
    ),
}


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("op", COMPOSED)
def test_what_is_composed_is_rounded_once(op, name):
    call, *inputs = COMPOSED[op]
    dtype = getattr(opyard, name)
    halves = [x.to(dtype) for x in inputs]
    found, wanted = call(*halves), call(*(x.to(opyard.float32) for x in halves))
    several = isinstance(found, (tuple, list))
    for one, whole in zip(*((found, wanted) if several else ([found], [wanted])), strict=True):
        assert one.dtype is dtype and one.tolist() == whole.to(dtype).tolist()
        assert np.isfinite(whole.to(dtype).to(opyard.float32).numpy()).all()


@pytest.mark.parametrize("name", HALVES)
def test_moments_are_of_the_dtype_of_the_weight(name):
    x = image(6, 4, 5).to(getattr(opyard, name))
    weight = opyard.ones(4)
    _, mean, rstd = aten.native_batch_norm(x, weight, weight, None, None, True, 0.1, 1e-5)
    assert {mean.dtype, rstd.dtype} == {opyard.float32}
    result, mean, rstd = aten.native_group_norm(x, weight, weight, 6, 4, 5, 2, 1e-5)
    assert [result.dtype, mean.dtype, rstd.dtype] == [x.dtype, opyard.float32, opyard.float32]
    running = opyard.ones(4)
    aten.batch_norm(x, weight, weight, opyard.zeros(4), running, True, 0.5, 1e-5, False)
    assert running.dtype is opyard.float32 and running.tolist() != [1.0] * 4


GRADIENTS = {
    "gather": lambda x: aten.gather(x, 1, opyard.tensor([[0, 0, 1], [2, 2, 2]])),
    "max": lambda x: aten.max(x, 1)[0],
    "sort": lambda x: aten.sort(x, 1)[0] * opyard.tensor([[1.0, 2.0, 3.0]], dtype=x.dtype),
    "unfold": lambda x: aten.unfold(x, 1, 2, 1),
    "std": lambda x: aten.std(x, [1]),
    "layer_norm": lambda x: aten.layer_norm(x, [3]) * x,
    "batch_norm": lambda x: aten.batch_norm(x, *[None] * 4, True, 0.1, 1e-5, False) * x,
    "linalg_vector_norm": lambda x: aten.linalg_vector_norm(x),
}


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("op", GRADIENTS)
def test_gradients_of_halves_are_those_of_float32_nearly(op, name):
    dtype = getattr(opyard, name)
    half = large(2, 3).to(dtype).requires_grad_()
    whole = half.detach().to(opyard.float32).requires_grad_()
    for x in (half, whole):
        aten.sum(GRADIENTS[op](x)).backward()
    assert half.grad.dtype is dtype
    found, wanted = half.grad.to(opyard.float32).numpy(), whole.grad.numpy()
    np.testing.assert_allclose(found, wanted, rtol=0.03, atol=0.03)


@pytest.mark.parametrize("name", HALVES)
def test_operators_of_wide_floats_refuse_halves_and_reach_no_memory_of_others(name):
    x = opyard.ones(2, 4, 4).to(getattr(opyard, name))
    ours = opyard.ops.opyard
    for call in (
        lambda: ours.attention(x, x, x, None, False, 0.5),
        lambda: ours.normalise_rows(x, 1, None, None, 1e-5),
        lambda: ours.normalise_channels(x, x[0, 0], x[0, 0], None, None),
    ):
        with pytest.raises(NotImplementedError, match="accepted are float32 and float64, to which"):
            call()
    assert aten.scaled_dot_product_attention(x, x, x).dtype is x.dtype
    assert aten.layer_norm(x, [4]).dtype is x.dtype
