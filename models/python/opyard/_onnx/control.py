"""If, Loop and Scan: graphs of attributes as blocks of the graph."""

from collections.abc import Sequence
from typing import Any

from .convert import Converting, converts
from .nodes import Node, Unconverted
from .tensors import ELEMENTS, held_as, read_tensor
from .writer import Known


def inner_results(c: Converting, graph: Any, given: Sequence[Known]) -> list[Known]:
    """The results of a graph in an attribute, whose nodes are written here."""
    saved = c.declared
    c.declared = {}
    c.scopes.append({})
    try:
        for each in graph.initializers:
            c.bind(
                each.name,
                c.constant(read_tensor(each, c.folder, f'weight "{each.name}"'), each.name),
            )
        for each, value in zip(graph.inputs, given, strict=False):
            c.bind(each.name, value)
        c.convert_nodes(graph.nodes)
        results = []
        for each in graph.outputs:
            if each.name in c.refusals.names:
                raise Unconverted()
            found = c.look_up(each.name)
            if found is None:
                raise Unconverted("its graph gives no value")
            results.append(found)
        return results
    finally:
        c.scopes.pop()
        c.declared = saved


def _check_graph(graph: Any, node: Node) -> None:
    for each in [*graph.inputs, *graph.outputs]:
        type = each.type
        if type is not None and (type.sequence or type.optional or type.map):
            raise Unconverted("sequences, maps and optional values are not read, tensors are")


@converts("If")
def if_(c: Converting, node: Node) -> list[Known]:
    graphs = [node["then_branch"], node["else_branch"]]
    for graph in graphs:
        _check_graph(graph, node)
    condition = node.need(0)
    known = c.numbers(condition)
    if known is not None:
        return inner_results(c, graphs[0 if known[0] else 1], [])
    w = c.writer
    flag = c.variable(c.emit("Bool(x.reshape([]))", x=condition))
    results = [Known(w.fresh()) for _ in node.outputs]
    at = len(w.lines)
    w.line("")
    for number, graph in enumerate(graphs):
        w.line(f"  block{number}():")
        w.indent += "    "
        values = inner_results(c, graph, [])
        names = [c.variable(each) for each in values]
        w.line(f"-> ({', '.join(names[: len(results)])})")
        w.indent = w.indent[:-4]
        for result, value in zip(results, values, strict=False):
            result.elem = value.elem if number == 0 or result.elem == value.elem else None
            result.rank = value.rank if number == 0 or result.rank == value.rank else None
    heads = ", ".join(f"{each.name} : {each.type}" for each in results)
    w.lines[at] = f"{w.indent}{heads} = prim::If({flag})"
    return results


def _appended(c: Converting, list_: Known, value: Known) -> None:
    c.writer.node("Tensor[]", "aten::append", list_.name, c.variable(value))


@converts("Loop")
def loop(c: Converting, node: Node) -> list[Known]:
    graph = node["body"]
    _check_graph(graph, node)
    w = c.writer
    trips, condition, *carried = (node.input(i) for i in range(max(2, len(node.inputs))))
    start = [each for each in carried if each is not None]
    if any(each is None for each in carried):
        raise Unconverted("a value that it carries is left out")
    most = c.variable(_int(c, trips)) if trips is not None else w.constant((1 << 63) - 1, "int")
    flag = (
        c.variable(c.emit("Bool(x.reshape([]))", x=condition))
        if condition is not None
        else w.constant(True, "bool")
    )
    scans = len(graph.outputs) - 1 - len(start)
    if scans < 0:
        raise Unconverted("its graph gives fewer values than it carries")
    lists = [
        Known(w.node("Tensor[]", "prim::ListConstruct"), type="Tensor[]") for _ in range(scans)
    ]
    results = [Known(w.fresh(), each.elem) for each in start]
    heads = ", ".join(f"{each.name} : Tensor" for each in results)
    given = ", ".join([most, flag, *(c.variable(each) for each in start)])
    w.line(f"{heads + ' ' if heads else ''}= prim::Loop({given})")
    index = Known(w.fresh(), type="int")
    inner = [Known(w.fresh(), each.elem) for each in start]
    parts = [f"{index.name} : int", *(f"{each.name} : Tensor" for each in inner)]
    w.line(f"  block0({', '.join(parts)}):")
    w.indent += "    "
    place = c.emit("aten.tensor(i, dtype=4)", i=index)
    place.elem, place.rank = 7, 0
    going = c.emit("ones([], dtype=11)")
    going.elem, going.rank = 9, 0
    again, *values = inner_results(c, graph, [place, going, *inner])
    more = c.variable(c.emit("Bool(x.reshape([]))", x=again))
    for list_, value in zip(lists, values[len(start) :], strict=True):
        _appended(c, list_, value)
    names = [c.variable(each) for each in values[: len(start)]]
    w.line(f"-> ({', '.join([more, *names])})")
    w.indent = w.indent[:-4]
    declared = graph.outputs[1 + len(start) :]
    stacked = [
        _stacked(c, list_, value.elem, said)
        for list_, value, said in zip(lists, values[len(start) :], declared, strict=True)
    ]
    return [*results, *stacked]


def _stacked(c: Converting, list_: Known, elem: int | None, declared: Any) -> Known:
    """What a loop collected, along a new dimension: of no elements if it did not run."""
    tensor = declared.type.tensor if declared.type is not None else None
    dims = tensor.shape.dims if tensor is not None and tensor.shape is not None else []
    sizes = [0, *(max(dim.size, 0) for dim in dims)]
    elem = elem or (tensor.dtype if tensor is not None else 0) or 1
    body = "if len(xs) == 0 { zeros(sizes, dtype=kind) } else { stack(xs, 0) }"
    made = c.emit(body, xs=list_, sizes=sizes, kind=ELEMENTS[held_as(elem)].number)
    made.elem = elem
    return made


def _int(c: Converting, value: Known) -> Known:
    number = c.number(value, "int")
    return (
        number if isinstance(number, Known) else Known(c.writer.constant(number, "int"), type="int")
    )


@converts("Scan")
def scan(c: Converting, node: Node) -> list[Known]:
    graph = node["body"]
    count = node["num_scan_inputs"]
    if node.version < 9:
        # The first input was the lengths, and all had a dimension of batches.
        return _batched_scan(c, node, graph, count)
    given = [each for each in node.inputs if each is not None]
    return _scan(c, node, graph, given[: len(given) - count], given[len(given) - count :])


def _scan(
    c: Converting, node: Node, graph: Any, start: list[Known], inputs: list[Known]
) -> list[Known]:
    w = c.writer
    count = len(inputs)
    outputs = len(graph.outputs) - len(start)
    axes = node.get("scan_input_axes") or [0] * count
    out_axes = node.get("scan_output_axes") or [0] * outputs
    turned = node.get("scan_input_directions") or [0] * count
    out_turned = node.get("scan_output_directions") or [0] * outputs
    rows = [
        c.emit("x.movedim(a, 0).flip([0])" if t else "x.movedim(a, 0)", x=x, a=a)
        for x, a, t in zip(inputs, axes, turned, strict=True)
    ]
    for row, x in zip(rows, inputs, strict=True):
        row.elem = x.elem
    lists = [
        Known(w.node("Tensor[]", "prim::ListConstruct"), type="Tensor[]") for _ in range(outputs)
    ]
    elems: list[int | None] = []

    def step(index: Known, *state: Known) -> list[Known]:
        items = [c.emit("select(x, 0, i)", x=row, i=index) for row in rows]
        for item, x in zip(items, inputs, strict=True):
            item.elem, item.rank = x.elem, None if x.rank is None else x.rank - 1
        values = inner_results(c, graph, [*state, *items])
        for list_, value in zip(lists, values[len(state) :], strict=True):
            _appended(c, list_, value)
            elems.append(value.elem)
        return values[: len(state)]

    results = c.repeat(c.emit("size(x, 0)", x=rows[0]), start, step)
    declared = graph.outputs[len(start) :]
    rest = zip(lists, out_axes, out_turned, elems, declared, strict=False)
    for list_, axis, flipped, elem, said in rest:
        body = "x.flip([0]).movedim(0, a)" if flipped else "x.movedim(0, a)"
        made = c.emit(body, x=_stacked(c, list_, elem, said), a=axis)
        made.elem = elem
        results.append(made)
    return results


def _batched_scan(c: Converting, node: Node, graph: Any, count: int) -> list[Known]:
    if node.input(0) is not None:
        raise Unconverted("lengths of sequences in version 8 of Scan are not known")
    given = [each for each in node.inputs[1:] if each is not None]
    start, inputs = given[: len(given) - count], given[len(given) - count :]
    total = len(graph.outputs)
    w = c.writer
    lists = [
        Known(w.node("Tensor[]", "prim::ListConstruct"), type="Tensor[]") for _ in range(total)
    ]

    def step(index: Known) -> list[Known]:
        parts = [c.emit("select(x, 0, i)", x=each, i=index) for each in (*start, *inputs)]
        for part, each in zip(parts, (*start, *inputs), strict=True):
            part.elem = each.elem
        made = _scan(c, node, graph, parts[: len(start)], parts[len(start) :])
        for list_, value in zip(lists, made, strict=True):
            _appended(c, list_, value)
        return []

    c.repeat(c.emit("size(x, 0)", x=inputs[0]), [], step)
    return [c.emit("stack(xs, 0)", xs=each) for each in lists]
