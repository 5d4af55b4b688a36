"""Writes the .pt2 files of this folder, where PyTorch is. test_exported_blocks.py runs them where
it is not.

python export.py [name ...]
"""

import collections
import dataclasses
import re
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim
from torch.utils import _pytree

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


class Scan(torch.nn.Module):
    """Sums of what came before, and products with them, along the first dimension."""

    def forward(self, start, steps):
        return scan(lambda sum, x: (sum + x, sum * x), start, steps, dim=0)


class Map(torch.nn.Module):
    """A function of each row."""

    def forward(self, rows, offset):
        return map_rows(lambda row, offset: (row + offset).sin(), rows, offset)


@dataclasses.dataclass
class Fields:
    first: torch.Tensor
    missing: torch.Tensor | None = None
    last: torch.Tensor | None = None


class Pair(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


class Output(collections.OrderedDict):
    """As transformers' ModelOutput is registered."""


torch.export.register_dataclass(Fields, serialized_type_name="models.Fields")
_pytree._register_namedtuple(Pair, serialized_type_name="models.Pair")
_pytree.register_pytree_node(
    Output,
    lambda output: (list(output.values()), list(output.keys())),
    lambda values, keys: Output(zip(keys, values, strict=True)),
    serialized_type_name="models.Output",
    flatten_with_keys_fn=lambda output: (
        [(_pytree.MappingKey(key), value) for key, value in output.items()],
        list(output.keys()),
    ),
)


class Classes(torch.nn.Module):
    """Inputs and outputs in classes that were registered."""

    def forward(self, fields, pair):
        return (
            Fields(fields.first + 1, None, fields.last * 2),
            Pair(pair.x, pair.y * 3),
            Output(loss=fields.first.sum(), scores=[pair.x - 1]),
            collections.deque([pair.x + 7]),
            collections.defaultdict(list, {"z": pair.y * 9}),
        )


def programs():
    n = Dim("n", min=2, max=9)
    x = torch.tensor([1.0, 2.0, 3.0])
    yield "cond", Cond(), (x,), None
    yield "cond_of_size", CondOfSize(), (torch.ones(5),), ({0: n},)
    yield "while", While(), (torch.tensor(3), x), None
    yield "no_grad", NoGrad(), (x,), None
    yield "item", Item(), (x, torch.tensor(4)), None
    yield "scan", Scan(), (torch.zeros(3), torch.ones(4, 3)), None
    yield "map", Map(), (torch.ones(4, 3), x), None
    yield "classes", Classes(), (Fields(x, None, x + 1), Pair(x + 2, x + 3)), None
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
