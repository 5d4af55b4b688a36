"""Repeated runs of a program: the CPU time of each run, and whether a change is beyond their noise.

The last run is the profile that is written; what the others took is in it as metadata.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

METADATA = "repeats"  # {"runs": all of them, "cpu": {name: [microseconds of all but the last]}}


def run_others(options: list[str], program: list[str], runs: int) -> dict[str, Any]:
    """Runs the program all times but the last, each in a process; as METADATA says.

    `options` are the command's. Raises SystemExit with the code of a run that fails.
    """
    import subprocess
    import tempfile

    from .pages import read_page

    command = [sys.executable, *subprocess._args_from_interpreter_flags()]  # type: ignore[attr-defined]
    taken: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="opyard-repeat-") as folder:
        for number in range(1, runs):
            page = os.path.join(folder, f"{number}.html")
            last = ["--repeat=1", "--is-repeat", "-f", "html", "-o", page]
            code = subprocess.call([*command, "-m", "opyard.profiler", *options, *last, *program])
            if code != 0:
                sys.stderr.write(
                    f"opyard.profiler: run {number} of {runs} ended with {code}; the others are "
                    "left out, and no profile is written\n"
                )
                raise SystemExit(code if code > 0 else 128 - code)
            with open(page, encoding="utf-8") as file:
                taken.append(read_page(file.read(), page).cpu_times())
    names = dict.fromkeys(name for one in taken for name in one)
    cpu = {name: [round(one.get(name, 0.0), 3) for one in taken] for name in names}
    return {"runs": runs, "cpu": cpu}


class Spread:
    """The CPU time of a name in each run of a program, in microseconds."""

    __slots__ = ("least", "middle", "most")

    def __init__(self, values: list[float]) -> None:
        ordered = sorted(values)
        self.least, self.most = ordered[0], ordered[-1]
        half = len(ordered) // 2
        self.middle = (ordered[half] + ordered[-half - 1]) / 2

    def widened(self, by: float) -> Spread:
        return Spread([self.least - by, self.most + by])


def all_runs(cpu: dict[str, float], metadata: dict[str, Any]) -> dict[str, list[float]] | None:
    """The values of every run by name, the last run's last; None if there was one run."""
    repeats = metadata.get(METADATA)
    if repeats is None:
        return None
    others: dict[str, list[float]] = repeats["cpu"]
    none = [0.0] * (repeats["runs"] - 1)
    names = dict.fromkeys([*cpu, *others])
    return {name: [*others.get(name, none), cpu.get(name, 0.0)] for name in names}


def is_beyond_noise(after: list[float], before: list[float]) -> bool:
    """Whether each run of one took longer than each of the other.

    A side with one run is as uncertain as the other one is.
    """
    here, there = Spread(after), Spread(before)
    if len(after) == 1:
        here = here.widened(there.most - there.least)
    if len(before) == 1:
        there = there.widened(here.most - here.least)
    return here.least > there.most or here.most < there.least
