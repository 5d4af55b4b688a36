"""test/bench/profilers.py: one program under the profilers that people choose from, as a table.

tools/bench --profilers runs it, by a Python that has them: viztracer, pyinstrument, py-spy and
cProfile, beside Opyard and, on CPython 3.15, its own. Each profiles the same program by its command
line, in turns; a row is the least of several rounds. The shares are what a profiler says of two
functions, beside what the thread's CPU time says of them without any profiler.
"""

import argparse
import cProfile
import importlib.util
import json
import os
import platform
import pstats
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5


# The program: many small calls, a loop without calls, and calls of C.


def leaf(number: int) -> int:
    return number + 1


def small_calls(count: int) -> None:
    for _ in range(count):
        leaf(1)


def plain_loop(count: int) -> int:
    total = 0
    for number in range(count):
        total = total * 3 + number & 0xFFFF
        total ^= number
    return total


def calls_of_c(count: int) -> None:
    items = [1]
    for _ in range(count):
        len(items)


PARTS = ((small_calls, 1_000_000), (plain_loop, 2_400_000), (calls_of_c, 1_000_000))


def program() -> dict[str, float]:
    """The share of each part by the thread's CPU time."""
    taken = {}
    for part, count in PARTS:
        begin = time.thread_time_ns()
        part(count)
        taken[part.__name__] = time.thread_time_ns() - begin
    whole = sum(taken.values())
    return {name: 100 * one / whole for name, one in taken.items()}


# What profilers say of the parts, in percent. What a part calls has a name that no other calls.

INSIDE = {"small_calls": ("leaf",), "calls_of_c": ("len",)}


def shares(own: dict[str, float]) -> dict[str, float]:
    """From the own times of functions by their plain names."""
    parts = {
        part.__name__: sum(
            own.get(name, 0.0) for name in (part.__name__, *INSIDE.get(part.__name__, ()))
        )
        for part, _ in PARTS
    }
    whole = sum(parts.values())
    return {name: 100 * one / whole for name, one in parts.items()}


def shares_of_cprofile() -> dict[str, float]:
    profiler = cProfile.Profile()
    profiler.runcall(program)
    own: dict[str, float] = {}
    for (_, _, name), (_, _, self_time, _, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        plain = "len" if "builtins.len" in name else name
        own[plain] = own.get(plain, 0.0) + self_time
    return shares(own)


def shares_of_opyard() -> tuple[dict[str, float], dict[str, float]]:
    """By its exact CPU times, and by the corrected ones."""
    from opyard._profile.costs import call_costs
    from opyard.profiler import profile

    costs = call_costs()
    assert costs is not None
    with profile() as prof:
        program()
    exact: dict[str, float] = {}
    corrected: dict[str, float] = {}
    for row in prof.key_averages():
        name = row.key.rpartition("): ")[2].rpartition(".")[2]
        exact[name] = exact.get(name, 0.0) + row.self_thread_time_total
        corrected[name] = corrected.get(name, 0.0) + row.corrected_time(costs)
    return shares(exact), shares(corrected)


# What they cost.


def commands(folder: Path) -> dict[str, list[str]]:
    """Of the profilers that this Python has; the program without any comes first."""
    script = [str(Path(__file__)), "--program"]
    python = sys.executable
    found = {"without": [python, *script]}

    def has(module: str) -> bool:
        return importlib.util.find_spec(module) is not None

    out = {name: str(folder / name) for name in ("o.html", "v.json", "i.json", "s.txt", "c.prof")}
    if has("opyard"):
        found["opyard"] = [python, "-m", "opyard.profiler", "-o", out["o.html"], *script]
    found["cProfile"] = [python, "-m", "cProfile", "-o", out["c.prof"], *script]
    if has("viztracer"):
        bounds = ["--tracer_entries", "10000000", "--quiet"]
        found["viztracer"] = [python, "-m", "viztracer", *bounds, "-o", out["v.json"], *script]
    if has("pyinstrument"):
        found["pyinstrument"] = [
            python,
            "-m",
            "pyinstrument",
            "-r",
            "json",
            "-o",
            out["i.json"],
            *script,
        ]
    if (spy := shutil.which("py-spy", path=os.path.dirname(python))) is not None:
        found["py-spy"] = [spy, "record", "-f", "raw", "-o", out["s.txt"], "--", python, *script]
    if sys.version_info >= (3, 15):
        found["CPython's own"] = [python, "-m", "profiling.sampling", "run", *script]
    return found


WRITES = {
    "opyard": "o.html",
    "cProfile": "c.prof",
    "viztracer": "v.json",
    "pyinstrument": "i.json",
    "py-spy": "s.txt",
}


class Cost:
    """Of the quickest round: seconds of the clock, seconds of CPU, and bytes at the peak."""

    def __init__(self) -> None:
        self.seconds = self.cpu = self.peak = float("inf")
        self.failed = ""

    def add(self, command: list[str]) -> None:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stderr is not None
        said, errors = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            self.failed = (errors.strip().splitlines() or [said.strip()])[-1]
            return
        self.seconds = min(self.seconds, time.perf_counter() - begin)
        self.cpu = min(self.cpu, used.ru_utime + used.ru_stime)
        self.peak = min(self.peak, used.ru_maxrss * 1024)


def table(rounds: int) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        all_commands = commands(folder)
        costs = {name: Cost() for name in all_commands}
        for _ in range(rounds):
            for name, command in all_commands.items():
                costs[name].add(command)
        sizes = {name: (folder / file) for name, file in WRITES.items()}
        written = {name: path.stat().st_size for name, path in sizes.items() if path.exists()}
    plain = costs["without"]
    calls = sum(count for _, count in PARTS[::2])
    lines = [
        f"CPython {platform.python_version()}, {calls / 1e6:.1f} million calls.",
        "",
        "| profiler | time | CPU over plain | peak memory more | file |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, cost in costs.items():
        if cost.failed:
            lines.append(f"| {name} | failed: {cost.failed} | | | |")
            continue
        more = (cost.peak - plain.peak) / 1e6
        size = f"{written[name] / 1e6:.1f} MB" if name in written else ""
        ratio = cost.cpu / plain.cpu
        lines.append(f"| {name} | {cost.seconds:.2f} s | {ratio:.2f} x | {more:.0f} MB | {size} |")
    truth = program()
    exact, corrected = shares_of_opyard()
    by_name = {
        "the thread's CPU time, no profiler": truth,
        "cProfile": shares_of_cprofile(),
        "opyard, exact": exact,
        "opyard, corrected": corrected,
    }
    lines += ["", f"| share of | {' | '.join(truth)} |", f"| --- |{' --- |' * len(truth)}"]
    for name, one in by_name.items():
        lines.append(f"| {name} | {' | '.join(f'{one[part]:.0f} %' for part in truth)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser("tools/bench --profilers", description=__doc__)
    parser.add_argument("--program", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print(json.dumps(program()) if options.program else table(options.rounds))


if __name__ == "__main__":
    main()
