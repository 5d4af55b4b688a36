"""test_futures.py: futures: completion, waiting, callbacks.

Suspect objects/convert/future*.cpp, value/future.cpp.
"""

import concurrent.futures
import contextvars
import signal
import threading
import time
import warnings

import pytest
from settled_futures import LONG, completed, failed

import opyard
from opyard import autograd
from opyard.dispatch import DispatchKey, DispatchMode, IncludeDispatchKeyGuard
from opyard.futures import (
    CancelledError,
    Future,
    collect_all,
    collect_any,
    wait_all,
)

pytestmark = pytest.mark.memory

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
        "the future is completed already, and a future is completed only once; ask done(), or in "
        "C++ use set_value_if_needed() and set_error_if_needed(), which leave it as it is"
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


def test_K7_a_callback_has_the_gradient_mode_and_the_modes_of_who_added_it(x):
    class Notes(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            noted.append(threading.get_ident())
            return op(*args, **(kwargs or {}))

    def state(future):
        future.value().add(1)
        return autograd.is_grad_enabled(), opyard._C.local_keys()[0].has(DispatchKey.Python)

    noted = []
    seen = []
    future = Future()
    with autograd.no_grad(), Notes():
        chained = future.then(state)
        future.add_done_callback(lambda f: seen.append(state(f)))
    plain = future.then(state)
    thread = threading.Thread(target=future.set_result, args=(x,))
    thread.start()
    thread.join()
    assert chained.value() == (False, True)
    assert seen == [(False, True)]
    assert plain.value() == (True, False)
    assert noted == [thread.ident] * 2

    future = Future()
    plain = future.then(state)
    with autograd.no_grad(), Notes():
        future.set_result(x)
        assert not autograd.is_grad_enabled()  # as before the callback
    assert plain.value() == (True, False)
    assert len(noted) == 2


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
        "cancelled(), or in C++ uses set_value_if_needed() and set_error_if_needed()"
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
