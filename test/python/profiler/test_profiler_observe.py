"""Functions of Python that are told of the operator calls of a thread.

Suspect profiler/python/tracer/observers.cpp, then dispatcher/src/registry/observed_call.cpp.
"""

import gc
import sys
import threading
import time
import weakref

import pytest
from processes import leaks

import opyard
from opyard import dispatch
from opyard.library import Library
from opyard.profiler import observe, profile

aten = opyard.ops.aten


@pytest.fixture
def x():
    return opyard.tensor([1.0, 2.0])


@pytest.fixture(scope="module")
def ops():
    library = Library("watched", "DEF")
    library.define("outer(Tensor x) -> Tensor")
    library.define("fails(Tensor x) -> Tensor")
    library.impl("outer", lambda x: aten.neg(x), "CPU")

    def fail(x):
        raise ValueError("no")

    library.impl("fails", fail, "CPU")
    yield opyard.ops.watched
    library._destroy()


class Told(list):
    def enter(self, op, keys, arguments):
        self.append(("enter", op.name(), arguments))
        return len(self)

    def exit(self, op, context, failed, results):
        self.append(("exit", op.name(), context, failed, results))


def test_I35_each_call_is_told_with_a_context_from_begin_to_end(ops, x):
    told = Told()
    with observe(told.enter, told.exit):
        ops.outer(x)
    ops.outer(x)
    assert told == [
        ("enter", "watched::outer", None),
        ("enter", "aten::neg", None),
        ("exit", "aten::neg", 2, False, None),
        ("exit", "watched::outer", 1, False, None),
    ]


def test_I35_arguments_and_results_are_given_if_asked_for(x):
    told = Told()
    with observe(told.enter, told.exit, inputs=True, outputs=True):
        y = aten.add(x, 2, alpha=3)
        cats = aten.max.dim(opyard.tensor([[1.0, 5.0]]), 1)
    (_, _, given), (*_, (result,)), (_, _, (m, dim, keep)), (*_, results) = told
    assert given[0] is x and given[1:] == (2, 3) and result.tolist() == y.tolist() == [7.0, 8.0]
    assert (m.shape, dim, keep) == ((1, 2), 1, False)
    assert [one.tolist() for one in results] == [[5.0], [1]] == [one.tolist() for one in cats]
    del told[:]
    with observe(told.enter, told.exit, outputs=True):
        aten.neg(x)
    assert told[0] == ("enter", "aten::neg", None) and told[1][4][0].tolist() == [-1.0, -2.0]


def test_I35_the_keys_are_those_of_the_call(x):
    seen = []
    with observe(lambda op, keys, arguments: seen.append(keys)):
        aten.neg(x)
    assert "CPU" in str(seen[0]) and "Observe" not in str(seen[0])


def test_I35_a_call_that_fails_ends_and_its_exception_stays(ops, x):
    told = Told()
    with observe(told.enter, told.exit, outputs=True):
        with pytest.raises(ValueError, match="no"):
            ops.fails(x)
        with pytest.raises(ValueError):
            aten.mm(x, x)
    assert [one for one in told if one[0] == "exit"] == [
        ("exit", "watched::fails", 1, True, None),
        ("exit", "aten::mm", 3, True, None),
    ]


def test_I35_blocks_nest_and_what_they_call_is_not_told(x):
    order = []

    def name(text):
        def enter(op, keys, arguments):
            aten.neg(x)
            order.append(text)

        return enter

    with observe(name("a")):
        with observe(name("b")):
            aten.neg(x)
        aten.neg(x)
    assert order == ["a", "b", "a"]


def test_I35_a_handle_disables_enables_and_removes(x):
    told = Told()
    one = observe(told.enter)
    for action in (one.stop, one.disable, one.enable):
        with pytest.raises(RuntimeError, match="the observer is not on"):
            action()
    one.start()
    with pytest.raises(RuntimeError, match="is on already"):
        one.start()
    one.disable()
    aten.neg(x)
    one.enable()
    aten.neg(x)
    with dispatch.ExcludeDispatchKeyGuard("Observe"):
        aten.neg(x)
    one.stop()
    aten.neg(x)
    assert len(told) == 1
    one.start()
    one.stop()


def test_I35_a_probability_draws_some_of_the_calls(x):
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="Invalid sampling probability"):
            observe(probability=wrong)
    counts = []
    for probability in (0.0, 0.25, 1.0):
        told = Told()
        with observe(told.enter, told.exit, probability=probability):
            for _ in range(2000):
                aten.neg(x)
        kinds = [kind for kind, *_ in told]
        assert kinds == ["enter", "exit"] * (len(told) // 2)
        counts.append(len(told) // 2)
    assert counts[0] == 0 and 350 < counts[1] < 650 and counts[2] == 2000


def test_I35_an_observer_is_a_matter_of_one_thread(x):
    told, errors = Told(), []

    def elsewhere():
        aten.neg(x)
        try:
            one.stop()
        except RuntimeError as error:
            errors.append(str(error))

    with observe(told.enter) as one:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert told == []
    assert errors == ["an observer belongs to the thread that began it, and this is another one"]


def test_an_observer_that_is_never_stopped_ends_with_its_thread_and_says_so(x, recwarn):
    told, kept = Told(), []

    def elsewhere():
        outer = observe(told.enter)
        outer.start()
        with observe():
            pass
        inner = observe()
        inner.start()
        aten.neg(x)
        kept.append(weakref.ref(told))
        kept.extend((outer, inner))

    recwarn.clear()
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    deadline = time.monotonic() + 10
    while len(recwarn) == 0 and time.monotonic() < deadline:
        time.sleep(0.001)  # the thread clears its state after join()
    [said] = recwarn
    assert said.category is RuntimeWarning
    assert str(said.message).startswith("an observer was not stopped on the thread that began it")
    assert len(told) == 1
    _, outer, _ = kept
    for action in (outer.stop, outer.disable, outer.enable):
        with pytest.raises(RuntimeError, match="has ended with the thread that began it"):
            action()
    for _ in range(3):
        with observe():
            pass


def test_what_an_observer_of_a_thread_that_ended_had_is_freed(x, recwarn):
    class Function:
        def __call__(self, *what):
            return None

    function = Function()
    kept = weakref.ref(function)

    place = threading.local()

    def elsewhere(function):
        place.observer = observe(function)
        place.observer.start()
        aten.neg(x)

    thread = threading.Thread(target=elsewhere, args=(function,))
    thread.start()
    del function
    thread.join()
    deadline = time.monotonic() + 10
    while kept() is not None and time.monotonic() < deadline:
        time.sleep(0.001)  # the thread clears its state after join()
    assert kept() is None


def test_observers_end_in_the_opposite_order_and_not_within_a_call(x):
    outer, inner = observe(), observe()
    outer.start()
    inner.start()
    with pytest.raises(RuntimeError, match="in the opposite order"):
        outer.stop()
    inner.stop()
    outer.stop()
    refused = []

    def enter(op, keys, arguments):
        try:
            one.stop()
        except RuntimeError as error:
            refused.append(str(error))

    with observe(enter) as one:
        aten.neg(x)
        aten.neg(x)
    assert len(refused) == 2 and refused[0].startswith("an observer cannot end within a call")


def test_what_a_function_raises_goes_to_the_hook_and_the_call_goes_on(x, monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: raised.append(str(what.exc_value)))

    def fail(*what):
        raise ValueError("told")

    with observe(fail, fail):
        assert aten.neg(x).tolist() == [-1.0, -2.0]
    assert raised == ["told", "told"]
    for wrong in ("on_enter", "on_exit"):
        with pytest.raises(TypeError, match=f"{wrong} must be a callable, not a int"):
            observe(**{wrong: 1})


def test_an_observer_and_a_profile_go_together(ops, x):
    told = Told()
    with profile(with_stack=False) as prof, observe(told.enter, told.exit):
        ops.outer(x)
    assert len(told) == 4
    # A call goes through the layer that tells observers, and is one call all the same.
    assert {row.key: row.count for row in prof.key_averages()} == {
        "watched::outer": 1,
        "aten::neg": 1,
    }


def test_I35_calls_of_a_graph_are_told_too(x):
    graph = opyard.jit.compile(
        opyard.jit.parse_ir("graph(%x : Tensor):\n  %1 : Tensor = aten::neg(%x)\n  return (%1)\n")
    )
    told = Told()
    with observe(told.enter, told.exit, inputs=True):
        graph(x)
    assert [kind for kind, *_ in told] == ["enter", "exit"] and told[0][2][0] is x


def test_nothing_is_left_by_an_observer(x):
    def step():
        with observe(lambda *what: object(), lambda *what: None, inputs=True, outputs=True):
            aten.neg(x)

    assert leaks(step) is None
    told = Told()
    kept = weakref.ref(told)
    with observe(told.enter):
        aten.neg(x)
    del told
    gc.collect()
    assert kept() is None


def test_nothing_runs_at_the_death_of_one_that_was_stopped():
    """An interrupt in it would be lost."""
    observer = observe()
    observer.start()
    observer.stop()
    seen = []

    def trace(frame, event, _):
        seen.append((frame.f_code.co_name, event))

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        del observer
    finally:
        sys.settrace(former)
    assert seen == []


def test_one_that_could_not_begin_is_not_on(monkeypatch):
    def refuse(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(opyard._tracer, "begin_observer", refuse)
    observer = observe()
    with pytest.raises(KeyboardInterrupt):
        observer.start()
    assert observer not in opyard.profiler.active_observers() and not observer._kept
