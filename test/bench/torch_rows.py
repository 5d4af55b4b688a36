"""test/bench/torch_rows.py: the same rows in PyTorch, for those that it has.

A program of its own, run by run.py with a Python that has PyTorch: the one of the benchmarks, or
build/venv-torch. It compiles torch_calls.cpp and torch_graphs.cpp into the folder it is given,
once, and prints one line of JSON: by row nanoseconds, or what else the row is in, and the version.
"""

import argparse
import json
import subprocess
import sys
import sysconfig
from pathlib import Path

from timing import Statement, medians
from training_step import step_of

HERE = Path(__file__).resolve().parent
CALLS = ("typed_reference", "typed_counted", "redispatch", "boxed")
GRAPHS = (
    "graph_operator",
    "graph_int",
    "graph_enter",
    "graph_lstm",
    "graph_two_threads",
    "graph_compile",
)


def compiled(folder: Path, source: Path):
    """The extension module, compiled where it is not there for this PyTorch."""
    import torch
    from torch.utils import cpp_extension

    folder.mkdir(parents=True, exist_ok=True)
    name = f"{source.stem}_{torch.__version__.translate(str.maketrans('.+', '__'))}"
    file = folder / f"{name}.so"
    if not file.exists() or file.stat().st_mtime < source.stat().st_mtime:
        libraries = Path(torch.__file__).parent / "lib"
        includes = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
        command = ["c++", "-O3", "-DNDEBUG", "-std=c++20", "-shared", "-fPIC"]
        command += [f"-isystem{path}" for path in includes]
        command += [f"-DTORCH_EXTENSION_NAME={name}", str(source), "-o", str(file)]
        command += [f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
        command += ["-lc10", "-ltorch", "-ltorch_cpu", "-ltorch_python"]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    sys.path.insert(0, str(folder))
    return __import__(name)


def foreign_statements() -> dict[str, Statement]:
    """PyTorch's operators take its own tensors only, so an array is wrapped by its caller."""
    import numpy
    import torch

    take = torch.ops.opyard_bench_torch.take.default
    arrays = {name: numpy.arange(4, dtype="float32") for name in "abcd"}
    wrapped = ", ".join(f"wrap({name})" for name in arrays)
    names = {"op": take, "wrap": torch.from_numpy, **arrays}
    op = torch.ops.opyard_bench_torch.counted.default
    one = {"op": op, "wrap": torch.from_numpy, "a": arrays["a"]}
    return {
        "foreign": Statement(f"op({wrapped})", names),
        "foreign_result": Statement("op(wrap(a)).numpy()", one),
        "from_dlpack": Statement("wrap(a)", {"wrap": torch.from_dlpack, "a": arrays["a"]}),
    }


def python_statements() -> dict[str, Statement]:
    import torch

    ops = torch.ops
    library = torch.library.Library("opyard_bench_torch", "IMPL", "CPU")
    library.impl("python", lambda x: x)
    x = torch.zeros(4)
    counted = ops.opyard_bench_torch.counted.default
    python = ops.opyard_bench_torch.python.default
    has_custom_op = hasattr(torch.library, "custom_op")  # since 2.4
    answer = torch.zeros(4)

    def custom(count: int) -> Statement:
        schema = f"({', '.join(f'Tensor x{i}' for i in range(count))}) -> Tensor"
        name = f"opyard_bench_torch::custom{count}"
        made = torch.library.custom_op(name, lambda *a: answer, mutates_args=(), schema=schema)
        return Statement(f"f({', '.join(['x'] * count)})", {"f": made, "x": x})

    return {
        **foreign_statements(),
        "call": Statement("f(x)", {"f": counted, "x": x}),
        "path": Statement("ops.opyard_bench_torch.counted.default(x)", {"ops": ops, "x": x}),
        "fresh": Statement("x.detach()", {"x": x}),
        "python_kernel": Statement("f(x)", {"f": python, "x": x, "keep": library}),
        "training_step": Statement("step()", {"step": step_of(torch.tensor, torch.no_grad)}),
        **({"custom_one": custom(1), "custom_many": custom(14)} if has_custom_op else {}),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    calls = compiled(options.folder, HERE / "cpp" / "torch_calls.cpp")
    graphs = compiled(options.folder, HERE / "cpp" / "torch_graphs.cpp")
    nanoseconds = {row: getattr(calls, row)() for row in CALLS}
    nanoseconds |= {row: getattr(graphs, row)() for row in GRAPHS}
    nanoseconds |= medians(python_statements(), options.rounds)
    print(json.dumps({"version": torch.__version__, "nanoseconds": nanoseconds}))


if __name__ == "__main__":
    main()
