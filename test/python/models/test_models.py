"""Protects opyard.jit.load() and save(): models that PyTorch exported, our own files, bad files.

The archive is examples/exported/model.pt2; what is bad is made of it. Where PyTorch is installed,
networks that are written here are exported and compared. Suspect models/src/exported/ for files of
PyTorch, models/src/model/ for ours.
"""

import gzip
import json
import math
import os
import re
import struct
import subprocess
import sys
import zipfile

import pytest
from built import TESTS, build_folder, plain_build
from exported_model import MODEL, PROGRAM, archive

import opyard
from opyard import jit

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")

EXAMPLES = TESTS.parent / "examples"
FORMATS = [TESTS / "models" / f"format_{number}.safetensors" for number in (1, 2)]
X = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 0.25, 1.0]], np.float32)
SCALE = {"scale": np.array([2.0], np.float32)}


def expected(model, x=X, scale=2.0):
    """What the network gives, by NumPy."""
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    hidden = np.tanh(x @ state["hidden.weight"].T + state["hidden.bias"]) * scale
    scores = np.exp(hidden @ state["out.weight"].T + state["out.bias"])
    return scores / scores.sum(-1, keepdims=True), hidden.sum(), x.shape[0] * 2


def check(model):
    before = model.state_dict()["calls"].item()
    outputs = model(X, SCALE)
    scores, total, rows = expected(model)
    np.testing.assert_allclose(outputs["scores"].numpy(), scores, rtol=1e-5)
    np.testing.assert_allclose(outputs["rest"][0].numpy(), total, rtol=1e-5)
    assert list(outputs) == ["scores", "rest"] and outputs["rest"][1] == rows
    assert model.state_dict()["calls"].item() == before + 1


# ---- what runs


def test_X32_an_exported_program_runs_with_nested_inputs_buffers_and_sizes():
    check(jit.load(MODEL))


def test_X32_the_example_trains_and_saves_without_pytorch():
    done = subprocess.run(
        [sys.executable, MODEL.parent / "run.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "saved and loaded: True" in done.stdout, done.stderr


def digits():
    with gzip.open(EXAMPLES / "data" / "digits.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    return np.ascontiguousarray(rows[:, :64]) / np.float32(16), rows[:, 64].astype(np.int64)


def plain_environment():
    """Nothing of Python's, and of the loader's what sanitizers need."""
    kept = ("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")
    return {name: os.environ[name] for name in kept if name in os.environ}


@plain_build  # strict_init_order sees registrars of one library write to each other
def test_X32_a_program_of_cpp_trains_what_was_exported_without_python(tmp_path):
    images, labels = digits()
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "labels.npy", labels)
    source = EXAMPLES / "train_exported" / "model.pt2"
    program = build_folder() / "test" / "python" / "train_exported"
    command = [program, build_folder() / "kernels" / "opyard_kernels.so", source]
    command += [tmp_path / "images.npy", tmp_path / "labels.npy", tmp_path / "trained", "8"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=plain_environment()
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines() if "loss" in line]
    accuracy = float(done.stdout.split()[-1])
    assert len(losses) == 8 and losses[-1] < 0.3 < losses[0] and accuracy > 0.9, done.stdout
    trained = jit.load(tmp_path / "trained")
    assert (trained(images).argmax(1).numpy() == labels).mean() == pytest.approx(accuracy, abs=1e-3)
    # The same steps by eager autograd: one function of a whole graph gives the same gradients.
    model = jit.load(source)
    parameters = [parameter.requires_grad_() for parameter in model.parameters()]
    for begin in range(0, len(labels) - 63, 64):
        batch = slice(begin, begin + 64)
        loss = opyard.ops.aten.nll_loss(model(images[batch]), opyard.from_numpy(labels[batch]))
        loss.backward()
        with opyard.autograd.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad * 0.5)
                parameter.grad = None
    once = subprocess.run([*command[:-2], tmp_path / "once", "1"], check=False, capture_output=True)
    assert once.returncode == 0, once.stderr
    for ours, theirs in zip(parameters, jit.load(tmp_path / "once").parameters(), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_X32_a_network_trained_in_two_stages_runs_without_python(tmp_path):
    example = EXAMPLES / "graph" / "train_digits.py"
    saved = tmp_path / "digits.safetensors"
    done = subprocess.run(
        [sys.executable, example, "--epochs", "12", "--save", saved],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (said,) = (line for line in done.stdout.splitlines() if line.startswith("accuracy"))
    assert float(said.split()[1]) > 0.95
    assert re.search(r"a graph of \d+ nodes, and \d+ for its gradients", done.stdout)
    images, labels = digits()
    np.save(tmp_path / "images.npy", images)
    program = build_folder() / "programs" / "opyard-run"
    command = [program, saved, "--input", tmp_path / "images.npy", "--output", tmp_path / "y.npy"]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=plain_environment()
    )
    assert ran.returncode == 0 and ran.stderr == "", ran.stderr
    assert (np.load(tmp_path / "y.npy").argmax(1) == labels).mean() > 0.97


def test_X32_what_is_passed_is_checked_before_anything_runs():
    model = jit.load(MODEL)
    x = np.ones((3, 4), np.float32)
    for args, error, said in [
        ((np.ones((65, 4), np.float32), SCALE), ValueError, "size 65 of dimension 0 is out of"),
        ((np.ones((1, 4), np.float32), SCALE), ValueError, "exported for, 2 to 64"),
        ((np.ones((3, 5), np.float32), SCALE), ValueError, "size 5 of dimension 1; the model was"),
        ((np.ones(4, np.float32), SCALE), ValueError, "has 1 dimensions; the model was exported"),
        ((np.ones((3, 4)), SCALE), TypeError, "is of dtype float64; the model was exported for"),
        ((x, {}), TypeError, r"has the keys \['scale'\]"),
        ((x,), TypeError, "has 2 items, and 1 were given"),
        ((x, [1]), TypeError, "is a dict, and list was given"),
        ((3, SCALE), TypeError, "input %x"),
    ]:
        with pytest.raises(error, match=said):
            model(*args)
    assert model.state_dict()["calls"].item() == 0


def test_a_model_is_saved_and_loaded_as_it_is(tmp_path):
    model = jit.load(MODEL)
    jit.save(model, tmp_path / "model.safetensors")
    loaded = jit.load(tmp_path / "model.safetensors")
    check(loaded)
    assert set(opyard.load(tmp_path / "model.safetensors")) == set(model.state_dict())
    with pytest.raises(ValueError, match="2 to 64"):
        loaded(np.ones((65, 4), np.float32), SCALE)


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.stem)
def test_a_file_of_a_former_format_is_read(path):
    check(jit.load(path))


def test_a_graph_with_constants_is_saved_and_loaded(tmp_path):
    weights = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    graph = jit.parse_ir(
        """graph(%x : Tensor):
  %w : Tensor = prim::Constant[value=<Tensor>]()
  %one : Long() = prim::Constant[value={1}]()
  %y : Tensor = aten::mul(%x, %w)
  %z : Tensor = aten::add(%y, %one)
  return (%z)
""",
        tensors=[weights],
    )
    jit.save(graph, tmp_path / "g")
    loaded = jit.load(tmp_path / "g")
    assert str(loaded.graph) == str(graph)
    assert loaded(opyard.tensor([2.0, 10.0])).tolist() == [[3.0, 21.0], [7.0, 41.0]]


def test_a_graph_with_python_functions_is_not_saved(tmp_path):
    graph = jit.Graph()
    x = graph.add_input("x")
    node = graph.append_node(jit.create_python_op(graph, lambda x: x, [x]))
    graph.register_output(node.output())
    with pytest.raises(NotImplementedError, match="functions of other layers"):
        jit.save(graph, tmp_path / "g")
    with pytest.raises(TypeError, match="takes a Model or a Graph"):
        jit.save(3, tmp_path / "g")


def test_a_file_is_a_strangers_unless_it_is_trusted(tmp_path):
    with opyard.library.Library("models_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CPU")
        graph = jit.parse_ir(
            "graph(%x : Tensor):\n  %y : Tensor = models_test::twice(%x)\n  return (%y)"
        )
        jit.save(graph, tmp_path / "g")
        x = opyard.tensor([1.5])
        with pytest.raises(ValueError, match="models_test::twice"):
            jit.load(tmp_path / "g")
        allowed = jit.load(tmp_path / "g", allowed=["models_test::twice"])
        assert allowed(x).tolist() == [3.0]
        assert allowed.graph.is_restricted
        assert jit.load(tmp_path / "g", untrusted=False)(x).tolist() == [3.0]


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


# ---- the example in an archive


EXAMPLE = "model/data/sample_inputs/model.pt"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"


def memory(name="0", kind="Float", count=b"K\x08", device="cpu"):
    """The instructions for the memory of a tensor."""
    text = lambda word: b"X" + struct.pack("<I", len(word)) + word.encode()  # noqa: E731
    kind = f"ctorch\n{kind}Storage\n".encode()
    return b"(" + text("storage") + kind + text(name) + text(device) + count + b"tQ"


def tensor(sizes=b"K\x02K\x04\x86", strides=b"K\x04K\x01\x86", first=b"K\x00", **which):
    return TENSOR + b"(" + memory(**which) + first + sizes + strides + b"\x89Nt" + b"R"


SCALE_ITEM = b"}X\x05\x00\x00\x00scale" + tensor(b"K\x01\x85", b"K\x01\x85") + b"s"


def example(tmp_path, pickle, data=bytes(32)):
    """The model with another example, of these instructions."""
    inner = tmp_path / "inner.pt"
    with zipfile.ZipFile(inner, "w") as new:
        for name, contents in (("data.pkl", pickle), ("data/0", data)):
            info = zipfile.ZipInfo(f"archive/{name}")
            here = new.fp.tell() + 30 + len(info.filename)
            room = -(here + 4) % 64
            info.extra = struct.pack("<HH", 0xFFFF, room) + b"\0" * room
            new.writestr(info, contents)
    return archive(tmp_path, {EXAMPLE: inner.read_bytes()})


def both(x, scale=SCALE_ITEM):
    """The pickle of ((x, scale), {})."""
    return b"\x80\x02" + x + scale + b"\x86}\x86."


def test_X32_the_example_that_a_program_was_exported_with_is_read():
    model = jit.load(MODEL)
    (x, options), kwargs = model.example_inputs
    assert kwargs == {} and list(options) == ["scale"]
    assert x.shape == (5, 4) and x.dtype is opyard.float32 and options["scale"].tolist() == [1]
    np.testing.assert_allclose(
        model(x, options)["scores"].numpy(), expected(model, x.numpy(), 1.0)[0], rtol=1e-5
    )


def test_an_example_of_known_instructions_is_read(tmp_path):
    data = np.arange(8, dtype=np.float32).tobytes()
    (x, _), _ = jit.load(example(tmp_path, both(tensor()), data)).example_inputs
    assert x.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    turned = tensor(strides=b"K\x01K\x02\x86")
    (x, _), _ = jit.load(example(tmp_path, both(turned), data)).example_inputs
    assert x.tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]] and not x.is_contiguous()
    parameter = b"ctorch._utils\n_rebuild_parameter\n" + tensor() + b"\x88N\x87R"
    (x, _), _ = jit.load(example(tmp_path, both(parameter), data)).example_inputs
    assert x.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    of_type = tensor()[len(TENSOR) : -1]  # the arguments
    of_type = TENSOR + b"ctorch\nTensor\n" + of_type + b"}K\x01K\x02s"
    of_type = b"ctorch._tensor\n_rebuild_from_type_v2\n(" + of_type + b"tR"
    (x, _), _ = jit.load(example(tmp_path, both(of_type), data)).example_inputs
    assert x.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    for absent in (b"\x80\x02N.",):  # an example that was taken away
        assert jit.load(example(tmp_path, absent)).example_inputs is None
    assert jit.load(archive(tmp_path, {EXAMPLE: None})).example_inputs is None


def test_X32_what_is_neither_tensor_nor_container_is_no_example(tmp_path):
    """It is left out, and nothing that it names is looked up or called."""
    mark = tmp_path / "was here"
    word = f"touch '{mark}'".encode()
    system = b"cos\nsystem\nX" + struct.pack("<I", len(word)) + word + b"\x85R"
    for x in (
        system,
        b"cbuiltins\nprint\n)R",
        b"ccollections\nOrderedDict\nK\x01\x85R",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\nctorch\nTensor\n)}tR",
        tensor(kind="Quint8"),
        tensor(device="cuda:0"),
        b"\x8a\x09" + b"\x01" * 9,  # an int above 64 bits
        b"ctorch\nSize\n)\x81",  # makes an object
        b"(" + b"i__builtin__\nprint\n",
        b"K\x01}b",  # sets a state
    ):
        model = jit.load(example(tmp_path, both(x)))
        assert model.example_inputs is None, x
        check(model)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("pickle", "said"),
    [
        (b"", "is broken at byte 0"),
        (b"\x80\x05.", "is broken"),
        (b"\x80\x02", "is broken"),
        (b"\x80\x02.", "is broken"),
        (b"\x80\x02NN.", "is broken"),
        (b"\x80\x02(N.", "is broken"),
        (b"\x80\x02N.N", "is broken"),
        (b"\x80\x02t.", "is broken"),
        (b"\x80\x02N(\x85.", "is broken"),
        (b"\x80\x02h\x07.", "is broken"),
        (b"\x80\x02q\x07.", "is broken"),
        (b"\x80\x02)Na.", "is broken"),
        (b"\x80\x02}(Nu.", "is broken"),
        (b"\x80\x02X\xff\xff\xff\xffabc.", "is broken"),
        (b"\x80\x02X\x02\x00\x00\x00\xff\xfe.", "is broken"),
        (b"\x80\x02cos", "is broken"),
        (b"\x80\x02NQ.", "is broken"),
        (b"\x80\x02NNR.", "is broken"),
        (TENSOR + b")R.", "is broken"),
        (TENSOR + b"(NK\x00))tR.", "is broken"),
        (both(tensor(first=b"M\xff\xff")), "is broken"),
        (both(tensor(first=b"J\xff\xff\xff\xff")), "is broken"),
        (both(tensor(sizes=b"K\x03K\x04\x86")), "needs 12 elements, and its 32 bytes have 8"),
        (both(tensor(sizes=b"K\x02K\x04K\x01\x87")), "3 sizes and 2 strides"),
        (both(tensor(strides=b"J\xff\xff\xff\xffK\x01\x86")), "has the stride -1"),
        (both(tensor(name="1")), "has no entry archive/data/1"),
        (both(tensor(name="../data.pkl")), "has no entry"),
        (both(tensor(kind="Double", count=b"K\x04", sizes=b"K\x02K\x02\x86",
                     strides=b"K\x02K\x01\x86")), "does not fit the program: .*size 2|dtype"),
        (both(b"K\x03"), "does not fit the program: input %x"),
        (both(tensor(), b"}"), "is nested in another way"),
        (both(tensor(), b"]"), "is nested in another way"),
        (both(b"]q\x00h\x00a", SCALE_ITEM), "is nested in another way"),  # a list in itself
        (b"\x80\x02}.", "is nested in another way"),
    ],
)  # fmt: skip
def test_X32_an_example_that_is_broken_or_does_not_fit_is_refused(tmp_path, pickle, said):
    path = example(tmp_path, pickle)
    with pytest.raises(ValueError, match=said) as raised:
        jit.load(path)
    assert str(path) in str(raised.value)


def test_X32_no_change_of_an_example_ends_the_process(tmp_path):
    random = np.random.default_rng(5)
    whole = np.frombuffer(both(tensor()), np.uint8)
    refused = 0
    for _ in range(500):
        changed = whole.copy()
        changed[random.integers(0, len(whole), 2)] = random.integers(0, 256, 2)
        try:
            jit.load(example(tmp_path, changed.tobytes()))
        except ValueError:
            refused += 1
    assert refused > 100


def test_an_archive_in_an_archive_that_is_cut_is_refused(tmp_path):
    with zipfile.ZipFile(MODEL) as old:
        inner = old.read(EXAMPLE)
    for end in (0, 10, len(inner) // 2, len(inner) - 1):
        with pytest.raises(ValueError, match="sample_inputs/model.pt"):
            jit.load(archive(tmp_path, {EXAMPLE: inner[:end]}))


# ---- where PyTorch is


def networks(torch):
    nn = torch.nn

    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(4, 8)

        def forward(self, x, state):
            h, c = self.cell(x, state)
            return h, (h, c)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = (
                part.reshape(b, t, 4, d // 4).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)
            )
            weights = (q @ k.transpose(-2, -1) / math.sqrt(d // 4)).softmax(-1)
            return x + self.out((weights @ v).transpose(1, 2).reshape(b, t, d))

    return {
        "mlp": (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), (torch.ones(5, 4),)),
        "convolution": (
            nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)),
            (torch.randn(2, 1, 4, 4),),
        ),
        "lstm cell": (Cell(), (torch.randn(3, 4), (torch.randn(3, 8), torch.randn(3, 8)))),
        "attention": (Attention(), (torch.randn(2, 6, 16),)),
    }


def leaves(value):
    return (
        [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else [value]
    )


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch about itself
@pytest.mark.parametrize("name", ["mlp", "convolution", "lstm cell", "attention"])
def test_X32_networks_that_pytorch_exports_here_give_what_it_gives(name):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module, inputs = networks(torch)[name]
    with torch.no_grad():
        wanted = module(*inputs)
    model = jit.from_exported(torch.export.export(module, inputs).run_decompositions())
    convert = lambda v: tuple(map(convert, v)) if isinstance(v, tuple) else v.numpy()  # noqa: E731
    got = model(*convert(inputs))
    for ours, theirs in zip(leaves(got), leaves(wanted), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)
