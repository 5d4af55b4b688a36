"""test/bench/model_rows.py: compiled functions and exported models, over PyTorch in one process.

A program of its own, run by run.py with a Python that has PyTorch, whose eager mode is the floor.
All run on one thread; what is timed is the least of some rounds in turn, so that a neighbour who
takes the processor disturbs all alike.
"""

import argparse
import gc
import json
import math
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

warnings.simplefilter("ignore")
Work = dict[str, Callable[[], object]]


def least(
    work: Work,
    rounds: int,
    seconds: float = 0.02,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> dict[str, float]:
    """Nanoseconds of each, the least of some rounds of at least so many seconds."""
    loops = {}
    for name, run in work.items():
        for _ in range(3):
            run()
        began = clock()
        run()
        loops[name] = max(1, int(seconds * 1e9 / (clock() - began)))
    best = dict.fromkeys(work, math.inf)
    gc.disable()
    for _ in range(rounds):
        for name, run in work.items():
            began = clock()
            for _ in range(loops[name]):
                run()
            best[name] = min(best[name], (clock() - began) / loops[name])
    gc.enable()
    return best


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.one = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.one_norm, self.two_norm = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        short = [nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)]
        self.short = nn.Sequential(*short) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.one_norm(self.one(x)))
        return functional.relu(self.two_norm(self.two(y)) + self.short(x))


def resnet18() -> nn.Module:
    """The layers of a ResNet-18, for pictures of 224 by 224."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers += [nn.MaxPool2d(3, 2, 1), Residual(64, 64), Residual(64, 64)]
    for width in (64, 128, 256):
        layers += [Residual(width, 2 * width, 2), Residual(2 * width, 2 * width)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Block(nn.Module):
    """A transformer block: attention that sees what is before, and a layer."""

    def __init__(self, width: int = 256, heads: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.parts, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.parts(self.before(x)).split(width, 2)
        )
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.joined(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.between(x))))


def small() -> nn.Module:
    return nn.Sequential(
        nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)
    )


NETWORKS = {
    "model_small": (small, (1, 16)),
    "model_resnet": (resnet18, (1, 3, 224, 224)),
    "model_block": (Block, (1, 128, 256)),
}


def has_compiler() -> bool:
    try:
        torch.compile(lambda x: x + 1)(torch.ones(2))
    except Exception:  # of many kinds: no compiler, no Python.h
        return False
    return True


def of_network(name: str, folder: Path, rounds: int, compiler: bool) -> dict[str, float]:
    import opyard

    make, sizes = NETWORKS[name]
    torch.manual_seed(0)
    network, x = make().eval(), torch.randn(sizes)
    path = folder / f"{name}.pt2"
    with torch.no_grad():
        program = torch.export.export(network, (x,))
        torch.export.save(program, path)
        module = program.module()
        frozen = torch.jit.freeze(torch.jit.trace(network, x))
        model, ours = opyard.jit.load(path), opyard.from_numpy(x.numpy())
        difference = np.abs(model(ours).numpy() - network(x).numpy()).max()
        assert difference < 1e-3, f"{name} differs by {difference}"
        work: Work = {
            f"{name}/floor": lambda: network(x),
            f"{name}/ours": lambda: model(ours),
            f"{name}/TorchScript": lambda: frozen(x),
            f"{name}/exported": lambda: module(x),
        }
        if compiler:
            compiled = torch.compile(network)
            work[f"{name}/torch.compile"] = lambda: compiled(x)
        return least(work, rounds)


def of_loading(folder: Path, rounds: int) -> dict[str, float]:
    """A small model, loaded and run once, in milliseconds."""
    import opyard

    path, x = folder / "model_small.pt2", opyard.zeros(1, 16)
    taken = []
    for _ in range(max(5, rounds)):
        began = time.perf_counter_ns()
        opyard.jit.load(path)(x)
        taken.append((time.perf_counter_ns() - began) / 1e6)
    return {"model_load/ours": statistics.median(taken)}


def of_step(rounds: int, compiler: bool) -> dict[str, float]:
    """Loss and gradients of the digits network at batch 64."""
    import opyard

    numbers = np.random.default_rng(0).random((64, 64), np.float32)
    labels = np.arange(64) % 10
    theirs = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    ours = opyard.nn.Sequential(
        opyard.nn.Linear(64, 128), opyard.nn.ReLU(), opyard.nn.Linear(128, 10)
    )

    def step_of(network: Callable, criterion: Callable, x: object, y: object, compile_: Callable):
        loss_of = compile_(lambda images, wanted: criterion(network(images), wanted))
        parameters = list(network.parameters())  # type: ignore[attr-defined]

        def step() -> None:
            loss_of(x, y).backward()
            for parameter in parameters:
                parameter.grad = None

        return step

    same = lambda function: function  # noqa: E731
    of_torch = (theirs, nn.CrossEntropyLoss(), torch.from_numpy(numbers), torch.from_numpy(labels))
    of_ours = (ours, opyard.nn.CrossEntropyLoss(), opyard.from_numpy(numbers))
    of_ours = (*of_ours, opyard.from_numpy(labels))
    work: Work = {
        "compiled_step_torch/floor": step_of(*of_torch, same),
        "compiled_step/floor": step_of(*of_ours, same),
        "compiled_step/ours": step_of(*of_ours, opyard.jit.compile),
    }
    if compiler:
        work["compiled_step_torch/torch.compile"] = step_of(*of_torch, torch.compile)
    found = least(work, rounds)
    found["compiled_step_torch/ours"] = found["compiled_step/ours"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    import opyard

    opyard.set_num_threads(1)
    compiler = has_compiler()
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for row in NETWORKS:
            if options.only in row:
                found |= of_network(row, folder, options.rounds, compiler)
        if options.only in "model_small":
            found |= of_loading(folder, options.rounds)
    if options.only in "compiled_step":
        found |= of_step(options.rounds, compiler)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
