"""A two-layer classifier of opyard.nn, trained by opyard.optim.

logits = relu(x w1ᵀ + b1) w2ᵀ + b2, cross-entropy loss, gradient descent with momentum.
"""

import opyard
from opyard import nn


class Network(nn.Module):
    """Parameters float32: hidden.weight[hidden, inputs], last.weight[classes, hidden], biases."""

    def __init__(self, inputs: int, hidden: int, classes: int):
        super().__init__()
        self.hidden = nn.Linear(inputs, hidden)
        self.last = nn.Linear(hidden, classes)
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = opyard.optim.SGD(self.parameters(), momentum=0.9)

    def forward(self, images: opyard.Tensor) -> opyard.Tensor:
        """float32[n, classes] for images float32[n, inputs]."""
        return self.last(self.hidden(images).relu())

    def predict(self, images: opyard.Tensor) -> opyard.Tensor:
        """int64[n]: the likeliest class of each image."""
        with opyard.autograd.no_grad():
            return self(images).argmax(1)

    def step(self, images: opyard.Tensor, labels: opyard.Tensor, rate: float) -> float:
        """One step of gradient descent on a batch; gives its mean loss."""
        self.optimizer.zero_grad()
        loss = self.loss(self(images), labels)
        loss.backward()
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        return loss.item()
