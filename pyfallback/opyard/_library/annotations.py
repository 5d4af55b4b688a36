"""Annotations of users' own classes: their types in a schema, and their conversion for a function.

A schema has tensors, numbers, texts and containers of them. Some annotations stand for one of these
and yet for another class in Python:

    numpy.ndarray, torch.Tensor   Tensor; the function gets an array of this class
    Literal["a", "b"]             str (or int, bool); other values are refused
    an Enum                       str: a member's name. With str or int among its bases, its value
    a NamedTuple, a dataclass     a tuple of its fields; a dataclass for arguments only
    tuple[T, ...]                 a list of T

The function of an operator that custom_op() makes gets the annotated class back, by `adapted`.
"""

import collections.abc
import dataclasses
import enum
import functools
import inspect
import numbers
import os
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.parameters import signature_of

# The classes of arrays that may be annotated: module, class, and how one is made of a Tensor.
_ARRAYS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("numpy", "ndarray"): lambda tensor: tensor.numpy(),
    ("torch", "Tensor"): lambda tensor: sys.modules["torch"].from_dlpack(tensor),
}
_Converter = Callable[[Any], Any]
# What to write in place of classes that no schema has.
_INSTEAD = [
    ((set, frozenset), "for a set, say list[T]"),
    (
        (collections.abc.Iterable, collections.abc.Iterator, collections.abc.Collection),
        "say Sequence[T] or list[T]",
    ),
    ((collections.OrderedDict, collections.defaultdict), "say dict[K, V]"),
    ((type(None),), "leave the parameter out, or say X | None"),
]
# NumPy's scalars are registered as what they are.
_NUMBERS = {
    numbers.Integral: "int",
    numbers.Real: "float",
    numbers.Complex: "complex",
    bool: "bool",
}


def bare(annotation: Any) -> Any:
    """Without Annotated[...] and NewType."""
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType) and hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        else:
            return annotation


def annotated(function: Callable) -> Any:
    """What carries the annotations."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    if inspect.isroutine(function) or not callable(type(function)):
        return function
    return function if hasattr(function, "__annotations__") else type(function).__call__


def array_maker(annotation: Any) -> "_Converter | None":
    """How an array of the annotated class is made of a Tensor; None for what is no such class."""
    cls = typing.get_origin(annotation) or annotation  # numpy.typing.NDArray[numpy.float32]
    for (module, name), make in _ARRAYS.items():
        if module in sys.modules and getattr(sys.modules[module], name, None) is cls:
            return make
    return None


def is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, enum.Enum)


def enum_base(cls: type) -> type:
    """What a schema has for the members of an Enum: str, or int for those that are ints."""
    return int if issubclass(cls, int) else str


def is_named_tuple(annotation: Any) -> bool:
    return (
        isinstance(annotation, type)
        and issubclass(annotation, tuple)
        and isinstance(getattr(annotation, "_fields", None), tuple)
    )


def is_dataclass(annotation: Any) -> bool:
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def _names_of_fields(cls: Any) -> list[str]:
    """Of a NamedTuple, or those of a dataclass that its __init__ takes."""
    if is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls) if field.init]
    return list(cls._fields)


def field_types(cls: type) -> list[Any]:
    """The annotations of the fields of a NamedTuple or dataclass; Any for those that have none."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return [hints.get(field, Any) for field in _names_of_fields(cls)]


def field_values(instance: Any) -> "tuple | None":
    """What the tuple has that an instance of a dataclass stands for; None for what is none."""
    if isinstance(instance, type) or not dataclasses.is_dataclass(instance):
        return None
    return tuple(getattr(instance, name) for name in _names_of_fields(type(instance)))


def why_no_tuple(cls: Any) -> str:
    """Why no tuple stands for a dataclass; "" if one does."""
    pseudo = cls.__dataclass_fields__.values()
    if any(str(field._field_type) == "_FIELD_INITVAR" for field in pseudo):
        return "its InitVar cannot be read from an instance; make it a field"
    return "" if _names_of_fields(cls) else "it has no fields that are given"


def advice(annotation: Any) -> str:
    """What to write in place of an annotation that no schema has; "" if that is not known."""
    origin = typing.get_origin(annotation) or annotation
    if origin in (bytes, bytearray, memoryview):
        return "say Any, which passes bytes as they are, or a Tensor of uint8"
    if origin is collections.abc.Callable:
        return "say Any, which passes a function as it is"
    for classes, instead in _INSTEAD:
        if origin in classes:
            return instead
    if isinstance(origin, type) and issubclass(origin, os.PathLike):
        return "for a path, say str"
    if getattr(origin, "__module__", "") == "numpy" and isinstance(origin, type):
        for kind, name in _NUMBERS.items():
            if issubclass(origin, kind) or origin.__name__.startswith(name):
                return f"for a number of NumPy, say {name}"
    if typing.is_typeddict(annotation):
        return "for a TypedDict, say dict[str, T]"
    if getattr(sys.modules.get("numpy"), "dtype", None) is origin:
        return "say opyard.dtype, for which a caller may give NumPy's"
    return "say Any, which passes any object as it is" if isinstance(origin, type) else ""


# From what a schema has to what a function wants --------------------------------------------


def _literal(values: tuple, name: str) -> _Converter:
    def check(value: Any) -> Any:
        if any(value == each and type(value) is type(each) for each in values):
            return value
        accepted = ", ".join(map(repr, values))
        raise ValueError(f"{name} is {value!r}; accepted are {accepted}")

    return check


def _member(cls: Any, name: str) -> _Converter:
    def member(value: Any) -> Any:
        if isinstance(value, cls):
            return value
        if not issubclass(cls, (str, int)) and value in cls.__members__:
            return cls[value]
        try:
            return cls(value)
        except ValueError:
            given = (each.value if issubclass(cls, (str, int)) else each.name for each in cls)
            accepted = ", ".join(map(repr, given))
            raise ValueError(
                f"{name} is {value!r}, which is no {cls.__name__}; accepted are {accepted}"
            ) from None

    return member


def _each(make: _Converter) -> _Converter:
    return lambda values: [make(each) for each in values]


def _each_item(key_of: "_Converter | None", value_of: "_Converter | None") -> _Converter:
    return lambda values: {
        (key if key_of is None else key_of(key)): (value if value_of is None else value_of(value))
        for key, value in values.items()
    }


def _fields(cls: Any, makers: "list[_Converter | None]") -> _Converter:
    def tuple_of(values: Any) -> Any:
        pairs = zip(makers, values, strict=True)
        return cls(*(value if make is None else make(value) for make, value in pairs))

    return tuple_of


def _as_tuple(*values: Any) -> tuple:
    return values


def _instance(cls: Any, fields: _Converter) -> _Converter:
    """What makes a dataclass of a tuple of its fields; an instance stays as it is."""
    names = _names_of_fields(cls)

    def make(values: Any) -> Any:
        if isinstance(values, cls):
            return values
        return cls(**dict(zip(names, fields(values), strict=True)))

    return make


def _converter(annotation: Any, name: str) -> "_Converter | None":
    """What a value of a schema's type becomes before the function gets it; None for no change."""
    annotation = bare(annotation)
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    make: _Converter | None = None
    if (array := array_maker(annotation)) is not None:
        return lambda value: array(value) if isinstance(value, _C.Tensor) else value
    if origin is typing.Literal:
        return _literal(parts, name)
    if is_enum(annotation):
        return _member(annotation, name)
    if is_named_tuple(annotation):
        return _fields(annotation, [_converter(each, name) for each in field_types(annotation)])
    if is_dataclass(annotation):
        makers = [_converter(each, name) for each in field_types(annotation)]
        return _instance(annotation, _fields(_as_tuple, makers))
    if origin in (typing.Union, types.UnionType):
        rest = [part for part in parts if part is not type(None)]
        make = _converter(rest[0], name) if len(rest) == 1 else None
        return make and (lambda value: None if value is None else make(value))
    if origin in (list, collections.abc.Sequence) and len(parts) == 1:
        make = _converter(parts[0], name)
        return make and _each(make)
    if origin in (dict, collections.abc.Mapping) and len(parts) == 2:
        makers = [_converter(part, name) for part in parts]
        return _each_item(*makers) if any(makers) else None
    if origin is tuple and Ellipsis in parts:
        make = _converter(parts[0], name)
        return tuple if make is None else lambda values: tuple(map(make, values))
    if origin is tuple:
        makers = [_converter(part, name) for part in parts]
        return _fields(_as_tuple, makers) if any(makers) else None
    return None


def adapted(op: str, function: Callable) -> Callable:
    """The function as a kernel of `op`: one that wants classes of its own gets them; others are as
    they were.
    """
    try:
        signature = signature_of(function)
        hints = typing.get_type_hints(annotated(function), include_extras=True)
    except (TypeError, ValueError, NameError, AttributeError):
        return function  # without annotations that say something
    makers = {
        name: make
        for name in signature.parameters
        if name in hints
        and (make := _converter(hints[name], f"{op}: argument '{name}'")) is not None
    }
    if not makers:
        return function
    positions = [makers.get(name) for name in signature.parameters]

    @functools.wraps(function)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        made = [
            value if make is None else make(value)
            for make, value in zip(positions, args, strict=False)
        ]
        for name in kwargs.keys() & makers.keys():
            kwargs[name] = makers[name](kwargs[name])
        return function(*made, **kwargs)

    return kernel
