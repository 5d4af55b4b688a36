"""tools/checks/exceptions.py: C++ that calls Python loses no exception."""

import re
from collections.abc import Iterator
from pathlib import Path

from .orders import SLICES
from .sources import listed, text_of


def knowing_python() -> list[Path]:
    """The C++ that calls Python."""
    folders = ["pyfallback", *SLICES]
    return listed(*(f"{folder}/*{suffix}" for folder in folders for suffix in (".h", ".cpp")))


def check_cleared() -> Iterator[str]:
    """An exception is given up by its type: PyErr_Clear() itself would lose every other one too."""
    for path in knowing_python():
        # embed/ knows no types of exceptions; there what is set has become the text of an Error.
        if path.name == "clear.h" or path.parent.name == "embed":
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if "PyErr_Clear" in line.partition("//")[0]:
                yield (
                    f"{path}:{number}: PyErr_Clear() gives up any exception; name the type that "
                    "may be, with clear_if() or clear_or_report() of opyard/detail/python/clear.h"
                )


def check_looked_up() -> Iterator[str]:
    """These functions of CPython take any exception for a name that is missing, and lose it."""
    lossy = re.compile(
        r"\b(PyDict_GetItem(?:String)?|PyObject_HasAttr(?:String)?|PyMapping_HasKey(?:String)?)\("
    )
    for path in knowing_python():
        if path.parent.name == "embed":  # there, what a look-up leaves has become a text already
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if found := lossy.search(line.partition("//")[0]):
                yield (
                    f"{path}:{number}: {found[1]}() loses what it raises; look up with find_item() "
                    "or has_attribute() of python/look_up.h"
                )
