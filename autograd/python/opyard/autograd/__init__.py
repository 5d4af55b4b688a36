"""Reverse-mode automatic differentiation of what operators compute.

    x = opyard.tensor([1.0, 2.0]).requires_grad_()
    (x * x).sum().backward()
    x.grad                                     # [2., 4.]

    with opyard.autograd.no_grad():            # nothing is taped here
        x -= 0.1 * x.grad

Formulas of operators are text beside their schemas: Library.derivative(); an operation whose
backward is Python is a Function. Jacobians and Hessians are in autograd.functional, forward mode in
autograd.forward_ad. What is saved for a backward is packed and looked at by autograd.graph. See the
guide on gradients.
"""

from .. import _gradients
from .._autograd.checkpoint import CheckpointError, checkpoint, checkpoint_sequential
from .._autograd.errors import GradientError, GradientTypeError
from .._autograd.formulas import check_formulas, formulas
from .._autograd.functions import Function, FunctionCtx, once_differentiable
from .._autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from .._autograd.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .._autograd.nodes import Node, RemovableHandle
from .._autograd.pullbacks import add_pullback, create_eval
from .._autograd.runs import backward, grad, increment_version
from .._core import late as _late
from .._gradients import check_formulas_at_registration, queue_callback
from . import forward_ad, functional, graph

__all__ = [
    "CheckpointError",
    "Function",
    "FunctionCtx",
    "GradcheckError",
    "GradientError",
    "GradientTypeError",
    "Node",
    "RemovableHandle",
    "add_pullback",
    "backward",
    "check_formulas",
    "check_formulas_at_registration",
    "checkpoint",
    "checkpoint_sequential",
    "create_eval",
    "detect_anomaly",
    "enable_grad",
    "formulas",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "increment_version",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "queue_callback",
    "set_grad_enabled",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())


_gradients.arm()
