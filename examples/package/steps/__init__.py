"""Operators of the namespace steps: opyard.ops.steps.count(x)."""

from pathlib import Path

import opyard

opyard.load_library(Path(__file__).parent / "libsteps.so")
