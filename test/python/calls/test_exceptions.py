"""test_exceptions.py (T7): an exception of a callback comes out as that object. Suspect runtime/.

A matrix: every kind of callback, with every kind of exception, raised at once and below two more
calls. The same object comes out, with nothing pending and nothing left behind. Callbacks that
no one waits for hand theirs to sys.unraisablehook.
"""

import builtins
import gc
import itertools
import pickle
import sys
import weakref
from collections.abc import Callable

import pytest
from built import import_border, plain_build
from processes import leaks

import opyard
from opyard.library import Library

HAS_BUFFER_CLASSES = sys.version_info >= (3, 12)


class Group(Exception):
    """An exception group, also if CPython has none."""


class NoText(Exception):
    def __str__(self):
        raise ZeroDivisionError("in __str__")

    __repr__ = __str__


def with_cause():
    error = ValueError("of a cause")
    error.__cause__ = OSError("the cause")
    return error


def group():
    kind = getattr(builtins, "ExceptionGroup", Group)
    return kind("several", [ValueError(1), TypeError(2)])


# What is raised: a function that makes the object, or the name of a callable that breaks the rules
# of C functions, for which CPython itself raises SystemError.
EXCEPTIONS: dict[str, "Callable | str"] = {
    "ValueError": lambda: ValueError("plain"),
    "with a cause": with_cause,
    "group": group,
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": lambda: SystemExit(3),
    "MemoryError": MemoryError,
    "RecursionError": lambda: RecursionError("too deep"),
    "StopIteration": lambda: StopIteration(7),
    "__str__ raises": NoText,
    "NULL without error": "null_without_error",
    "value with error": "value_with_error",
}


class Raiser:
    """Raises one exception, over and over, at once or below calls from Python to C++ and back."""

    def __init__(self, which: str, depth: int) -> None:
        made = EXCEPTIONS[which]
        self.rule_breaker = getattr(import_border(), made) if isinstance(made, str) else None
        self.error = None if self.rule_breaker else made()
        self.depth = depth

    def __call__(self, *args: object, **kwargs: object) -> None:
        if self.depth > 1:
            outer(self, self.depth - 1)
        if self.rule_breaker:
            # By C code, which checks the result in every version; a call in Python does not.
            list(map(self.rule_breaker, [None]))
        # Its traceback and the notes that CPython adds would grow with every round.
        if hasattr(self.error, "__notes__"):
            del self.error.__notes__
        raise self.error.with_traceback(None)

    def is_it(self, error: "BaseException | None") -> bool:
        return type(error) is SystemError if self.rule_breaker else error is self.error


deeper: list = []


def outer(raiser: Raiser, depth: int) -> None:
    deeper.append((raiser, depth))
    try:
        opyard.ops.test_plugin.call("t7::deeper", X)
    finally:
        deeper.pop()


def kernel_of_deeper(x):
    raiser, depth = deeper[-1]
    if depth > 1:
        return outer(raiser, depth - 1)
    former, raiser.depth = raiser.depth, 1
    try:
        raiser()
    finally:
        raiser.depth = former


@pytest.fixture(scope="module", autouse=True)
def library(plugin):
    global X
    X = opyard.tensor([1.0, 2.0])
    made = Library("t7", "FRAGMENT")
    made.define("deeper(Tensor x) -> Tensor")
    made.impl("deeper", kernel_of_deeper, "CPU")
    for name in ("kernel", "reported", "never", "plain"):
        made.define(f"{name}(Tensor x) -> Tensor")
    made.define("sizes(Tensor x, int[] n, float f=0.0) -> Tensor")
    made.define("flag(Tensor x, bool b) -> Tensor")
    made.impl("flag", lambda x, b: x, "CPU")
    made.impl("plain", lambda x: x, "CPU")
    made.impl("sizes", lambda x, n, f=0.0: x, "CPU")
    yield made
    made._destroy()
    del X


# Callbacks whose exception comes out of the call: a function of the raiser that makes the call.


def in_kernel(raiser):
    with opyard.library.override("t7::plain", "CPU", raiser):
        opyard.ops.t7.plain(X)


def in_fake_kernel(raiser):
    lib = Library("t7", "IMPL")
    opyard.library.register_fake("t7::plain", raiser, lib=lib)
    try:
        opyard.ops.t7.plain(opyard.ops.aten.empty([2], device="meta"))
    finally:
        lib._destroy()


def in_kernel_from_cpp(raiser):
    with opyard.library.override("t7::plain", "CPU", raiser):
        opyard.ops.test_plugin.call_and_rethrow("t7::plain", X)


def in_boxed_fallback(raiser):
    lib = Library("_", "IMPL", "XLA")
    lib.fallback(raiser)
    try:
        opyard.ops.t7.never.default.redispatch(opyard.dispatch.DispatchKeySet("XLA"), X)
    finally:
        lib._destroy()


def in_listener(raiser):
    listening = opyard.dispatch.on_registration(raiser, None)
    lib = Library("t7", "FRAGMENT")
    try:
        lib.define("listened(Tensor x) -> Tensor")
    finally:
        listening.remove() if hasattr(listening, "remove") else listening.close()
        lib._destroy()


def in_reporter(raiser):
    report = opyard.dispatch.set_report_error_callback
    report(opyard.ops.t7.reported.default, raiser)
    try:
        opyard.ops.t7.reported(X)
    finally:
        report(opyard.ops.t7.reported.default, None)


class Index:
    def __init__(self, raiser):
        self.raiser = raiser

    def __index__(self):
        self.raiser()


class Foreign(Index):
    def __dlpack__(self, **kwargs):
        self.raiser()

    def __dlpack_device__(self):
        return (1, 0)


class Device(Foreign):
    def __dlpack_device__(self):
        self.raiser()


class Asked(Index):
    """Is asked whether it has an attribute."""

    def __getattr__(self, name):
        if name in ("__dlpack__", "keys"):
            self.raiser()
        raise AttributeError(name)


class State(Index):
    def __reduce_ex__(self, protocol):
        self.raiser()


def tuple_that_may_be_named(raiser):
    meta = type("Meta", (type,), {"_fields": property(lambda cls: raiser())})
    return meta("Pair", (tuple,), {})((X, X))


def truth(raiser):
    """An object that looks like NumPy's bool, the only other one that is taken for a bool."""
    return type("numpy.bool_", (), {"__bool__": lambda self: raiser()})()


class Buffer(Index):
    """Since 3.12 a class of Python may have a buffer."""

    def __buffer__(self, flags):
        self.raiser()


class Released(Index):
    def __buffer__(self, flags):
        return memoryview(bytearray(8))

    def __release_buffer__(self, view):
        self.raiser()


class Path(Index):
    def __fspath__(self):
        self.raiser()


def in_future_callback(raiser):
    future = opyard.futures.Future()
    then = future.then(raiser)
    future.set_result(1)
    then.wait()


def in_pickling(raiser):
    pickle.dumps([X, State(raiser)])


def in_warning(raiser):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = raiser
        opyard.ops.test_plugin.warn(0, "shown by a callback")


class Mode(opyard.dispatch.DispatchMode):
    def __init__(self, raiser):
        self.raiser = raiser

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.raiser()


class Handling(opyard.Tensor):
    raiser = None

    def __new__(cls, data):
        return opyard.Tensor.make_subclass(cls, data)

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        cls.raiser()


def in_mode(raiser):
    def without_mode():
        with opyard.dispatch.disable_current_modes():
            raiser()

    with Mode(without_mode):
        opyard.ops.t7.plain(X)


def in_handler_of_a_class(raiser):
    Handling.raiser = staticmethod(raiser)
    try:
        opyard.ops.t7.plain(Handling(X))
    finally:
        Handling.raiser = None


def in_handler_called_from_cpp(raiser):
    Handling.raiser = staticmethod(raiser)
    try:
        opyard.ops.test_plugin.call_and_rethrow("t7::plain", Handling(X))
    finally:
        Handling.raiser = None


def in_captured_context(raiser):
    opyard.capture_context().run(raiser)


def in_profiler_sink(raiser):
    with opyard.profiler.profile(on_trace_ready=lambda prof: raiser()):
        pass


def code_that_calls(function):
    graph = opyard.jit.Graph()
    inputs = [graph.add_input("x")]
    node = graph.append_node(opyard.jit.create_python_op(graph, lambda x: function(), inputs))
    graph.register_output(node.output())
    return opyard.jit.compile(graph)


def in_function_of_a_graph(raiser):
    # In no frame of the traceback: the collector does not see what a graph's functions refer to.
    code_that_calls(raiser)(X)


COMES_OUT: dict[str, Callable] = {
    "profiler sink": in_profiler_sink,
    "function of a graph": in_function_of_a_graph,
    "kernel": in_kernel,
    "meta": in_fake_kernel,
    "kernel called from C++": in_kernel_from_cpp,
    "mode": in_mode,
    "handler of a class": in_handler_of_a_class,
    "handler called from C++": in_handler_called_from_cpp,
    "captured context": in_captured_context,
    "boxed fallback": in_boxed_fallback,
    "listener": in_listener,
    "reporter": in_reporter,
    "converter": lambda raiser: opyard.ops.t7.sizes(X, [Index(raiser)]),
    "index": lambda raiser: X[Index(raiser)],
    "dlpack": lambda raiser: opyard.from_dlpack(Foreign(raiser)),
    "dlpack device": lambda raiser: opyard.from_dlpack(Device(raiser)),
    "plugin loader": lambda raiser: opyard.load_library(Path(raiser)),
    "future callback": in_future_callback,
    "pickling": in_pickling,
    "warning": in_warning,
    "__bool__": lambda raiser: opyard.ops.t7.flag(X, truth(raiser)),
    "has it __dlpack__": lambda raiser: opyard.tensor(Asked(raiser)),
    "has it keys": lambda raiser: opyard.dispatch.disabled_dispatch(
        opyard.ops.t7.plain.default, (), (X,), Asked(raiser)
    ),
    "has it _fields": lambda raiser: opyard.jit.compile(lambda pair: pair[0])(
        tuple_that_may_be_named(raiser)
    ),
}
if HAS_BUFFER_CLASSES:
    COMES_OUT |= {
        "__buffer__": lambda raiser: opyard.from_numpy(Buffer(raiser)),
        "__buffer__ of an argument": lambda raiser: opyard.ops.t7.plain(Buffer(raiser)),
        "__buffer__ of an operand": lambda raiser: X == Buffer(raiser),
    }

# Callbacks that no one waits for: what they raise goes to sys.unraisablehook.


def at_the_death_of_a_kernel(raiser):
    class Kernel:
        def __call__(self, x):
            return x

        def __del__(self):
            raiser()

    with opyard.library.override("t7::plain", "CPU", Kernel()):
        pass


def at_the_death_of_shared_memory(raiser):
    class Memory(bytearray):
        def __del__(self):
            raiser()

    opyard.from_numpy(Memory(8))


def at_the_death_of_dlpack_memory(raiser):
    import numpy

    class Owner(numpy.ndarray):
        def __del__(self):
            raiser()

    opyard.from_dlpack(numpy.zeros(3).view(Owner))


def at_the_release_of_a_buffer(raiser):
    opyard.from_numpy(Released(raiser))


def at_a_weak_reference(raiser):
    tensor = opyard.tensor([1])
    reference = weakref.ref(tensor, raiser)
    del tensor
    assert reference() is None


def at_the_end_of_an_operator(raiser):
    listening = opyard.dispatch.on_registration(None, raiser)
    lib = Library("t7", "FRAGMENT")
    lib.define("listened(Tensor x) -> Tensor")
    try:
        lib._destroy()
    finally:
        listening.remove() if hasattr(listening, "remove") else listening.close()


UNRAISABLE: dict[str, Callable] = {
    "__del__ of a kernel": at_the_death_of_a_kernel,
    "deleter": at_the_death_of_shared_memory,
    "DLPack deleter": at_the_death_of_dlpack_memory,
    "weak reference": at_a_weak_reference,
    "listener of the end": at_the_end_of_an_operator,
}
if HAS_BUFFER_CLASSES:
    UNRAISABLE["__release_buffer__"] = at_the_release_of_a_buffer

# Parts that do not exist yet, and the attribute by which they show when they do.
LATER = {"decomposition": "register_decomposition"}
KINDS = {"kernel", "meta", "decomposition", "boxed fallback", "listener", "profiler sink",
         "function of a graph", "DLPack deleter", "dlpack", "__del__ of a kernel", "weak reference",
         "converter", "plugin loader", "pickling", "future callback", "reporter", "mode",
         "handler of a class", "__bool__"}  # fmt: skip
if HAS_BUFFER_CLASSES:
    KINDS |= {"__buffer__", "__buffer__ of an argument", "__release_buffer__"}


def check_nothing_is_pending():
    assert sys.exc_info() == (None, None, None)
    # A C function that returns with an exception set raises SystemError.
    assert opyard.ops.t7.plain(X) is X
    assert opyard.ops.test_plugin.call("t7::plain", X) is X


def come_out(kind, raiser):
    try:
        COMES_OUT[kind](raiser)
    except BaseException as error:
        return error
    return None


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("which", EXCEPTIONS)
@pytest.mark.parametrize("kind", COMES_OUT)
def test_T7_J9_the_same_object_comes_out(kind, which, depth):
    raiser = Raiser(which, depth)
    error = come_out(kind, raiser)
    assert raiser.is_it(error), (type(error), error if which != "__str__ raises" else "")
    if which == "with a cause":
        assert type(error.__cause__) is OSError
    del error
    check_nothing_is_pending()


CALLED_BY_US = ["kernel", "kernel called from C++", "boxed fallback", "listener", "reporter",
                "future callback"]  # fmt: skip


@pytest.mark.parametrize("breaker", ["null_without_error", "value_with_error"])
@pytest.mark.parametrize("kind", CALLED_BY_US)
def test_T7_a_callback_that_breaks_the_rules_of_c_functions_is_a_system_error(kind, breaker):
    error = come_out(kind, getattr(import_border(), breaker))
    assert type(error) is SystemError
    assert type(error.__cause__) is (ValueError if breaker == "value_with_error" else type(None))
    check_nothing_is_pending()


def handed_to_the_hook(kind, raiser):
    """The exceptions that the hook got."""
    heard = []
    former, sys.unraisablehook = sys.unraisablehook, lambda report: heard.append(report.exc_value)
    try:
        UNRAISABLE[kind](raiser)
        gc.collect()
        opyard.tensor([1])  # an entry, which drops what was left behind
    finally:
        sys.unraisablehook = former
    return heard


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("which", EXCEPTIONS)
@pytest.mark.parametrize("kind", UNRAISABLE)
def test_T7_where_nobody_waits_the_hook_gets_the_same_object(kind, which, depth):
    raiser = Raiser(which, depth)
    heard = handed_to_the_hook(kind, raiser)
    assert [raiser.is_it(error) for error in heard] == [True], [type(error) for error in heard]
    heard.clear()
    check_nothing_is_pending()


@pytest.mark.parametrize(("kind", "depth"), list(itertools.product(COMES_OUT, (1, 3))))
def test_T7_nothing_is_left_behind(kind, depth):
    if kind == "function of a graph" and sys.version_info < (3, 11):
        pytest.skip("on CPython 3.10 a block stays for each exception; a known defect")
    raisers = [Raiser(which, depth) for which in EXCEPTIONS]

    def step():
        for raiser in raisers:
            come_out(kind, raiser)

    assert leaks(step) is None


def test_T7_every_kind_of_callback_has_a_row():
    assert {*COMES_OUT, *UNRAISABLE, *LATER} >= KINDS
    assert len(EXCEPTIONS) >= 10
    names = {*dir(opyard), *dir(opyard.library)}
    arrived = [kind for kind, name in LATER.items() if name in names]
    assert arrived == [], "these kinds of callback exist now: give them rows"


@plain_build
def test_T7_a_planted_loss_is_found():
    """The controls: another object, none at all, and one that stays."""

    def swaps(raiser):
        try:
            in_kernel(raiser)
        except ValueError as error:
            raise ValueError(*error.args) from None

    def swallows(raiser):
        try:
            in_kernel(raiser)
        except ValueError:
            pass

    kept = []

    def keeps(raiser):
        try:
            in_kernel(raiser)
        except ValueError as error:
            kept.append([error])
            raise

    raiser = Raiser("ValueError", 1)
    for planted in (swaps, swallows):
        COMES_OUT["planted"] = planted
        try:
            assert not raiser.is_it(come_out("planted", raiser))
        finally:
            del COMES_OUT["planted"]
    COMES_OUT["planted"] = keeps
    try:
        assert leaks(lambda: come_out("planted", raiser)) is not None
    finally:
        del COMES_OUT["planted"]
