"""Score of ONNX's own node tests: which models of one node run here and give what they should.

    tools/models --onnx > docs/dev/onnx_nodes.md
    tools/models --onnx --only Resize           tests whose name or operator has this in it, in full

The tests are those that the onnx package makes: a model, inputs, and outputs. Those that have
strings, sequences, maps, optional values or training are listed and not counted. A program for
machines with that package, no suite. With --short the status is 1 if fewer pass than the page says.
"""

import argparse
import re
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_node_model_tests

import opyard

# Numbers of few bits are held in these; see docs/guides/models.md.
HELD = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}
UNCOUNTED = {8: "strings"}


@dataclass
class Outcome:
    name: str
    operator: str
    result: str  # passes, differs, refused, fails, not counted
    reason: str = ""


def held(array: Any) -> np.ndarray:
    """An array as it is held here: small numbers in int8, uint8 or float32, bfloat16 as it is."""
    if isinstance(array, TensorProto):
        array = numpy_helper.to_array(array)
    array = np.asarray(array)
    name = array.dtype.name
    if name in HELD:
        return array.astype(HELD[name])
    if name.startswith("float8") or name.startswith("float4"):
        return array.astype(np.float32)
    return array


def to_tensor(array: np.ndarray) -> opyard.Tensor:
    if array.dtype.name == "bfloat16":
        return opyard.from_numpy(array.astype(np.float32)).to(opyard.bfloat16)
    return opyard.from_numpy(np.array(array, copy=True))


def to_array(tensor: opyard.Tensor) -> np.ndarray:
    if tensor.dtype is opyard.bfloat16:
        return tensor.to(opyard.float32).numpy()
    return tensor.numpy()


def why_uncounted(case: Any) -> str:
    """Why a test is not one of tensors of numbers; empty if it is."""
    graph = case.model.graph
    kinds = [each.domain for each in case.model.opset_import]
    if any("training" in kind for kind in kinds):
        return "training"
    for value in [*graph.input, *graph.output]:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return {"sequence_type": "sequences", "optional_type": "optional values"}.get(
                kind, kind
            )
        if value.type.tensor_type.elem_type == TensorProto.STRING:
            return "strings"
    return ""


def flat(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, tuple | list) else [result]


def difference(got: Any, wanted: np.ndarray, rtol: float, atol: float) -> str:
    """What differs; empty if nothing does."""
    if not isinstance(got, opyard.Tensor):
        return f"{type(got).__name__} is no tensor"
    array = to_array(got)
    dtype = "float32" if wanted.dtype.name == "bfloat16" else wanted.dtype.name
    if array.shape != wanted.shape:
        return f"shape {array.shape}, not {wanted.shape}"
    if array.dtype.name != dtype:
        return f"dtype {array.dtype.name}, not {dtype}"
    wide = wanted.astype(np.float32) if wanted.dtype.name == "bfloat16" else wanted
    if wide.dtype.kind in "fc":
        near = np.isclose(array, wide, rtol=rtol, atol=atol, equal_nan=True)
    else:
        near = array == wide
    if near.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~near)[0])
    return f"{int((~near).sum())} of {near.size} elements differ, as {array[at]} and {wide[at]}"


def check(case: Any, folder: Path) -> Outcome:
    operators = sorted({node.op_type for node in case.model.graph.node})
    operator = (
        operators[0]
        if len(operators) == 1
        else "functions of " + re.sub(r"^test_(?:cc_)?|(_\w*)?_expanded.*$", "", case.name)
    )
    reason = why_uncounted(case)
    if reason:
        return Outcome(case.name, operator, "not counted", reason)
    path = folder / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    try:
        model = opyard.jit.load(path)
    except NotImplementedError as error:
        lines = str(error).splitlines()
        return Outcome(case.name, operator, "refused", "; ".join(lines[1:2]).strip() or lines[0])
    except Exception as error:
        return Outcome(
            case.name,
            operator,
            "fails",
            f"load: {type(error).__name__}: {str(error).splitlines()[0]}"[-300:],
        )
    for inputs, outputs in case.data_sets:
        try:
            got = flat(model(*(to_tensor(held(each)) for each in inputs)))
        except Exception as error:
            return Outcome(
                case.name,
                operator,
                "fails",
                f"{type(error).__name__}: {str(error).splitlines()[0]}",
            )
        for one, wanted in zip(got, outputs, strict=True):
            rtol, atol = max(case.rtol, 1e-3), max(case.atol, 1e-7)
            what = difference(one, held(wanted), rtol, atol)
            if what:
                return Outcome(case.name, operator, "differs", what)
    return Outcome(case.name, operator, "passes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose name or operator has this in it")
    parser.add_argument("--short", action="store_true", help="the counts alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    outcomes = []
    cases = load_node_model_tests()
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            kinds = {node.op_type for node in case.model.graph.node}
            if options.only and options.only not in case.name and options.only not in kinds:
                continue
            outcomes.append(check(case, Path(folder)))
            if number % 200 == 0:
                print(f"{number} of {len(cases)}", file=sys.stderr)
    counts = Counter(each.result for each in outcomes)
    counted = len(outcomes) - counts["not counted"]
    print(f"{counts['passes']} of {counted} pass; {dict(counts)}")
    if options.short:
        return
    for each in outcomes:
        if each.result not in ("passes", "not counted"):
            print(f"{each.name} | {each.operator} | {each.result}: {each.reason}")


if __name__ == "__main__":
    main()
