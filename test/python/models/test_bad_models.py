"""Protects opyard.jit.load() from bad files: cut, changed, packed otherwise, or of no form.

What is bad is made of examples/exported/model.pt2. Suspect models/src/exported/checks.cpp and
zip.cpp, models/src/files/ for our own form.
"""

import json
import struct
import zipfile

import pytest
from built import TESTS
from exported_model import MODEL, PROGRAM, archive
from test_models import check

import opyard
from opyard import jit

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")
FORMATS = [TESTS / "models" / f"format_{number}.safetensors" for number in (1, 2)]
X = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 0.25, 1.0]], np.float32)


# ---- bad archives


def program(change):
    with zipfile.ZipFile(MODEL) as old:
        contents = json.loads(old.read(PROGRAM))
    change(contents)
    return {PROGRAM: json.dumps(contents)}


def weights(change):
    name = "model/data/weights/model_weights_config.json"
    with zipfile.ZipFile(MODEL) as old:
        contents = json.loads(old.read(name))
    change(contents["config"]["out.weight"])
    return {name: json.dumps(contents)}


def set_in(*path):
    *way, last, value = path

    def change(contents):
        for step in way:
            contents = contents[step]
        contents[last] = value

    return change


NODES = ("graph_module", "graph", "nodes")
SIZES = ("tensor_meta", "sizes")


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({PROGRAM: None}, NotImplementedError, "holds no program"),
        ({"model/archive_format": None}, NotImplementedError, "no program of torch.export.save"),
        ({"model/archive_version": "7"}, NotImplementedError, 'version "7", and version 0 is read'),
        ({"model/byteorder": "big"}, NotImplementedError, "another order of bytes"),
        (program(set_in("schema_version", "major", 9)), NotImplementedError, "schema version 9"),
        ({PROGRAM: "{"}, ValueError, "is no JSON"),
        ({PROGRAM: "[" * 10_000}, ValueError, "nested deeper than 64"),
        ({PROGRAM: "{}"}, ValueError, 'has no "schema_version"'),
        (program(set_in(*NODES, 3)), ValueError, "is a number, and an array is taken"),
        (program(set_in(*NODES, [])), ValueError, "before it is defined"),
        (program(set_in(*NODES, 1, "inputs", 0, "arg", {"as_tensor": {"name": "later"}})),
         ValueError, '"later" before it is defined'),
        (program(set_in("graph_module", "signature", "input_specs", 0, {"token": {}})),
         ValueError, "before it is defined|cannot run"),
        (weights(set_in(*SIZES, 0, "as_int", 2**40)), ValueError, "needs .* elements, and its"),
        (weights(set_in(*SIZES, 0, "as_int", -3)), ValueError, "has the size -3"),
        (weights(set_in(*SIZES, 0, "as_int", 2**63)), ValueError, "does not fit 64 bits"),
        (weights(set_in("tensor_meta", "strides", 0, "as_int", -1)), ValueError, "stride -1"),
        (weights(set_in("tensor_meta", "strides", [])), ValueError, "2 sizes and 0 strides"),
        (weights(set_in("tensor_meta", "storage_offset", "as_int", 1)), ValueError, "needs 24"),
        (weights(set_in("tensor_meta", "storage_offset", "as_int", -1)), ValueError, "begins at"),
        (weights(set_in("tensor_meta", "dtype", 99)), NotImplementedError, "number 99"),
        (weights(set_in("tensor_meta", "device", "type", "cuda")), NotImplementedError, "cuda"),
        (weights(set_in("use_pickle", True)), NotImplementedError, "pickles are not read"),
        (weights(set_in("path_name", "../../secret")), ValueError, "has no entry"),
        ({"model/data/weights/weight_2": b""}, ValueError, "bytes have 0"),
    ],
)  # fmt: skip
def test_X32_bad_archives_say_what_is_wrong(tmp_path, changes, error, said):
    path = archive(tmp_path, changes)
    with pytest.raises(error, match=said) as raised:
        jit.load(path)
    assert str(path) in str(raised.value)


def test_X32_what_cannot_run_is_named_in_one_list(tmp_path):
    def change(contents):
        nodes = contents["graph_module"]["graph"]["nodes"]
        for node in nodes:
            if node["target"] == "torch.ops.aten.linear.default":
                node["target"] = "torch.ops.other.linear.default"
            if node["target"] == "torch.ops.aten.tanh.default":
                node["target"] = "torch.ops.higher_order.associative_scan"

    with pytest.raises(NotImplementedError) as raised:
        jit.load(archive(tmp_path, program(change)))
    text = str(raised.value)
    assert "cannot run here: 2 of its operators are not available" in text, text
    assert "torch.ops.other.linear.default, 2 times, first at " in text
    assert "torch.ops.higher_order.associative_scan, 1 time, first at export.py:" in text


def test_X32_compressed_paths_that_leave_and_double_entries_are_refused(tmp_path):
    for options, error, said in [
        ({"compression": zipfile.ZIP_DEFLATED}, NotImplementedError, "is compressed"),
        ({"extra": ["../x"]}, ValueError, "leads out of the archive"),
        ({"extra": ["/etc/x"]}, ValueError, "leads out of the archive"),
        ({"extra": ["a/../../x"]}, ValueError, "leads out of the archive"),
        ({"extra": ["model/models/second.json"]}, NotImplementedError, "holds several programs"),
    ]:
        with pytest.raises(error, match=said):
            jit.load(archive(tmp_path, **options))
    with pytest.warns(UserWarning, match="Duplicate"):
        path = archive(tmp_path, extra=["model/byteorder"])
    with pytest.raises(ValueError, match="twice"):
        jit.load(path)


def directory_of(archive_bytes):
    """Where the entries of the archive's directory begin, by name."""
    at, places = struct.unpack("<I", archive_bytes[-6:-2])[0], {}
    while archive_bytes[at : at + 4] == b"PK\x01\x02":
        lengths = struct.unpack("<3H", archive_bytes[at + 28 : at + 34])
        places[archive_bytes[at + 46 : at + 46 + lengths[0]].decode()] = at
        at += 46 + sum(lengths)
    return places


ENTRY = "model/data/weights/weight_0"
OTHER = "model/data/weights/weight_1"


def field(offset, form, value):
    """A change of one number in an entry of the archive's directory."""
    return lambda whole, at: struct.pack_into(form, whole, at + offset, value)


def at_the_place_of_another(whole, at):
    place = directory_of(bytes(whole))[OTHER]
    whole[at + 42 : at + 46] = whole[place + 42 : place + 46]


def another_name_in_front(whole, at):
    (local,) = struct.unpack_from("<I", whole, at + 42)
    whole[local + 30 : local + 31] = b"X"


def overlapping(whole, at):
    """The entry begins earlier than it does: its bytes run into the next one's."""
    (size,) = struct.unpack_from("<I", whole, at + 24)
    struct.pack_into("<II", whole, at + 20, size + 400, size + 400)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (field(8, "<H", 1), NotImplementedError, "entry .*weight_0 is encrypted"),
        (field(24, "<I", 2**32 - 1), NotImplementedError, "weight_0 is above 4 GB"),
        (field(42, "<I", 2**32 - 1), NotImplementedError, "weight_0 is above 4 GB"),
        (field(20, "<I", 5), ValueError, "weight_0 has 128 bytes, and 5 in the archive"),
        (field(42, "<I", 3), ValueError, "weight_0 is not where the directory says"),
        (field(42, "<I", 2**31), ValueError, "is cut: the archive's directory leaves the file"),
        (field(28, "<H", 2**16 - 1), ValueError, "is cut: an entry of the archive leaves the file"),
        (field(16, "<I", 7), ValueError, "weight_0 has another checksum"),
        (at_the_place_of_another, ValueError, "weight_0 has another name at its place"),
        (another_name_in_front, ValueError, "weight_0 has another name at its place"),
        (overlapping, ValueError, "entries of the archive overlap at byte"),
    ],
)
def test_X32_entries_that_are_not_what_the_directory_says_are_refused(
    tmp_path, change, error, said
):
    whole = bytearray(MODEL.read_bytes())
    change(whole, directory_of(bytes(whole))[ENTRY])
    path = tmp_path / "changed.pt2"
    path.write_bytes(whole)
    with pytest.raises(error, match=said) as raised:
        jit.load(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("offset", "form", "value", "error", "said"),
    [
        (10, "<H", 2**16 - 1, NotImplementedError, "above 4 GB, or of 65,535 entries"),
        (16, "<I", 2**32 - 1, NotImplementedError, "above 4 GB, or of 65,535 entries"),
        (16, "<I", 2**31, ValueError, "the archive's directory leaves the file"),
        (10, "<H", 200, ValueError, "the archive's directory has 200 entries, and "),
    ],
)
def test_X32_directories_of_archives_that_are_not_there_are_refused(
    tmp_path, offset, form, value, error, said
):
    whole = bytearray(MODEL.read_bytes())
    struct.pack_into(form, whole, len(whole) - 22 + offset, value)
    path = tmp_path / "changed.pt2"
    path.write_bytes(whole)
    with pytest.raises(error, match=said):
        jit.load(path)


def test_X32_a_cut_or_changed_archive_is_refused(tmp_path):
    whole = MODEL.read_bytes()
    path = tmp_path / "cut.pt2"
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        with pytest.raises((ValueError, NotImplementedError)):
            jit.load(path)
    with zipfile.ZipFile(MODEL) as old:
        entry = old.getinfo("model/data/weights/weight_0")
    at = whole.index(old_bytes(entry))
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(ValueError, match="another checksum"):
        jit.load(path)


def old_bytes(entry):
    with zipfile.ZipFile(MODEL) as old:
        return old.read(entry.filename)


def test_X32_no_change_of_a_byte_ends_the_process(tmp_path):
    random = np.random.default_rng(3)
    whole = np.frombuffer(MODEL.read_bytes(), np.uint8)
    path = tmp_path / "changed.pt2"
    refused = 0
    for _ in range(300):
        changed = whole.copy()
        changed[random.integers(0, len(whole), 3)] = random.integers(0, 256, 3)
        path.write_bytes(changed.tobytes())
        try:
            jit.load(path)
        except (ValueError, NotImplementedError):
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("shift", range(8))
@pytest.mark.parametrize("mapped", [False, True])
def test_X32_an_archive_that_was_zipped_again_is_read(tmp_path, shift, mapped):
    path = tmp_path / ("zipped" + "x" * shift)
    with zipfile.ZipFile(MODEL) as old, zipfile.ZipFile(path, "w") as new:
        new.writestr("model/" + "x" * shift, b"")
        for name in old.namelist():
            new.writestr(name, old.read(name))
    model = jit.load(path, mapped=mapped)
    check(model)
    args, kwargs = model.example_inputs
    assert args[0].tolist() == jit.load(MODEL).example_inputs[0][0].tolist()


def test_weights_on_one_entry_share_it_in_an_archive_that_was_zipped_again(tmp_path):
    with zipfile.ZipFile(MODEL) as old:
        name = "model/data/weights/model_weights_config.json"
        config = json.loads(old.read(name))
        whole = config["config"]["hidden.weight"]
        part = json.loads(json.dumps(whole))
        bias = config["config"]["hidden.bias"]["tensor_meta"]
        part["tensor_meta"].update({key: bias[key] for key in ("sizes", "strides")})
        config["config"]["hidden.bias"] = part
        for shift in range(8):
            path = tmp_path / str(shift)
            with zipfile.ZipFile(path, "w") as new:
                new.writestr("model/" + "x" * shift, b"")
                for each in old.namelist():
                    new.writestr(each, json.dumps(config) if each == name else old.read(each))
            tensors = jit.load(path).state_dict()
            tensors["hidden.weight"].fill_(7.0)
            assert set(tensors["hidden.bias"].tolist()) == {7.0}


def state(names):
    """A change of what the description of a file says of the weights."""
    return set_in("__metadata__", "opyard.model", json.dumps({"state": names}))


def test_bad_files_of_our_own_form(tmp_path):
    path = tmp_path / "x"
    opyard.save({"x": opyard.tensor([1.0])}, path)
    with pytest.raises(ValueError, match="holds tensors, and no model"):
        jit.load(path)
    whole = FORMATS[-1].read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    for change, error, said in [
        (set_in("__metadata__", "opyard.format", "4"), NotImplementedError, 'format "4", and'),
        (set_in("__metadata__", "opyard.graph", "graph("), ValueError, "expected a value"),
        (set_in("__metadata__", "opyard.model", "{}"), ValueError, 'has no "state"'),
        (state([["calls", False], ["w", True, "none"]]), ValueError, 'has no tensor "none"'),
        (state([["calls", False, "calls"]]), ValueError, "is the tensor of another name"),
        (state([["calls"]]), ValueError, "no name and kind"),
        (set_in("__metadata__", "opyard.graph", "graph():\n  return ()"), ValueError, "0 inputs"),
    ]:
        changed = json.loads(json.dumps(header))
        change(changed)
        text = json.dumps(changed).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)
        with pytest.raises(error, match=said):
            jit.load(path)
    with pytest.raises(FileNotFoundError):
        jit.load(tmp_path / "nothing")
