"""Leaves of graphs of gradients, made of numbers."""

import opyard


def leaf(values, dtype=None):
    """A tensor that requires a gradient: of float64, or complex128 if its numbers are complex."""
    if dtype is None:
        first = values
        while isinstance(first, (list, tuple)) and first:
            first = first[0]
        dtype = opyard.complex128 if isinstance(first, complex) else opyard.float64
    return opyard.tensor(values, dtype=dtype).requires_grad_()


def single(values):
    """A leaf of float32."""
    return leaf(values, opyard.float32)
