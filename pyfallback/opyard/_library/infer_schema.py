"""A schema from a Python function's annotations: opyard.library.infer_schema().

Annotations become types by the tables below; text comes out, which is parsed once to be sure that
it is a schema. What has no place in one is refused with the function's name and signature.
"""

import collections.abc
import enum
import inspect
import numbers
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from .. import _C
from .._C import Future
from .._core.generator import Generator
from .._core.keywords import names_keywords
from .._core.parameters import signature_of
from .annotations import (
    advice,
    annotated,
    array_maker,
    bare,
    enum_base,
    field_types,
    is_dataclass,
    is_enum,
    is_named_tuple,
    why_no_tuple,
)
from .contract import Contract

_PLAIN = {
    _C.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    complex: "complex",
    str: "str",
    numbers.Number: "Scalar",
    _C.dtype: "ScalarType",
    _C.device: "Device",
    Generator: "Generator",
    Any: "Any",
}
_LISTS = (list, collections.abc.Sequence)
_DICTS = (dict, collections.abc.Mapping)
# A number of any kind, as a union: int | float, with bool and complex or without.
_NUMBERS = {int, float, bool, complex}
_DTYPE_NAMES = {value: name for name, value in vars(_C).items() if isinstance(value, _C.dtype)}
_NONE = type(None)


class _Unsupported(Exception):
    """An annotation without a type; the text says which part, or nothing for the whole."""


def _union(parts: tuple, alias: str) -> str:
    rest = tuple(part for part in map(bare, parts) if part is not _NONE)
    if len(rest) == len(parts):
        if set(rest) <= _NUMBERS and {int, float} <= set(rest):
            return "Scalar"
        return "Union(" + ", ".join(_type(part, alias) for part in rest) + ")"
    if len(rest) == 1:
        return _type(rest[0], alias) + "?"
    return _union(rest, alias) + "?"


def _literal_type(values: tuple) -> str:
    """The type of Literal[values], which are of one type."""
    kinds = {type(value) for value in values}
    optional = "?" if _NONE in kinds else ""
    kinds.discard(_NONE)
    if len(kinds) == 1 and kinds <= {str, int, bool}:
        return _PLAIN[kinds.pop()] + optional
    raise _Unsupported("the values of a Literal are all str, all int or all bool, besides None")


def _type(annotation: Any, alias: str = "") -> str:
    """The type's text. `alias` goes behind each Tensor in it: "(a0!)"."""
    annotation = bare(annotation)
    if isinstance(annotation, type) and annotation in _PLAIN:
        return _PLAIN[annotation] + (alias if annotation is _C.Tensor else "")
    if annotation is Any:
        return "Any"
    if array_maker(annotation) is not None:
        return "Tensor" + alias
    if is_enum(annotation):
        return _PLAIN[enum_base(annotation)]
    if is_named_tuple(annotation):
        return "(" + ", ".join(map(_type, field_types(annotation))) + ")"
    if is_dataclass(annotation):
        if why := why_no_tuple(annotation):
            raise _Unsupported(why)
        return "(" + ", ".join(map(_type, field_types(annotation))) + ")"
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return _literal_type(parts)
    if origin in (typing.Union, types.UnionType):
        return _union(parts, alias)
    if origin in _LISTS and len(parts) == 1:
        return _type(parts[0], alias) + "[]"
    if origin in _DICTS and len(parts) == 2:
        return f"Dict({_type(parts[0])}, {_type(parts[1])})"
    if origin is tuple and parts:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return _type(parts[0], alias) + "[]"
        if len(parts) == 1:
            raise _Unsupported("for a tuple of one, say its element's type, or list[T]")
        return "(" + ", ".join(map(_type, parts)) + ")"
    if (origin or annotation) is Future:
        return f"Future({_type(parts[0])})" if parts else "Future(Any)"
    if annotation in _LISTS or annotation in _DICTS or annotation is tuple:
        said = "dict[str, int]" if annotation in _DICTS else "list[int]"
        raise _Unsupported("say of what, as in " + said)
    raise _Unsupported(advice(annotation))


def _has_any_length(annotation: Any) -> bool:
    """Whether there is a tuple[T, ...] in it."""
    annotation = bare(annotation)
    parts = typing.get_args(annotation)
    is_one = typing.get_origin(annotation) is tuple and Ellipsis in parts
    return is_one or any(map(_has_any_length, parts))


def _has_dataclass(annotation: Any) -> bool:
    annotation = bare(annotation)
    return is_dataclass(annotation) or any(map(_has_dataclass, typing.get_args(annotation)))


def _has_tensor(annotation: Any) -> bool:
    annotation = bare(annotation)
    if annotation is _C.Tensor or array_maker(annotation) is not None:
        return True
    return any(map(_has_tensor, typing.get_args(annotation)))


def _literal(value: Any) -> str:
    """A default as a schema says it. Raises TypeError for what it cannot say, UnicodeEncodeError
    for a text with half a surrogate pair.
    """
    if value is None or isinstance(value, bool):
        return str(value)
    # Subclasses, such as numpy.float64 and enums, say the number in words of their own.
    for number in (int, float, complex):
        if isinstance(value, number):
            return number.__repr__(value).strip("()")
    if isinstance(value, str):
        value = str.__str__(value)
        value.encode()
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, enum.Enum):
        return f'"{value.name}"'
    if isinstance(value, _C.device):
        return f'"{value}"'
    if isinstance(value, _C.dtype):
        return _DTYPE_NAMES[value]
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    raise TypeError


def _text(annotation: Any) -> str:
    return annotation.__qualname__ if type(annotation) is type else str(annotation)


class _Inference:
    """One function on its way to a schema."""

    def __init__(self, function: Callable) -> None:
        self.signature = signature_of(function)
        self.name = getattr(function, "__name__", type(function).__name__)
        try:
            hints = typing.get_type_hints(annotated(function), include_extras=True)
        except NameError as error:
            self.refuse(
                f"an annotation names {error.name!r}, which is not known where the function was "
                "defined at module level; import it there, or write the type itself"
            )
        self.hints = hints

    def refuse(self, what: str) -> typing.NoReturn:
        raise ValueError(
            f"infer_schema({self.name}): {what}. Got a function with the signature {self.signature}"
        )

    def mutated(self, mutates_args: "str | Iterable[str]") -> set[str]:
        tensors = {n for n in self.signature.parameters if _has_tensor(self.hints.get(n))}
        if mutates_args == "unknown":
            return tensors
        if isinstance(mutates_args, str):
            self.refuse(
                f'mutates_args is "{mutates_args}"; accepted are "unknown" and names in a list'
            )
        names = list(mutates_args)
        for name in names:
            if name not in self.signature.parameters:
                self.refuse(f"mutates_args names '{name}', and there is no such parameter")
            if name not in tensors and name in self.hints:
                self.refuse(
                    f"mutates_args names '{name}', which is of type "
                    f"{_text(self.hints[name])}; only tensors are written to"
                )
        return set(names)

    def parameter(self, parameter: inspect.Parameter, alias: str) -> str:
        name, kind = parameter.name, parameter.kind
        if kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            what = (
                "takes its argument by position only"
                if kind == parameter.POSITIONAL_ONLY
                else ("stands for any number of arguments")
            )
            self.refuse(f"parameter '{name}' {what}, which a schema cannot say")
        if name not in self.hints:
            self.refuse(f"parameter '{name}' must have a type annotation")
        try:
            text = f"{_type(self.hints[name], alias)} {name}"
        except _Unsupported as why:
            reason = f" ({why})" if str(why) else ""
            self.refuse(
                f"parameter '{name}' has the type {_text(self.hints[name])}, which no schema type "
                f"stands for{reason}; accepted are {_ACCEPTED}"
            )
        if parameter.default is parameter.empty:
            return text
        try:
            return f"{text}={_literal(parameter.default)}"
        except UnicodeEncodeError:
            self.refuse(
                f"parameter '{name}' has the default {parameter.default!a}, which UTF-8 cannot "
                "write, and so no schema: it has half a surrogate pair"
            )
        except TypeError:
            self.refuse(
                f"parameter '{name}' has a default of type {type(parameter.default).__name__}, "
                "which a schema cannot say; accepted are None, bool, numbers, str, dtype, device "
                "and lists of them"
            )

    def results(self) -> str:
        if "return" not in self.hints:
            self.refuse("the result must have a type annotation; None for no result")
        annotation = bare(self.hints["return"])
        if annotation in (None, _NONE):
            return "()"
        try:
            if _has_any_length(annotation):
                raise _Unsupported("for a tuple of any length, say list[T]")
            if _has_dataclass(annotation):
                raise _Unsupported("a result is a tuple; say a NamedTuple with the fields")
            return _type(annotation)
        except _Unsupported as why:
            reason = f" ({why})" if str(why) else ""
            self.refuse(
                f"the result has the type {_text(annotation)}, which no schema type stands "
                f"for{reason}; accepted are {_ACCEPTED}, and tuples of them for several results"
            )


_NAMED = "infer::schema"  # a schema parses with a name
_ACCEPTED = (
    "Tensor, int, float, bool, complex, str, numbers.Number, dtype, device, Generator, Any, "
    "numpy.ndarray, torch.Tensor, Literal, Enum, NamedTuple, dataclass, and list, dict, tuple, "
    "Future and optional of them"
)


@names_keywords
def infer_schema(
    function: "Callable[..., Any]",
    *,
    mutates_args: "str | Iterable[str]",
    op_name: "str | None" = None,
    tags: "str | Iterable[str]" = (),
) -> str:
    """The schema that a function's annotations say, as text: "(Tensor x, float s=1.0) -> Tensor".

        def scale(x: Tensor, factor: float = 1.0, *, out: Tensor | None = None) -> Tensor: ...
        infer_schema(scale, mutates_args=["out"], op_name="demo::scale")

    `mutates_args` names the parameters whose tensors the function writes to, or is "unknown", which
    stands for all tensors. With `op_name` the text begins with it. int stands for SymInt,
    numbers.Number for Scalar, X | None for X?, list[X] for X[], and so does tuple[X, ...] of a
    parameter; keyword-only parameters follow "*".
    The arrays of NumPy and PyTorch stand for Tensor, Literal and Enum for str or int, a NamedTuple
    for a tuple, and so does a dataclass of a parameter. With Tag.inplace or Tag.out among `tags`
    the results are those that are written to, as custom_op() says.

    Raises ValueError, with the signature, for what a schema cannot say: parameters by position
    only and *args, missing annotations, types and defaults without a counterpart, and names in
    `mutates_args` that are no tensors.
    """
    from .._bind import parse

    inference = _Inference(function)
    mutated = inference.mutated(mutates_args)
    parts: list[str] = []
    for number, parameter in enumerate(inference.signature.parameters.values()):
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        alias = f"(a{number}!)" if parameter.name in mutated else ""
        parts.append(inference.parameter(parameter, alias))
    text = f"({', '.join(parts)}) -> {inference.results()}"
    try:
        parse(_NAMED + text)
    except ValueError as error:
        inference.refuse(f"{text} is no schema: {str(error).splitlines()[0]}")
    from .._core.tags import names_of

    contract = Contract(op_name or inference.name, names_of(tags), "infer_schema")
    text = contract.declare(parse, _NAMED + text).removeprefix(_NAMED)
    return text if op_name is None else op_name + text
