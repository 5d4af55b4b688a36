"""Checks of custom_op() before it defines an operator: its name, its schema, its tags, its text.

Nothing here registers anything. Each refusal names the operator, what came and what is accepted.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .contract import has_tensor, written_arguments
from .shortcuts import require_bare_schema


def _listed(names: "Iterable[str]") -> str:
    return ", ".join(f"'{name}'" for name in sorted(names)) or "nothing"


def require_name(name: str) -> None:
    """Raises ValueError for what a schema's parser takes for another name, or for none."""
    from .._bind import parse

    try:
        parsed = parse(name + "() -> ()")
        understood = parsed.name + (f".{parsed.overload_name}" if parsed.overload_name else "")
    except (ValueError, TypeError):  # TypeError if UTF-8 cannot write it
        understood = ""
    if understood != name:
        raise ValueError(
            f"custom_op: {name!r} is no name of an operator; say 'ns::name' or "
            "'ns::name.overload', of letters, digits and underscores"
        )


def schema_text(
    name: str, fn: Callable, mutates_args: "str | Iterable[str]", given: "str | None", contract: Any
) -> str:
    """The whole schema text of a new operator, checked."""
    from .._bind import parse
    from .infer_schema import infer_schema

    if given is None:
        try:
            text = infer_schema(fn, mutates_args=mutates_args)
        except ValueError as error:
            raise ValueError(f"custom_op: {name} has no schema: {error}") from None
        text = contract.declare(parse, name + text)
        contract.check(parse(text))
        return text
    require_bare_schema("custom_op(schema=...)", name, given)
    schema = parse(name + given.strip())
    if mutates_args != "unknown":
        if isinstance(mutates_args, str):
            raise ValueError(
                f'custom_op: mutates_args of {name} is "{mutates_args}"; accepted are "unknown" '
                "and names in a list"
            )
        expected = {argument.name for argument in written_arguments(schema)}
        if expected != set(mutates_args):
            raise ValueError(
                f"custom_op: of {name}, mutates_args says that it writes to "
                f"{_listed(mutates_args)}, and the schema {given} that it writes to "
                f"{_listed(expected)}; make the two agree, with a '!' for each that is written to"
            )
    contract.check(schema)
    return str(schema)


def documentation(name: str, fn: Callable) -> str:
    """The docstring, as a definition takes it. Raises ValueError for what it cannot keep."""
    text = getattr(fn, "__doc__", None)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise ValueError(
            f"custom_op: the docstring of {name} must be a str or None, not {type(text).__name__}"
        )
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(
            f"custom_op: the docstring of {name} has a null character or half a surrogate pair, "
            "which a definition cannot keep"
        )
    return inspect.cleandoc(text)


def result_rule(schema: Any, tags: tuple[str, ...], check_aliasing: bool) -> str:
    """What calls are to look at; see kernels/result_rules.h."""
    if "inplace" in tags:
        return "first"
    if "out" in tags:
        return "out"
    may_alias = any(
        each.alias_info is None and (has_tensor(each.type) or each.type.kind == "Any")
        for each in schema.returns
    )
    return "fresh" if check_aliasing and may_alias else ""
