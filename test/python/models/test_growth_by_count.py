"""test_growth_by_count.py: reading and writing takes time and room in proportion to the count.

Each row makes something of n parts, names, tensors or nodes, and does one thing with it. From 1,000
to 64,000, which are six doublings, the processor's time and what is written may grow 3**6 times: 3
at each doubling. What looks through a list for each of its items grows 4**6 times. Suspect what the
row's name says.
"""

import copy
import json
import pickle
import struct
import time
import zipfile

import pytest
from exported_model import MODEL

import opyard
from opyard import jit

PROGRAM = "model/models/model.json"
WEIGHTS = "model/data/weights/model_weights_config.json"
pytestmark = pytest.mark.once

FEW, MANY = 1_000, 64_000
ONE = opyard.tensor([1.0])


def chain(n):
    lines = [f"  %v{i + 1} : Tensor = aten::neg(%v{i})" for i in range(n)]
    return "\n".join(["graph(%v0 : Tensor):", *lines, f"  return (%v{n})"]) + "\n"


def inputs(n):
    names = ", ".join(f"%in{i} : Tensor" for i in range(n))
    return f"graph({names}):\n  return (%in{n - 1})\n"


def outputs(n):
    return f"graph(%x : Tensor):\n  return ({', '.join(['%x'] * n)})\n"


def uses(n):
    lines = [f"  %u{i} : Tensor = aten::mul(%x, %x)" for i in range(n)]
    return "\n".join(["graph(%x : Tensor):", *lines, "  return (%x)"]) + "\n"


def constants(n):
    lines = [f"  %c{i} : int = prim::Constant[value={i}]()" for i in range(n)]
    return "\n".join(["graph(%x : Tensor):", *lines, "  return (%x)"]) + "\n"


def listed(n):
    return (
        f"graph():\n  %l : int[] = prim::Constant[value=[{', '.join(map(str, range(n)))}]]()\n"
        f"  return (%l)\n"
    )


def blocks(n):
    lines = ["graph(%x : Tensor, %c : bool):"]
    for i in range(n):
        lines += [f"  %b{i} : Tensor = prim::If(%c)", "    block0():", "      -> (%x)",
                  "    block1():", "      -> (%x)"]  # fmt: skip
    return "\n".join([*lines, "  return (%x)"]) + "\n"


GRAPHS = [chain, inputs, outputs, uses, constants, listed, blocks]


def names(n):
    return {f"layer.{i}.weight": ONE for i in range(n)}


def saved(folder, n):
    path = folder / f"{n}.safetensors"
    opyard.save(names(n), path)
    return path


def with_metadata(folder, n):
    path = folder / f"{n}.metadata"
    header = json.dumps({"__metadata__": {f"key {i}": "" for i in range(n)}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    return path


def archive(folder, n, change, *, weights=None, extra=0):
    """The example's program, changed."""
    path = folder / f"{n}.pt2"
    with zipfile.ZipFile(MODEL) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            contents = old.read(name)
            if name == PROGRAM:
                program = json.loads(contents)
                change(program["graph_module"], n)
                contents = json.dumps(program).encode()
            if name == WEIGHTS and weights is not None:
                config = json.loads(contents)
                weights(config["config"], n)
                contents = json.dumps(config).encode()
            new.writestr(name, contents)
        for i in range(extra):
            new.writestr(f"model/extra/{i}", b"")
    return path


def more_nodes(module, n):
    graph = module["graph"]
    for i in range(n):
        node = json.loads(json.dumps(graph["nodes"][0]))
        node["target"] = "torch.ops.aten.neg.default"
        node["inputs"] = [
            {"name": "self", "arg": {"as_tensor": {"name": f"n{i - 1}" if i else "x"}}, "kind": 1}
        ]
        node["outputs"] = [{"as_tensor": {"name": f"n{i}"}}]
        graph["nodes"].append(node)


def more_values(module, n):
    values = module["graph"]["tensor_values"]
    example = next(iter(values.values()))
    for i in range(n):
        values[f"value{i}"] = example


def more_weights(module, n):
    specs = module["signature"]["input_specs"]
    first = next(spec for spec in specs if "parameter" in spec)
    for i in range(n):
        spec = json.loads(json.dumps(first))
        spec["parameter"]["parameter_name"] = f"more{i}"
        spec["parameter"]["arg"]["name"] = f"p_more{i}"
        specs.append(spec)


def more_configs(config, n):
    for i in range(n):
        entry = json.loads(json.dumps(config["out.weight"]))
        # Another geometry each, on one memory.
        entry["tensor_meta"]["sizes"] = [{"as_int": 1}]
        entry["tensor_meta"]["strides"] = [{"as_int": i + 1}]
        entry["tensor_meta"]["storage_offset"] = {"as_int": 0}
        config[f"more{i}"] = entry


def nothing(module, n):
    pass


def views(n):
    whole = opyard.zeros([n])
    return [whole, *(whole[i] for i in range(n))]


def schemas(n):
    library = opyard.library.Library(f"growth_by_count_{n}", "DEF")

    def define():
        for i in range(n):
            library.define(f"f{i}(Tensor x) -> Tensor")
        library.close()

    return define


# Each gives what is measured, ready to be called; bytes and texts that it gives are measured too.
ROWS = {
    "save names": lambda n, folder: lambda: saved(folder, n).read_bytes(),
    "load names": lambda n, folder: (lambda path: lambda: opyard.load(path))(saved(folder, n)),
    "load names of a map": lambda n, folder: (
        lambda path: lambda: opyard.load(path, mapped=True))(saved(folder, n)),
    "load metadata": lambda n, folder: (
        lambda path: lambda: opyard.load(path))(with_metadata(folder, n)),
    "load a program of many nodes": lambda n, folder: (
        lambda path: lambda: jit.load(path))(archive(folder, n, more_nodes)),
    "load a program of many values": lambda n, folder: (
        lambda path: lambda: jit.load(path))(archive(folder, n, more_values)),
    "load a program of many weights": lambda n, folder: (
        lambda path: lambda: jit.load(path))(
            archive(folder, n, more_weights, weights=more_configs)),
    "load an archive of many entries": lambda n, folder: (
        lambda path: lambda: jit.load(path))(archive(folder, n, nothing, extra=n)),
    "copy views on one memory": lambda n, folder: (
        lambda all: lambda: copy.deepcopy(all) and None)(views(n)),
    "pickle views on one memory": lambda n, folder: (
        lambda all: lambda: pickle.dumps(all))(views(n)),
    "define operators": lambda n, folder: schemas(n),
}  # fmt: skip


def graph_rows():
    for make in GRAPHS:
        parsed = lambda n, make=make: jit.parse_ir(make(n))  # noqa: E731
        yield f"read {make.__name__}", lambda n, _, make=make: (
            lambda text: lambda: jit.parse_ir(text))(make(n))  # fmt: skip
        for name, act in {
            "write": str,
            "copy": lambda graph: graph.copy() and None,
            "check": lambda graph: graph.lint(),
            "compile": lambda graph: jit.compile(graph) and None,
            "disassemble": lambda graph: jit.compile(graph).disassemble(),
            "walk": lambda graph: [list(node.inputs()) for node in graph.nodes()] and None,
        }.items():
            yield f"{name} {make.__name__}", lambda n, _, act=act, parsed=parsed: (
                lambda graph: lambda: act(graph))(parsed(n))  # fmt: skip
        yield (
            f"save and load {make.__name__}",
            lambda n, folder, parsed=parsed: (
                lambda graph: lambda: (jit.save(graph, folder / "g"), jit.load(folder / "g"))
            )(parsed(n)),
        )


ROWS.update(graph_rows())


def measured(make, n, folder, times):
    """The least processor's time of some calls, and how much was written."""
    least, size = 1e9, 0
    for _ in range(times):
        act = make(n, folder)
        begin = time.process_time()
        result = act()
        least = min(least, time.process_time() - begin)
        size = len(result) if isinstance(result, bytes | str) else 0
    return least, size


@pytest.mark.parametrize("row", ROWS)
def test_six_doublings_take_at_most_three_times_as_much_each(row, tmp_path):
    make = ROWS[row]
    few, size_of_few = measured(make, FEW, tmp_path, 5)
    many, size_of_many = measured(make, MANY, tmp_path, 1)
    most = 3**6
    assert many <= most * max(few, 2e-4), (few, many)
    assert size_of_many <= most * max(size_of_few, 1), (size_of_few, size_of_many)
