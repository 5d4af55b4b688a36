"""Operators of Opyard as operators of PyTorch.

    published = opyard.torch.publish("demo")       # all of torch.ops.demo
    torch.compile(lambda x: torch.ops.demo.scale(x, 2.0), fullgraph=True)(x)
    published.undo()

    opyard.torch.adopt("torchvision::nms")         # and the other way: ops.torchvision.nms

PyTorch is imported by these functions, not before.
"""

from ._core import late as _late
from ._torch.adopted import Adopted, adopt
from ._torch.published import Published, publish

__all__ = ["Adopted", "Published", "adopt", "publish"]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
