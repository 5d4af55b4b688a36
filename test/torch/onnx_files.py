"""Table of ONNX files that packages ship: which load here, agree with ONNX Runtime, and how fast.

    pip download --no-deps silero-vad magika rapidocr-onnxruntime nudenet
    tools/models --onnx-files *.whl > docs/dev/onnx_files.md

Those of the onnx package are always in it; their weights are constants, and are no test of values.
Inputs are random numbers, and both run on one thread, in turns. A program for machines with
onnxruntime, no suite.
"""

import argparse
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

import opyard

# What inputs are that a file has no sizes for, by a part of its name: sizes in order of dimensions.
SIZES = {
    "common": [1, 1, 64, 128],
    "common_det": [1, 3, 416, 416],
    "magika": [1, 2048],
    "320n": [1, 3, 320, 320],
    "det_infer": [1, 3, 320, 320],
    "rec_infer": [1, 3, 48, 160],
    "cls_infer": [1, 3, 48, 192],
    "silero": [1, 576],
    "": [1, 3, 224, 224],
}
STATES = {"state": [2, 1, 128], "h": [1, 1, 128], "c": [1, 1, 128]}  # by the input's name
TOLERANCE = 1e-4  # of the largest output
RUNS = 5


def files(wheels: list[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """The package and the path of each file."""
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    yield from (("onnx", path) for path in sorted(light.glob("*.onnx")))
    for wheel in wheels:
        package = Path(wheel).name.split("-")[0]
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".onnx"):
                    yield package, Path(archive.extract(name, folder / package))


def sizes_of(path: Path) -> list[int]:
    found = [key for key in SIZES if key and key in str(path)]
    return SIZES[max(found, key=len) if found else ""]


def inputs_of(session: Any, path: Path) -> dict[str, np.ndarray]:
    """Random numbers in the sizes that the file says, or that SIZES says."""
    drawn = np.random.default_rng(0)
    made = {}
    for each in session.get_inputs():
        own = STATES.get(each.name) or sizes_of(path)
        shape = [
            size if isinstance(size, int) and size > 0 else own[at]
            for at, size in enumerate(each.shape)
        ]
        if "int" in each.type:
            whole = np.int32 if "int32" in each.type else np.int64
            made[each.name] = drawn.integers(0, 10, shape).astype(whole)
            if each.name == "sr":
                made[each.name] = np.array(16000, whole)
        else:
            made[each.name] = (drawn.standard_normal(shape) * 0.5).astype(np.float32)
    return made


def difference(got: Any, wanted: list[np.ndarray]) -> str:
    outputs = list(got.values()) if isinstance(got, dict) else [got]
    worst = 0.0
    for one, other in zip(outputs, wanted, strict=True):
        array = np.asarray(one)
        if array.shape != other.shape:
            return f"differs: shape {array.shape}, not {other.shape}"
        largest = max(float(np.abs(other).max(initial=0)), 1e-2)
        worst = max(worst, float(np.abs(array - other).max(initial=0)) / largest)
    return "agrees" if worst <= TOLERANCE else f"differs by {worst:.1g} of the largest output"


def best(run: Any) -> float:
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def row(package: str, path: Path) -> str:
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    head = f"| {package} | {path.name} | {nodes} |"
    start = time.perf_counter()
    try:
        model = opyard.jit.load(path)
    except NotImplementedError as error:
        return f"{head} refused: {str(error).splitlines()[1].split(':')[0].strip()} | | | |"
    loaded = (time.perf_counter() - start) * 1e3
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    inputs = inputs_of(session, path)
    arguments = [inputs[name] for name in model.input_names]
    result = difference(model(*arguments), session.run(None, inputs))
    ours, theirs = best(lambda: model(*arguments)), best(lambda: session.run(None, inputs))
    return f"{head} {result} | {loaded:.0f} | {ours:.2f} | {theirs:.2f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="*", help="wheels with .onnx files")
    options = parser.parse_args()
    opyard.set_num_threads(1)
    onnxruntime.set_default_logger_severity(4)
    print("# ONNX files that packages ship\n")
    print(
        "Made by `tools/models --onnx-files`, beside ONNX Runtime "
        f"{onnxruntime.__version__}, on one thread of a machine that others use, too: times say "
        "what is far off, no more.\n"
    )
    print("| package | file | nodes | result | loaded, ms | run, ms | ONNX Runtime, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for package, path in files(options.wheels, Path(folder)):
            print(row(package, path), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
