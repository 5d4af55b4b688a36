"""Operators as plain C functions: for opyard.library."""

import ctypes
from typing import Any

from .. import _C, _bind
from .._core import ops as _ops
from .._core.keywords import names_keywords

# The letters of opyard::CFunction::letters().
_CTYPES = {
    "v": None,
    "i": ctypes.c_int,
    "l": ctypes.c_int64,
    "d": ctypes.c_double,
    "b": ctypes.c_bool,
    "p": ctypes.c_void_p,
    "c": getattr(ctypes, "c_double_complex", None),
}


class CFunction:
    """An operator as a C function, for C libraries that take callbacks.

        lib.define("square(float x) -> float")
        lib.impl("square", lambda x: x * x)
        f = opyard.ops.demo.square.default.c_function()
        f.prototype                                  # "double square(double x)"
        numeric = ctypes.CDLL("libnumeric.so")
        numeric.integrate.restype = ctypes.c_double
        numeric.integrate(f, ctypes.c_double(0), ctypes.c_double(1), ctypes.c_int64(100))
        f.check()                                    # raises what a callback raised meanwhile

    The signature follows from the schema; opyard.library.c_prototype() says it, and
    opyard/ffi/c_function.h has the table. `form` is "Standard"; "Void" for a function without a
    return value in place of a status; or "Comparator", which qsort() takes:
    int compare(const T*, const T*) for an operator of two numbers of one type that gives an int.

    The function may be called on any thread, and is good as long as this object, or a capsule or
    ctypes object that it gave, is alive; those that are alive when the interpreter ends stay
    callable for ever.
    An operator that fails gives a status, or a NaN, 0 or False if the C function returns its
    result; check() raises the error then. `op` is "ns::name", "ns::name.overload" or an operator of
    opyard.ops.

    Raises LookupError if there is no such operator, ValueError for an unknown form,
    NotImplementedError if the schema has no such C signature.
    """

    def __init__(
        self, op: "str | _C.OpOverload | _C.OpOverloadPacket", form: str = "Standard"
    ) -> None:
        self.op = _ops.operator_of(op)
        self.form = form
        self._closure = _bind.make_c_function(self.op.name(), form)
        self._function: Any = None

    @property
    def address(self) -> int:
        """The address of the function."""
        return self._closure.address

    @property
    def prototype(self) -> str:
        """Its C declaration, for people."""
        return self._closure.prototype

    @property
    def capsule(self) -> Any:
        """The function for an operator that a C function serves and that takes a callback.

        That is an argument of type Capsule in its schema, and a pointer to a function in C. What
        the callback raises, the operator raises. The capsule keeps the function.
        """
        return self._closure.capsule()

    @property
    def ctypes(self) -> Any:
        """The function for ctypes: what a C function takes if its argument is a callback.

        Pointers are c_void_p. Raises NotImplementedError if a parameter is a complex number, for
        which ctypes has no type before CPython 3.14.
        """
        if self._function is None:
            types = [_CTYPES[letter] for letter in self._closure.letters]
            if "c" in self._closure.letters and _CTYPES["c"] is None:
                raise NotImplementedError(
                    f"ctypes has no complex numbers in this Python, but {self.prototype} has; "
                    "use its address"
                )
            self._function = ctypes.CFUNCTYPE(types[0], *types[1:])(self.address)
            self._function.owner = self  # keeps the closure
        return self._function

    @property
    def _as_parameter_(self) -> Any:
        return self.ctypes

    def check(self) -> None:
        """Raises the error that a C function left on this thread, and forgets it.

        An exception of a Python kernel is raised as itself. Does nothing if there is none.
        """
        _bind.raise_c_error()

    def __repr__(self) -> str:
        return f"<CFunction '{self.prototype}' at 0x{self.address:x}>"


@names_keywords
def c_prototype(op: "str | _C.OpOverload | _C.OpOverloadPacket", form: str = "Standard") -> str:
    """What a C function must look like to serve an operator: "double cosine(double x)".

    Raises LookupError if there is no such operator, ValueError for an unknown form,
    NotImplementedError if the schema has no such C signature; it says which argument has none.
    """
    return _bind.c_prototype(_ops.operator_of(op).name(), form)
