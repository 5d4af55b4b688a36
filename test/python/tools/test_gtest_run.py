"""test_gtest_run.py: a crash costs one test its result and no other, and it is named.

The program here is Python that speaks as GoogleTest does. Suspect tools/gtest_run.py.
"""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from built import ROOT, plain_build

pytestmark = pytest.mark.once

PROGRAM = """
import json, os, sys, time
does = json.loads(os.environ["DOES"])
end = does.pop("end", 0)
options = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
wanted, _, left_out = options.get("gtest_filter", "*").partition("-")
names = [name for name in does if wanted == "*" or name in wanted.split(":")]
names = [name for name in names if name not in left_out.split(":")]
cases, failed = "", 0
for name in names:
    print("[ RUN      ]", name, flush=True)
    if does[name] == "crash": os.abort()
    if does[name] == "hang": time.sleep(100)
    if does[name] == "exit": os._exit(0)
    bad = does[name] == "fail"
    failed += bad
    group, _, test = name.partition(".")
    inner = '<failure message="planted"/>' if bad else ""
    cases += f'<testcase classname="{group}" name="{test}" status="run">{inner}</testcase>'
    print("[  FAILED  ]" if bad else "[       OK ]", name, "(0 ms)", flush=True)
with open(options["gtest_output"].removeprefix("xml:"), "w") as file:
    file.write(f"<testsuites><testsuite name='A'>{cases}</testsuite></testsuites>")
sys.exit(end or failed)
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program whose tests do what is said; gives its code, outcomes and output."""

    def run(does, *arguments, silence="60"):
        program = tmp_path / "test_made_up"
        program.write_text(f"#!{sys.executable}\n{PROGRAM}")
        program.chmod(0o755)
        tool = [sys.executable, str(ROOT / "tools/gtest_run.py"), "--results", str(tmp_path)]
        done = subprocess.run(
            [*tool, str(program), f"--gtest_output=xml:{tmp_path / 'meson.xml'}", *arguments],
            env={**os.environ, "DOES": json.dumps(does), "OPYARD_TEST_SILENCE": silence},
            capture_output=True,
            text=True,
            timeout=60,
        )
        for file in ("meson.xml", "cpp-test_made_up.xml"):
            cases = ElementTree.parse(tmp_path / file).getroot().iter("testcase")
            outcomes = {
                f"{case.get('classname')}.{case.get('name')}": case.find("failure") is None
                for case in cases
            }
        return done.returncode, outcomes, done.stdout

    return run


def test_results_of_a_program_that_ends_are_its_own(run):
    assert run({"A.One": "pass", "A.Two": "pass"})[:2] == (0, {"A.One": True, "A.Two": True})
    code, outcomes, said = run({"A.One": "pass", "A.Two": "fail"})
    assert (code, outcomes) == (1, {"A.One": True, "A.Two": False})
    assert "A.Two" in said and "A.One" not in said


@plain_build
@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("crash", "was ended by SIGABRT"),
        ("exit", "ended the program with code 0"),
        ("hang", "said nothing for 2 s"),
    ],
)
def test_a_crash_is_named_and_the_other_tests_run(run, does, words):
    silence = "2" if does == "hang" else "60"
    tests = {"A.One": "fail", "A.Two": does, "B.Three": "pass", "B.Four": does, "B.Five": "pass"}
    code, outcomes, said = run(tests, silence=silence)
    assert code != 0
    failed = {"A.One": False, "A.Two": False, "B.Four": False}
    assert outcomes == {**failed, "B.Three": True, "B.Five": True}
    assert f"[ CRASHED  ] A.Two {words}" in said and f"[ CRASHED  ] B.Four {words}" in said


@plain_build
def test_what_was_filtered_stays_filtered(run):
    tests = {"A.One": "pass", "A.Two": "crash", "A.Three": "pass"}
    assert run(tests, "--gtest_filter=A.One:A.Two")[1] == {"A.One": True, "A.Two": False}


def test_a_code_without_a_failure_is_kept(run):
    """A sanitizer finds leaks when all tests have passed."""
    assert run({"A.One": "pass", "end": 23})[:2] == (23, {"A.One": True})
