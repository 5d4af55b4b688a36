"""test_ends.py: workers and drivers that end, however they do, over pipes.

Suspect remote/python/opyard/_remote/session.py and pipe_engine.py.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import remote_functions as functions
from processes import environment_of_a_user, run, volume

import opyard
import opyard.remote
from opyard.remote import SessionClosed, WorkerLost


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def shared_files():
    """The files of shared memory, but those of engines, which another test may use meanwhile."""
    engines = ("plasma", "ray", "sem.mp-")
    return {each for each in os.listdir("/dev/shm") if not each.startswith(engines)}


def test_a_killed_worker_fails_what_it_ran_and_nothing_else():
    with opyard.remote.session(workers=2) as s:
        other = s.call_async(functions.wait, 0.3, worker=1)
        ref = s.put(1, worker=0)
        with pytest.raises(WorkerLost) as raised:
            s.call(functions.end, worker=0)
        assert str(raised.value) == (
            "worker 0 was killed by SIGKILL before it had answered end, which was not repeated, "
            "since part of it may have run: call it again, or with repeat=True if running it twice "
            "does no harm"
        )
        assert raised.value.worker == 0
        assert other.wait(20.0) == 0.3
        assert s.workers == [1]
        with pytest.raises(WorkerLost, match="worker 0 has ended, and with it the value of <"):
            ref.to_here()
        with pytest.raises(WorkerLost, match="worker 0 was killed by SIGKILL"):
            s.call(functions.double, 1, worker=0)
        assert s.call(functions.double, 1) == 2


def test_a_call_is_repeated_if_it_says_that_it_may_be(tmp_path):
    item = (5, str(tmp_path / "ended"))
    with opyard.remote.session(workers=2) as s:
        assert s.call(functions.end_once, item, repeat=True, worker=0) == 5
        assert s.workers == [1]
        with pytest.raises(WorkerLost, match="all workers of this session have ended"):
            s.call(functions.end, repeat=True)
            s.call(functions.double, 1)


def test_a_map_repeats_the_shards_of_a_worker_that_ended(tmp_path):
    shards = [(n, str(tmp_path / "ended") if n == 4 else None) for n in range(20)]
    with opyard.remote.session(workers=2) as s:
        assert list(s.map(functions.end_once, shards)) == list(range(20))
        assert len(s.workers) == 1


def test_a_shard_that_ends_workers_is_given_up():
    with opyard.remote.session(workers=4) as s:
        with pytest.raises(
            WorkerLost,
            match=r"shard 0 of .*<lambda> has ended 3 workers, the last of which was killed by",
        ):
            list(s.map(lambda _: functions.end(), [0]))
        assert len(s.workers) == 1
        with pytest.raises(
            WorkerLost, match="shard 0 of .*<lambda> was not run, since all workers"
        ):
            list(s.map(lambda _: functions.end(), [0]))


def test_a_sum_over_workers_says_who_is_missing():
    with opyard.remote.session(workers=3) as s:
        tensors = [[opyard.ones(4)]] * 3
        with pytest.raises(WorkerLost, match="worker 1 was killed by SIGKILL"):
            s.each(functions.ring_without_one, tensors)
        assert s.workers == [0, 2]
        rank_and_sum = s.each(functions.ring, tensors[:2])
        assert [(each[0], each[2][0].tolist()) for each in rank_and_sum] == [
            (0, [2.0] * 4),
            (1, [2.0] * 4),
        ]


def test_a_worker_that_exits_says_with_which_code():
    with opyard.remote.session(workers=1) as s:
        with pytest.raises(WorkerLost, match="worker 0 ended with exit code 3"):
            s.call(os._exit, 3)


def test_a_worker_that_takes_nothing_is_given_up():
    with opyard.remote.session(workers=2, start_timeout=20.0) as s:
        s._engine._channels[0]._end.setsockopt(1, 21, b"\1" + bytes(15))  # SO_SNDTIMEO: 1 s
        process = s._engine.process_ids()[0]
        os.kill(process, signal.SIGSTOP)
        block = bytes(40_000)
        made = []
        try:
            for _ in range(1000):  # a socket holds a few; how many is the machine's matter
                made.append(s.call_async(len, block, worker=0))
        except WorkerLost:
            pass  # it was given up before the last ones were sent
        with pytest.raises(WorkerLost, match="was killed by SIGKILL"):
            made[0].wait(30.0)
        for each in made[1:]:
            with pytest.raises(WorkerLost):
                each.wait(30.0)
        assert s.call(len, block) == 40_000


def test_workers_killed_at_random_moments_cost_a_map_nothing():
    chance = random.Random(5)
    for _ in range(volume(6)):
        with opyard.remote.session(workers=3) as s:
            results = s.map(functions.wait, [0.002 * (n % 3) for n in range(60)], window=9)
            victims = chance.sample(range(60), 2)
            for n, result in enumerate(results):
                assert result == 0.002 * (n % 3)
                if n in victims:
                    chance.choice(s._engine._processes).kill()
            assert s.call(functions.double, 1, repeat=True) == 2


def test_what_was_not_answered_when_a_session_ends_fails():
    s = opyard.remote.session(workers=1)
    late = s.call_async(functions.wait, 60)
    ref = s.put(1)
    processes = s._engine.process_ids()
    s.close()
    s.close()
    with pytest.raises(SessionClosed, match="closed before this was answered"):
        late.wait(1.0)
    for ask in (lambda: s.call(functions.double, 1), ref.to_here, lambda: s.map(abs, [])):
        with pytest.raises(SessionClosed, match="this session has ended; open another one"):
            ask()
    assert not any(is_alive(each) for each in processes)
    assert repr(s) == "<opyard.remote.Session over pipes, closed>"


DRIVER = """
    import sys, time
    import opyard.remote
    s = opyard.remote.session(workers=2, threads=None)
    refs = [s.put(opyard.ones(1_000_000), worker=n) for n in (0, 1)]
    for n in (0, 1):  # one that holds the GIL in C, and one that sleeps
        s.call_async((lambda: sum(range(10**12))) if n else (lambda: time.sleep(1000)), worker=n)
    time.sleep(0.5)
    print(*s._engine.process_ids(), flush=True)
    time.sleep(1000)
"""


def test_a_driver_that_is_killed_leaves_no_process_and_no_shared_memory():
    import textwrap

    before = shared_files()
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(DRIVER)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment_of_a_user(),
    ) as driver:
        processes = [int(each) for each in driver.stdout.readline().split()]
        assert len(processes) == 2 and all(is_alive(each) for each in processes)
        driver.kill()
        driver.wait()
    assert wait_until(lambda: not any(is_alive(each) for each in processes))
    assert shared_files() <= before


def test_a_driver_that_ends_without_closing_ends_its_workers():
    ended = run(
        """
        import opyard.remote
        s = opyard.remote.session(workers=1)
        print(*s._engine.process_ids())
        """,
        limit=30.0,
    )
    assert ended.code == 0, ended.stderr
    assert wait_until(lambda: not is_alive(int(ended.stdout)))


# CPython 3.12 warns of what this test is about.
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_of_fork_is_refused_and_harms_nothing():
    with opyard.remote.session(workers=1) as s:
        child = os.fork()
        if child == 0:
            try:
                s.call(functions.double, 1)
            except RuntimeError as error:
                if "a child of fork() opens its own" in str(error):
                    s.close()
                    os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert s.call(functions.double, 1) == 2
