"""Protects opyard.jit.load() of ONNX files: operators by versions, sizes, graphs in nodes, types.

The files are written by onnx_bytes.py, without the onnx package; where that is installed, some of
its node tests run. Suspect models/python/opyard/_onnx/.
"""

import re
import struct
import tempfile
import warnings
from pathlib import Path

import onnx_bytes as ox
import pytest

import opyard
from opyard import jit
from opyard._onnx.tables import TABLES

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")
X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]], np.float32)


def load(tmp_path, *parts, **more):
    options = {key: more.pop(key) for key in ("allowed", "exact") if key in more}
    path = tmp_path / "model.onnx"
    path.write_bytes(ox.model(*parts, **more))
    return jit.load(path, **options)


def one(tmp_path, kind, *arrays, outputs=1, version=21, weights=(), elems=None, **attributes):
    """What one node gives for these inputs; weights follow them."""
    names = [f"x{k}" for k in range(len(arrays))]
    elems = elems or [ELEMS[array.dtype.name] for array in arrays]
    nodes = [
        ox.node(
            kind,
            [*names, *(f"w{k}" for k in range(len(weights)))],
            [f"y{k}" for k in range(outputs)],
            **attributes,
        )
    ]
    inputs = [ox.value(n, e, a.shape) for n, a, e in zip(names, arrays, elems, strict=True)]
    made = load(
        tmp_path,
        nodes,
        inputs,
        [ox.value(f"y{k}", elems[0], None) for k in range(outputs)],
        weights,
        version=version,
    )
    return made(*arrays)


ELEMS = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
}


# ---- what a model is


def linear(tmp_path, **more):
    nodes = [
        ox.node("Gemm", ["x", "fc.weight", "fc.bias"], ["h"], transB=1),
        ox.node("Relu", ["h"], ["y"]),
        ox.node("ReduceMean", ["y", "axes"], ["mean"], keepdims=0),
    ]
    weights = [
        ox.floats("fc.weight", (2, 3), [1.0, 2.0, 3.0, -1.0, 0.5, 0.0]),
        ox.floats("fc.bias", (2,), [0.5, -0.5]),
        ox.ints("axes", (1,), [1]),
    ]
    outputs = [ox.value("y", dims=("n", 2)), ox.value("mean", dims=("n",))]
    return load(tmp_path, nodes, [ox.value("x", dims=("n", 3))], outputs, weights, **more)


def wanted_of_linear(x=X):
    w = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]], np.float32)
    return np.maximum(x @ w.T + np.array([0.5, -0.5], np.float32), 0)


def test_X32_inputs_are_passed_by_position_and_name_and_outputs_have_names(tmp_path):
    model = linear(tmp_path)
    assert model.input_names == ["x"]
    for got in (model(X), model(x=X)):
        assert list(got) == ["y", "mean"]
        np.testing.assert_allclose(got["y"], wanted_of_linear(), rtol=1e-6)
        np.testing.assert_allclose(got["mean"], wanted_of_linear().mean(1), rtol=1e-6)
    with pytest.raises(TypeError, match="none is called 'z'"):
        model(z=X)


def test_X32_sizes_and_dtypes_of_inputs_are_checked(tmp_path):
    model = linear(tmp_path)
    with pytest.raises(ValueError, match="size 4 of dimension 1; the model was exported for 3"):
        model(np.zeros((2, 4), np.float32))
    with pytest.raises(TypeError, match="float64"):
        model(X.astype(np.float64))


def test_X32_weights_have_their_names_are_trained_and_saved(tmp_path):
    model = linear(tmp_path)
    names = [name for name, _ in model.named_parameters()]
    assert names == ["fc.weight", "fc.bias"]
    for parameter in model.parameters():
        parameter.requires_grad_()
    model(opyard.from_numpy(X))["y"].sum().backward()
    grads = [parameter.grad.tolist() for parameter in model.parameters()]
    live = (wanted_of_linear() > 0).astype(np.float32)
    np.testing.assert_allclose(grads[0], live.T @ X)
    np.testing.assert_allclose(grads[1], live.sum(0))
    jit.save(model, tmp_path / "again.safetensors")
    again = jit.load(tmp_path / "again.safetensors")
    np.testing.assert_allclose(again(X)["y"], wanted_of_linear(), rtol=1e-6)


def test_X32_a_file_is_known_by_its_first_bytes_too(tmp_path):
    linear(tmp_path)
    other = tmp_path / "model.bin"
    (tmp_path / "model.onnx").rename(other)
    np.testing.assert_allclose(jit.load(other)(X)["y"], wanted_of_linear(), rtol=1e-6)


# ---- operators


@pytest.mark.parametrize("version", [11, 13])
def test_X32_the_version_of_the_operator_set_says_what_softmax_is(tmp_path, version):
    x = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    got = one(tmp_path, "Softmax", x, version=version)
    rows = x if version == 13 else x.reshape(2, 6)
    powers = np.exp(rows - rows.max(-1, keepdims=True))
    np.testing.assert_allclose(
        got, (powers / powers.sum(-1, keepdims=True)).reshape(x.shape), rtol=1e-5
    )


@pytest.mark.parametrize(
    ("kind", "arrays", "attributes", "wanted"),
    [
        ("Div", [np.array([-7, 7]), np.array([2, 2])], {}, [-3, 3]),
        ("Mod", [np.array([-7, 7]), np.array([3, -3])], {}, [2, -2]),
        ("Mod", [np.array([-7, 7]), np.array([3, -3])], {"fmod": 1}, [-1, 1]),
        ("ArgMax", [X], {"axis": 1, "keepdims": 0}, [2, 0]),
        ("CumSum", [X, np.array(1)], {"exclusive": 1}, [[0.0, 1.0, -1.0], [0.0, 0.5, 0.75]]),
        ("Flatten", [X], {"axis": 0}, [X.ravel().tolist()]),
        ("Slice", [X] + [np.array([n]) for n in (-1, -9, 1, -2)], {}, X[:, ::-2].tolist()),
        ("Unsqueeze", [np.array([1.0, 2.0], np.float32), np.array([0, -1])], {}, [[[1.0], [2.0]]]),
        ("Pad", [X[:1], np.array([0, 2, 0, 1])], {"mode": "reflect"}, [[3, -2, 1, -2, 3, -2]]),
        ("GatherND", [X, np.array([[1, -1], [0, 0]])], {}, [-1.0, 1.0]),
        ("OneHot", [np.array([1, -1]), np.array(3), np.array([2, 5])], {}, [[2, 5, 2], [2, 2, 5]]),
        ("Trilu", [X], {"upper": 0}, [[1.0, 0.0, 0.0], [0.5, 0.25, 0.0]]),
        ("Range", [np.array(5), np.array(0), np.array(-2)], {}, [5, 3, 1]),
        ("ReduceProd", [X, np.array([1])], {"keepdims": 0}, [-6.0, -0.125]),
        ("NonZero", [np.array([[0, 1], [2, 0]])], {}, [[0, 1], [1, 0]]),
    ],
)
def test_X32_operators_give_what_onnx_says(tmp_path, kind, arrays, attributes, wanted):
    got = one(tmp_path, kind, *arrays, **attributes)
    assert np.asarray(got).tolist() == wanted


@pytest.mark.parametrize("padding", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
def test_X32_convolutions_pad_as_auto_pad_says(tmp_path, padding):
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    weights = [ox.floats("w0", (1, 1, 3, 3), [1.0] * 9)]
    got = np.asarray(one(tmp_path, "Conv", x, weights=weights, auto_pad=padding, strides=[2, 2]))
    low, high = {"SAME_UPPER": (0, 1), "SAME_LOWER": (1, 0)}.get(padding, (0, 0))
    wide = np.pad(x[0, 0], (low, high))
    rows = range(0, wide.shape[0] - 2, 2)
    assert got[0, 0].tolist() == [[wide[i : i + 3, j : j + 3].sum() for j in rows] for i in rows]


def test_X32_a_network_that_was_converted_is_prepared_like_others(tmp_path):
    nodes = [
        ox.node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        ox.node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        ox.node("Clip", ["n", "low", "high"], ["r"]),
        ox.node("Shape", ["r"], ["shape"]),
        ox.node("Gather", ["shape", "zero"], ["n0"]),
        ox.node("Unsqueeze", ["n0", "axis"], ["n1"]),
        ox.node("Concat", ["n1", "rest"], ["to"], axis=0),
        ox.node("Reshape", ["r", "to"], ["y"]),
    ]
    numbers = np.linspace(-1, 1, 18).astype(np.float32)
    weights = [
        ox.floats("w", (2, 1, 3, 3), numbers.tolist()),
        *(ox.floats(name, (2,), [0.5, 1.5]) for name in "sbmv"),
        ox.floats("low", (), [0.0]),
        ox.floats("high", (), [6.0]),
        ox.ints("zero", (), [0]),
        ox.ints("axis", (1,), [0]),
        ox.ints("rest", (1,), [-1]),
    ]
    inputs, outputs = [ox.value("x", dims=("n", 1, 4, 4))], [ox.value("y", dims=("n", 32))]
    model = load(tmp_path, nodes, inputs, outputs, weights)
    text = str(model.graph)
    assert not re.search("prim::If|prim::Loop|aten::cat|aten::index_select", text)
    assert "fold_batch_norms: 1 places" in model.explain()
    x = np.random.default_rng(0).standard_normal((3, 1, 4, 4)).astype(np.float32)
    exact = load(tmp_path, nodes, inputs, outputs, weights, exact=True)
    assert exact(x).shape == (3, 32)
    np.testing.assert_allclose(model(x), exact(x), rtol=1e-4, atol=1e-5)


def test_X32_each_block_is_a_formula_also_if_nothing_is_known_of_its_inputs():
    samples = {"int": "1", "float": "1.5", "bool": "True", "str": '"none"', "int[]": "[0]"}
    for kind in TABLES.kinds():
        for block in TABLES.versions(kind):
            lets, types = [], {}
            words = set(re.findall(r"\w+", block.body))
            for each in (*block.inputs, *block.attributes):
                lets.append(f"let has_{each.name} = True; let {each.name}_count = 1;")
                if each.type.startswith("Tensor"):
                    types[each.name] = each.type
                else:
                    lets.append(f"let {each.name} = {samples[each.type]};")
                if each.type == "Tensor":
                    lets.append(f"let {each.name}_floats = is_floating_point({each.name});")
                    lets.append(f"let {each.name}_rank = {each.name}.dim();")
                    lets.append(f"let {each.name}_dtype = 6;")
            assert words, kind
            jit.parse_expression(" ".join([*lets, block.body]), types)


# ---- graphs in nodes, and functions


def test_X32_if_and_loop_take_values_from_outside(tmp_path):
    then = ox.graph([ox.node("Add", ["x", "x"], ["a"])], [], [ox.value("a", dims=None)])
    other = ox.graph([ox.node("Neg", ["x"], ["b"])], [], [ox.value("b", dims=None)])
    body = ox.graph(
        [
            ox.node("Add", ["h", "x"], ["h2"]),
            ox.node("Identity", ["go"], ["go2"]),
            ox.node("ReduceSum", ["h2"], ["each"], keepdims=0),
        ],
        [ox.value("i", ox.INT64), ox.value("go", ox.BOOL), ox.value("h", dims=None)],
        [ox.value("go2", ox.BOOL), ox.value("h2", dims=None), ox.value("each", dims=None)],
    )
    nodes = [
        ox.node("If", ["flag"], ["y"], then_branch=(then,), else_branch=(other,)),
        ox.node("Loop", ["n", "", "y"], ["last", "sums"], body=(body,)),
    ]
    inputs = [ox.value("x", dims=(2,)), ox.value("flag", ox.BOOL), ox.value("n", ox.INT64)]
    model = load(
        tmp_path, nodes, inputs, [ox.value("last", dims=None), ox.value("sums", dims=None)]
    )
    x = np.array([1.0, 2.0], np.float32)
    got = model(x, np.array(True), np.array(3))
    assert (got["last"].tolist(), got["sums"].tolist()) == ([5.0, 10.0], [9.0, 12.0, 15.0])
    assert model(x, np.array(False), np.array(0))["last"].tolist() == [-1.0, -2.0]


def test_X32_scan_goes_over_rows(tmp_path):
    body = ox.graph(
        [ox.node("Add", ["s", "row"], ["t"]), ox.node("Identity", ["t"], ["out"])],
        [ox.value("s", dims=(3,)), ox.value("row", dims=(3,))],
        [ox.value("t", dims=(3,)), ox.value("out", dims=(3,))],
    )
    nodes = [ox.node("Scan", ["start", "x"], ["last", "all"], body=(body,), num_scan_inputs=1)]
    inputs = [ox.value("start", dims=(3,)), ox.value("x", dims=(2, 3))]
    model = load(
        tmp_path, nodes, inputs, [ox.value("last", dims=(3,)), ox.value("all", dims=(2, 3))]
    )
    got = model(np.ones(3, np.float32), X)
    np.testing.assert_allclose(got["all"], np.cumsum(X, 0) + 1)


def test_X32_a_function_of_the_file_is_its_nodes(tmp_path):
    by = ox.field(5, ox.message({1: "value_float", 21: "by", 20: 1}))
    scaled = ox.message(
        {
            1: "Scaled",
            4: ["v"],
            5: ["r"],
            6: ["by"],
            7: [
                ox.node("Constant", [], ["c"]) + by,
                ox.node("Mul", ["v", "c"], ["r"]),
            ],
            9: [ox.message({2: 21})],
            10: "shop",
        }
    )
    nodes = [ox.node("Scaled", ["x"], ["y"], domain="shop", by=2.5)]
    inputs, outputs = [ox.value("x", dims=(2, 3))], [ox.value("y", dims=(2, 3))]
    model = load(tmp_path, nodes, inputs, outputs, functions=[scaled], domains=["shop"])
    np.testing.assert_allclose(model(X), X * 2.5)


# ---- element types


@pytest.mark.parametrize("dtype", list(ELEMS))
def test_X32_weights_of_each_type_are_read(tmp_path, dtype):
    w = np.array([0, 1, 1], dtype)
    raw = ox.tensor("w", ELEMS[dtype], (3,), w.tobytes())
    nodes = [ox.node("Concat", ["x", "w"], ["y"], axis=0)]
    inputs, outputs = [ox.value("x", ELEMS[dtype], (3,))], [ox.value("y", ELEMS[dtype], (6,))]
    got = load(tmp_path, nodes, inputs, outputs, [raw])(w)
    assert (got.dtype, got.tolist()) == (w.dtype, w.tolist() * 2)


def test_X32_bfloat16_is_read_and_computed_with(tmp_path):
    half = struct.pack("<2H", 0x3F80, 0xC000)  # 1 and -2
    weights = [ox.tensor("w", ox.BFLOAT16, (2,), half)]
    nodes = [ox.node("Cast", ["x"], ["h"], to=16), ox.node("Mul", ["h", "w"], ["y"])]
    model = load(tmp_path, nodes, [ox.value("x", dims=(2,))], [ox.value("y", 16, (2,))], weights)
    got = model(opyard.tensor([3.0, 0.5]))
    assert (got.dtype, got.tolist()) == (opyard.bfloat16, [3.0, -1.0])


def test_X32_small_numbers_are_held_in_wider_types(tmp_path):
    nodes = [ox.node("Cast", ["w"], ["h"], to=1), ox.node("Add", ["x", "h"], ["y"])]
    packed = ox.tensor("w", 22, (3,), bytes([0x8F, 0x07]))  # int4: -1, -8, 7
    places = [ox.value("x", dims=(3,))], [ox.value("y", dims=(3,))]
    zeros = np.zeros(3, np.float32)
    assert load(tmp_path, nodes, *places, [packed])(zeros).tolist() == [-1, -8, 7]
    tiny = ox.tensor("w", 17, (3,), bytes([0x38, 0xC0, 0x7E]))  # float8e4m3fn: 1, -2, 448
    assert load(tmp_path, nodes, *places, [tiny])(zeros).tolist() == [1, -2, 448]
    x = np.array([1000.0, -0.06, 1.1], np.float32)
    for to, wanted in ((17, [448.0, -0.05859375, 1.125]), (23, [6.0, 0.0, 1.0]), (22, [-8, 0, 1])):
        assert np.asarray(one(tmp_path, "Cast", x, to=to)).tolist() == wanted


def test_X32_quantised_numbers_are_rounded_to_even_and_kept_in_range(tmp_path):
    x = np.array([0.25, 0.75, -300.0, 300.0], np.float32)
    got = one(tmp_path, "QuantizeLinear", x, np.array(0.5, np.float32), np.array(3, np.int8))
    assert got.tolist() == [3, 5, -128, 127] and got.dtype == np.int8


# ---- the tests of the onnx package


def test_X32_node_tests_of_onnx_pass():
    pytest.importorskip("onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_node_model_tests

        cases = load_node_model_tests()
    random = "bernoulli|dropout"
    unread = "bitcast|image|optional|sequence|string|tfidf|tree|label|bf16"
    skipped = re.compile(f"{random}|{unread}")
    assert len(cases) > 1500
    for case in [case for case in cases if not skipped.search(case.name)][::40]:
        graph = case.model.graph
        floats = all(
            each.type.tensor_type.elem_type in (1, 6, 7, 9, 11)
            for each in [*graph.input, *graph.output]
        )
        if not floats or any(opset.domain for opset in case.model.opset_import):
            continue
        run_case(case)


def run_case(case):
    """Runs one test; the file goes by a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(case.model.SerializeToString())
        model = jit.load(path)
    for inputs, outputs in case.data_sets:
        got = model(*(np.array(each) for each in inputs))
        got = list(got.values()) if isinstance(got, dict) else [got]
        for each, wanted in zip(got, outputs, strict=True):
            np.testing.assert_allclose(each, wanted, rtol=1e-3, atol=1e-6, err_msg=case.name)
