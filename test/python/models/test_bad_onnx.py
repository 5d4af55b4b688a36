"""Protects opyard.jit.load() from bad ONNX files: cut, changed, deep, huge, with data elsewhere.

Also what such a file is told that cannot run. The files are written by onnx_bytes.py. Suspect
models/python/opyard/_onnx/wire.py, messages.py, tensors.py and refusals.py.
"""

import os
import random

import onnx_bytes as ox
import pytest

import opyard
from opyard import jit
from opyard.library import Library

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")
X = np.array([1.0, -2.0], np.float32)
PLACES = [ox.value("x", dims=(2,))], [ox.value("y", dims=(2,))]


def load(tmp_path, data, **options):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    return jit.load(path, **options)


def small(**more):
    """A file with a weight, a node and an attribute."""
    weights = [ox.floats("w", (2,), [1.0, 2.0])]
    nodes = [ox.node("LeakyRelu", ["x"], ["h"], alpha=0.5), ox.node("Add", ["h", "w"], ["y"])]
    return ox.model(nodes, *PLACES, weights, **more)


# ---- bytes


def test_X32_a_file_that_is_cut_anywhere_is_refused(tmp_path):
    data = small()
    assert load(tmp_path, data)(X).tolist() == [2.0, 1.0]
    for length in range(len(data)):
        try:
            load(tmp_path, data[:length])
        except (ValueError, NotImplementedError):
            continue
        # What is left out at the end may be the versions, or whole fields.
        assert length > len(data) // 2


def test_X32_changed_bytes_raise_no_other_errors(tmp_path):
    drawn = random.Random(5)
    data = small()
    for _ in range(400):
        changed = bytearray(data)
        for _ in range(drawn.randint(1, 4)):
            changed[drawn.randrange(len(changed))] = drawn.randrange(256)
        try:
            load(tmp_path, bytes(changed))
        except (ValueError, NotImplementedError):
            pass


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it has no graph and no version: it is no ONNX model"),
        (b"\x08", "a number at byte 1 of a message of 1 bytes does not end"),
        (b"\x3a\xff\xff\xff\x7f", "field 7 has 268435455 bytes, and 0 are left: the file is cut"),
        (b"\x0b", "field 1 has kind 3, and kinds are 0, 1, 2 and 5"),
        (b"\x00\x00", "there is no field with the number 0"),
        (b"\x3d\0\0\0\0", "graph of a model is no graph"),
        (ox.field(2, b"\xff"), "producer of a model is no text in UTF-8"),
    ],
)
def test_X32_bytes_that_are_no_messages_are_named(tmp_path, data, said):
    with pytest.raises(ValueError, match="is no ONNX model that can be read: ") as caught:
        load(tmp_path, data)
    assert str(caught.value).endswith(said)


def test_X32_graphs_in_graphs_have_a_depth(tmp_path):
    inner = ox.graph([], [], [])
    for _ in range(40):
        inner = ox.graph([ox.node("If", ["x"], ["y"], then_branch=(inner,))], [], [])
    with pytest.raises(ValueError, match="nested more than 48 deep"):
        load(tmp_path, ox.message({1: 10, 7: inner, 8: [ox.message({2: 21})]}))


def test_X32_functions_that_call_each_other_have_a_depth_and_a_count(tmp_path):
    def function(name, *calls):
        nodes = [ox.node(each, ["v"], ["r"], domain="d") for each in calls]
        opsets = [ox.message({2: 21}), ox.message({1: "d", 2: 1})]
        return ox.message({1: name, 4: ["v"], 5: ["r"], 7: nodes, 9: opsets, 10: "d"})

    nodes = [ox.node("f", ["x"], ["y"], domain="d")]
    with pytest.raises(ValueError, match="more than 32 deep"):
        load(tmp_path, ox.model(nodes, *PLACES, functions=[function("f", "f")], domains=["d"]))


def test_X32_a_file_of_two_gigabytes_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.onnx"
    with open(path, "wb") as file:
        os.truncate(file.fileno(), 1 << 31)
    with pytest.raises(ValueError, match="2147483648 bytes, and an ONNX file has at most 2147"):
        jit.load(path)


# ---- tensors


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (ox.tensor("w", 1, (3,), b"\0" * 8), 'weight "w" has 8 bytes, and [3] of float has 12'),
        (ox.tensor("w", 1, (-1,), b""), 'weight "w" has the sizes [-1]'),
        (ox.tensor("w", 1, (1 << 30, 1 << 30), b""), "has the sizes [1073741824, 1073741824]"),
        (ox.tensor("w", 1, (2,), None, field4=[1.0]), "has 1 numbers, and its sizes say 2"),
        (ox.tensor("w", 8, (1,), None), 'weight "w" has strings, and tensors of numbers are read'),
        (ox.tensor("w", 99, (1,), b"\0"), 'weight "w" has elements of type 99'),
        (ox.tensor("w", 3, (1,), None, field5=[300]), "out of the range of int8"),
    ],
)
def test_X32_weights_that_do_not_fit_are_named(tmp_path, weight, said):
    nodes = [ox.node("Add", ["x", "w"], ["y"])]
    with pytest.raises(ValueError) as caught:
        load(tmp_path, ox.model(nodes, *PLACES, [weight]))
    assert said in str(caught.value)


def external(location, **more):
    entries = {"location": location, **{key: str(value) for key, value in more.items()}}
    made = [ox.message({1: key, 2: value}) for key, value in entries.items()]
    return ox.tensor("w", 1, (2,), None, field13=made, field14=1)


def test_X32_external_data_is_read_from_the_folder_of_the_file(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(b"....." + X.tobytes())
    nodes = [ox.node("Add", ["x", "w"], ["y"])]
    data = ox.model(nodes, *PLACES, [external("data/w.bin", offset=5, length=8)])
    assert load(tmp_path, data)(X).tolist() == [2.0, -4.0]


@pytest.mark.parametrize(
    "location", ["../w.bin", "/etc/passwd", "", "link/w.bin", "data/../../w.bin"]
)
def test_X32_external_data_elsewhere_is_refused(tmp_path, location):
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    (tmp_path / "w.bin").write_bytes(X.tobytes())
    (home / "link").symlink_to(tmp_path)
    data = ox.model([ox.node("Add", ["x", "w"], ["y"])], *PLACES, [external(location)])
    with pytest.raises(ValueError, match="outside the folder of the model"):
        load(home, data)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"offset": 4, "length": 8}, "has 8 bytes at 4 of 'w.bin', which has 8 bytes"),
        ({"offset": -1}, "has 9 bytes at -1 of 'w.bin'"),
        ({"offset": "x"}, "offset or length of its external data is no number"),
        ({"length": 4}, "has 4 bytes, and [2] of float has 8"),
    ],
)
def test_X32_external_data_that_does_not_fit_is_refused(tmp_path, more, said):
    (tmp_path / "w.bin").write_bytes(X.tobytes())
    data = ox.model([ox.node("Add", ["x", "w"], ["y"])], *PLACES, [external("w.bin", **more)])
    with pytest.raises(ValueError) as caught:
        load(tmp_path, data)
    assert said in str(caught.value)


# ---- what cannot run


def test_X32_operators_that_are_not_here_are_one_list_and_the_lines_that_add_one_work(tmp_path):
    nodes = [
        ox.node("Halve", ["x"], ["a"], name="first", domain="shop.math", by=4.0),
        ox.node("Halve", ["a"], ["b"], domain="shop.math"),
        ox.node("SequenceConstruct", ["b"], ["s"], name="seq"),
        ox.node("Unheard", ["b"], ["y"]),
    ]
    with pytest.raises(NotImplementedError) as caught:
        load(tmp_path, ox.model(nodes, *PLACES, domains=["shop.math"]))
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("model.onnx cannot run here: 1 of its operators is not available")
    assert lines[1].strip() == (
        'shop.math.Halve, 1 time, first at node "first": there is no operator shop_math::Halve'
    )
    lib = Library("shop_math", "FRAGMENT")
    lib.composite("Halve(Tensor x, *, float by=2.0) -> Tensor", "x / by")
    with pytest.raises(NotImplementedError) as caught:
        load(tmp_path, ox.model(nodes, *PLACES, domains=["shop.math"]), allowed="shop_math::Halve")
    said = str(caught.value)
    assert 'SequenceConstruct, 1 time, first at node "seq": sequences, maps and optional' in said
    assert "Unheard, 1 time, first at the node of ['y']: there is no operator onnx::Unheard" in said
    assert 'lib = Library("onnx", "FRAGMENT")  # keep it' in said
    model = load(
        tmp_path,
        ox.model([*nodes[:1], ox.node("Neg", ["a"], ["y"])], *PLACES, domains=["shop.math"]),
        allowed="shop_math::Halve",
    )
    assert model(X).tolist() == [-0.25, 0.5]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (small(version=5), "has version 5 of the operator set, and versions 6 to 28 are read"),
        (small(version=99), "has version 99 of the operator set"),
        (
            ox.model([ox.node("Identity", ["x"], ["y"])], [ox.value("x", ox.STRING)], PLACES[1]),
            'input "x" has texts, and tensors of numbers are read',
        ),
        (
            ox.model(
                [ox.node("Identity", ["x"], ["y"])],
                [ox.message({1: "x", 2: ox.message({4: b""})})],
                PLACES[1],
            ),
            'input "x" is of the kind sequence, and tensors are read',
        ),
    ],
)
def test_X32_what_is_not_read_is_named(tmp_path, data, said):
    with pytest.raises(NotImplementedError) as caught:
        load(tmp_path, data)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (ox.node("Add", ["x", "z"], ["y"]), '"z" is used, and nothing before computes it'),
        (ox.node("Add", ["x"], ["y"]), "Add has no input b, which it needs"),
        (ox.node("Concat", ["x"], ["y"], name="c"), 'Concat "c" has no attribute axis'),
        (ox.node("Relu", ["x"], ["y"], name="r") + ox.field(5, b"\x0a\x01k"), None),
        (ox.node("LeakyRelu", ["x"], ["y"], alpha="a"), "attribute alpha is 'a', no float"),
        (
            ox.node("Transpose", ["x"], ["y"], perm=1.5),
            "Transpose is not of the form that ONNX",
        ),
    ],
)
def test_X32_nodes_of_another_form_are_named(tmp_path, node, said):
    data = ox.model([node], *PLACES)
    if said is None:  # an attribute that no one reads
        assert load(tmp_path, data)(X).tolist() == [1.0, 0.0]
        return
    with pytest.raises(ValueError) as caught:
        load(tmp_path, data)
    assert said in str(caught.value)


def test_X32_a_stranger_calls_nothing_but_aten_and_what_is_allowed(tmp_path):
    lib = Library("onnx", "FRAGMENT")
    lib.composite("Danger(Tensor x) -> Tensor", "x")
    data = ox.model([ox.node("Danger", ["x"], ["y"])], *PLACES)
    with pytest.raises(NotImplementedError, match="there is no operator onnx::Danger"):
        load(tmp_path, data)
    assert load(tmp_path, data, allowed=opyard.ops.onnx.Danger)(X).tolist() == X.tolist()
