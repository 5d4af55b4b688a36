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
from .._optim.adadelta import Adadelta
from .._optim.adafactor import Adafactor
from .._optim.adagrad import Adagrad
from .._optim.adam import Adam, AdamW
from .._optim.adamax import Adamax
from .._optim.asgd import ASGD
from .._optim.lbfgs import LBFGS
from .._optim.muon import Muon
from .._optim.nadam import NAdam
from .._optim.optimizer import Optimizer
from .._optim.radam import RAdam
from .._optim.rmsprop import RMSprop
from .._optim.rprop import Rprop
from .._optim.sgd import SGD
from . import lr_scheduler, swa_utils

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
