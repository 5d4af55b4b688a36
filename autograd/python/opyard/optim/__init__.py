"""Optimizers: they change the parameters of modules by their gradients.

optimizer = opyard.optim.AdamW(model.parameters(), lr=1e-3)
for x, labels in batches:
    optimizer.zero_grad()
    loss_of(model(x), labels).backward()
    optimizer.step()

Schedules of learning rates are in opyard.optim.lr_scheduler, averages of weights in
opyard.optim.swa_utils.
"""

from .._core import late as _late
from .._nn.adam import Adam, AdamW
from .._nn.optimizer import Optimizer
from .._nn.sgd import SGD
from . import lr_scheduler, swa_utils

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler", "swa_utils"]


def __dir__() -> list[str]:
    return _late.names(globals())
