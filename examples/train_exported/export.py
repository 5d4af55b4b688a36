"""Writes model.pt2: a network for the digits that knows nothing yet, exported where PyTorch is.

python export.py
"""

import re
from pathlib import Path

import torch

FOLDER = Path(__file__).resolve().parent


class Digits(torch.nn.Module):
    """Two layers; gives the logarithm of each digit's probability."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.nn.Linear(64, 32)
        self.out = torch.nn.Linear(32, 10)

    def forward(self, images):
        return self.out(torch.relu(self.hidden(images))).log_softmax(1)


def main() -> None:
    torch.manual_seed(0)
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(Digits(), (torch.zeros(3, 64),), dynamic_shapes=({0: batch},))
    for node in program.graph.nodes:  # file names without the folders of this machine
        trace = node.meta.get("stack_trace")
        if trace is not None:
            node.meta["stack_trace"] = re.sub(r'File ".*/', 'File "', trace)
    torch.export.save(program, FOLDER / "model.pt2")


if __name__ == "__main__":
    main()
