"""tools/gtest_run.py: runs one GoogleTest program, names the test that crashes, and runs the rest.

    tools/gtest_run.py [--results FOLDER] PROGRAM [arguments of GoogleTest]

A program holds the tests of a whole room. If one of them ends the process, or says nothing for
too long, that test has failed; the tests after it run in a new process. `meson test` can run
every program through this (`--wrapper`), as tools/test does. The results are written as
GoogleTest writes them, to where --gtest_output asks and to FOLDER/cpp-<program>.xml.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# A program that says nothing for so long hangs. Sanitizers are slow, and machines are busy.
SILENT_SECONDS = float(os.environ.get("OPYARD_TEST_SILENCE", "300"))
# A program that crashes more often has one fault, not many.
MOST_CRASHES = 10
LINE = re.compile(r"\[ *(RUN|OK|SKIPPED|FAILED) *\] (\w[\w/]*\.[\w/]+)(?: \(\d+ ms\))?$")


class Run:
    """One process, and which tests began and ended in it, as its output says."""

    def __init__(self, command: list[str], xml: Path):
        self.outcomes: dict[str, str] = {}
        self.running = ""
        self.hung = self.told_to_end = False
        self.text = ""
        xml.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [*command, f"--gtest_output=xml:{xml}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def hang(self) -> None:
        self.hung = True
        os.killpg(self.process.pid, signal.SIGKILL)

    def end(self, *_: object) -> None:
        """What Meson asks for when the whole program takes too long."""
        self.told_to_end = True
        os.killpg(self.process.pid, signal.SIGKILL)

    def watched_lines(self):
        """The output, as long as it does not stop."""
        while True:
            watch = threading.Timer(SILENT_SECONDS, self.hang)
            watch.start()
            line = self.process.stdout.readline()
            watch.cancel()
            if not line:
                return
            yield line

    def finish(self) -> None:
        for line in self.watched_lines():
            self.text += line
            if found := LINE.search(line.rstrip()):
                self.running = found[2] if found[1] == "RUN" else ""
                if not self.running:
                    self.outcomes[found[2]] = found[1]
        self.code = self.process.wait()

    def how_it_ended(self) -> str:
        if self.hung:
            return f"said nothing for {SILENT_SECONDS:.0f} s"
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return f"ended the program with code {self.code}"


def without(command: list[str], names: list[str]) -> list[str]:
    """The command, with a filter that leaves tests out."""
    pattern = "*"
    for argument in command:
        if argument.startswith("--gtest_filter="):
            pattern = argument.partition("=")[2]
    joint = ":" if "-" in pattern else "-"
    return [*command, f"--gtest_filter={pattern}{joint}{':'.join(names)}"] if names else command


def add_case(suites: ElementTree.Element, name: str, outcome: str, fault: str = "") -> None:
    """A test whose process wrote no file, as GoogleTest would have written it."""
    suite = suites.find("testsuite[@name='of processes that crashed']")
    if suite is None:
        suite = ElementTree.SubElement(suites, "testsuite", name="of processes that crashed")
    group, _, test = name.rpartition(".")
    case = ElementTree.SubElement(suite, "testcase", classname=group, name=test, status="run")
    if outcome == "SKIPPED":
        ElementTree.SubElement(case, "skipped", message="")
    elif outcome != "OK":
        ElementTree.SubElement(case, "failure", message=fault or "see the output")


def run(command: list[str], xml: Path) -> tuple[int, ElementTree.Element, str]:
    """The exit code, the results, and what the program said and how it crashed."""
    results = ElementTree.Element("testsuites", name="AllTests")
    said, left_out, code = "", [], 0
    for _ in range(MOST_CRASHES):
        process = Run(without(command, left_out), xml)
        signal.signal(signal.SIGTERM, process.end)
        process.finish()
        said += process.text
        code = code or process.code
        if xml.exists():
            results.extend(ElementTree.parse(xml).getroot())
            return code, results, said
        code = code or 1
        crashed = process.running or f"(before or after its tests).{Path(command[0]).name}"
        fault = f"{crashed} {process.how_it_ended()}"
        said += f"\n[ CRASHED  ] {fault}\n"
        for name, outcome in process.outcomes.items():
            add_case(results, name, outcome)
        add_case(results, crashed, "CRASHED", fault)
        left_out += [*process.outcomes, *([process.running] if process.running else [])]
        if process.told_to_end or not process.running:
            break
    return code, results, said


def brief(said: str) -> str:
    """The output without the lines of tests that passed."""
    marks = ("[ RUN  ", "[       OK ]", "[------")
    return "".join(
        line for line in said.splitlines(True) if line.strip() and not line.startswith(marks)
    )


def main() -> int:
    parser = argparse.ArgumentParser("tools/gtest_run.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--results", type=Path, help="a folder for cpp-<program>.xml")
    parser.add_argument("--verbose", action="store_true", help="also the tests that pass")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM ...")
    asked = parser.parse_args()
    if not asked.command:
        parser.error("which program?")
    wanted = [a.partition("xml:")[2] for a in asked.command if a.startswith("--gtest_output=xml:")]
    command = [a for a in asked.command if not a.startswith("--gtest_output=")]
    with tempfile.TemporaryDirectory() as folder:
        code, results, said = run(command, Path(folder) / "results.xml")
    if asked.results:
        wanted.append(str(asked.results / f"cpp-{Path(asked.command[0]).name}.xml"))
    for path in wanted:
        ElementTree.ElementTree(results).write(path, "utf-8", xml_declaration=True)
    sys.stdout.write(said if asked.verbose else brief(said))
    return min(abs(code), 255)


if __name__ == "__main__":
    sys.exit(main())
