"""Registration of error and warning classes for C++ operators."""

from collections.abc import Callable
from typing import TypeVar, overload

from .. import _C
from .keywords import names_keywords

_Class = TypeVar("_Class", bound=type[BaseException])


@overload
def register_error(name: str, error: _Class) -> _Class: ...
@overload
def register_error(name: str) -> Callable[[_Class], _Class]: ...
@overload
def register_error(name: _Class) -> _Class: ...


@names_keywords
def register_error(name: object, error: "type[BaseException] | None" = None) -> object:
    """Makes a class of exceptions the one of the errors that C++ code throws under a name.

        @opyard.register_error("demo.QuotaError")
        class QuotaError(RuntimeError): ...

    opyard::fail_as("demo.QuotaError", text) then raises QuotaError(text), and C++ code that catches
    an exception of this class, or of one below it, finds the name with opyard::class_name_of().
    Without a name, it is that of the class. Gives the class. A class stays registered for ever.

    Raises TypeError if it is no class of exceptions, RuntimeError if another class has the
    name.
    """
    if not isinstance(name, str):
        _C.register_error(getattr(name, "__qualname__", ""), name)
        return name
    if error is not None:
        _C.register_error(name, error)
        return error

    def register(error: _Class) -> _Class:
        _C.register_error(name, error)
        return error

    return register


@names_keywords
def set_warn_always(always: bool) -> bool:
    """Whether C++ code that warns once warns each time instead. Gives the former setting."""
    return _C.set_warn_always(always)
