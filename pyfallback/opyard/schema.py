"""Schemas of operators: from text to objects, and back by str().

parse("demo::axpy(Tensor(a!) y, Tensor x, *, float alpha=1.0) -> Tensor(a!)")
"""

from ._bind import AliasInfo, Argument, Schema, Type, parse

__all__ = ["AliasInfo", "Argument", "Schema", "Type", "parse"]
