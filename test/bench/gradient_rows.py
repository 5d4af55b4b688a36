"""test/bench/gradient_rows.py: what gradients cost calls from Python, and a step of training.

A program of its own, run by run.py, because the recorder is armed for the whole process. The floors
are operators with a fallthrough at their Autograd key, which goes before the recorder.
"""

import argparse
import json
from pathlib import Path

from timing import Statement, medians
from training_step import step_of


def pass_on(x):
    return x


def statements(folder: Path) -> dict[str, Statement]:
    import opyard

    opyard.load_library(folder / "bench_operators.so")
    x = opyard.tensor([1.0, 2.0, 3.0, 4.0])
    native = opyard.ops.opyard_bench
    keep = opyard.library.Library("opyard_bench_gradients", "DEF")
    for name in ("ours", "floor"):
        keep.define(f"{name}(Tensor x) -> Tensor")
        keep.impl(name, pass_on, "CPU")
    keep.impl("floor", opyard.library.fallthrough_kernel, "AutogradCPU")
    python = opyard.ops.opyard_bench_gradients
    step = step_of(opyard.tensor, opyard.autograd.no_grad)
    return {
        "armed_call/ours": Statement("op(x)", {"op": native.stored.default, "x": x}),
        "armed_call/floor": Statement("op(x)", {"op": native.stored_unarmed.default, "x": x}),
        "armed_python/ours": Statement("op(x)", {"op": python.ours.default, "x": x}),
        "armed_python/floor": Statement("op(x)", {"op": python.floor.default, "x": x}),
        "training_step/ours": Statement("step()", {"step": step, "keep": keep}),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    print(json.dumps(medians(statements(options.folder), options.rounds)))


if __name__ == "__main__":
    main()
