"""Operators made by custom_op(), which registrations look up."""

from typing import TYPE_CHECKING, Any

from .. import _C

if TYPE_CHECKING:
    from .custom_op import CustomOpDef

# The live ones, by name.
definitions: "dict[str, CustomOpDef[..., Any]]" = {}


def definition_named(name: str) -> "CustomOpDef":
    """For pickles. Raises LookupError if there is none."""
    found = definitions.get(name)
    if found is None or not found._is_live():
        raise LookupError(f"no operator {name} was made by custom_op(); is its module imported?")
    return found


def definition_of(op: "_C.OpOverload") -> "CustomOpDef | None":
    """The CustomOpDef that an operator belongs to, or None."""
    found = definitions.get(op.name())
    return found if found is not None and found.op is op and found._is_live() else None
