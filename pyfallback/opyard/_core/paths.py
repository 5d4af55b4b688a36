"""Paths as arguments of functions."""

import os

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from typing import Any


def require_path(function: str, path: "Any", argument: str = "path") -> None:
    """Raises TypeError, which names function and argument, for what is no path."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(
            f"{function}: {argument} must be a str, bytes or os.PathLike object, not "
            f"{'None' if path is None else f'an object of {type(path).__name__}'}"
        )


def encoded_path(function: str, path: "str | bytes | os.PathLike") -> bytes:
    """The path as the system takes it. Raises OSError for a text that cannot be one, TypeError."""
    require_path(function, path)
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise OSError(f"{path!r} is no path: no file can have this name") from error
    if b"\0" in encoded:
        raise OSError(f"{path!r} is no path: it has a zero byte in it")
    return encoded
