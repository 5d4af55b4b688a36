"""Schemas: places of tensors in them, and the refusal of an operator."""

import re
from typing import Any

from .. import _C

TENSORS = ("Tensor", "Tensor?", "Tensor[]", "Tensor?[]")
# Values that are objects of this library alone.
NOT_CARRIED = ("Future", "Capsule", "Storage", "RRef", "Await", "PyObject")


class Refusal(Exception):
    """Why an operator is not published; its text is a reason for a user."""


def plain_type(type_: object) -> str:
    """A type without the marks of aliases, and lists without their length."""
    return re.sub(r"\[\d+\]", "[]", re.sub(r"\([a-z!*|> -]*\)", "", str(type_)))


def gives_tensors(op: "_C.OpOverload") -> bool:
    return any("Tensor" in str(result.type) for result in op._schema.returns)


def has_tensors(op: "_C.OpOverload") -> bool:
    return any("Tensor" in str(argument.type) for argument in op._schema.arguments)


def refuse_open_ends(op: "_C.OpOverload") -> None:
    """Raises Refusal for any number of values, and for values that do not go to other libraries."""
    schema = op._schema
    if schema.is_vararg or schema.is_varret:
        raise Refusal("it takes or gives any number of values (...)")
    for one in (*schema.arguments, *schema.returns):
        if any(word in str(one.type) for word in NOT_CARRIED):
            raise Refusal(f"values of the type {one.type} do not go from one library to the other")


def spread(value: Any) -> Any:
    """The elements of a list, or a value as a list of one."""
    return value if isinstance(value, list | tuple) else (value,)
