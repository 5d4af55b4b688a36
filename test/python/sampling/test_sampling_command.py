"""python -m opyard.profiler --sample: a program is sampled, and sees nothing of it.

Suspect profiler/python/opyard/_profile/sampled_run.py.
"""

import subprocess
import sys
import textwrap

import pytest
from processes import environment_of_a_user

PROGRAM = """
    import sys, time
    def spin():
        end = time.thread_time() + 0.15
        while time.thread_time() < end:
            pass
    spin()
    print(__name__, sys.argv[1:], sys._getframe().f_back)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    return tmp_path


def profiled(folder, *arguments):
    ended = subprocess.run(
        [sys.executable, "-m", "opyard.profiler", *arguments],
        cwd=folder,
        env=environment_of_a_user(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--sample", "program.py", "--sample", "5"],
        ["--sample", "500", "program.py", "--sample", "5"],
        ["--sample=500", "--no-fold", "program.py", "--sample", "5"],
        ["--sample", "-m", "program", "--sample", "5"],
    ],
)
def test_X40_a_program_is_sampled_and_has_its_arguments(program, arguments):
    code, out, err = profiled(program, *arguments)
    assert code == 0
    assert out.startswith("__main__ ['--sample', '5']")
    assert "program.py(3): spin" in err and "# of Samples" in err
    assert "while time.thread_time() < end:" in err  # the line that takes the time
    # What is open in front of the program is ours.
    assert "command.py" not in err and "runpy" not in err.replace("frozen runpy", "")


def test_X40_the_profile_is_written_to_a_file(program):
    code, _, err = profiled(program, "--sample", "-o", "stacks.folded", "program.py")
    assert (code, err) == (0, "")
    lines = (program / "stacks.folded").read_text().splitlines()
    assert any(line.startswith("program.py(1):_<module>;program.py(3):_spin ") for line in lines)


def test_X40_a_program_that_fails_or_forks_ends_as_without(program):
    (program / "fails.py").write_text("import os\nos.fork() or os._exit(0)\nos.wait()\n1 / 0\n")
    code, out, err = profiled(program, "--sample", "fails.py")
    assert (code, out) == (1, "")
    traceback = err[err.index("Traceback") : err.index("ZeroDivisionError")]
    assert traceback.count("File") == 1
    assert err.count("# of Samples") == 1


def test_a_program_that_is_not_there_has_no_profile(program):
    code, out, err = profiled(program, "--sample", "-m", "no_such_program")
    assert (code, out) == (1, "")
    assert "No module named no_such_program" in err and "# of Samples" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sample", "0.1", "program.py"], "hz is from 1 to 10000 samples a second, not 0.1"),
        (
            ["--sample=fast", "program.py"],
            "'fast' is no number of samples a second",
        ),
        (
            ["--sample", "--max-depth", "3", "program.py"],
            "--max-depth is for captured calls: leave it, or --sample, out",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(program, arguments, message):
    code, out, err = profiled(program, *arguments)
    assert (code, out) == (2, "") and message in err
