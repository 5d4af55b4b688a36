"""symbols.py: nodes of symbolic numbers that know their value.

n = SymInt(Node("n", 5))
n + 1                        # (n + 1): nothing is decided
int(n + 1)                   # 6, and Node.decided says who asked
"""

import math
import operator
import typing


class Node:
    """Writes down what is done with it, and computes with a hint."""

    decided: typing.ClassVar[list] = []

    def __init__(self, text, hint, kind=int):
        self.text, self.hint, self.kind = text, hint, kind

    def __str__(self):
        return self.text

    def is_int(self):
        return self.kind is int

    def is_float(self):
        return self.kind is float

    def is_bool(self):
        return self.kind is bool

    def wrap_int(self, number):
        return Node(str(number), number)

    def wrap_float(self, number):
        return Node(str(number), number, float)

    def wrap_bool(self, truth):
        return Node(str(truth), truth, bool)

    def guard(self, file, line):
        Node.decided.append((self.text, file, line))
        return self.hint

    guard_int = guard_float = guard_bool = guard

    def neg(self):
        return Node(f"-{self.text}", -self.hint, self.kind)

    def floor(self):
        return Node(f"floor({self.text})", math.floor(self.hint))

    def ceil(self):
        return Node(f"ceil({self.text})", math.ceil(self.hint))

    def sym_not(self):
        return Node(f"not {self.text}", not self.hint, bool)

    def sym_float(self):
        return Node(f"float({self.text})", float(self.hint), float)


def _binary(name, sign, compute, kind=None):
    def apply(self, other):
        text = f"({self.text} {sign} {other.text})"
        return Node(text, compute(self.hint, other.hint), kind or self.kind)

    setattr(Node, name, apply)


for _name, _sign, _function in (
    ("add", "+", operator.add),
    ("sub", "-", operator.sub),
    ("mul", "*", operator.mul),
    ("truediv", "/", operator.truediv),
    ("floordiv", "//", operator.floordiv),
    ("mod", "%", operator.mod),
    ("pow", "**", operator.pow),
    ("sym_min", "min", min),
    ("sym_max", "max", max),
):
    _binary(_name, _sign, _function)
for _name, _sign in (
    ("eq", "=="),
    ("ne", "!="),
    ("lt", "<"),
    ("le", "<="),
    ("gt", ">"),
    ("ge", ">="),
):
    _binary(_name, _sign, getattr(operator, _name), bool)
_binary("sym_and", "and", operator.and_, bool)
_binary("sym_or", "or", operator.or_, bool)
