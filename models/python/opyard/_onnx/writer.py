"""Writer of a graph's text: lines of nodes, blocks in blocks, and bodies of formulas put in place.

A body is parsed once, by the language of formulas, with the types of what it is given; the nodes
that come of it are written as often as it is used, with names of their own.
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from .. import _graphs
from .tensors import ELEMENTS, FLOATING, Stored, held_as

_NAME = re.compile(r"%([\w.\-]+)")
_BODY_OF_GRAPH = re.compile(r"graph\(.*?\):\n(.*?)  return \((.*?)\)\n?", re.DOTALL)


@dataclass(eq=False)
class Known:
    """A value while it is converted: its variable, and what is known of it."""

    name: str  # "%3"; "" until a constant is used
    elem: int | None = None
    rank: int | None = None
    type: str = "Tensor"
    stored: Stored | None = None
    title: str = ""  # of a weight
    items: "list[Known | int] | None" = field(default=None)  # whole numbers of a shape
    count: int | None = None  # of a list


def literal(value: object) -> str:
    """A value as the language of formulas has it."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        # The least number has no literal, since its sign is an operator.
        return str(value) if value > -(1 << 63) else "(-9223372036854775807 - 1)"
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "(-inf)"
        text = repr(value)
        return text if "." in text or "e" in text else text + ".0"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(each) for each in value) + "]"
    raise TypeError(f"{value!r} has no literal")


def facts(name: str, value: Known) -> dict[str, str]:
    """What bodies may say of a value: texts by the words of blocks.py."""
    if value.type != "Tensor":
        return {}
    known = value.elem is not None
    return {
        f"{name}_floats": str(value.elem in FLOATING) if known else f"is_floating_point({name})",
        f"{name}_rank": str(value.rank) if value.rank is not None else f"{name}.dim()",
        f"{name}_dtype": str(ELEMENTS[held_as(value.elem)].number)
        if value.elem is not None
        else f"prim.dtype({name})",
    }


@dataclass(frozen=True)
class _Template:
    inputs: tuple[str, ...]
    lines: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]  # names and types
    graph: "_graphs.Graph"


class Writer:
    """Lines of a graph's text, and the templates that bodies were parsed to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = "  "
        self._count = 0
        self._templates: dict[tuple[str, tuple[tuple[str, str], ...]], _Template] = {}

    def fresh(self) -> str:
        """A variable that no other is called."""
        self._count += 1
        return f"%{self._count}"

    def line(self, text: str) -> None:
        """A line at the depth of now."""
        self.lines.append(self.indent + text)

    def template(self, body: str, types: Iterable[tuple[str, str]]) -> _Template:
        """A body with inputs of these types, parsed. Raises ValueError for one that is wrong."""
        key = (body, tuple(types))
        found = self._templates.get(key)
        if found is None:
            graph = _graphs.parse_expression(body, list(key[1]), "aten")
            match = _BODY_OF_GRAPH.fullmatch(str(graph))
            if match is None:
                raise ValueError(f"the text of a body has another form: {graph}")
            names = [f"%{value.debug_name}" for value in graph.inputs()]
            outputs = [name.strip() for name in match[2].split(",") if name.strip()]
            kinds = [value.type for value in graph.outputs()]
            lines = tuple(line[2:] for line in match[1].splitlines())
            found = _Template(tuple(names), lines, tuple(zip(outputs, kinds, strict=True)), graph)
            self._templates[key] = found
        return found

    def put(self, template: _Template, variables: Iterable[str]) -> list[Known]:
        """The nodes of a template, given these variables; its results."""
        names = dict(zip(template.inputs, variables, strict=True))

        def renamed(match: "re.Match[str]") -> str:
            old = match[0]
            new = names.get(old)
            if new is None:
                new = names[old] = self.fresh()
            return new

        for line in template.lines:
            self.line(_NAME.sub(renamed, line))
        return [Known(_NAME.sub(renamed, name), type=kind) for name, kind in template.outputs]

    def constant(self, value: object, type: str) -> str:
        """The variable of a constant."""
        name = self.fresh()
        if value is None:
            self.line(f"{name} : {type} = prim::Constant()")
        elif value == []:
            self.line(f"{name} : {type} = prim::ListConstruct()")
        else:
            text = {True: "1", False: "0"}[value] if isinstance(value, bool) else json.dumps(value)
            self.line(f"{name} : {type} = prim::Constant[value={text}]()")
        return name

    def node(self, type: str, call: str, *variables: str) -> str:
        """A node of one result."""
        name = self.fresh()
        self.line(f"{name} : {type} = {call}({', '.join(variables)})")
        return name
