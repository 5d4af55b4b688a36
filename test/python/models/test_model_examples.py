"""Protects the inputs that a program was exported with, which its archive has as an example.

Suspect models/src/exported/example.cpp, pickle.cpp.
"""

import struct
import zipfile

import pytest
from exported_model import MODEL, archive
from test_models import check, expected

import opyard
from opyard import jit

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")
X = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 0.25, 1.0]], np.float32)


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
