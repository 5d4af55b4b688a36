"""Memory that an export takes. Suspect profiler/src/exports/ and profile/replay.cpp there."""

import json

import pytest
from built import plain_build
from processes import run

pytestmark = pytest.mark.once

EXPORT = """
    import gc, json, os, sys
    from opyard.profiler import profile

    # Not resource.getrusage(): its maximum is at least that of the process that started this one.
    def status(name):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

    def leaf(): pass

    def work(times):
        for _ in range(times):
            leaf()

    folder, ending, keeps = sys.argv[1:]
    path = os.path.join(folder, "profile." + ending)
    with profile(c_calls=False) as warm_up:
        work(10)
    warm_up.export(path)
    del warm_up
    gc.collect()
    before = status("VmRSS:")
    prof = profile(c_calls=False)
    with prof:
        work(250_000)
    captured = status("VmRSS:")
    if keeps == "True":
        whole, pieces = prof._require_profile(), []
        whole.chrome(pieces.append, {}, "program", 7)
    else:
        prof.export(path)
    most = status("VmHWM:")
    print(json.dumps([captured - before, most - captured, prof.data_quality()["events"]]))
"""


def memory_of(folder, ending, keeps=False):
    """Of 500,000 events: bytes that the capture takes, and those that exporting it takes more."""
    ended = run(EXPORT, folder, ending, keeps, limit=60)
    assert ended.code == 0, ended.stderr
    captured, more, events = json.loads(ended.stdout)
    assert events >= 500_000 and captured >= 16 * 500_000 * 0.9
    return captured, more


ENDINGS = ["json", "json.gz", "pftrace", "speedscope.json", "collapsed", "pstats", "html"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_X21_an_export_takes_at_most_twice_the_memory_of_the_capture(tmp_path, ending):
    captured, more = memory_of(tmp_path, ending)
    assert more <= 2 * captured


@plain_build  # which takes memory of its own
def test_an_export_that_is_kept_as_a_whole_takes_more(tmp_path):
    """What the test above would find."""
    captured, more = memory_of(tmp_path, "json", keeps=True)
    assert more > 2 * captured
