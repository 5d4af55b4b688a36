"""Operators of Opyard as operators of PyTorch.

    published = opyard.torch.publish("demo")       # all of torch.ops.demo
    torch.compile(lambda x: torch.ops.demo.scale(x, 2.0), fullgraph=True)(x)
    published.undo()

PyTorch is imported by publish(), not before.
"""

from ._torch.published import Published, publish

__all__ = ["Published", "publish"]
