"""test_behaviours.py: tools/behaviours counts what passed, and nothing else.

These tests are about which test counts for which number; test_behaviours_report.py is about what
the tool prints and refuses. One test here runs a real pytest. If these fail, suspect
tools/behaviours.
"""

import json
import os
import subprocess
import sys

import pytest
from behaviours_project import ERROR, FAILURE, SKIP, XFAIL, Project

pytestmark = pytest.mark.once


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("cases", "state"),
    [
        (["test_A1_x"], "tested"),
        ([("test_A1_x", SKIP)], "open"),
        ([("test_A1_x", XFAIL)], "open"),
        ([("test_A1_x", FAILURE)], "open"),
        ([("test_A1_x", ERROR)], "open"),
        (["test_A1_x", ("test_A1_y", SKIP)], "tested"),
        (["test_A1_x", ("test_A1_y", FAILURE)], "open"),
        (["test_A1_x", ("test_A1_y", XFAIL)], "open"),
        (["test_A1_x", ("test_A1_x", ERROR)], "open"),
        (["test_A1_x[1]", ("test_A1_x[2]", FAILURE)], "open"),
        ([], "open"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_outcomes_of_pytest(project, cases, state):
    project.pytest_result("test_without_a_number", *cases)
    assert project.state_of("A1") == state


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ([], "tested"),
        (["", FAILURE], "open"),
        (['status="run" result="skipped"', '<skipped message="why"/>'], "open"),
        (['status="notrun" result="suppressed"'], "open"),
    ],
    ids=["passed", "failed", "skipped", "disabled"],
)
def test_outcomes_of_gtest(project, more, state):
    project.gtest_result(("KeySet", "A1_Full", *more))
    assert project.state_of("A1") == state


@pytest.mark.parametrize("other", ["cpp-sanitized.xml", "a.xml"])
def test_a_failure_in_another_file_counts(project, other):
    project.gtest_result(("KeySet", "A1_Full"))
    project.gtest_result(("KeySet", "A1_Full", "", FAILURE), file=other)
    assert project.state_of("A1") == "open"


@pytest.mark.parametrize("name", ["A1", "A1_x", "test_A1", "test_A2_A1_x", "test_x_A1[case]"])
def test_names_that_carry_a_number(project, name):
    project.pytest_result(name)
    assert project.state_of("A1") == "tested"


@pytest.mark.parametrize(
    "name", ["testA1", "test_A1x", "test_a1", "test_xA1_y", "test_x[A1]", "test_x[a/A1-[A1]]"]
)
def test_names_that_carry_none(project, name):
    project.pytest_result(name)
    assert project.state_of("A1") == "open"


@pytest.mark.parametrize(
    ("suite", "name", "attributes", "state"),
    [
        ("Inst/Order", "A1_Case/3", 'value_param="3"', "tested"),
        ("Inst/Order", "Case/A1_x", 'value_param="3"', "open"),
        ("A1_Order", "Case", "", "tested"),
        ("Typed/0", "A1_Case", 'type_param="int"', "tested"),
        ("Typed/A1", "Case", 'type_param="A1"', "open"),
    ],
)
def test_names_of_gtest(project, suite, name, attributes, state):
    project.gtest_result((suite, name, attributes))
    assert project.state_of("A1") == state


def test_declined_in_part_stays_open_and_can_be_tested(project):
    project.pytest_result("test_A1_x")
    assert project.state_of("A3") == "open"
    project.pytest_result("test_A3_x")
    assert project.state_of("A3") == "tested"
    assert "left out of it: the old form" in project.run("--list-tests", "A3").stdout


def test_declined_and_yet_tested_is_noted(project):
    project.pytest_result("test_A4_x")
    run = project.run()
    assert run.returncode == 0
    assert "Note: A4 is declined and yet tested: take it out of declined.md." in run.stdout
    assert run.stdout.endswith("\n1 tested, 1 declined, 4 open\n")


def test_declined_and_failing_is_declined(project):
    project.pytest_result(("test_A4_x", FAILURE))
    assert project.state_of("A4") == "declined"


PLANTED = """
import pytest

def test_A1_passes(): pass
def test_A2_fails(): assert False
@pytest.mark.xfail(strict=True)
def test_A3_is_expected_to_fail(): assert False
@pytest.mark.skip(reason="planted")
def test_A4_is_skipped(): pass
@pytest.fixture
def breaks_at_the_end():
    yield
    raise RuntimeError
def test_B1_passes_but_its_fixture_does_not(breaks_at_the_end): pass
@pytest.mark.xfail(strict=True)
def test_X1_passes_unexpectedly(): pass
@pytest.mark.parametrize("value", ["B1", "A2[A3]"])
def test_X2_with_parameters(value): pass
"""


def test_a_real_pytest_with_planted_failures(project, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_planted.py").write_text(PLANTED)
    xml = project.results / "planted.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={xml}"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run([*command, "test_planted.py"], cwd=tmp_path, env=clean, check=False)
    assert run.returncode == 1, "the planted failures were not run"
    letters = json.loads(project.run("--json").stdout)["letters"]
    assert letters["A"] == {"tested": ["A1"], "declined": ["A4"], "open": ["A2", "A3"]}
    assert letters["B"] == {"tested": [], "declined": ["B2"], "open": ["B1"]}
    assert letters["X"] == {"tested": ["X2"], "declined": [], "open": ["X1"]}
