"""Tangents of forward mode for every formula of aten, beside those that two backwards give.

The rows are those of test_formula_rows, which has one for each operator with a formula; PyTorch's
tangents are compared in test_gradients_beside_pytorch. Suspect autograd/src/forward_rules.cpp and
transpose.cpp, and the tangent lines beside the formulas.
"""

import numpy as np
import pytest
import test_formula_rows

import opyard
from opyard import autograd
from opyard.autograd import forward_ad as fwd

pytestmark = pytest.mark.once

ROWS = list(test_formula_rows.rows_of_all_files())


def direction_of(tensor, first=0.4):
    """A tensor like this one with different numbers."""
    flat = tensor.detach().reshape([-1])
    values = [first + 0.37 * ((5 * i + 2) % 7) for i in range(flat.shape[0])]
    made = opyard.tensor(values, dtype=opyard.float64)
    made = made * (1 + 0.5j) if tensor.is_complex() else made
    return made.to(tensor.dtype).reshape(list(tensor.shape))


def results_of(found):
    return list(found) if isinstance(found, list | tuple) else [found]


def has_slope(value):
    return isinstance(value, opyard.Tensor) and (
        value.dtype.is_floating_point or value.dtype.is_complex
    )


def tangents_forward(fn, leaves, directions):
    with fwd.dual_level():
        duals = [fwd.make_dual(x.detach(), v) for x, v in zip(leaves, directions, strict=True)]
        pairs = [fwd.unpack_dual(one) for one in results_of(fn(*duals)) if has_slope(one)]
        return [
            np.array((0 * primal if tangent is None else tangent).tolist())
            for primal, tangent in pairs
        ]


def tangents_by_two_backwards(fn, leaves, directions):
    leaves = [x.detach().requires_grad_() for x in leaves]
    results = [one for one in results_of(fn(*leaves)) if has_slope(one)]
    differentiable = [one for one in results if one.requires_grad]
    # Not zeros: a formula that is linear but at zero would be wrong in both ways there.
    seeds = [direction_of(one, 0.6).requires_grad_() for one in differentiable]
    if not differentiable:
        return [np.array((one * 0).tolist()) for one in results]
    pulled = autograd.grad(differentiable, leaves, seeds, create_graph=True, allow_unused=True)
    pairs = [
        (one, v)
        for one, v in zip(pulled, directions, strict=True)
        if one is not None and one.requires_grad
    ]
    found = [None] * len(seeds)
    if pairs:
        roots, vectors = zip(*pairs, strict=True)
        found = autograd.grad(roots, seeds, vectors, allow_unused=True)
    by_result = {id(one): slope for one, slope in zip(differentiable, found, strict=True)}
    slopes = [by_result.get(id(one)) for one in results]
    return [
        np.array((one.detach() * 0 if slope is None else slope).tolist())
        for one, slope in zip(results, slopes, strict=True)
    ]


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_X31_a_formula_gives_the_tangents_of_two_backwards(row):
    fn, leaves = ROWS[row]
    directions = [direction_of(x) for x in leaves]
    found = tangents_forward(fn, leaves, directions)
    wanted = tangents_by_two_backwards(fn, leaves, directions)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
