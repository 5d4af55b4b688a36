"""test_python_kernel.py: Python functions as kernels, and exceptions through them.

Suspect kernels/python_kernel.cpp, runtime/errors.cpp.
"""

import functools
import sys
import threading
import time
import traceback
import weakref

import pytest
from raised import message_of

import opyard
from opyard.library import override


@pytest.fixture
def logged(define):
    """Defines an operator that logs how its kernel is called."""

    def logged(schema):
        calls = []
        op = define(schema, CompositeExplicitAutograd=lambda *a, **k: calls.append((a, k)))
        return op, calls

    return logged


# D16: what is passed ----------------------------------------------------------------------


def test_D16_arguments_at_the_end_that_equal_their_default_are_omitted(logged):
    op, calls = logged("op(int a, int b=2, int c=3) -> ()")
    op(1)
    op(1, 2, 3)
    op(1, 2, 4)
    op(1, 5)
    op(1, c=3, b=5)
    assert calls == [
        ((1,), {}),
        ((1,), {}),
        ((1, 2, 4), {}),  # the default before it is needed for its place
        ((1, 5), {}),
        ((1, 5), {}),
    ]


def test_D16_keyword_only_arguments_go_by_name_and_only_when_they_differ(logged):
    op, calls = logged("op(int a, *, int b=2, float c=3.0, str d='x') -> ()".replace("'", '"'))
    op(1)
    op(1, b=2, c=3.0, d="x")
    op(1, c=4.0)
    op(1, d="y", b=0)
    assert calls == [((1,), {}), ((1,), {}), ((1,), {"c": 4.0}), ((1,), {"b": 0, "d": "y"})]
    assert list(calls[3][1]) == ["b", "d"]  # in the order of the schema


def test_D16_keyword_only_arguments_without_a_default_are_always_passed(logged):
    op, calls = logged("op(*, int a, int b=1) -> ()")
    op(a=1)
    assert calls == [((), {"a": 1})]


def test_D16_a_default_is_equal_by_value_and_kind(logged):
    op, calls = logged("op(Scalar a=1, int[] b=[1, 2], bool? c=None) -> ()")
    op(1, [1, 2], None)
    op(1.0)
    op(True)
    op(1, (1, 2), False)
    assert calls == [((), {}), ((1.0,), {}), ((True,), {}), ((1, [1, 2], False), {})]
    assert [type(call[0][0]) for call in calls[1:]] == [float, bool, int]


def test_D16_the_kernel_s_own_defaults_stay_in_force(define):
    op = define("op(int a, int b=2) -> int", CompositeExplicitAutograd=lambda a, b=20: a * b)
    assert op(1) == 20
    assert op(1, 3) == 3


# D17, D18: what is returned ---------------------------------------------------------------


def returning(define, results, value):
    op = define(f"op() -> {results}", CompositeExplicitAutograd=lambda: value)
    return op, op.default.declaration


@pytest.mark.parametrize(
    ("results", "value", "came"),
    [
        ("Tensor", 3, "a value of type 'int' for result 0, but the schema says 'Tensor'"),
        ("int", "a", "a value of type 'str' for result 0, but the schema says 'int'"),
        ("int", None, "a value of type 'NoneType' for result 0, but the schema says 'int'"),
        ("(int, int)", (1, "a"), "a value of type 'str' for result 1, but the schema says 'int'"),
        (
            "(int, int[])",
            (1, [2**70]),
            "a value of type 'list' with a number outside of -9223372036854775808 to "
            "9223372036854775807 at [0] for result 1, but the schema says 'int[]'",
        ),
        (
            "int[][]",
            [[1], [2, "a"]],
            "a value of type 'list' with a 'str' at [1][1] for result 0, but the schema says "
            "'int[][]'",
        ),
        (
            "(int, int)",
            (1, 2, 3),
            "3 values, but the schema has 2 results, so it must return a tuple of 2",
        ),
        (
            "(int, int)",
            (1,),
            "1 values, but the schema has 2 results, so it must return a tuple of 2",
        ),
        (
            "(int, int)",
            7,
            "a value of type 'int', but the schema has 2 results, so it must return a tuple of 2",
        ),
        ("()", 7, "a value of type 'int', but the schema has no result, so it must return None"),
    ],
)
def test_D17_wrong_results_name_operator_kernel_and_position(define, results, value, came):
    op, declaration = returning(define, results, value)
    kernel = next(
        line for line in opyard.dispatch.dump(op).splitlines() if line.startswith("Composite")
    )
    provenance = kernel.partition(": ")[2].partition(" :: ")[0]
    assert message_of(RuntimeError, op) == (
        f"{op.qualified_name}: the Python kernel {provenance} returned {came}.\n"
        f"Declaration: {declaration}"
    )


def test_D17_a_list_will_do_for_several_results(define):
    op, _ = returning(define, "(int, str)", [1, "a"])
    assert op() == (1, "a")


def test_D17_a_list_that_shrinks_while_it_is_converted(define):
    class Shrinks:
        def __index__(self):
            result.clear()
            return 1

    result = [[Shrinks()], 5]
    op, _ = returning(define, "(int[], int)", result)
    assert "returned 0 values" in message_of(RuntimeError, op)


def test_D17_results_are_converted_as_arguments_are(define):
    op, _ = returning(define, "(float, int[])", (1, (2, 3)))
    assert op() == (1.0, [2, 3])


def test_D18_none_is_the_undefined_tensor(define):
    op, _ = returning(define, "(Tensor?, Tensor?)", (None, None))
    assert op() == (None, None)


def test_a_tensor_that_is_returned_is_the_same_object(define, x):
    op = define("op(Tensor x) -> (Tensor, Tensor[])", CPU=lambda x: (x, [x, x]))
    one, many = op(x)
    assert one is x
    assert many[0] is x and many[1] is x


def test_kernels_are_called_with_the_same_objects(define, x):
    op = define("op(Tensor x, Tensor[] xs) -> bool", CPU=lambda a, b: a is x and b[0] is x)
    assert op(x, [x])


@pytest.mark.parametrize("how", ["function", "method", "partial", "class", "builtin"])
def test_every_callable_is_a_kernel(define, x, how):
    class Kernel:
        def __call__(self, x):
            return x

        method = __call__

    kernels = {
        "function": lambda x: x,
        "method": Kernel().method,
        "partial": functools.partial(lambda y, x: x, 1),
        "class": Kernel(),
        "builtin": lambda x: max(x, x, key=id),
    }
    op = define("op(Tensor x) -> Tensor", CPU=kernels[how])
    assert op(x) is x


# J9: exceptions ---------------------------------------------------------------------------


class MyError(Exception):
    """Keeps what it is told."""


class MyBaseError(BaseException):
    """No Exception."""


@pytest.mark.parametrize(
    "exception",
    [
        ValueError("a"),
        KeyError("b"),
        MyError(1, 2),
        StopIteration(3),
        MemoryError(),
        MyBaseError("c"),
        KeyboardInterrupt(),
        SystemExit(4),
        GeneratorExit(),
        AttributeError("d", name="n", obj=[]),
        OSError(2, "No such file", "f"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
    ],
    ids=lambda exception: type(exception).__name__,
)
def test_J9_the_exception_that_comes_out_is_the_one_that_went_in(define, x, exception):
    def kernel(x):
        raise exception

    op = define("op(Tensor x) -> Tensor", CPU=kernel)
    for _ in range(3):
        with pytest.raises(BaseException) as caught:
            op(x)
        assert caught.value is exception
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert names[-1] == "kernel"


@pytest.mark.parametrize("route", ["call", "call_typed", "call_and_rethrow"])
def test_J9_through_cpp_and_back_with_its_traceback(plugin, define, x, route):
    exception = MyError("deep")

    def innermost():
        raise exception

    def kernel(x):
        innermost()

    op = define("op(Tensor x) -> Tensor", CPU=kernel)

    def outer():
        getattr(plugin, route)(op.qualified_name, x)

    with pytest.raises(MyError) as caught:
        outer()
    assert caught.value is exception
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-4:] == [
        "test_J9_through_cpp_and_back_with_its_traceback", "outer", "kernel", "innermost",
    ]  # fmt: skip


def test_J9_through_many_layers_of_both(plugin, define, x, ns):
    exception = MyError("deep")

    def bottom(x):
        raise exception

    define("op0(Tensor x) -> Tensor", CPU=bottom)
    for n in range(1, 5):
        below = f"{ns}::op{n - 1}"
        op = define(f"op{n}(Tensor x) -> Tensor", CPU=lambda x, below=below: plugin.call(below, x))
    with pytest.raises(MyError) as caught:
        op(x)
    assert caught.value is exception


def test_J9_a_kernel_may_catch_and_chain(plugin, define, x):
    original = KeyError("first")

    def bottom(x):
        raise original

    below = define("below(Tensor x) -> Tensor", CPU=bottom)

    def kernel(x):
        try:
            plugin.call(below.qualified_name, x)
        except KeyError as error:
            raise MyError("second") from error

    op = define("op(Tensor x) -> Tensor", CPU=kernel)
    with pytest.raises(MyError) as caught:
        op(x)
    assert caught.value.__cause__ is original


def test_J9_exceptions_are_not_kept(plugin, define, x):
    class Weak(Exception):
        pass

    seen = []

    def kernel(x):
        raise Weak  # not by a local name, which would make a cycle

    op = define("op(Tensor x) -> Tensor", CPU=kernel)
    for route in (op, functools.partial(plugin.call_and_rethrow, op.qualified_name)):
        try:
            route(x)
        except Weak as error:
            seen.append(weakref.ref(error))
        assert seen[-1]() is None


def test_a_cpp_caller_sees_kind_and_text(plugin, define, x):
    def kernel(x):
        raise MyError("the reason")

    op = define("op(Tensor x) -> Tensor", CPU=kernel)
    text = plugin.call_and_describe(op.qualified_name, x)
    assert text == "Python: MyError: the reason"


def test_an_exception_that_cannot_show_itself(plugin, define, x):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def kernel(x):
        raise Mute

    op = define("op(Tensor x) -> Tensor", CPU=kernel)
    assert plugin.call_and_describe(op.qualified_name, x) == "Python: Mute"
    with pytest.raises(Mute):
        op(x)


# How errors of C++ are named in Python ----------------------------------------------------

KINDS = {
    "Internal": RuntimeError, "OutOfMemory": MemoryError, "NoKernel": NotImplementedError,
    "BadArgument": TypeError, "BadValue": ValueError, "BadShape": ValueError,
    "BadIndex": IndexError, "BadSchema": ValueError, "BadRegistration": RuntimeError,
    "NotFound": LookupError, "BadSignature": RuntimeError, "BadReturn": RuntimeError,
    "OperatorGone": RuntimeError, "InterpreterGone": RuntimeError, "BadPlugin": OSError,
    "Unsupported": NotImplementedError, "Python": RuntimeError, "Foreign": RuntimeError,
    "BadFuture": RuntimeError, "Cancelled": RuntimeError, "TimedOut": TimeoutError,
    "BadGraph": ValueError,
}  # fmt: skip


@pytest.mark.parametrize("number", range(len(KINDS)), ids=list(KINDS))
def test_J2_each_kind_of_error_has_its_exception(plugin, number):
    name = plugin.kind_name(number)
    assert name == list(KINDS)[number]
    with pytest.raises(KINDS[name]) as caught:
        plugin.fail_with(number, "what went wrong: grün")
    assert type(caught.value) is KINDS[name]
    assert str(caught.value) == "what went wrong: grün"


def test_J2_what_is_no_error_of_ours(plugin):
    assert message_of(RuntimeError, plugin.throw_foreign, "std::exception") == (
        "test_plugin::throw_foreign: the kernel threw std::out_of_range: a text of the C++ library"
    )
    assert message_of(RuntimeError, plugin.throw_foreign, "int") == (
        "test_plugin::throw_foreign: the kernel threw int, which is no std::exception"
    )


def test_a_kernel_that_meets_an_error_of_cpp_passes_it_on(plugin, define, x):
    op = define("op(Tensor x) -> Tensor", CPU=lambda x: plugin.fail_with(6, "index 9"))
    assert message_of(IndexError, op, x) == "index 9"
    assert message_of(IndexError, plugin.call, op.qualified_name, x) == "index 9"


# Nesting, threads, references -------------------------------------------------------------


def test_calls_nest(plugin, define, x, ns):
    def kernel(n):
        return 0 if n == 0 else getattr(opyard.ops, ns).down(n - 1) + 1

    op = define("down(int n) -> int", CompositeExplicitAutograd=kernel)
    assert op(100) == 100


def test_endless_recursion_is_an_exception(define, ns):
    op = define(
        "forever(int n) -> int",
        CompositeExplicitAutograd=lambda n: getattr(opyard.ops, ns).forever(n),
    )
    with pytest.raises(RecursionError):
        op(1)


def test_from_cpp_and_back(plugin, define, x):
    y = opyard.tensor([9.0])
    op = define("op(Tensor x) -> Tensor", CPU=lambda t: y if t is x else None)
    assert plugin.call(op.qualified_name, x) is y
    assert plugin.call_typed(op.qualified_name, x) is y


def test_a_native_thread_calls_a_python_kernel(plugin, define, x):
    seen = []
    op = define(
        "op(Tensor x) -> Tensor", CPU=lambda t: seen.append((threading.get_ident(), t)) or t
    )
    before = plugin.count_in_background()[0]
    plugin.call_once_in_background(op.qualified_name, x)
    deadline = time.monotonic() + 30
    while plugin.count_in_background()[0] == before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert [t is x for _, t in seen] == [True]
    assert seen[0][0] != threading.get_ident()


def test_a_native_thread_sees_what_a_kernel_raises(plugin, define, x):
    def kernel(x):
        raise MyError

    op = define("op(Tensor x) -> Tensor", CPU=kernel)
    before = plugin.count_in_background()[1]
    plugin.call_once_in_background(op.qualified_name, x)
    deadline = time.monotonic() + 30
    while plugin.count_in_background()[1] == before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert plugin.count_in_background()[1] == before + 1


def test_many_threads_call_while_others_override(define, x):
    op = define("op(Tensor x) -> int", CPU=lambda x: 0)
    stop = threading.Event()
    seen = set()
    failures = []

    def call():
        try:
            while not stop.is_set():
                seen.add(op(x))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(1, 500):
        with override(op, "CPU", lambda x, n=n: n):
            assert op(x) == n
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert 0 in seen
    assert op(x) == 0


def test_calls_leave_no_references(define, x):
    marker = object()

    def kernel(x, a, *, n=1):
        if n == 3:
            raise MyError
        return x, a

    op = define("op(Tensor x, Any a, *, int n=1) -> (Tensor, Any)", CPU=kernel)

    def counts():
        return [sys.getrefcount(o) for o in (x, marker, kernel, op, op.default)]

    op(x, marker)
    before = counts()
    for n in range(1, 5):
        for _ in range(100):
            try:
                op(x, marker, n=n)
            except MyError:
                pass
    assert counts() == before


def test_a_kernel_lives_as_long_as_its_registration(define, x):
    class Kernel:
        def __call__(self, x):
            return x

    kernel = Kernel()
    gone = weakref.ref(kernel)
    op = define("op(Tensor x) -> Tensor")
    ov = override(op, "CPU", kernel)
    del kernel
    assert op(x) is x
    assert gone() is not None
    ov.remove()
    assert gone() is None


HALF = "\ud800"


@pytest.mark.parametrize(
    ("result", "value", "why"),
    [
        ("str", HALF, " (a str with half a surrogate pair)"),
        ("str[]", ["a", HALF], " with a 'str with half a surrogate pair' at [1]"),
        ("str[][]", [[HALF]], " with a 'str with half a surrogate pair' at [0][0]"),
        ("Dict(str, int)", {HALF: 1}, " with a 'str with half a surrogate pair' at .keys()[0]"),
        ("Any", HALF, " (a text with half a surrogate pair has no form in UTF-8, and cannot be "
         "passed on)"),
    ],
)  # fmt: skip
def test_D17_a_text_without_a_form_in_utf8_is_refused_by_name(define, ns, result, value, why):
    op = define(f"f() -> {result}", CompositeExplicitAutograd=lambda: value)
    for call in (op, op.default, op.default._call_boxed):
        with pytest.raises(RuntimeError) as caught:
            call()
        text = str(caught.value)
        assert text.startswith(f"{ns}::f: ")
        assert f" returned a value of type '{type(value).__name__}'{why} for result 0, " in text


@pytest.mark.parametrize(
    ("argument", "value", "details"),
    [
        ("str x", HALF, "x is of type 'str with half a surrogate pair', where 'str' is expected"),
        ("str[] x", [HALF], "x[0] is of type 'str with half a surrogate pair', where 'str' is "
         "expected"),
    ],
)  # fmt: skip
def test_D9_a_text_without_a_form_in_utf8_is_no_argument(define, ns, argument, value, details):
    op = define(f"f({argument}) -> int", CompositeExplicitAutograd=lambda x: 1)
    with pytest.raises(TypeError) as caught:
        op(value)
    assert f"{ns}::f() Expected a value of type" in str(caught.value)
    assert details in str(caught.value)


def test_D9_a_number_is_repeated_as_often_as_a_schema_may_say(define, ns):
    assert define("f(int[255] x) -> int", CompositeExplicitAutograd=len)(3) == 255
    op = define("g(int[2147483647] x) -> int", CompositeExplicitAutograd=len)
    assert op([1, 2]) == 2
    with pytest.raises(TypeError) as caught:
        op(3)
    assert str(caught.value).startswith(
        f"{ns}::g() Expected a value of type 'int[2147483647]' for argument 'x' but instead "
        "found type 'int'."
    )


def test_an_exception_that_nobody_added_to_has_no_notes(define, x):
    error = ValueError("plain")

    def kernel(x):
        raise error

    f = define("f(Tensor x) -> Tensor", CPU=kernel)
    with pytest.raises(ValueError) as caught:
        f(x)
    assert caught.value is error
    assert not hasattr(error, "__notes__")
