"""Protects the example that learns: backward() gives the gradient that one would write by hand.

Suspect examples/digits/network.py, then autograd/src/engine.cpp.
"""

import importlib.util

import pytest
from built import ROOT

import opyard

np = pytest.importorskip("numpy")

EXAMPLE = ROOT / "examples" / "digits" / "network.py"


@pytest.fixture(scope="module")
def network_module():
    spec = importlib.util.spec_from_file_location("digits_network", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_hand(network, images, labels):
    """The gradients of the mean cross-entropy for the parameters, in their order."""
    w1, b1, w2, b2 = (weight.detach() for weight in network.parameters())
    hidden = (images @ w1.t() + b1).relu()
    likelihood = (hidden @ w2.t() + b2).log_softmax(1)
    to_logits = (likelihood.exp() - opyard.eye(10)[labels]) / images.shape[0]
    to_hidden = (to_logits @ w2) * (hidden > 0)
    return [
        to_hidden.t() @ images,
        to_hidden.sum([0]),
        to_logits.t() @ hidden,
        to_logits.sum([0]),
    ]


def test_X31_the_gradient_of_the_digits_is_the_one_by_hand(network_module):
    random = np.random.default_rng(3)
    network = network_module.Network(12, 7, 10)
    images = opyard.from_numpy(random.standard_normal((5, 12)).astype(np.float32))
    labels = opyard.from_numpy(random.integers(0, 10, 5))
    network.loss(network(images), labels).backward()
    for weight, wanted in zip(network.parameters(), by_hand(network, images, labels), strict=True):
        np.testing.assert_allclose(weight.grad.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-7)


def test_a_step_takes_the_weights_along_the_gradient(network_module):
    random = np.random.default_rng(4)
    network = network_module.Network(12, 7, 10)
    images = opyard.from_numpy(random.standard_normal((5, 12)).astype(np.float32))
    labels = opyard.from_numpy(random.integers(0, 10, 5))
    wanted = by_hand(network, images, labels)
    before = [weight.detach().numpy().copy() for weight in network.parameters()]
    first = network.step(images, labels, 0.5)
    for weight, former, gradient in zip(network.parameters(), before, wanted, strict=True):
        np.testing.assert_allclose(
            weight.detach().numpy(), former - 0.5 * gradient.numpy(), rtol=1e-5, atol=1e-6
        )
    assert network.step(images, labels, 0.1) < first
