"""Programs that lead to themselves by way of C++, without end, on small and on large stacks."""

from processes import run

# The text of the first argument defines go(); step() counts a level.
PROGRAM = """
import sys, textwrap, threading
import opyard, opyard.autograd, opyard.dispatch, opyard.futures, opyard.library
from opyard.library import Library
lib = Library("deep", "FRAGMENT")
aten = opyard.ops.aten
x = opyard.tensor([1.0])
depth = 0
raised = []

class Enough(Exception):
    pass

def step():
    global depth
    depth += 1
    if depth > 20_000:
        raise Enough

exec(textwrap.dedent(sys.argv[1]))

def work():
    global depth
    depth = 0
    try:
        go()
    except Exception as error:
        raised.append(type(error))
    print(sys.argv[2:], depth, *{each.__name__ for each in raised}, flush=True)
    raised.clear()

# Python's own limit, and KiB of stack: 0 as the system makes it.
for limit, kib in ((1000, 256), (1000, 512), (1000, 1024), (1000, 0), (3000, 256)):
    sys.setrecursionlimit(limit)
    threading.stack_size(kib * 1024)
    sys.argv[2:] = [limit, kib]
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print("ended")
"""


def check_deep(text, raises="RecursionError"):
    """Runs a program; each stack has room for some levels, and ends by an exception."""
    done = run(PROGRAM, text, limit=120)
    assert (done.code, done.stderr) == (0, ""), (done.code, done.stdout[-300:], done.stderr[-2000:])
    *lines, last = done.stdout.splitlines()
    assert last == "ended" and len(lines) == 5
    for line in lines:
        levels, *raised = line.partition("] ")[2].split()
        assert int(levels) > 10, line
        assert raised == [raises], line
