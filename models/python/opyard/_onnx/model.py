"""A model of an ONNX file: its text read and folded, its weights, and what it says of its inputs.

What comes of it is a model file of our own, as opyard.jit.save() writes one, in memory: graph as
text, weights by the names that they have in the file. load_model() reads it as any other, with the
same checks of what a stranger's graph may call.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _graphs, _models
from . import families  # noqa: F401  (they register)
from .convert import Converting
from .messages import read_model
from .nodes import domain_of
from .refusals import refuse_type
from .tensors import ELEMENTS, FLOATING, MOST_DIMENSIONS, held_as, read_tensor
from .wire import MOST_BYTES, Broken
from .writer import Known

_OWN = ["prim::dtype"]  # what bodies call beside aten
OLDEST, NEWEST = 6, 28  # versions of the operator set


def load_onnx(
    path: "str | os.PathLike[str] | bytes",
    *,
    untrusted: bool,
    allowed: list[str],
    exact: bool,
    without: list[str],
) -> "_models.Model":
    """The model in an ONNX file.

    Raises OSError as open() does, ValueError for a file that is broken, NotImplementedError for
    operators that are not here and versions that are not read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES:
            raise ValueError(
                f"{os.fsdecode(path)} has {size} bytes, and an ONNX file has at most {MOST_BYTES}; "
                "large weights are written as external data beside it"
            )
        data = file.read()
    name = os.fsdecode(path)
    try:
        proto = read_model(memoryview(data))
        made = _converted(proto, os.path.dirname(os.path.abspath(name)), allowed, name)
    except Broken as error:
        raise ValueError(f"{name} is no ONNX model that can be read: {error}") from None
    descriptor = os.memfd_create("opyard-onnx", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            for part in made:
                file.write(part)
        inner = os.fsencode(f"/proc/self/fd/{descriptor}")
        return _models.load_model(inner, untrusted, [*allowed, *_OWN], True, exact, without)
    except ValueError as error:
        raise ValueError(str(error).replace(inner.decode(), name)) from None
    finally:
        os.close(descriptor)


def _versions(proto: Any, name: str) -> dict[str, int]:
    versions = {domain_of(each.domain): each.version for each in proto.opsets}
    version = versions.setdefault("", NEWEST)  # a file may have other domains alone
    if not OLDEST <= version <= NEWEST:
        raise NotImplementedError(
            f"{name} has version {version} of the operator set, and versions {OLDEST} to {NEWEST} "
            "are read; convert it by onnx.version_converter"
        )
    return versions


def _converted(
    proto: Any, folder: str, allowed: list[str], name: str
) -> "Iterator[bytes | memoryview]":
    c = Converting(folder, allowed)
    c.versions = _versions(proto, name)
    c.functions = {
        (domain_of(each.domain), each.name, each.overload): each for each in proto.functions
    }
    graph = proto.graph
    if graph.sparse_initializers or proto.training:
        what = "training" if proto.training else "sparse initializers"
        raise NotImplementedError(f"{name} has {what}, which is not read")
    for each in graph.initializers:
        stored = read_tensor(each, folder, f'weight "{each.name}"')
        c.bind(each.name, c.constant(stored, each.name))
    c.declared = dict(_declared(list(graph.values) + list(graph.outputs)))
    weights = {each.name for each in graph.initializers}
    inputs = [each for each in graph.inputs if each.name not in weights]
    for index, each in enumerate(inputs):
        reason = refuse_type(each.name, each.type)
        if reason:
            raise NotImplementedError(f"{name} cannot run here: {reason}")
        ((_, (elem, rank)),) = _declared([each])
        c.bind(each.name, Known(f"%i{index}", elem, rank))
    c.convert_nodes(graph.nodes)
    message = c.refusals.message(name)
    if message:
        raise NotImplementedError(message)
    outputs = [c.look_up(each.name) for each in graph.outputs]
    results = [c.variable(each) for each in outputs if each is not None]
    text = _folded_text(c, len(inputs), results)
    description = _description(c, inputs, [each.name for each in graph.outputs])
    return _file(c, text, description)


def _declared(values: Sequence[Any]) -> Iterator[tuple[str, tuple[int | None, int | None]]]:
    for each in values:
        tensor = each.type.tensor if each.type is not None else None
        elem = tensor.dtype or None if tensor is not None else None
        shape = tensor.shape if tensor is not None else None
        if shape is not None and len(shape.dims) > MOST_DIMENSIONS:
            raise Broken(f'"{each.name}" has {len(shape.dims)} dimensions')
        yield each.name, (elem, None if shape is None else len(shape.dims))


def _folded_text(c: Converting, inputs: int, results: list[str]) -> str:
    """The graph's text after branches that attributes decide are gone."""
    heads = [f"{name} : Tensor" for name in c.weights]
    heads += [f"%i{index} : Tensor" for index in range(inputs)]
    lines = [f"graph({', '.join(heads)}):", *c.writer.lines, f"  return ({', '.join(results)})", ""]
    graph = _graphs.parse_ir("\n".join(lines), "<onnx>", [], False, False, [])
    for each in (
        "propagate_constants",
        "peephole",
        "propagate_constants",
        "eliminate_common_subexpressions",
    ):
        _graphs.run_pass(graph, each)
    _graphs.run_pass(graph, "eliminate_dead_code")
    return str(graph)


def _unique(names: list[str]) -> list[str]:
    seen: set[str] = set()
    made = []
    for name in names:
        new, count = name or "constant", 1
        while new in seen or new.startswith("__"):
            count += 1
            new = f"{name.lstrip('_') or 'constant'}.{count}"
        seen.add(new)
        made.append(new)
    return made


def _titles(c: Converting) -> list[str]:
    return _unique([each.title for each in c.weights.values()])


def _size(dim: Any) -> "int | str | None":
    """A size, its name, or None for one of which nothing is known, such as "?"."""
    if dim.name:
        return dim.name if re.fullmatch(r"[A-Za-z_]\w*", dim.name) else None
    return dim.size if dim.size > 0 else None


def _description(c: Converting, inputs: list[Any], outputs: list[str]) -> dict[str, Any]:
    """What model_file.h says of a model: state, inputs, how both are nested."""
    state = [
        [title, each.elem in FLOATING and bool(each.title), None]
        for title, each in zip(_titles(c), c.weights.values(), strict=True)
    ]
    checks = []
    ranges: dict[str, list[int]] = {}
    for each in inputs:
        tensor = each.type.tensor if each.type is not None else None
        kind = ELEMENTS[held_as(tensor.dtype)] if tensor is not None and tensor.dtype else None
        sizes: list[Any] | None = None
        if tensor is not None and tensor.shape is not None:
            sizes = [_size(dim) for dim in tensor.shape.dims]
            ranges.update({size: [0, 2**62] for size in sizes if isinstance(size, str)})
        checks.append(
            {
                "name": each.name,
                "dtype": kind.name if kind is not None else None,
                "sizes": sizes,
                "constant": "",
            }
        )
    leaves = {"tuple": [{"tuple": [None] * len(inputs)}, {"dict": []}]}
    results = {"dict": [[name, None] for name in outputs]} if len(outputs) > 1 else None
    return {
        "state": state,
        "constants": 0,
        "inputs": checks,
        "ranges": ranges,
        "input_tree": json.dumps(leaves),
        "output_tree": json.dumps(results),
    }


def _file(c: Converting, text: str, description: dict[str, Any]) -> "Iterator[bytes | memoryview]":
    """The parts of a safetensors file: a header, then each weight's bytes."""
    known = all(
        each["dtype"] is not None and each["sizes"] is not None for each in description["inputs"]
    )
    if not known:  # nothing is checked then but the types in the graph
        description = {**description, "inputs": [], "ranges": {}}
    header: dict[str, Any] = {
        "__metadata__": {
            "opyard.format": "3",
            "opyard.graph": text,
            "opyard.model": json.dumps(description),
        }
    }
    at = 0
    stored = [each.stored for each in c.weights.values() if each.stored is not None]
    # Larger elements first, so that each is at a multiple of its size.
    pairs = sorted(zip(_titles(c), stored, strict=True), key=lambda pair: -pair[1].kind.size)
    for title, each in pairs:
        size = len(each.data)
        header[title] = {
            "dtype": each.kind.safe,
            "shape": list(each.shape),
            "data_offsets": [at, at + size],
        }
        at += size
    encoded = json.dumps(header).encode()
    encoded += b" " * (-(8 + len(encoded)) % 64)
    return iter([len(encoded).to_bytes(8, "little"), encoded, *(each.data for _, each in pairs)])
