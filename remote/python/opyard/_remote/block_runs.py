"""Blocks of recorded calls, as a worker runs them.

A block is a graph, and runs as one. If a call in it fails, what depends on that call fails, and
nothing else: the graph is left where it is, and the calls behind are made one by one, but for those
that take what has failed. A call that writes spoils what it would have written to, with all views
of it. So each value is there as it would have been, or is the error of one call.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any

from .. import _blocks, _graphs
from .._C import Tensor
from .._core.ops import overload_of


class Output:
    """An argument of the call behind a block: an output of it."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position

    def __reduce__(self) -> Any:
        return Output, (self.position,)


class Failed:
    """In place of a value that could not be made."""

    def __init__(self, error: BaseException, operator: "str | None" = None) -> None:
        self.error = error
        self.operator = operator


def words(text: Any) -> "tuple[int, ...]":
    """The numbers in bytes that a recorder has packed."""
    return struct.unpack(f"<{len(text) // 8}Q", text)


def run(
    code: "_graphs.Code", inputs: "list[Any]", expected: bytes
) -> "tuple[list[Any], dict[int, Failed]]":
    """The outputs of a block, some of which may be Failed; and the inputs that were spoiled."""
    graph = code.graph
    values = dict(zip(graph.inputs(), inputs, strict=True))
    if any(type(each) is Failed for each in inputs):
        outputs = _one_by_one(graph, values, graph.nodes())
    else:
        state = _graphs.InterpreterState(code)
        try:
            given = state.run_one_stage(*inputs)
        except Exception as error:
            if not state.is_inside_stage:
                raise
            outputs = _behind(state, values, error)
        else:
            outputs = [given] if len(graph.outputs()) == 1 else list(given or ())
            return _as_expected(outputs, expected), {}
    spoiled = {
        position: values[value]
        for position, value in enumerate(graph.inputs())
        if type(values[value]) is Failed and type(inputs[position]) is not Failed
    }
    return _as_expected(outputs, expected), spoiled


def _as_expected(outputs: "list[Any]", expected: bytes) -> "list[Any]":
    """Refuses results of another geometry than the kernel at Meta has said: views rely on it."""
    tensors = [each for each in outputs if type(each) is not Failed]
    if len(tensors) == len(outputs) and _blocks.geometry(tensors) == expected:
        return outputs
    checked, at = [], 0
    for each in outputs:
        size = _size_of(expected, at)
        wanted = expected[at : at + size]
        at += size
        if type(each) is not Failed and _blocks.geometry([each]) != wanted:
            dtype, dims = struct.unpack("<2q", wanted[:16])
            sizes = struct.unpack(f"<{dims}q", wanted[16 : 16 + 8 * dims])
            each = Failed(
                RuntimeError(
                    f"an operator gave {each.dtype} of sizes {tuple(each.shape)} and strides "
                    f"{each.stride()} on the worker; its kernel at Meta has said other strides, "
                    f"or dtype {dtype} of sizes {sizes}: the two kernels have to agree"
                )
            )
        checked.append(each)
    return checked


def _size_of(expected: bytes, at: int) -> int:
    _, dims = struct.unpack_from("<2q", expected, at)
    sizes = struct.unpack_from(f"<{dims}q", expected, at + 16)
    return 16 + 8 * dims + (0 if 0 in sizes else 8 + 8 * dims)


def _behind(
    state: "_graphs.InterpreterState", values: "dict[Any, Any]", error: BaseException
) -> "list[Any]":
    """Goes on behind the node that has raised."""
    graph = state.code.graph
    for value in state.live_values():
        values[value] = state.read(value)
    nodes = graph.nodes()
    at = nodes.index(state.node())
    failed = Failed(error, _name_of(nodes[at]))
    # Constants have no registers, and what is in front of the node was made or is not needed.
    front = [each for each in nodes[:at] if each.kind == "prim::Constant"]
    _spoil(nodes[at], values, _roots(nodes), failed)
    return _one_by_one(graph, values, front + nodes[at + 1 :])


def _one_by_one(
    graph: "_graphs.Graph", values: "dict[Any, Any]", nodes: "Iterable[Any]"
) -> "list[Any]":
    roots = _roots(graph.nodes())
    for node in nodes:
        arguments = [values.get(each) for each in node.inputs()]
        failed = next((each for each in arguments if type(each) is Failed), None)
        if failed is None:
            try:
                results = _call(node, arguments)
            except Exception as error:
                failed = Failed(error, _name_of(node))
        if failed is not None:
            _spoil(node, values, roots, failed)
            continue
        for output, result in zip(node.outputs(), results, strict=True):
            values[output] = result
    return [values.get(each) for each in graph.outputs()]


def _name_of(node: Any) -> str:
    return f"{node.kind}.{node.overload}" if node.overload else node.kind


def _roots(nodes: "Iterable[Any]") -> "dict[Any, Any]":
    """Of each view the value that it is a view of. A recorder makes all views by these."""
    roots: dict[Any, Any] = {}
    for node in nodes:
        if node.kind in ("aten::as_strided", "aten::view_as_real", "aten::view_as_complex"):
            base = node.inputs()[0]
            roots[node.outputs()[0]] = roots.get(base, base)
    return roots


def _spoil(node: Any, values: "dict[Any, Any]", roots: "dict[Any, Any]", failed: Failed) -> None:
    """Notes that a call has failed: its results, and what it would have written to."""
    for output in node.outputs():
        values[output] = failed
    if node.kind.startswith("prim::"):
        return
    arguments = overload_of(_name_of(node))._schema.arguments
    for argument, given in zip(arguments, node.inputs(), strict=False):
        if not argument.is_write:
            continue
        node_of = given.node()
        is_list = node_of.kind == "prim::ListConstruct"
        for each in node_of.inputs() if is_list else [given]:
            root = roots.get(each, each)
            for value in [*values]:
                if roots.get(value, value) == root:
                    values[value] = failed
            values[root] = failed


def _call(node: Any, arguments: "list[Any]") -> "list[Any]":
    """Makes the call of one node."""
    kind = node.kind
    if kind == "prim::Constant":
        return [_constant(node)]
    if kind == "prim::Undefined":
        return [None]
    if kind == "prim::ListConstruct":
        return [arguments]
    if kind == "prim::ListUnpack":
        return list(arguments[0])
    op = overload_of(_name_of(node))
    named = {
        argument.name: value
        for argument, value in zip(op._schema.arguments, arguments, strict=True)
        if argument.kwarg_only
    }
    result = op(*arguments[: len(arguments) - len(named)], **named)
    return results_of(op, result)


def results_of(op: Any, result: Any) -> "list[Any]":
    """What a call gave, as a list with an item for each result of the schema."""
    count = len(op._schema.returns)
    return [result] if count == 1 else list(result or ())


def _constant(node: Any) -> Any:
    if not node.has_attribute("value"):
        return None
    value, kind = node["value"], node.output().type
    convert: Callable[[Any], Any] | None = {"bool": bool, "float": float}.get(
        kind.removesuffix("[]")
    )
    if convert is None:
        return value
    return [convert(each) for each in value] if kind.endswith("[]") else convert(value)


def answers_of(
    results: "Iterable[Any]", first: int, keep: "Callable[[int, Any], None]"
) -> "list[tuple]":
    """What travels of the results of a call by itself: tensors stay here, under new numbers."""
    answers: list[tuple] = []
    number = [first]

    def answer(value: Any) -> tuple:
        if isinstance(value, Tensor):
            keep(number[0], value)
            number[0] += 1
            return ("tensor", number[0] - 1, *_blocks.describe(value))
        if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
            return ("list", [answer(each) for each in value])
        return ("value", value)

    answers += [answer(each) for each in results]
    return answers


def numbers_in(answers: "Iterable[tuple]") -> "list[int]":
    """The numbers of the tensors in answers."""
    found: list[int] = []
    for each in answers:
        if each[0] == "tensor":
            found.append(each[1])
        elif each[0] == "list":
            found += numbers_in(each[1])
    return found


def filled(argument: Any, outputs: "list[Any]") -> Any:
    """An argument of the call behind a block, with outputs in their places."""
    if type(argument) is Output:
        value = outputs[argument.position]
        if type(value) is Failed:
            raise_failed(value)
        return value
    return [filled(each, outputs) for each in argument] if type(argument) is list else argument


def raise_failed(failed: Failed) -> None:
    """Raises the error of a call that has failed, with the operator's name for describe()."""
    if failed.operator is not None:
        try:
            failed.error._operator = failed.operator  # type: ignore[attr-defined]
        except AttributeError:  # a class with slots
            pass
    raise failed.error
