"""Docstrings, signatures and annotations of operators, from their schemas; decomposition."""

import inspect
import keyword
from collections.abc import Sequence
from typing import Any, Optional

from .. import _C
from . import ops as _ops
from .generator import Generator
from .layout import Layout

_Number = bool | int | float | complex

# The Python types of arguments and results by the name of a schema type's kind.
_PLAIN: dict[str, Any] = {
    "Tensor": _C.Tensor,
    "Int": int,
    "Float": float,
    "Bool": bool,
    "Str": str,
    "Complex": complex,
    "Scalar": _Number,
    "Device": _C.device,
    "ScalarType": _C.dtype,
    "Generator": Generator,
    "None": None,
    "SymInt": int,
    "SymFloat": float,
    "SymBool": bool,
}


def _python_type(written: Any, of_result: bool) -> Any:
    """The Python type of a schema type; Any for what has none."""
    kind, elements = written.kind, [_python_type(each, of_result) for each in written.elements]
    if kind == "Optional":
        return Optional[elements[0]]  # noqa: UP045 (an element may be None)
    if kind == "List":
        return list[elements[0]] if of_result else Sequence[elements[0]]
    if kind == "Dict":
        return dict[elements[0], elements[1]]
    if kind == "Tuple":
        return tuple[tuple(elements)] if elements else tuple[()]
    if kind == "Future":
        return _C.Future
    return _PLAIN.get(kind, Any)


def _result_type(schema: Any) -> Any:
    types = [_python_type(result.type, True) for result in schema.returns]
    if schema.is_varret:
        return Any
    if not types:
        return None
    return types[0] if len(types) == 1 else tuple[tuple(types)]


def annotations(op: "_C.OpOverload") -> dict[str, Any]:
    """The Python types of an operator's arguments, by name, and of what it returns."""
    schema = op._schema
    found = {argument.name: _python_type(argument.type, False) for argument in schema.arguments}
    return {**found, "return": _result_type(schema)}


# The numbers of element types in schemas, which dispatcher/tensor/dtypes.def has.
_DTYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16",
    27: "uint16", 28: "uint32", 29: "uint64",
}  # fmt: skip


def _default(value: Any, kind: Any) -> Any:
    if isinstance(value, list) and kind.kind == "List":
        return [_default(item, kind.elements[0]) for item in value]
    if kind.kind == "Optional":
        return _default(value, kind.elements[0])
    if not isinstance(value, int):
        return value
    if kind.kind == "ScalarType" and value in _DTYPES:
        return getattr(_C, _DTYPES[value])
    if kind.kind == "Layout" and value in set(Layout):
        return Layout(value)
    return value


def default_of(argument: Any) -> Any:
    """The default of an argument as Python has it: element types and layouts are no numbers."""
    return _default(argument.default_value, argument.type)


def free_name(name: str, taken: "set[str]") -> str:
    """The name, with as many underscores behind it as it takes to be none of these."""
    while name in taken:
        name += "_"
    return name


def signature(op: "_C.OpOverload") -> inspect.Signature:
    """An operator's signature, for inspect.signature().

    An argument whose name is a keyword of Python is shown with underscores behind it, and as
    one that is given by position only.
    """
    schema = op._schema
    parameters: list[inspect.Parameter] = []
    kinds = inspect.Parameter
    names = {argument.name for argument in schema.arguments}
    for argument in schema.arguments:
        name = argument.name
        kind = kinds.KEYWORD_ONLY if argument.kwarg_only else kinds.POSITIONAL_OR_KEYWORD
        default = default_of(argument) if argument.has_default_value() else kinds.empty
        if keyword.iskeyword(name):
            name = free_name(f"{name}_", names)
            names.add(name)
            if kind == kinds.POSITIONAL_OR_KEYWORD:
                kind = kinds.POSITIONAL_ONLY
                parameters = [
                    p.replace(kind=kind) if p.kind == kinds.POSITIONAL_OR_KEYWORD else p
                    for p in parameters
                ]
        parameters.append(
            kinds(name, kind, default=default, annotation=_python_type(argument.type, False))
        )
    if schema.is_vararg:
        at = sum(p.kind != kinds.KEYWORD_ONLY for p in parameters)
        parameters.insert(at, kinds(free_name("args", names), kinds.VAR_POSITIONAL))
    return inspect.Signature(parameters, return_annotation=_result_type(schema))


def doc(op: "_C.OpOverload") -> str:
    """An operator's schema, and what its author said of it."""
    from .. import _bind
    from .queries import metadata

    text = metadata(op)["doc"] if op.name() in _bind.operator_names() else ""
    return f"{op.declaration}\n\n{text}" if text else op.declaration


def _only(packet: "_C.OpOverloadPacket") -> "_C.OpOverload | None":
    overloads = _ops.overload_names(packet)
    return getattr(packet, overloads[0]) if len(overloads) == 1 else None


def packet_signature(packet: "_C.OpOverloadPacket") -> inspect.Signature:
    """That of a packet's only overload; of several, one that takes whatever comes."""
    only = _only(packet)
    if only is not None:
        return signature(only)
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            kinds("args", kinds.VAR_POSITIONAL),
            kinds("kwargs", kinds.VAR_KEYWORD),
        ]
    )


def packet_doc(packet: "_C.OpOverloadPacket") -> str:
    """Those of all overloads, in the order in which they are tried."""
    return "\n\n".join(doc(getattr(packet, overload)) for overload in _ops.overload_names(packet))


def has_kernel_for_any(op: "_C.OpOverload", keys: object) -> bool:
    """See opyard.dispatch.has_kernel_for_any()."""
    from .queries import has_kernel_for_any

    return has_kernel_for_any(op, keys)


def decompose(op: "_C.OpOverload", /, *args: Any, **kwargs: Any) -> Any:
    """Calls the operator's kernel of CompositeImplicitAutograd, made of calls of other operators,
    whatever is registered at the keys of the arguments. NotImplemented if it has none.

    Raises NotImplementedError if a kernel at CompositeExplicitAutograd covers it at every key.
    """
    from .. import _bind
    from .keys import DispatchKey

    name = op.name()
    _ops.load_for(name)
    if not _bind.has_kernel_at(name, int(DispatchKey.CompositeImplicitAutograd)):
        return NotImplemented
    key = _bind.key_of_math_kernel(name)
    if key is not None:
        return op._call_at(DispatchKey(key), None, *args, **kwargs)
    raise NotImplementedError(
        f"{name} has a kernel at CompositeImplicitAutograd, but one at CompositeExplicitAutograd "
        "covers it at every key, so it cannot be reached"
    )
