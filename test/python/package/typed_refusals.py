"""Calls that raise, each of which mypy must refuse: one a line."""

import numpy as np

import opyard

x = opyard.ones(2, 2)
CALLS = [
    lambda: x.sum("rows"),
    lambda: x.sum(0.5),
    lambda: x.sum(0, keepdim=1),
    lambda: x.narrow(0, 0, np.float32(1)),
    lambda: x.transpose(0, None),
    lambda: x.reshape("4"),
    lambda: x.size(0.5),
    lambda: x.add("1"),
    lambda: x.add([1.0]),
    lambda: x.add(x, alpha="1"),
    lambda: x.clamp(min="0"),
    lambda: x.maximum(1.0),
    lambda: x.copy_([1.0]),
    lambda: x.copy_("1"),
    lambda: x + "1",
    lambda: x & 1.5,
    lambda: x << np.float32(1),
    lambda: opyard.zeros("3"),
    lambda: opyard.zeros((2.0,)),
    lambda: opyard.full((2,), "1"),
    lambda: opyard.eye(2.5),
    lambda: opyard.stack([x], dim=0.5),
    lambda: x.nosuch(),
    lambda: x.astype(opyard.float64),
    lambda: opyard.nosuchname,
    lambda: opyard.nn.Lineer(2, 2),
    lambda: opyard.optim.Adm([x]),
    lambda: opyard.library.nosuchname,
    lambda: opyard.nn.Linear(2, 2, dtype="float32"),
    lambda: opyard.nn.Linear(2, 2, device=3),
    lambda: opyard.nn.ReLU(dtype=opyard.float32),
    lambda: opyard.cat([x], axis=0),
]
