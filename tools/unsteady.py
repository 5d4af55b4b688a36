"""tools/unsteady.py: a test that failed runs again alone, and is named if it passes then.

Two suites run at once, on a machine that has other work, and one test of ten thousand then may
miss a moment that it waits for. Its second run is the one that counts, and the closing lines say
so, with what it said first: that is to be looked at. More than two in a suite is no accident, and
they fail.
"""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

MOST = 2
# What pytest has to be asked for, so that its XML names the file of a test.
OPTIONS = "-o junit_family=xunit1"


# What pytest returns if it ran to its end, and tests failed.
FAILURES = 1


def ended_by_failures(log: Path) -> bool:
    """Whether each program in a log of Meson's, a line of JSON for each, returned that."""
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    return bool(lines) and all(json.loads(line).get("returncode") == FAILURES for line in lines)


def is_fault(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def failed_tests(results: Path) -> list[str]:
    """The tests that failed, as pytest takes them; none if they are too many to run again."""
    failed = [case for case in ElementTree.parse(results).getroot().iter("testcase")]
    failed = [case for case in failed if is_fault(case)]
    return [_argument(case) for case in failed] if len(failed) <= MOST else []


def _argument(case: ElementTree.Element) -> str:
    file = case.get("file") or ""
    module = file.removesuffix(".py").replace("/", ".")
    classes = (case.get("classname") or "").removeprefix(module).strip(".")
    return "::".join(filter(None, [file, *classes.split("."), case.get("name")]))


def take_over(results: Path, again: Path) -> list[str]:
    """Writes what passed in the second run into the results of the first; gives what it was."""
    passed = {
        _argument(case): case
        for case in ElementTree.parse(again).getroot().iter("testcase")
        if not is_fault(case)
    }
    tree = ElementTree.parse(results)
    taken = []
    for suite in tree.getroot().iter("testsuite"):
        for place, case in enumerate(list(suite)):
            if case.tag == "testcase" and is_fault(case) and _argument(case) in passed:
                suite[place] = passed[_argument(case)]
                taken.append(_argument(case))
    tree.write(results)
    return taken
