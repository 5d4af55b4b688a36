"""test_aten_remainders.py: quotients and remainders at zeros, infinities and NaN.

Suspect kernels/src/pointwise/rest.h; for scripts jit/src/ir/scalar_math.h.
"""

import math

import numpy as np
import pytest

import opyard

pytestmark = pytest.mark.once

aten = opyard.ops.aten
INF = math.inf
NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.5, -3.5, 4.0, -4.0, INF, -INF, math.nan]
PAIRS = np.array([(a, b) for a in NUMBERS for b in NUMBERS])


def same(found, expected):
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def python_remainder(a, b):
    """As Python's %, whose zero has the divisor's sign; NaN for a divisor of zero."""
    if b == 0 or math.isinf(a) or math.isnan(a) or math.isnan(b):
        return math.nan
    return a % b


EXPECTED = np.array([python_remainder(a, b) for a, b in PAIRS])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 40])  # also whole vectors
def test_remainders_have_the_sign_of_the_divisor(dtype, count):
    a, b = np.tile(PAIRS, (count, 1)).astype(dtype).T
    expected = np.tile(EXPECTED, count).astype(dtype)
    x, y = opyard.tensor(a), opyard.tensor(b)
    same(aten.remainder(x, y).numpy(), expected)
    same((x % y).numpy(), expected)
    same(aten.remainder_(x.clone(), y).numpy(), expected)
    strided = opyard.stack([x, x], 1).select(1, 0)
    same(aten.remainder(strided, y).numpy(), expected)


@pytest.mark.parametrize("dtype", [opyard.float16, opyard.bfloat16])
def test_remainders_of_halves(dtype):
    x, y = (opyard.tensor(each.copy()).to(dtype) for each in PAIRS.T)
    found = aten.remainder(x, y).to(opyard.float64).numpy()
    same(found, EXPECTED)


def test_remainders_by_numbers():
    for b in (2.0, -2.0, INF, -INF):
        a = opyard.tensor(NUMBERS, dtype=opyard.float64)
        same((a % b).numpy(), np.array([python_remainder(x, b) for x in NUMBERS]))


def test_remainders_in_compiled_functions():
    @opyard.jit.compile
    def compiled(x, y):
        return aten.remainder(x, y) * 1.0

    a, b = PAIRS.T.copy()
    same(compiled(opyard.tensor(a), opyard.tensor(b)).numpy(), EXPECTED)


def test_remainders_in_graphs_of_numbers():
    graph = opyard.jit.parse_ir(
        """
        graph(%a : float, %b : float):
          %c : float = aten::remainder(%a, %b)
          return (%c)
        """
    )
    run = opyard.jit.compile(graph)
    for a, b in [(-4.0, 2.0), (4.0, -2.0), (0.0, -1.0), (-0.0, 1.0), (5.0, -3.0)]:
        same(np.array(run(a, b)), np.array(a % b))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quotients_are_those_of_numpy(dtype):
    a, b = PAIRS.astype(dtype).T
    with np.errstate(all="ignore"):
        expected = np.floor_divide(a, b)
    found = aten.floor_divide(opyard.tensor(a.copy()), opyard.tensor(b.copy())).numpy()
    same(found, expected)
