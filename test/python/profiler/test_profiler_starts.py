"""Profiles that start and stop while other threads call, set profile functions, or end.

Suspect profiler/python/tracer/start_stacks.cpp, set_profile.cpp, at_entry.cpp.
"""

import sys
import threading
import time

import pytest
from processes import run, volume
from profiled_work import work
from test_profiler_beside import captured

from opyard.profiler import flight_recorder, profile

MONITORING = sys.version_info >= (3, 12)


IN_THE_MIDDLE = """
import threading
from opyard.profiler import profile
inside, go = threading.Event(), threading.Event()
class F:
    def __call__(self, *args): pass
    def __del__(self):
        inside.set()
        go.wait()
def thread():
    import sys
    sys.setprofile(F())
    sys.setprofile(None)
t = threading.Thread(target=thread)
t.start()
inside.wait()
prof = profile()
prof.start()
go.set()
t.join()
prof.stop()
"""


def test_a_profile_starts_while_another_thread_sets_a_function():
    ended = run(IN_THE_MIDDLE)
    assert (ended.code, ended.stderr) == (0, "")


@pytest.mark.parametrize("kind", ["profile", "flight recorder"])
def test_10000_profiles_start_and_stop_while_eight_threads_call(kind):
    """As many as fit into 20 seconds (some minutes, if more are asked for)."""
    done = threading.Event()
    most, until = (
        volume(10_000 if kind == "profile" else 2_000),
        time.monotonic() + min(volume(20, least=5), 240),
    )

    def busy():
        while not done.is_set():
            work(3)
            len([])

    threads = [threading.Thread(target=busy) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for number in range(most):
            if kind == "profile":
                prof = profile()
                prof.start()
                prof.stop()
            else:
                recorder = flight_recorder(bytes=1 << 20)
                recorder.start()
                if number % 10 == 0:
                    prof = recorder.dump()
                recorder.stop()
            if time.monotonic() > until:
                break
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert number >= min(most, 10) - 1
    quality = prof.data_quality()
    assert (quality["lost"], quality["clamped"], quality["broken"]) == (0, 0, 0)
    with profile() as prof:
        work(2)
    assert captured(prof) == 2


def depth_of(event):
    """In how many calls of its own function a call is, itself included."""
    depth, around = 0, event
    while around is not None and around.name == event.name:
        depth, around = depth + 1, around.parent
    return depth


def test_a_call_that_a_profile_finds_at_its_first_instruction_is_told_once():
    done = threading.Event()

    def down(n):
        return down(n - 1) if n else 0

    def busy():
        while not done.is_set():
            work(3)
            down(2)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    profiles = []
    try:
        for _ in range(volume(40, 4)):
            # The second begins where the first left the threads.
            for prof in (profile(c_calls=False), profile(c_calls=False)):
                with prof:
                    time.sleep(0.0001)
                profiles.append(prof)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    for prof in profiles:
        for event in prof.events()[:2000]:
            if event.name.endswith("): leaf"):
                assert not event.children, "it calls nothing"
            if event.name.endswith("): down"):
                assert depth_of(event) <= 3


# A hook of the program's that hears of profile functions lets other threads run, and end.
AUDITED = """
import sys, threading, time
from opyard.profiler import profile

heard = 0
def hook(name, arguments):
    global heard
    if name == "sys.setprofile":
        heard += 1
        time.sleep(0)
sys.addaudithook(hook)

def short():
    sum(range(20))

done = False
def start_short_ones():
    while not done:
        threads = [threading.Thread(target=short) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

starters = [threading.Thread(target=start_short_ones) for _ in range(3)]
for thread in starters:
    thread.start()
for _ in range(int(sys.argv[1])):
    with profile() as prof:
        short()
    assert sum(event.name.endswith("): short") for event in prof.events()) >= 1
done = True
for thread in starters:
    thread.join()
print("heard" if heard else "not heard")
"""


def test_threads_end_while_a_profile_starts_in_a_program_with_an_audit_hook():
    ended = run(AUDITED, volume(60), limit=120)
    assert ended.code == 0, ended.stderr
    assert ended.stdout.strip() == ("not heard" if MONITORING else "heard")


REFUSED = """
import sys
from opyard.profiler import profile

def hook(name, arguments):
    if name == "sys.setprofile" and refuses:
        raise PermissionError("no profiles here")

refuses = True
sys.addaudithook(hook)
try:
    profile().start()
except PermissionError as error:
    print(error)
refuses = False
with profile() as prof:
    len([])
print(len(prof.events()) > 0)
"""


@pytest.mark.skipif(MONITORING, reason="sys.monitoring raises no audit event")
def test_an_audit_hook_may_refuse_a_profile():
    ended = run(REFUSED)
    assert (ended.code, ended.stdout) == (0, "no profiles here\nTrue\n"), ended.stderr
