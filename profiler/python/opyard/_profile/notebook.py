"""Profiles in notebooks: the cell magic %%profile."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from .exports import format_of
from .session import profile

if TYPE_CHECKING:
    from typing import Any


class Shown:
    """A profile as a cell shows it: a page and a table in a notebook, a table in a terminal."""

    def __init__(self, prof: profile) -> None:
        self._profile = prof

    def _table(self) -> str:
        return self._profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=20)

    def __repr__(self) -> str:
        return self._table()

    def _repr_html_(self) -> str:
        return self._profile._repr_html_()


def _file_of(line: str, usage: type[Exception]) -> str | None:
    """The file that the magic is given; refused before the cell runs if its ending says nothing."""
    names = shlex.split(line)
    if not names:
        return None
    if len(names) > 1:
        raise usage(f"%%profile takes one file, or none; {len(names)} were given")
    path = os.path.expanduser(names[0])
    try:
        format_of(path)
    except ValueError as error:
        raise usage(f"%%profile: {error}") from None
    return path


def register(ipython: Any) -> None:
    """Adds the cell magic %%profile to a shell of IPython's."""
    try:
        from IPython.core.error import UsageError as Usage
    except ImportError:  # another shell with the same methods
        Usage = ValueError

    def profile_cell(line: str, cell: str) -> Shown:
        """Runs the cell, and shows where its time went. A file that is named is written as well:

        %%profile profile.html
        """
        path = _file_of(line, Usage)
        with profile() as prof:
            ipython.run_cell(cell)
        ipython.push({"_profile": prof})
        if path is not None:
            prof.export(path)
        return Shown(prof)

    ipython.register_magic_function(profile_cell, "cell", "profile")
