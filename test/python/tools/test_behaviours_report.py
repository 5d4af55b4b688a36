"""test_behaviours_report.py: the report of tools/behaviours, and inputs that it refuses.

The last two tests look at the project's own list and its page of declined numbers. If these fail,
suspect tools/behaviours, test/behaviours.txt or docs/dev/declined.md.
"""

import json

import pytest
from behaviours_project import DECLINED, NUMBERS, ROOT, XFAIL, Project

pytestmark = pytest.mark.once


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_whole_report(project):
    project.pytest_result("test_A1_A2_sets", "test_X2_idea", "test_without_a_number")
    project.gtest_result(("Registry", "B1_ReplacesAndWarns"))
    run = project.run()
    assert run.stderr == ""
    assert run.returncode == 0
    assert run.stdout.splitlines() == [
        "A  tested    A1, A2",
        "   declined  A4",
        "   open      A3",
        "B  tested    B1",
        "   declined  B2",
        "   open      none",
        "",
        "Counted apart:",
        "X  tested    X2",
        "   declined  none",
        "   open      X1",
        "",
        "3 tested, 2 declined, 1 open",
    ]


@pytest.mark.parametrize("number", ["A5", "A99", "A0", "A01", "X3", "K1"])
def test_a_number_that_does_not_exist_in_a_test_name(project, number):
    project.pytest_result("test_A1_x", f"test_{number}_y")
    run = project.run()
    assert run.returncode == 2
    assert f"test_{number}_y carries {number}, a number that does not exist." in run.stderr
    assert run.stdout.endswith("\n1 tested, 2 declined, 3 open\n")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("A4, B2", "A4, B9", "B9 is declined, a number that does not exist."),
        ("A4, B2", "A4 and B2", "'A4 and B2' should be numbers like A35, A36, nothing else."),
        ("A4, B2", "A4, A4", "A4 is here for the second time."),
        ("| A3 |", "| A4 |", "A4 is here for the second time."),
        ("| Not this model. |", "|", "a row has 2 filled cells: numbers, reason."),
        ("| Two spellings. |", "| |", "a row has 3 filled cells: numbers, part left out, reason."),
        ("| numbers | reason |", "| numbers | why |", "should be ['numbers', 'reason']."),
        ("|---|---|\n", "", "the line of dashes under the columns is missing."),
        ("## Whole numbers", "## Others", 'no table belongs under the heading "Others".'),
        ("## Whole numbers", "## Others", 'no table under the heading "Whole numbers".'),
    ],
)
def test_a_malformed_declined_page(project, old, new, complaint):
    project.pytest_result("test_A1_x")
    assert old in DECLINED
    project.declined.write_text(DECLINED.replace(old, new, 1))
    run = project.run()
    assert run.returncode == 2
    assert complaint in run.stderr


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("A2  Second", "A2 Second", "behaviours.txt:3: 'A2 Second' should be a number"),
        ("A2  Second", "A3  Second", "behaviours.txt:3: A3 is where A2 belongs."),
        ("B1  Other", "L1  Other", "behaviours.txt:7: 'L1  Other' should be a number"),
        (NUMBERS, "# nothing\n", "holds no numbers."),
    ],
)
def test_a_malformed_list_of_numbers(project, old, new, complaint):
    project.pytest_result("test_A1_x")
    project.numbers.write_text(NUMBERS.replace(old, new))
    run = project.run()
    assert (run.returncode, run.stdout) == (2, "")
    assert complaint in run.stderr


@pytest.mark.parametrize("file", ["numbers", "declined"])
def test_a_missing_file_is_named(project, file):
    getattr(project, file).unlink()
    run = project.run()
    assert run.returncode == 2
    assert f"No such file or directory: '{getattr(project, file)}'" in run.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is not readable XML"),
        ("<testsuites><testsuite>", "is not readable XML"),
        ("<html/>", "is no test result: it holds <html>, not <testsuites>."),
    ],
)
def test_a_malformed_result_is_named_and_the_others_count(project, text, complaint):
    project.pytest_result("test_A1_x")
    project.write("broken.xml", text)
    run = project.run()
    assert run.returncode == 2
    assert f"{project.results / 'broken.xml'} {complaint}" in run.stderr
    assert run.stdout.endswith("\n1 tested, 2 declined, 3 open\n")


@pytest.mark.parametrize("left", ["no folder", "no file", "no test"])
def test_without_results_all_are_open(project, left):
    if left == "no folder":
        project.results.rmdir()
    elif left == "no test":
        project.pytest_result()
    run = project.run()
    assert run.returncode == 2
    assert f"No test results in {project.results}: nothing counts as tested." in run.stderr
    assert "Run tools/test." in run.stderr
    assert run.stdout.endswith("\n0 tested, 2 declined, 4 open\n")


def test_ranges_are_compressed_and_lines_wrapped(project):
    project.numbers.write_text("".join(f"A{count}  Title\n" for count in range(1, 101)))
    project.declined.write_text(DECLINED.replace("A4, B2", "A2"))
    project.pytest_result(*(f"test_A{count}_x" for count in range(4, 101) if count % 4))
    run = project.run()
    lines = run.stdout.splitlines()
    assert lines[0].startswith("A  tested    A5-A7, A9-A11, A13-A15")
    assert lines[1].startswith("             A")
    assert max(len(line) for line in lines) <= 100
    assert "\n   open      A1, A3, A4, A8, A12" in run.stdout
    project.pytest_result("test_A99_x")
    assert "   open      A1, A3-A98, A100" in project.run().stdout


def test_one_letter_with_titles(project):
    project.pytest_result("test_B1_x")
    run = project.run("--letter", "B")
    assert run.stdout.splitlines() == [
        "B1   tested    Other",
        "B2   declined  Another",
        "B: 1 tested, 1 declined, 0 open",
    ]


def test_the_tests_of_one_number(project):
    project.pytest_result("test_A1_x", ("test_A1_y", XFAIL), "test_A2_z")
    assert project.run("--list-tests", "A1").stdout.splitlines() == [
        "A1  open: First",
        "  passed            test.python.test_A1_x.test_A1_x  (python.xml)",
        "  expected to fail  test.python.test_A1_x.test_A1_y  (python.xml)",
    ]
    assert project.run("--list-tests", "A9").returncode == 2


def test_json_has_everything(project):
    project.pytest_result("test_A1_x", "test_X1_x", "test_A77_x")
    report = json.loads(project.run("--json").stdout)
    assert report["letters"]["A"] == {"tested": ["A1"], "declined": ["A4"], "open": ["A2", "A3"]}
    assert report["letters"]["X"] == {"tested": ["X1"], "declined": [], "open": ["X2"]}
    assert report["totals"] == {"tested": 1, "declined": 2, "open": 3}
    assert report["parts_declined"] == {"A3": "the old form"}
    assert len(report["problems"]) == 1


def test_the_projects_own_list_is_whole(project):
    project.numbers = ROOT / "test" / "behaviours.txt"
    project.declined = ROOT / "docs" / "dev" / "declined.md"
    project.pytest_result("test_without_a_number")
    run = project.run("--json")
    assert (run.returncode, run.stderr) == (0, "")
    letters = json.loads(run.stdout)["letters"]
    counts = {letter: sum(map(len, states.values())) for letter, states in letters.items()}
    assert counts == dict(A=36, B=47, C=30, D=22, E=35, F=60, G=21, H=48, I=54, J=17, K=16, X=48)
    assert sum(counts.values()) == 386 + 48
    assert letters["H"]["declined"] == ["H12", "H46"]


def test_titles_are_short_and_differ():
    lines = (ROOT / "test" / "behaviours.txt").read_text().splitlines()
    titles = [line.split("  ", 1)[1] for line in lines if line and not line.startswith("#")]
    assert len(set(titles)) == len(titles)
    assert [title for title in titles if len(title) > 70] == []
