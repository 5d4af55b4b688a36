"""python -m opyard.profiler attach PID: a profile of a program that runs already.

The program is asked at its socket, see listener.py. One that has none, on CPython 3.14 or later,
opens one when CPython runs a script in it that we name.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NoReturn

from .exports import FORMATS, format_of
from .listener import MOST_SECONDS, VARIABLE, path_in, peer_of
from .sampled_run import DEFAULT_HZ, read_rate, spell_out_rate

if TYPE_CHECKING:
    from typing import Any, BinaryIO

_WAIT_FOR_SCRIPT = 10.0

# Runs in the other program. The path of its socket says how it went, too.
_SCRIPT = """\
def _opyard_listen():
    import sys
    path, places = {path!r}, {places!r}
    added = [place for place in places if place not in sys.path]
    sys.path.extend(added)
    try:
        from opyard._profile import listener
        listener.begin(path, once=True)
    except BaseException as error:
        with open(path + ".error", "w") as file:
            file.write(f"{{type(error).__name__}}: {{error}}")
    finally:
        for place in added:
            sys.path.remove(place)
_opyard_listen()
del _opyard_listen
"""


def _fail(message: str) -> NoReturn:
    raise SystemExit(f"python -m opyard.profiler attach: {message}")


def _read_seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"from more than 0 to {MOST_SECONDS:.0f}, not {text}")
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m opyard.profiler attach",
        description="Profiles a program that runs already, for some seconds. It goes on as it was.",
        epilog="The program is one of CPython 3.14 or later, or one that has imported opyard with "
        f"{VARIABLE} set in its environment.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("process", metavar="PID", help="the number of the process, as ps shows it; as in 4711")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--sample",
        type=read_rate,
        metavar="HZ",
        help="sample its stacks HZ times a second (the default, at 1000); as in --sample 200",
    )
    mode.add_argument(
        "--trace", action="store_true", help="capture each call, which slows it down; as in --trace"
    )
    add(
        "--seconds",
        type=_read_seconds,
        default=10.0,
        metavar="N",
        help="for how long; 10 if not given; as in --seconds 30",
    )
    add("-o", "--output", metavar="FILE", help="where to; else tables; as in -o profile.html")
    add("-f", "--format", choices=FORMATS, metavar="FORMAT", help="of the file; as in -f chrome")
    add("--no-fold", action="store_true", help="rows for calls inside of libraries, too")
    return parser


def _read_arguments(given: list[str]) -> argparse.Namespace:
    parser = _parser()
    at = next((n for n, one in enumerate(given) if one == "--sample"), len(given))
    options = parser.parse_args(given[:at] + spell_out_rate(given[at:], parser))
    if not re.fullmatch(r"[1-9][0-9]*", options.process):
        parser.error(f"{options.process!r} is no number of a process; `ps -ef` shows them")
    options.process = int(options.process)
    if options.output is not None and options.format is None:
        try:
            options.format = format_of(options.output)
        except ValueError as error:
            parser.error(str(error))
    return options


def _environment_of(process: int) -> dict[str, str]:
    """What a process was started with."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            entries = os.fsdecode(file.read()).split("\0")
    except FileNotFoundError:
        _fail(f"there is no process {process}; it may have ended, or run in another container")
    except PermissionError:
        user = os.stat(f"/proc/{process}").st_uid
        if user == os.geteuid():
            _fail(
                f"the system does not let this process look into process {process}, though they "
                "are of one user: one of them runs with other rights, or in a container that "
                "forbids it; run the command as root, or inside that container"
            )
        _fail(
            f"process {process} is of user {user}, and this is user {os.geteuid()}: run the "
            "command as that user, or as root"
        )
    except OSError as error:
        _fail(f"the environment of process {process} cannot be read: {error}")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _inner_number(process: int) -> int:
    """The number of a process as it sees itself: in a container that is another one."""
    try:
        with open(f"/proc/{process}/status") as file:
            numbers = next((line for line in file if line.startswith("NSpid:")), "").split()[1:]
    except OSError:
        return process
    return int(numbers[-1]) if numbers else process


def _connect(process: int, path: str) -> socket.socket:
    """To the socket of a process, which may see other files than we do."""
    connection = socket.socket(socket.AF_UNIX)
    seen = f"/proc/{process}/root{path}"
    try:
        # The system takes no longer names than this.
        connection.connect(path if os.path.exists(path) or len(seen) > 100 else seen)
    except OSError as error:
        connection.close()
        _fail(
            f"process {process} has {VARIABLE} in its environment, and nothing answers at "
            f"{path!r} ({error.strerror or error}): it has not imported opyard yet, or it ends"
        )
    other, _ = peer_of(connection)
    if other not in (process, 0):  # 0: of a container that we do not see into
        connection.close()
        _fail(
            f"at {path!r} process {other} answers, not {process}: they have one {VARIABLE}; put "
            "{pid} into its name, so that each has a socket of its own"
        )
    return connection


def _what_to_do(process: int) -> NoReturn:
    _fail(
        f"process {process} cannot be attached to: start it with {VARIABLE}=/tmp/opyard-{{pid}} "
        "in its environment, and let it import opyard; or run it, and this command, on CPython "
        "3.14 or later, which needs neither"
    )


def _open_socket_in(process: int, folder: str) -> str:
    """By CPython's remote execution: the path of a socket at which the process listens."""
    path = os.path.join(folder, "socket")
    script = os.path.join(folder, "script.py")
    places = [place or os.getcwd() for place in sys.path]
    with open(script, "w") as file:
        file.write(_SCRIPT.format(path=path, places=places))
    execute = sys.remote_exec  # type: ignore[attr-defined]
    try:
        execute(process, script)
    except PermissionError:
        _fail(
            f"the system does not let one process look into another, here {process}: run the "
            "command as root, or allow it (sysctl kernel.yama.ptrace_scope=0; in a container "
            "--cap-add SYS_PTRACE)"
        )
    except (RuntimeError, OSError, ValueError) as error:
        _fail(
            f"process {process} takes no script: {error}. It has to be of this CPython "
            f"({sys.version_info.major}.{sys.version_info.minor}), started without "
            "PYTHON_DISABLE_REMOTE_DEBUG"
        )
    end = time.monotonic() + _WAIT_FOR_SCRIPT
    while time.monotonic() < end:
        if os.path.exists(path):
            return path
        if os.path.exists(path + ".error"):
            with open(path + ".error") as file:
                _fail(f"process {process} could not load opyard: {file.read()}")
        time.sleep(0.02)
    _fail(
        f"the main thread of process {process} ran no Python for {_WAIT_FOR_SCRIPT:.0f} seconds: "
        "it is in a long call of C"
    )


def _attach(process: int, folder: str) -> socket.socket:
    environment = _environment_of(process)
    if value := environment.get(VARIABLE):
        return _connect(process, path_in(value, _inner_number(process)))
    if not hasattr(sys, "remote_exec"):
        _what_to_do(process)
    path = _open_socket_in(process, folder)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def _answer_of(stream: BinaryIO, process: int) -> dict[str, Any]:
    line = stream.readline()
    if not line:
        _fail(f"process {process} ended before its profile did")
    answer = json.loads(line)
    if "error" in answer:
        _fail(f"process {process} says: {answer['error']}")
    return answer


def _write(output: str | None, contents: bytes) -> None:
    if output is None:
        sys.stdout.write(contents.decode())
        return
    from .._core.whole_file import whole_file

    with whole_file(output) as file:
        file.write(contents)


def attach(given: list[str]) -> None:
    options = _read_arguments(given)
    wanted = {
        "mode": "trace" if options.trace else "sample",
        "hz": options.sample or DEFAULT_HZ,
        "seconds": options.seconds,
        "output": None if options.output is None else os.path.basename(options.output),
        "format": options.format,
        "fold": not options.no_fold,
    }
    folder = tempfile.mkdtemp(prefix="opyard-attach-")
    try:
        with _attach(options.process, folder) as connection:
            connection.sendall(json.dumps(wanted).encode() + b"\n")
            with connection.makefile("rb") as stream:
                _answer_of(stream, options.process)
                size = _answer_of(stream, options.process)["bytes"]
                contents = stream.read(size)
        if len(contents) != size:
            _fail(f"process {options.process} ended before its profile was whole")
        _write(options.output, contents)
    except OSError as error:
        _fail(str(error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
