"""Every formula of aten gives PyTorch's gradients, tangents and gradients of gradients.

The rows are those of test_formula_rows, which has one for each operator with a formula. It needs
PyTorch, and is skipped without it. test/torch/operator_gradients.py compares more, by PyTorch's own
samples. Suspect kernels/src/gradients/derivatives.cpp, or the file that has the operator.
"""

import builtins
import re
import types

import numpy as np
import pytest
import test_formula_rows
from test_formula_tangents import direction_of, has_slope, results_of, tangents_forward

import opyard
from opyard import autograd

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# What only formulas call, under names or with arguments that PyTorch does not have.
OURS_ALONE = {
    "attention",
    "certainty_losses",
    "certainty_slope",
    "convolution_grad_input",
    "convolution_grad_weight",
    "derived_digamma",
    "euclidean_distances",
    "gather_backward",
    "gather_strided",
    "index_backward",
    "index_select_backward",
    "less_log_odds",
    "logcumsumexp_backward",
    "logcumsumexp_tangent",
    "narrow_backward",
    "normalise_channels",
    "normalise_rows",
    "replace_strided",
    "scatter_strided",
    "sum_to",
    "trigamma",
}


def theirs_of(value):
    """The same of PyTorch's: a tensor, a function, or what the name of a module leads to."""
    if value is opyard:
        return torch
    if value is opyard.ops.aten:
        return torch.ops.aten
    if isinstance(value, types.FunctionType):
        return function_of_theirs(value)
    if isinstance(value, opyard.Tensor):
        return torch.tensor(value.tolist(), dtype=getattr(torch, str(value.dtype).split(".")[-1]))
    return value


def function_of_theirs(fn):
    if not isinstance(fn, types.FunctionType):  # a packet
        return getattr(torch.ops.aten, fn.__name__)
    names = {
        name: theirs_of(fn.__globals__[name])
        for name in fn.__code__.co_names
        if name in fn.__globals__
    }
    names["__builtins__"] = builtins
    cells = tuple(types.CellType(theirs_of(cell.cell_contents)) for cell in fn.__closure__ or ())
    return types.FunctionType(fn.__code__, names, fn.__name__, fn.__defaults__, cells)


def operators_of(fn):
    """The names that a function reads, and what is bound to its defaults and helpers."""
    if not isinstance(fn, types.FunctionType):
        return [fn.__name__]
    helpers = [fn.__globals__.get(name) for name in fn.__code__.co_names]
    functions = [each for each in helpers if isinstance(each, types.FunctionType)]
    own = [name for each in functions for name in operators_of(each)]
    defaults = [each for each in fn.__defaults__ or () if isinstance(each, str)]
    return [*fn.__code__.co_names, *defaults, *own]


def weights(library, count, first):
    return library.tensor([first + 0.1 * i for i in range(count)], dtype=library.float64)


def weighted(library, tensors, first):
    """A sum of all their elements, each with a weight of its own; None if there are none."""
    total = None
    for one in tensors:
        if one is None or not one.requires_grad:
            continue
        one = library.ops.aten.view_as_real(one.resolve_conj()) if one.is_complex() else one
        flat = one.reshape([-1])
        part = (flat * weights(library, flat.shape[0], first)).sum()
        total = part if total is None else total + part
    return total


def gradients(library, grad, fn, leaves, orders):
    """First ones, and second ones if there are any; each as an array, zeros for None."""
    results = fn(*leaves)
    results = results if isinstance(results, list | tuple) else [results]
    first = grad(weighted(library, results, 0.3), leaves, create_graph=True, allow_unused=True)
    again = weighted(library, first, 0.7) if orders == 2 else None
    second = [None] * len(leaves)
    if again is not None:
        second = grad(again, leaves, allow_unused=True)
    return [
        [
            np.array((leaf.detach() * 0 + (0 if one is None else one.detach())).tolist())
            for one, leaf in zip(of_order, leaves, strict=True)
        ]
        for of_order in (first, second)
    ]


ROWS = list(test_formula_rows.rows_of_all_files())

# Of these only first gradients are compared: PyTorch has no others.
FIRST_ALONE = {"hardsigmoid", "_embedding_bag", "embedding_bag"}
# PyTorch has no gradient of a scatter of fewer rows than `src` has; here the others get zeros. Nor
# has it one of a real transform of columns, and some operators have none at all there.
NO_GRADIENT = (
    "ScatterAddBackward0|ScatterBackward0|ScatterReduceBackward0|FftC2RBackward0"
    "|derivative for aten::_linalg_eigvals is not implemented"
)
# Not compared: what draws random numbers, and what is called by our name there as well.
NOT_THEIRS = {"manual_seed", "ours"}


def rows_without(*names):
    """The numbers of rows that call no operator of these sets."""
    left_out = set().union(*names)
    return [i for i, (fn, _) in enumerate(ROWS) if left_out.isdisjoint(operators_of(fn))]


@pytest.mark.parametrize("row", rows_without(OURS_ALONE, NOT_THEIRS))
def test_X31_a_formula_gives_the_gradients_of_pytorch(row):
    fn, leaves = ROWS[row]
    names = operators_of(fn)
    orders = 1 if FIRST_ALONE.intersection(names) else 2
    mine = gradients(opyard, autograd.grad, fn, leaves, orders)
    copies = [theirs_of(x).requires_grad_() for x in leaves]
    try:
        wanted = gradients(torch, torch.autograd.grad, function_of_theirs(fn), copies, orders)
    except RuntimeError as error:
        if not re.search(NO_GRADIENT, str(error)):
            raise
        assert autograd.gradcheck(fn, leaves), names
        return
    for order, ours, theirs in zip(("first", "second"), mine, wanted, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=f"{order}, {names}")


def tangents_of_theirs(fn, leaves, directions):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(x.detach(), v) for x, v in zip(leaves, directions, strict=True)
        ]
        pairs = [forward_ad.unpack_dual(one) for one in results_of(fn(*duals)) if has_float(one)]
        return [
            np.array((primal * 0 if tangent is None else tangent).tolist())
            for primal, tangent in pairs
        ]


def has_float(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


# PyTorch has no such rule.
NO_TANGENT = "does not support (?:it|forward AD)|has no attribute"
# Vectors that are given up to a sign or a phase: tangents of the rest are in test_formula_tangents.
UP_TO_A_PHASE = {"_linalg_eigh", "linalg_eig", "linalg_eigh", "linalg_svd"}
# Tangents of PyTorch, called as operators of aten, that are none of its own function: of a real
# base with a complex exponent they are real, of these matrices of another triangle, or nothing.
DIFFERS = {
    "_fft_c2r",
    "_linalg_eigvals",
    "cholesky_inverse",
    "linalg_eigvals",
    "linalg_qr",
    "pow",
    "qr",
}


def differences(fn, leaves, directions, eps=1e-6):
    sides = []
    for step in (eps, -eps):
        moved = [x.detach() + v * step for x, v in zip(leaves, directions, strict=True)]
        sides.append([np.array(one.tolist()) for one in results_of(fn(*moved)) if has_slope(one)])
    return [(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)]


def are_close(found, wanted, **tolerances):
    return len(found) == len(wanted) and all(
        np.allclose(one, other, equal_nan=True, **tolerances)
        for one, other in zip(found, wanted, strict=True)
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("row", rows_without(OURS_ALONE, UP_TO_A_PHASE, NOT_THEIRS))
def test_X31_a_formula_gives_the_tangents_of_pytorch(row):
    fn, leaves = ROWS[row]
    names = operators_of(fn)
    directions = [direction_of(x) for x in leaves]
    copies, theirs = [theirs_of(x) for x in leaves], [theirs_of(x) for x in directions]
    try:
        wanted = tangents_of_theirs(function_of_theirs(fn), copies, theirs)
    except (RuntimeError, NotImplementedError, AttributeError) as error:
        if not re.search(NO_TANGENT, str(error)):
            raise
        wanted = None
    found = tangents_forward(fn, leaves, directions)
    if wanted is None or not are_close(found, wanted, rtol=1e-7, atol=1e-9):
        assert wanted is None or DIFFERS.intersection(names), (names, found, wanted)
        assert are_close(found, differences(fn, leaves, directions), rtol=1e-5, atol=1e-7), names
