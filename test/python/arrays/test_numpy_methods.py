"""test_numpy_methods.py: NumPy's names of arguments in calls of tensors' methods.

Suspect pyfallback/operators/method_names.cpp.

NumPy's functions are called by `_implementation` here: without __array_function__, so that they
call the methods of the tensor.
"""

import numpy as np
import pytest

import opyard

pytestmark = pytest.mark.once

X = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, -1.0]])


@pytest.fixture
def x():
    return opyard.tensor(X)


def agree(found, expected):
    assert isinstance(found, opyard.Tensor)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


# Methods that are called with NumPy's names ------------------------------------------------


@pytest.mark.parametrize("name", ["mean", "sum", "prod", "amax", "amin", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axis_and_keepdims_are_dim_and_keepdim(x, name, axis, keepdims):
    found = getattr(x, name)(axis=axis, keepdims=keepdims)
    assert found.tolist() == getattr(x, name)(dim=axis, keepdim=keepdims).tolist()
    agree(found, getattr(np, name)(X, axis=axis, keepdims=keepdims))


def test_names_may_be_mixed_and_come_by_keywords(x):
    agree(x.sum(axis=(0, 1), keepdim=True), X.sum(axis=(0, 1), keepdims=True))
    agree(x.sum(**{"ax" + "is": 1}), X.sum(axis=1))
    agree(x.cumsum(axis=1), X.cumsum(axis=1))
    agree(x.std(axis=0, ddof=1), X.std(axis=0, ddof=1))
    agree(x.unsqueeze(0).squeeze(axis=0), X)
    agree(x.flip(axes=(0,)), X[::-1])
    agree(x.softmax(axis=-1).sum(axis=-1), np.ones(2))


def test_one_without_dimensions_and_keepdims(x):
    agree(x.sum(keepdims=True), X.sum(keepdims=True))
    agree(x.sum(axis=None), X.sum())
    agree(x.amax(axis=None, keepdims=True), X.max(keepdims=True))


def test_max_gives_values_and_indices_as_pytorch_does(x):
    values, indices = x.max(axis=1)
    assert (values.tolist(), indices.tolist()) == ([3.0, 4.0], [0, 1])


def test_names_are_taken_by_methods_alone(x):
    with pytest.raises(TypeError, match="'axis' is called 'dim' here"):
        opyard.ops.aten.mean.dim(x, axis=0)
    with pytest.raises(TypeError):
        opyard.Tensor.mean(x, axis=0)


def test_names_of_a_schema_stay(x):
    lib = opyard.library.Library("aten", "FRAGMENT")
    lib.define("named_by_numpy(Tensor self, *, int axis=0, int dim=1) -> int[]")
    lib.impl("named_by_numpy", lambda self, axis=0, dim=1: [axis, dim], "CPU")
    assert x.named_by_numpy(axis=5) == [5, 1]
    assert x.named_by_numpy(axis=5, dim=6) == [5, 6]


def test_dims_by_position_go_with_names_of_numpy(x):
    for name in ("sum", "mean", "amax"):
        call = getattr(x, name)
        assert call(0, keepdims=True).tolist() == call(0, keepdim=True).tolist()
    assert x.max(0, keepdims=True)[0].tolist() == x.max(0, keepdim=True)[0].tolist()


def test_wrong_names_are_refused_by_the_operator(x):
    with pytest.raises(TypeError, match="axis"):
        x.relu(axis=0)
    with pytest.raises(TypeError, match="keepdims"):
        x.cumsum(axis=0, keepdims=True)
    for twice in ({"axis": 0, "dim": 0}, {"axis": None, "dim": 0}, {"axis": 0, "dim": None}):
        with pytest.raises(TypeError, match="'dim' is given twice"):
            x.mean(**twice)
    with pytest.raises(TypeError, match="'keepdim' is given twice"):
        x.sum(axis=0, keepdims=True, keepdim=True)
    with pytest.raises(IndexError):
        x.mean(axis=7)


def test_renamed_calls_are_dispatched(x):
    seen = []

    class Seen(opyard.dispatch.DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            seen.append((op.name(), args[1:], kwargs))
            return op(*args, **(kwargs or {}))

    with Seen():
        x.mean(axis=0)
    assert seen == [("aten::mean.dim", ([0],), {})]


def test_gradients_of_renamed_calls(x):
    x.requires_grad_()
    x.mean(axis=0).sum().backward()
    agree(x.grad, np.full((2, 3), 0.5))


# NumPy's functions, which call methods -----------------------------------------------------

REDUCTIONS = ["mean", "sum", "prod", "max", "min", "amax", "amin", "argmax", "argmin", "std", "var"]


@pytest.mark.parametrize("name", [*REDUCTIONS, "any", "all"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(x, name, axis):
    function = getattr(np, name)
    found = function._implementation(x, axis=axis)
    agree(found, function(X, axis=axis))


@pytest.mark.parametrize("name", ["mean", "sum", "max", "min", "std", "var", "any", "all"])
def test_reductions_that_keep_dimensions(x, name):
    function = getattr(np, name)
    agree(function._implementation(x, axis=1, keepdims=True), function(X, axis=1, keepdims=True))


def test_degrees_of_freedom(x):
    agree(np.std._implementation(x, axis=0, ddof=1), np.std(X, axis=0, ddof=1))
    agree(np.var._implementation(x, ddof=1), np.var(X, ddof=1))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_running_totals(x, name, axis):
    function = getattr(np, name)
    agree(function._implementation(x, axis=axis), function(X, axis=axis))


def test_dtypes(x):
    found = np.sum._implementation(x, axis=0, dtype=np.float32)
    assert found.dtype is opyard.float32
    agree(found, X.sum(axis=0).astype(np.float32))


def test_squeeze(x):
    agree(np.squeeze._implementation(x.unsqueeze(1), axis=1), X)
    agree(np.squeeze._implementation(x.unsqueeze(1)), X)


def test_what_the_operator_lacks_is_refused(x):
    with pytest.raises(TypeError, match="'out'"):
        np.mean._implementation(x, axis=0, out=opyard.zeros(3, dtype=opyard.float64))
    with pytest.raises(TypeError, match="initial"):
        np.sum._implementation(x, axis=0, initial=1.0)
    with pytest.raises(TypeError, match="where"):
        np.mean._implementation(x, axis=0, where=np.ones(3, bool))
