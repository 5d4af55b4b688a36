"""C++ programs with Python inside: test/embed, and the example (P21, X12).

Each runs with the libpython of the CPython that runs the tests. Suspect pyfallback/embed/, and for
what is left behind runtime/runtime.cpp.
"""

import os
import subprocess
import sys

import pytest
from built import beside_this_python, build_folder, libpython
from interpreters import KINDS


def run(program, *arguments, limit=120, **environment):
    path = build_folder() / "test" / "embed" / f"embed_{program}"
    if not path.exists():
        pytest.skip(f"{path.name} is not built here: the tests of this build are off")
    done = subprocess.run(
        [*beside_this_python(path), *map(str, arguments)],
        env={
            **os.environ,
            "OPYARD_LIBPYTHON": str(libpython()),
            "PYTHONHOME": sys.base_prefix,
            "PYTHONPATH": str(build_folder() / "pyfallback"),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=limit,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def test_X12_interpreters_begin_work_and_end_and_misuse_is_refused():
    assert run("life") == "fine\n"


def test_X12_P14_isolated_interpreters_override_one_operator_on_shared_storage():
    assert run("parallel", 300) == "fine\n"


def test_X12_the_example_gives_what_it_says():
    first, *sums = run("example", 2, 20).splitlines()
    assert first.startswith(f"Python {sys.version.split()[0]}, 2 interpreters, 20 calls each: ")
    want = sum(1.0 + sum(n * round % 7 for n in range(500)) for round in range(20))
    assert sums == [f"{want:.1f}"] * 2


@pytest.mark.parametrize("kind", ["python", *KINDS])
def test_X12_begins_and_ends_again_and_again(kind):
    assert len(run("cycles", kind, 13).split()) == 13
