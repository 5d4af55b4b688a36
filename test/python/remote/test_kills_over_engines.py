"""test_kills_over_engines.py: workers and drivers of Ray and of Dask that are killed (X45).

Suspect remote/python/opyard/_remote/ray_engine.py and dask_engine.py.
"""

import os
import random
import signal
import subprocess
import sys
import textwrap

import pytest
import remote_functions as functions
from engine_options import OPTIONS
from processes import VOLUME, environment_of_a_user, volume

import opyard.remote
from opyard.remote import WorkerLost

# What an engine itself warns of is its own matter.
pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]


def test_workers_killed_at_random_moments_cost_a_map_nothing(engine):
    chance = random.Random(7)
    restarts = {"restarts": -1} if engine == "ray" else {}
    options = {**OPTIONS[engine], **restarts}
    with opyard.remote.session(engine, workers=2, timeout=120.0, **options) as s:
        with pytest.raises(WorkerLost, match=r"worker 0 ended, as (Ray|Dask) says.*not repeated"):
            s.call(functions.end, worker=0)
        s.wait_for_workers(2, 60.0)
        assert 0 not in s.workers
        kills = volume(2) if VOLUME < 10 else 200
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
