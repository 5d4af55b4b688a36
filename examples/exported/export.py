"""Writes model.pt2: a small network, exported where PyTorch is. run.py runs it where it is not.

python export.py
"""

import re
from pathlib import Path

import torch

FOLDER = Path(__file__).resolve().parent


class Net(torch.nn.Module):
    """Two layers, a buffer that counts calls, and outputs that are nested."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.nn.Linear(4, 8)
        self.out = torch.nn.Linear(8, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, options):
        self.calls.add_(1)
        hidden = torch.tanh(self.hidden(x)) * options["scale"]
        return {"scores": self.out(hidden).softmax(-1), "rest": [hidden.sum(), x.shape[0] * 2]}


def main() -> None:
    torch.manual_seed(0)
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(
        Net(),
        (torch.randn(5, 4), {"scale": torch.ones(1)}),
        dynamic_shapes=({0: batch}, {"scale": None}),
    )
    for node in program.graph.nodes:  # file names without the folders of this machine
        trace = node.meta.get("stack_trace")
        if trace is not None:
            node.meta["stack_trace"] = re.sub(r'File ".*/', 'File "', trace)
    torch.export.save(program, FOLDER / "model.pt2")


if __name__ == "__main__":
    main()
