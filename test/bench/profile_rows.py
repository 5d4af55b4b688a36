"""test/bench/profile_rows.py: journey 8, what recording costs.

A program of its own: run.py starts it pinned, with the package on PYTHONPATH, and reads one line
of JSON. Rows compare what a call takes longer while it is recorded: by the floor of floors.c, which
stores a time and an address for each event, and by a profile.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

from python_rows import load_floors

CALLS = 20_000


def leaf() -> None:
    pass


def call_python() -> None:
    for _ in range(CALLS):
        leaf()


def call_c(function: Callable[[list], int] = len, argument: list | None = None) -> None:
    argument = argument or [1]
    for _ in range(CALLS):
        function(argument)


def nanoseconds(body: Callable[[], None]) -> float:
    begin = perf_counter_ns()
    body()
    return (perf_counter_ns() - begin) / CALLS


class Sides:
    """How each body is run: not recorded, by the floor, by a profile."""

    def __init__(self, folder: Path) -> None:
        import opyard
        import opyard.profiler

        self.profile = opyard.profiler.profile
        self.floors = load_floors(folder)
        opyard.load_library(folder / "bench_operators.so")
        self.opyard = opyard

    def bare(self, body: Callable[[], None]) -> float:
        return nanoseconds(body)

    def floor(self, body: Callable[[], None]) -> float:
        self.floors.record()
        try:
            return nanoseconds(body)
        finally:
            self.floors.forget()

    def ours(self, body: Callable[[], None]) -> float:
        with self.profile():
            return nanoseconds(body)

    def operators(self, body: Callable[[], None]) -> float:
        with self.profile(with_stack=False):
            return nanoseconds(body)


def extra(run: Callable, bare: Callable, body: Callable[[], None], rounds: int) -> float:
    """What one call takes longer: the median over rounds in which both follow each other."""
    return statistics.median(run(body) - bare(body) for _ in range(rounds))


def measure(folder: Path, rounds: int) -> dict[str, float]:
    sides = Sides(folder)
    figures = {}
    for key, body in (("profile_python", call_python), ("profile_c", call_c)):
        body()
        figures[f"{key}/floor"] = extra(sides.floor, sides.bare, body, rounds)
        figures[f"{key}/ours"] = extra(sides.ours, sides.bare, body, rounds)
    x = sides.opyard.tensor([1.0])
    stored = sides.opyard.ops.opyard_bench.stored.default

    def call_operator() -> None:
        for _ in range(CALLS):
            stored(x)

    call_operator()
    figures["profile_operator/ours"] = extra(sides.operators, sides.bare, call_operator, rounds)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print(json.dumps(measure(options.folder, options.rounds)))


if __name__ == "__main__":
    main()
