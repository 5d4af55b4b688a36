"""The parameters of a Python function, whatever its annotations are."""

import inspect
import sys
from collections.abc import Callable
from typing import Any


def signature_of(function: "Callable[..., Any]") -> inspect.Signature:
    """inspect.signature(), which from CPython 3.14 on would compute the annotations and fail with
    those that name what is imported for type checkers alone (PEP 649)."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)
