"""What capturing a call costs on this machine, measured once by a process."""

from __future__ import annotations

import _thread
import time
from typing import TYPE_CHECKING, NamedTuple

from .. import _tracer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CALLS, _ROUNDS = 2000, 7


class CallCost(NamedTuple):
    """What one call takes longer if it is captured, in nanoseconds."""

    inside: float  # that the call itself seems to take
    around: float  # that its caller seems to take


class Costs(NamedTuple):
    python: CallCost
    other: CallCost


def _nothing() -> None:
    pass


def _call(function: Callable[[], object]) -> None:
    for _ in range(_CALLS):
        function()


def _loop() -> None:
    for _ in range(_CALLS):
        pass


def _nanoseconds(function: Callable[..., object], *arguments: object) -> float:
    """Of one round, the quickest of some."""
    best = float("inf")
    for _ in range(_ROUNDS):
        begin = time.thread_time_ns()
        function(*arguments)
        best = min(best, time.thread_time_ns() - begin)
    return best / _CALLS


def _measure(function: Callable[[], object]) -> CallCost:
    call, loop = _nanoseconds(_call, function), _nanoseconds(_loop)
    inside = around = float("inf")
    for _ in range(_ROUNDS):
        # With calls of Python and of C, and nothing else.
        _tracer.start(True, True, *[False] * 6, 0, 0, (), ())
        try:
            _call(function)
        finally:
            captured = _tracer.stop()
        for row in captured.averages(0, False, False, False):
            name = row[1].rpartition("): ")[2]
            if name == "_call":
                around = min(around, row[4] / _CALLS)
            elif row[2] == _CALLS:
                inside = min(inside, row[4] / _CALLS)
    # A call that does nothing is in part the caller's work, and in part that of what is called: a
    # third of it is about what runs between the two events.
    own = (call - loop) / 3
    return CallCost(max(0.0, inside - own), max(0.0, around - (call - own)))


_measured: list[Costs] = []


def call_costs() -> Costs | None:
    """None while a profile or a flight recorder is on, if it was not measured before."""
    if not _measured and not _tracer.is_active():
        _measured.append(Costs(_measure(_nothing), _measure(_thread.get_ident)))
    return _measured[0] if _measured else None


def corrected(row: Any, costs: Costs) -> float:
    """The own CPU time of a row without what capturing calls costs, in microseconds; at least 0."""
    own = costs.python if row.kind == "Python" else costs.other
    taken = row.count * own.inside if row.kind in ("Python", "C", "Callable") else 0.0
    hidden_python, hidden_other = row.hidden_calls
    taken += hidden_python * sum(costs.python) + hidden_other * sum(costs.other)
    taken += row.python_calls * costs.python.around + row.other_calls * costs.other.around
    return max(0.0, row.self_thread_time_total - taken / 1000)
