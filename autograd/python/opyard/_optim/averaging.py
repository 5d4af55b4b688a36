"""Averages of weights over training: AveragedModel, of all steps alike or with a decay (EMA)."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from .. import _C
from .._autograd.modes import no_grad
from .._core.keywords import names_keywords
from .._core.ops import ops
from .._nn.module import Module
from .._nn.normalization import _BatchNorm
from .._nn.sizes import number, truth

Average = Callable[[_C.Tensor, _C.Tensor, _C.Tensor], _C.Tensor]
Averages = Callable[[list[_C.Tensor], list[_C.Tensor], _C.Tensor], Any]


@names_keywords
def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """decay * average + (1 - decay) * new, for AveragedModel(avg_fn=...)."""
    _check_decay("get_ema_avg_fn", decay)

    def average(averaged: _C.Tensor, new: _C.Tensor, num_averaged: _C.Tensor) -> _C.Tensor:
        return averaged * decay + new * (1 - decay)

    return average


@names_keywords
def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """As get_ema_avg_fn(), for AveragedModel(multi_avg_fn=...): it writes into the averages."""
    _check_decay("get_ema_multi_avg_fn", decay)

    def average(averaged: list[_C.Tensor], new: list[_C.Tensor], num_averaged: _C.Tensor) -> None:
        for one, other in zip(averaged, new, strict=True):
            if one.dtype.is_floating_point or one.dtype.is_complex:
                one.mul_(decay).add_(other, alpha=1 - decay)
            else:
                one.copy_(other)

    return average


def _check_decay(name: str, decay: float) -> None:
    if not 0 <= number(name, "decay", decay) <= 1:
        raise ValueError(f"{name}: decay is a share, from 0 to 1, not {decay}")


class AveragedModel(Module):
    """A copy of a model whose parameters are means of those that the model has had.

        ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
        for each step: ...; optimizer.step(); ema.update_parameters(model)

    Without a function all updates count alike. Buffers are copied by each update, or averaged, too,
    if use_buffers is True.
    """

    def __init__(
        self,
        model: Module,
        *,
        avg_fn: "Average | None" = None,
        multi_avg_fn: "Averages | None" = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(model, Module):
            raise TypeError(
                f"AveragedModel: model must be a Module, not an object of {type(model).__name__}"
            )
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: one of avg_fn and multi_avg_fn is taken, not both")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", ops.aten.zeros([], dtype=_C.int64))
        self.avg_fn, self.multi_avg_fn = avg_fn, multi_avg_fn
        self.use_buffers = truth("AveragedModel", "use_buffers", use_buffers)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _averaged_of(self, model: Module) -> "list[_C.Tensor]":
        own = list(model.parameters())
        return own + list(model.buffers()) if self.use_buffers else own

    @names_keywords
    def update_parameters(self, model: Module) -> None:
        """Takes the parameters that a model has now into the means. Raises ValueError for a model
        of other parameters."""
        averaged, new = self._averaged_of(self.module), self._averaged_of(model)
        if [each.shape for each in averaged] != [each.shape for each in new]:
            raise ValueError("AveragedModel: the model has other parameters than what is averaged")
        with no_grad():
            given = [each.detach() for each in new]
            own = [each.detach() for each in averaged]
            if self.n_averaged.item() == 0:
                for one, other in zip(own, given, strict=True):
                    one.copy_(other)
            elif self.multi_avg_fn is not None:
                self.multi_avg_fn(own, given, self.n_averaged)
            else:
                for one, other in zip(own, given, strict=True):
                    one.copy_(self._mean(one, other))
            if not self.use_buffers:
                pairs = zip(self.module.buffers(), model.buffers(), strict=True)
                for one, other in pairs:
                    one.copy_(other)
            self.n_averaged.add_(1)

    def _mean(self, averaged: _C.Tensor, new: _C.Tensor) -> _C.Tensor:
        if self.avg_fn is not None:
            return self.avg_fn(averaged, new, self.n_averaged)
        return averaged + (new - averaged) / (self.n_averaged.item() + 1)


@names_keywords
def update_bn(loader: Iterable[Any], model: Module) -> None:
    """Computes the running statistics of all batch norms anew, by calling the model with what a
    loader gives: inputs, or lists and tuples that begin with them."""
    norms = [each for each in model.modules() if isinstance(each, _BatchNorm)]
    momenta = [each.momentum for each in norms]
    if not norms:
        return
    was_training = model.training
    model.train()
    for each in norms:
        each.momentum = None
        with no_grad():
            for buffer, value in ((each.running_mean, 0), (each.running_var, 1)):
                if buffer is not None:
                    buffer.fill_(value)
            if each.num_batches_tracked is not None:
                each.num_batches_tracked.zero_()
    with no_grad():
        for given in loader:
            model(given[0] if isinstance(given, (list, tuple)) else given)
    for each, momentum in zip(norms, momenta, strict=True):
        each.momentum = momentum
    model.train(was_training)
