"""Averages of weights: a copy of a model with the means of the parameters that it has had.

ema = opyard.optim.swa_utils.AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
for x, labels in batches:
    train_one_step()
    ema.update_parameters(model)
"""

from .._core import late as _late
from .._optim.averaging import AveragedModel, get_ema_avg_fn, get_ema_multi_avg_fn, update_bn
from .._optim.cycles import SWALR

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "update_bn"]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
