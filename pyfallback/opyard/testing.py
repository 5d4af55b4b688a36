"""Helpers for tests of code that calls operators.

with LoggingMode() as log:
    log.input("x", x)
    y = x * x
assert log.lines == ["$0 = input('x')", "$1 = opyard.ops.aten.mul.Tensor($0, $0)"]

FileCheck().check("aten::mul").check_next("return").run(str(graph))
"""

from typing import Any

from . import _C
from ._core import hooks
from ._core import late as _late
from ._core.keywords import names_keywords
from .dispatch import DispatchMode

__all__ = ["CallLog", "FileCheck", "LoggingMode", "LoggingTensor"]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())


class CallLog:
    """Calls as lines of text. Tensors are called $0, $1, … in the order in which they are met.

    It keeps those that it has met alive, since it knows them by the object that they are.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[int, tuple] = {}

    def name_of(self, tensor: "_C.Tensor") -> str:
        """The name of a tensor, a new one if the log has not met it."""
        known = self._numbers.get(id(tensor))
        if known is None:
            known = self._numbers[id(tensor)] = (tensor, len(self._numbers))
        return f"${known[1]}"

    def shown(self, value: Any) -> str:
        """A value as it is written in a line."""
        if isinstance(value, _C.Tensor):
            return self.name_of(value)
        if isinstance(value, (list, tuple)):
            inside = ", ".join(map(self.shown, value))
            if isinstance(value, list):
                return f"[{inside}]"
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        return repr(value)

    def input(self, name: str, tensor: "_C.Tensor") -> None:
        """Says what a tensor is that no call gave."""
        self.lines.append(f"{self.name_of(tensor)} = input({name!r})")

    def call(self, op: object, args: tuple, kwargs: dict, result: Any) -> None:
        """Adds a call."""
        given = [self.shown(value) for value in args]
        given += [f"{name}={self.shown(value)}" for name, value in kwargs.items()]
        line = f"opyard.ops.{op}({', '.join(given)})"
        if isinstance(result, (list, tuple)):
            line = f"{', '.join(map(self.shown, result))} = {line}"
        elif result is not None:
            line = f"{self.shown(result)} = {line}"
        self.lines.append(line)


class FileCheck:
    """What a text must have, in order; jit/include/opyard/jit/file_check.h says what each means.

    FileCheck().check("aten::mul").check_not("aten::add").run(str(graph))
    FileCheck("# CHECK: aten::mul").run(str(graph))
    """

    @names_keywords
    def __init__(self, expectations: str = "") -> None:
        self._lines = [expectations] if expectations else []

    def _add(self, rule: str, text: str) -> "FileCheck":
        if "\n" in text or not text.strip():
            raise ValueError(f"{rule}: expects a text of one line, not {text!r}")
        self._lines.append(f"{rule}: {text}")
        return self

    @names_keywords
    def check(self, text: str) -> "FileCheck":
        """Behind what was found last."""
        return self._add("CHECK", text)

    @names_keywords
    def check_next(self, text: str) -> "FileCheck":
        """In the line behind the one of what was found last."""
        return self._add("CHECK-NEXT", text)

    @names_keywords
    def check_same(self, text: str) -> "FileCheck":
        """Further on in the line of what was found last."""
        return self._add("CHECK-SAME", text)

    @names_keywords
    def check_not(self, text: str) -> "FileCheck":
        """Not between its two neighbours."""
        return self._add("CHECK-NOT", text)

    @names_keywords
    def check_count(self, text: str, count: int) -> "FileCheck":
        """So many times, each behind the other."""
        return self._add(f"CHECK-COUNT-{count}", text)

    @names_keywords
    def check_dag(self, text: str) -> "FileCheck":
        """Anywhere behind what was found before the neighbouring check_dag() calls."""
        return self._add("CHECK-DAG", text)

    @names_keywords
    def run(self, text: str) -> None:
        """Raises AssertionError, with the text and a mark, and ValueError for no expectations."""
        mismatch = hooks["find_mismatch"](text, "\n".join(self._lines))
        if mismatch:
            raise AssertionError(mismatch)


class LoggingMode(DispatchMode):
    """Writes every call of a with block down, as `lines`."""

    def __init__(self) -> None:
        self.log = CallLog()

    @property
    def lines(self) -> list[str]:
        """The calls so far, one a line."""
        return self.log.lines

    def input(self, name: str, tensor: "_C.Tensor") -> None:
        """Says what a tensor is that no call gave."""
        self.log.input(name, tensor)

    def __opyard_dispatch__(
        self, op: object, types: tuple, args: tuple = (), kwargs: "dict | None" = None
    ) -> Any:
        """Calls and writes down."""
        result = op(*args, **kwargs or {})
        self.log.call(op, args, kwargs or {}, result)
        return result


class LoggingTensor(_C.Tensor):
    """Holds a tensor, and writes every call that it takes part in down in a log.

    log = CallLog()
    y = LoggingTensor(x, log) * 2         # y is a LoggingTensor as well
    """

    held: "_C.Tensor"
    log: CallLog

    def __new__(cls, held: "_C.Tensor", log: CallLog) -> "LoggingTensor":
        made = _C.Tensor.make_subclass(cls, held)
        made.held, made.log = held, log
        return made

    @classmethod
    def __opyard_dispatch__(
        cls, op: object, types: tuple, args: tuple = (), kwargs: "dict | None" = None
    ) -> Any:
        """Calls with what the arguments hold, holds what comes back, and writes down."""
        kwargs = kwargs or {}
        logs = []

        def unwrapped(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(map(unwrapped, value))
            if not isinstance(value, LoggingTensor):
                return value
            logs.append(value.log)
            return value.held

        def wrapped(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(map(wrapped, value))
            return cls(value, logs[0]) if isinstance(value, _C.Tensor) else value

        inside = unwrapped(args), {name: unwrapped(value) for name, value in kwargs.items()}
        result = wrapped(op(*inside[0], **inside[1]))
        logs[0].call(op, args, kwargs, result)
        return result
