"""test_dask.py: what only sessions over Dask have: notes of the client, clusters that go on (X45).

Suspect remote/python/opyard/_remote/dask_engine.py and actors.py.
"""

import importlib
import os
import signal
import time

import pytest

import opyard
import opyard.remote

# What an engine itself warns of is its own matter.
pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def distributed():
    if os.environ.get("OPYARD_ENGINES"):
        importlib.import_module("distributed")
    return pytest.importorskip("distributed")


def test_no_worker_is_lost_to_what_the_client_notes_meanwhile(distributed):
    """The client's clock notes an answer without workers every two seconds: here all the time."""
    with opyard.remote.session("dask", workers=2) as s:
        client, until = s._engine._client, time.monotonic() + 3.0

        async def note():
            while time.monotonic() < until:
                await client._update_scheduler_info()

        client.loop.add_callback(note)
        while time.monotonic() < until:
            assert len(s._engine._workers()) == 2
        assert s.workers == [0, 1]


def test_a_worker_that_the_cluster_gives_up_is_begun_again(distributed):
    """A cluster of Dask does so with one that is away for 15 seconds: here at once."""
    import dask

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "0s"}),
        opyard.remote.session("dask", workers=2) as s,
    ):
        os.kill(s._engine.process_ids()[0], signal.SIGKILL)
        deadline = time.monotonic() + 30.0
        while 0 in s.workers and time.monotonic() < deadline:
            time.sleep(0.02)
        s.wait_for_workers(2, 60.0)
        assert s.call(abs, -3) == 3 and 0 not in s.workers


def threads_of_workers():
    import threading

    return sum(each.name == "opyard-remote-worker" for each in threading.enumerate())


def test_a_session_leaves_nothing_in_a_cluster_that_goes_on(distributed):
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for _ in range(2):
            with opyard.remote.session("dask", workers=2, address=cluster.scheduler_address) as s:
                ref = s.put(opyard.ones(3), worker=0)
                assert s.call(opyard.ops.aten.sum, ref, worker=1).item() == 3.0
                assert sum(client.run(threads_of_workers).values()) == 2
        deadline = time.monotonic() + 30.0
        while (left := sum(client.run(threads_of_workers).values())) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.1)
        assert left == 0
