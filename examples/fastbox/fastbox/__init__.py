"""Operators for arrays of every library: `from fastbox import nms` is opyard.ops.fastbox.nms.

`import fastbox.torch` makes them operators of PyTorch, `import fastbox.jax` functions of JAX.
"""

from pathlib import Path

import opyard

opyard.load_library(Path(__file__).parent / "libfastbox.so")


def __getattr__(name: str) -> object:
    return getattr(opyard.ops.fastbox, name)
