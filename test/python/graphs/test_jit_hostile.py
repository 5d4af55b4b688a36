"""T18, P2: a stranger's text touches no file, socket or process, and ends by error or budget.

The kernel watches: in the child a filter of system calls kills the process at the first one that
opens or makes something. The first test is the one that shows that it does. Suspect jit/src/text/
of what is read, jit/src/code/ of what runs.
"""

import platform
import sys

import pytest
from built import ROOT, plain_build
from hostile_graphs import TEXTS
from processes import run

import opyard

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or platform.machine() != "x86_64",
        reason="the numbers of system calls are those of x86-64 Linux",
    ),
    plain_build,  # a sanitizer looks for leaks in a process of its own
]

# open, openat, openat2, creat, socket, connect, execve, execveat, fork, vfork, clone, clone3
WATCH = """
import ctypes, struct
forbidden = [2, 257, 437, 85, 41, 42, 59, 322, 57, 58, 56, 435]
steps = [struct.pack("HBBI", 0x20, 0, 0, 0)]  # the call's number
steps += [
    struct.pack("HBBI", 0x15, len(forbidden) - at, 0, number)
    for at, number in enumerate(forbidden)
]
steps += [struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000), struct.pack("HBBI", 0x06, 0, 0, 0x80000000)]
code = ctypes.create_string_buffer(b"".join(steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
def watch():
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
"""

PROGRAM = (
    WATCH
    + """
import sys, time, traceback, linecache
import opyard
from opyard import jit
from hostile_graphs import TEXTS
opyard.ops.aten.mul
x = opyard.tensor([1.5, 2.0])

def attempt(text):
    graph = jit.parse_ir(text, untrusted=True, allowed=["aten::mul", "aten::add"])
    str(graph), graph.copy().lint()
    state = jit.InterpreterState(jit.compile(graph))
    state.set_budget(steps=100_000, bytes=1 << 22, seconds=2)
    for _ in range(graph.stage + 1):
        state.run_one_stage(x)

attempt(TEXTS["an endless loop"].replace("9223372036854775807", "3"))  # all is loaded
ways = {"__end__": 0}
status = open("/proc/self/status")  # ru_maxrss would begin with the size of the tests' process
watch()
for name, text in TEXTS.items():
    began = time.monotonic()
    try:
        attempt(text)
        way = "ran"
    except Exception as error:
        way = type(error).__name__
        assert str(error).isprintable() or "\\n" in str(error), name
        assert len(str(error)) < 20_000, (name, len(str(error)))
    print(f"{name!r}: {way}, {time.monotonic() - began:.1f} s", flush=True)
status.seek(0)
(peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
print("memory", int(peak) // 1024)
"""
)


def test_T18_the_watch_sees_what_it_is_for():
    for forbidden in [
        "open('/dev/null')",
        "__import__('os').fork()",
        "__import__('_socket').socket()",
    ]:
        ended = run(f"import _socket\n{WATCH}\nwatch()\nprint('watched', flush=True)\n{forbidden}")
        assert ended.stdout == "watched\n"
        assert ended.code == -31, forbidden  # SIGSYS


def test_T18_no_text_of_a_stranger_touches_anything():
    assert len(TEXTS) >= 60
    ended = run(PROGRAM, limit=120)
    assert ended.code == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    *lines, memory = ended.stdout.splitlines()
    ways = {line.rpartition(": ")[0]: line.rpartition(": ")[2].split(",")[0] for line in lines}
    assert len(ways) == len(TEXTS)
    assert set(ways.values()) <= {"ran", "ValueError", "TimeoutError", "IndexError", "TypeError"}
    # What may run: texts that only say something, or that compute within the list and the budget.
    assert {name for name, way in ways.items() if way == "ran"} <= {
        repr(name)
        for name in [
            "a text with quotes",
            "a text with html",
            "a scope as a path",
            "a size of 2**60",
            "a million nodes",
            "optional types",  # an optional of an optional is one
        ]
    }
    # A stranger may use 64 times what he sends, see P1.
    longest = max(map(len, TEXTS.values()))
    assert int(memory.split()[1]) << 20 < max(64 * longest, 256 << 20)


MODELS = """
import sys
import opyard
from opyard import jit
x = opyard.zeros(2, 4)
scale = opyard.tensor([1.0])
folder = sys.argv[1]

def load():
    return jit.load(folder + "/model.pt2"), jit.load(folder + "/saved")

load()[0](x, {"scale": scale})  # all is loaded
watch()
models = load()
print("read", flush=True)
WATCH_RUNS
watch()
for model in models:
    print(model(x, {"scale": scale})["scores"].shape, flush=True)
"""


def test_X32_T18_a_file_of_a_stranger_is_only_read_and_a_run_of_it_touches_nothing(tmp_path):
    """Reading makes no file, socket or process; it opens files. A run does not even that."""
    model = ROOT / "examples/exported/model.pt2"
    (tmp_path / "model.pt2").write_bytes(model.read_bytes())
    opyard.jit.save(opyard.jit.load(model), tmp_path / "saved")
    reads = WATCH.replace("[2, 257, 437, 85,", "[85, 83, 87, 82,")  # mkdir, unlink, rename
    assert reads != WATCH
    program = reads + MODELS.replace("WATCH_RUNS", WATCH)
    ended = run(program.replace("sys.argv[1]", repr(str(tmp_path))), limit=60)
    assert ended.code == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert ended.stdout == "read\n(2, 3)\n(2, 3)\n"
    opens = program.replace("for model in models", "open('/dev/null')\nfor model in models")
    ended = run(opens.replace("sys.argv[1]", repr(str(tmp_path))), limit=60)
    assert ended.stdout == "read\n" and ended.code == -31
