"""A two-layer classifier with a gradient written by hand, on aten operators alone.

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
        self.velocities = [aten.zeros_like(weight) for weight in self.weights]
        self.one_hot = aten.eye(classes)

    def logits(self, images: opyard.Tensor) -> opyard.Tensor:
        """float32[n, classes] for images float32[n, inputs]."""
        w1, b1, w2, b2 = self.weights
        return (images @ w1 + b1).relu() @ w2 + b2

    def predict(self, images: opyard.Tensor) -> opyard.Tensor:
        """int64[n]: the likeliest class of each image."""
        return self.logits(images).argmax(1)

    def step(self, images: opyard.Tensor, labels: opyard.Tensor, rate: float) -> float:
        """One step of gradient descent on a batch; gives its mean loss."""
        w1, b1, w2, b2 = self.weights
        count = images.shape[0]
        hidden = (images @ w1 + b1).relu()
        likelihood = (hidden @ w2 + b2).log_softmax(1)
        wanted = self.one_hot[labels]
        loss = -(likelihood * wanted).sum().item() / count

        to_logits = (likelihood.exp() - wanted) / count
        to_hidden = (to_logits @ w2.t()) * (hidden > 0)
        gradients = [
            images.t() @ to_hidden,
            to_hidden.sum([0]),
            hidden.t() @ to_logits,
            to_logits.sum([0]),
        ]
        for weight, velocity, gradient in zip(
            self.weights, self.velocities, gradients, strict=True
        ):
            velocity.mul_(0.9).add_(gradient)
            weight.sub_(velocity, alpha=rate)
        return loss
