"""A two-layer classifier on aten operators; backward() takes the gradient of its loss.

logits = relu(x w1 + b1) w2 + b2, cross-entropy loss, gradient descent with momentum.
"""

import numpy as np

import opyard

aten = opyard.ops.aten


class Network:
    """Weights float32: w1[64, hidden], b1[hidden], w2[hidden, 10], b2[10]."""

    def __init__(self, inputs: int, hidden: int, classes: int, random: np.random.Generator):
        def weights(rows: int, columns: int) -> opyard.Tensor:
            values = random.standard_normal((rows, columns)) * np.sqrt(2 / rows)
            return opyard.from_numpy(values.astype(np.float32))

        self.weights = [
            weights(inputs, hidden),
            aten.zeros([hidden]),
            weights(hidden, classes),
            aten.zeros([classes]),
        ]
        for weight in self.weights:
            weight.requires_grad_()
        self.velocities = [aten.zeros_like(weight) for weight in self.weights]
        self.one_hot = aten.eye(classes)

    def logits(self, images: opyard.Tensor) -> opyard.Tensor:
        """float32[n, classes] for images float32[n, inputs]."""
        w1, b1, w2, b2 = self.weights
        return (images @ w1 + b1).relu() @ w2 + b2

    def predict(self, images: opyard.Tensor) -> opyard.Tensor:
        """int64[n]: the likeliest class of each image."""
        with opyard.autograd.no_grad():
            return self.logits(images).argmax(1)

    def loss(self, images: opyard.Tensor, labels: opyard.Tensor) -> opyard.Tensor:
        """The mean cross-entropy of a batch."""
        likelihood = self.logits(images).log_softmax(1)
        return -(likelihood * self.one_hot[labels]).sum() / images.shape[0]

    def step(self, images: opyard.Tensor, labels: opyard.Tensor, rate: float) -> float:
        """One step of gradient descent on a batch; gives its mean loss."""
        loss = self.loss(images, labels)
        loss.backward()
        with opyard.autograd.no_grad():
            for weight, velocity in zip(self.weights, self.velocities, strict=True):
                velocity.mul_(0.9).add_(weight.grad)
                weight.sub_(velocity, alpha=rate)
                weight.grad = None
        return loss.item()
