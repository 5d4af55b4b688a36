"""Blocks filled with a node's inputs and attributes; results that constants decide, computed."""

import math
import re
from typing import TYPE_CHECKING

from .. import _C
from .blocks import Block, Parameter
from .nodes import Node, Unconverted
from .ranks import rank_of
from .values import from_tensor, to_tensor
from .wire import Broken
from .writer import Known, facts, literal

if TYPE_CHECKING:
    from .convert import Converting

FOLDED = 1024  # elements of a constant that is computed with at once
MOST_FOLDED = 1 << 20  # elements of a result, as far as its inputs make them
_DTYPE_NAMES = {"bool": 9, "int64": 7, "int32": 6, "float": 1, "uint8": 2, "int8": 3, "double": 11}

# A few numbers may make much of them.
UNFOLDED = {"Expand", "Tile", "Range", "Pad", "Resize", "OneHot", "EyeLike", "ConstantOfShape",
            "Reshape", "Identity", "Bernoulli", "Dropout"}  # fmt: skip


# The number in place of one that is left out, where `has_` is False.
_ABSENT = {"int": 0, "float": 0.0, "bool": False, "str": ""}


def fill(c: "Converting", block: Block, node: Node) -> list[Known]:
    """The results of a block for a node."""
    if block.pointwise and node.version < 7 and node.has("axis"):
        raise Unconverted("it says by an axis how its second input is spread, as before version 7")
    given: dict[str, object] = {}
    first: Known | None = None
    for index, parameter in enumerate(block.inputs):
        value = node.input(index)
        if parameter.type == "Tensor[]":
            rest = [each for each in node.inputs[index:] if each is not None]
            first = first or (rest[0] if rest else None)
            names = [c.variable(each) for each in rest]
            list_ = c.writer.node("Tensor[]", "prim::ListConstruct", *names)
            given[parameter.name] = Known(list_, type="Tensor[]")
            given[f"{parameter.name}_count"] = len(rest)
            continue
        if value is not None:
            given[f"has_{parameter.name}"] = True
            given[parameter.name] = _as(c, parameter.type, value)
            _count(c, parameter, given)
            first = first or value
        elif node.has(parameter.name):
            given[f"has_{parameter.name}"] = True
            given[parameter.name] = node.get(parameter.name)
            _count(c, parameter, given)
        elif parameter.optional:
            given[f"has_{parameter.name}"] = False
            if parameter.type == "Tensor":
                given[parameter.name] = first
            else:
                given[parameter.name] = _ABSENT.get(parameter.type, [])
                _count(c, parameter, given)
        else:
            raise Broken(f"{node.title} has no input {parameter.name}, which it needs")
    for parameter in block.attributes:
        given[parameter.name] = _attribute(parameter, node)
        given[f"has_{parameter.name}"] = node.has(parameter.name)
    folded = _folded(c, block, node, given)
    if folded is not None:
        return folded
    results = c.emit_all(block.body, **given)
    _describe(block, node, given, first, results)
    return results


def _count(c: "Converting", parameter: Parameter, given: dict[str, object]) -> None:
    """How many numbers a list has, as a name of the body."""
    value = given[parameter.name]
    if isinstance(value, list | tuple):
        given[f"{parameter.name}_count"] = len(value)
    elif isinstance(value, Known) and parameter.type.endswith("[]"):
        given[f"{parameter.name}_count"] = (
            value.count if value.count is not None else c.emit("len(x)", x=value)
        )


def _describe(
    block: Block,
    node: Node,
    given: dict[str, object],
    first: Known | None,
    results: list[Known],
) -> None:
    ranks = [each.rank for each in node.inputs if each is not None]
    for index, result in enumerate(results):
        said = block.results[min(index, len(block.results) - 1)] if block.results else ""
        source = given.get(said) if said else first
        if isinstance(source, Known):
            result.elem = source.elem
        elif isinstance(source, int):
            result.elem = source
        else:
            result.elem = _DTYPE_NAMES.get(said)
        if index == 0 or node.kind == "TopK":
            result.rank = rank_of(node.kind, block.pointwise, given, ranks)


def _as(c: "Converting", type: str, value: Known) -> object:
    if type == "Tensor":
        return value
    if type == "int[]":
        known = c.numbers(value)
        return known if known is not None else c.int_list(value)
    if type == "float[]":
        return c.float_list(value)
    return c.number(value, type)


def _attribute(parameter: Parameter, node: Node) -> object:
    value = node.get(parameter.name)
    if value is None:
        if parameter.default is None and not parameter.optional:
            raise Broken(f"{node.title} has no attribute {parameter.name}, which it needs")
        return _default(parameter)
    expected = {"int": int, "float": float, "str": str}.get(parameter.type, list)
    if parameter.type != "any" and not isinstance(value, expected):
        raise Broken(
            f"{node.title}: attribute {parameter.name} is {value!r:.40}, no {parameter.type}"
        )
    return bool(value) if parameter.type == "bool" else value


def _folded(
    c: "Converting", block: Block, node: Node, given: dict[str, object]
) -> list[Known] | None:
    """Results that depend on few constants alone, computed; see FOLDED."""
    tensors = [each for each in given.values() if isinstance(each, Known)]
    if not tensors or node.kind in UNFOLDED:
        return None
    counts = [each.stored.count if each.stored is not None else MOST_FOLDED for each in tensors]
    if max(counts) > FOLDED or math.prod(counts) > MOST_FOLDED:
        return None
    words = set(re.findall(r"\w+", block.body))
    lets, types, values = [], [], []
    for name, value in given.items():
        if isinstance(value, Known):
            for word, text in facts(name, value).items():
                if word in words:
                    lets.append(f"let {word} = {text};")
            if value.stored is not None and name in words:
                types.append((name, "Tensor"))
                values.append(to_tensor(value.stored))
        elif name in words:
            lets.append(f"let {name} = {literal(value)};")
    template = c.writer.template(" ".join([*lets, block.body]), types)
    try:
        outputs = template.graph(*values)
    except (IndexError, RuntimeError, TypeError, ValueError):
        return None  # it raises when the model runs
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if any(not isinstance(each, _C.Tensor) or each.numel() > FOLDED for each in outputs):
        return None
    shaped = [Known("") for _ in outputs]
    first = next(each for each in node.inputs if each is not None)
    _describe(block, node, given, first, shaped)
    return [
        c.constant(from_tensor(each, known.elem))
        for each, known in zip(outputs, shaped, strict=True)
    ]


def _default(parameter: Parameter) -> object:
    text = parameter.default
    if text is None or text == "None":
        return _ABSENT.get(parameter.type, [])
    if parameter.type.endswith("[]"):
        return [
            float(each) if "." in each else int(each)
            for each in text.strip("[]").split(",")
            if each.strip()
        ]
    if parameter.type == "bool":
        return text in ("1", "True")
    if parameter.type == "str":
        return text.strip('"')
    return {"int": int, "float": float}.get(parameter.type, str)(text)
