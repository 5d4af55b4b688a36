"""Protects control flow, assertions and expressions of sizes in programs that PyTorch exported.

The archives are of test/models/export.py. Suspect models/src/exported/control.cpp, assertions.cpp,
arguments.cpp.
"""

import json
import re
import struct
import zipfile

import pytest
from built import TESTS

import opyard
from opyard import jit

np = pytest.importorskip("numpy")

MODELS = TESTS / "models"
WEIGHT = np.array([1.0, 2.0, 3.0], np.float32)


def load(name):
    return jit.load(MODELS / f"{name}.pt2")


def array(*numbers):
    return np.array(numbers, np.float32)


def changed(tmp_path, name, change):
    """The archive again, its program changed, and without the example, which may not fit then."""
    path = tmp_path / f"{name}.pt2"
    with zipfile.ZipFile(MODELS / f"{name}.pt2") as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.namelist():
            contents = old.read(entry)
            if "/sample_inputs/" in entry:
                continue
            if entry.endswith("model.json"):
                program = json.loads(contents)
                change(program["graph_module"]["graph"])
                contents = json.dumps(program)
            new.writestr(entry, contents)
    return path


def node_of(graph, target):
    return next(node for node in graph["nodes"] if node["target"].endswith(target))


def test_X32_cond_is_one_of_two_blocks(tmp_path):
    model = load("cond")
    assert str(model.graph).count("prim::If") == 1
    for x in (array(1, 2, 3), array(-1, -2, 0.5)):
        wanted = np.sin(x * WEIGHT) if x.sum() > 0 else x - 1
        np.testing.assert_allclose(model(x), wanted, rtol=1e-6)
    jit.save(model, tmp_path / "cond")
    again = jit.load(tmp_path / "cond")
    assert again(array(-1, -2, 0)).tolist() == [-2.0, -3.0, -1.0]


def test_X32_a_branch_that_is_taken_gives_gradients():
    model = load("cond")
    (weight,) = model.parameters()
    weight.requires_grad_()
    x = array(1, 2, 3)
    model(x).sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), np.cos(x * WEIGHT) * x, rtol=1e-5)


def test_X32_cond_of_a_size():
    model = load("cond_of_size")
    assert model(array(1, 1, 1, 1)).tolist() == [0.0] * 4
    assert model(array(1, 1, 1, 1, 1)).tolist() == [2.0] * 5


def test_X32_while_loop_is_a_loop():
    model = load("while")
    x = array(1, 2, 3)
    for trips in (0, 1, 5):
        left, product = model(np.array(trips), x)
        assert left.item() == 0
        np.testing.assert_allclose(product, x * 1.5**trips, rtol=1e-6)
    left, product = model(np.array(-2), x)
    assert left.item() == -2 and product.tolist() == [1.0, 2.0, 3.0]


def test_X32_no_gradient_flows_through_a_part_without():
    model = load("no_grad")
    (weight,) = model.parameters()
    weight.requires_grad_()
    x = array(1, 2, 3)
    model(x).backward()
    np.testing.assert_allclose(weight.grad.numpy(), WEIGHT * x, rtol=1e-6)  # not twice that


def test_X32_what_a_program_asserts_is_checked_when_it_runs():
    model = load("item")
    x = array(1, 2, 3)
    assert model(x, np.array(4)).tolist() == [6.0] * 4
    for n in (1, 9, -3):
        with pytest.raises(ValueError, match="Runtime assertion failed for expression u0"):
            model(x, np.array(n))


@pytest.mark.parametrize(
    ("name", "given", "said"), [("min", 5, "below its range"), ("max", 3, "above its range")]
)
def test_X32_a_constrained_range_is_checked_when_it_runs(tmp_path, name, given, said):
    def change(graph):
        at = next(i for i, node in enumerate(graph["nodes"]) if node["target"] == "_operator.ge")
        size = {"name": "size", "arg": {"as_sym_int": {"as_name": "item"}}, "kind": 1}
        bound = {"name": name, "arg": {"as_int": given}, "kind": 2}
        graph["nodes"].insert(at, {
            "target": "torch.ops.aten.sym_constrain_range.default", "inputs": [size, bound],
            "outputs": [], "metadata": {}})  # fmt: skip

    model = jit.load(changed(tmp_path, "item", change))
    with pytest.raises(ValueError, match=said):
        model(array(1, 2, 3), np.array(4))
    assert model(array(1, 2, 3), np.array(given)).tolist() == [6.0] * given


def test_X32_graphs_in_nodes_that_do_not_fit_are_refused(tmp_path):
    def outputs_of_another_number(graph):
        node_of(graph, ".cond")["inputs"][2]["arg"]["as_graph"]["graph"]["outputs"] = []

    def operands_missing(graph):
        node_of(graph, ".cond")["inputs"][3]["arg"]["as_tensors"].pop()

    def no_graph(graph):
        node_of(graph, ".cond")["inputs"][1]["arg"] = {"as_int": 1}

    def other_in_a_branch(graph):
        inner = node_of(graph, ".cond")["inputs"][1]["arg"]["as_graph"]["graph"]
        inner["nodes"][0]["target"] = "torch.ops.other.mul.Tensor"

    for change, error, said in [
        (outputs_of_another_number, NotImplementedError, "give 1 and 0 results"),
        (operands_missing, ValueError, "takes 2 inputs, and 1 are passed"),
        (no_graph, ValueError, 'has no "as_graph"'),
        (other_in_a_branch, NotImplementedError, "other.mul.Tensor, 1 time, .*: is not defined"),
    ]:
        with pytest.raises(error, match=said):
            jit.load(changed(tmp_path, "cond", change))


def test_X32_a_loop_whose_body_gives_another_number_is_refused(tmp_path):
    def change(graph):
        node_of(graph, ".while_loop")["inputs"][1]["arg"]["as_graph"]["graph"]["outputs"].pop()

    with pytest.raises(ValueError, match="takes 3 inputs, and 2 are"):
        jit.load(changed(tmp_path, "while", change))


def test_X32_what_cannot_run_in_blocks_behind_other_refusals_is_listed(tmp_path):
    def change(graph):
        graph["nodes"][0]["target"] = "torch.ops.other.first.default"
        for which in (0, 1):
            inner = node_of(graph, ".while_loop")["inputs"][which]["arg"]["as_graph"]["graph"]
            inner["nodes"][0]["target"] = f"torch.ops.other.inner_{which}.default"

    with pytest.raises(NotImplementedError) as raised:
        jit.load(changed(tmp_path, "while", change))
    text = str(raised.value)
    assert "3 of its operators are not available" in text
    for name in ("first", "inner_0", "inner_1"):
        assert f"torch.ops.other.{name}.default, 1 time" in text


def test_X32_an_unknown_operator_on_graphs_says_which_are_taken(tmp_path):
    def change(graph):
        node_of(graph, ".cond")["target"] = "torch.ops.higher_order.associative_scan"

    with pytest.raises(NotImplementedError, match=r"scan, 1 time.*: of the operators on graphs"):
        jit.load(changed(tmp_path, "cond", change))


def test_X32_a_model_with_blocks_does_not_call_what_is_not_allowed(tmp_path):
    def change(graph):
        inner = node_of(graph, ".cond")["inputs"][1]["arg"]["as_graph"]["graph"]
        inner["nodes"][0]["target"] = "torch.ops.blocks_test.mul.default"

    with opyard.library.Library("blocks_test", "DEF") as library:
        library.define("mul(Tensor self, Tensor other) -> Tensor")
        library.impl("mul", lambda x, y: x * y, "CPU")
        path = changed(tmp_path, "cond", change)
        with pytest.raises(ValueError, match="blocks_test::mul"):
            jit.load(path)
        np.testing.assert_allclose(
            jit.load(path, allowed=["blocks_test::mul"])(array(1, 2, 3)),
            np.sin(array(1, 2, 3) * WEIGHT), rtol=1e-6)  # fmt: skip


# ---- sizes that are computed from others


def doubled(size):
    """One input whose size is an expression, as a program's text has it."""

    def change(graph):
        graph["tensor_values"]["x"]["sizes"][0] = {"as_expr": {"expr_str": size}}

    return change


N = "Symbol('s17', positive=True, integer=True)"


def ones(*sizes):
    return np.ones(sizes, np.float32)


@pytest.mark.parametrize("saved", [False, True])
def test_X32_a_size_that_is_computed_from_others_is_checked(tmp_path, saved):
    model = load("twice")
    if saved:
        jit.save(model, tmp_path / "twice")
        model = jit.load(tmp_path / "twice")
    assert model(ones(6), ones(3)).tolist() == [2.0] * 3
    for x, y, said in [
        (7, 3, r"input %x: size 7 of dimension 0; .* for 2\*s17, which is 6 by the other sizes"),
        (8, 3, "which is 6 by the other sizes"),
        (20, 10, "input %y: size 10 of dimension 0 is out of the range .* 2 to 9"),
        (2, 1, "input %y: size 1 of dimension 0 is out of the range"),
    ]:
        with pytest.raises(ValueError, match=said):
            model(ones(x), ones(y))


def test_X32_a_size_that_only_an_expression_says_is_solved_and_checked(tmp_path):
    def change(graph):  # the sum takes x alone
        doubled(f"Mul(Integer(2), {N})")(graph)
        graph["tensor_values"]["y"]["sizes"][0] = {"as_int": 1}

    model = jit.load(changed(tmp_path, "twice", change))
    assert model(ones(6), ones(1)).tolist() == [2.0] * 3
    for x, said in [
        (7, r"size 7 of dimension 0; .* for 2\*s17, which no s17 makes 7"),
        (20, r"size 20 of dimension 0, which is 2\*s17 with s17 = 10, is out of .* 2 to 9"),
        (2, "with s17 = 1, is out of the range that the model was exported for, 2 to 9"),
    ]:
        with pytest.raises(ValueError, match=said):
            model(ones(x), ones(1))


def test_X32_an_int_that_is_passed_is_checked_and_says_sizes(tmp_path):
    model = load("int_and_size")
    jit.save(model, tmp_path / "saved")
    for each in (model, jit.load(tmp_path / "saved")):
        assert each(ones(6), 3).tolist() == [1.0] * 6
        with pytest.raises(ValueError, match="which is 8 by the other sizes"):
            each(ones(6), 4)
        with pytest.raises(ValueError, match="input %k: 0 is out of the range"):
            each(ones(0), 0)
        with pytest.raises(TypeError, match="input %k must be of type int"):
            each(ones(6), 1.5)


@pytest.mark.parametrize(
    ("size", "takes", "refuses", "text"),
    [
        (f"Add({N}, Integer(3))", 6, 5, r"s17 \+ 3"),
        (f"Add(Mul(Integer(-1), {N}), Integer(9))", 6, 7, r"\(-1\*s17\) \+ 9"),
        (f"FloorDiv(Add({N}, Integer(9)), Integer(2))", 6, 7, r"\(s17 \+ 9\)//2"),
        (f"FloorDiv(Integer(-9), Mul(Integer(-1), {N}))", 3, 2, r"-9//\(-1\*s17\)"),
        (f"PythonMod(Integer(-1), {N})", 2, 1, r"-1%s17"),
        (f"Max({N}, Integer(8))", 8, 3, r"max\(s17, 8\)"),
        (f"Min({N}, Integer(8))", 3, 8, r"min\(s17, 8\)"),
        (f"Pow({N}, Integer(2))", 9, 6, r"s17\*s17"),
    ],
)
def test_X32_each_function_of_sizes_is_computed(tmp_path, size, takes, refuses, text):
    model = jit.load(changed(tmp_path, "twice", doubled(size)))
    jit.save(model, tmp_path / "saved")
    for each in (model, jit.load(tmp_path / "saved")):
        # What is right by the check alone fails later, in the reshape or the sum, or not at all.
        try:
            each(ones(takes), ones(3))
        except ValueError as error:
            assert "was exported for" not in str(error), error
        with pytest.raises(ValueError, match=f"exported for {text}, which is {takes} by"):
            each(ones(refuses), ones(3))


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (f"Mod({N}, Integer(0))", "which is no number by the other sizes"),
        (f"FloorDiv({N}, Integer(0))", "which is no number by the other sizes"),
        (f"Mul({N}, Integer({2**62}))", "which is no number by the other sizes"),
        (f"Add({N}, Integer({2**63 - 1}))", "which is no number by the other sizes"),
        ("FloorDiv(Symbol('u0'), Integer(2))", "cannot be checked: no input says what u0 is"),
        ("Mul(Symbol('u0'), Symbol('u0'))", "cannot be checked: no input says what u0 is"),
        (f"Mul({N}, Add(Symbol('u0'), Symbol('u1')))", "cannot be checked: no input says what"),
        ("Mul(Symbol('u0'), Integer(0))", "cannot be checked: no input says what u0 is"),
        (f"Add(Mul(Integer(-1), Symbol('u0')), Integer({-(2**63)}))", "which no u0 makes 6"),
    ],
)
def test_X32_an_expression_without_a_value_is_an_error_of_the_call(tmp_path, size, said):
    model = jit.load(changed(tmp_path, "twice", doubled(size)))
    with pytest.raises(ValueError, match=said):
        model(ones(6), ones(3))


@pytest.mark.parametrize(
    ("size", "error", "said"),
    [
        ("", ValueError, "is no expression of sizes"),
        ("Integer(x)", ValueError, "is no expression of sizes"),
        (f"Integer({2**63})", ValueError, "is no expression of sizes"),
        ("Integer(2", ValueError, "is no expression of sizes"),
        ("Symbol(n)", ValueError, "is no expression of sizes"),
        ("Integer(2) and more", ValueError, 'is no expression of sizes, from " and more"'),
        ("Add(Integer(2)", ValueError, "is no expression of sizes"),
        ("Add(Integer(2);)", ValueError, "is no expression of sizes"),
        ("Add(Integer(2))", ValueError, "add of 1 sizes"),
        ("FloorDiv(Integer(2), Integer(2), Integer(2))", ValueError, "floordiv of 3 sizes"),
        ("Mul(" * 100_000, ValueError, "is no expression of sizes"),
        ("__import__('os')", NotImplementedError, r'computed by "__import__", which is not read'),
        (f"Pow({N}, Integer(17))", NotImplementedError, "exponents from 2 to 16"),
        (f"Pow(Pow({N}, Integer(16)), Integer(16))", NotImplementedError, "those of one size"),
    ],
)
def test_X32_texts_that_are_no_expressions_are_refused(tmp_path, size, error, said):
    with pytest.raises(error, match="size 0 of input %x") as raised:
        jit.load(changed(tmp_path, "twice", doubled(size)))
    assert re.search(said, str(raised.value)), raised.value


def test_X32_saved_expressions_that_are_none_are_refused(tmp_path):
    path = tmp_path / "saved"
    jit.save(load("twice"), path)
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length])
    for size, said in [
        ([], "is no expression"),
        (["pow", "n", 2], 'computed by "pow", which does not exist'),
        (["mul", "n"], "mul of 1 sizes"),
        (["mod", 1, 2, 3], "mod of 3 sizes"),
        ([1, 2], "is a number, and a string is taken"),
    ]:
        description = json.loads(header["__metadata__"]["opyard.model"])
        description["inputs"][0]["sizes"] = [size]
        text = {**header["__metadata__"], "opyard.model": json.dumps(description)}
        bad = json.dumps({**header, "__metadata__": text}).encode()
        path.write_bytes(struct.pack("<Q", len(bad)) + bad + whole[8 + length :])
        with pytest.raises(ValueError, match=said):
            jit.load(path)


def test_X32_a_detach_in_place_is_taken_of_constants_alone(tmp_path):
    def calls(name):
        def change(graph):
            (node,) = (one for one in graph["nodes"] if one["target"].endswith("sin.default"))
            node["target"] = f"torch.ops.aten.{name}.default"

        return lambda graph: [change(branch) for branch in inner(graph) if has_sin(branch)]

    def inner(graph):
        parts = [one["arg"] for node in graph["nodes"] for one in node["inputs"]]
        return [part["as_graph"]["graph"] for part in parts if "as_graph" in part]

    def has_sin(graph):
        return any(node["target"].endswith("sin.default") for node in graph["nodes"])

    model = jit.load(changed(tmp_path, "cond", calls("lift_fresh_copy")))
    assert "aten::clone" in str(model.graph)
    with pytest.raises(NotImplementedError, match="detach_.*no constant of forward"):
        jit.load(changed(tmp_path, "cond", calls("detach_")))


def test_X32_a_scan_is_a_loop(tmp_path):
    model = load("scan")
    assert str(model.graph).count("prim::Loop") == 1
    start = array(1, 0, -1)
    steps = np.arange(12, dtype=np.float32).reshape(4, 3)
    sums = start + np.vstack([np.zeros(3, np.float32), steps]).cumsum(0)
    jit.save(model, tmp_path / "scan")
    for each in (model, jit.load(tmp_path / "scan")):
        last, products = each(start, steps)
        np.testing.assert_allclose(last, sums[-1])
        np.testing.assert_allclose(products, sums[:-1] * steps)


def test_X32_gradients_flow_through_a_scan():
    start = opyard.tensor([1.0, 0.0, -1.0], requires_grad=True)
    last, products = load("scan")(start, opyard.ones([4, 3]))
    (last.sum() + products.sum()).backward()
    assert start.grad.tolist() == [5.0, 5.0, 5.0]


def test_X32_a_map_is_a_loop():
    model = load("map")
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    given = model(rows, WEIGHT)
    given = given[0] if isinstance(given, tuple | list) else given
    np.testing.assert_allclose(given, np.sin(rows + WEIGHT), rtol=1e-6)


class Fields:
    def __init__(self, first, last):
        self.first, self.last = first, last


def test_X32_registered_classes_are_dicts_by_their_fields():
    x, y = array(1, 2, 3), array(4, 5, 6)
    model = load("classes")
    for fields in ({"first": x, "last": y}, Fields(x, y)):
        first, pair, output, several, other = model(fields, (x, y))
        assert list(first) == ["first", "last"] and first["last"].tolist() == [8.0, 10.0, 12.0]
        assert type(pair) is tuple and pair[1].tolist() == [12.0, 15.0, 18.0]
        assert output["loss"].item() == 6.0 and output["scores"][0].tolist() == [0.0, 1.0, 2.0]
        assert type(several) is tuple and several[0].tolist() == [8.0, 9.0, 10.0]
        assert list(other) == ["z"] and other["z"].tolist() == [36.0, 45.0, 54.0]
    with pytest.raises(TypeError, match="is a dict, and int was given"):
        model(5, (x, y))
