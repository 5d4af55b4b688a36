"""Samples for tests of operators beside NumPy: random elements, leaves of them, and comparing."""

import numpy as np

import opyard


def tensors_of(random):
    """Two functions of a shape: a tensor of random elements, and one that requires a gradient."""

    def here(*shape):
        return opyard.from_numpy(random.standard_normal(shape))

    def leaf(*shape):
        return here(*shape).requires_grad_()

    return here, leaf


def close(result, expected, tolerance=1e-10):
    assert tuple(result.shape) == np.shape(expected)
    np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance)
