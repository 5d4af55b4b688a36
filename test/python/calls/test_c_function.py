"""test_c_function.py: C functions as kernels and operators as C functions, from Python.

Suspect opyard/_library/c_function.py, bind/c_function.cpp and dispatcher/src/ffi.
"""

import array
import ctypes
import math
import threading
import weakref

import pytest
from built import build_folder

import opyard
from opyard.library import CFunction, Library, c_prototype

pytestmark = pytest.mark.memory


@pytest.fixture(scope="module")
def c_file():
    path = build_folder() / "test" / "cpp" / "plugins" / "test_c_functions.so"
    if not path.exists():
        pytest.skip(f"{path.name} is not built here: the tests of this build are off")
    return path


@pytest.fixture(scope="module")
def c_library(c_file):
    library = ctypes.CDLL(str(c_file))
    for name in ("c_integrate", "c_on_a_thread", "c_root"):
        getattr(library, name).restype = ctypes.c_double
    return library


@pytest.fixture
def serve(library, c_file):
    """Defines an operator that a function of the C library serves, and gives its packet."""

    def serve(schema, symbol, **options):
        name = library.define(schema).partition("::")[2]
        library.impl_c(name, c_file, symbol, **options)
        return getattr(getattr(opyard.ops, library.ns), name.partition(".")[0])

    return serve


def integrate(c_library, f, a, b, steps):
    return c_library.c_integrate(f, ctypes.c_double(a), ctypes.c_double(b), ctypes.c_int64(steps))


def doubles(numbers):
    return opyard.from_numpy(array.array("d", numbers))


def test_a_function_of_the_system_serves_an_operator(library):
    library.define("cosine(float x) -> float")
    library.impl_c("cosine", "libm.so.6", "cos")
    cosine = getattr(opyard.ops, library.ns).cosine
    assert cosine(0.5) == math.cos(0.5)
    assert c_prototype(cosine) == "double cosine(double x)"


def test_arguments_and_results_of_all_kinds(serve):
    assert serve("add(int a, int b) -> int", "c_add")(40, 2) == 42
    assert serve("turn(complex z, float scale) -> complex", "c_turn")(1 + 2j, 3.0) == -6 + 3j
    assert serve("greet(str name) -> str", "c_greet")("C") == "Hello, C"
    assert serve("dot(float[] a, float[] b) -> float", "c_dot")([1.0, 2.0], [3.0, 4.0]) == 11.0
    assert serve("range(int n) -> int[]", "c_range")(3) == [0, 1, 2]
    divide = serve("divide(int a, int b) -> (int, int, bool)", "c_divide")
    assert divide(17, 5) == (3, 2, False)
    scale = serve("scale_(Tensor(a!) x, float factor) -> Tensor(a!)", "c_scale")
    x = doubles([1.0, 2.0])
    assert scale(x, 2.0) is x
    assert x.tolist() == [2.0, 4.0]
    scale_void = serve("scale_void_(Tensor(a!) x, float f) -> ()", "c_scale_void", form="Void")
    assert scale_void(x, 0.5) is None
    assert x.tolist() == [1.0, 2.0]
    add = serve("plus(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor", "c_add_tensors")
    assert add(x, x, alpha=10.0).tolist() == [11.0, 22.0]


def test_an_error_of_the_c_function_is_an_exception(serve):
    divide = serve("divide(int a, int b) -> (int, int, bool)", "c_divide")
    with pytest.raises(ValueError) as caught:
        divide(1, 0)
    assert str(caught.value) == (
        f"division by zero\nin {divide.qualified_name}, served by the C function c_divide of "
        "test_c_functions.so"
    )


def test_a_kernel_ends_with_its_library_and_may_stand_at_a_key(library, c_file):
    library.define("sum(Tensor x) -> float")
    kernels = Library(library.ns, "IMPL", "CPU")
    kernels.impl_c("sum", str(c_file), "c_sum")
    op = getattr(opyard.ops, library.ns).sum
    assert op.default.has_kernel_for_dispatch_key("CPU")
    assert op(doubles([1.0, 2.0])) == 3.0
    assert "test_c_function.py" in opyard.dispatch.dump(op.default)
    del kernels
    with pytest.raises(NotImplementedError):
        op(doubles([1.0, 2.0]))


def test_a_kernel_of_another_library_is_covered_with_a_warning_unless_it_is_meant(
    library, c_file, recwarn
):
    for name in ("first", "second"):
        library.define(f"{name}(int a, int b) -> int")
        library.impl(name, lambda a, b: 0)
    ops = getattr(opyard.ops, library.ns)
    over = Library(library.ns, "IMPL")
    over.impl_c("first", c_file, "c_add", allow_override=True)
    assert ops.first(2, 3) == 5
    assert len(recwarn) == 0
    over.impl_c(ops.second.default, c_file, "c_add")
    assert len(recwarn) == 1
    over._destroy()
    assert ops.first(2, 3) == ops.second(2, 3) == 0


def test_what_cannot_be_registered_is_refused(library, c_file):
    library.define("f(int n) -> int")
    library.define("g(Scalar n) -> int")
    name = f"{library.ns}::f"
    with pytest.raises(LookupError) as caught:
        library.impl_c("f", c_file, "nope")
    assert str(caught.value) == (
        f'{name}: {c_file} has no function "nope"; nm -D lists what a shared library offers'
    )
    with pytest.raises(LookupError, match="is data, and a kernel is a function"):
        library.impl_c("f", c_file, "c_counter")
    with pytest.raises(LookupError, match="h is not defined"):
        library.impl_c("h", c_file, "c_nothing")
    with pytest.raises(FileNotFoundError, match="/no/such.so"):
        library.impl_c("f", "/no/such.so", "c_nothing")
    with pytest.raises(NotImplementedError, match="argument 'n' at position 0 is of type Scalar"):
        library.impl_c("g", c_file, "c_nothing")
    with pytest.raises(ValueError) as caught:
        library.impl_c("f", c_file, "c_nothing", form="void")
    assert str(caught.value) == (
        'no form of C functions is called "void"; there are Standard, Void and Comparator'
    )
    with pytest.raises(TypeError):
        library.impl_c("f", 3, "c_nothing")
    with pytest.raises(TypeError):
        library.impl_c("f", c_file, 3)
    assert not opyard.dispatch.has_kernel(name)
    library._destroy()
    with pytest.raises(RuntimeError, match="ended already"):
        library.impl_c("f", c_file, "c_nothing")


def test_a_python_kernel_is_a_callback_of_a_numerical_library(define, c_library):
    square = define("square(float x) -> float", CompositeImplicitAutograd=lambda x: x * x)
    f = square.default.c_function()
    assert isinstance(f, CFunction)
    assert f.prototype == "double square(double x)"
    assert repr(f) == f"<CFunction 'double square(double x)' at 0x{f.address:x}>"
    assert integrate(c_library, f, 0.0, 3.0, 1000) == pytest.approx(9.0, abs=1e-4)
    assert f.ctypes(3.0) == 9.0
    f.check()


def test_a_python_kernel_is_a_comparator_of_qsort(define):
    def compare(a, b):
        return (a > b) - (a < b)

    less = define("less(float a, float b) -> int", CompositeImplicitAutograd=compare)
    f = less.default.c_function("Comparator")
    assert f.prototype == "int less(const double* a, const double* b)"
    numbers = (ctypes.c_double * 6)(2, 7, 1, 8, 2, 8)
    qsort = ctypes.CDLL(None).qsort
    qsort.restype = None
    qsort(numbers, ctypes.c_size_t(6), ctypes.c_size_t(8), f)
    assert list(numbers) == [1, 2, 2, 7, 8, 8]


def test_an_exception_of_a_callback_is_raised_as_itself(define, serve, c_library):
    class Mine(Exception):
        pass

    error = Mine("not this one")

    def picky(x):
        if x > 0.5:
            raise error
        return x

    op = define("picky(float x) -> float", CompositeImplicitAutograd=picky)
    f = op.default.c_function()
    # A C library that knows nothing of errors, called by ctypes: the error waits.
    assert math.isnan(integrate(c_library, f, 0.0, 1.0, 4))
    with pytest.raises(Mine) as caught:
        f.check()
    assert caught.value is error
    f.check()
    # The same library as a kernel: its caller gets the exception.
    kernel = serve("integrate(Capsule f, float a, float b, int n) -> float", "c_integrate")
    capsule = f.capsule
    del f
    assert kernel(capsule, 0.0, 0.5, 4) == 0.125
    with pytest.raises(Mine) as caught:
        kernel(capsule, 0.0, 1.0, 4)
    assert caught.value is error
    op.default.c_function().check()


def test_a_capsule_keeps_its_function_and_nothing_else_does(define, collect):
    op = define("same(float x) -> float", CompositeImplicitAutograd=lambda x: x)
    f = op.default.c_function()
    closure = weakref.ref(f)
    capsule = f.capsule
    del f
    collect()
    assert closure() is None
    call = ctypes.pythonapi.PyCapsule_GetPointer
    call.restype, call.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = call(capsule, b"opyard.CFunction")
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)
    assert function(3.0) == 3.0
    del capsule
    assert math.isnan(function(3.0))
    with pytest.raises(RuntimeError) as caught:
        op.default.c_function().check()
    assert str(caught.value) == (
        "a C function was called after the object that it belonged to had ended"
    )


def test_a_thread_of_c_calls_a_python_kernel(define, c_library):
    seen = []

    def kernel(x):
        seen.append(threading.get_ident())
        return x + 1

    op = define("plus(float x) -> float", CompositeImplicitAutograd=kernel)
    f = op.default.c_function()
    assert c_library.c_on_a_thread(f, ctypes.c_double(41)) == 42.0
    assert seen and seen[0] != threading.get_ident()


def test_many_threads_call_one_function(define, c_library):
    op = define("same(float x) -> float", CompositeImplicitAutograd=lambda x: x)
    f = op.default.c_function()
    failures = []

    def work():
        for i in range(200):
            if f.ctypes(float(i)) != i:
                failures.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_tensors_are_borrowed_by_python_kernels(define):
    class DLTensor(ctypes.Structure):
        _fields_ = (
            ("data", ctypes.c_void_p),
            ("device", ctypes.c_int32 * 2),
            ("ndim", ctypes.c_int32),
            ("code", ctypes.c_uint8),
            ("bits", ctypes.c_uint8),
            ("lanes", ctypes.c_uint16),
            ("shape", ctypes.c_void_p),
            ("strides", ctypes.c_void_p),
            ("byte_offset", ctypes.c_uint64),
        )

    kept = []
    total = define("total(Tensor x) -> float", CPU=lambda x: sum(x.tolist()))
    keep = define("keep(Tensor x) -> float", CPU=lambda x: kept.append(x) or 1.0)
    data = (ctypes.c_double * 3)(1, 2, 3)
    shape = (ctypes.c_int64 * 1)(3)
    x = DLTensor(ctypes.addressof(data), (1, 0), 1, 2, 64, 1, ctypes.addressof(shape), None, 0)
    f = total.default.c_function()
    assert f.prototype == "double total(const DLTensor* x)"
    assert f.ctypes(ctypes.addressof(x)) == 6.0
    g = keep.default.c_function()
    assert math.isnan(g.ctypes(ctypes.addressof(x)))
    with pytest.raises(
        RuntimeError, match="its memory was borrowed for this call, and is still held"
    ):
        g.check()
    kept.clear()


def test_what_has_no_c_signature_says_so(define):
    op = define("f(Tensor x, Scalar n) -> Tensor")
    for attempt in (op.default.c_function, lambda: c_prototype(op), lambda: CFunction(op)):
        with pytest.raises(NotImplementedError) as caught:
            attempt()
        assert str(caught.value).startswith(
            f"{op.qualified_name} has no C signature: argument 'n' at position 1 is of type "
            "Scalar, and a number of any kind has no fixed C type; take int, float, bool or "
            "complex.\n"
        )
    with pytest.raises(LookupError):
        CFunction("no::such")
    with pytest.raises(TypeError):
        op.default.c_function("Standard", "Void")


def test_complex_numbers_have_an_address_if_no_ctypes(define):
    op = define("turn(complex z) -> complex", CompositeImplicitAutograd=lambda z: z * 1j)
    f = op.default.c_function()
    assert f.address != 0
    if not hasattr(ctypes, "c_double_complex"):
        with pytest.raises(NotImplementedError, match="ctypes has no complex numbers"):
            f.ctypes  # noqa: B018


PROGRAM = """
    import ctypes, sys
    import opyard
    from opyard.library import Library

    lib = Library("late", "FRAGMENT")
    lib.define("python(float x) -> float")
    lib.impl("python", lambda x: x + 1)
    lib.define("c(float x) -> float")
    lib.impl_c("c", "libm.so.6", "exp2")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(lib))  # no one unregisters it
    f = getattr(opyard.ops.late, sys.argv[2]).default.c_function()
    library = ctypes.CDLL(sys.argv[1])
    library.c_at_exit(f)
    assert f.ctypes(1.0) == 2.0
"""


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (
            "python",
            "at exit: nan, a Python kernel or object was needed, but the Python interpreter has "
            "ended; C++ operators still work\n",
        ),
        ("c", "at exit: 2, no error\n"),
    ],
)
def test_a_call_after_the_interpreters_end_fails_and_does_not_crash(
    run_program, c_file, kernel, said
):
    done = run_program(PROGRAM, c_file, kernel)
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout == said


BUSY = """
    import ctypes, sys, time
    import opyard
    from opyard.library import Library

    lib = Library("busy", "FRAGMENT")
    lib.define("python(float x) -> float")
    calls = 0
    def kernel(x):
        global calls
        calls += 1
        return x
    lib.impl("python", kernel)
    f = opyard.ops.busy.python.default.c_function()
    ctypes.CDLL(sys.argv[1]).c_keep_calling(f)
    while calls < 100:
        time.sleep(0.001)
"""


def test_the_interpreter_may_end_while_a_thread_of_c_calls(run_program, c_file):
    for _ in range(5):
        done = run_program(BUSY, c_file)
        assert done.stderr == ""
        assert done.returncode == 0
