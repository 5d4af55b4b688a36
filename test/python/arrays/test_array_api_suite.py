"""test_array_api_suite.py: the public suite array-api-tests, if a checkout is named.

Suspect the function of opyard.array_api that a failure names. OPYARD_ARRAY_API_TESTS is the path of
a checkout of github.com/data-apis/array-api-tests with its submodule, and OPYARD_ARRAY_API_EXAMPLES
how many examples each test draws, 10 if it is not set. The tests that may fail are the rows of
docs/dev/reliability.md, "The array API's suite". test_array_api.py and test_array_api_functions.py
have a part of each section of it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT
from processes import environment_of_a_user

pytestmark = pytest.mark.once

CHECKOUT = os.environ.get("OPYARD_ARRAY_API_TESTS", "")
EXAMPLES = os.environ.get("OPYARD_ARRAY_API_EXAMPLES", "10")
FILES = sorted(
    f"array_api_tests/{each.name}"
    for each in Path(CHECKOUT or "/", "array_api_tests").glob("test_*")
)
PAGE = ROOT / "docs/dev/reliability.md"


def expected_failures():
    """How the names of the tests begin that the page's table has."""
    section = PAGE.read_text().partition("## The array API's suite")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(array_api_tests/\S+)` \|", section, re.M)


def test_the_page_names_few_tests():
    failures = expected_failures()
    assert 0 < len({each.partition("[")[0] for each in failures}) <= 10
    assert len(failures) == len(set(failures))


@pytest.mark.skipif(not CHECKOUT, reason="OPYARD_ARRAY_API_TESTS names no checkout")
@pytest.mark.parametrize("file", FILES)
def test_suite(file):
    pytest.importorskip("ndindex")
    assert (Path(CHECKOUT) / "array-api/spec").exists(), "the submodule of the checkout is missing"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    options = ["--disable-deadline", "--derandomize", f"--max-examples={EXAMPLES}", "--tb=no"]
    done = subprocess.run(
        [*command, *options],
        cwd=CHECKOUT,
        env={**environment_of_a_user(), "ARRAY_API_TESTS_MODULE": "opyard.array_api"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode in (0, 1) and "passed" in done.stdout, done.stdout + done.stderr
    failed = re.findall(r"^(?:FAILED|ERROR) (array_api_tests/.*)$", done.stdout, re.M)
    assert [each for each in failed if not each.startswith(tuple(expected_failures()))] == []
