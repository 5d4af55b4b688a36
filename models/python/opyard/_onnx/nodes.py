"""Nodes of a file, their attributes, and the reason why one cannot run."""

from types import SimpleNamespace
from typing import Any

from .tensors import read_tensor
from .wire import Broken
from .writer import Known

DEFAULT = ""


def domain_of(name: str) -> str:
    """A domain as it is compared: "" for ONNX's own."""
    return DEFAULT if name == "ai.onnx" else name


class Unconverted(Exception):
    """A node that cannot run here, and why; see [Left out]."""


class Node:
    """A node of the file: its attributes by name, its inputs as they are known."""

    def __init__(self, proto: Any, version: int, inputs: "list[Known | None]", folder: str) -> None:
        self.kind: str = proto.kind
        self.domain = domain_of(proto.domain)
        self.name: str = proto.name
        self.version = version
        self.inputs = inputs
        self.outputs: list[str] = list(proto.outputs)
        self._attributes = {each.name: each for each in proto.attributes}
        self._folder = folder

    @property
    def title(self) -> str:
        """What errors call it."""
        named = f' "{self.name}"' if self.name else ""
        return f"{self.kind}{named}"

    def input(self, index: int) -> Known | None:
        """An input, or None if it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def need(self, index: int) -> Known:
        """An input. Raises Broken if it is left out."""
        value = self.input(index)
        if value is None:
            raise Broken(f"{self.title} has no input {index}, which it needs")
        return value

    def needed(self, count: int) -> list[Known]:
        """The first inputs. Raises Broken if one is left out."""
        return [self.need(index) for index in range(count)]

    def has(self, name: str) -> bool:
        """Whether it has an attribute."""
        return name in self._attributes

    def attributes(self) -> list[str]:
        """The names of its attributes."""
        return list(self._attributes)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or another one."""
        proto = self._attributes.get(name)
        if proto is None:
            return default
        kind = proto.type
        if kind == 3:
            return bytes(proto.s or b"").decode("utf-8", "replace")
        if kind == 4:
            if proto.t is None:
                raise Broken(f"{self.title}: attribute {name} has no tensor")
            return read_tensor(proto.t, self._folder, f"{self.title}: attribute {name}")
        if kind == 8:
            return [bytes(each).decode("utf-8", "replace") for each in proto.strings]
        fields = {1: "f", 2: "i", 5: "g", 6: "floats", 7: "ints"}
        if kind not in fields:
            raise Broken(f"{self.title}: attribute {name} has type {kind}, which is not read")
        return getattr(proto, fields[kind])

    def __getitem__(self, name: str) -> Any:
        if name not in self._attributes:
            raise Broken(f"{self.title} has no attribute {name}, which it needs")
        return self.get(name)


def with_attributes(node: Any, given: dict[str, Any]) -> Any:
    """A node of a function, with the values of attributes that it takes from the caller."""
    attributes = []
    for each in node.attributes:
        if each.of_function:
            value = given.get(each.of_function)
            if value is not None:
                attributes.append(SimpleNamespace(**{**vars(value), "name": each.name}))
        elif each.g is not None:
            inner = SimpleNamespace(
                **{**vars(each.g), "nodes": [with_attributes(n, given) for n in each.g.nodes]}
            )
            attributes.append(SimpleNamespace(**{**vars(each), "g": inner}))
        else:
            attributes.append(each)
    return SimpleNamespace(**{**vars(node), "attributes": attributes})
