"""test_nn_pooling.py: pooling takes the windows that PyTorch's takes, in one to three dimensions.

Suspect opyard/_nn/pooling.py. Results are compared with windows that NumPy cuts out.
"""

import itertools

import pytest

import opyard
from opyard import nn

np = pytest.importorskip("numpy")

SIZES = (7, 6, 5)


def random(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def pooled(x, dims, windows, reduce):
    """One element for each choice of a window along each of the last dimensions."""
    out = np.empty((*x.shape[:-dims], *map(len, windows)), np.float32)
    for place in itertools.product(*(range(len(each)) for each in windows)):
        cut = tuple(windows[dim][number] for dim, number in enumerate(place))
        taken = x[(..., *np.ix_(*cut))]
        out[(..., *place)] = reduce(taken, tuple(range(-dims, 0)))
    return out


def sliding(size, kernel, stride, dilation=1):
    last = size - dilation * (kernel - 1)
    return [range(first, first + dilation * kernel, dilation) for first in range(0, last, stride)]


def adaptive(size, count):
    return [range(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


@pytest.mark.parametrize("batch", [(2,), ()])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_windows_of_one_size(dims, batch):
    x = random(*batch, 3, *SIZES[:dims])
    given = opyard.from_numpy(x)
    windows = [sliding(size, 2, 2) for size in SIZES[:dims]]
    found = getattr(nn, f"MaxPool{dims}d")(2)(given)
    np.testing.assert_array_equal(found.numpy(), pooled(x, dims, windows, np.max))
    found = getattr(nn, f"AvgPool{dims}d")(2)(given)
    np.testing.assert_allclose(found.numpy(), pooled(x, dims, windows, np.mean), rtol=1e-5)

    kernel, stride = (3, 2, 1)[:dims], (1, 3, 2)[:dims]
    windows = [sliding(*each) for each in zip(SIZES[:dims], kernel, stride, strict=True)]
    found = getattr(nn, f"AvgPool{dims}d")(kernel, stride)(given)
    np.testing.assert_allclose(found.numpy(), pooled(x, dims, windows, np.mean), rtol=1e-5)
    windows = [sliding(*each, 2) for each in zip(SIZES[:dims], kernel, stride, strict=True)]
    found = getattr(nn, f"MaxPool{dims}d")(kernel, stride, dilation=2)(given)
    np.testing.assert_array_equal(found.numpy(), pooled(x, dims, windows, np.max))


@pytest.mark.parametrize("batch", [(2,), ()])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_windows_that_cover_evenly(dims, batch):
    x = random(*batch, 3, *SIZES[:dims])
    given = opyard.from_numpy(x)
    for counts in ((1, 1, 1), (3, 3, 3), (2, 4, 5)):
        windows = [adaptive(*each) for each in zip(SIZES[:dims], counts[:dims], strict=True)]
        size = counts[0] if len(set(counts[:dims])) == 1 else counts[:dims]
        found = getattr(nn, f"AdaptiveAvgPool{dims}d")(size)(given)
        wanted = pooled(x, dims, windows, np.mean)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-6)
        found = getattr(nn, f"AdaptiveMaxPool{dims}d")(size)(given)
        np.testing.assert_array_equal(found.numpy(), pooled(x, dims, windows, np.max))


def test_a_size_that_is_none_is_the_size_of_the_input():
    x = opyard.rand(2, 3, 7, 6)
    assert nn.AdaptiveAvgPool2d((None, 2))(x).shape == (2, 3, 7, 2)
    assert nn.AdaptiveMaxPool2d([4, None])(x).shape == (2, 3, 4, 6)
    assert nn.AdaptiveAvgPool2d(None)(x).tolist() == x.tolist()
    assert repr(nn.AdaptiveAvgPool2d((None, 2))) == "AdaptiveAvgPool2d(output_size=(None, 2))"


def test_padding_and_divisors_of_means():
    ones = opyard.ones(1, 1, 4, 4)
    corner = [nn.AvgPool2d(2, 2, 1)(ones)[0, 0, 0, 0].item()]
    corner.append(nn.AvgPool2d(2, 2, 1, count_include_pad=False)(ones)[0, 0, 0, 0].item())
    corner.append(nn.AvgPool2d(2, 2, 1, divisor_override=8)(ones)[0, 0, 0, 0].item())
    assert corner == [0.25, 1.0, 0.125]
    assert nn.AvgPool1d(2, 2, 1, False, False)(opyard.ones(1, 4)).tolist() == [[1.0, 1.0, 1.0]]
    assert nn.MaxPool2d(3, 2, 1)(-ones).tolist() == [[[[-1.0] * 2] * 2]]


def test_windows_beyond_the_end_count_with_ceil_mode():
    x = opyard.rand(1, 1, 5, 5)
    for pool in (nn.MaxPool2d, nn.AvgPool2d):
        assert pool(2)(x).shape == (1, 1, 2, 2)
        assert pool(2, ceil_mode=True)(x).shape == (1, 1, 3, 3)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_places_of_the_largest_elements(dims):
    x = opyard.arange(0, 4**dims, dtype=opyard.float32).reshape([1, *[4] * dims])
    for layer in (
        getattr(nn, f"MaxPool{dims}d")(2, return_indices=True),
        getattr(nn, f"AdaptiveMaxPool{dims}d")(2, return_indices=True),
    ):
        values, places = layer(x)
        assert places.dtype is opyard.int64
        assert values.tolist() == opyard.ops.aten.to(places, opyard.float32).tolist()


def test_gradients_go_to_the_elements_that_were_taken():
    x = opyard.tensor([[[1.0, 4.0], [3.0, 2.0]]], requires_grad=True)
    nn.MaxPool2d(2)(x).sum().backward()
    assert x.grad.tolist() == [[[0.0, 1.0], [0.0, 0.0]]]
    x.grad = None
    nn.AdaptiveAvgPool2d(1)(x).sum().backward()
    assert x.grad.tolist() == [[[0.25, 0.25], [0.25, 0.25]]]


def test_shapes_without_data():
    x = opyard.zeros(2, 3, 8, 8, device="meta")
    for layer in (
        nn.MaxPool2d(2),
        nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(4),
        nn.AdaptiveMaxPool2d(4),
    ):
        assert layer(x).shape == (2, 3, 4, 4)


def test_pooling_has_no_state_and_says_its_sizes():
    layer = nn.MaxPool2d((3, 2), padding=1, dilation=2, ceil_mode=True)
    assert not layer.state_dict()
    said = "kernel_size=(3, 2), stride=(3, 2), padding=1, dilation=2, ceil_mode=True"
    assert repr(layer) == f"MaxPool2d({said})"
    layer = nn.AvgPool2d(2, stride=1, count_include_pad=False, divisor_override=3)
    assert repr(layer) == "AvgPool2d(kernel_size=2, stride=1, padding=0)"


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: nn.MaxPool2d(0), ValueError, "MaxPool2d: kernel_size must be at least 1, not 0"),
        (lambda: nn.MaxPool2d(2, 0), ValueError, "MaxPool2d: stride must be at least 1, not 0"),
        (lambda: nn.AvgPool2d(2, padding=-1), ValueError, "AvgPool2d: padding must be at least 0"),
        (lambda: nn.AvgPool1d((1, 2)), ValueError, "AvgPool1d: kernel_size must be one int, not"),
        (lambda: nn.AvgPool2d((1, 2, 3)), ValueError, "kernel_size must be one int or two, not"),
        (lambda: nn.MaxPool3d((1, 2)), ValueError, "kernel_size must be one int or three, not"),
        (lambda: nn.MaxPool2d("2"), TypeError, "kernel_size must be an int, not an object of str"),
        (lambda: nn.AvgPool2d(2.5), TypeError, "kernel_size must be an int, not an object of fl"),
        (
            lambda: nn.AvgPool2d(2, divisor_override=0),
            ValueError,
            "divisor_override must be at least",
        ),
        (lambda: nn.AdaptiveAvgPool2d(-1), ValueError, "output_size must be at least 0, not -1"),
        (lambda: nn.AdaptiveMaxPool2d((1, 2, 3)), ValueError, "output_size must be one int or two"),
        (
            lambda: nn.AdaptiveAvgPool2d("12"),
            TypeError,
            "output_size must be an int, not an object",
        ),
    ],
)
def test_sizes_that_no_window_has(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_inputs_that_have_no_windows():
    for layer in (nn.MaxPool2d(3), nn.AvgPool2d(3), nn.AdaptiveAvgPool2d(None)):
        with pytest.raises(ValueError, match="dimensions"):
            layer(opyard.ones(3))
    for layer in (nn.MaxPool2d(3), nn.AvgPool2d(3)):
        with pytest.raises(ValueError):
            layer(opyard.ones(1, 2, 2))
    with pytest.raises(ValueError):
        nn.MaxPool2d(2, padding=2)(opyard.ones(1, 4, 4))
