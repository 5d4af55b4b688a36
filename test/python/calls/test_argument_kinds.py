"""test_argument_kinds.py: arguments of every kind to every extension module.

The calls are made by argument_fuzz.py, in a process of its own. If that ends, the message names the
seed and the call; the same seed makes the same calls. OPYARD_FUZZ_SEED takes another seed. Suspect
the function that the message names.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.once, pytest.mark.memory]

PROGRAM = Path(__file__).with_name("argument_fuzz.py")
SEED = int(os.environ.get("OPYARD_FUZZ_SEED", "20261122"))
CALLS = 8_000  # of each of the seeds: some seconds


def fuzz(program, tmp_path, seed, calls, *plant):
    """How the program ended, and the call that it was in."""
    file = tmp_path / "call"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if "ASAN_OPTIONS" in os.environ:  # the program bounds its memory itself in other builds
        environment["ASAN_OPTIONS"] += ":max_allocation_size_mb=1024"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", program, str(seed), str(calls), file, *plant],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done, file.read_bytes().rstrip(b"\0").decode() if file.exists() else ""


def died(done):
    """A sanitizer that fails while it reports ends the process with the exit code of leaks, 0."""
    return done.returncode != 0 or "Sanitizer" in done.stderr


@pytest.mark.parametrize("run", range(4))
def test_any_argument_is_answered_or_refused(tmp_path, run):
    done, call = fuzz(PROGRAM, tmp_path, SEED + run, CALLS)
    assert not died(done), f"{call}\n{done.stderr[-3000:]}"
    assert int(done.stdout) > 700, "few functions were found"


@pytest.mark.parametrize("plant", ["trusting", "both"])
def test_a_function_that_trusts_its_argument_is_found(tmp_path, plant):
    done, call = fuzz(PROGRAM, tmp_path, SEED, CALLS, plant)
    assert died(done)
    assert "planted" in call, call
