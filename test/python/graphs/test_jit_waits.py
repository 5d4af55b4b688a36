"""A wait inside a graph keeps the budget of time that its run has.

Suspect jit/src/code/fork.cpp.
"""

import threading
import time

import pytest

import opyard
from opyard import futures, jit

WAITS = """
graph(%f : Future(Tensor), %x : Tensor):
  %y : Tensor = aten::wait(%f)
  %z : Tensor = aten::add(%y, %x)
  return (%z)
"""


@pytest.fixture
def state():
    return jit.InterpreterState(jit.compile(jit.parse_ir(WAITS)))


def test_a_wait_ends_with_the_time_of_its_run(state):
    future = futures.Future()
    state.set_budget(seconds=0.05)
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match=r"budget of time.*is used up\n.*aten::wait"):
        state.run_one_stage(future, opyard.tensor([1.0]))
    assert time.monotonic() - begin < 30


def test_a_run_with_more_time_waits_again(state):
    future = futures.Future()
    state.set_budget(seconds=0.02)
    with pytest.raises(TimeoutError):
        state.run_one_stage(future, opyard.tensor([1.0]))
    future.set_result(opyard.tensor([2.0]))
    state.set_budget(seconds=60.0)
    assert state.resume().tolist() == [3.0]


def test_so_does_a_step(state):
    state.set_budget(seconds=0.02)
    state.begin_stage(futures.Future(), opyard.tensor([1.0]))
    with pytest.raises(TimeoutError):
        state.step()


@pytest.mark.parametrize("budget", [{"steps": 100}, {"seconds": 60.0}])
def test_a_wait_that_is_in_time_goes_on(state, budget):
    future = futures.Future()
    timer = threading.Timer(0.05, future.set_result, (opyard.tensor([2.0]),))
    timer.start()
    state.set_budget(**budget)
    assert state.run_one_stage(future, opyard.tensor([1.0])).tolist() == [3.0]
    timer.join()
