"""Schemas in PyTorch's language, and what it has no words for."""

from typing import Any

from .. import _C
from .._publish.schemas import Refusal, refuse_open_ends


def declaration_for(torch: Any, op: "_C.OpOverload", name: str) -> str:
    """`op` as torch.library.define() takes it, under `name`, which has its overload.

    An operator that writes is declared without results, since what torch.library makes of
    operators has none that are their arguments. Raises Refusal.
    """
    schema = op._schema
    refuse_open_ends(op)
    if "inplace_view" in op.tags:
        raise Refusal(
            "it changes the sizes of an argument, and torch.library has no such operators"
        )
    written = [argument.name for argument in schema.arguments if argument.is_write]
    if not written and schema.has_any_alias_info:
        raise Refusal("its result is a view of an argument, and torch.library has no views")
    kept = [r for r in schema.returns if not (r.alias_info is not None and r.alias_info.is_write)]
    if written and kept:
        raise Refusal(f"it writes to {written[0]} and gives results that are new")
    declaration: str = op.declaration
    takes = declaration[declaration.index("(") : declaration.rindex("->")].rstrip()
    gives = "()" if written else declaration[declaration.rindex("->") + 2 :].strip()
    text = f"{name}{takes} -> {gives}"
    try:
        torch._C.parse_schema(f"checked::{text}")
    except RuntimeError as error:
        reason = str(error).strip().split("\n", maxsplit=1)[0].rstrip(":. ")
        raise Refusal(f"PyTorch's schemas have no such thing ({reason}): {text}") from error
    return text


def written_arguments(op: "_C.OpOverload") -> list[str]:
    """The names of the arguments that it gives back as its results, in their order."""
    schema = op._schema
    by_set = {
        argument.alias_info.before: argument.name
        for argument in schema.arguments
        if argument.is_write
    }
    return [by_set[result.alias_info.before] for result in schema.returns]


def torch_tags(torch: Any, op: "_C.OpOverload") -> list[Any]:
    """Its tags that PyTorch knows as well, and pt2_compliant_tag."""
    tags = [torch.Tag.pt2_compliant_tag]
    for tag in op.tags:
        name = getattr(tag, "name", str(tag))
        known = getattr(torch.Tag, name, None)
        # An operator of torch.library that changes sizes and strides in place is not known to it.
        if known is not None and name not in ("pt2_compliant_tag", "inplace_view", "core"):
            tags.append(known)
    return tags
