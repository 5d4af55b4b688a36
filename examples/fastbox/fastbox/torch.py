"""The operators of fastbox as operators of PyTorch: torch.ops.fastbox.rotary(x, cos, sin)."""

import opyard

published = opyard.torch.publish("fastbox")
