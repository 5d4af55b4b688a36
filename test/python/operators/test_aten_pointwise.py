"""test_aten_pointwise.py: aten element by element beside NumPy. Suspect kernels/src/pointwise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten


@st.composite
def arrays(draw, dtype=None, dims=3):
    """Any geometry: sizes 0, 1 and odd, transposed, sliced, reversed."""
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5]), max_size=dims))
    dtype = dtype or draw(st.sampled_from(["float32", "float64"]))
    count = math.prod(shape) * 2
    if dtype == "int64":
        values = draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count))
    else:
        number = st.floats(-3, 3, width=32) | st.sampled_from([math.inf, -math.inf, math.nan, -0.0])
        values = draw(st.lists(number, min_size=count, max_size=count))
    array = np.array(values, dtype).reshape([2, *shape])
    array = array[draw(st.integers(0, 1)), ...]
    if draw(st.booleans()):
        array = array.T
    if array.ndim and draw(st.booleans()):
        array = array[::2]
    if array.ndim and draw(st.booleans()):
        array = array[::-1]
    return array


def tensor_of(array):
    """On the array's own memory, unless a stride is negative, which tensors do not have."""
    if any(s < 0 for s in array.strides):
        array = array.copy()
    return opyard.from_numpy(array)


def check(result, expected, tolerance=2e-6):
    assert tuple(result.shape) == np.shape(expected)
    assert result.numpy().dtype == expected.dtype
    np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance)


FLOATS = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": np.vectorize(math.erf, otypes=["float64"]),
    "erfc": np.vectorize(math.erfc, otypes=["float64"]),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinc": np.sinc,
    "sinh": np.sinh,
    "tan": np.tan,
}
KEEPING = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round": np.round,
    "trunc": np.trunc,
    "sign": np.sign,
    "square": np.square,
}
QUESTIONS = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isposinf": np.isposinf,
    "isneginf": np.isneginf,
    "signbit": np.signbit,
}


@pytest.mark.parametrize("name", FLOATS)
@given(array=arrays())
@settings(max_examples=25)
def test_functions_are_numpys(name, array):
    with np.errstate(all="ignore"):
        expected = np.asarray(FLOATS[name](array)).astype(array.dtype)
    check(getattr(aten, name)(tensor_of(array)), expected)


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_integers_and_bools_are_float32(name):
    for dtype in ("int64", "bool"):
        array = np.array([1, 0, 1], dtype)
        with np.errstate(all="ignore"):
            expected = np.asarray(FLOATS[name](array.astype("float32"))).astype("float32")
        check(getattr(aten, name)(opyard.from_numpy(array)), expected)


@pytest.mark.parametrize("name", KEEPING)
@given(array=arrays() | arrays(dtype="int64"))
@settings(max_examples=25)
def test_functions_that_keep_the_dtype_are_numpys(name, array):
    with np.errstate(all="ignore"):
        expected = np.asarray(KEEPING[name](array)).astype(array.dtype)
    if name == "sign" and array.dtype.kind == "f":
        expected = np.nan_to_num(expected, nan=0.0)  # as in PyTorch, the sign of nan is 0
    check(getattr(aten, name)(tensor_of(array)), expected)


@pytest.mark.parametrize("name", QUESTIONS)
@given(array=arrays() | arrays(dtype="int64"))
@settings(max_examples=25)
def test_questions_are_numpys(name, array):
    asked = array.astype("float64") if name in ("isposinf", "isneginf", "signbit") else array
    check(getattr(aten, name)(tensor_of(array)), np.asarray(QUESTIONS[name](asked)))


PAIRS = {
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "logaddexp": np.logaddexp,
    "fmod": np.fmod,
}


@pytest.mark.parametrize("name", PAIRS)
@given(array=arrays(dtype="float64"), row=st.floats(-3, 3) | st.just(math.nan))
@settings(max_examples=25)
def test_pairs_are_numpys_and_broadcast(name, array, row):
    other = np.array(row)
    with np.errstate(all="ignore"):
        expected = np.asarray(PAIRS[name](array, other))
    check(getattr(aten, name)(tensor_of(array), opyard.from_numpy(other)), expected)


def test_fmod_of_integers_has_the_sign_of_self_and_refuses_zero():
    a, b = opyard.tensor([7, -7, 7, -7]), opyard.tensor([3, 3, -3, -3])
    assert aten.fmod(a, b).tolist() == [1, -1, 1, -1]
    for call in (lambda: aten.fmod(a, 0), lambda: aten.fmod(a, opyard.tensor([1, 0, 1, 1]))):
        with pytest.raises(ValueError, match="by which integers cannot be divided"):
            call()


def test_digamma_and_lgamma_have_their_known_values():
    x = opyard.tensor([1.0, 0.5, 10.0, -0.5], dtype=opyard.float64)
    euler = 0.5772156649015329
    expected = [-euler, -euler - 2 * math.log(2), 2.251752589066721, 0.03648997397857652]
    np.testing.assert_allclose(aten.digamma(x).numpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(aten.lgamma(x).numpy(), [math.lgamma(v) for v in x.tolist()])


def test_trigamma_has_its_known_values():
    x = opyard.tensor([1.0, 0.5, 10.0, -0.5, 0.0, -3.0], dtype=opyard.float64)
    pi = math.pi**2
    expected = [pi / 6, pi / 2, 0.10516633568168575, pi / 2 + 4, math.inf, math.inf]
    np.testing.assert_allclose(opyard.ops.opyard.trigamma(x).numpy(), expected, rtol=1e-14)


def test_forms_write_and_refuse_what_does_not_fit():
    x = opyard.tensor([0.5, -0.25])
    out = opyard.zeros(2)
    assert aten.sin.out(x, out=out) is out
    assert out.tolist() == aten.sin(x).tolist()
    same = aten.gelu(x).tolist()
    assert aten.gelu_(x) is x
    assert x.tolist() == same
    with pytest.raises(ValueError, match="aten::gelu.out: the result is .* and does not fit out"):
        aten.gelu.out(x, out=opyard.zeros(3))
    with pytest.raises(TypeError, match="aten::sin_: self is int64"):
        aten.sin_(opyard.tensor([1, 2]))
    with pytest.raises(TypeError, match="aten::gelu: self is int64\\[1\\]; a float is needed"):
        aten.gelu(opyard.tensor([1]))
    with pytest.raises(ValueError, match='approximate is "tan"; accepted are "none" and "tanh"'):
        aten.gelu(x, approximate="tan")


def relu(x):
    return np.maximum(x, 0)


ACTIVATIONS = {
    "gelu": lambda x: x * 0.5 * (1 + FLOATS["erf"](x / math.sqrt(2))),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))
    ),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "relu6": lambda x: np.clip(x, 0, 6),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardshrink": lambda x: np.where(np.abs(x) <= 0.5, 0, x),
    "softshrink": lambda x: np.sign(x) * relu(np.abs(x) - 0.5),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@given(values=st.lists(st.floats(-9, 9), max_size=7))
@settings(max_examples=25)
def test_activations_are_their_definitions(name, values):
    array = np.array(values, "float64")
    check(getattr(aten, name)(opyard.from_numpy(array)), ACTIVATIONS[name](array), 1e-12)


def t(values):
    return opyard.tensor(values, dtype=opyard.float64).requires_grad_()


SMALL, ABOVE_ONE = [[0.3, -0.7, 0.6], [0.9, 0.2, -0.4]], [[1.3, 2.2]]


@pytest.mark.parametrize(
    "name", sorted([*FLOATS, *ACTIVATIONS, "digamma", "lgamma", "frac", "square"])
)
def test_X31_gradients_are_what_differences_say(name):
    above = name in ("acosh", "rsqrt", "log10", "log2", "log1p", "digamma", "lgamma")
    x = t(ABOVE_ONE if above else SMALL)
    assert autograd.gradcheck(getattr(aten, name), [x])
    if name != "digamma":  # trigamma has no gradient
        assert autograd.gradgradcheck(getattr(aten, name), [x])


@pytest.mark.parametrize("name", [*PAIRS, "xlogy"])
def test_X31_gradients_of_pairs_are_what_differences_say(name):
    pair = [t(SMALL), t([1.1, 0.8, 1.7])]
    if name == "copysign":
        pair[1] = opyard.tensor([1.0, -1.0, 1.0], dtype=opyard.float64)
    assert autograd.gradcheck(getattr(aten, name), pair)
    assert autograd.gradgradcheck(getattr(aten, name), pair)


def test_X31_forms_that_write_have_the_gradient_of_the_form_that_does_not():
    for name in ("sin_", "fmod_", "gelu_", "elu_", "xlogy_"):
        rest = [0.37] if name in ("fmod_", "xlogy_") else []
        op = getattr(aten, name)
        assert autograd.gradcheck(lambda x, op=op, rest=rest: op(x * 1, *rest), [t(SMALL)])


def test_slopes_of_activations_at_their_corners_are_those_of_pytorch():
    wanted = {
        "hardswish": [0, 0, 0.5, 1, 1],
        "hardsigmoid": [0, 0, 1 / 6, 0, 0],
        "leaky_relu": [0.01, 0.01, 0.01, 1, 1],
    }
    for name, slopes in wanted.items():
        x = opyard.tensor([-4.0, -3.0, 0.0, 3.0, 4.0], dtype=opyard.float64).requires_grad_()
        getattr(aten, name)(x).sum().backward()
        assert x.grad.tolist() == pytest.approx(slopes), name


def test_the_slope_of_a_leaky_relu_is_known_by_its_result_unless_that_hides_the_sign():
    x = opyard.tensor([-2.0, 3.0])
    ones = opyard.ones(2)
    by_result = aten.leaky_relu_backward(ones, aten.leaky_relu(x, 0.5), 0.5, True)
    assert by_result.tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="negative_slope is -0.5, and self is the result"):
        aten.leaky_relu_backward(ones, x, -0.5, True)


def test_gradients_of_activations_far_out_are_finite():
    for name in ("elu", "selu", "softplus", "silu", "mish", "log_sigmoid"):
        x = opyard.tensor([800.0, -800.0]).requires_grad_()
        getattr(aten, name)(x).sum().backward()
        assert np.isfinite(x.grad.numpy()).all(), name


ONE = [*FLOATS, *KEEPING, *QUESTIONS, *ACTIVATIONS, "neg", "abs", "exp", "sqrt", "tanh", "relu"]
TWO = [*PAIRS, "add", "sub", "mul", "div", "maximum", "pow", "eq", "lt", "logical_and"]


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_on_meta_the_same_function_says_dtype_sizes_and_strides(name):
    a, b = opyard.ones(4, 1, 3), opyard.ones(2, 3)
    rest = [] if name in ONE else [b]
    op = getattr(aten, name)
    here = op(a, *rest)
    there = op(a.to("meta"), *[x.to("meta") for x in rest])
    assert there.device.type == "meta"
    assert (there.dtype, there.shape, there.stride()) == (here.dtype, here.shape, here.stride())


def test_core_operators_have_their_tag():
    for name in ("sin", "isnan", "gelu", "atan2", "fmod.Tensor", "var.correction", "repeat"):
        packet, _, overload = name.partition(".")
        assert opyard.Tag.core in getattr(getattr(aten, packet), overload or "default").tags
    assert opyard.Tag.core not in aten.sin.out.tags


SHORT_WAY = ["add", "sub", "mul", "eq", "ne", "lt", "le", "gt", "ge"]
SHORT_WAY_OF_ONE = ["neg", "reciprocal", "sqrt", "exp", "log", "tanh", "sigmoid", "relu"]


def by_columns(x):
    """The same elements, laid out so that the short way does not take them."""
    return x.t().contiguous().t()


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("name", SHORT_WAY + SHORT_WAY_OF_ONE)
def test_small_tensors_that_are_alike_give_the_bits_of_all_others(name, dtype):
    rng = np.random.default_rng(7)
    op, inputs = getattr(aten, name), 2 if name in SHORT_WAY else 1
    given = [
        aten.to(
            opyard.from_numpy(rng.normal(size=(5, 7)).astype("float32") * 9), getattr(opyard, dtype)
        )
        for _ in range(inputs)
    ]
    try:
        expected = op(*map(by_columns, given))
    except (TypeError, NotImplementedError) as refusal:
        with pytest.raises(type(refusal)) as caught:
            op(*given)
        assert str(caught.value) == str(refusal)
        return
    result = op(*given)
    assert result.dtype is expected.dtype and tuple(result.shape) == (5, 7)
    assert result.is_contiguous() and not any(result is each for each in given)
    bits = [each.contiguous().numpy().tobytes() for each in (result, expected)]
    assert bits[0] == bits[1]


@pytest.mark.parametrize("name", SHORT_WAY)
def test_what_is_not_alike_is_told_apart(name):
    op, x = getattr(aten, name), opyard.ones(2, 3)
    assert tuple(op(x, opyard.ones(3)).shape) == (2, 3)
    assert op(x, opyard.ones(2, 3, dtype=opyard.float64)).dtype in (opyard.float64, opyard.bool)
    assert op(opyard.ones(0, 3), opyard.ones(0, 3)).numel() == 0
    meta = opyard.ones(2, 3, device="meta")
    assert op(meta, meta).device.type == "meta"
    with pytest.raises(ValueError, match=r"dimension -1 is 3 in one and 2 in the other"):
        op(x, opyard.ones(2, 2))
    many = opyard.ones(300_000)  # more than are computed without letting the GIL go
    assert op(many, many).numel() == 300_000


def division_operands(kind, rng, count=4_000):
    if kind == "near a multiple":
        b = rng.standard_normal(count).astype("f")
        a = (b * rng.integers(-(10**6), 10**6, count)).astype("f")
        return np.nextafter(a, rng.choice([-np.inf, np.inf], count).astype("f")), b
    if kind == "large quotients":
        a = rng.standard_normal(count) * 10.0 ** rng.integers(-3, 12, count)
        return a.astype("f"), rng.integers(-50, 50, count).astype("f") / 10
    if kind == "any bits":
        bits = rng.integers(-(2**31), 2**31, (2, count)).astype("i4")
        return bits[0].view("f"), bits[1].view("f")
    limits = [0.0, 1.0, 3.0, 0.1, 1e-45, 1e-38, 3e38, np.inf, np.nan, 2.0**29, 3 * 2.0**29, 1 / 3]
    numbers = np.array([*limits, *(-x for x in limits)], "f")
    return rng.choice(numbers, count), rng.choice(numbers, count)


@pytest.mark.parametrize("kind", ["near a multiple", "large quotients", "any bits", "limits"])
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_rests_and_floored_quotients_have_the_bits_of_numpy(kind, dtype):
    for seed in range(4):
        with np.errstate(all="ignore"):
            a, b = (x.astype(dtype) for x in division_operands(kind, np.random.default_rng(seed)))
        if kind in ("near a multiple", "large quotients"):
            b[b == 0] = 1  # NumPy has a quotient of its own there
        x, y = opyard.from_numpy(a), opyard.from_numpy(b)
        pairs = [(aten.fmod(x, y), np.fmod), (aten.remainder(x, y), np.remainder)]
        if kind in ("near a multiple", "large quotients"):
            pairs.append((aten.floor_divide(x, y), np.floor_divide))
        for result, of_numpy in pairs:
            with np.errstate(all="ignore"):
                wanted = of_numpy(a, b)
            np.testing.assert_array_equal(np.asarray(result), wanted)
            if of_numpy is np.fmod:
                whole = ~np.isnan(wanted)
                signs = np.signbit(np.asarray(result)[whole])
                np.testing.assert_array_equal(signs, np.signbit(wanted[whole]))


# Of PyTorch 2.13: polygamma(n, x).
DERIVED = {
    2: [-16.8287966442343, -0.236204051641727, -0.828796644234],
    3: [97.4090910340024, 0.2239058488172522, 193.409091034002],
}


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_derivatives_of_digamma_have_their_known_values(n):
    derived = opyard.ops.opyard.derived_digamma
    x = opyard.tensor([0.5, 1.0, 2.5, 12.0, -0.5, -3.25], dtype=opyard.float64)
    if n == 1:
        np.testing.assert_allclose(derived(1, x), opyard.ops.opyard.trigamma(x), rtol=1e-12)
    if n in DERIVED:
        found = derived(n, opyard.tensor([0.5, 2.5, -0.5], dtype=opyard.float64))
        np.testing.assert_allclose(found, DERIVED[n], rtol=1e-12)
    # f(x + 1) = f(x) + (-1)^n n! / x^(n + 1)
    step = (-1) ** n * math.factorial(n) / x ** (n + 1)
    np.testing.assert_allclose(derived(n, x + 1), derived(n, x) + step, rtol=1e-9, atol=1e-9)
    assert derived(n, opyard.tensor([0.0, -2.0])).tolist() == [math.inf] * 2
    with pytest.raises(ValueError, match="n is 0; accepted is 1 to 170"):
        derived(0, x)


@pytest.mark.parametrize("name", ["digamma", "lgamma"])
def test_digamma_and_lgamma_have_gradients_of_any_order(name):
    x = opyard.tensor([0.5, 1.0, 2.5], dtype=opyard.float64, requires_grad=True)
    values = getattr(aten, name)(x)
    orders = [values]
    for _ in range(4):
        (values,) = autograd.grad(values.sum(), x, create_graph=True)
        orders.append(values)
    derived = opyard.ops.opyard.derived_digamma
    first = 4 if name == "digamma" else 3
    np.testing.assert_allclose(orders[-1].detach(), derived(first, x.detach()), rtol=1e-12)
