"""test_future_lives.py: lifetimes of futures: references, cycles, forks and the end of a program.

Suspect objects/convert/future.cpp, future_state.cpp, value/future.cpp.
"""

import gc
import os
import signal
import sys
import threading
import time
import weakref

import pytest
from settled_futures import LONG, completed, failed

import opyard
from opyard.futures import (
    Future,
    collect_all,
    collect_any,
)

pytestmark = pytest.mark.memory

# Memory -----------------------------------------------------------------------------------


class Canary:
    pass


def cycles():
    def by_callback(canary):
        future = Future()
        future.add_done_callback(lambda f: (future, canary))

    def by_then(canary):
        future = Future()
        future.then(lambda f: (future, canary))

    def by_value(canary):
        canary.future = completed(canary)

    def by_container(canary):
        canary.future = completed([{"a": (canary,)}])

    def by_traceback(canary):
        future = failed(ValueError())
        try:
            future.wait()
        except ValueError:
            pass

    def by_attribute_of_the_exception(canary):
        error = ValueError(canary)
        error.future = failed(error)
        error.future.exception()

    return [
        by_callback,
        by_then,
        by_value,
        by_container,
        by_traceback,
        by_attribute_of_the_exception,
    ]


@pytest.mark.parametrize("make", cycles(), ids=lambda make: make.__name__)
def test_K5_cycles_through_a_future_are_collected(make, collect):
    canary = Canary()
    gone = weakref.ref(canary)
    make(canary)
    del canary
    collect()
    assert gone() is None


def test_K5_what_C_keeps_is_not_collected(plugin, collect):
    def start():
        future = Future()
        canary = Canary()
        future.add_done_callback(lambda f: seen.append((future, canary)))
        plugin.complete_later(future, 100, 1)
        return weakref.ref(canary)

    seen = []
    gone = start()
    collect()
    assert gone() is not None
    until = time.monotonic() + LONG
    while not seen and time.monotonic() < until:
        time.sleep(0.005)
    assert seen[0][0].value() == 1


def test_K5_callbacks_are_released_once_they_have_run():
    canary = Canary()
    gone = weakref.ref(canary)
    future = Future()
    future.add_done_callback(lambda f, canary=canary: None)
    kept = future.then(lambda f, canary=canary: None)
    del canary
    future.set_result(1)
    assert gone() is None
    assert kept.value() is None


def test_K5_nothing_leaks(plugin):
    def use():
        future = Future()
        future.then(lambda f: f.value()).add_done_callback(lambda f: None)
        future.set_result([1, "text"])
        future.value()
        failed(ValueError("why")).exception()
        collect_all([future, completed(2)]).wait()
        collect_any([future])
        Future().cancel()
        plugin.same_future(completed(1))
        for wrong in (lambda: future.set_result(1), lambda: Future().wait(0), lambda: Future(3)):
            try:
                wrong()
            except (RuntimeError, TimeoutError, TypeError):
                pass

    for _ in range(20):
        use()
    gc.collect()
    deltas = []
    for _ in range(5):
        before = sys.getallocatedblocks()
        for _ in range(50):
            use()
        gc.collect()
        deltas.append(sys.getallocatedblocks() - before)
    assert min(deltas) < 10, deltas


def test_K8_the_type_can_be_named_with_a_parameter():
    assert Future[int].__origin__ is Future


# The child of a fork, and the end -----------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # 3.12: a process with threads forks
def test_P10_the_child_of_a_fork_can_use_futures():
    future = Future()
    waiting = threading.Thread(target=future.wait, args=(LONG,))
    waiting.start()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        future.set_result(1)
        os._exit(0 if future.wait(1) == 1 and completed(2).then(lambda f: 3).wait(1) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not future.done()
    future.set_result(None)
    waiting.join()


ENDINGS = {
    "pending with callbacks": """
        keep = Future()
        keep.add_done_callback(print)
        keep.then(print).then(print)
        collect_all([keep, Future()]).then(print)
        loop = []
        loop.append(Future())
        loop[0].add_done_callback(lambda f: print(loop))
    """,
    "completed by native threads while it ends": """
        keep = [Future() for _ in range(50)]
        for i, future in enumerate(keep):
            future.add_done_callback(lambda f: None)
            future.then(lambda f: [f])
            opyard.ops.test_plugin.complete_later(future, i % 20, [i])
    """,
    "daemon threads that wait": """
        import threading, time
        future = Future()
        for _ in range(4):
            threading.Thread(target=future.wait, daemon=True).start()
        time.sleep(0.06)
    """,
    "failures that no one saw": """
        import sys
        keep = Future()
        keep.set_exception(ValueError("why"))
        sys.modules["builtins"].keep = keep
    """,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_P7_programs_with_futures_end_quietly(ending, run_program, plugin):
    from built import plugin_path

    if ending.startswith("daemon") and sys.version_info < (3, 11):
        pytest.skip("CPython 3.10 itself crashes now and then when daemon threads are running")
    prelude = """
        import sys
        import opyard
        from opyard.futures import Future, collect_all
        opyard.load_library(sys.argv[1])
    """
    for _ in range(5):
        done = run_program(prelude + ENDINGS[ending], plugin_path("opyard_test_plugin"))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_P11_ctrl_c_ends_a_wait(run_program):
    done = run_program("""
        import os, signal, threading, time
        from opyard.futures import Future
        # A program that was started in the background ignores the signal at first.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
        before = time.monotonic()
        try:
            Future().wait()
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - before < 20)
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted True\n", "")


def test_K2_a_container_made_by_cpp_is_shown_as_one_object(x):
    parts = [Future() for _ in range(2)]
    for part in parts:
        part.set_result(x)
    both = opyard.futures.collect_all(parts)
    assert both.value() is both.value()
    assert both.value()[0] is parts[0]
