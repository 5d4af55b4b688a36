"""Symbolic numbers: SymInt, SymFloat and SymBool.

Each holds a node: any object with methods by name that make new nodes (`add`, `mul`, `lt`, …, as
in `value/sym_ops.def`), wrap plain numbers (`wrap_int`, `wrap_float`, `wrap_bool`), say what it
is (`is_int`, `is_float`, `is_bool`) and decide (`guard_int(file, line)`, `guard_float`,
`guard_bool`). It may have `maybe_as_int()` and the like, which give what is known without deciding,
or None.

Arithmetic and comparison decide nothing; `int(n)`, `float(x)`, `bool(b)` and `if n > 2:` do.
"""

import sys

from .. import _C
from .._core.keywords import names_keywords

__all__ = ["SymBool", "SymFloat", "SymInt"]


# What may be given by mistake in place of a node.
_PLAIN = frozenset({type(None), bool, int, float, str})


class _Symbolic:
    """What the three have in common: a node, and how operands meet."""

    __slots__ = ("__weakref__", "node")

    @names_keywords
    def __init__(self, node: object) -> None:
        if type(node) in _PLAIN:
            raise TypeError(
                f"{type(self).__name__}: node must be an object that computes with symbols, not "
                f"{node!r}; operators take plain numbers as they are, and give one of these for "
                "the size of a tensor whose sizes are symbols"
            )
        self.node = node

    def __repr__(self) -> str:
        return str(self.node)

    def __hash__(self) -> int:
        raise TypeError(f"a {type(self).__name__} has no hash: what it equals is not decided yet")

    def __reduce__(self) -> tuple:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied by pickling: its node stays here"
        )


def _wrap(node: object) -> "SymInt | SymFloat | SymBool":
    if node.is_int():
        return SymInt(node)
    return SymFloat(node) if node.is_float() else SymBool(node)


def _as_node(like: object, number: object) -> object:
    """A node of the same reasoner for an operand; None for what is no number."""
    if isinstance(number, _Symbolic):
        return number.node
    if isinstance(number, bool):
        return like.wrap_bool(number)
    if isinstance(number, int):
        return like.wrap_int(number)
    if isinstance(number, float):
        return like.wrap_float(number)
    return None


def _meet(left: object, right: object) -> tuple:
    """An int that meets a float becomes one."""
    if left.is_int() and right.is_float():
        return left.sym_float(), right
    if left.is_float() and right.is_int():
        return left, right.sym_float()
    return left, right


def _binary(name: str) -> tuple:
    def forward(self: _Symbolic, other: object) -> object:
        node = _as_node(self.node, other)
        if node is None:
            return NotImplemented
        left, right = _meet(self.node, node)
        return _wrap(getattr(left, name)(right))

    def backward(self: _Symbolic, other: object) -> object:
        node = _as_node(self.node, other)
        if node is None:
            return NotImplemented
        left, right = _meet(node, self.node)
        return _wrap(getattr(left, name)(right))

    return forward, backward


def _where() -> tuple[str, int]:
    """Who asks: the first caller outside of this file."""
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


class _Number(_Symbolic):
    """Arithmetic and comparison, as of int and float."""

    __slots__ = ()

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("truediv")
    __floordiv__, __rfloordiv__ = _binary("floordiv")
    __mod__, __rmod__ = _binary("mod")
    __pow__, __rpow__ = _binary("pow")
    __eq__, _ = _binary("eq")
    __ne__, _ = _binary("ne")
    __lt__, _ = _binary("lt")
    __le__, _ = _binary("le")
    __gt__, _ = _binary("gt")
    __ge__, _ = _binary("ge")
    del _
    __hash__ = _Symbolic.__hash__

    def __neg__(self) -> "SymInt | SymFloat":
        return _wrap(self.node.neg())

    def __pos__(self) -> "SymInt | SymFloat":
        return self

    def __floor__(self) -> "SymInt | SymFloat":
        return _wrap(self.node.floor())

    def __ceil__(self) -> "SymInt | SymFloat":
        return _wrap(self.node.ceil())


class SymInt(_Number):
    """An int that may not be known yet: what `node` stands for.

    `int(n)` decides its value. It is no index: if a plain int is wanted it is refused.
    """

    __slots__ = ()

    def __int__(self) -> int:
        return self.node.guard_int(*_where())

    def __float__(self) -> float:
        return float(self.node.guard_int(*_where()))

    def __bool__(self) -> bool:
        return self.node.ne(self.node.wrap_int(0)).guard_bool(*_where())


class SymFloat(_Number):
    """A float that may not be known yet: what `node` stands for. `float(x)` decides its value."""

    __slots__ = ()

    def __float__(self) -> float:
        return self.node.guard_float(*_where())

    def __bool__(self) -> bool:
        return self.node.ne(self.node.wrap_float(0.0)).guard_bool(*_where())


class SymBool(_Symbolic):
    """A truth that may not be decided yet: what `node` stands for. `bool(b)` decides it."""

    __slots__ = ()

    __and__, __rand__ = _binary("sym_and")
    __or__, __ror__ = _binary("sym_or")
    __hash__ = _Symbolic.__hash__

    def __invert__(self) -> "SymBool":
        return SymBool(self.node.sym_not())

    def __bool__(self) -> bool:
        return self.node.guard_bool(*_where())


_C.set_sym_types(SymInt, SymFloat, SymBool)
for _class in (SymInt, SymFloat, SymBool):
    _class.__module__ = "opyard"
