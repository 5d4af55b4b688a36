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
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_node_model_tests

import opyard

# Why tests do not pass, where what differs does not say it: by a pattern of names.
REASONS = {
    r"attention.*(bf16|fp16)": "products in 16 bits are rounded in other places: at most two "
    "units in the last place of an element",
    r"bernoulli|training_dropout": "other random numbers than those of NumPy, which the test has",
    r"bitcast": "no operator of aten here reads the bits of a tensor as another type",
    r"reduce_(max|min)_empty_set": "an extreme of no elements is an error here, as in PyTorch",
    r"^test_not_\d|tree_ensemble|binarizer|array_feature": "an operator of ai.onnx.ml, or version "
    "1 of the operator set; versions 6 and newer are read",
}

# Numbers of few bits are held in these; see docs/guides/models.md.
HELD = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}
PAGE = Path(__file__).parents[2] / "docs" / "dev" / "onnx_nodes.md"


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


def reason_of(outcome: Outcome) -> str:
    """Why a test does not pass, as the page says it."""
    for pattern, reason in REASONS.items():
        if re.search(pattern, outcome.name):
            return reason
    if outcome.result == "refused":
        return outcome.reason.partition("]: ")[2] or outcome.reason
    return outcome.reason


def page(outcomes: list[Outcome]) -> str:
    """The page of what does not pass."""
    counts = Counter(each.result for each in outcomes)
    counted = len(outcomes) - counts["not counted"]
    share = 100 * counts["passes"] / counted
    lines = [
        "# Node tests of ONNX",
        "",
        f"Made by `tools/models --onnx` with onnx {onnx.__version__}: of its {len(outcomes)} tests "
        f"of single operators and functions, {counted} are of tensors of numbers, of which "
        f"**{counts['passes']} pass, {share:.1f} %**. "
        "Numbers of two and four bits and floats of four and eight are held in wider types; their "
        "values are compared.",
        "",
        "## Those that do not pass",
        "",
        "| operator | tests | result | reason |",
        "| --- | --- | --- | --- |",
    ]
    rows: Counter[tuple[str, str, str]] = Counter()
    for each in outcomes:
        if each.result not in ("passes", "not counted"):
            operator = each.operator.removeprefix("functions of ")
            rows[operator, each.result, reason_of(each)] += 1
    lines += [
        f"| {operator} | {count} | {result} | {reason} |"
        for (operator, result, reason), count in sorted(rows.items())
    ]
    lines += [
        "",
        "## Those that are not counted",
        "",
        "| what they need | tests |",
        "| --- | --- |",
    ]
    needs = Counter(each.reason for each in outcomes if each.result == "not counted")
    lines += [f"| {need} | {count} |" for need, count in sorted(needs.items())]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose name or operator has this in it")
    parser.add_argument("--short", action="store_true", help="the count, and whether it is less")
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
    if not options.only and not options.short:
        print(page(outcomes))
        return 0
    counts = Counter(each.result for each in outcomes)
    counted = len(outcomes) - counts["not counted"]
    print(f"{counts['passes']} of {counted} pass")
    if options.short:
        said = re.search(r"\*\*(\d+) pass", PAGE.read_text())
        return int(said is None or counts["passes"] < int(said[1]))
    for each in outcomes:
        if each.result not in ("passes", "not counted"):
            print(f"{each.name} | {each.operator} | {each.result}: {each.reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
