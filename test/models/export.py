"""Writes the .pt2 files of this folder, where PyTorch is. test_exported_blocks.py runs them where
it is not.

python export.py [name ...]
"""

import re
import sys
from pathlib import Path

import torch
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

FOLDER = Path(__file__).resolve().parent


class Cond(torch.nn.Module):
    """One of two graphs, by a value."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: (x * self.weight).sin(), lambda x: x - 1, (x,))


class CondOfSize(torch.nn.Module):
    """One of two graphs, by a size."""

    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x - 1, (x,))


class While(torch.nn.Module):
    """A loop that carries two tensors, and reads a third."""

    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.tensor(1.5))

    def forward(self, n, x):
        return while_loop(
            lambda n, x: n > 0, lambda n, x: (n - 1, x * self.factor), (n.clone(), x.clone())
        )


class NoGrad(torch.nn.Module):
    """A part through which no gradient flows."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        with torch.no_grad():
            y = self.weight * x
        return (y * self.weight).sum()


class Item(torch.nn.Module):
    """A size that is read from a tensor, and asserted."""

    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 8)
        return torch.zeros(k) + x.sum()


class Twice(torch.nn.Module):
    """Sizes that are expressions of one size."""

    def forward(self, x, y):
        return x.reshape(-1, 2)[:, 0] + y


class IntAndSize(torch.nn.Module):
    """An int that is passed, and a size that is twice it."""

    def forward(self, x, k):
        return x + torch.zeros(k * 2)


def programs():
    n = Dim("n", min=2, max=9)
    x = torch.tensor([1.0, 2.0, 3.0])
    yield "cond", Cond(), (x,), None
    yield "cond_of_size", CondOfSize(), (torch.ones(5),), ({0: n},)
    yield "while", While(), (torch.tensor(3), x), None
    yield "no_grad", NoGrad(), (x,), None
    yield "item", Item(), (x, torch.tensor(4)), None
    sizes = ({0: Dim.DYNAMIC}, Dim.DYNAMIC)
    yield "int_and_size", IntAndSize(), (torch.ones(6), 3), sizes
    yield "twice", Twice(), (torch.ones(6), torch.ones(3)), ({0: 2 * n}, {0: n})


def main():
    wanted = sys.argv[1:]
    for name, module, inputs, sizes in programs():
        if wanted and name not in wanted:
            continue
        program = torch.export.export(module, inputs, dynamic_shapes=sizes)
        for module in program.graph_module.modules():
            for node in module.graph.nodes:  # file names without the folders of this machine
                trace = node.meta.get("stack_trace")
                if trace is not None:
                    node.meta["stack_trace"] = re.sub(r'File ".*/', 'File "', trace)
        torch.export.save(program, FOLDER / f"{name}.pt2")


if __name__ == "__main__":
    main()
