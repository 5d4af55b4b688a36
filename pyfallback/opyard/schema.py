"""Schemas of operators: from text to objects, and back by str().

parse("demo::axpy(Tensor(a!) y, Tensor x, *, float alpha=1.0) -> Tensor(a!)")
"""

from . import _bind
from ._bind import AliasInfo, Argument, Schema, Type
from ._core import late as _late

__all__ = ["AliasInfo", "Argument", "Schema", "Type", "parse"]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())


# A function of Python: pickle writes its name down, and for one of C++ it would write code to run.
def parse(text: str, /) -> Schema:
    """The schema that a text says. Raises ValueError, with line, column and a caret."""
    return _bind.parse(text)
