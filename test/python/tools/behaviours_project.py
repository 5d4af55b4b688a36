"""behaviours_project.py: a made-up project for the tests of tools/behaviours.

Four numbers of one letter, two of another, two apart; one of each letter declined, one in part; and
writers for results in the forms that GoogleTest and pytest have.
"""

import json
import subprocess
import sys

from built import ROOT

TOOL = ROOT / "tools" / "behaviours"

NUMBERS = """# a head comment
A1  First
A2  Second
A3  Third
A4  Fourth

B1  Other
B2  Another
# apart
X1  Idea
X2  Further idea
"""

DECLINED = """# Left out
## Whole numbers
| numbers | reason |
|---|---|
| A4, B2 | Not this model. |
## Parts of numbers
| numbers | part left out | reason |
|---|---|---|
| A3 | the old form | Two spellings. |
"""

# How a test can end in pytest's XML, besides passing.
SKIP = '<skipped type="pytest.skip" message="no device"/>'
XFAIL = '<skipped type="pytest.xfail" message="not yet"/>'
FAILURE = '<failure message="assert 0"/>'
ERROR = '<error message="a fixture raised"/>'


class Project:
    """A made-up project: its list, its declined page, its results, and the tool run on them."""

    def __init__(self, folder):
        self.numbers = folder / "behaviours.txt"
        self.declined = folder / "declined.md"
        self.results = folder / "results"
        self.results.mkdir()
        self.numbers.write_text(NUMBERS)
        self.declined.write_text(DECLINED)

    def pytest_result(self, *cases, file="python.xml"):
        """Each case is a name, or a name and the child element that says how it ended."""
        texts = ""
        for case in cases:
            name, child = case if isinstance(case, tuple) else (case, "")
            texts += f'<testcase classname="test.python.test_A1_x" name="{name}">{child}</testcase>'
        self.write(file, f'<testsuites><testsuite name="pytest">{texts}</testsuite></testsuites>')

    def gtest_result(self, *cases, file="cpp.xml"):
        """Each case is (suite, name), with further attributes and a child if there are any."""
        texts = ""
        for suite, name, *more in cases:
            attributes, child = (*more, "", "")[:2]
            if "status" not in attributes:
                attributes += ' status="run" result="completed"'
            texts += f'<testcase name="{name}" classname="{suite}" {attributes}>{child}</testcase>'
        self.write(file, f'<testsuites name="AllTests"><testsuite>{texts}</testsuite></testsuites>')

    def write(self, file, text):
        (self.results / file).write_text(text)

    def run(self, *options):
        files = {
            "--numbers": self.numbers,
            "--declined": self.declined,
            "--results": self.results,
        }
        command = [sys.executable, TOOL, *(str(part) for pair in files.items() for part in pair)]
        return subprocess.run([*command, *options], capture_output=True, text=True, check=False)

    def state_of(self, number):
        letters = json.loads(self.run("--json").stdout)["letters"]
        [state] = [state for state, found in letters[number[0]].items() if number in found]
        return state
