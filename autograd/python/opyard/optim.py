"""Optimizers: they change the parameters of modules by their gradients.

optimizer = opyard.optim.AdamW(model.parameters(), lr=1e-3)
for x, labels in batches:
    optimizer.zero_grad()
    loss_of(model(x), labels).backward()
    optimizer.step()
"""

from ._core import late as _late
from ._nn.adam import Adam, AdamW
from ._nn.optimizer import Optimizer
from ._nn.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]


def __dir__() -> list[str]:
    return _late.names(globals())
