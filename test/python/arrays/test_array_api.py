"""test_array_api.py: the namespace of the array API standard, and members of Tensor for it.

Suspect publish/python/opyard/_array_api/{info,data_types,creation,manipulation}.py, and for
members pyfallback/objects/tensor/tensor_methods.cpp and tensor_number.cpp.
"""

import inspect
import operator

import numpy as np
import pytest

import opyard
import opyard.array_api as xp

pytestmark = pytest.mark.once

# The names of 2024.12, by section.
STANDARD = {
    "constants": "e inf nan newaxis pi",
    "creation": """
        arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones
        ones_like tril triu zeros zeros_like
    """,
    "data types": "astype can_cast finfo iinfo isdtype result_type __array_namespace_info__",
    "elementwise": """
        abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
        bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh
        divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf
        isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or
        logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
        reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc
    """,
    "indexing, searching, sets, sorting": """
        take take_along_axis argmax argmin count_nonzero nonzero searchsorted where unique_all
        unique_counts unique_inverse unique_values argsort sort
    """,
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": """
        broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape
        roll squeeze stack tile unstack
    """,
    "statistics": """
        cumulative_prod cumulative_sum max mean min prod std sum var all any diff
    """,
}
EXTENSIONS = {
    "linalg": """
        cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
        matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
    """,
    "fft": """
        fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
    """,
}
DTYPES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
""".split()


def sevens(*shape, dtype="float32"):
    return xp.asarray((np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype))


# The namespace ----------------------------------------------------------------------------


@pytest.mark.parametrize("section", STANDARD)
def test_each_name_of_the_standard_is_there(section):
    for name in STANDARD[section].split():
        assert hasattr(xp, name) and name in xp.__all__, name


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_each_name_of_an_extension_is_there(extension):
    found = getattr(xp, extension)
    assert sorted(found.__all__) == sorted(EXTENSIONS[extension].split())


def test_functions_say_what_they_take():
    for module in (xp, xp.linalg, xp.fft):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function):
                assert function.__name__ == name and function.__doc__
                assert inspect.signature(function).return_annotation is not inspect._empty
    assert list(inspect.signature(xp.exp).parameters) == ["x"]
    assert str(inspect.signature(xp.sum)).count("axis") == 1
    with pytest.raises(TypeError):
        xp.exp(x=sevens(2))


def test_a_tensor_names_the_namespace():
    x = sevens(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2022.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="api_version is '1999.12'; accepted are 2021.12"):
        x.__array_namespace__(api_version="1999.12")


def test_importing_the_package_does_not_import_it(run_program):
    done = run_program(
        """
        import sys
        import opyard
        assert "opyard.array_api" not in sys.modules
        x = opyard.tensor([1.0])
        assert hasattr(x, "__array_namespace__") and "opyard.array_api" not in sys.modules
        assert x.__array_namespace__() is opyard.array_api
        assert "numpy" not in sys.modules
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_info():
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.default_device() == opyard.device("cpu") and info.devices() == [xp.zeros(1).device]
    assert info.default_dtypes()["real floating"] is xp.asarray([1.0]).dtype
    assert info.default_dtypes()["integral"] is xp.asarray([1]).dtype
    assert info.default_dtypes()["complex floating"] is xp.asarray([1j]).dtype
    assert list(info.dtypes()) == DTYPES
    assert list(info.dtypes(kind="unsigned integer")) == ["uint8", "uint16", "uint32", "uint64"]
    assert list(info.dtypes(kind=("bool", "real floating"))) == ["bool", "float32", "float64"]
    with pytest.raises(ValueError, match="kind is 'numbers'; accepted are bool, signed"):
        info.dtypes(kind="numbers")
    with pytest.raises(ValueError, match="dtypes: device is meta; accepted is cpu"):
        info.dtypes(device="meta")


# Members of Tensor ------------------------------------------------------------------------


@pytest.mark.parametrize("symbol", [operator.lshift, operator.rshift])
def test_shifts(symbol):
    x, y = xp.asarray([1, -16, 40]), xp.asarray([3, 1, 0])
    expected = symbol(x.numpy(), y.numpy())
    for other in (y, y.numpy()):
        found = symbol(x, other)
        assert isinstance(found, opyard.Tensor) and found.tolist() == expected.tolist()
    assert symbol(x.numpy(), y).tolist() == expected.tolist()
    assert symbol(x, 2).tolist() == symbol(x.numpy(), 2).tolist()
    assert symbol(x, np.int64(2)).tolist() == symbol(x.numpy(), 2).tolist()
    assert symbol(64, y).tolist() == symbol(64, y.numpy()).tolist()
    for wrong in (1.5, "1", None):
        with pytest.raises(TypeError, match="unsupported operand"):
            symbol(x, wrong)


@pytest.mark.parametrize("symbol", [operator.ilshift, operator.irshift])
def test_shifts_in_place(symbol):
    x = xp.asarray([1, -16, 40])
    expected = symbol(x.numpy().copy(), 2)
    assert symbol(x, 2) is x and x.tolist() == expected.tolist()


def test_a_shift_is_a_call_that_modes_see():
    seen = []

    class Mode(opyard.dispatch.DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            seen.append(op.name())
            return op(*args, **(kwargs or {}))

    with Mode():
        xp.asarray([1]) << 1
        xp.exp(xp.asarray([1.0]))
    assert seen[-2] == "aten::bitwise_left_shift.Tensor_Scalar"
    assert seen[-1] in ("aten::exp", "aten::exp.default")


def test_complex():
    assert complex(xp.asarray(1 + 2j)) == 1 + 2j
    assert complex(xp.asarray(1.5)) == 1.5 + 0j
    with pytest.raises(ValueError, match="complex: the tensor is .* with 2 elements"):
        complex(xp.asarray([1j, 2j]))


def test_to_device():
    x = sevens(2)
    assert x.to_device("cpu") is x and x.to_device(x.device) is x
    assert x.to_device("meta").device == opyard.device("meta")
    with pytest.raises(ValueError, match="to_device: stream is 1"):
        x.to_device("cpu", stream=1)


def test_functions_are_compiled_and_traced():
    def function(x):
        return xp.mean(xp.exp(x) + xp.clip(x, 0.0, 1.0), axis=0)

    x = sevens(2, 3)
    expected = function(x)
    assert opyard.jit.compile(function)(x).tolist() == expected.tolist()
    assert "aten::exp" in str(opyard.jit.trace(function, (x,)))


def test_functions_run_on_meta():
    x = xp.zeros((2, 3), device="meta")
    for made in (xp.add(x, 1), xp.where(x > 0, x, 1.0), xp.exp(x), np.maximum(x, 1.0)):
        assert (made.shape, made.device) == ((2, 3), opyard.device("meta"))
    assert xp.mean(x, axis=0).shape == xp.linspace(0, 1, 3, device="meta").shape == (3,)


# Data types -------------------------------------------------------------------------------


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
def test_promotion_inside_a_kind_is_numpys(first, second):
    a, b = getattr(xp, first), getattr(xp, second)
    if "uint64" in (first, second) and (first.startswith("int") or second.startswith("int")):
        with pytest.raises(TypeError, match="result_type: .* meet in no integer dtype"):
            xp.result_type(a, b)
        assert not xp.can_cast(a, b)
        return
    found = xp.result_type(a, b)
    assert found is xp.result_type(b, a) is xp.result_type(xp.zeros((), dtype=a), b)
    kinds = {np.dtype(name).kind.replace("u", "i").replace("c", "f") for name in (first, second)}
    if len(kinds) == 1:
        assert found.name == np.result_type(first, second).name
    assert xp.can_cast(a, b) == (found is b)
    if first != "bool" and second != "bool":
        x, y = xp.ones((), dtype=a), xp.ones(2, dtype=b)
        assert xp.add(x, y).dtype is xp.multiply(y, x).dtype is found
        assert xp.where(xp.asarray(True), x, y).dtype is found


@pytest.mark.parametrize(
    ("dtype", "number", "result"),
    [
        ("int8", 1, "int8"),
        ("int8", True, "int8"),
        ("int8", 1.5, "float32"),
        ("bool", 1, "int64"),
        ("float32", 1, "float32"),
        ("float64", 1.5, "float64"),
        ("float32", 1j, "complex64"),
        ("float64", 1j, "complex128"),
        ("complex64", 1j, "complex64"),
        ("int64", 1j, "complex64"),
    ],
)
def test_a_number_counts_as_its_kind(dtype, number, result):
    x = xp.ones(2, dtype=getattr(xp, dtype))
    assert xp.result_type(x, number).name == result
    if dtype != "bool":
        assert xp.multiply(x, number).dtype.name == xp.multiply(number, x).dtype.name == result


def test_result_type_refuses():
    with pytest.raises(TypeError, match="at least one argument is to be a tensor or a dtype"):
        xp.result_type(1, 2.0)
    with pytest.raises(TypeError, match="result_type: 'float32' is of type str"):
        xp.result_type(xp.float32, "float32")


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_finfo(name):
    found, expected = xp.finfo(getattr(xp, name)), np.finfo(name)
    for field in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(found, field) == getattr(expected, field), field
        assert type(getattr(found, field)) is (int if field == "bits" else float)
    assert found.dtype.name == expected.dtype.name
    assert xp.finfo(xp.ones(1, dtype=getattr(xp, name))) == found


def test_finfo_of_short_floats():
    assert xp.finfo(opyard.float16).max == 65504.0
    assert xp.finfo(opyard.bfloat16).eps == 2.0**-7
    with pytest.raises(TypeError, match="finfo: the dtype is int32; accepted are floating"):
        xp.finfo(xp.int32)


@pytest.mark.parametrize("name", DTYPES[1:9])
def test_iinfo(name):
    found, expected = xp.iinfo(getattr(xp, name)), np.iinfo(name)
    assert (found.bits, found.max, found.min) == (expected.bits, expected.max, expected.min)
    with pytest.raises(TypeError, match="iinfo: the dtype is float32"):
        xp.iinfo(xp.float32)


@pytest.mark.parametrize("name", DTYPES)
def test_isdtype(name):
    dtype = getattr(xp, name)
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "numeric",
                 "real floating", "complex floating"):  # fmt: skip
        assert xp.isdtype(dtype, kind) == np.isdtype(np.dtype(name), kind)
    assert xp.isdtype(dtype, (dtype, "bool")) and xp.isdtype(dtype, dtype)
    with pytest.raises(ValueError, match="isdtype: kind is 'int'"):
        xp.isdtype(dtype, "int")
    with pytest.raises(TypeError, match="isdtype: dtype is <class 'float'>"):
        xp.isdtype(float, "integral")


def test_astype():
    x = xp.asarray([1.5, -2.5])
    assert xp.astype(x, xp.int8).tolist() == [1, -2] and xp.astype(x, xp.int8).dtype is xp.int8
    assert xp.astype(x, xp.float32, copy=False) is x
    copied = xp.astype(x, xp.float32)
    assert copied is not x and copied.data_ptr() != x.data_ptr()
    assert xp.astype(x, xp.float64, device="meta").device == opyard.device("meta")
    with pytest.raises(TypeError, match=r"call real\(x\) or imag\(x\) first"):
        xp.astype(xp.asarray([1j]), xp.float64)


# Creation ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "numbers",
    [(5,), (2, 5), (5, 2), (0, 1, 0.25), (5, 1, -2), (1, 1), (0.5, 3.0), (3, 9, 2), (5, 1, 2)],
)
def test_arange(numbers):
    found, expected = xp.arange(*numbers), np.arange(*numbers)
    assert found.tolist() == expected.tolist()
    assert found.dtype.name == ("int64" if expected.dtype.kind == "i" else "float32")
    assert xp.arange(*numbers, dtype=xp.float64).dtype is xp.float64
    with pytest.raises(ValueError, match="arange: step is 0"):
        xp.arange(0, 5, 0)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (2.5, -3), (1, 1), (1j, 2 - 1j)])
def test_linspace(start, stop, num, endpoint):
    is_complex = isinstance(start, complex)
    dtype = xp.complex128 if is_complex else xp.float64
    found = xp.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)
    expected = np.linspace(start, stop, num, endpoint=endpoint)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-15)
    assert xp.linspace(start, stop, num).dtype is (xp.complex64 if is_complex else xp.float32)


def test_linspace_refuses():
    with pytest.raises(ValueError, match="linspace: num is -1"):
        xp.linspace(0, 1, -1)
    with pytest.raises(TypeError, match="linspace: dtype is float32; .* for complex bounds"):
        xp.linspace(0, 1j, 3, dtype=xp.float32)
    with pytest.raises(TypeError, match="linspace: dtype is int64"):
        xp.linspace(0, 1, 3, dtype=xp.int64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4), (4, 2), (2, 2), (0, 3)])
def test_eye_tril_and_triu(shape, dtype):
    for k in (-5, -1, 0, 1, 2, 5):
        found = xp.eye(*shape, k=k, dtype=getattr(xp, dtype))
        assert found.dtype.name == dtype
        assert (found.numpy() == np.eye(*shape, k=k, dtype=dtype)).all()
        x = sevens(2, *shape, dtype=dtype)
        assert (xp.tril(x, k=k).numpy() == np.tril(x.numpy(), k)).all()
        assert (xp.triu(x, k=k).numpy() == np.triu(x.numpy(), k)).all()


def test_shapes_dtypes_and_numbers():
    assert xp.zeros(3).tolist() == [0.0] * 3 and xp.ones((1, 2), dtype=xp.int8).shape == (1, 2)
    assert xp.empty((0, 2)).shape == (0, 2) and xp.zeros(()).shape == ()
    assert xp.full((2,), 5).dtype is xp.int64 and xp.full(2, 1.5).dtype is xp.float32
    assert xp.full(2, True).dtype is xp.bool and xp.full(2, 1j).dtype is xp.complex64
    x = sevens(2, 3, dtype="int16")
    for function in (xp.zeros_like, xp.ones_like, xp.empty_like):
        assert (function(x).dtype, function(x).shape) == (xp.int16, (2, 3))
        assert function(x, dtype=xp.float64).dtype is xp.float64
    assert xp.full_like(x, 4).tolist() == [[4] * 3] * 2
    with pytest.raises(ValueError, match=r"zeros: shape is \(2, -1\); a size is not negative"):
        xp.zeros((2, -1))
    with pytest.raises(TypeError, match=r"ones: shape\[0\] is 1.5; accepted is an int"):
        xp.ones((1.5,))
    with pytest.raises(TypeError, match="zeros: dtype is 'float32'; accepted is a dtype of"):
        xp.zeros(2, dtype="float32")


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing):
    axes = [np.arange(2), np.arange(3), np.arange(4)]
    for count in range(4):
        found = xp.meshgrid(*(xp.asarray(each) for each in axes[:count]), indexing=indexing)
        expected = np.meshgrid(*axes[:count], indexing=indexing)
        assert isinstance(found, list)
        assert [x.tolist() for x in found] == [x.tolist() for x in expected]
    with pytest.raises(ValueError, match="meshgrid: indexing is 'yx'"):
        xp.meshgrid(xp.asarray([1]), indexing="yx")
    with pytest.raises(ValueError, match=r"meshgrid: arrays\[0\] has 2 dimensions"):
        xp.meshgrid(sevens(2, 2))


def test_asarray():
    x = sevens(2)
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True).data_ptr() != x.data_ptr()
    assert xp.asarray(x, dtype=xp.int8).dtype is xp.int8
    a = np.arange(3.0)
    assert xp.asarray(a).data_ptr() == xp.asarray(a, copy=False).data_ptr() == a.ctypes.data
    assert xp.asarray(a, copy=True).data_ptr() != a.ctypes.data
    assert xp.asarray(a[::-1]).tolist() == [2.0, 1.0, 0.0]  # a copy: no tensor runs backwards
    assert xp.asarray([[1, 2], [3, 4]]).dtype is xp.int64
    assert xp.asarray(np.float64(1.5)).dtype is xp.float64
    assert xp.asarray(memoryview(b"ab")).tolist() == [97, 98]
    with pytest.raises(ValueError, match="asarray: copy is False, but obj is of type list"):
        xp.asarray([1], copy=False)
    with pytest.raises(ValueError, match="asarray: copy is False, but obj is float32 on cpu"):
        xp.asarray(x, dtype=xp.float64, copy=False)
    with pytest.raises(ValueError, match="none below zero"):
        xp.asarray(a[::-1], copy=False)


def test_from_dlpack():
    a = np.arange(3.0)
    assert xp.from_dlpack(a).data_ptr() == a.ctypes.data
    assert xp.from_dlpack(a, copy=True).data_ptr() != a.ctypes.data
    assert xp.from_dlpack(a, device="cpu", copy=False).data_ptr() == a.ctypes.data
    assert np.from_dlpack(xp.asarray([1, 2])).tolist() == [1, 2]
    with pytest.raises(TypeError, match="from_dlpack: x is of type list, which has no __dlpack__"):
        xp.from_dlpack([1])
    with pytest.raises(ValueError, match="copy is False, but x is on cpu and device is meta"):
        xp.from_dlpack(a, device="meta", copy=False)


# Manipulation -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("broadcast_to", ((4, 2, 3),), {}),
        ("expand_dims", (-1,), {}),
        ("expand_dims", (0,), {}),
        ("flip", (), {}),
        ("flip", (), {"axis": (0, -1)}),
        ("moveaxis", (0, -1), {}),
        ("permute_dims", ((1, 0),), {}),
        ("repeat", (2,), {}),
        ("repeat", (3,), {"axis": 1}),
        ("reshape", ((3, -1),), {}),
        ("reshape", ((3, 2),), {"copy": True}),
        ("roll", (2,), {}),
        ("roll", (-1,), {"axis": 1}),
        ("roll", ((1, 2),), {"axis": (0, 1)}),
        ("tile", ((2,),), {}),
        ("tile", ((2, 1, 3),), {}),
    ],
)
def test_manipulation_is_numpys(name, arguments, options):
    x = sevens(2, 3)
    found = getattr(xp, name)(x, *arguments, **options)
    expected = getattr(np, name)(x.numpy(), *arguments, **options)
    assert found.shape == expected.shape and found.tolist() == expected.tolist()


def test_moveaxis_of_several():
    x = sevens(2, 3, 4, 5)
    found = xp.moveaxis(x, (0, -1), (-1, 1))
    assert found.tolist() == np.moveaxis(x.numpy(), (0, -1), (-1, 1)).tolist()


def test_arrays_together():
    x, y = sevens(2, 3), sevens(2, 3, dtype="float64")
    assert xp.concat([x, y]).dtype is xp.stack((x, y), axis=-1).dtype is xp.float64
    assert xp.concat([x, y], axis=-1).shape == (2, 6) and xp.concat((x, y), axis=None).ndim == 1
    assert xp.stack([x, y], axis=-1).shape == (2, 3, 2)
    parts = xp.unstack(x, axis=1)
    assert isinstance(parts, tuple) and [part.tolist() for part in parts] == x.T.tolist()
    first, second = xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))
    assert first.shape == second.shape == (2, 3)
    assert xp.squeeze(xp.ones((1, 2, 1)), (0, -1)).shape == (2,)
    assert xp.repeat(x, xp.asarray([0, 1, 2], dtype=xp.int8), axis=1).shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: xp.squeeze(x, 0), ValueError, "squeeze: dimension 0 has the size 2"),
        (lambda x: xp.flip(x, axis=2), IndexError, "flip: axis is 2; accepted are -2 to 1"),
        (lambda x: xp.flip(x, axis=(0, -2)), ValueError, "flip: .* names a dimension twice"),
        (
            lambda x: xp.expand_dims(x, 4),
            IndexError,
            "expand_dims: axis is 4; accepted are -3 to 2",
        ),
        (lambda x: xp.permute_dims(x, (0,)), ValueError, r"permute_dims: axes is \(0,\)"),
        (lambda x: xp.broadcast_to(x, (2, 4)), ValueError, r"\(2, 3\) and \(2, 4\) do not"),
        (lambda x: xp.broadcast_to(x, (3,)), ValueError, "broadcast_to: x has the shape"),
        (lambda x: xp.concat([x, x.T]), ValueError, r"concat: arrays\[1\] has the shape \(3, 2\)"),
        (lambda x: xp.concat([]), ValueError, "concat: arrays is empty"),
        (lambda x: xp.concat(x), TypeError, "concat: arrays is of type Tensor; accepted is a list"),
        (lambda x: xp.stack([x, 1]), TypeError, r"stack: arrays\[1\] is of type int"),
        (lambda x: xp.moveaxis(x, (0, 1), (0,)), ValueError, "moveaxis: 2 and 1 numbers are given"),
        (lambda x: xp.repeat(x, -1), ValueError, "repeat: repeats is -1"),
        (lambda x: xp.repeat(x, xp.ones(6)), TypeError, "repeat: repeats is float32"),
        (lambda x: xp.roll(x, (1, 2), axis=(0, 1, 1)), ValueError, "roll: 2 and 3 numbers"),
        (lambda x: xp.tile(x, (-1,)), ValueError, "tile: repetitions is"),
        (lambda x: xp.reshape(x.T, (6,), copy=False), ValueError, "view"),
        (lambda x: xp.flip(x.numpy()), TypeError, "flip: x is of type ndarray; .*asarray"),
    ],
)
def test_manipulation_refuses(call, error, text):
    with pytest.raises(error, match=text):
        call(sevens(2, 3))
