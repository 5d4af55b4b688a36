"""Graphs of backward functions: saved tensors, edges, and hooks on several tensors.

    with opyard.autograd.graph.saved_tensors_hooks(pack, unpack):
        loss = model(x).sum()              # keeps pack(tensor) for each tensor that it saves
    loss.backward()                        # uses unpack() of that

See the guide on gradients.
"""

from .._autograd.edges import GradientEdge, get_gradient_edge, register_multi_grad_hook
from .._autograd.nodes import Node
from .._autograd.runs import increment_version
from .._autograd.saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from .._core import late as _late

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
