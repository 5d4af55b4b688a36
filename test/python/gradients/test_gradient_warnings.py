"""Warnings of gradients: cycles and results whose gradient is not kept.

Suspect autograd/src/tape/api.cpp, opyard/_autograd/modes.py.
"""

import subprocess
import sys
import warnings

import pytest
from leaves import leaf

import opyard


def warnings_of(program):
    """What a new process warns of: each of these is said once in a process, or at each place."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stderr


HEAD = "import opyard\nx = opyard.tensor([2.0]).requires_grad_()\n"


def test_G19_backward_that_makes_a_cycle_says_so_once():
    said = warnings_of(
        HEAD
        + "for _ in range(3):\n    (x * x).sum().backward(create_graph=True)\n"
        + "assert x.grad.tolist() == [12.0]\n"
    )
    assert said.count("UserWarning: Using backward() with create_graph=True") == 1
    assert "reset the .grad of parameters to None" in said


def test_G19_grad_makes_no_cycle_and_says_nothing():
    assert not warnings_of(HEAD + "opyard.autograd.grad((x * x).sum(), x, create_graph=True)\n")


def test_G19_an_error_of_that_warning_leaves_everything_as_it_was():
    said = warnings_of(
        HEAD
        + "import warnings\nwarnings.simplefilter('error')\n"
        + "y = (x * x).sum()\n"
        + "try:\n    y.backward(create_graph=True)\nexcept UserWarning as error:\n"
        + "    print('refused')\nassert x.grad is None\n"
        + "y.backward()\nassert x.grad.tolist() == [4.0]\n"
    )
    assert not said


def test_the_gradient_of_a_result_that_is_not_retained_is_warned_of():
    x = leaf([1.0])
    y = x * 2
    text = r"not a leaf Tensor is being accessed: float64\[1\], which MulBackward gave"
    with pytest.warns(UserWarning, match=text):
        assert y.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (x.grad, y.detach().grad, opyard.tensor([1.0]).grad) == (None, None, None)
        y.retain_grad()
        assert y.grad is None
        y.backward()
        assert y.grad.tolist() == [1.0]
