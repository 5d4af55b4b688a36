"""T6: calls of the system that fail, one after the other, over files of every kind.

Suspect models/src/files/file_bytes.cpp, profiler/src/capture/mapped_blocks.cpp and journal.cpp,
profiler/python/opyard/_profile/exports.py, dispatcher/src/base/shared_library.cpp.
"""

import os
import subprocess
import sys

import faulty_programs
import pytest
from built import plugin_path
from processes import PATIENCE, environment_of_a_user

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        "OPYARD_SANITIZER" in os.environ,
        reason="a sanitizer has its own calls in front of the system's",
    ),
]


@pytest.mark.parametrize("scenario", faulty_programs.SCENARIOS)
def test_T6_a_call_of_the_system_may_fail(scenario, tmp_path):
    shim, plugin = plugin_path("opyard_faulty_calls"), plugin_path("opyard_test_plugin")
    ended = subprocess.run(
        [sys.executable, faulty_programs.__file__, plugin, scenario, tmp_path],
        env={**environment_of_a_user(), "LD_PRELOAD": str(shim)},
        capture_output=True,
        text=True,
        timeout=120 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert int(ended.stdout) > 0, "no call was made to fail"
