"""test/bench/profile_rows.py: journey 8, cost of capturing.

A program of its own: run.py starts it pinned, with the package on PYTHONPATH, and reads one line
of JSON. Rows compare what a call takes longer while it is captured: by the floor of floors.c, which
stores a time and an address for each event, by a profile, and by the profilers of others that are
installed. Each side is the least of many short runs that take turns, so other work on the machine
is left out of all of them.
"""

import argparse
import contextlib
import cProfile
import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from time import perf_counter_ns

from python_rows import load_floors

CALLS = 2000

Side = Callable[[], AbstractContextManager]


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


def extra(body: Callable[[], None], sides: dict[str, Side], rounds: int) -> dict[str, float]:
    """By side, what one call takes longer than without any."""
    body()
    all_sides = {"": contextlib.nullcontext, **sides}
    least = dict.fromkeys(all_sides, float("inf"))
    for _ in range(rounds):
        for name, side in all_sides.items():
            with side():
                least[name] = min(least[name], nanoseconds(body))
    return {name: least[name] - least[""] for name in sides}


def sides_of_others() -> dict[str, Side]:
    """Other profilers, as their users start them; those that are installed."""
    sides: dict[str, Side] = {"cprofile": cProfile.Profile}
    if importlib.util.find_spec("viztracer"):
        from viztracer import VizTracer

        sides["viztracer"] = lambda: VizTracer(verbose=0, output_file=os.devnull, log_async=False)
    if importlib.util.find_spec("pyinstrument"):
        from pyinstrument import Profiler

        sides["pyinstrument"] = Profiler
    if importlib.util.find_spec("torch"):
        import torch.profiler

        sides["torch"] = lambda: torch.profiler.profile(with_stack=True)
    return sides


def measure(folder: Path, rounds: int, peers: bool) -> dict[str, float]:
    import opyard
    from opyard.profiler import profile

    floors = load_floors(folder)

    @contextlib.contextmanager
    def floor() -> Iterator[None]:
        floors.capture()
        try:
            yield
        finally:
            floors.forget()

    figures = {}
    others = sides_of_others() if peers else {}
    for key, body in (("profile_python", call_python), ("profile_c", call_c)):
        for side, value in extra(body, {"floor": floor, "ours": profile}, 20 * rounds).items():
            figures[f"{key}/{side}"] = value
        for side, value in extra(body, others, rounds).items():
            figures[f"{key}_{side}/ours"] = value
            figures[f"{key}_{side}/floor"] = figures[f"{key}/floor"]

    opyard.load_library(folder / "bench_operators.so")
    x = opyard.tensor([1.0])
    stored = opyard.ops.opyard_bench.stored.default

    def call_operator() -> None:
        for _ in range(CALLS):
            stored(x)

    sides: dict[str, Side] = {"ours": lambda: profile(with_stack=False)}
    figures["profile_operator/ours"] = extra(call_operator, sides, 20 * rounds)["ours"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-peers", action="store_true", help="ours and the floor alone")
    options = parser.parse_args()
    print(json.dumps(measure(options.folder, options.rounds, not options.no_peers)))


if __name__ == "__main__":
    main()
