"""Gradients of complex numbers: dL/da + i dL/db of a real L and a number a + ib.

Each row is compared with differences of values, for the first and the second gradients; beside
PyTorch in test_gradients_beside_pytorch.py. Suspect the conj() of the operator's formula, in
kernels/src/gradients/derivatives.cpp or beside its definition; the choice between a formula's two
codes in autograd/src/tape/formula_function.cpp; and what the engine does with a complex gradient of
a real tensor.
"""

import subprocess
import sys

import pytest
from leaves import leaf

import opyard
from opyard import autograd, jit

pytestmark = pytest.mark.once

aten = opyard.ops.aten
Z = [[0.6 + 0.3j, -1.2 + 0.8j, 2.1 - 0.4j], [1.4 - 0.9j, 0.7 + 1.1j, -0.4 - 0.6j]]
W = [[0.3 - 0.5j, 1.1 + 0.2j, -0.7 + 0.9j], [-0.8 + 0.4j, 0.5 + 0.6j, 1.3 - 1.2j]]
LINE = [0.9 + 0.2j, -0.6 + 0.7j, 1.7 - 0.3j]
OTHER = [0.4 - 0.8j, 1.2 + 0.1j, -0.5 + 0.6j]
REAL = [[0.6, -1.2, 2.1], [1.4, 0.7, -0.4]]
ABOVE = [[1.6, 1.2, 2.1], [1.4, 2.7, 3.4]]
TALL = [[0.6 + 0.3j, -1.2 + 0.8j], [2.1 - 0.4j, 1.4 - 0.9j], [0.7 + 1.1j, -0.4 - 0.6j]]
SQUARE = [[0.3 - 0.5j, 1.1 + 0.2j], [-0.8 + 0.4j, 0.5 + 0.6j]]
REALS = opyard.tensor(REAL, dtype=opyard.float64)
PLACES = opyard.tensor([[2, 0, 1], [1, 2, 0]])
LINES = opyard.tensor([2, 0])
MASK = opyard.tensor([[True, False, True], [False, False, True]])

ANALYTIC = """
    acos acosh asin asinh atan atanh cos cosh exp exp2 expm1 log log10 log1p log2 neg reciprocal
    rsqrt sigmoid sin sinh sqrt square tan tanh
""".split()
CASES = [
    *((name, getattr(aten, name), [Z]) for name in ANALYTIC),
    ("mul", lambda x, y: aten.mul(x, y), [Z, W]),
    ("mul real", lambda x, y: aten.mul(x, y), [Z, REAL]),
    ("mul of real", lambda x, y: aten.mul(x, y), [REAL, Z]),
    ("mul broadcast", lambda x, y: aten.mul(x, y), [Z, LINE]),
    ("mul.Scalar", lambda x: aten.mul(x, 2 + 3j), [Z]),
    ("mul.Scalar of real", lambda x: aten.mul(x, 2 + 3j), [REAL]),
    ("add", lambda x, y: aten.add(x, y, alpha=2 + 1j), [Z, W]),
    ("sub", lambda x, y: aten.sub(x, y, alpha=2 - 1j), [Z, W]),
    ("rsub", lambda x, y: aten.rsub(x, y, alpha=1j), [Z, W]),
    ("rsub.Scalar", lambda x: aten.rsub(x, 2, 3j), [Z]),
    ("div", lambda x, y: aten.div(x, y), [Z, W]),
    ("div of real", lambda x, y: aten.div(x, y), [REAL, W]),
    ("div.Scalar", lambda x: aten.div(x, 2 + 3j), [Z]),
    ("pow 2", lambda x: aten.pow(x, 2), [Z]),
    ("pow 2.5", lambda x: aten.pow(x, 2.5), [Z]),
    ("pow 0", lambda x: aten.pow(x, 0) * x, [Z]),
    ("pow complex of negative", lambda x: aten.pow(REALS, x), [Z]),
    ("pow complex", lambda x: aten.pow(x, 1 + 2j), [Z]),
    ("pow complex of real", lambda x: aten.pow(x, 1 + 2j), [ABOVE]),
    ("pow.Tensor_Tensor", lambda x, y: aten.pow(x, y), [Z, W]),
    ("pow.Scalar", lambda x: aten.pow(2 + 1j, x), [Z]),
    ("pow.Scalar of real", lambda x: aten.pow(2 + 1j, x), [REAL]),
    ("pow.Scalar real", lambda x: aten.pow(2.5, x), [Z]),
    ("addcmul", lambda x, y, z: aten.addcmul(x, y, z, value=1j), [Z, W, Z]),
    ("addcdiv", lambda x, y, z: aten.addcdiv(x, y, z, value=1j), [Z, W, Z]),
    ("lerp", lambda x, y: aten.lerp(x, y, 0.3), [Z, W]),
    ("mm", lambda x, y: aten.mm(x, y), [Z, TALL]),
    ("addmm", lambda x, y, z: aten.addmm(x, y, z, beta=2 + 1j, alpha=1j), [SQUARE, Z, TALL]),
    ("bmm", lambda x, y: aten.bmm(x, y), [[Z, W], [TALL, TALL]]),
    (
        "baddbmm",
        lambda x, y, z: aten.baddbmm(x, y, z, beta=1j, alpha=2j),
        [[SQUARE, SQUARE], [Z, W], [TALL, TALL]],
    ),
    ("mv", lambda x, y: aten.mv(x, y), [Z, LINE]),
    ("dot", lambda x, y: aten.dot(x, y), [LINE, OTHER]),
    ("vdot", lambda x, y: aten.vdot(x, y), [LINE, OTHER]),
    ("einsum", lambda x, y: aten.einsum("ij,jk->ik", [x, y]), [Z, TALL]),
    ("linear", lambda x, y: aten.linear(x, y), [Z, W]),
    ("sum", lambda x: aten.sum(x), [Z]),
    ("sum.dim", lambda x: aten.sum(x, [1]), [Z]),
    ("mean", lambda x: aten.mean(x), [Z]),
    ("mean.dim", lambda x: aten.mean(x, [1]), [Z]),
    ("prod", lambda x: aten.prod(x), [Z]),
    ("prod of a zero", lambda x: aten.prod(x * aten.sub(x, 0.3 - 0.5j), 1), [W]),
    ("prod.dim", lambda x: aten.prod(x, 1), [Z]),
    ("cumsum", lambda x: aten.cumsum(x, 1), [Z]),
    ("cumprod", lambda x: aten.cumprod(x, 1), [Z]),
    ("var", lambda x: aten.var(x), [Z]),
    ("std", lambda x: aten.std(x, [1]), [Z]),
    ("norm 2", lambda x: aten.linalg_vector_norm(x), [Z]),
    ("norm 1", lambda x: aten.linalg_vector_norm(x, 1), [Z]),
    ("norm 3", lambda x: aten.linalg_vector_norm(x, 3, [1]), [Z]),
    ("view", lambda x: aten.view(x, [3, 2]), [Z]),
    ("t", lambda x: aten.t(x), [Z]),
    ("permute", lambda x: aten.permute(x, [1, 0]), [Z]),
    ("expand", lambda x: aten.expand(x, [2, 2, 3]), [Z]),
    ("select", lambda x: aten.select(x, 1, 1), [Z]),
    ("slice", lambda x: aten.slice(x, 1, 0, 3, 2), [Z]),
    ("diagonal", lambda x: aten.diagonal(x), [Z]),
    ("unbind", lambda x: aten.unbind(x, 1)[1], [Z]),
    ("unfold", lambda x: aten.unfold(x, 1, 2, 1), [Z]),
    ("as_strided", lambda x: aten.as_strided(x, [2, 2], [3, 1], 1), [Z]),
    ("repeat", lambda x: aten.repeat(x, [2, 1]), [Z]),
    ("tril", lambda x: aten.tril(x), [Z]),
    ("flip", lambda x: aten.flip(x, [0]), [Z]),
    ("pad", lambda x: aten.constant_pad_nd(x, [1, 1]), [Z]),
    ("cat", lambda x, y: aten.cat([x, y], 1), [Z, W]),
    ("stack", lambda x, y: aten.stack([x, y]), [Z, W]),
    ("where", lambda x, y: aten.where(MASK, x, y), [Z, W]),
    ("masked_fill", lambda x: aten.masked_fill(x, MASK, 2j), [Z]),
    ("masked_select", lambda x: aten.masked_select(x, MASK), [Z]),
    ("index_select", lambda x: aten.index_select(x, 1, LINES), [Z]),
    ("index", lambda x: aten.index(x, [LINES]), [TALL]),
    ("index_put", lambda x, y: aten.index_put(x, [LINES], y), [TALL, SQUARE]),
    ("index_put added", lambda x, y: aten.index_put(x, [LINES], y, True), [TALL, SQUARE]),
    ("gather", lambda x: aten.gather(x, 1, PLACES), [Z]),
    ("scatter", lambda x, y: aten.scatter(x, 1, PLACES, y), [Z, W]),
    ("scatter.value", lambda x: aten.scatter(x, 1, PLACES, 2j), [Z]),
    ("scatter_add", lambda x, y: aten.scatter_add(x, 1, PLACES, y), [Z, W]),
    ("mul_", lambda x, y: aten.mul_(aten.clone(x), y), [Z, W]),
    ("abs", lambda x: aten.abs(x), [Z]),
    ("sgn", lambda x: aten.sgn(x), [Z]),
    ("sgn of real", lambda x: aten.sgn(x) * x, [REAL]),
    ("angle", lambda x: aten.angle(x), [Z]),
    ("angle of real", lambda x: aten.angle(x) * x, [REAL]),
    ("real", lambda x: aten.real(x), [Z]),
    ("imag", lambda x: aten.imag(x), [Z]),
    ("conj", lambda x: aten.conj(x), [Z]),
    ("conj_physical", lambda x: aten.conj_physical(x), [Z]),
    ("adjoint", lambda x: aten.adjoint(x), [Z]),
    ("view_as_real", lambda x: aten.view_as_real(x), [Z]),
    ("view_as_complex", lambda x: aten.view_as_complex(x), [[[0.5, 1.5], [2.0, -1.0]]]),
    ("complex", lambda x, y: aten.complex(x, y), [REAL, ABOVE]),
    ("polar", lambda x, y: aten.polar(x, y), [ABOVE, REAL]),
    ("_fft_c2c", lambda x: aten._fft_c2c(x, [0, 1], 0, True), [Z]),
    ("_fft_c2c back", lambda x: aten._fft_c2c(x, [1], 2, False), [Z]),
    ("_fft_r2c", lambda x: aten._fft_r2c(x, [1], 0, True), [REAL]),
    ("_fft_r2c whole", lambda x: aten._fft_r2c(x, [0, 1], 1, False), [REAL]),
    ("_fft_c2r", lambda x: aten._fft_c2r(x, [1], 2, 4), [Z]),
    ("_fft_c2r of two columns", lambda x: aten._fft_c2r(x, [1], 2, 2), [Z]),
    ("_fft_c2r odd", lambda x: aten._fft_c2r(x, [0, 1], 2, 5), [Z]),
]
TRANSFORMS = [
    (lambda x: aten.fft_fft(x), Z),
    (lambda x: aten.fft_fft(x, 5), REAL),
    (lambda x: aten.fft_ifft(x, 2, 0, "ortho"), Z),
    (lambda x: aten.fft_rfft(x), REAL),
    (lambda x: aten.fft_rfft(x, 4, norm="forward"), REAL),
    (lambda x: aten.fft_irfft(x), Z),
    (lambda x: aten.fft_irfft(x, 5), Z),
    (lambda x: aten.fft_hfft(x, 4), Z),
    (lambda x: aten.fft_ihfft(x, 2), REAL),
    (lambda x: aten.fft_fft2(x), Z),
    (lambda x: aten.fft_ifftn(x, [2, 5], norm="ortho"), Z),
    (lambda x: aten.fft_rfft2(x), REAL),
    (lambda x: aten.fft_irfftn(x, [3, -1]), Z),
    (lambda x: aten.fft_hfftn(x), Z),
    (lambda x: aten.fft_ihfft2(x), REAL),
    (lambda x: aten.fft_fftshift(aten.fft_ifftshift(x, [1])), Z),
]


def needs_numpy(name):
    if name.startswith("_fft"):
        pytest.importorskip("numpy", reason="NumPy answers Fourier transforms")


@pytest.mark.parametrize(("name", "fn", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_X31_gradients_of_complex_numbers_are_what_differences_say(name, fn, inputs):
    needs_numpy(name)
    assert autograd.gradcheck(fn, [leaf(values) for values in inputs])
    assert autograd.gradgradcheck(fn, [leaf(values) for values in inputs])


@pytest.mark.parametrize("row", range(len(TRANSFORMS)))
def test_X31_gradients_of_transforms_are_what_differences_say(row):
    needs_numpy("_fft")
    fn, values = TRANSFORMS[row]
    assert autograd.gradcheck(fn, [leaf(values)])


@pytest.mark.parametrize("row", range(len(TRANSFORMS)))
def test_transforms_run_on_meta(row):
    needs_numpy("_fft")
    fn, values = TRANSFORMS[row]
    x = leaf(values).detach()
    there = opyard.ops.aten.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
    wanted, found = fn(x), fn(there)
    assert (found.dtype, found.shape, found.stride()) == (
        wanted.dtype,
        wanted.shape,
        wanted.stride(),
    )


def test_transforms_name_themselves_when_they_refuse():
    needs_numpy("_fft")
    for call, text in (
        (lambda: aten.fft_rfft(opyard.tensor([1j])), "aten::fft_rfft: a real tensor is wanted"),
        (lambda: aten.fft_fft(opyard.tensor([1.0]), 0), "aten::fft_fft: n is 0"),
        (lambda: aten.fft_fft(opyard.tensor([1.0]), 2, 1), "aten::fft_fft: dim 1 is not among 1"),
        (lambda: aten.fft_fft(opyard.tensor(1.0)), "aten::fft_fft: dim -1 is not among 0"),
        (lambda: aten.fft_fft2(opyard.tensor([1.0])), "aten::fft_fft2: dim -2 is not among 1"),
        (lambda: aten.fft_ifft(opyard.tensor([1.0]), norm="no"), "ortho, not 'no'"),
        (lambda: aten.fft_irfft(opyard.tensor([1.0])), "aten::fft_irfft: 0 elements along"),
        (lambda: aten.fft_fftn(opyard.tensor([1.0]), [1, 2]), "2 sizes are given for 1"),
        (lambda: aten.fft_ihfft(opyard.tensor([1.0]), -1), "aten::fft_ihfft: n is -1"),
        (lambda: aten._fft_c2r(opyard.tensor([1j]), [0], 0, 4), "at least half of them and one, 3"),
        (lambda: aten.fft_fftfreq(0), "aten::fft_fftfreq: n is 0"),
    ):
        with pytest.raises(ValueError) as raised:
            call()
        assert text in str(raised.value)


def test_X31_second_gradients_at_zeros_are_those_of_the_sum_of_squares():
    z = leaf([0j, 3 + 0j, 4j])
    (first,) = autograd.grad(aten.linalg_vector_norm(z), z, create_graph=True)
    weights = opyard.tensor([1.0, 2.0, 3.0], dtype=opyard.float64)
    (second,) = autograd.grad((first * weights).real.sum(), z)
    assert second.tolist() == pytest.approx([0.2, 0.256, 0.6 - 0.192j])
    for exponent in (0, 1, 2):
        zero = leaf([0j])
        powers = aten.pow(zero, exponent)
        assert powers.tolist() == [0j**exponent]
        (first,) = autograd.grad(powers.real.sum(), zero)
        assert first.tolist() == [1.0 if exponent == 1 else 0.0]


def test_X31_a_wrong_gradient_of_complex_numbers_is_found():
    class Forgetful(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * 2  # without conj()

    with pytest.raises(autograd.GradcheckError, match="Jacobian mismatch"):
        autograd.gradcheck(Forgetful.apply, [leaf(Z)])
    assert autograd.gradcheck(Forgetful.apply, [leaf(REAL)])


def test_X31_the_gradient_of_a_real_tensor_is_real():
    x, z = leaf(REAL), leaf(Z)
    (x * z).abs().sum().backward()
    assert x.grad.dtype == opyard.float64
    assert z.grad.dtype == opyard.complex128
    wanted = [
        [abs(v) * (1 if r > 0 else -1) for r, v in zip(a, b, strict=True)]
        for a, b in zip(REAL, Z, strict=True)
    ]
    assert x.grad.reshape([-1]).tolist() == pytest.approx([v for row in wanted for v in row])


def test_G9_backward_of_a_complex_number_needs_a_gradient_to_begin_with():
    z = leaf(LINE)
    with pytest.raises(
        ValueError, match="only for real scalar outputs, and this one is complex128"
    ):
        (z * z).sum().backward()
    (z * z).sum().backward(opyard.tensor(1 + 0j, dtype=opyard.complex128))
    assert z.grad.tolist() == pytest.approx([2 * v.conjugate() for v in LINE])


@pytest.mark.parametrize(
    ("formula", "is_taken"),
    [
        ("grad * x * 2", False),
        ("grad * conj(x) * 2", True),
        ("grad * conj(x * 2)", True),
        ("grad * x * 2 * sgn(x) / sgn(x)", True),  # says how, and is wrong: as the author has it
    ],
)
def test_X31_a_formula_that_reads_complex_numbers_says_conj(library, ns, formula, is_taken):
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * x, "CPU")
    library.derivative("twice", {"x": formula})
    op = getattr(opyard.ops, ns).twice
    x = leaf(REAL)
    assert autograd.gradcheck(op, [x]) and autograd.gradgradcheck(op, [x])
    z = leaf(Z)
    if is_taken:
        op(z).abs().sum().backward()
        assert z.grad.is_complex()
        return
    with pytest.raises(NotImplementedError, match=r"reads complex128\[2, 3\].*write conj\(\)"):
        op(z).abs().sum().backward()
    assert z.grad is None


def test_X31_a_formula_of_real_factors_takes_complex_gradients(library, ns):
    library.define("scaled(Tensor x, Tensor by) -> Tensor")
    library.impl("scaled", lambda x, by: x * by, "CPU")
    library.derivative("scaled", {"x": "grad * by", "by": "None"})
    op = getattr(opyard.ops, ns).scaled
    by = opyard.tensor(REAL, dtype=opyard.float64)
    assert autograd.gradcheck(lambda z: op(z, by), [leaf(Z)])


@pytest.mark.parametrize("how", ["complex(a, b)", "view_as_complex(stack([a, b], -1))"])
def test_X31_conj_stays_where_real_numbers_become_complex(library, ns, how):
    library.define("norms(Tensor a, Tensor b) -> Tensor")
    library.impl("norms", lambda a, b: a * a - b * b, "CPU")
    library.derivative(
        "norms", {"a": f"grad * 2 * real(conj({how}))", "b": f"grad * 2 * imag(conj({how}))"}
    )
    op = getattr(opyard.ops, ns).norms
    assert autograd.gradcheck(op, [leaf(REAL), leaf(ABOVE)])
    compiled = jit.compile(lambda a, b: op(a, b).sum())
    for _ in range(2):
        a, b = leaf(REAL), leaf(ABOVE)
        compiled(a, b).backward()
        assert b.grad.tolist() == [[-2 * v for v in row] for row in ABOVE]


def test_X31_formulas_of_real_numbers_run_without_conj(library, ns):
    library.define("product(Tensor x, Tensor y) -> Tensor")
    library.impl("product", lambda x, y: x * y, "CPU")
    library.derivative("product", {"x": "grad * conj(y)", "y": "grad * conj(x)"})
    op = getattr(opyard.ops, ns).product

    def called(values):
        x = leaf(values)
        loss = op(x, x).abs().sum()
        with opyard.profiler.profile(with_stack=False) as prof:
            loss.backward()
        return [event.name for event in prof.events() if "conj" in event.name]

    assert called(REAL) == []
    assert "aten::conj" in called(Z)


def test_X31_compiled_functions_of_complex_numbers_have_their_gradients():
    def loss(z, w):
        return ((z * w).exp() @ w.mH).abs().sum() + (z / w).imag.sum() + w.angle().sum()

    compiled = jit.compile(loss)
    for _ in range(2):
        z, w, u, v = leaf(Z), leaf(W), leaf(Z), leaf(W)
        compiled(z, w).backward()
        loss(u, v).backward()
        for a, b in ((z, u), (w, v)):
            assert a.grad.dtype == opyard.complex128
            assert a.grad.reshape([-1]).tolist() == pytest.approx(b.grad.reshape([-1]).tolist())
    assert "aten::conj" in str(compiled.graphs()[0])


def test_X31_compiled_gradients_of_real_numbers_are_without_conj():
    compiled = jit.compile(lambda x, y: (x * y).exp().mm(y.t()).sum())
    x, y = leaf(REAL), leaf(ABOVE)
    compiled(x, y).backward()
    assert "conj" not in str(compiled.graphs()[0])
    assert x.grad.dtype == opyard.float64


def test_X31_compile_runs_a_formula_of_real_numbers_as_it_is_for_complex_ones(library, ns):
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * x, "CPU")
    library.derivative("twice", {"x": "grad * x * 2"})
    op = getattr(opyard.ops, ns).twice
    compiled = jit.compile(lambda z: op(z).abs().sum())
    z = leaf(LINE)
    with pytest.warns(UserWarning, match=r'formula "grad \* x \* 2", which reads complex numbers'):
        result = compiled(z)
    with pytest.raises(NotImplementedError, match="write conj"):
        result.backward()


def test_G16_writes_to_complex_memory_are_taped():
    z = leaf(LINE)
    rows = opyard.zeros(2, 3, dtype=opyard.complex128)
    rows[0] = z
    rows[1] = z * 2j
    (rows * rows.conj()).real.sum().backward()
    assert z.grad.tolist() == pytest.approx([10 * v for v in LINE])


def written(z, r):
    """Each gives what has a history by a write through another view of complex memory."""

    def real_part():
        y = z * 1
        y.real[1] = r[0]
        return y * y

    def all_parts():
        y = z * 1
        y.view_as_real().mul_(2)
        return y * z

    def read_as_parts():
        parts = (z * 1).view_as_real()
        parts[..., 1] = r * r
        return parts

    def of_some_rows():
        y = z * 1
        y[1:].imag.mul_(r[1:])
        return y

    def into_a_buffer():
        buffer = opyard.zeros(2, 3, dtype=opyard.complex128)
        buffer.real[...] = r
        buffer.imag[1] = r[0] * 2
        return buffer * z

    def as_complex():
        buffer = opyard.zeros(2, 3, 2, dtype=opyard.float64)
        buffer.view_as_complex()[0] = z[0] * z[1]
        buffer[1, :, 0] = r[1]
        return buffer

    def taken_before():
        y = z * 1
        part = y.real
        y.mul_(z)
        return part * part

    def taken_and_written():
        y = z * 1
        part = y.imag
        part.mul_(3)
        y[0] = 1.0
        return part

    return [
        real_part,
        all_parts,
        read_as_parts,
        of_some_rows,
        into_a_buffer,
        as_complex,
        taken_before,
        taken_and_written,
    ]


@pytest.mark.parametrize("which", range(8))
def test_G16_writes_through_the_parts_of_complex_memory_are_taped(which):
    assert autograd.gradcheck(lambda z, r: written(z, r)[which](), [leaf(Z), leaf(REAL)])


def test_G16_a_write_through_a_part_of_a_leaf_is_refused():
    z = leaf(LINE)
    for view in (z.real, z.view_as_real()):
        with pytest.raises(ValueError, match="a view of a leaf Variable"):
            view.mul_(2)
    with pytest.raises(ValueError, match="a view of a leaf Variable"):
        z.imag = 0.0
    early = opyard.tensor(LINE, dtype=opyard.complex128)
    part = early.real
    early.requires_grad_()
    (part * part).sum().backward()
    assert early.grad.tolist() == pytest.approx([2 * v.real for v in LINE])


def test_F16_complex_parts_without_numpy():
    program = """
import sys
sys.modules["numpy"] = None
import opyard
z = opyard.tensor([1 + 2j, 3 - 4j])
assert z.abs().tolist()[1] == 5.0 and z.real.tolist() == [1.0, 3.0]
assert abs(opyard.ops.aten.polar(z.abs(), z.angle()).tolist()[1] - (3 - 4j)) < 1e-5
z = z.requires_grad_()
(z * z.conj()).real.sum().backward()
assert z.grad.tolist() == [2 + 4j, 6 - 8j]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_X31_forms_of_aten_functions_for_parts():
    z = opyard.tensor(LINE, dtype=opyard.complex128)
    out = opyard.ops.aten.empty([3], dtype=opyard.float64)
    assert aten.angle(z, out=out) is out and out.tolist() == aten.angle(z).tolist()
    made = opyard.ops.aten.empty([3], dtype=opyard.complex128)
    assert aten.complex(z.real, z.imag, out=made).tolist() == LINE
    assert aten.conj_physical(z, out=made).tolist() == [v.conjugate() for v in LINE]
    assert aten.polar(z.abs(), z.angle(), out=made).tolist() == pytest.approx(LINE)
    assert aten.conj_physical_(z.clone()).tolist() == [v.conjugate() for v in LINE]
    assert aten.sgn_(z.clone()).tolist() == pytest.approx([v / abs(v) for v in LINE])


@pytest.mark.parametrize("stride", [2**62, 2**63 - 1, -(2**62) - 1])
def test_a_stride_that_no_element_uses_may_be_any_number(stride):
    z = aten.as_strided(opyard.tensor([1 + 2j]), [1], [stride], 0)
    assert aten.view_as_real(z).tolist() == [[1.0, 2.0]] and z.imag.tolist() == [2.0]
    leaf_of_it = z.detach().requires_grad_()
    (leaf_of_it * leaf_of_it).real.sum().backward()
    assert leaf_of_it.grad.tolist() == [2 - 4j]
