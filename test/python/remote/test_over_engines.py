"""test_over_engines.py: sessions over Ray and over Dask, for as long as they are installed (X45).

Suspect remote/python/opyard/_remote/ray_engine.py and dask_engine.py; what is true over pipes, too,
is tested there.
"""

import importlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import remote_functions as functions
from processes import environment_of_a_user, volume

import opyard
import opyard.remote
from opyard.remote import WorkerLost

pytestmark = pytest.mark.once

aten = opyard.ops.aten
# Ray's smallest store is 75 MiB; a shared machine has many sessions.
OPTIONS = {"ray": {"object_store_memory": 100 << 20}, "dask": {}}


@pytest.fixture(scope="module", params=["ray", "dask"])
def engine(request):
    """The name of an engine; skips without it, or fails if OPYARD_ENGINES is set."""
    module = {"ray": "ray", "dask": "distributed"}[request.param]
    if os.environ.get("OPYARD_ENGINES"):
        importlib.import_module(module)
    pytest.importorskip(module)
    return request.param


@pytest.fixture(scope="module")
def session(engine):
    with opyard.remote.session(engine, workers=2, timeout=120.0, **OPTIONS[engine]) as made:
        yield made


def test_X45_calls_maps_and_values_that_stay(session):
    x = opyard.arange(6, dtype=opyard.float32).reshape([2, 3])
    assert session.call(aten.mm, x, x.t()).tolist() == (x @ x.t()).tolist()
    assert session.call(lambda: os.getpid(), worker=0) in session._engine.process_ids()
    assert list(session.map(functions.double, range(20))) == [2 * n for n in range(20)]
    made = session.remote(functions.double, x, worker=1)
    squared = session.remote(aten.mul, made, made, worker=0)
    assert squared.to_here(60.0).tolist() == (x * 2 * x * 2).tolist()
    assert session.call(functions.where_is, [made], worker=1)[0][0] is True


def test_X45_errors_keep_their_class(session):
    with pytest.raises(ValueError, match="^refused: 3$") as raised:
        session.call(functions.fail, 3, worker=1)
    assert raised.value.remote.worker == 1 and "in fail" in raised.value.remote.traceback


def test_large_arrays_travel_both_ways_and_are_copied_before_an_operator_writes(session):
    x = opyard.ones(500, 1000)
    assert session.call(aten.add_, x, 1).tolist() == (x + 1).tolist()
    assert session.call(aten.mul.out, x, x, out=opyard.zeros(500, 1000)).sum().item() == 500_000
    assert session.call(lambda a: a.data_ptr() % 64, x) == 0


def test_what_a_function_writes_into_it_copies_itself(session):
    x = opyard.ones(500, 1000)
    try:
        assert session.call(functions.write_into, x).tolist() == (x + 1).tolist()
    except ValueError as error:
        assert "is read-only and cannot be written; write to a copy" in str(error)
    assert session.call(lambda a: functions.write_into(a.clone()), x).sum().item() == 1_000_000


def test_sums_over_a_ring(session):
    given = [[opyard.ones(300) * n, opyard.tensor([n])] for n in (1, 2)]
    for rank, size, sums in session.each(functions.ring, given):
        assert size == 2 and rank in (0, 1)
        assert [each.tolist() for each in sums] == [[3.0] * 300, [3]]


def test_values_are_freed(session):
    refs = [session.put(n) for n in range(40)]
    assert refs[7].to_here() == 7
    del refs
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline:
        left = [session.call(functions.count_values, worker=n) for n in session.workers]
        if left == [0, 0]:
            break
        time.sleep(0.1)
    assert left == [0, 0]


def test_a_call_has_a_time_limit(session):
    with pytest.raises(TimeoutError, match="gave no result in 0.2 s"):
        session.call(functions.wait, 1.0, timeout=0.2)
    assert session.call(functions.double, 1) == 2


def test_workers_killed_at_random_moments_cost_a_map_nothing(engine):
    chance = random.Random(7)
    restarts = {"restarts": -1} if engine == "ray" else {}
    options = {**OPTIONS[engine], **restarts}
    with opyard.remote.session(engine, workers=2, timeout=120.0, **options) as s:
        with pytest.raises(WorkerLost, match=r"worker 0 ended, as (Ray|Dask) says.*not repeated"):
            s.call(functions.end, worker=0)
        s.wait_for_workers(2, 60.0)
        assert 0 not in s.workers
        kills = volume(2)
        for _ in range(kills):
            s.wait_for_workers(2, 60.0)
            victim, moment = chance.randrange(2), chance.randrange(20)
            for n, result in enumerate(s.map(functions.wait, [0.01] * 30)):
                assert result == 0.01
                if n == moment:
                    os.kill(s._engine.process_ids()[victim], signal.SIGKILL)
        s.wait_for_workers(2, 60.0)
        assert sorted(s.map(functions.double, range(4), ordered=False)) == [0, 2, 4, 6]


DRIVER = """
    import sys, time
    import opyard.remote

    if __name__ == "__main__":
        options = {"object_store_memory": 100 << 20} if sys.argv[1] == "ray" else {}
        s = opyard.remote.session(sys.argv[1], workers=2, **options)
        ref = s.put(opyard.ones(1_000_000))
        print(*s._engine.process_ids(), flush=True)
        time.sleep(1000)
"""


def test_a_driver_that_is_killed_leaves_no_process_and_no_shared_memory(engine, tmp_path):
    from test_ends import is_alive, wait_until

    before = set(os.listdir("/dev/shm"))
    path = tmp_path / "driver.py"
    path.write_text(textwrap.dedent(DRIVER), "utf-8")
    with subprocess.Popen(
        [sys.executable, str(path), engine],
        stdout=subprocess.PIPE,
        text=True,
        env=environment_of_a_user(),
    ) as driver:
        processes = [int(each) for each in driver.stdout.readline().split()]
        assert len(processes) == 2
        driver.kill()
        driver.wait()
    assert wait_until(lambda: not any(is_alive(each) for each in processes), 60.0)
    assert wait_until(lambda: set(os.listdir("/dev/shm")) <= before, 60.0)
