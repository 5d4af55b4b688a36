"""test_futures.py: results that are not there yet.

Suspect objects/convert/future*.cpp, value/future.cpp.
"""

import asyncio
import concurrent.futures
import contextvars
import gc
import os
import signal
import sys
import threading
import time
import warnings
import weakref

import pytest

import opyard
from opyard.dispatch import DispatchKey, IncludeDispatchKeyGuard
from opyard.futures import (
    CancelledError,
    Future,
    collect_all,
    collect_any,
    from_concurrent,
    wait_all,
)

pytestmark = pytest.mark.memory

LONG = 30.0  # seconds that no wait should take


def completed(result):
    future = Future()
    future.set_result(result)
    return future


def failed(exception):
    future = Future()
    future.set_exception(exception)
    return future


@pytest.fixture
def unraisable(monkeypatch):
    """What went to sys.unraisablehook."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: seen.append((u.object, u.exc_value)))
    return seen


# Completing and reading -------------------------------------------------------------------


def test_K8_states():
    future = Future()
    assert not future.done()
    assert repr(future) == "<opyard.futures.Future, pending>"
    future.set_result(3)
    assert future.done()
    assert not future.cancelled()
    assert future.value() == future.wait() == 3
    assert future.exception() is None
    assert repr(future) == "<opyard.futures.Future, completed>"


def test_K2_any_object_can_be_the_result(x):
    class Own:
        pass

    for result in (
        None,
        True,
        7,
        2**80,
        2.5,
        1j,
        "text",
        x,
        b"bytes",
        Own(),
        [1, [x]],
        {"a": 1},
        (1,),
    ):
        future = completed(result)
        assert future.wait() is result or future.wait() == result
        assert future.wait() is future.wait() or isinstance(result, (int, float, complex, str))
    assert completed(x).value() is x


def test_K2_the_container_that_was_set_is_the_one_that_comes_out():
    for result in ([1, 2], {"a": [1]}, (1, [2])):
        future = completed(result)
        assert future.value() is result
        assert future.then(lambda f, result=result: f.value() is result).value() is True


def test_K6_completing_twice():
    text = (
        "the future is completed already, and a future is completed only once; "
        "set_value_if_needed() and set_error_if_needed() leave it as it is"
    )
    future = completed([1])
    for again in (lambda: future.set_result([2]), lambda: future.set_exception(ValueError())):
        with pytest.raises(RuntimeError) as caught:
            again()
        assert str(caught.value) == text
    assert future.value() == [1]


def test_K9_value_before_completion():
    for ask in (Future().value, Future().exception):
        with pytest.raises(RuntimeError) as caught:
            ask()
        assert str(caught.value) == (
            "the future is not completed, so it has no value yet; wait() waits for it"
        )


def test_K9_set_exception_takes_exceptions_only():
    future = Future()
    for wrong, name in ((3, "int"), (int, "type"), ("text", "str")):
        with pytest.raises(TypeError) as caught:
            future.set_exception(wrong)
        assert str(caught.value) == (
            f"set_exception() takes an exception, but a value of type '{name}' came"
        )
    assert not future.done()
    future.set_exception(KeyError)
    with pytest.raises(KeyError):
        future.wait()


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, StopIteration])
def test_K9_the_exception_comes_out_as_itself(kind):
    error = kind("why")
    future = failed(error)
    assert future.done()
    assert future.exception() is error
    for ask in (future.wait, future.value):
        with pytest.raises(kind) as caught:
            ask()
        assert caught.value is error


def test_K9_devices_need_an_index():
    with pytest.raises(ValueError) as caught:
        Future(devices=["cpu"])
    assert str(caught.value) == (
        "the devices of a future need an index, as in 'cpu:0', but one of them is 'cpu'"
    )
    with pytest.raises(NotImplementedError, match="^a future for cuda:1 would have to record an"):
        Future([opyard.device("cuda", 1)])
    with pytest.raises(TypeError) as caught:
        Future(devices=3)
    assert str(caught.value) == "Future: devices must be a list of devices, or None"
    assert Future(devices=["cpu:0", opyard.device("cpu", 1)]).done() is False
    assert Future(None).done() is False


# Callbacks --------------------------------------------------------------------------------


def test_K7_callbacks_run_in_order_on_the_completing_thread_and_later_ones_at_once():
    future = Future()
    ran = []

    def note(number):
        return lambda f: ran.append((number, f is future, threading.get_ident()))

    for number in range(3):
        future.add_done_callback(note(number))
    thread = threading.Thread(target=future.set_result, args=(1,))
    thread.start()
    thread.join()
    future.add_done_callback(note(3))
    idents = [thread.ident] * 3 + [threading.get_ident()]
    assert ran == [(number, True, ident) for number, ident in enumerate(idents)]


def test_K8_then_gives_a_future_of_what_the_callback_gives():
    future = Future()
    chained = future.then(lambda f: f.value() + 1).then(lambda f: [f.value()])
    assert not chained.done()
    future.set_result(1)
    assert chained.wait() == [2]
    assert completed(1).then(lambda f: None).value() is None


def test_K9_what_then_raises_is_the_exception_of_its_future():
    error = ZeroDivisionError("division by zero")

    def callback(_):
        raise error

    future = Future()
    chained = future.then(callback)
    future.set_result(1)
    assert chained.exception() is error
    assert chained.then(lambda f: f.exception() is error).value() is True


def test_K10_then_is_called_for_a_failed_future():
    error = ValueError("why")
    future = failed(error)
    assert future.then(lambda f: f.exception()).value() is error
    passed_on = future.then(lambda f: f.value()).then(lambda f: f.value())
    with pytest.raises(ValueError) as caught:
        passed_on.wait()
    assert caught.value is error


def test_K9_what_add_done_callback_raises_is_only_reported(unraisable):
    error = ValueError("why")
    ran = []

    def callback(_):
        raise error

    future = Future()
    future.add_done_callback(callback)
    future.add_done_callback(ran.append)
    future.set_result(1)
    assert unraisable == [(callback, error)]
    assert ran == [future]
    assert future.value() == 1


def test_K8_callbacks_must_be_callable():
    for name in ("then", "add_done_callback"):
        with pytest.raises(TypeError) as caught:
            getattr(Future(), name)(3)
        assert str(caught.value) == f"{name}() takes a callable, but a value of type 'int' came"


def test_X26_a_callback_has_the_context_of_who_added_it():
    variable = contextvars.ContextVar("variable", default="none")
    future = Future()

    def add():
        variable.set("mine")
        future.add_done_callback(lambda f: seen.append(variable.get()))
        return future.then(lambda f: variable.get())

    seen = []
    chained = contextvars.copy_context().run(add)
    thread = threading.Thread(target=future.set_result, args=(1,))
    thread.start()
    thread.join()
    assert seen == ["mine"]
    assert chained.value() == "mine"
    assert variable.get() == "none"


def test_K7_a_callback_has_the_keys_of_who_added_it():
    future = Future()
    with IncludeDispatchKeyGuard(DispatchKey.Tracer):
        chained = future.then(lambda f: opyard._C.local_keys()[0].has(DispatchKey.Tracer))
    assert not opyard._C.local_keys()[0].has(DispatchKey.Tracer)
    future.set_result(1)
    assert chained.value() is True
    assert not opyard._C.local_keys()[0].has(DispatchKey.Tracer)


def test_K10_a_long_chain_needs_no_stack():
    first = Future()
    last = first
    for _ in range(20_000):
        last = last.then(lambda f: f.value() + 1)
    first.set_result(0)
    assert last.value() == 20_000


# Waiting ----------------------------------------------------------------------------------


def test_K5_waiting_lets_other_threads_run():
    future = Future()
    threading.Timer(0.05, future.set_result, ["there"]).start()
    assert future.wait() == "there"


def test_X26_a_wait_has_an_end():
    future = Future()
    before = time.monotonic()
    with pytest.raises(TimeoutError) as caught:
        future.wait(0.12)
    assert time.monotonic() - before >= 0.12
    assert str(caught.value) == "the future was not completed within 0.12 seconds"
    with pytest.raises(TimeoutError):
        future.wait(timeout=-1)
    with pytest.raises(ValueError) as caught:
        future.wait(float("nan"))
    assert str(caught.value) == (
        "wait: the timeout is not a number; give seconds, or None to wait for ever"
    )
    with pytest.raises(TypeError):
        future.wait("soon")
    future.set_result(1)
    assert future.wait(0) == future.wait(float("inf")) == 1


def test_X26_a_callback_that_waits_for_its_own_future_is_told():
    first = Future()
    box = []
    box.append(first.then(lambda f: box[0].wait()))
    first.set_result(1)
    with pytest.raises(RuntimeError) as caught:
        box[0].wait()
    assert str(caught.value) == (
        "the callback that completes this future waits for it, on the same thread, so neither "
        "would ever go on"
    )


def test_X26_a_signal_ends_a_wait():
    class Interrupted(Exception):
        pass

    def handler(*_):
        raise Interrupted

    former = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Interrupted):
            Future().wait(LONG)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


# Cancelling -------------------------------------------------------------------------------


def test_X26_cancelling():
    future = Future()
    told = []
    future.add_done_callback(lambda f: told.append(f.cancelled()))
    assert future.cancel() is True
    assert future.cancel() is False
    assert told == [True]
    assert future.done()
    assert future.cancelled()
    assert repr(future) == "<opyard.futures.Future, cancelled>"
    assert CancelledError is concurrent.futures.CancelledError
    with pytest.raises(CancelledError):
        future.wait()
    assert isinstance(future.exception(), CancelledError)
    with pytest.raises(RuntimeError) as caught:
        future.set_result(1)
    assert str(caught.value) == (
        "the future was cancelled, so it takes no value and no error any more; a producer asks "
        "cancelled(), or uses set_value_if_needed() and set_error_if_needed()"
    )
    assert completed(1).cancel() is False


def test_X26_a_callback_whose_future_was_cancelled_is_not_called():
    called = []
    first = Future()
    first.then(called.append).cancel()
    first.set_result(1)
    assert called == []


# Several ----------------------------------------------------------------------------------


def test_K11_all_of_them():
    futures = [Future() for _ in range(3)]
    everything = collect_all(futures)
    for number in (2, 0, 1):
        assert not everything.done()
        futures[number].set_result(number)
    got = everything.wait()
    assert [a is b for a, b in zip(got, futures, strict=False)] == [True] * 3
    assert everything.value() is everything.value() is got
    assert wait_all(futures) == [0, 1, 2]
    assert collect_all([]).value() == []
    assert wait_all([]) == []


def test_K11_the_first_error_wins():
    futures = [Future(), Future()]
    everything = collect_all(futures)
    error = ValueError("first")
    futures[1].set_exception(error)
    assert everything.exception() is error
    with pytest.raises(ValueError) as caught:
        wait_all(futures)
    assert caught.value is error
    with pytest.raises(TimeoutError):
        wait_all([Future()], timeout=0.01)


def test_K11_any_of_them():
    futures = [Future(), Future()]
    first = collect_any(futures)
    futures[1].set_result("second")
    assert first.value() == "second"
    assert collect_any([]).value() is None
    for function, name in ((collect_all, "collect_all()"), (collect_any, "collect_any()")):
        with pytest.raises(TypeError) as caught:
            function([Future(), 3])
        assert str(caught.value) == f"{name} takes a list of futures, but item 1 is of type 'int'"


# C++ --------------------------------------------------------------------------------------


def test_K5_an_operator_gives_a_future_that_a_native_thread_completes(plugin):
    future = plugin.later(20, 42)
    assert isinstance(future, Future)
    assert future.wait(LONG) == 42
    assert plugin.later(0, 1).then(lambda f: f.wait() + 1).wait(LONG) == 2


def test_K7_callbacks_run_on_the_native_thread(plugin):
    here = threading.get_ident()
    future = plugin.later(500, 1)  # behind then(), also on a busy machine
    assert future.then(lambda f: threading.get_ident() != here).wait(LONG) is True


def test_K2_C_completes_what_Python_made(plugin, x):
    for result in (3, "text", x, [1, x]):
        future = Future()
        plugin.complete_later(future, 10, result)
        got = future.wait(LONG)
        assert got is result or got == result
    future = Future()
    plugin.complete_later(future, 0, 1.5)
    assert future.then(lambda f: f.value() * 2).wait(LONG) == 3.0


def test_K5_a_future_keeps_its_identity(plugin):
    future = Future()
    assert plugin.same_future(future) is future
    twice = plugin.twice_of(future)
    future.set_result(21)
    assert twice.value() == 42
    assert plugin.same_future(future) is future
    number = id(plugin.same_future(twice))
    assert number == id(twice)


def test_K5_a_future_of_the_wrong_result_is_refused(plugin):
    with pytest.raises(TypeError):
        plugin.same_future(completed("text"))
    with pytest.raises(TypeError):
        plugin.same_future(3)
    late = Future()
    twice = plugin.twice_of(late)
    late.set_result("text")
    with pytest.raises(TypeError) as caught:
        twice.value()
    assert str(caught.value) == "expected Int but got String"


def test_K9_an_error_of_C_is_the_exception_of_its_kind(plugin):
    future = plugin.fail_later(5, "no shape")
    with pytest.raises(ValueError) as caught:
        future.wait(LONG)
    assert str(caught.value) == "no shape"
    assert future.exception() is caught.value
    assert plugin.error_of_future(failed(ValueError("why"))) == "ValueError: why"


def test_X26_cancelling_from_C(plugin):
    future = Future()
    assert plugin.cancel_future(future) is True
    assert future.cancelled()
    with pytest.raises(CancelledError):
        future.wait()
    assert plugin.cancel_future(future) is False


def test_K5_a_Python_kernel_takes_and_gives_futures(define):
    op = define("passed(Future(int) f) -> Future(int)", CompositeExplicitAutograd=lambda f: f)
    future = Future()
    assert op(future) is future


# Errors that no one saw --------------------------------------------------------------------


def test_X26_an_exception_that_nobody_saw_is_warned_of(collect):
    text = "a future failed, and no one has looked at its error: ValueError: why"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        failed(ValueError("why"))
        collect()
        failed(ValueError("seen")).exception()
        Future().cancel()
        collect()
    assert [str(w.message) for w in caught] == [text]
    assert caught[0].category is RuntimeWarning


def test_X26_a_native_threads_warning_comes_too(plugin):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plugin.fail_unseen()
        for _ in range(1000):  # a pending call runs between two instructions
            if caught:
                break
            time.sleep(0.001)
    assert [str(w.message) for w in caught] == [
        "a future failed, and no one has looked at its error: unseen"
    ]


# asyncio and concurrent.futures -----------------------------------------------------------


def test_K16_await(plugin):
    async def main():
        error = ValueError("why")
        assert await completed(3) == 3
        assert await plugin.later(10, 42) == 42
        got = await asyncio.gather(*(wrap(plugin.later(5, n)) for n in range(5)))
        assert got == [0, 1, 2, 3, 4]
        with pytest.raises(ValueError) as caught:
            await failed(error)
        assert caught.value is error
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wrap(Future()), 0.01)

    async def wrap(future):
        return await future

    asyncio.run(main())


def test_K16_the_loop_goes_on_while_a_future_is_awaited():
    future = Future()
    ticks = []

    async def tick():
        while not future.done():
            ticks.append(1)
            await asyncio.sleep(0.001)

    async def main():
        ticking = asyncio.ensure_future(tick())
        threading.Timer(0.05, future.set_result, [1]).start()
        assert await future == 1
        await ticking

    asyncio.run(main())
    assert len(ticks) > 1


def test_K16_cancelling_the_task_cancels_the_future_and_back():
    async def wait_for(future):
        return await future

    async def main():
        future = Future()
        task = asyncio.ensure_future(wait_for(future))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert future.cancelled()

        other = Future()
        task = asyncio.ensure_future(wait_for(other))
        await asyncio.sleep(0)
        other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())


def test_K16_a_loop_that_has_ended_is_no_fault(unraisable):
    future = Future()

    async def wait_for():
        await future

    loop = asyncio.new_event_loop()
    task = loop.create_task(wait_for())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    future.set_result(1)
    assert unraisable == []
    task._log_destroy_pending = False


def test_K16_as_concurrent():
    error = ValueError("why")
    future = Future()
    other = future.as_concurrent()
    assert isinstance(other, concurrent.futures.Future)
    assert not other.done()
    future.set_result(3)
    assert other.result(LONG) == 3
    assert failed(error).as_concurrent().exception(LONG) is error

    future = Future()
    other = future.as_concurrent()
    assert other.cancel()
    assert future.cancelled()
    future = Future()
    other = future.as_concurrent()
    future.cancel()
    assert other.cancelled()
    done, _ = concurrent.futures.wait([other], LONG)
    assert done == {other}


def test_K16_from_concurrent():
    error = ValueError("why")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert from_concurrent(pool.submit(lambda: 3)).wait(LONG) == 3

        def fail():
            raise error

        assert from_concurrent(pool.submit(fail)).then(lambda f: f.exception()).wait(LONG) is error
    theirs = concurrent.futures.Future()
    ours = from_concurrent(theirs)
    assert ours.cancel()
    assert theirs.cancelled()
    theirs = concurrent.futures.Future()
    ours = from_concurrent(theirs)
    theirs.cancel()
    assert ours.cancelled()


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
