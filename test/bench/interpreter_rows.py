"""test/bench/interpreter_rows.py: throughput of two isolated interpreters at once, on two cores.

A program of its own, for CPython 3.12 or later. Each interpreter runs the same Python kernel over
and over on a thread that is pinned to a core of its own. The floor is one interpreter alone, the
peer two processes, which share nothing. Prints one line of JSON: nanoseconds a call of each, by
side, where a call of two at once is one of each.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

CALLS = 60_000

# Waits for the moment at which all begin, and writes what it took.
WORK = """
import os, time
import opyard
from opyard.library import Library
os.sched_setaffinity(0, {core})
library = Library("interpreter_rows", "DEF")
library.define("op(Tensor x) -> Tensor")
library.impl("op", lambda x: x, "CPU")
op = opyard.ops.interpreter_rows.op.default
x = opyard.tensor([1.0])
def work(count):
    for _ in range(count):
        op(x)
work({calls} // 10)
for begin in {begins}:
    while time.monotonic() < begin:
        pass
    since = time.perf_counter()
    work({calls})
    os.write({pipe}, b"%d\\n" % int((time.perf_counter() - since) * 1e9 / {calls}))
"""


def in_interpreters(count: int, rounds: int) -> list[float]:
    """Nanoseconds a call in each round: the slowest of those at work."""
    cores = sorted(os.sched_getaffinity(0))
    numbers = [interpreters.create() for _ in range(count)]
    pipes = [os.pipe() for _ in numbers]
    first = time.monotonic() + 1.5
    begins = [first + 0.25 * n for n in range(rounds)]

    def run(n: int) -> None:
        text = WORK.format(
            core={cores[n % len(cores)]}, calls=CALLS, begins=begins, pipe=pipes[n][1]
        )
        failed = interpreters.run_string(numbers[n], text)
        if failed is not None:
            raise SystemExit(failed.errdisplay)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = [os.read(reader, 1 << 16).split() for reader, _ in pipes]
    for number in numbers:
        interpreters.destroy(number)
    return [max(float(one[n]) for one in took) for n in range(rounds)]


def in_processes(count: int, rounds: int) -> list[float]:
    cores = sorted(os.sched_getaffinity(0))
    first = time.monotonic() + 1.5
    begins = [first + 0.25 * n for n in range(rounds)]
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                WORK.format(core={cores[n % len(cores)]}, calls=CALLS, begins=begins, pipe=1),
            ],
            stdout=subprocess.PIPE,
        )
        for n in range(count)
    ]
    took = [process.communicate()[0].split() for process in processes]
    return [max(float(one[n]) for one in took) for n in range(rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    figures = {
        "floor": statistics.median(in_interpreters(1, rounds)),
        "ours": statistics.median(in_interpreters(2, rounds)),
        "processes": statistics.median(in_processes(2, rounds)),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
