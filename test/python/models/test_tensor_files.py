"""Protects opyard.save() and opyard.load(): round trips, files that stay, and refused values.

Suspect models/python/opyard/_files/tensor_files.py, models/src/files/.
"""

import json
import os
import struct

import pytest

import opyard

np = pytest.importorskip("numpy")


def file_of(tmp_path, header, data=b"", *, length=None):
    """A file with this header, a dict or raw bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def entry(begin=0, end=8, shape=(2,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def test_what_is_saved_is_loaded_in_order_with_names_sizes_and_dtypes(tmp_path):
    path = tmp_path / "state.safetensors"
    state = {
        "layer.weight": opyard.tensor([[1.0, -2.5], [float("inf"), 0.0]]),
        'ü "quoted" \\ \n': opyard.tensor([], dtype=opyard.float32),
        "scalar": opyard.tensor(3.5),
    }
    opyard.save(state, path)
    loaded = opyard.load(path)
    assert list(loaded) == list(state)
    for name, tensor in state.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].shape == tensor.shape
        np.testing.assert_array_equal(loaded[name].numpy(), tensor.numpy())


@pytest.mark.parametrize(
    "dtype",
    "uint8 int8 int16 int32 int64 float16 float32 float64 bool complex64".split(),
)
def test_every_dtype_keeps_its_bytes(tmp_path, dtype):
    values = np.arange(6).reshape(2, 3).astype(dtype)
    opyard.save({"x": values, "flag": np.array([True])}, tmp_path / "x")
    loaded = opyard.load(str(tmp_path / "x"))["x"].numpy()
    assert loaded.dtype == values.dtype and loaded.tobytes() == values.tobytes()


def test_a_strided_tensor_is_written_row_major(tmp_path):
    x = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    opyard.save({"t": x.t(), "row": x[1]}, tmp_path / "x")
    loaded = opyard.load(tmp_path / "x")
    assert loaded["t"].tolist() == [[1.0, 3.0], [2.0, 4.0]] and loaded["t"].is_contiguous()
    assert loaded["row"].tolist() == [3.0, 4.0]


@pytest.mark.parametrize("mapped", [False, True])
def test_writing_a_loaded_tensor_leaves_the_file_and_other_loads(tmp_path, mapped):
    path = tmp_path / "x"
    opyard.save({"x": opyard.tensor([1.0, 2.0])}, path)
    before = path.read_bytes()
    first, second = (opyard.load(path, mapped=mapped)["x"] for _ in range(2))
    first.mul_(10)
    assert first.tolist() == [10.0, 20.0] and second.tolist() == [1.0, 2.0]
    assert path.read_bytes() == before


@pytest.mark.parametrize("mapped", [False, True])
def test_a_file_can_be_saved_over_while_its_tensors_live(tmp_path, mapped):
    path = tmp_path / "x"
    opyard.save({"x": opyard.tensor([1.0, 2.0])}, path)
    old = opyard.load(path, mapped=mapped)["x"]
    opyard.save({"x": old + 1, "old": old}, path)
    assert old.tolist() == [1.0, 2.0]
    assert {name: each.tolist() for name, each in opyard.load(path).items()} == {
        "x": [2.0, 3.0],
        "old": [1.0, 2.0],
    }
    assert os.listdir(tmp_path) == ["x"]


CUT = """
import os, sys
import opyard

path, way = sys.argv[1:]
if way == "tensors":
    opyard.save({"x": opyard.ones(300_000)}, path)
    x = opyard.load(path)["x"]
else:
    weights = opyard.jit.trace(lambda x: x + opyard.ones(300_000), (opyard.zeros(1),))
    opyard.jit.save(weights.graph, path)
    x = opyard.jit.load(path)
os.truncate(path, 0)
print((x if way == "tensors" else x(opyard.zeros(1))).sum().item())
"""


@pytest.mark.parametrize("way", ["tensors", "a model"])
def test_a_file_that_is_cut_later_leaves_what_was_loaded(tmp_path, run_program, way):
    done = run_program(CUT, tmp_path / "x", way)
    assert (done.returncode, done.stdout, done.stderr) == (0, "300000.0\n", "")


def test_a_mapped_file_is_read_when_it_is_used(tmp_path):
    path = tmp_path / "x"
    opyard.save({"x": opyard.zeros(300_000)}, path)
    read, mapped = opyard.load(path)["x"], opyard.load(path, mapped=True)["x"]
    with open(path, "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(struct.pack("<f", 7.0))
    assert mapped[-1].item() == 7.0 and read[-1].item() == 0.0


def test_a_large_file_is_whole(tmp_path):
    """Larger than the pieces that are read at once."""
    path = tmp_path / "x"
    opyard.save({"x": opyard.ops.aten.arange(5_000_000, dtype=opyard.int64)}, path)
    loaded = opyard.load(path)["x"]
    assert loaded[-1].item() == 4_999_999 and loaded[2_097_152].item() == 2_097_152


def test_elements_at_odd_addresses_are_copied(tmp_path):
    header = json.dumps({"x": entry()}).encode()
    padded = header + b" " * (3 + (8 - len(header)) % 8)  # data at 3 bytes behind a multiple of 8
    path = file_of(tmp_path, padded, struct.pack("<2f", 1.5, 2.5))
    assert opyard.load(path)["x"].tolist() == [1.5, 2.5]


def test_the_tools_of_others_read_and_write_the_same_files(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    state = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2], dtype=np.int8)}
    opyard.save(state, tmp_path / "ours")
    theirs = safetensors.load_file(tmp_path / "ours")
    safetensors.save_file(state, tmp_path / "theirs", metadata={"format": "np"})
    ours = opyard.load(tmp_path / "theirs")
    for name, values in state.items():
        np.testing.assert_array_equal(theirs[name], values)
        np.testing.assert_array_equal(ours[name].numpy(), values)


FLOATS = struct.pack("<4f", 1, 2, 3, 4)
NESTED = b'{"x":' * 10_000 + b"1" + b"}" * 10_000
TWICE = b'{"x":%s,"x":%s}' % (json.dumps(entry()).encode(), json.dumps(entry(8, 16)).encode())


@pytest.mark.parametrize(
    ("header", "data", "length", "said"),
    [
        ({"x": entry(), "y": entry(4, 12)}, FLOATS[:12], None, 'tensor "y" at byte 4 overlaps'),
        ({"x": entry(), "y": entry()}, FLOATS[:8], None, "overlaps the one before it"),
        ({"x": entry(8, 16)}, FLOATS, None, "bytes 0 to 8 belong to no tensor"),
        ({"x": entry()}, FLOATS, None, "bytes 8 to 16 belong to no tensor"),
        ({"x": entry(0, 16, (4,))}, FLOATS[:12], None, "is at bytes 0 to 16, and the data of"),
        ({"x": entry(8, 0)}, FLOATS[:8], None, "is at bytes 8 to 0"),
        ({"x": entry(-8, 0)}, FLOATS[:8], None, "is at bytes -8 to 0"),
        ({"x": entry(shape=(3,))}, FLOATS[:8], None, "has 12 bytes, and its place has 8"),
        ({"x": entry(shape=(-2, -1))}, FLOATS[:8], None, "has the size -2"),
        ({"x": entry(0, 0, (2**62, 2**62, 0))}, b"", None, "does not fit 64 bits"),
        ({"x": entry(shape=(2**64,))}, FLOATS[:8], None, "a size is"),
        ({"x": entry(shape=(2.0,))}, FLOATS[:8], None, "is a number, and an integer is taken"),
        ({"x": entry(dtype="F3")}, FLOATS[:8], None, 'dtype "F3", which does not exist here'),
        ({"x": entry(0, 2, (2,), "BOOL")}, b"\1\2", None, "dtype bool has the byte 2 at 1"),
        ({"x": {"dtype": "F32", "shape": [2]}}, FLOATS[:8], None, 'has no "data_offsets"'),
        ({"x": {**entry(), "more": 1}}, FLOATS[:8], None, 'has a member "more"'),
        ({"x": {**entry(), "data_offsets": [8]}}, FLOATS[:8], None, "has 1 data_offsets"),
        ({"x": 1}, FLOATS[:8], None, "is a number, and an object is taken"),
        ({"__metadata__": {"a": 1}}, b"", None, "__metadata__"),
        ([], b"", None, "is an array, and an object is taken"),
        (TWICE, FLOATS, None, 'has the name "x" twice'),
        (NESTED, b"", None, "is nested deeper than 64 levels"),
        (b"[" * 5_000_000, b"", None, "is nested deeper than 64 levels"),
        (b'{"x": ', b"", None, "is no JSON: byte"),
        (b'{"x\xff": 1}', b"", None, "is no JSON: byte"),
        (b"", b"", None, "is no JSON"),
        ({}, b"", 1000, "is cut: its header has 1000 bytes, and behind the length are 2"),
        ({}, b"", 2**63, "a header of 9223372036854775808 bytes"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path, header, data, length, said):
    path = file_of(tmp_path, header, data, length=length)
    with pytest.raises(ValueError) as raised:
        opyard.load(path)
    assert said in str(raised.value) and str(path) in str(raised.value)


def test_every_cut_of_a_file_is_refused(tmp_path):
    path = tmp_path / "x"
    opyard.save({"x": opyard.tensor([1.0, 2.0]), "y": opyard.tensor([3])}, path)
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(ValueError):
            opyard.load(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        opyard.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        opyard.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is no plain file"):
        opyard.load(tmp_path / "pipe")
    with pytest.raises(ValueError, match="no zero byte"):
        opyard.load("a\0b")


def test_what_cannot_be_saved_is_refused_and_leaves_the_file(tmp_path):
    path = tmp_path / "x"
    opyard.save({"x": opyard.tensor([1.0])}, path)
    before = path.read_bytes()
    x = opyard.tensor([1.0])
    for state, error, said in [
        ({"x": 3}, TypeError, 'the value of "x"'),
        ({1: x}, TypeError, "names of tensors must be str, not int"),
        ([x], TypeError, "takes a dict"),
        ({"__metadata__": x}, ValueError, "__metadata__"),
        ({"x": np.zeros(2, np.complex128)}, NotImplementedError, "complex128"),
    ]:
        with pytest.raises(error, match=said):
            opyard.save(state, path)
    with pytest.raises(OSError, match="No such file"):
        opyard.save({"x": x}, tmp_path / "no" / "folder")
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x"]
