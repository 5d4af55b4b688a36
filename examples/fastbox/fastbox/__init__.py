"""Operators of the namespace fastbox, for arrays of every library: opyard.ops.fastbox.

`import fastbox.torch` makes them operators of PyTorch, `import fastbox.jax` functions of JAX.
"""

from pathlib import Path

import opyard

opyard.load_library(Path(__file__).parent / "libfastbox.so")
