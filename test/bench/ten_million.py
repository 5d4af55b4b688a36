"""test/bench/ten_million.py: cost of capturing, replaying and exporting ten million events.

    PYTHONPATH=build/main/pyfallback build/venv-3.11/bin/python test/bench/ten_million.py

Prints a line for each step: seconds of the processor, and bytes of memory or of what is
written. Exports are written
to no file: a disk is not what is measured.
"""

import os
import time

from opyard.profiler import profile

CALLS = 5_000_000  # of two events each
BUDGETS = {"captured": 180e6, "replayed": 1.0, "perfetto": 5.0, "chrome": 15.0}


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def leaf() -> None:
    pass


def work() -> None:
    for _ in range(CALLS):
        leaf()


def main() -> None:
    prof = profile(c_calls=False)
    before = resident()
    begin = time.process_time()
    with prof:
        work()
    seconds, used = time.process_time() - begin, resident() - before
    print(f"captured {seconds:.2f} s, {used / 1e6:.0f} MB (budget {BUDGETS['captured'] / 1e6:.0f})")
    captured = prof._require_profile()
    begin = time.process_time()
    captured.tracks()  # which replays
    seconds = time.process_time() - begin
    print(f"replayed {seconds:.2f} s (budget {BUDGETS['replayed']:.0f})")
    for name in ("perfetto", "chrome"):
        written = 0

        def write(piece: bytes) -> None:
            nonlocal written
            written += len(piece)

        begin = time.process_time()
        getattr(captured, name)(write, {}, "program", os.getpid())
        seconds = time.process_time() - begin
        print(f"{name} {seconds:.2f} s, {written / 1e6:.0f} MB (budget {BUDGETS[name]:.0f} s)")


if __name__ == "__main__":
    main()
