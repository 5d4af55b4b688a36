"""test_numpy_answers.py: NumPy answers the operators of aten that no kernel of ours computes.

Suspect opyard/_numpy: loading.py and answers.py, then the module that provenance names.
test/torch/numpy_answers.py compares all answers with PyTorch's.
"""

import importlib

import pytest
from built import plugin_path
from processes import run

import opyard
from opyard import dispatch
from opyard._numpy import names

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")

aten = opyard.ops.aten
MATRIX = [[2.0, 1.0], [1.0, 3.0]]


def answers_of(module):
    from opyard._numpy import answers

    if module == "special":
        pytest.importorskip("scipy")
    importlib.import_module(f"opyard._numpy.{module}")
    return answers.table[f"opyard._numpy.{module}"]


def compositions_of(module):
    from opyard._numpy import answers

    return answers.compositions.get(f"opyard._numpy.{module}", [])


@pytest.mark.parametrize("module", names.MODULES)
def test_the_names_are_those_of_the_schemas(module):
    schemas = [schema for schema, _ in [*answers_of(module), *compositions_of(module)]]
    found = sorted({schema.partition("(")[0].partition(".")[0] for schema in schemas})
    assert found == sorted(names.MODULES[module].split())


@pytest.mark.parametrize("module", names.MODULES)
def test_each_schema_is_defined_and_fits_its_function(module):
    import inspect

    for schema, function in answers_of(module):
        full = schema.partition("(")[0]
        name, _, overload = full.partition(".")
        packet = getattr(aten, name)
        parsed = opyard.schema.parse(schema)
        is_answered = dispatch.has_kernel(f"aten::{full}", "CPU")
        if is_answered and "computed by" in dispatch.provenance(f"aten::{full}", "CPU"):
            assert str(getattr(packet, overload or "default")._schema) == str(
                opyard.schema.parse("aten::" + schema)
            )
        takes = [each for each in inspect.signature(function).parameters if each != "of_bfloat16"]
        by_name = [each.name for each in parsed.arguments if each.kwarg_only]
        assert len(takes) == len(parsed.arguments), schema
        assert takes[len(takes) - len(by_name) :] == by_name, schema


def test_there_are_at_least_a_hundred():
    total = sum(len(answers_of(module)) for module in names.MODULES)
    assert total >= 100


def test_an_answer_computes_and_explain_says_whose_it_is():
    x = opyard.tensor(MATRIX)
    assert np.allclose(aten.linalg_inv(x).numpy(), np.linalg.inv(np.array(MATRIX)))
    assert round(x.det().item(), 4) == 5.0  # as a method of Tensor, too
    route = dispatch.explain(aten.linalg_inv, x)
    assert route.kernel == (
        f"registered at opyard/_numpy/linalg.py, computed by NumPy {np.__version__} "
        "(OPYARD_NUMPY=off turns it off)"
    )


def test_tensors_are_taken_without_a_copy_and_given_memory_of_their_own():
    from opyard._numpy import answers

    seen = []

    def function(x, y):
        seen.append((x, y))
        return x

    kernel = answers.Kernel("f(Tensor x, Tensor[] y) -> Tensor", function)
    x = opyard.tensor(MATRIX)
    made = kernel(x, [x])
    assert seen[0][0].ctypes.data == seen[0][1][0].ctypes.data == x.data_ptr()
    assert made.data_ptr() != x.data_ptr() and made.tolist() == MATRIX
    turned = answers.Kernel("f(Tensor x) -> Tensor", np.fliplr)(x)
    assert turned.is_contiguous() and turned.data_ptr() != x.data_ptr()


def test_defaults_and_keywords_arrive_as_the_schema_says():
    from opyard._numpy import answers

    schema = 'f(Tensor x, int n=3, *, str s="a", ScalarType? dtype=None) -> Tensor'
    seen = []

    def function(x, n, s, dtype):
        seen.append((n, s, dtype))
        return x

    kernel, x = answers.Kernel(schema, function), opyard.tensor([1.0])
    kernel(x), kernel(x, 4, s="b", dtype=opyard.float64)
    assert seen == [(3, "a", None), (4, "b", np.dtype(np.float64))]


def test_what_is_refused_names_operator_and_arguments():
    with pytest.raises(ValueError) as error:
        aten.linalg_inv(opyard.ones(2, 3))
    assert str(error.value) == (
        "aten::linalg_inv(float32[2, 3]), as NumPy answers it: square matrices are wanted, not "
        "[2, 3]"
    )
    with pytest.raises(ValueError, match="Singular matrix"):
        aten.linalg_inv(opyard.zeros(2, 2))
    with pytest.raises(ValueError, match="to more bytes than fit in 64 bits"):
        aten.repeat_interleave(opyard.ones(4, 3, 2, dtype=opyard.complex128), 2**62, 0)
    with pytest.raises(IndexError, match="dim 3 is out of range for 1 dimensions"):
        aten.cummax(opyard.ones(2), 3)


def test_dtypes_are_those_of_pytorch_and_not_of_numpy():
    ints, floats = opyard.tensor([1, 2, 3]), opyard.tensor([0.5, 1.5, 2.5])
    wide = opyard.tensor(2.0, dtype=opyard.float64)
    assert aten.fft_fft(floats).dtype is opyard.complex64
    assert aten.fmax(ints, floats).dtype is opyard.float32
    assert aten.fmax(floats, wide).dtype is opyard.float32  # a tensor without dimensions
    assert aten.quantile(floats, 0.5).dtype is opyard.float32


def test_some_values():
    x = opyard.tensor([3.0, 1.0, float("nan"), 2.0])
    assert aten.nansum(x).item() == 6.0
    assert np.isnan(aten.median(x).item()) and aten.nanmedian(x).item() == 2.0
    values, places = aten.cummax(opyard.tensor([1, 3, 3, 2]), 0)
    assert (values.tolist(), places.tolist()) == ([1, 3, 3, 3], [0, 1, 2, 2])
    found = aten.searchsorted(opyard.tensor([1, 3, 5]), opyard.tensor([3, 4]), right=True)
    assert found.tolist() == [2, 2]
    values, inverse, counts = aten._unique2(opyard.tensor([2, 1, 2]), True, True, True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2], [1, 0, 1], [1, 2])
    variance, mean = aten.var_mean(opyard.tensor([1.0, 2.0, 3.0]), False)
    assert (mean.item(), round(variance.item(), 4)) == (2.0, 0.6667)


def strides_of(tensors):
    return [tuple(each.stride()) for each in tensors if each.ndim > 1]


def test_matrices_of_lapack_lie_column_after_column():
    x = opyard.tensor([[[2.0, 1.0], [1.0, 3.0]]] * 3)
    results = [
        aten.linalg_inv(x),
        aten.linalg_cholesky(x, upper=True),
        *aten.linalg_qr(x),
        aten.linalg_eigh(x)[1],
        aten.linalg_svd(x)[0],
        aten.linalg_svd(x)[2],
        aten.linalg_solve(x, x),
        aten.linalg_inv_ex(x)[0],
    ]
    assert strides_of(results) == [(4, 1, 2)] * len(results)
    assert aten.linalg_solve(x, x, left=False).is_contiguous()
    assert aten.linalg_inv(x).tolist()[0] == np.linalg.inv(np.float32(MATRIX)).tolist()


def test_transforms_keep_the_order_of_dimensions_that_pytorch_gives():
    x = opyard.ones(2, 3, 4)
    assert strides_of([aten._fft_r2c(x, [1], 0, True)]) == [(8, 1, 2)]
    assert strides_of([aten._fft_r2c(x, [0, 2], 0, False)]) == [(4, 8, 1)]
    z = aten._fft_r2c(x, [1], 0, False)
    assert strides_of([aten._fft_c2c(z, [0, 2], 0, True)]) == [(4, 8, 1)]
    assert strides_of([aten._fft_c2r(z, [1], 0, 3)]) == [(12, 1, 3)]


def test_forms_with_info_say_which_matrix_has_no_answer():
    whole, singular = MATRIX, [[1.0, 2.0], [2.0, 4.0]]
    both = opyard.tensor([whole, singular])
    made, info = aten.linalg_inv_ex(both)
    assert info.tolist() == [0, 2] and info.dtype is opyard.int32
    assert np.allclose(made.numpy()[0], np.linalg.inv(whole), atol=1e-6)
    assert np.isnan(made.numpy()[1]).all()
    assert aten.linalg_inv_ex(opyard.zeros(2, 2))[1].item() == 1
    assert aten.linalg_cholesky_ex(opyard.tensor([[1.0, 2.0], [2.0, 1.0]]))[1].item() == 2
    assert aten.linalg_cholesky_ex(opyard.tensor(whole))[1].item() == 0
    made, info = aten.linalg_solve_ex(both, opyard.ones(2, 2, 3))
    assert info.tolist() == [0, 2] and tuple(made.shape) == (2, 2, 3)
    made, info = aten.linalg_solve_ex(opyard.tensor(singular), opyard.ones(2))
    assert info.item() == 2 and np.isnan(made.numpy()).all()
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix \[1\] of the batch is singular, at 2"):
        aten.linalg_inv_ex(both, check_errors=True)
    with pytest.raises(np.linalg.LinAlgError, match="is not positive definite, at 1"):
        aten.linalg_cholesky_ex(opyard.zeros(2, 2), check_errors=True)


def test_J2_a_matrix_without_an_answer_is_a_LinAlgError():
    singular = opyard.tensor([[1.0, 2.0], [2.0, 4.0]])
    for call in (
        lambda: aten.linalg_inv(singular),
        lambda: aten.linalg_solve(singular, opyard.ones(2)),
        lambda: aten.linalg_cholesky(opyard.tensor([[1.0, 2.0], [2.0, 1.0]])),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="as NumPy answers it") as caught:
            call()
        assert isinstance(caught.value, ValueError)


def test_a_gradient_through_an_answer_is_refused_with_words():
    x = opyard.tensor(MATRIX).requires_grad_()
    with pytest.raises(NotImplementedError, match="heaviside, which has no autograd formula"):
        aten.heaviside(x, opyard.ones(2, 2)).sum().backward()


def test_the_kernels_of_the_package_go_first():
    assert "NumPy" not in dispatch.provenance("aten::add.Tensor", "CPU")
    assert not {"add", "sum", "matmul"} & {
        name for text in names.MODULES.values() for name in text.split()
    }


LAZY = """
import sys
import opyard

assert "det" in dir(opyard.ops.aten)
assert not hasattr(opyard.ones(2), "no_such_operator")
assert not {"numpy", "scipy"} & set(sys.modules)
opyard.ops.aten.det
assert "numpy" in sys.modules and "scipy" not in sys.modules
"""
OFF = """
import opyard

assert "det" not in dir(opyard.ops.aten) and not hasattr(opyard.ops.aten, "det")
try:
    opyard.ones(2, 2).det()
except AttributeError as error:
    print(error)
"""
WITHOUT = """
import sys
sys.modules["numpy"] = None
import opyard

assert not hasattr(opyard.ops.aten, "det")
assert not hasattr(opyard.ops.aten, "det")
"""
OF_A_USER = """
import opyard

with opyard.library.Library("aten", "FRAGMENT") as mine:
    mine.define("no_one_answers(Tensor x) -> Tensor")
    try:
        opyard.ops.aten.no_one_answers(opyard.ones(2))
    except NotImplementedError as error:
        assert "no_one_answers" in str(error) and "CPU" in str(error), error
"""


@pytest.mark.parametrize("program", [LAZY, WITHOUT, OF_A_USER], ids=["lazy", "without", "user's"])
def test_in_a_program(run_program, program):
    done = run_program(program)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_switch_turns_all_answers_off(run_program, monkeypatch):
    monkeypatch.setenv("OPYARD_NUMPY", "off")
    done = run_program(OFF)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "det" in done.stdout
    monkeypatch.setenv("OPYARD_NUMPY", "no")
    done = run_program("import opyard; opyard.ops.aten.det")
    assert "ignoring invalid value for OPYARD_NUMPY: no; valid values are on or off" in done.stderr


def test_what_aten_lacks_is_said_with_the_reason(run_program, monkeypatch):
    with pytest.raises(AttributeError) as caught:
        aten.no_such_operator  # noqa: B018
    assert str(caught.value) == (
        "'_OpNamespace' 'aten' object has no attribute 'no_such_operator': Opyard has none; "
        'Library("aten", "FRAGMENT") of opyard.library defines one in this process'
    )
    monkeypatch.setenv("OPYARD_NUMPY", "off")
    done = run_program("import opyard; opyard.ops.aten.cholesky")
    assert "NumPy could answer it, and OPYARD_NUMPY=off keeps it from that" in done.stderr
    monkeypatch.delenv("OPYARD_NUMPY")
    hidden = "import sys; sys.modules['numpy'] = sys.modules['scipy'] = None\nimport opyard\n"
    for name in ("cholesky", "special_i0e"):
        done = run_program(f"{hidden}opyard.ops.aten.{name}")
        assert "answers it where it is installed; here it is not" in done.stderr, done.stderr


def complex_zeros(*sizes):
    return aten.zeros(list(sizes), dtype=opyard.complex64)


@pytest.mark.parametrize(
    "call",
    [
        lambda: aten.fft_irfft(complex_zeros(2, 0), 5, 1),
        lambda: aten.fft_irfft(aten.empty([2, 0], dtype=opyard.uint8), 5),
        lambda: aten.fft_hfft(complex_zeros(2, 0), 5),
        lambda: aten.fft_irfftn(complex_zeros(2, 0), [5]),
        lambda: aten.fft_hfftn(complex_zeros(2, 0), [5]),
        lambda: aten._fft_c2r(complex_zeros(2, 0), [1], 2, 5),
    ],
)
def test_a_transform_of_nothing_reads_nothing(call):
    [np.full(size, 7.0, "complex64") for size in range(1, 40)]  # what a read beyond memory finds
    assert (call() == 0).all().item()
    assert call().shape == (2, 5)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_are_those_of_numpy(name, norm):
    takes_real = name in ("rfft", "ihfft")
    x = np.random.default_rng(5).standard_normal((4, 6))
    x = x if takes_real else x + 1j * x[::-1]
    given = opyard.from_numpy(x.copy())
    one = getattr(np.fft, name)
    for n, dim in ((None, -1), (3, -1), (8, 0), (5, 1)):
        found = getattr(aten, f"fft_{name}")(given, n, dim, norm)
        np.testing.assert_allclose(found.numpy(), one(x, n, dim, norm), atol=1e-12)
    several = getattr(np.fft, name + "n", None)
    if several is not None:
        for s, dim in ((None, None), ([3, 5], [0, 1])):
            found = getattr(aten, f"fft_{name}n")(given, s, dim, norm)
            np.testing.assert_allclose(found.numpy(), several(x, s, dim, norm), atol=1e-12)
        np.testing.assert_allclose(
            getattr(aten, f"fft_{name}2")(given, norm=norm).numpy(),
            several(x, None, [-2, -1], norm),
            atol=1e-12,
        )


def test_shifts_and_frequencies_are_those_of_numpy():
    x = np.arange(15.0).reshape(3, 5)
    for name in ("fftshift", "ifftshift"):
        for dim in (None, [0], [-1]):
            found = getattr(aten, f"fft_{name}")(opyard.from_numpy(x.copy()), dim)
            np.testing.assert_array_equal(found.numpy(), getattr(np.fft, name)(x, dim))
    for name in ("fftfreq", "rfftfreq"):
        for n in (1, 2, 5, 8):
            found = getattr(aten, f"fft_{name}")(n, 0.5, dtype=opyard.float64)
            np.testing.assert_allclose(found.numpy(), getattr(np.fft, name)(n, 0.5))


def on_meta(value):
    if isinstance(value, (list, tuple)):
        return type(value)(on_meta(each) for each in value)
    if not isinstance(value, opyard.Tensor):
        return value
    sizes, strides = list(value.shape), list(value.stride())
    return aten.empty_strided(sizes, strides, dtype=value.dtype, device="meta")


def geometry(results):
    results = results if isinstance(results, (list, tuple)) else [results]
    return [(each.dtype, tuple(each.shape), tuple(each.stride())) for each in results]


TALL = opyard.tensor(np.random.default_rng(4).standard_normal((2, 6, 4)))
GRAM = TALL.transpose(1, 2) @ TALL
CALLS_ON_BOTH = [
    (lambda x: aten.linalg_inv(x), GRAM),
    (lambda x: aten.linalg_qr(x), TALL),
    (lambda x: aten.linalg_svd(x, full_matrices=False), TALL),
    (lambda x: aten.linalg_svd(x), TALL.transpose(1, 2)),
    (lambda x: aten.linalg_cholesky(x), GRAM),
    (lambda x: aten.linalg_solve(x, x[:, :, :3]), GRAM),
    (lambda x: aten.linalg_eig(x), GRAM),
    (lambda x: aten.linalg_slogdet(x), GRAM),
    (lambda x: aten.linalg_matrix_rank(x), TALL),
    (lambda x: aten.linalg_pinv(x), TALL),
    (lambda x: aten.median.dim(x, 1, True), TALL),
    (lambda x: aten.nanmean(x, [0, 2]), TALL),
    (lambda x: aten.var_mean.correction(x, [1], correction=0, keepdim=True), TALL),
    (lambda x: aten.quantile(x, opyard.tensor([0.2, 0.7], dtype=x.dtype), 1), TALL),
    (lambda x: aten.cummax(x, 2), TALL),
    (lambda x: aten.histc(x, 7), TALL),
    (lambda x: aten.cov(x[0]), TALL),
    (lambda x: aten.aminmax(x, dim=0), TALL),
    (lambda x: aten.searchsorted(x[0, 0], x[:, 0]), TALL),
    (lambda x: aten.msort(x), TALL.transpose(0, 2)),
    (lambda x: aten.fmax(x, x[:, :1]), TALL),
    (lambda x: aten.fmax(x[0].int(), x[0, 0]), TALL),
    (lambda x: aten.nan_to_num(x), TALL.transpose(0, 2)),
    (lambda x: aten.frexp(x), TALL),
    (lambda x: aten.fmin(x, x), TALL.to(opyard.bfloat16)),
    (lambda x: aten.fmax(x, x), opyard.tensor(3.0)),
    (lambda x: aten.fmax(x, x), opyard.zeros(3, 0, 2)),
]


@pytest.mark.parametrize("case", range(len(CALLS_ON_BOTH)))
def test_answers_are_on_meta_with_the_geometry_that_they_have_on_the_cpu(case):
    call, x = CALLS_ON_BOTH[case]
    there = call(on_meta(x))
    assert geometry(there) == geometry(call(x))
    results = there if isinstance(there, (list, tuple)) else [there]
    assert {str(each.device) for each in results} == {"meta"}


def test_an_answer_on_meta_needs_no_memory():
    huge = aten.empty([2**40, 3, 3], device="meta")
    assert tuple(aten.linalg_inv(huge).shape) == (2**40, 3, 3)
    assert aten.linalg_det(huge).shape[0] == 2**40


def test_a_size_that_no_argument_has_is_refused_on_meta():
    from opyard._numpy import answers, stand_ins

    def kernel_of(function):
        kernel = answers.Kernel("f(Tensor x, Tensor y) -> Tensor", lambda x, y: function(x, y))
        return stand_ins.meta_kernel(kernel)

    x, y = aten.empty([8, 5], device="meta"), aten.empty([5, 1], device="meta")
    same = kernel_of(lambda x, y: x @ y)
    assert tuple(same(x, y).shape) == (8, 1)
    assert tuple(kernel_of(lambda x, y: np.zeros((4, x.shape[0])))(x, y).shape) == (4, 8)
    for shape in (
        lambda x: (x.shape[0] + x.shape[1],),
        lambda x: (x.shape[0] * 2,),
        lambda x: (x.shape[0] - 1,),
        lambda x: (x.size,),
        lambda x: (1,) * (x.shape[0] % 3),
    ):
        function = kernel_of(lambda x, y, shape=shape: np.zeros(shape(x)))
        with pytest.raises(NotImplementedError, match=r"aten::f\(float32\[8, 5\], .*\) on meta: "):
            function(x, y)
    with pytest.raises(NotImplementedError, match="a number that depends on elements"):
        kernel_of(lambda x, y: bool(x.any()))(x, y)
    many = aten.empty(list(range(2, 11)), device="meta")
    with pytest.raises(NotImplementedError, match="there are 9 sizes; up to 8 are accepted"):
        same(many, many)


def test_what_an_answer_refuses_it_refuses_on_meta():
    with pytest.raises(ValueError) as error:
        aten.linalg_inv(aten.empty([200, 300], device="meta"))
    assert str(error.value) == (
        "aten::linalg_inv(float32[200, 300]) on meta, as NumPy answers it with small tensors in "
        "their place: square matrices are wanted, not [3, 7]"
    )
    with pytest.raises(NotImplementedError, match="aten::_unique2 has no kernel at Meta"):
        aten._unique2(aten.empty([3], device="meta"))


BEFORE = """
import sys
import warnings
import opyard
from opyard import dispatch

def values(name):
    one, other = opyard.tensor([1.0, 5.0]), opyard.tensor([3.0, 2.0])
    return getattr(opyard.ops.aten, name)(one, other).tolist()

if sys.argv[2] == "before":
    opyard.load_library(sys.argv[1])
    assert values("fmax") == values("fmin") == [1.0, 5.0], (values("fmax"), values("fmin"))
    meta = opyard.ops.aten.fmax(*[opyard.empty(2, device="meta")] * 2)
    assert meta.shape == (2,)
else:
    warnings.simplefilter("ignore")  # the kernel of NumPy is replaced, and it says so
    assert values("fmax") == [3.0, 5.0] and values("fmin") == [1.0, 2.0]
    opyard.load_library(sys.argv[1])
    assert values("fmax") == [1.0, 5.0]
assert "answered_plugin.cpp" in dispatch.provenance("aten::fmax", "CPU")
"""


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_kernel_of_a_plugin_stays_whichever_comes_first(order):
    done = run(BEFORE, plugin_path("opyard_answered_plugin"), order)
    assert (done.code, done.stderr) == (0, ""), done.stderr


def test_an_override_of_all_is_one_of_those_that_were_not_used_yet():
    done = run("""
        import opyard
        from opyard import library, ops
        seen = []
        def kernel(call_next, *args, **kwargs):
            seen.append(call_next.op.name())
            return call_next(*args, **kwargs)
        override = library.override("aten::*", "CPU", kernel, with_next=True)
        x = opyard.tensor([[1.0, 0.0], [0.0, 1.0]])
        ops.aten.mul(x, x), ops.aten.linalg_inv(x)
        assert seen == ["aten::mul.Tensor", "aten::linalg_inv"], seen
        override.remove()
    """)
    assert (done.code, done.stderr) == (0, "")
