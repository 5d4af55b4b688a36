"""Programs in processes of their own for the matrices, and counts of what they leave behind."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

HUNG = "hung"
# Under a sanitizer everything takes several times as long.
PATIENCE = 5 if "OPYARD_SANITIZER" in os.environ else 1
# CPython 3.10 reads the interpreter's state in a daemon thread that waits for the GIL after that
# state was freed. It crashes with and without Opyard: 4 of 1,500 exits of a program without.
DAEMONS_CRASH = sys.version_info[:2] == (3, 10)


# How often what repeats itself does so: less on the second CPython, more in `tools/test --long`.
VOLUME = float(os.environ.get("OPYARD_TEST_VOLUME", "1"))


def volume(times: int, least: int = 1) -> int:
    """How often to repeat what is repeated so many times in a usual run."""
    return max(least, round(times * VOLUME))


class Ended(NamedTuple):
    """How a process ended; the code is HUNG if it had to be killed."""

    code: "int | str"
    stdout: str
    stderr: str
    seconds: float


def environment_of_a_user() -> "dict[str, str]":
    """The environment with the path of this process, and without what tests alone ask for."""
    path = os.pathsep.join(filter(None, sys.path))
    known = {**os.environ, "PYTHONPATH": path}
    known.pop("OPYARD_CHECK_FORMULAS", None)
    return known


def run(program: str, *arguments: object, limit: float = 10.0) -> Ended:
    """Runs a program in a fresh interpreter of this version, with the same path."""
    started = time.monotonic()
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    with subprocess.Popen(
        command,
        env=environment_of_a_user(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=limit * PATIENCE)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its children as well: they hold the pipes
            out, err = process.communicate()
            code = HUNG
    return Ended(code, out, err, time.monotonic() - started)


def run_often(times: int, program: str, *arguments: object, limit: float = 10.0) -> list[Ended]:
    """The same program several times, two at once."""
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(run, program, *arguments, limit=limit) for _ in range(times)]
        return [job.result() for job in jobs]


REPEAT = 10


def clear_caches() -> None:
    """CPython's own caches, by the name that is not deprecated."""
    if sys.version_info >= (3, 14):
        sys._clear_internal_caches()
    else:
        sys._clear_type_cache()


def collect() -> None:
    """As gc.collect(). CPython's cache of attributes holds each name that was looked up by a string
    of its own, as pybind11 does, until another one takes its entry."""
    gc.collect()
    clear_caches()


def blocks_left(step, warm_ups=3, measured=5) -> list[int]:
    """How many memory blocks more there are after each of some rounds of a step."""
    deltas = []
    gc.collect()
    gc.freeze()  # what is there already is not looked at again: collecting is quick then
    for number in range(warm_ups + measured):
        collect()
        before = sys.getallocatedblocks()
        for _ in range(REPEAT):
            step()
        collect()
        if number >= warm_ups:
            deltas.append(sys.getallocatedblocks() - before)
    return deltas


def leaks(step) -> "list[int] | None":
    """What a step leaves, where every round leaves something: CPython's rule for its own tests.

    One that leaks leaves a block each time at least; Python's own caches grow now and then. Dead
    tensors that wait for reuse are used up first: they would take the place of those that are lost.
    """
    import opyard

    used_up = [opyard.tensor([0.0]) for _ in range(100)]
    for _ in range(5):  # CPython 3.12 and 3.13 take long until all that they reuse is kept
        deltas = blocks_left(step)
        if min(deltas) < REPEAT:
            return None
    del used_up
    return deltas
