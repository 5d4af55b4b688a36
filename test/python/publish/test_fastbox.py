"""test_fastbox.py: examples/fastbox, one library of kernels, from NumPy, PyTorch and JAX.

Suspect the example; then what it uses: the registry's Meta slot, opyard.torch and opyard.jax.
"""

import importlib
import importlib.util
import re
import subprocess
import sys

import fastbox_package as fb
import numpy as np
import pytest
from frameworks import require

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten

ALL_CASES = (
    *("test_schema", "test_autograd_registration"),
    *("test_faketensor", "test_aot_dispatch_dynamic"),
)


@pytest.fixture(scope="module")
def fastbox(tmp_path_factory):
    """opyard.ops.fastbox, which the package's entry point brings."""
    folder = tmp_path_factory.mktemp("site")
    fb.install(folder)
    yield opyard.ops.fastbox
    for path in opyard.loaded_libraries():
        if path.startswith(str(folder.resolve())):
            opyard.unload_library(path)
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def in_torch(fastbox):
    """torch.ops.fastbox; the skip says so where PyTorch is not installed."""
    torch = require("torch")
    importlib.import_module("fastbox.torch")
    yield torch.ops.fastbox
    torch._dynamo.reset()


def test_numpy_arrays_go_in_and_come_out(fastbox):
    boxes, scores = fb.boxes_and_scores(60)
    for threshold in (0.0, 0.3, 0.9):
        kept = fastbox.nms(boxes, scores, threshold)
        assert type(kept) is np.ndarray and kept.dtype == np.int64
        assert kept.tolist() == fb.nms(boxes, scores, threshold)
        padded, count = fastbox.nms_padded(boxes, scores, threshold, 20)
        number = min(len(kept), 20)
        assert int(count) == number
        assert padded.tolist() == kept[:20].tolist() + [-1] * (20 - number)
    assert fastbox.nms(boxes[:0], scores[:0], 0.5).tolist() == []
    unordered = np.float32([np.nan, 1.0, np.nan, 2.0])
    apart = np.float32([[10 * i, 0, 10 * i + 1, 1] for i in range(4)])
    assert fastbox.nms(apart, unordered, 0.5).tolist() == [3, 1, 0, 2]

    for dtype in (np.float32, np.float64):
        cos, sin = fb.tables(6, 4, dtype)
        for shape in ((6, 8), (3, 6, 8), (2, 3, 6, 8), (0, 6, 8)):
            x = np.random.default_rng(1).normal(size=shape).astype(dtype)
            turned = fastbox.rotary(x, cos, sin)
            assert turned.dtype == dtype
            np.testing.assert_allclose(turned, fb.rotary(x, cos, sin), rtol=1e-5, atol=1e-6)
    # Any strides: heads are often the second dimension of memory.
    x = np.random.default_rng(1).normal(size=(2, 6, 3, 8)).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(fastbox.rotary(x, cos, sin), fb.rotary(x, cos, sin), rtol=1e-12)

    for sizes in ((3, 17, 5), (1, 1, 1), (0, 4, 2), (2, 0, 3), (4, 300, 7)):
        given = fb.factors(*sizes)
        product = fastbox.int8_matmul(*given)
        assert product.dtype == np.float32
        np.testing.assert_allclose(product, fb.int8_matmul(*given), rtol=1e-6)
    a, b, rows, columns = fb.factors(4, 8, 6)
    strided = fastbox.int8_matmul(a[::2, ::2], b[::2, ::3], rows[::2], columns[::3])
    np.testing.assert_allclose(
        strided, fb.int8_matmul(a[::2, ::2], b[::2, ::3], rows[::2], columns[::3]), rtol=1e-6
    )
    most = np.full((1, 131_071), -128, np.int8)
    one = np.ones(1, np.float32)
    assert fastbox.int8_matmul(most, most.T, one, one).item() == np.float32(131_071 * 128 * 128)


def test_what_is_wrong_is_refused_in_words(fastbox):
    boxes, scores = fb.boxes_and_scores(3)
    cos, sin = fb.tables(6, 4)
    x = np.zeros((6, 8), np.float32)
    a, b, rows, columns = fb.factors()
    long = np.zeros((1, 131_072), np.int8)
    one = np.ones(1, np.float32)
    for op, given, kind, words in (
        (
            "nms",
            (boxes[:, :3], scores, 0.5),
            ValueError,
            r"boxes are float32\[3, 3\]; \[n, 4\] are",
        ),
        ("nms", (boxes, scores[:2], 0.5), ValueError, "one for each of 3 boxes is needed"),
        ("nms", (boxes, scores.astype("f8"), 0.5), TypeError, "dtype of the boxes is needed"),
        ("nms", (boxes.astype("i4"), scores.astype("i4"), 0.5), NotImplementedError, "float32"),
        ("nms_padded", (boxes, scores, 0.5, 0), ValueError, "limit is 0; 1 or more is needed"),
        ("rotary", (x[:, :7], cos, sin), ValueError, r"x is float32\[6, 7\]; \[..., positions, 2"),
        ("rotary", (x, cos[:5], sin), ValueError, r"cos is float32\[5, 4\]; .* \[6, 4\] is needed"),
        ("rotary", (x, cos, sin.astype("f8")), TypeError, "float64"),
        ("rotary", (x.astype("f2"), cos, sin), NotImplementedError, "float16"),
        ("int8_matmul", (a, b.T, rows, columns), ValueError, r"\[m, k\] and \[k, n\] are needed"),
        ("int8_matmul", (a, b, columns, rows), ValueError, "one for each of 3 rows is needed"),
        ("int8_matmul", (a.astype("i4"), b, rows, columns), TypeError, "int8 is needed"),
        ("int8_matmul", (a, b, rows.astype("f8"), columns), TypeError, "float32 is needed"),
        ("int8_matmul", (long, long.T, one, one), ValueError, "at most 131071 elements"),
    ):
        with pytest.raises(kind, match=words) as caught:
            getattr(fastbox, op)(*given)
        assert f"fastbox::{op}" in str(caught.value)


def test_meta_asks_the_same_kernels_and_gradients_are_right(fastbox):
    cos, sin = (opyard.from_numpy(table) for table in fb.tables(6, 4, np.float64))
    x = opyard.tensor(
        np.random.default_rng(2).normal(size=(2, 6, 8)).tolist(), dtype=opyard.float64
    )
    assert autograd.gradcheck(lambda x: fastbox.rotary(x, cos, sin), [x.requires_grad_()])
    assert autograd.gradgradcheck(lambda x: fastbox.rotary(x, cos, sin), [x])

    boxes, scores = (opyard.from_numpy(each) for each in fb.boxes_and_scores(9))
    given = [opyard.from_numpy(each) for each in fb.factors()]
    opyard.library.opcheck(fastbox.rotary, (x.detach(), cos, sin))
    opyard.library.opcheck(fastbox.nms_padded, (boxes, scores, 0.5, 4))
    opyard.library.opcheck(fastbox.int8_matmul, tuple(given))
    a, b, *scales = given
    meta = aten.empty([7, 17], dtype=opyard.int8, device="meta")
    rows = aten.empty([7], device="meta")
    columns = aten.empty([5], device="meta")
    product = fastbox.int8_matmul(
        meta, aten.empty([17, 5], dtype=opyard.int8, device="meta"), rows, columns
    )
    assert (product.shape, product.dtype, product.device.type) == ((7, 5), opyard.float32, "meta")
    with pytest.raises(ValueError, match="one for each of 7 rows is needed"):
        fastbox.int8_matmul(
            meta, aten.empty([17, 5], dtype=opyard.int8, device="meta"), columns, columns
        )
    with pytest.raises(NotImplementedError, match="fastbox::nms has no kernel at Meta"):
        fastbox.nms(boxes.to("meta"), scores.to("meta"), 0.5)


def arguments(torch):
    """What each operator is called with, as tensors of PyTorch."""
    boxes, scores = fb.boxes_and_scores(40)
    x = np.random.default_rng(3).normal(size=(2, 6, 8)).astype(np.float32)
    return {
        "nms": (torch.tensor(boxes), torch.tensor(scores), 0.4),
        "nms_padded": (torch.tensor(boxes), torch.tensor(scores), 0.4, 12),
        "rotary": tuple(map(torch.tensor, (x, *fb.tables(6, 4)))),
        "int8_matmul": tuple(map(torch.tensor, fb.factors())),
    }


def test_pytorch_calls_them_eagerly(in_torch, fastbox):
    torch = require("torch")
    for name, given in arguments(torch).items():
        op = getattr(in_torch, name).default
        result = op(*given)
        plain = [each.numpy() if isinstance(each, torch.Tensor) else each for each in given]
        expected = getattr(fastbox, name)(*plain)
        torch.testing.assert_close(
            result,
            tuple(map(torch.from_numpy, expected))
            if isinstance(expected, tuple)
            else torch.from_numpy(expected),
        )
        # What nms gives depends on elements: it runs, and no compiler can hold it.
        cases = ("test_schema", "test_autograd_registration") if name == "nms" else ALL_CASES
        found = torch.library.opcheck(op, given, test_utils=cases)
        assert set(found.values()) == {"SUCCESS"}, (name, found)
    with pytest.raises(ValueError, match="fastbox::rotary: cos is float32"):
        in_torch.rotary(torch.zeros(5, 8), *arguments(torch)["rotary"][1:])


def attention(torch, x, cos, sin, boxes, scores):
    turned = torch.ops.fastbox.rotary(torch.sin(x), cos, sin)
    kept, count = torch.ops.fastbox.nms_padded(boxes, scores, 0.4, 12)
    return (turned @ turned.mT).softmax(-1), kept + count


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_pytorch_compiles_them_once_for_all_sizes(in_torch, backend):
    torch = require("torch")
    product = torch.compile(
        lambda *given: torch.ops.fastbox.int8_matmul(*given) * 2,
        fullgraph=True,
        dynamic=True,
        backend=backend,
    )
    whole = torch.compile(
        lambda *given: attention(torch, *given), fullgraph=True, dynamic=True, backend=backend
    )
    with torch._dynamo.config.patch(error_on_recompile=True):
        for size in (6, 9, 17):
            boxes, scores = map(torch.tensor, fb.boxes_and_scores(size + 3))
            cos, sin = map(torch.tensor, fb.tables(size, 4))
            x = torch.randn(2, size, 8)
            given = x, cos, sin, boxes, scores
            torch.testing.assert_close(whole(*given), attention(torch, *given))
            factors = tuple(map(torch.tensor, fb.factors(size, size + 1, size + 2)))
            expected = torch.ops.fastbox.int8_matmul(*factors) * 2
            torch.testing.assert_close(product(*factors), expected)
    torch._dynamo.reset()


def test_pytorch_exports_them(in_torch, tmp_path):
    torch = require("torch")

    class Block(torch.nn.Module):
        def forward(self, x, cos, sin, boxes, scores):
            return attention(torch, x, cos, sin, boxes, scores)

    given = (*arguments(torch)["rotary"], *arguments(torch)["nms_padded"][:2])
    count = torch.export.Dim("boxes", min=2, max=512)
    program = torch.export.export(
        Block(), given, dynamic_shapes=(None, None, None, {0: count}, {0: count})
    )
    called = [str(node.target) for node in program.graph.nodes if "fastbox" in str(node.target)]
    assert called == ["fastbox.rotary.default", "fastbox.nms_padded.default"]
    torch.export.save(program, tmp_path / "block.pt2")
    others = (*given[:3], *map(torch.tensor, fb.boxes_and_scores(25)))
    again = torch.export.load(tmp_path / "block.pt2").module()
    torch.testing.assert_close(again(*others), attention(torch, *others))
    # The same file runs here, where PyTorch is not needed, and gives PyTorch's tensors.
    model = opyard.jit.load(
        tmp_path / "block.pt2", allowed=["fastbox::rotary", "fastbox::nms_padded"]
    )
    torch.testing.assert_close(model(*others), attention(torch, *others))


def test_pytorch_trains_through_them(in_torch):
    torch = require("torch")
    torch.manual_seed(0)
    x, cos, sin = (each.double() for each in arguments(torch)["rotary"])
    assert torch.autograd.gradcheck(
        lambda x: torch.ops.fastbox.rotary(x, cos, sin), [x.requires_grad_()]
    )
    project = torch.nn.Linear(8, 8, dtype=torch.float64)
    wanted = torch.randn(2, 6, 8, dtype=torch.float64)
    optimizer = torch.optim.Adam(project.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        turned = torch.ops.fastbox.rotary(project(x.detach()), cos, sin)
        loss = (turned - wanted).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    # Turning keeps lengths, so the least loss is that of a linear map of the turned-back targets.
    back = torch.ops.fastbox.rotary(wanted, cos, -sin)
    inputs = torch.cat([x.detach().reshape(12, 8), torch.ones(12, 1, dtype=torch.float64)], 1)
    least = torch.linalg.lstsq(inputs, back.reshape(12, 8)).residuals.sum() / 96
    assert losses[-1] >= float(least) - 1e-9


def test_jax_jits_them_and_takes_gradients(fastbox):
    jax = require("jax")
    if importlib.util.find_spec("opyard.jax") is None:
        pytest.skip("opyard.jax is not in this build: operators are not published into JAX")
    published = importlib.import_module("fastbox.jax").published
    jnp = jax.numpy
    x = jnp.asarray(np.random.default_rng(3).normal(size=(2, 6, 8)).astype(np.float32))
    cos, sin = map(jnp.asarray, fb.tables(6, 4))
    rotary = published["rotary"]
    turned = jax.jit(lambda x: rotary(jnp.sin(x), cos, sin) + 1)(x)
    np.testing.assert_allclose(turned, fb.rotary(np.sin(x), cos, sin) + 1, rtol=1e-5, atol=1e-6)
    gradient = jax.jit(jax.grad(lambda x: (rotary(x, cos, sin) ** 2).sum()))(x)
    np.testing.assert_allclose(gradient, 2 * x, rtol=1e-4, atol=1e-5)
    factors = fb.factors()
    product = jax.jit(published["int8_matmul"])(*map(jnp.asarray, factors))
    np.testing.assert_allclose(product, fb.int8_matmul(*factors), rtol=1e-6)
    with pytest.raises(ValueError, match="fastbox::rotary: cos is float32"):
        jax.jit(rotary)(x[:, :5], cos, sin)


def test_neither_framework_is_needed(fastbox):
    program = (
        "import sys, numpy as np, opyard\n"
        f"sys.path.insert(0, {sys.path[0]!r})\n"
        "print(opyard.ops.fastbox.nms(np.float32([[0, 0, 1, 1]]), np.float32([1]), 0.5))\n"
        "assert not {'torch', 'jax'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[0]\n", done.stderr
    project = (fb.EXAMPLE / "pyproject.toml").read_text("utf-8")
    assert re.findall(r"^dependencies = (.*)$", project, re.M) == ['["opyard~=0.1.0"]']
