"""T17: a mixed load that runs long: memory and files do not grow.

Six seconds in a usual run, and sixty in `tools/test --long`. What grows is found by leaving out
rows of LOADS in soak.py. Suspect then what test_growth.py and test_leaks.py name for it.
"""

import os
import statistics
import subprocess
import sys

import pytest
import soak
from built import plugin_path
from processes import PATIENCE, environment_of_a_user, volume

pytestmark = pytest.mark.once

SECONDS = volume(6, 2)


@pytest.mark.skipif("OPYARD_SANITIZER" in os.environ, reason="a sanitizer keeps what was freed")
def test_T17_memory_is_flat_under_a_mixed_load(tmp_path):
    plugin = plugin_path("opyard_test_plugin")
    ended = subprocess.run(
        [sys.executable, soak.__file__, str(SECONDS), plugin, tmp_path],
        # Python's own objects from malloc(), so that its count has all.
        env={**environment_of_a_user(), "PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "2"},
        capture_output=True,
        text=True,
        timeout=(60 + 20 * SECONDS) * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    samples = [[int(number) for number in line.split()] for line in ended.stdout.splitlines()]
    assert len(samples) == soak.SAMPLES
    third = len(samples) // 3
    in_use, resident = zip(*samples, strict=True)
    # What is resident varies with where malloc() finds room for three threads.
    for what, numbers, most in (("in use", in_use, 1.02), ("resident", resident, 1.08)):
        first, last = statistics.median(numbers[:third]), statistics.median(numbers[-third:])
        assert last < first * most, f"memory {what} grows: {numbers}"
