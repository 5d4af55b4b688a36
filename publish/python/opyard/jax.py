"""Operators of Opyard as functions of JAX.

    demo = opyard.jax.publish("demo")                  # all of demo::…
    jax.jit(jax.grad(lambda x: demo["scale"](x, 2.0).sum()))(x)
    demo.undo()

The kernels run on the CPU, in what XLA compiles, on the memory of its arrays. JAX is imported by
publish(), not before.
"""

from ._core import late as _late
from ._jax.published import Published, publish

__all__ = ["Published", "publish"]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
