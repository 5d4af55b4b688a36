"""test/bench/gradient_rows.py: cost of gradients in calls from Python, and in a step of training.

A program of its own, run by run.py, because the tape is armed for the whole process. The floors
are the same calls before that.
"""

import argparse
import json
from pathlib import Path

from timing import Statement, medians
from training_step import step_of


def pass_on(x):
    return x


class Sides:
    """The statements; the floors are measured before anything is armed."""

    def __init__(self, folder: Path) -> None:
        import opyard

        self.opyard = opyard
        opyard.load_library(folder / "bench_operators.so")
        self.library = opyard.library.Library("opyard_bench_gradients", "DEF")
        self.library.define("pass_on(Tensor x) -> Tensor")
        self.library.impl("pass_on", pass_on, "CPU")
        self.tensor = opyard.tensor([1.0, 2.0, 3.0, 4.0])

    def calls(self, side: str) -> dict[str, Statement]:
        native = self.opyard.ops.opyard_bench.stored.default
        python = self.opyard.ops.opyard_bench_gradients.pass_on.default
        return {
            f"armed_call/{side}": Statement("op(x)", {"op": native, "x": self.tensor}),
            f"armed_python/{side}": Statement("op(x)", {"op": python, "x": self.tensor}),
        }

    def step(self) -> dict[str, Statement]:
        step = step_of(self.opyard.tensor, self.opyard.autograd.no_grad)
        return {"training_step/ours": Statement("step()", {"step": step})}


def measure(folder: Path, rounds: int) -> dict[str, float]:
    sides = Sides(folder)
    floors = medians(sides.calls("floor"), rounds)
    sides.opyard.tensor([1.0]).requires_grad_()
    return floors | medians(sides.calls("ours"), rounds) | medians(sides.step(), rounds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    print(json.dumps(measure(options.folder, options.rounds)))


if __name__ == "__main__":
    main()
