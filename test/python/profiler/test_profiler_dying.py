"""Objects that run code while they die, under a profile, a flight recorder and the command.

CPython frees memory with a pattern written over it (PYTHONMALLOC=debug), so that what the tracer
has kept of a dead object ends the process; and, where Debian's python3.11-dbg is, checks itself.
Suspect profiler/python/tracer/coroutines.cpp, instances.cpp.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import dying_objects
import pytest
from processes import PATIENCE, environment_of_a_user

PROGRAM = Path(dying_objects.__file__)
DEBUG = shutil.which("python3.11-dbg")
CAPTURES = ["profile", "options", "flight"]


def run(*command):
    return subprocess.run(
        [*map(str, command)],
        env={**environment_of_a_user(), "PYTHONMALLOC": "debug", "PYTHONFAULTHANDLER": "1"},
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
        check=False,
    )


def expect_an_end_in_peace(ended):
    kinds = ended.stdout.splitlines()
    assert ended.returncode == 0, f"died after {kinds[-1:]}: {ended.stderr[-3000:]}"
    assert kinds == [*dying_objects.KINDS, "the end"]


@pytest.mark.parametrize("way", dying_objects.WAYS)
@pytest.mark.parametrize("capture", CAPTURES)
def test_an_object_of_any_kind_may_die_while_it_is_watched(capture, way):
    expect_an_end_in_peace(run(sys.executable, PROGRAM, capture, way))


@pytest.mark.parametrize("way", dying_objects.WAYS)
def test_an_object_of_any_kind_may_die_under_the_command(way, tmp_path):
    output = tmp_path / "trace.json"
    ended = run(sys.executable, "-m", "opyard.profiler", "-o", output, PROGRAM, "none", way)
    expect_an_end_in_peace(ended)
    assert output.stat().st_size > 0


@pytest.mark.skipif(DEBUG is None or sys.version_info[:2] != (3, 11), reason="no python3.11-dbg")
@pytest.mark.parametrize("way", dying_objects.WAYS)
@pytest.mark.parametrize("capture", ["profile", "flight"])
def test_a_cpython_that_checks_itself_finds_nothing(capture, way):
    expect_an_end_in_peace(run(DEBUG, PROGRAM, capture, way))


def test_coroutines_of_one_address_are_told_apart():
    """Though nothing is kept of them: a new one begins."""
    from opyard.profiler import profile

    with profile() as prof:
        for name in ("first", "second", "third"):
            one = dying_objects.suspended(dying_objects.finishes())
            one.close()
            del one, name
    captured = prof._profile
    seen = [
        captured.span(index, n)
        for index, track in enumerate(captured.tracks())
        for n in range(track[2])
        if captured.span(index, n)[1].endswith("): finishes")
    ]
    assert len(seen) == 6  # each runs twice
