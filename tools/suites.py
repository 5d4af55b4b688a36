"""tools/suites.py: runs the commands of tools/test, measures them, and counts their results.

tools/run_tests.py says which suites there are. Each runs with its output shown when it is over,
since two run at once, and its CPU seconds are compared with those of test/suites.ini.
"""

import configparser
import os
import signal
import subprocess
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
RESULTS = BUILD / "results"
DECLARED = ROOT / "test/suites.ini"
MOST = 1.5
# Of what a test that failed said, so much is told again at the end.
MOST_TOLD = 240
# Each test has a limit of its own, which names it; this one is for what hangs outside of tests.
SUITE_SECONDS = 3600


def declared(path: Path = DECLARED) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read_string(path.read_text("utf-8"))
    return parser


def loop() -> float:
    """The CPU seconds of a loop that is the same everywhere: how fast this machine is."""
    times = []
    for _ in range(3):
        started = time.process_time()
        total = 0
        for number in range(3_000_000):
            total += number & 7
        times.append(time.process_time() - started)
    return min(times)


@dataclass
class Tally:
    """What one suite did. `names` are the tests that ran, by program, to compare two runs, and
    `faults` those that failed, each with what it said first."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    closing: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def fail(self, why: str) -> None:
        self.failed += 1
        self.closing.append(f"{self.suite}: {why}")

    def read(self, files: Iterable[Path]) -> None:
        """Adds the results in files of GoogleTest or pytest."""
        for path in files:
            for case in ElementTree.parse(path).getroot().iter("testcase"):
                self.names.add(f"{path.stem}: {case.get('classname')}.{case.get('name')}")
                fault = case.find("failure")
                fault = case.find("error") if fault is None else fault
                if fault is not None:
                    self.failed += 1
                    told = " ".join((fault.get("message") or fault.text or "").split())[:MOST_TOLD]
                    self.faults.append(f"{case.get('classname')}.{case.get('name')}: {told}")
                elif case.find("skipped") is not None or case.get("status") == "notrun":
                    self.skipped += 1
                else:
                    self.passed += 1


def say(text: str) -> None:
    print(text, flush=True)


def execute(
    command: list[str],
    environment: dict[str, str] | None = None,
    shown: bool = False,
    seconds: float = SUITE_SECONDS,
) -> tuple[int, float, str]:
    """Runs a command; gives its exit code, the CPU seconds of it and all it waited for, and what
    it said. With `shown`, every line is also printed as it comes. After so many seconds it is
    killed."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    limit = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    said = []
    with process.stdout:
        for line in process.stdout:
            said.append(line)
            if shown:
                say(line.rstrip("\n"))
    _, status, used = os.wait4(process.pid, 0)
    limit.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime, "".join(said)


def budget_lines(used: dict[str, float], speed: float) -> tuple[list[str], list[str]]:
    """A table of what was used beside what is declared, and what is over. `speed` is what `loop`
    takes here over what is declared for it."""
    figures = declared()
    lines = [f"{'CPU seconds':24} {'used':>7} {'declared':>9}"]
    over = []
    for name, seconds in used.items():
        section = "builds" if name.startswith("build ") else "suites"
        most = figures[section].getfloat(name.removeprefix("build ")) * speed
        lines.append(f"{name:24} {seconds:7.0f} {most:9.0f}")
        if seconds > MOST * most:
            over.append(f"{name} took {seconds:.0f} CPU seconds; test/suites.ini allows {most:.0f}")
    return lines, over
