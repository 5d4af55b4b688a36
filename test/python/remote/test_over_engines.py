"""test_over_engines.py: sessions over Ray and over Dask, for as long as they are installed (X45).

Suspect remote/python/opyard/_remote/ray_engine.py and dask_engine.py; what is true over pipes, too,
is tested there.
"""

import os
import re
import time

import pytest
import remote_functions as functions
from engine_options import OPTIONS
from processes import run

import opyard
import opyard.remote

# What an engine itself warns of is its own matter.
pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

aten = opyard.ops.aten


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
    # Dask puts frames where it likes, and moving them would be a copy.
    alignment = 16 if session._engine.name == "dask" else 64
    assert session.call(lambda a: a.data_ptr(), x) % alignment == 0


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


NOWHERE = {"ray": "127.0.0.1:1", "dask": "tcp://127.0.0.1:1"}


def test_a_cluster_that_is_not_there_is_said_soon(engine):
    program = """
        import sys, opyard.remote
        try:
            opyard.remote.session(sys.argv[1], address=sys.argv[2], start_timeout=3.0)
        except RuntimeError as error:
            print(error)
    """
    ended = run(program, engine, NOWHERE[engine], limit=60.0)
    assert re.match(
        r"session: (Ray|Dask) could not reach .*the cluster at .*127\.0\.0\.1:1", ended.stdout
    ), ended


def test_a_process_is_connected_to_one_cluster_of_ray(session):
    if session._engine.name == "ray":
        with pytest.raises(ValueError, match=r"this process is connected to Ray at .*ray.shutdown"):
            opyard.remote.session("ray", address=NOWHERE["ray"])


def test_a_value_over_the_size_of_the_store_arrives_or_says_so(session):
    """Ray writes it to the disk if there is room; 160 MB are more than its store has here."""
    block = opyard.ones(40_000_000)
    try:
        assert session.call(len, block) == 40_000_000
    except MemoryError as error:
        assert "does not fit into Ray's store" in str(error)
    assert session.call(functions.double, 1) == 2
