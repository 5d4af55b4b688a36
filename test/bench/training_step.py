"""test/bench/training_step.py: one step of training a network of two layers, at batch 1.

Written in what PyTorch and Opyard both have, so that the same code is measured with both.
"""

from collections.abc import Callable

INPUTS, HIDDEN, OUTPUTS = 16, 32, 10


def parameters(tensor: Callable) -> list:
    """Two weights and two biases that are the same everywhere, with gradients required."""

    def numbers(rows: int, columns: int) -> list:
        return [[((7 * i + 3 * j) % 11 - 5) / 50 for j in range(columns)] for i in range(rows)]

    made = [numbers(INPUTS, HIDDEN), numbers(1, HIDDEN), numbers(HIDDEN, OUTPUTS)]
    made.append(numbers(1, OUTPUTS))
    return [tensor(one).requires_grad_() for one in made]


def step_of(tensor: Callable, no_grad: Callable) -> Callable[[], object]:
    """A step: forward, a loss, backward, and a write to each parameter. Gives the loss."""
    w1, b1, w2, b2 = parameters(tensor)
    x = tensor([[(i % 5 - 2) / 2 for i in range(INPUTS)]])
    wanted = tensor([[float(i == 3) for i in range(OUTPUTS)]])

    def step() -> object:
        hidden = (x @ w1 + b1).relu()
        differs = hidden @ w2 + b2 - wanted
        loss = (differs * differs).sum()
        loss.backward()
        with no_grad():
            for one in (w1, b1, w2, b2):
                one -= one.grad * 0.01
                one.grad = None
        return loss

    return step
