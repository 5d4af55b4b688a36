"""Protects callbacks for device events in Python, and that a failing one spoils nothing.

Suspect opyard/gpu_trace.py, vtable/gpu_trace.cpp, dispatcher/src/observe/gpu_trace.cpp.
"""

import logging
import threading
import time

import pytest
from built import plugin_path

import opyard
from opyard import gpu_trace


@pytest.fixture(scope="module")
def slots():
    opyard.load_library(plugin_path("opyard_vtable_plugin"))
    return opyard.ops.test_vtable


@pytest.fixture
def told(monkeypatch):
    """What the callbacks that a test registers are called with; they are gone afterwards."""
    for registry in gpu_trace._registries.values():
        monkeypatch.setattr(registry, "callback_list", [])
    return []


# Each kind of event with the words that it comes with: event 11, stream 22, address 33.
EVENTS = {
    "event_creation": (11,),
    "event_deletion": (11,),
    "event_record": (11, 22),
    "event_wait": (11, 22),
    "memory_allocation": (33,),
    "memory_deallocation": (33,),
    "stream_creation": (22,),
    "device_synchronization": (),
    "stream_synchronization": (22,),
    "event_synchronization": (11,),
}


def register(event, callback):
    getattr(gpu_trace, f"register_callback_for_{event}")(callback)


@pytest.mark.parametrize("event", EVENTS)
def test_E30_each_event_reaches_its_callbacks(slots, told, event):
    register(event, lambda *words: told.append(words))
    slots.trace(event)
    assert told == [EVENTS[event]]


def test_E30_there_are_ten_events_and_a_function_for_each():
    assert list(gpu_trace._registries) == list(EVENTS)
    functions = {name for name in gpu_trace.__all__ if name.startswith("register_callback_for_")}
    assert functions == {f"register_callback_for_{event}" for event in EVENTS}


def test_E29_a_callback_that_raises_is_logged_and_the_rest_still_run(slots, told, caplog):
    def fail(event):
        raise ValueError("mine")

    register("event_creation", fail)
    register("event_creation", told.append)
    with caplog.at_level(logging.ERROR, "opyard.gpu_trace"):
        slots.trace("event_creation")
    assert told == [11]
    [record] = caplog.records
    assert record.getMessage() == (
        "Exception in callback for GPU event creation registered with gpu trace"
    )
    assert isinstance(record.exc_info[1], ValueError)


def test_E29_what_no_callback_may_raise_is_warned_of_and_goes_no_further(slots, told):
    def leave(event):
        raise KeyboardInterrupt("now")

    register("event_creation", leave)
    with pytest.warns(RuntimeWarning, match="CUDA trace hook execution failed: KeyboardInterrupt"):
        slots.trace("event_creation")


def test_E29_the_end_of_memory_on_another_thread_is_told_soon(slots, told):
    register("memory_deallocation", told.append)
    slots.trace_on_another_thread("memory_deallocation")
    deadline = time.monotonic() + 30
    while not told and time.monotonic() < deadline:
        time.sleep(0.001)  # lets the pending call of the main thread come
    assert told == [33]


def test_E29_an_interruption_in_a_late_callback_leaves_the_rest_for_later(slots, told):
    def leave(address):
        told.append(address)
        if len(told) == 1:
            raise KeyboardInterrupt("late")

    register("memory_deallocation", leave)
    register("event_creation", told.append)
    # All three come before the main thread looks, since it waits.
    tracing = threading.Thread(
        target=lambda: [slots.trace_on_another_thread("memory_deallocation") for _ in range(3)]
    )
    with pytest.raises(KeyboardInterrupt, match="late"):
        tracing.start()
        tracing.join()
        time.sleep(30)
    deadline = time.monotonic() + 30
    while len(told) < 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert told == [33, 33, 33]
    slots.trace("event_creation")
    assert told == [33, 33, 33, 11]


def test_E29_a_callback_must_be_callable(told):
    with pytest.raises(TypeError, match="GPU event wait: a callback must be a callable, not a int"):
        gpu_trace.register_callback_for_event_wait(3)


def test_E29_a_registry_of_ones_own(told):
    registry = gpu_trace.CallbackRegistry("mine")
    registry.add_callback(told.append)
    registry.fire_callbacks(7)
    assert (registry.name, told) == ("mine", [7])


def test_E29_nothing_is_told_once_the_interpreter_is_gone(run_program):
    result = run_program(
        """
        import atexit, sys, opyard
        opyard.load_library(sys.argv[1])
        told = []
        opyard.gpu_trace.register_callback_for_memory_deallocation(told.append)
        opyard.ops.test_vtable.trace_at_exit("memory_deallocation")
        print("ends")
        """,
        plugin_path("opyard_vtable_plugin"),
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "ends\n", "")
