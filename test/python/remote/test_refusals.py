"""test_refusals.py: what sessions are given wrongly, and what fails under them: a sentence each.

Suspect remote/python/opyard/_remote/pickling.py, calls.py and worker.py; pipe_socket.py for memory.
"""

import os
import re
import signal
import threading
import time

import pytest
import remote_functions as functions
from processes import run

import opyard
import opyard.remote
from opyard.remote import WorkerLost

aten = opyard.ops.aten
SETUP = r"are to be defined on each worker, by the function that session\(setup=\) is given"


@pytest.fixture
def twice(define):
    return define("twice(Tensor x) -> Tensor", CompositeExplicitAutograd=lambda x: x * 2)


def test_an_operator_whose_kernel_is_of_this_process_says_where_to_define_it(pipes, twice):
    x = opyard.ones(2)
    name = twice.default.name()
    graph = opyard.jit.parse_ir(f"graph(%x : Tensor):\n  %2 : Tensor = {name}(%x)\n  return (%2)\n")
    for called in (twice, twice.default, graph):
        for _ in range(2):  # what a worker could not read is sent whole again
            with pytest.raises(LookupError, match=f"{name}.*{SETUP}"):
                pipes.call(called, x)
    assert pipes.call(functions.double, 2) == 4


def test_what_has_no_pickle_is_named_with_what_to_do(pipes):
    lock = threading.Lock()
    end = "cannot be sent: cannot pickle '_thread.lock' object; send what it is made of, or make it"
    for call, what in (
        (lambda: pipes.call(lambda: lock), "what the function test_.* refers to"),
        (lambda: pipes.call(functions.double, lock), "what is given to double"),
        (lambda: pipes.put([lock]), "what is given to put"),
        (lambda: pipes.call(threading.Lock), "the result of "),
    ):
        with pytest.raises(TypeError, match=f"^{what}.*{end}"):
            call()
    with pytest.raises(ValueError, match=r"copy tensor.detach\(\)"):
        pipes.call(functions.double, opyard.ones(2, requires_grad=True) * 2)
    assert pipes.call(functions.double, 2) == 4


@pytest.mark.parametrize("call", ["call", "call_async", "map", "each", "remote"])
def test_what_cannot_be_called_is_refused_before_anything_is_sent(pipes, call):
    args = {"map": ([],), "each": ()}.get(call, (1,))
    with pytest.raises(TypeError, match="what is called must be a function, an operator.*not int"):
        getattr(pipes, call)(3, *args)


@pytest.mark.parametrize("timeout", [0, -1, "5", True, float("nan")])
def test_a_time_limit_is_a_number_of_seconds(pipes, timeout):
    ref = pipes.put(1)
    for name, call in (
        ("call", lambda: pipes.call(functions.double, 1, timeout=timeout)),
        ("map", lambda: pipes.map(functions.double, [], timeout=timeout)),
        ("each", lambda: pipes.each(functions.process, timeout=timeout)),
        ("to_here", lambda: ref.to_here(timeout)),
    ):
        with pytest.raises(ValueError, match=f"^{name}: timeout must be a number of seconds above"):
            call()


def test_shards_can_be_iterated_over(pipes):
    with pytest.raises(TypeError, match="map: shards must be iterable, not int 3"):
        pipes.map(functions.double, 3)


def test_all_that_can_hang_has_a_time_limit(pipes):
    slow = pipes.remote(functions.wait, 1.5, worker=0)
    with pytest.raises(TimeoutError, match="to_here of .* gave no result in 0.1 s"):
        slow.to_here(0.1)
    with pytest.raises(TimeoutError, match="gave no result in 0.1 s"):
        list(pipes.map(functions.wait, [1.0] * 4, timeout=0.1))
    with pytest.raises(TimeoutError, match="gave no result in 0.1 s"):
        pipes.each(functions.wait, [1.0, 1.0], timeout=0.1)
    with pytest.raises(TimeoutError, match="wait_for_workers: 2 workers live after 0.1 s, and 3"):
        pipes.wait_for_workers(3, 0.1)
    with pytest.raises(TimeoutError, match="all_reduce: nothing came from worker 0 in time; every"):
        pipes.each(functions.ring_of_one)
    assert pipes.call(functions.double, 2) == 4


def test_a_session_ends_at_once_though_its_workers_hang():
    with opyard.remote.session(workers=2) as s:
        for n in s.workers:
            s.call_async(functions.wait, 1000, worker=n)
        time.sleep(0.2)
        began = time.monotonic()
    assert time.monotonic() - began < 15.0


def test_a_worker_that_is_killed_in_the_middle_of_a_graph_fails_the_graph():
    lines = ["graph(%x : Tensor):", "  %v0 : Tensor = aten::mm(%x, %x)"]
    lines += [f"  %v{n} : Tensor = aten::mm(%v{n - 1}, %x)" for n in range(1, 2000)]
    graph = opyard.jit.parse_ir("\n".join([*lines, "  return (%v1999)", ""]))
    with opyard.remote.session(workers=2) as s:
        made = s.remote(graph, opyard.ones(400, 400), worker=0)
        after = s.call_async(aten.sum, made, worker=1)
        time.sleep(0.3)
        os.kill(s._engine.process_ids()[0], signal.SIGKILL)
        with pytest.raises(WorkerLost, match="worker 0 was killed by SIGKILL before .* Graph"):
            made.future().wait(30.0)
        with pytest.raises(WorkerLost, match="worker 0 has ended, and with it the value of"):
            after.wait(30.0)
        assert s.call(functions.double, 2) == 4


def test_what_does_not_fit_into_shared_memory_says_so_and_the_session_goes_on():
    """A file may have so many bytes at most: the driver's, and then those of the worker."""
    program = """
        import resource, opyard.remote

        def limit(size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        def large(n):
            return bytes(n)

        with opyard.remote.session(workers=1) as s:
            for way in (lambda: s.call(len, bytes(3 << 20)), lambda: s.call(large, 3 << 20)):
                try:
                    limit(1 << 20)
                    s.call(limit, 1 << 20)
                    way()
                except MemoryError as error:
                    print(error)
            limit(resource.RLIM_INFINITY)
            s.call(limit, resource.RLIM_INFINITY)
            print(s.call(len, bytes(3 << 20)), len(s.call(large, 3 << 20)))
    """
    ended = run(program, limit=60.0)
    there, here, sizes = ended.stdout.splitlines()
    for line in (there, here):
        assert re.match(r"a message of 3,14\d,\d+ bytes cannot be put into the memory that", line)
        assert line.endswith("or keep it on the workers with remote() and put()")
    assert sizes == "3145728 3145728"


def test_a_tensor_of_a_session_that_has_ended_is_refused_by_another_one(pipes):
    with opyard.remote.session(workers=1) as ended:
        ref = ended.put(opyard.ones(2))
    with pytest.raises(ValueError, match="is of another session; pass what its to_here"):
        pipes.call(aten.sum, ref)
    with pytest.raises(opyard.remote.SessionClosed, match="this session has ended; open another"):
        ref.to_here()
