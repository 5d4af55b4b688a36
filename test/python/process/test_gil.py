"""test_gil.py: kernels in C++ that run with the GIL released.

Suspect runtime/gil.cpp [Kernels], then interpreter/gil.h.
What deadlocks is in test_deadlocks.py; here is what such a kernel sees and gives.
"""

import sys
import threading
import time

import numpy as np
import pytest
from built import import_arrays, plugin_path
from interpreters import KINDS
from processes import run

import opyard

arrays = import_arrays()


class Planned(Exception):
    pass


@pytest.fixture
def name_of(define, ns):
    """Defines an operator with a kernel in Python, and gives its full name."""

    def made(kernel):
        define("made(Tensor x) -> Tensor", CPU=kernel)
        return f"{ns}::made"

    return made


RELEASING = ["call_released", "call_without_gil", "wait_for_worker", "wait_inside"]


@pytest.fixture(params=RELEASING)
def way(request, plugin):
    return getattr(plugin, request.param)


def test_J10_a_kernel_in_python_runs_inside_of_one_that_has_released(way, name_of, x):
    seen = []

    def kernel(x):
        seen.append(threading.get_ident())
        return opyard.tensor([5.0])

    assert way(x, name_of(kernel)).tolist() == [5.0]
    assert len(seen) == 1
    assert opyard.ops.aten.neg(x).tolist() == [-1.0, -2.0, -3.0]


def test_J10_an_exception_comes_out_as_itself_and_the_gil_is_held(way, name_of, x):
    planned = Planned("by the kernel")

    def kernel(x):
        raise planned

    with pytest.raises(Planned) as caught:
        way(x, name_of(kernel))
    assert caught.value is planned
    assert threading.active_count() >= 1  # Python goes on


def test_J10_one_inside_of_another(plugin, name_of, x, define, ns):
    inner = name_of(lambda x: opyard.tensor([float(len(threading.enumerate()) > 0)]))
    define("outer(Tensor x) -> Tensor", CPU=lambda x: plugin.call_without_gil(x, inner))
    define("third(Tensor x) -> Tensor", CPU=lambda x: plugin.call_released(x, f"{ns}::outer"))
    for _ in range(3):
        assert plugin.call_released(x, f"{ns}::third").tolist() == [1.0]


def test_J10_other_threads_run_meanwhile(plugin, name_of, x):
    """A kernel in Python waits for a thread that needs the GIL, below one that released it."""
    released, ticks = threading.Event(), []

    def tick():
        released.wait(10)
        ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()

    def kernel(x):
        released.set()
        thread.join(10)
        return x

    plugin.wait_for_worker(x, name_of(kernel))
    assert ticks == [1]


def test_J10_the_mark_is_shown(plugin, x):
    assert "releases the GIL" in str(opyard.dispatch.explain(plugin.same_released, x))
    assert "releases the GIL" not in str(opyard.dispatch.explain(plugin.same, x))


def test_J10_a_c_function_is_marked_from_python(library):
    library.define("cosine(float x) -> float")
    library.define("kept(float x) -> float")
    library.impl_c("cosine", "libm.so.6", "cos", releases_gil=True)
    library.impl_c("kept", "libm.so.6", "cos")
    own = getattr(opyard.ops, library.ns)
    assert own.cosine(0.0) == own.kept(0.0) == 1.0
    assert "releases the GIL" in str(opyard.dispatch.explain(own.cosine, 0.0))
    assert "releases the GIL" not in str(opyard.dispatch.explain(own.kept, 0.0))


@pytest.mark.parametrize("read_only", [False, True])
def test_J10_what_is_borrowed_is_known_before_the_gil_is_released(plugin, read_only):
    a = arrays.Array([1.0, 2.0], (2,), read_only)
    assert plugin.is_read_only_to_worker(a) is read_only
    assert plugin.any_read_only_to_worker([arrays.Array([1.0]), a]) is read_only
    assert plugin.is_read_only_to_worker.default._call_boxed(a) is read_only
    frozen = np.ones(2)
    frozen.flags.writeable = not read_only
    assert plugin.is_read_only_to_worker(frozen) is read_only


def test_J10_results_and_references_are_as_without(plugin, x):
    assert plugin.same_released(x) is x
    before = sys.getrefcount(x)
    for _ in range(50):
        plugin.same_released(x)
    assert sys.getrefcount(x) == before


def test_J10_many_threads_release_and_take_the_gil_at_once(plugin, name_of, x):
    name = name_of(lambda x: x)
    failed = []

    def work():
        for way in RELEASING * 20:
            if not getattr(plugin, way)(x, name).equal(x):
                failed.append(way)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_J10_what_a_released_kernel_drops_is_dropped_with_the_gil(plugin):
    dropped = []

    class Note:
        def __del__(self):
            dropped.append(threading.get_ident())

    for _ in range(50):
        x = opyard.tensor([1.0])
        x.note = Note()
        plugin.keep(x)
        del x
        plugin.drop_released()
        opyard.ops.aten.neg(opyard.tensor([1.0]))  # empties the list of what is to be dropped
    assert dropped == [threading.get_ident()] * 50


def test_J10_exceptions_of_all_kinds_pass_through_kernels_that_released(way, name_of, x):
    class Interrupt(KeyboardInterrupt):
        pass

    name = name_of(lambda x: x)
    for kind in (Interrupt, SystemExit, MemoryError, RecursionError, StopIteration, Planned):
        planned = kind("planned")

        def kernel(x, planned=planned):
            raise planned

        with opyard.library.override(name, "CPU", kernel), pytest.raises(kind) as caught:
            way(x, name)
        assert caught.value is planned
        assert opyard.ops.aten.neg(x).tolist() == [-1.0, -2.0, -3.0]


IN_AN_INTERPRETER = """
    import sys
    from interpreters import Interpreter
    import opyard
    TEXT = '''
    import opyard, threading
    opyard.load_library({path!r})
    plugin = opyard.ops.test_plugin
    lib = opyard.library.Library("there", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("bad(Tensor x) -> Tensor")
    def bad(x):
        raise KeyError("there")
    lib.impl("f", lambda x: x, "CPU")
    lib.impl("bad", bad, "CPU")
    x = opyard.tensor([1.0])
    def work():
        for kernel in (plugin.call_released, plugin.call_without_gil):
            for _ in range(50):
                assert kernel(x, "there::f") is x
                try:
                    kernel(x, "there::bad")
                except KeyError as error:
                    assert error.args == ("there",)
                else:
                    raise AssertionError
        plugin.keep(opyard.tensor([2.0]))
        plugin.drop_released()
        assert plugin.same_released(x) is x
        done.append(1)
    done = []
    work()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len(done) == 5
    '''.replace("{path!r}", repr(sys.argv[1]))
    def run():
        there = Interpreter(sys.argv[2])
        there.run(TEXT)
        there.end()
    run()
    import threading
    if sys.argv[2] == "isolated":  # two at once
        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    opyard.load_library(sys.argv[1])
    x = opyard.tensor([1.0])
    assert opyard.ops.test_plugin.same_released(x) is x
    print("done")
"""


@pytest.mark.parametrize("kind", KINDS)
def test_J10_kernels_release_the_gil_of_the_interpreter_that_calls(kind):
    ended = run(IN_AN_INTERPRETER, plugin_path("opyard_test_plugin"), kind, limit=60)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "done\n", "")


# A row for each way in which a kernel goes through memory: products, walks, rows, positions, masks,
# ranges.
RELEASE = [
    "mm(s, s)",
    "addmm(s, s, s)",
    "add(m, m)",
    "exp(m)",
    "clone(aten.t(m))",
    "to(m, opyard.float64)",
    "cat([m, m])",
    "where(mask, m, m)",
    "sum(m)",
    "sum(m, [0])",
    "mean(m, [1])",
    "softmax(m, 1)",
    "max(m, 0)",
    "argmin(m)",
    "amax(m, [0, 1])",
    "all(mask)",
    "equal(m, m)",
    "gather(m, 1, places)",
    "index_select(m, 0, some)",
    "index(m, [some])",
    "index(m, [mask])",
    "index_put_(m, [some], m)",
    "arange(2_000_000)",
    "full([2_000_000], 1.5)",
    "sort(m, 0)",
    "topk(m, 700)",
    "cumsum(m, 1)",
    "prod(m, 1)",
    "nonzero(mask)",
    "scatter_add(m, 1, places, m)",
    "scatter_reduce(m, 1, places, m, 'mean')",
    "im2col(image, [3, 3], [1, 1], [0, 0], [1, 1])",
    "col2im(columns, [500, 500], [3, 3], [1, 1], [0, 0], [1, 1])",
    "rand([2_000_000])",
    "randint(9, [2_000_000])",
    "randperm(2_000_000)",
    "combinations(line)",
    "gather_backward(m, [1500, 1500], 1, places)",
    "scatter_strided(m, 2_250_000, [1500, 1500], [0, 1], 0)",
]


@pytest.mark.parametrize("call", RELEASE)
def test_J10_operators_of_aten_release_the_gil_for_many_elements(call):
    size = 1500
    m = opyard.tensor(np.ones((size, size), np.float32))
    names = {
        "opyard": opyard,
        "aten": opyard.ops.aten,
        "m": m,
        "s": opyard.tensor(np.ones((300, 300), np.float32)),
        "mask": opyard.tensor(np.ones((size, size), bool)),
        "some": opyard.tensor(np.arange(size)),
        "image": opyard.tensor(np.ones((1, 3, 500, 500), np.float32)),
        "line": opyard.arange(2500),
        "places": opyard.tensor(np.zeros((size, size), np.int64)),
    }
    space = "opyard.ops.opyard" if "_backward(" in call or "_strided(" in call else "aten"
    names["columns"] = opyard.ones([1, 27, 498 * 498])
    work = eval(f"lambda: {space}.{call}", names)
    stop, ticks = threading.Event(), []
    switching = sys.getswitchinterval()

    def tick():
        while not stop.is_set():
            time.sleep(0.0005)
            ticks.append(1)

    sys.setswitchinterval(1000)  # the thread runs only if the GIL is released to it
    thread = threading.Thread(target=tick, daemon=True)
    try:
        thread.start()
        work()
        before, started = len(ticks), time.monotonic()
        # The other thread may wake up too late for a call, but not for all of them.
        while len(ticks) == before and time.monotonic() - started < 5:
            work()
        after = len(ticks)
    finally:
        sys.setswitchinterval(switching)
        stop.set()
        thread.join()
    assert after > before


def test_J10_what_another_thread_writes_meanwhile_is_refused_or_read_never_followed():
    """Places that are checked and then read again would lead anywhere."""
    count = 1 << 18
    array = np.zeros(count, np.int64)
    places, ones = opyard.from_numpy(array), opyard.ones(count)
    aten, inner = opyard.ops.aten, opyard.ops.opyard
    stop = threading.Event()

    def write():
        while not stop.is_set():
            array[:] = 2**40
            array[:] = 0

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    answered = refused = 0
    try:
        for call in (
            lambda: aten.scatter_add(ones, 0, places, ones),
            lambda: inner.gather_backward(ones, [count], 0, places),
            lambda: aten.nonzero(places),
            lambda: aten.sort(places),
            lambda: aten.embedding_bag(ones.reshape([count, 1]), places, places),
        ):
            for _ in range(20):
                try:
                    call()
                    answered += 1
                except (IndexError, ValueError):
                    refused += 1
    finally:
        stop.set()
        thread.join()
    assert answered + refused == 100 and answered and refused
