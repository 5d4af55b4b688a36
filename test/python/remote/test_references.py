"""test_references.py: values that stay on workers, who may ask for them, and that they end (K14).

Suspect remote/python/opyard/_remote/references.py and worker.py.
"""

import gc
import pickle
import time

import pytest
import remote_functions as functions
from processes import volume

import opyard
import opyard.remote
from opyard.remote import Ref

aten = opyard.ops.aten


def values_of(session):
    return [session.call(functions.count_values, worker=n) for n in session.workers]


def settled(session, wanted, seconds=20.0):
    """The numbers of values that workers hold, once nothing that was dropped is on its way."""
    deadline = time.monotonic() + seconds
    while (found := values_of(session)) != wanted and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    return found


def test_K14_a_result_stays_on_its_worker_and_goes_on_from_there(pipes):
    x = opyard.arange(6, dtype=opyard.float32).reshape([2, 3])
    made = pipes.remote(aten.mm, x, x.t(), worker=1)
    assert isinstance(made, Ref) and made.owner == 1 and not made.is_owner
    assert repr(made) == f"<opyard.remote.Ref {made.number} on worker 1>"
    total = pipes.remote(aten.sum, made)
    assert total.owner == 1
    assert total.to_here(20.0).item() == (x @ x.t()).sum().item()
    assert pipes.call(aten.sum, made).item() == total.to_here().item()


def test_K14_only_the_owner_has_the_value_itself(pipes):
    ref = pipes.put(opyard.ones(3), worker=0)
    with pytest.raises(
        RuntimeError, match="local_value\\(\\) is for its owner, and this is the dr"
    ):
        ref.local_value()
    assert (
        pipes.call(lambda refs: refs[0].local_value().add_(1).tolist(), [ref], worker=0)
        == [2.0] * 3
    )
    assert ref.to_here().tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="is for its owner, and this is worker 1"):
        pipes.call(lambda refs: refs[0].local_value(), [ref], worker=1)


def test_K14_workers_fetch_from_each_other_without_the_driver(pipes):
    ref = pipes.put(opyard.ones(500, 500), worker=0)
    received = pipes._connections[0].statistics.bytes_in
    assert pipes.call(aten.sum, ref, worker=1).item() == 250_000
    ((is_owner, value),) = pipes.call(functions.where_is, [ref], worker=0)
    assert is_owner and value.shape == (500, 500)
    received = pipes._connections[0].statistics.bytes_in - received
    assert 1_000_000 < received < 1_010_000  # the last call's result alone
    assert pipes.call(lambda refs: functions.where_is(refs)[0][0], [ref], worker=1) is False


def test_a_function_can_give_back_a_reference(pipes):
    ref = pipes.call(functions.make_ref, worker=1)
    assert ref.owner == 1 and ref.number < 0
    assert ref.to_here().tolist() == [1.0] * 3
    assert pipes.call(aten.sum, ref, worker=0).item() == 3


def test_K4_a_future_tells_when_the_value_is_set(pipes):
    ref = pipes.remote(functions.wait, 0.3)
    future = ref.future()
    assert not future.done()
    assert future.wait(20.0) is None
    assert ref.future().wait(20.0) is None  # also of one that was set long ago
    failed = pipes.remote(functions.fail, 1)
    with pytest.raises(ValueError, match="refused: 1"):
        failed.future().wait(20.0)


def test_K14_what_failed_fails_what_depends_on_it_alone(pipes):
    failed = pipes.remote(functions.fail, "this", worker=0)
    after = pipes.remote(functions.double, failed, worker=1)
    beside = pipes.remote(functions.double, 4, worker=0)
    for ref in (failed, after):
        with pytest.raises(ValueError, match="^refused: this$"):
            ref.to_here(20.0)
    assert beside.to_here(20.0) == 8


def test_to_here_has_a_time_limit_of_its_own(pipes):
    ref = pipes.remote(functions.wait, 1.0)
    with pytest.raises(TimeoutError, match="to_here of <opyard.remote.Ref"):
        ref.to_here(0.1)
    assert ref.to_here(20.0) == 1.0


def test_a_value_is_freed_with_the_last_reference_to_it():
    with opyard.remote.session(workers=2) as s:
        refs = [s.put(n, worker=n % 2) for n in range(volume(2000, least=200))]
        assert sum(ref.to_here() for ref in refs[:10]) == 45
        assert sum(values_of(s)) == len(refs)
        del refs
        assert settled(s, [0, 0]) == [0, 0]
        for _ in range(20):
            s.call(functions.make_ref)
            s.call(aten.sum, s.call(functions.make_ref, worker=0), worker=1)
        assert settled(s, [0, 0]) == [0, 0]
        s._settle()
        assert len(s._holders) == 0 and len(s.counts) == 0


def test_a_worker_that_kept_a_reference_keeps_the_value():
    with opyard.remote.session(workers=2) as s:
        ref = s.put(opyard.ones(3), worker=0)
        assert s.call(functions.keep, [ref], worker=1) == 1
        del ref
        time.sleep(0.6)  # more than a tick
        assert values_of(s)[0] == 1
        assert s.call(functions.keep, [], worker=1) == 0
        assert settled(s, [0, 0]) == [0, 0]


def test_the_values_of_a_holder_that_ended_are_freed():
    with opyard.remote.session(workers=2) as s:
        ref = s.put(opyard.ones(3), worker=0)
        s.call(functions.keep, [ref], worker=1)
        del ref
        s._engine._processes[1].kill()
        deadline = time.monotonic() + 20.0
        while len(s.workers) > 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert settled(s, [0]) == [0]


def test_a_reference_belongs_to_its_session(pipes):
    with opyard.remote.session(workers=1) as other:
        ref = other.put(1)
        with pytest.raises(ValueError, match="is of another session; pass what its to_here"):
            pipes.call(functions.double, ref)
    with pytest.raises(TypeError, match="cannot be pickled: a reference travels as an argument"):
        pickle.dumps(ref)
    mine = pipes.put(1)
    with pytest.raises(TypeError, match="in a function that is sent by value: pass it as an arg"):
        pipes.call(lambda: mine)
