"""Schemas that functions of JAX can have, and values of arguments as texts of a schema."""

import json
import math
import re
from typing import Any

from .. import _C
from .._publish.schemas import TENSORS, Refusal, plain_type, refuse_open_ends
from .._tensor import dtypes

_RESULTS = ("Tensor", "Tensor[]")
_DATA_DEPENDENT = ("dynamic_output_shape", "data_dependent_output")


def check_schema(op: "_C.OpOverload") -> None:
    """Raises Refusal for what JAX cannot have: its arrays never change, and have known sizes."""
    schema = op._schema
    refuse_open_ends(op)
    if "inplace_view" in op.tags:
        raise Refusal("it changes the sizes of an argument, and JAX's arrays never change")
    for tag in _DATA_DEPENDENT:
        if tag in op.tags:
            raise Refusal(
                f"its results depend on elements ({tag}), and JAX knows all sizes before it runs"
            )
    if not schema.is_mutable and schema.has_any_alias_info:
        raise Refusal("its result is a view of an argument, and JAX has no views")
    for argument in schema.arguments:
        if argument.is_write and argument.kwarg_only:
            raise Refusal(
                f"it writes its results to {argument.name}, and JAX's arrays never change: publish "
                "the operator that gives them"
            )
        kind = plain_type(argument.real_type)
        if argument.is_write and kind != "Tensor":
            raise Refusal(f"it writes to {argument.name}, which is {kind} and not one tensor")
        if "Tensor" in kind and kind not in TENSORS:
            raise Refusal(f"its argument {argument.name} is {kind}, which JAX has no arrays for")
        if "Dict" in kind:
            raise Refusal(f"its argument {argument.name} is {kind}, which is no constant of XLA")
    for result in schema.returns:
        is_written = result.alias_info is not None and result.alias_info.is_write
        if not is_written and plain_type(result.real_type) not in _RESULTS:
            raise Refusal(
                f"it gives {result.real_type}, and functions of JAX give arrays: give a tensor"
            )
    if not schema.returns and not schema.is_mutable:
        raise Refusal("it gives nothing")


def constant(jax: Any, value: Any, type_: str, what: str) -> Any:
    """An argument that is no tensor, as Opyard takes it. Raises TypeError for a traced one."""
    if isinstance(value, jax.core.Tracer):
        raise TypeError(
            f"{what} is {type_}, which has to be known when it is traced, and what came is traced: "
            f"{value}. Pass a number of Python, or name the argument in static_argnums"
        )
    if isinstance(value, list | tuple):
        return [constant(jax, one, type_, what) for one in value]
    if type_.startswith("ScalarType") and value is not None:
        return _dtype(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    return value


def _dtype(value: Any) -> "_C.dtype":
    if isinstance(value, _C.dtype):
        return value
    name = getattr(getattr(value, "dtype", value), "name", None)  # jnp.float32 has a dtype
    found = getattr(_C, name, None) if isinstance(name, str) else None
    return found if isinstance(found, _C.dtype) else dtypes.require(value)


def text_of(value: Any, what: str) -> str:
    """A constant as a schema writes it. Raises TypeError for what it has no text for."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, complex):
        if math.isfinite(value.real) and math.isfinite(value.imag):
            return f"{float(value.real)!r}{float(value.imag):+}j"
    elif isinstance(value, str):
        return _quoted(value)
    elif isinstance(value, _C.dtype):
        return value.name
    elif isinstance(value, list | tuple):
        return f"[{', '.join(text_of(one, what) for one in value)}]"
    elif isinstance(value, _C.device):
        return _quoted(str(value))
    raise TypeError(f"{what} is {value!r}, which is no constant that XLA keeps in a program")


def _quoted(text: str) -> str:
    """In the escapes that schemas know."""
    escaped = json.dumps(text, ensure_ascii=False)
    return re.sub(r"\\u00([0-7][0-9a-f])", r"\\x\1", escaped).replace("\\/", "/")
