"""Options of the programs: argparse, with the option that may be meant by an unknown one."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from .near_names import hint


class OptionParser(argparse.ArgumentParser):
    """An ArgumentParser whose errors name the option that is near an unknown one."""

    _given: "Sequence[str]" = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        import sys

        self._given = sys.argv[1:] if args is None else args
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        unknown = next(filter(self._is_unknown, self._given), "")
        if unknown and ("unrecognized" in message or "required" in message):
            name = unknown.partition("=")[0]
            if name not in message:
                message = f"unrecognized arguments: {name}"
            message += hint(name, self._option_string_actions)
        super().error(message)

    def _is_unknown(self, given: str) -> bool:
        """Whether it looks like an option, and is none, nor the beginning of one."""
        name = given.partition("=")[0]
        known = self._option_string_actions
        return name.startswith("--") and not any(each.startswith(name) for each in known)
