"""A model to export, and the calls that are compared."""

from dataclasses import dataclass, field
from typing import Any

import torch

Call = tuple[tuple, dict[str, Any]]


@dataclass
class Case:
    """The first call is the one that is exported; all are made in this order, of one module.

    `dynamic` is the dynamic_shapes= of torch.export.export(). An output may be off by `tolerance`
    of its largest element.
    """

    module: torch.nn.Module
    args: tuple
    kwargs: dict[str, Any] = field(default_factory=dict)
    dynamic: Any = None
    more_calls: tuple[Call, ...] = ()
    tolerance: float = 1e-4

    def calls(self) -> tuple[Call, ...]:
        return ((self.args, self.kwargs), *self.more_calls)
