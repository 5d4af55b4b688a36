"""test/bench/tvm_rows.py: arrays of other libraries as arguments in tvm-ffi.

A program of its own, run by run.py with a Python that has tvm-ffi: the one of the benchmarks, or
build/venv-torch. It calls a function of tvm-ffi that does nothing, in C++, with four arrays, and
prints one line of JSON: nanoseconds by row, and the version.
"""

import argparse
import importlib.machinery
import importlib.util
import json
from pathlib import Path

from timing import Statement, medians


def arrays_with_a_table(folder: Path) -> "list | None":
    """Those of the row foreign_table; None where they are not built for this CPython."""
    name = "opyard_test_arrays"
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    file = folder.parent / "python" / f"{name}{suffix}"
    if not file.exists():
        return None
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [module.Array([1.0] * 4) for _ in range(4)]


def statements(folder: Path) -> dict[str, Statement]:
    import numpy
    import tvm_ffi

    nothing = tvm_ffi.get_global_func("testing.nop")

    def call(arrays: list) -> Statement:
        return Statement("f(a, b, c, d)", {"f": nothing, **dict(zip("abcd", arrays, strict=True))})

    made = {"foreign": call([numpy.arange(4, dtype="float32") for _ in range(4)])}
    array = numpy.arange(4, dtype="float32")
    made["from_dlpack"] = Statement("f(a)", {"f": tvm_ffi.from_dlpack, "a": array})
    if (tabled := arrays_with_a_table(folder)) is not None:
        made["foreign_table"] = call(tabled)
    if importlib.util.find_spec("torch") is not None:
        import torch

        made["foreign_torch"] = call([torch.zeros(4) for _ in range(4)])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where floors.*.so is")
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    import tvm_ffi

    nanoseconds = medians(statements(options.folder), options.rounds)
    print(json.dumps({"version": tvm_ffi.__version__, "nanoseconds": nanoseconds}))


if __name__ == "__main__":
    main()
