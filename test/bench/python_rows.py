"""test/bench/python_rows.py: journeys 3 to 6, calls that begin or end in Python.

A program of its own, so that nothing else runs in its process: run.py starts it pinned, with the
package on PYTHONPATH, and reads one line of JSON: for each row its floor and ours, or why the row
does not exist yet. The floors are in floors.c, the operators in bench_operators.cpp.
"""

import argparse
import array
import importlib.util
import json
import sys
import sysconfig
import types
from collections.abc import Callable
from pathlib import Path

from timing import Statement, medians

own_tensor = own_wrapper = None  # see Sides
LOOP = 1000  # calls of one statement that loops in C or C++


def load_floors(folder: Path) -> types.ModuleType:
    file = folder / f"floors{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not file.exists():
        raise SystemExit(
            f"{file} is not there; build with -Dbenchmarks=true for this CPython first"
        )
    return load_extension("floors", file)


def load_extension(name: str, file: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nested_modules(leaf: object) -> types.ModuleType:
    """ops.ns.name.default as the cheapest attributes there are on 3.11: those of modules."""
    ops, space, name = (types.ModuleType(part) for part in ("ops", "ns", "name"))
    ops.ns, space.name, name.default = space, name, leaf
    return ops


def pass_on(x):
    return x


def pass_first(*args, a=1.0):
    return args[0]


def give_tensor(*args):
    return own_tensor


def give_wrapper(*args):
    return own_wrapper


def handle(cls, op, types, args=(), kwargs=None):
    return args[0]


class Sides:
    """Builds floor and ours of each row. What does not exist raises, and the row says so."""

    def __init__(self, folder: Path) -> None:
        import numpy

        import opyard

        self.opyard = opyard
        self.folder = folder
        self.floors = load_floors(folder)
        opyard.load_library(folder / "bench_operators.so")
        self.ops = opyard.ops
        self.library = opyard.library.Library("opyard_bench", "IMPL", "CPU")
        self.library.impl("python", pass_on)
        self.own = opyard.library.Library("opyard_bench_own", "DEF")
        for name, count, more in (
            ("two", 2, ""),
            ("many", 14, ""),
            ("names", 1, ", *, float a=1.0"),
        ):
            tensors = ", ".join(f"Tensor x{i}" for i in range(count))
            self.own.define(f"{name}({tensors}{more}) -> Tensor")
            self.own.impl(name, pass_first, "CPU")
        self.own_ops = opyard.ops.opyard_bench_own
        self.tensor = opyard.tensor([1.0, 2.0, 3.0, 4.0])
        # Of these the results are looked at, so that they give a tensor of their own.
        global own_tensor, own_wrapper
        own_tensor = opyard.tensor([1.0, 2.0, 3.0, 4.0])
        own_wrapper = self.floors.Wrapper()
        self.custom = {
            count: opyard.library.custom_op(
                f"opyard_bench_custom::f{count}",
                give_tensor,
                mutates_args=(),
                schema=f"({', '.join(f'Tensor x{i}' for i in range(count))}) -> Tensor",
            )
            for count in (1, 14)
        }
        self.wrapper = self.floors.Wrapper()
        self.array = numpy.arange(4, dtype="float32")

    def call(self) -> tuple[Statement, Statement]:
        return (
            Statement("op(x)", {"op": self.floors.native(), "x": self.wrapper}),
            Statement("op(x)", {"op": self.ops.opyard_bench.stored.default, "x": self.tensor}),
        )

    def path(self) -> tuple[Statement, Statement]:
        floor = nested_modules(self.floors.native())
        return (
            Statement("ops.ns.name.default(x)", {"ops": floor, "x": self.wrapper}),
            Statement("ops.opyard_bench.stored.default(x)", {"ops": self.ops, "x": self.tensor}),
        )

    def fresh(self) -> tuple[Statement, Statement]:
        return (
            Statement("x.alias()", {"x": self.wrapper}),
            Statement("alias(x)", {"alias": self.ops.aten.alias.default, "x": self.tensor}),
        )

    def _foreign(self, exchange: Callable, arrays: list) -> tuple[Statement, Statement]:
        """Four arrays, so that what the dispatch costs is a small part of ours."""
        names = dict(zip("abcd", arrays, strict=True))
        op = self.ops.opyard_bench.take.default
        return (
            Statement("exchange(a, b, c, d)", {"exchange": exchange, **names}),
            Statement("op(a, b, c, d)", {"op": op, **names}),
        )

    def foreign(self) -> tuple[Statement, Statement]:
        return self._foreign(self.floors.exchange, [self.array.copy() for _ in range(4)])

    def foreign_table(self) -> tuple[Statement, Statement]:
        name = "opyard_test_arrays"
        file = next((self.folder.parent / "python").glob(f"{name}.cpython-311*.so"), None)
        if file is None:
            raise FileNotFoundError(f"{name} is built with -Dtests=true")
        made = load_extension(name, file)
        return self._foreign(self.floors.by_table, [made.Array([1.0] * 4) for _ in range(4)])

    def foreign_torch(self) -> tuple[Statement, Statement]:
        import torch

        return self._foreign(self.floors.by_table, [torch.zeros(4) for _ in range(4)])

    def foreign_buffer(self) -> tuple[Statement, Statement]:
        made = [array.array("f", [1.0] * 4) for _ in range(4)]
        return self._foreign(self.floors.by_buffer, made)

    def foreign_result(self) -> tuple[Statement, Statement]:
        op = self.ops.opyard_bench.stored.default
        floor = {"exchange": self.floors.exchange, "a": self.array}
        return Statement("exchange(a)", floor), Statement("op(a)", {"op": op, "a": self.array})

    def from_dlpack(self) -> tuple[Statement, Statement]:
        floor = {"exchange": self.floors.exchange, "a": self.array}
        ours = {"from_dlpack": self.opyard.from_dlpack, "a": self.array}
        return Statement("exchange(a)", floor), Statement("from_dlpack(a)", ours)

    def python_kernel(self) -> tuple[Statement, Statement]:
        return (
            Statement("op(x)", {"op": self.floors.python(pass_on), "x": self.wrapper}),
            Statement("op(x)", {"op": self.ops.opyard_bench.python.default, "x": self.tensor}),
        )

    def _python_many(self, name: str, count: int, more: str = "") -> tuple[Statement, Statement]:
        text = f"op({', '.join(['x'] * count)}{more})"
        op = getattr(self.own_ops, name).default
        return (
            Statement(text, {"op": self.floors.python_many(pass_first), "x": self.wrapper}),
            Statement(text, {"op": op, "x": self.tensor}),
        )

    def python_two(self) -> tuple[Statement, Statement]:
        return self._python_many("two", 2)

    def python_many(self) -> tuple[Statement, Statement]:
        return self._python_many("many", 14)

    def python_names(self) -> tuple[Statement, Statement]:
        return self._python_many("names", 1, ", a=2.0")

    def _custom(self, count: int) -> tuple[Statement, Statement]:
        text = f"op({', '.join(['x'] * count)})"
        return (
            Statement(text, {"op": self.floors.python_many(give_wrapper), "x": self.wrapper}),
            Statement(text, {"op": self.custom[count], "x": self.tensor}),
        )

    def custom_one(self) -> tuple[Statement, Statement]:
        return self._custom(1)

    def custom_many(self) -> tuple[Statement, Statement]:
        return self._custom(14)

    def subclass(self) -> tuple[Statement, Statement]:
        Handled = type(
            "Handled", (self.opyard.Tensor,), {"__opyard_dispatch__": classmethod(handle)}
        )
        x = self.opyard.Tensor.make_subclass(Handled, self.tensor)
        return (
            Statement("op(x)", {"op": self.floors.handled(handle), "x": self.wrapper}),
            Statement("op(x)", {"op": self.ops.opyard_bench.stored.default, "x": x}),
        )

    def mode(self) -> tuple[Statement, Statement]:
        Mode = type("Mode", (self.opyard.dispatch.DispatchMode,), {"__opyard_dispatch__": handle})
        op = self.ops.opyard_bench.stored.default
        return (
            Statement("op(x)", {"op": self.floors.handled(handle), "x": self.wrapper}),
            Statement("op(x)", {"op": op, "x": self.tensor}, within=Mode()),
        )

    def detach(self) -> tuple[Statement, Statement]:
        Handled = type(
            "Handled", (self.opyard.Tensor,), {"__opyard_dispatch__": classmethod(handle)}
        )
        x = self.opyard.Tensor.make_subclass(Handled, self.tensor)
        return (
            Statement("op(x)", {"op": self.floors.handled(handle), "x": self.wrapper}),
            Statement("op(x)", {"op": self.ops.aten.detach.default, "x": x}),
        )

    def small_add(self) -> tuple[Statement, Statement]:
        names = {name: self.opyard.tensor([1.0]) for name in "xy"}
        return Statement("add(x, y)", {"add": self.ops.aten.add.Tensor, **names}), Statement(
            "x + y", names
        )

    def small_number(self) -> tuple[Statement, Statement]:
        x = self.opyard.tensor([1.0])
        add = {"add": self.ops.aten.add.Scalar, "x": x}
        return Statement("add(x, 1)", add), Statement("x + 1", {"x": x})

    def _method(self, name: str) -> tuple[Statement, Statement]:
        x = self.opyard.tensor([1.0])
        op = getattr(self.ops.aten, name).default
        return Statement("op(x)", {"op": op, "x": x}), Statement(f"x.{name}()", {"x": x})

    def small_method(self) -> tuple[Statement, Statement]:
        return self._method("relu")

    def small_alias(self) -> tuple[Statement, Statement]:
        return self._method("alias")

    def _indexed(self, text: str) -> tuple[Statement, Statement]:
        m = self.opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
        select = {"select": self.ops.aten.select.int, "m": m}
        return Statement("select(m, 0, 1)", select), Statement(text, {"m": m})

    def small_select(self) -> tuple[Statement, Statement]:
        return self._indexed("m[0, 1]")

    def small_column(self) -> tuple[Statement, Statement]:
        return self._indexed("m[:, 1]")

    def small_slice(self) -> tuple[Statement, Statement]:
        return self._indexed("m[1:]")

    def python_from_cpp(self) -> tuple[Statement, Statement]:
        floor = {"repeat": self.floors.repeat, "f": pass_on, "x": self.wrapper}
        ours = {"repeat": self.ops.opyard_bench.repeat.default, "x": self.tensor}
        return (
            Statement(f"repeat(f, x, {LOOP})", floor, LOOP),
            Statement(f"repeat(x, {LOOP})", ours, LOOP),
        )


ROWS: dict[str, Callable] = {
    "call": Sides.call,
    "path": Sides.path,
    "fresh": Sides.fresh,
    "foreign": Sides.foreign,
    "foreign_table": Sides.foreign_table,
    "foreign_torch": Sides.foreign_torch,
    "foreign_buffer": Sides.foreign_buffer,
    "foreign_result": Sides.foreign_result,
    "from_dlpack": Sides.from_dlpack,
    "python_kernel": Sides.python_kernel,
    "python_two": Sides.python_two,
    "python_many": Sides.python_many,
    "python_names": Sides.python_names,
    "custom_one": Sides.custom_one,
    "custom_many": Sides.custom_many,
    "python_from_cpp": Sides.python_from_cpp,
    "subclass": Sides.subclass,
    "mode": Sides.mode,
    "detach": Sides.detach,
    "small_add": Sides.small_add,
    "small_number": Sides.small_number,
    "small_method": Sides.small_method,
    "small_alias": Sides.small_alias,
    "small_select": Sides.small_select,
    "small_column": Sides.small_column,
    "small_slice": Sides.small_slice,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where floors.*.so is")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--row", choices=ROWS, help="this row alone")
    options = parser.parse_args()

    sides = Sides(options.folder)
    statements: dict[str, Statement] = {}
    missing: dict[str, str] = {}
    for key, make in ROWS.items():
        if options.row not in (None, key):
            continue
        try:
            floor, ours = make(sides)
            exec(ours.text, dict(ours.names))
        except Exception as error:
            text = str(error).splitlines() or [""]
            missing[key] = f"{type(error).__name__}: {text[0]}"
        else:
            statements |= {f"{key}/floor": floor, f"{key}/ours": ours}
    json.dump({"nanoseconds": medians(statements, options.rounds), "missing": missing}, sys.stdout)


if __name__ == "__main__":
    main()
