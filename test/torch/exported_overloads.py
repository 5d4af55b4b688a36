"""Table of the overloads that torch.export writes for torch.nn, and of those that are here.

    python test/torch/exported_overloads.py > docs/dev/exported_overloads.md   (needs expecttest)

Exports each class of torch.nn and each function of torch.nn.functional that PyTorch's own samples
call, undecomposed, as torch.export.save() writes them by default, and collects the targets of
their graphs: what opyard.jit.load() meets. A program for machines with PyTorch, no suite.
"""

import collections
import logging
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

import opyard

MOST_SAMPLES = 4  # of each; forms with other arguments may call other overloads


class Call(torch.nn.Module):
    """A function with what is no tensor fixed."""

    def __init__(self, function, args, kwargs):
        super().__init__()
        self.function, self.args, self.kwargs = function, args, kwargs

    def forward(self, *tensors):
        left = list(tensors)

        def filled(value):
            return left.pop(0) if isinstance(value, torch.Tensor) else value

        args = [filled(value) for value in self.args]
        return self.function(*args, **{key: filled(value) for key, value in self.kwargs.items()})


def functions():
    for op in op_db:
        if not op.name.startswith("nn.functional."):
            continue
        try:
            samples = list(op.sample_inputs("cpu", torch.float32))
        except Exception:
            continue
        for sample in samples[:MOST_SAMPLES]:
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            tensors = [
                value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)
            ]
            yield op.name, Call(op.op, args, kwargs), tuple(tensors), {}


def modules():
    for info in module_db:
        if not info.module_cls.__module__.startswith("torch.nn.modules"):
            continue
        name = "nn." + info.module_cls.__name__
        for training in (False, True):
            try:
                inputs = info.module_inputs_func(
                    info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
                )
            except Exception:
                continue
            for given in list(inputs)[:MOST_SAMPLES]:
                if given.forward_input is None:
                    continue
                made = given.constructor_input
                module = info.module_cls(*made.args, **made.kwargs).train(training)
                yield name, module, given.forward_input.args, given.forward_input.kwargs


def targets_of(graph_module):
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            yield node.target.name()
    for _, inner in graph_module.named_children():
        if isinstance(inner, torch.fx.GraphModule):
            yield from targets_of(inner)


def is_here(name):
    base, _, overload = name.partition(".")
    opyard.ops.aten  # noqa: B018 (loads them)
    space, _, operator = base.partition("::")
    try:
        return (overload or "default") in getattr(getattr(opyard.ops, space), operator).overloads()
    except AttributeError:
        return False


def collected():
    """{overload: names of those that need it}, how many exports were made, and what was refused."""
    found, made, refused = collections.defaultdict(set), 0, collections.Counter()
    for name, module, args, kwargs in (*modules(), *functions()):
        try:
            with torch.no_grad():
                program = torch.export.export(module, args, kwargs)
        except Exception:
            refused[name] += 1
            continue
        made += 1
        for target in targets_of(program.graph_module):
            found[target].add(name)
    return found, made, refused


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    found, made, refused = collected()
    here = {name for name in found if is_here(name)}
    version = torch.__version__.split("+")[0]
    print("# Overloads in exported programs\n")
    print(
        f"Made by `test/torch/exported_overloads.py` with PyTorch {version}: {made} exports of "
        f"`torch.nn` and `torch.nn.functional`, as `torch.export.save()` writes them by default, "
        f"contain {len(found)} overloads, of which {len(here)} are here. Of {len(refused)} classes "
        f"and functions PyTorch does not export some samples.\n"
    )
    for title, names in (("Not here", set(found) - here), ("Here", here)):
        print(f"## {title}\n\n| overload | in |\n| --- | --- |")
        for name in sorted(names):
            users = sorted(found[name])
            more = f" and {len(users) - 4} more" if len(users) > 4 else ""
            print(f"| `{name}` | {', '.join(users[:4])}{more} |")
        print()


if __name__ == "__main__":
    sys.exit(main())
