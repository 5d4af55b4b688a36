"""Schedules: the steps of a program that a profile captures."""

from __future__ import annotations

from enum import Enum

from .._core.keywords import names_keywords

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from collections.abc import Callable


class ProfilerAction(Enum):
    """What a profile does during a step."""

    NONE = 0
    WARMUP = 1  # captured and thrown away: what is slow at first only is over then
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last step of a cycle


@names_keywords
def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Cycles of `wait` steps without capture, `warmup` and `active` ones; `repeat` of them.

    `skip_first` steps come before the first cycle. With `skip_first_wait` that does not wait.
    With a `repeat` of 0 there is no end.
    """
    wrong = [
        f"{name}={value!r}"
        for name, value, least in (
            ("wait", wait, 0),
            ("warmup", warmup, 0),
            ("active", active, 1),
            ("repeat", repeat, 0),
            ("skip_first", skip_first, 0),
        )
        if not isinstance(value, int) or value < least
    ]
    if wrong:
        raise ValueError(
            f"Invalid profiler schedule arguments: {', '.join(wrong)}; "
            "active must be at least 1, the others at least 0"
        )
    if warmup == 0:
        import warnings

        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    length = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * length:
            return ProfilerAction.NONE
        within = step % length
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        last = within == length - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action_of


def member_of(action: object, step: int) -> ProfilerAction:
    """Of what a schedule gave: a member of PyTorch's goes by its name."""
    found = ProfilerAction.__members__.get(getattr(action, "name", ""))
    if found is None:
        raise TypeError(
            f"a schedule gives a ProfilerAction for each step, not {action!r} for step {step}"
        )
    return found


def always(_step: int) -> ProfilerAction:
    """Without a schedule everything is captured."""
    return ProfilerAction.RECORD


# The tables go by value: looking a member of an Enum up would call Python, and be captured.
_NONE, _WARMUP, _RECORD, _SAVE = (action.value for action in ProfilerAction)

# (before, after) of a step: what is done, in this order. The others are not reached by a schedule
# that is right: they warn.
TRANSITIONS = {
    (_NONE, _NONE): (),
    (_NONE, _WARMUP): ("start",),
    (_NONE, _RECORD): ("start",),
    (_NONE, _SAVE): ("start",),
    (_WARMUP, _NONE): ("warn", "drop"),
    (_WARMUP, _WARMUP): (),
    (_WARMUP, _RECORD): ("drop", "start"),
    (_WARMUP, _SAVE): ("drop", "start"),
    (_RECORD, _NONE): ("warn", "stop"),
    (_RECORD, _WARMUP): ("warn", "stop", "start"),
    (_RECORD, _RECORD): (),
    (_RECORD, _SAVE): (),
    (_SAVE, _NONE): ("stop", "ready"),
    (_SAVE, _WARMUP): ("stop", "ready", "start"),
    (_SAVE, _RECORD): ("stop", "ready", "start"),
    (_SAVE, _SAVE): ("stop", "ready", "start"),
}
# At the end of a profile.
ENDINGS = {
    _NONE: (),
    _WARMUP: ("drop",),
    _RECORD: ("stop", "ready"),
    _SAVE: ("stop", "ready"),
}
