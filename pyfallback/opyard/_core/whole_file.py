"""Atomic writing of files: whole, or not at all."""

import contextlib
import itertools
import os
from collections.abc import Iterator
from typing import BinaryIO

_numbers = itertools.count()


@contextlib.contextmanager
def whole_file(path: "str | os.PathLike[str]") -> "Iterator[BinaryIO]":
    """A file beside `path` to write to, which takes its place once the block has ended well.

    If something is raised, what was at `path` stays as it is. A link stays a link. What is no
    regular file, such as a pipe or a terminal, is written to itself.
    """
    given = os.fsdecode(path)
    target = os.path.realpath(given)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(given, "wb") as file:
            yield file
        return
    beside = f"{target}.{os.getpid()}.{next(_numbers)}.part"
    with _naming(given, beside):
        file = open(beside, "xb")
    try:
        with _naming(given, beside):
            with file:
                yield file
            os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


@contextlib.contextmanager
def _naming(path: str, beside: str) -> "Iterator[None]":
    """Errors of the system name the file that was asked for, not the one beside it."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, beside):
            raise
        raise OSError(error.errno, error.strerror, path) from None
