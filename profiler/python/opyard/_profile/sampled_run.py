"""A program that the command samples: python -m opyard.profiler --sample [HZ] program.py."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from .. import _tracer
from .sampling import require_hz, sample

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from types import FrameType

    from .results import Results

DEFAULT_HZ = 1000


def spell_out_rate(given: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """`--sample` as `--sample=HZ`: a program's name that follows is no rate.

    What is behind the program's name is the program's.
    """
    with_value = {
        name
        for action in parser._actions
        if action.nargs is None and not action.const
        for name in action.option_strings
    }
    spelled = list(given)
    n = 0
    while n < len(spelled):
        one = spelled[n]
        if not one.startswith("-") or one in ("-m", "--"):
            break
        if one == "--sample":
            has_rate = n + 1 < len(spelled) and re.fullmatch(r"[0-9.]+", spelled[n + 1])
            spelled[n : n + 2 if has_rate else n + 1] = [
                f"--sample={spelled[n + 1] if has_rate else DEFAULT_HZ}"
            ]
        n += 2 if one in with_value and one not in ("--sample", "--lines") else 1
    return spelled


def read_rate(text: str) -> float:
    """For argparse, whose message it is if that fails."""
    import argparse

    try:
        hz = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of samples a second") from None
    try:
        return require_hz(hz)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class SampledRun:
    """One program that is sampled. What it starts and forks is not."""

    def __init__(
        self,
        options: argparse.Namespace,
        write: Callable[[Results, argparse.Namespace, str | None], None],
    ) -> None:
        self.options, self._write = options, write
        # The program may change its folder.
        self.output = None if options.output is None else os.path.abspath(options.output)
        self.process = os.getpid()
        self.script = ""
        self.profile = sample(options.sample)

    def begin(self) -> None:
        """It goes on until finish(). What is open here is ours, and no part of the program."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            _tracer.hide(frame.f_code)
            frame = frame.f_back
        _tracer.watch_programs()
        self.profile.start()

    def forget(self) -> None:
        """The program was not found: there is no profile."""
        self.profile.stop()
        self.profile._profile = None

    def finish(self) -> None:
        """The last exit handler, since it is the first that is registered."""
        if os.getpid() != self.process:
            return
        if self.profile._is_on[0]:
            self.profile.stop()
        captured = self.profile._profile
        if captured is None:
            return
        if (started := _tracer.programs_started()) > 0:
            captured.note("other programs that were started, and not sampled", started)
        self._write(self.profile, self.options, self.output)
        if self.output is None:
            sys.stderr.write(self.profile.line_averages().table(row_limit=15))


_tracer.hide(SampledRun.finish.__code__)
