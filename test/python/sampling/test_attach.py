"""python -m opyard.profiler attach: programs that run already, and those that it cannot ask.

Suspect profiler/python/opyard/_profile/attach.py for what the command says, listener.py for what
the program does.
"""

import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap

import pytest
from processes import environment_of_a_user, run

CAN_EXECUTE = hasattr(sys, "remote_exec")
PROGRAM = """
    import os, sys, time
    if "{pid}" != "never": import opyard
    def spin():
        end = time.thread_time() + 0.01
        while time.thread_time() < end: pass
    print(os.getpid(), flush=True)
    while True: spin()
"""


@pytest.fixture
def start():
    """Starts a program, and gives its process once it says its number; ends it afterwards."""
    started = []

    def start(program, **environment):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            env={**environment_of_a_user(), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        process.number = int(process.stdout.readline())
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def attach(*arguments):
    ended = subprocess.run(
        [sys.executable, "-m", "opyard.profiler", "attach", *map(str, arguments)],
        env={**environment_of_a_user()},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ended.returncode, ended.stdout, ended.stderr


SAYS = "python -m opyard.profiler attach: "


def test_X40_a_program_that_listens_is_sampled(start, tmp_path):
    process = start(PROGRAM, OPYARD_PROFILE_SOCKET=str(tmp_path / "socket"))
    code, out, err = attach(process.number, "--seconds", 0.4)
    assert (code, err) == (0, "")
    assert "<string>(4): spin" in out and "Sampled every" in out and "CPU %" in out
    assert process.poll() is None
    # The thread that listens is no part of the program.
    assert "listener.py" not in out and "_answer" not in out


@pytest.mark.parametrize("arguments", [["--trace"], ["--sample", "200"], ["--sample"]])
def test_X40_the_profile_is_written_to_a_file(start, tmp_path, arguments):
    process = start(PROGRAM, OPYARD_PROFILE_SOCKET=str(tmp_path / "{pid}"))
    path = tmp_path / "stacks.folded"
    code, out, err = attach(process.number, "--seconds", 0.3, *arguments, "-o", path)
    assert (code, out, err) == (0, "", "")
    assert "spin" in path.read_text()
    # Again, and in another format.
    code, _, err = attach(process.number, *arguments, "--seconds", 0.1, "-o", tmp_path / "p.html")
    assert (code, err) == (0, "")
    assert (tmp_path / "p.html").read_text().startswith("<!")


def test_the_socket_is_of_its_user_alone_and_goes_with_the_program(start, tmp_path):
    path = tmp_path / "socket"
    process = start(PROGRAM, OPYARD_PROFILE_SOCKET=str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_ISSOCK(path.stat().st_mode)
    process.send_signal(signal.SIGINT)
    process.wait()
    assert not path.exists()


def test_a_socket_that_was_left_is_replaced_and_a_file_is_not(start, tmp_path):
    left, file = tmp_path / "left", tmp_path / "file"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(left))
    process = start(PROGRAM, OPYARD_PROFILE_SOCKET=str(left))
    assert attach(process.number, "--seconds", 0.1)[0] == 0
    file.write_text("precious")
    ended = run(
        f"import os; os.environ['OPYARD_PROFILE_SOCKET'] = {str(file)!r}\nimport opyard; print(1)"
    )
    assert (ended.code, ended.stdout) == (0, "1\n")
    assert "no one can attach to this process" in ended.stderr
    assert file.read_text() == "precious"


def test_two_programs_with_one_name_are_told_apart(start, tmp_path):
    path = str(tmp_path / "socket")
    first = start(PROGRAM, OPYARD_PROFILE_SOCKET=path)
    second = start(PROGRAM, OPYARD_PROFILE_SOCKET=path)
    code, _, err = attach(second.number)
    assert code == 1
    assert err == (
        f"{SAYS}at {path!r} process {first.number} answers, not {second.number}: they have one "
        "OPYARD_PROFILE_SOCKET; put {pid} into its name, so that each has a socket of its own\n"
    )


def test_a_child_of_a_fork_has_a_socket_of_its_own(start, tmp_path):
    program = """
        import os, sys, time, warnings
        warnings.simplefilter("ignore")
        import opyard
        def in_child():
            while True: time.sleep(0.01)
        child = os.fork()
        if not child: in_child()
        print(child, flush=True)
        try:
            time.sleep(60)
        finally:
            os.kill(child, 9)
    """
    process = start(program, OPYARD_PROFILE_SOCKET=str(tmp_path / "{pid}"))
    code, out, err = attach(process.number, "--seconds", 0.2)
    process.send_signal(signal.SIGINT)
    process.wait()
    assert (code, err) == (0, "")
    assert "in_child" in out


def test_a_program_whose_profiler_is_busy_says_so(start, tmp_path):
    begin = "from opyard import profiler; kept = profiler.sample(); kept.start()\n    def spin"
    program = PROGRAM.replace("def spin", begin)
    process = start(program, OPYARD_PROFILE_SOCKET=str(tmp_path / "socket"))
    code, _, err = attach(process.number)
    assert code == 1
    assert err.startswith(f"{SAYS}process {process.number} says: a sampling profile is active")


def test_a_command_that_is_interrupted_leaves_the_program_alone(start, tmp_path):
    process = start(PROGRAM, OPYARD_PROFILE_SOCKET=str(tmp_path / "socket"))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(tmp_path / "socket"))
        connection.sendall(b'{"mode": "sample", "hz": 100, "seconds": 60}\n')
        assert b'"began": true' in connection.recv(4096)
    code, out, err = attach(process.number, "--seconds", 0.1)
    assert (code, err) == (0, "") and "spin" in out


@pytest.mark.parametrize("request_", [b"nonsense\n", b"{}\n", b'{"hz": "x", "seconds": 1}\n'])
def test_a_request_that_makes_no_sense_is_answered(start, tmp_path, request_):
    process = start(PROGRAM, OPYARD_PROFILE_SOCKET=str(tmp_path / "socket"))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(tmp_path / "socket"))
        connection.sendall(request_)
        assert b"the request is not understood" in connection.recv(4096)
    assert attach(process.number, "--seconds", 0.1)[0] == 0


def test_a_program_that_ends_meanwhile(start, tmp_path):
    program = PROGRAM.replace("while True", "end = time.time() + 4\n    while time.time() < end")
    process = start(program, OPYARD_PROFILE_SOCKET=str(tmp_path / "socket"))
    code, _, err = attach(process.number, "--seconds", 60)
    assert code == 1
    assert err == f"{SAYS}process {process.number} ended before its profile did\n"


def test_a_process_that_is_not_there():
    code, _, err = attach(4_190_000)
    assert code == 1
    assert err == (
        f"{SAYS}there is no process 4190000; it may have ended, or run in another container\n"
    )


def test_a_socket_at_which_nobody_answers(start, tmp_path):
    path = str(tmp_path / "socket")
    process = start(PROGRAM.replace("{pid}", "never"), OPYARD_PROFILE_SOCKET=path)
    code, _, err = attach(process.number)
    assert code == 1
    assert err == (
        f"{SAYS}process {process.number} has OPYARD_PROFILE_SOCKET in its environment, and nothing "
        f"answers at {path!r} (No such file or directory): it has not imported opyard yet, or it "
        "ends\n"
    )


@pytest.mark.skipif(CAN_EXECUTE, reason="this CPython needs no socket")
def test_a_program_that_does_not_listen_before_cpython_3_14(start):
    process = start(PROGRAM)
    code, _, err = attach(process.number)
    assert code == 1
    assert err == (
        f"{SAYS}process {process.number} cannot be attached to: start it with "
        "OPYARD_PROFILE_SOCKET=/tmp/opyard-{pid} in its environment, and let it import opyard; or "
        "run it, and this command, on CPython 3.14 or later, which needs neither\n"
    )


@pytest.mark.skipif(not CAN_EXECUTE, reason="CPython 3.14 brings remote execution")
def test_X40_a_program_that_never_imported_opyard(start):
    process = start(PROGRAM.replace("{pid}", "never"))
    code, out, err = attach(process.number, "--seconds", 0.3)
    if "the system does not let one process look into another" in err:
        pytest.skip("this system forbids it")
    assert (code, err) == (0, "")
    assert "spin" in out


@pytest.mark.skipif(not CAN_EXECUTE, reason="CPython 3.14 brings remote execution")
def test_a_program_that_takes_no_scripts(start):
    process = start(PROGRAM.replace("{pid}", "never"), PYTHON_DISABLE_REMOTE_DEBUG="1")
    code, _, err = attach(process.number)
    assert code == 1 and err.startswith(f"{SAYS}process {process.number} takes no script")


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's process needs root to be started")
def test_a_process_of_another_user(start, tmp_path):
    """The command runs as nobody: it may not read what root's process was started with."""
    process = start(PROGRAM)
    program = f"""
        import os, sys
        from opyard._profile import attach
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        try:
            attach._environment_of({process.number})
        except SystemExit as error:
            print(error)
    """
    ended = run(program)
    assert ended.stdout == (
        f"{SAYS}process {process.number} is of user 0, and this is user 65534: run the command as "
        "that user, or as root\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["abc"], "'abc' is no number of a process; `ps -ef` shows them"),
        (["1", "--seconds", "0"], "from more than 0 to 86400, not 0"),
        (["1", "--sample", "--trace"], "--trace: not allowed with argument --sample"),
        (["1", "--sample", "20000"], "hz is from 1 to 10000 samples a second, not 20000.0"),
        (["1", "-o", "profile.x"], "the ending of 'profile.x' names no format"),
        ([], "the following arguments are required: PID"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message):
    code, out, err = attach(*arguments)
    assert (code, out) == (2, "") and message in err
