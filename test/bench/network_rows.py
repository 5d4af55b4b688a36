"""test/bench/network_rows.py: exported models beside PyTorch and ONNX Runtime, in one process.

    tools/bench --models                          installs both into build/venv-models first
    tools/bench --models --only ResNet            rows whose name has that in it
    tools/bench --models --threads 2 --steps      on two threads; also training steps

Times are the least of interleaved rounds, so that a neighbour who takes the processor disturbs all
alike. `noise` says how far: half of the rounds took so much longer than the fastest.
"""

import argparse
import gc
import json
import math
import os
import resource
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from model_rows import Work
from networks import NETWORKS
from torch import nn

warnings.simplefilter("ignore")


def measured(work: Work, options: argparse.Namespace) -> tuple[dict[str, float], float]:
    """Microseconds of each, the least; and how noisy the rounds of the first were."""
    clock = time.process_time if options.processor else time.perf_counter
    loops, all_of = {}, {name: [] for name in work}
    for name, run in work.items():
        run()
        began = clock()
        run()
        loops[name] = max(1, int(options.seconds / max(clock() - began, 1e-7)))
    gc.disable()
    for _ in range(options.rounds):
        for name, run in work.items():
            began = clock()
            for _ in range(loops[name]):
                run()
            all_of[name].append((clock() - began) / loops[name] * 1e6)
    gc.enable()
    first = next(iter(all_of.values()))
    return {name: min(times) for name, times in all_of.items()}, (
        statistics.median(first) / min(first) - 1
    )


def onnx_session(network: nn.Module, inputs: tuple, folder: Path, threads: int) -> Callable | None:
    try:
        import onnxruntime
    except ImportError:
        return None
    path = folder / "network.onnx"
    with open(os.devnull, "w") as nowhere:
        said, sys.stdout = sys.stdout, nowhere
        try:
            torch.onnx.export(network, inputs, path, dynamo=True, verbose=False)
        finally:
            sys.stdout = said
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = {one.name: x.numpy() for one, x in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: session.run(None, given)


def first_output(result: object) -> np.ndarray:
    while isinstance(result, tuple | list):
        result = result[0]
    return np.asarray(result)


def of_network(name: str, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    import opyard

    make, inputs_of = NETWORKS[name]
    torch.manual_seed(0)
    network, inputs = make().eval(), inputs_of()
    for module in network.modules():  # as if it had been trained
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_var, 0.5, 2)
            nn.init.normal_(module.running_mean, 0, 0.1)
    path = folder / "network.pt2"
    torch.export.save(torch.export.export(network, inputs), path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    model = opyard.jit.load(path)
    ours = [opyard.from_numpy(x.numpy()) for x in inputs]
    model(*ours)
    loading = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    with torch.inference_mode():
        wanted = first_output(network(*inputs))
        difference = np.abs(first_output(model(*ours)) - wanted).max() / np.abs(wanted).max()
        assert difference < 1e-4, f"{name} differs by {difference}"
        work: Work = {"torch": lambda: network(*inputs), "ours": lambda: model(*ours)}
        if options.exact:
            exact = opyard.jit.load(path, exact=True)
            work["exact"] = lambda: exact(*ours)
        session = onnx_session(network, inputs, folder, options.threads)
        if session is not None:
            assert np.abs(first_output(session()) - wanted).max() / np.abs(wanted).max() < 1e-4
            work["onnx"] = session
        found, noise = measured(work, options)
    found |= {"noise": noise, "loading": loading, "memory": memory / 1024}
    if options.steps:
        found |= of_step(network.train(), inputs, folder, options)
    return found


def of_step(
    network: nn.Module, inputs: tuple, folder: Path, options: argparse.Namespace
) -> dict[str, float]:
    """Forward and backward of the sum of what a network in training gives."""
    import opyard

    path = folder / "training.pt2"
    torch.export.save(torch.export.export(network, inputs), path)
    model, ours = opyard.jit.load(path), [opyard.from_numpy(x.numpy()) for x in inputs]
    trained = [each.requires_grad_() for each in model.parameters()]

    def step(run: Callable, given: list | tuple, parameters: list) -> None:
        result = run(*given)
        while isinstance(result, tuple | list):
            result = result[0]
        result.sum().backward()
        for parameter in parameters:
            parameter.grad = None

    theirs = list(network.parameters())
    work: Work = {
        "torch step": lambda: step(network, inputs, theirs),
        "our step": lambda: step(model, ours, trained),
    }
    return measured(work, options)[0]


def line_of(name: str, found: dict[str, float]) -> str:
    def ratio(one: str, other: str) -> str:
        known = one in found and other in found
        return f"{found[one] / found[other]:8.2f}" if known else f"{'':8}"

    def time_of(one: str) -> str:
        return f"{found[one]:11.1f}" if one in found else f"{'':11}"

    return (
        f"{name:34}{time_of('ours')}{time_of('exact')}{time_of('torch')}{time_of('onnx')}"
        f"{ratio('ours', 'torch')}{ratio('ours', 'onnx')}{ratio('our step', 'torch step')}"
        f"{found['noise'] * 100:7.0f} %{found['loading'] * 1e3:9.0f}{found['memory']:9.0f}"
    )


def main() -> None:
    about = str(__doc__).split("\n")[0]
    parser = argparse.ArgumentParser(prog="tools/bench --models", description=about)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.03, help="of a round, at least")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--exact", action="store_true", help="also models loaded with exact=True")
    parser.add_argument(
        "--processor", action="store_true", help="processor time, of a busy machine"
    )
    parser.add_argument("--steps", action="store_true", help="also training steps")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    import opyard

    opyard.set_num_threads(options.threads)
    print(
        f"{'µs; over PyTorch, ONNX Runtime':34}{'ours':>11}{'exact':>11}{'PyTorch':>11}{'ORT':>11}"
        f"{'/ PyT':>8}{'/ ORT':>8}{'step':>8}{'noise':>9}{'load, ms':>9}{'MB':>9}"
    )
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            if options.only not in name:
                continue
            figures[name] = of_network(name, Path(folder), options)
            print(line_of(name, figures[name]), flush=True)
    known = [one["ours"] / one["torch"] for one in figures.values()]
    if known:
        mean = math.exp(statistics.mean(math.log(one) for one in known))
        print(f"{'geometric mean over PyTorch':34}{'':44}{mean:8.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
