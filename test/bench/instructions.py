"""test/bench/instructions.py: instructions per call of each hot path, against those written down.

    tools/python test/bench/instructions.py            counts and compares with instructions.txt
    tools/python test/bench/instructions.py --write    writes instructions.txt

Each path of the program hot_paths runs under callgrind with two numbers of calls; the difference
is what the calls cost, without start and end. The count is the same in every run, so more than two
per cent over what is written down is a change of the code. A path that became cheaper by as much
is to be written down anew.

The counts are those of one compiler. Under another one nothing is compared, and a line says so.
Ends with "N passed, N failed, N skipped".
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WRITTEN = HERE / "instructions.txt"
FEW, MANY = 1000, 3000
TOLERANCE = 0.02


def collected(program: Path, path: str, times: int) -> int:
    done = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            str(program),
            path,
            str(times),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise SystemExit(f"callgrind failed for {path}:\n{done.stderr}")
    return int(found[1])


def count(program: Path) -> dict[str, float]:
    """Instructions per call, by path."""
    paths = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    return {
        path: (collected(program, path, MANY) - collected(program, path, FEW)) / (MANY - FEW)
        for path in paths
    }


def compiler_of(program: Path) -> str:
    """What the compiler wrote into the program, such as 'GCC: (Debian 12.2.0-14) 12.2.0'."""
    done = subprocess.run(
        ["readelf", "-p", ".comment", str(program)], capture_output=True, text=True, check=True
    )
    return re.findall(r"\]\s+(.*)", done.stdout)[-1].strip()


def read_written() -> tuple[str, dict[str, float]]:
    lines = [line for line in WRITTEN.read_text().splitlines() if line and line[0] != "#"]
    counts = {line.split()[0]: float(line.split()[1]) for line in lines[1:]}
    return lines[0].removeprefix("compiler "), counts


def write(compiler: str, counts: dict[str, float]) -> None:
    lines = [
        "# Instructions per call of each hot path; test/bench/instructions.py writes and compares.",
        f"compiler {compiler}",
        *(f"{path} {instructions:g}" for path, instructions in counts.items()),
    ]
    WRITTEN.write_text("\n".join(lines) + "\n")


def verdict(now: float, written: float | None) -> str:
    if written is None:
        return "FAILED: not written down; run with --write"
    if now > written * (1 + TOLERANCE):
        return f"FAILED: {100 * (now / written - 1):.1f} % more than written down"
    if now < written * (1 - TOLERANCE):
        return f"FAILED: {100 * (1 - now / written):.1f} % fewer; run with --write to keep that"
    return "ok"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build/main")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    program = options.build / "test/bench/hot_paths"
    compiler = compiler_of(program)
    counts = count(program)
    if options.write:
        write(compiler, counts)
    wanted, written = read_written()
    comparable = wanted == compiler
    failed = 0
    for path, now in counts.items():
        said = verdict(now, written.get(path)) if comparable else "not compared"
        failed += said.startswith("FAILED")
        print(f"  {path:<18} {now:8.1f}  {written.get(path, 0):8.1f}  {said}")
    gone = sorted(written.keys() - counts.keys()) if comparable else []
    for path in gone:
        print(f"  {path:<18} FAILED: written down, but the program does not have it")
    if not comparable:
        print(f"the counts are those of {wanted}, this is {compiler}: nothing is compared")
    failed += len(gone)
    passed = len(counts) + len(gone) - failed if comparable else 0
    print(f"{passed} passed, {failed} failed, {0 if comparable else len(counts)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
