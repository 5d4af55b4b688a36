"""test/bench/timing.py: timing Python statements against each other.

Each statement becomes a function of its own that holds 40 copies of it, so that the loop around
them is not what is measured. A round times every statement once, for a fraction of a
millisecond; many rounds interleave them, and the median over the rounds is what counts. So a
neighbour that takes the processor away spoils a few rounds of all statements, and no result.
"""

import gc
import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter_ns

COPIES = 40
ROUND_NANOSECONDS = 300_000


@dataclass
class Statement:
    """A statement over the names it uses. One that loops by itself says how many calls it makes.

    `within` is a context, entered for each round, in which the statement runs.
    """

    text: str
    names: dict[str, object]
    calls: int = 1
    within: AbstractContextManager = field(default_factory=nullcontext)
    copies: int = field(init=False)

    def __post_init__(self) -> None:
        self.copies = COPIES if self.calls == 1 else 1


def compiled(statement: Statement) -> Callable[[int], int]:
    """A function of the number of loops that returns the nanoseconds they took."""
    body = f"        {statement.text}\n" * statement.copies
    parameters = ", ".join(["_loops", "_clock", *statement.names])
    source = (
        f"def timed({parameters}):\n"
        "    _begin = _clock()\n"
        "    for _ in range(_loops):\n"
        f"{body}"
        "    return _clock() - _begin\n"
    )
    space: dict[str, Callable] = {}
    exec(source, space)
    timed, values = space["timed"], tuple(statement.names.values())

    def run(loops: int) -> int:
        with statement.within:
            return timed(loops, perf_counter_ns, *values)

    return run


def loops_for_a_round(timed: Callable[[int], int]) -> int:
    """Runs the statement until its code is specialised, and finds how often fits into a round."""
    loops = 1
    while timed(loops) < ROUND_NANOSECONDS:
        loops *= 2
    for _ in range(20):
        timed(max(1, loops // 4))
    return loops


def medians(statements: dict[str, Statement], rounds: int) -> dict[str, float]:
    """Nanoseconds a call, by the statement's key."""
    functions = {key: compiled(statement) for key, statement in statements.items()}
    loops = {key: loops_for_a_round(timed) for key, timed in functions.items()}
    samples: dict[str, list[float]] = {key: [] for key in statements}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for key, timed in functions.items():
                calls = loops[key] * statements[key].copies * statements[key].calls
                samples[key].append(timed(loops[key]) / calls)
    finally:
        if was_enabled:
            gc.enable()
    return {key: statistics.median(taken) for key, taken in samples.items()}
