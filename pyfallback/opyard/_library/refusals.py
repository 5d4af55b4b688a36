"""Refusals of a Library in the words of Python, and its kernels that no call could reach.

C++ refuses the same, and speaks of its macros.
"""

from collections.abc import Mapping

from .._core.near_names import hint

# The namespace of all operators.
EVERY = "_"
_KINDS_THAT_DEFINE = ("DEF", "FRAGMENT")
_ALIAS_ANALYSES = ("", "FROM_SCHEMA", "CONSERVATIVE")


def require_kind(ns: str, kind: str, key: str) -> None:
    """Raises RuntimeError for a library that cannot be of this kind."""
    if kind not in _KINDS_THAT_DEFINE:
        return
    if ns == EVERY:
        raise RuntimeError(
            f'Library("_", "{kind}"): the namespace _ stands for all operators and can only hold '
            'fallbacks; use Library("_", "IMPL", key) for those'
        )
    if key:
        raise RuntimeError(
            f'Library("{ns}", "{kind}"): a library that defines operators takes no dispatch key, '
            f'but got {key}; use Library("{ns}", "IMPL", "{key}") for kernels of one key'
        )


def require_texts(schema: object, body: object) -> None:
    """Raises TypeError unless composite() was given two texts."""
    if not isinstance(schema, str) or not isinstance(body, str):
        wrong = body if isinstance(schema, str) else schema
        raise TypeError(
            f"composite() takes a schema and a body, both of type str, not {wrong!r}; a "
            "function in Python is for custom_op() or impl()"
        )


def require_may_define(function: str, ns: str, kind: str, schema: str) -> None:
    """Raises RuntimeError if a library is for kernels only."""
    if kind != "IMPL":
        return
    raise RuntimeError(
        f'{function}("{schema}"): Cannot define an operator inside of Library("{ns}", "IMPL"), '
        f'which registers kernels only; define it in Library("{ns}", "FRAGMENT")'
    )


def require_own_name(function: str, ns: str, kind: str, name: str) -> None:
    """Raises RuntimeError if an operator is of another namespace than its library."""
    if ns == EVERY:
        raise RuntimeError(
            f'{function}("{name}"): the namespace _ stands for all operators and can only hold '
            "fallbacks; for kernels of one operator use a library of its namespace, such as "
            'Library("aten", "IMPL")'
        )
    namespace, colons, base = name.partition("::")
    if colons and namespace != ns and namespace.isidentifier():
        own = kind if kind == "IMPL" else "FRAGMENT"
        raise RuntimeError(
            f'{function}("{name}"): Explicitly provided namespace ({namespace}) in operator name '
            f'does not match namespace of enclosing Library("{ns}", "{kind}"); write "{base}", or '
            f'use Library("{namespace}", "{own}")'
        )


def require_own_key(ns: str, own: str, key: str, name: str) -> None:
    """Raises RuntimeError if a kernel is to be at another key than that of its library."""
    from .._core.keys import key_of

    if own and key != own and key_of(key) != key_of(own):
        raise RuntimeError(
            f'impl("{name}"): Explicitly provided dispatch key ({key}) is inconsistent with the '
            f'dispatch key of the enclosing Library("{ns}", "IMPL", "{own}"); leave the key out '
            "here, or there"
        )


def require_alias_analysis(given: object) -> None:
    """Raises RuntimeError for what is no way to know aliases."""
    if given not in _ALIAS_ANALYSES:
        meant = hint(given, _ALIAS_ANALYSES) if isinstance(given, str) else ""
        raise RuntimeError(
            f"Invalid alias_analysis type {given}{meant}; accepted are FROM_SCHEMA, which is meant "
            "without one, and CONSERVATIVE"
        )


def require_formulas(name: object, formulas: object) -> "list[tuple[str, str]]":
    """The formulas of a derivative, by argument. Raises TypeError for what is no text."""
    if not isinstance(name, str):
        raise TypeError(f"derivative() takes the name of an operator first, not {name!r}")
    if not isinstance(formulas, Mapping):
        raise TypeError(
            f'derivative("{name}") takes a dict with a formula for each argument, such as '
            f'{{"x": "grad * 2"}}, not {formulas!r}'
        )
    for argument, formula in formulas.items():
        if not isinstance(argument, str):
            raise TypeError(
                f'derivative("{name}"): formulas are by the names of arguments, not by {argument!r}'
            )
        if not isinstance(formula, str):
            raise TypeError(
                f'derivative("{name}"): the formula of {argument!r} must be a text, such as '
                f'"grad * 2", not an object of {type(formula).__name__}; functions in Python are '
                "for opyard.library.register_autograd()"
            )
    return list(formulas.items())
