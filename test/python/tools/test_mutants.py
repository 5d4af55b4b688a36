"""test_mutants.py: tools/mutants.py notices what no test notices, and touches nothing but its copy.

The projects here are made up: their source is a Python file, which is built by compiling it and
tested by calling it. The last test looks at the project's own list. If that fails, somebody has
changed a line in which a mutant is planted: bring test/mutants.txt up to date. Suspect
tools/mutants.py.
"""

import importlib
import os
import re

import pytest
from built import ROOT

pytestmark = pytest.mark.once

SOURCE = "dispatcher/src/keys/clamp.py"
CLAMP = """\
# Brings a number between two others.
def clamp(number, low, high):
    if number < low:
        return low
    if number > high:
        return high
    return number
"""
LIST = f"""\
# a head comment

== low-for-high
A number that is too large becomes the least one.
{SOURCE}
-         return high
+         return low

== another-comment
Nothing is wrong.
{SOURCE}
- # Brings a number between two others.
+ # Brings a number between two other numbers.

== no-upper-limit
A number may be as large as it likes.
{SOURCE}
-     if number > high:
+     if False:
"""


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("mutants")


class Project:
    """A made-up project, and the tool run on it with a bench that builds and tests Python."""

    def __init__(self, tool, folder, capsys):
        self.tool, self.folder, self.capsys = tool, folder, capsys
        self.source, self.list = folder / SOURCE, folder / "test/mutants.txt"
        self.copy = folder / "build/mutants/tree" / SOURCE
        self.source.parent.mkdir(parents=True)
        self.list.parent.mkdir()
        self.source.write_text(CLAMP)
        self.list.write_text(LIST)

    def bench_of(self, tree):
        project = self

        class FakeBench:
            def build(self, shown=False):
                try:
                    compile((tree / SOURCE).read_text(), "clamp", "exec")
                except SyntaxError as fault:
                    return str(fault)
                return ""

            def measure(self):
                return self.run("keys") or ""

            def run(self, idea, killers=()):
                return project.tests((tree / SOURCE).read_text(), idea)

        return FakeBench()

    @staticmethod
    def tests(source, idea):
        assert idea == "keys"
        space = {}
        exec(source, space)
        values = [space["clamp"](number, 1, 3) for number in range(5)]
        return None if values == [1, 1, 2, 3, 3] else f"test_clamp, Clamp.Limits: {values}"

    def run(self, *arguments):
        code = self.tool.main([*arguments], self.folder, self.bench_of)
        said = self.capsys.readouterr()
        return code, said.out.splitlines(), said.err


@pytest.fixture
def project(tool, tmp_path, capsys):
    return Project(tool, tmp_path, capsys)


def test_whole_report(project):
    code, lines, err = project.run("--at-least", "66")
    assert (code, err) == (0, "")
    assert lines == [
        "== the copy, without a mutant",
        "== 3 mutants",
        "  1/3  killed    keys/low-for-high (0 s): test_clamp, Clamp.Limits: [1, 1, 2, 3, 1]",
        "  2/3  SURVIVED  keys/another-comment (0 s): Nothing is wrong.",
        "  3/3  killed    keys/no-upper-limit (0 s): test_clamp, Clamp.Limits: [1, 1, 2, 3, 4]",
        "",
        "           planted  killed  survived",
        "keys             3       2  another-comment",
        "mutants: 2 of 3 killed, 67 %; at least 66 % are asked for",
        "took 0 s",
    ]


@pytest.mark.parametrize("arguments", [[], ["--at-least", "100"], ["--only", "another-comment"]])
def test_too_few_killed_is_a_failure(project, arguments):
    code, lines, _ = project.run(*arguments)
    assert code == 1
    assert "too few: at least" in lines[-2]


def test_all_killed_is_a_success(project):
    code, lines, _ = project.run("--at-least", "100", "--only", "no-upper-limit", "low-for-high")
    assert code == 0
    assert lines[-2] == "mutants: 2 of 2 killed, 100 %; at least 100 % are asked for"


def test_tests_that_notice_nothing_kill_nothing(project):
    project.tests = lambda source, idea: None
    code, lines, _ = project.run()
    assert code == 1
    assert "mutants: 0 of 3 killed, 0 %; too few: at least 90 % are asked for" in lines


def test_a_mutant_that_does_not_build_is_neither(project):
    project.list.write_text(LIST.replace("+     if False:", "+     if:"))
    code, lines, _ = project.run("--at-least", "0")
    assert code == 1
    assert any(
        line.startswith("  3/3  no build  keys/no-upper-limit (0 s): invalid") for line in lines
    )
    assert (
        "no-upper-limit does not compile, so it shows nothing: write it anew in test/mutants.txt"
        in lines
    )
    assert lines[-2].startswith("mutants: 1 of 3 killed")


@pytest.mark.parametrize(
    ("old", "new"), [("return number", "return low"), ("number <", "number <:")]
)
def test_without_a_mutant_all_must_be_well(project, old, new):
    project.source.write_text(CLAMP.replace(old, new))
    code, lines, _ = project.run()
    assert code == 1
    assert lines[-1] == "this is without a mutant: mend it first, else nothing can be told"
    assert "== 3 mutants" not in lines


def test_lines_may_move(project):
    project.source.write_text("import math\n\n" + CLAMP)
    assert project.run("--at-least", "66")[0] == 0


def test_a_file_may_move_as_long_as_there_is_one_of_its_name(project):
    moved = project.folder / "dispatcher/src/keys/inner/clamp.py"
    moved.parent.mkdir()
    project.source.rename(moved)
    mutants = project.tool.read_list(project.folder)
    assert {mutant.path_in(project.folder) for mutant in mutants} == {
        "dispatcher/src/keys/inner/clamp.py"
    }
    (project.folder / "dispatcher/src/clamp.py").write_text(CLAMP)
    code, _, err = project.run()
    assert code == 2
    assert f"low-for-high no longer applies: there is no {SOURCE}" in err


def test_a_sample_is_drawn_and_can_be_drawn_again(project):
    _, lines, _ = project.run("--sample", "1", "--at-least", "0")
    said = re.fullmatch(
        r"== a sample of 1 mutants; --sample 1 --seed (\d+) draws it again", lines[0]
    )
    again = project.run("--sample", "1", "--seed", said[1], "--at-least", "0")[1]
    assert [line for line in lines if "1/1" in line] == [line for line in again if "1/1" in line]
    assert project.run("--sample", "9", "--at-least", "60")[1][-2].startswith("mutants: 2 of 3")


def test_what_the_build_reads_is_copied(tool):
    folders = re.findall(r"^ *subdir\('(\w+)'", (ROOT / "meson.build").read_text(), re.M)
    assert "dispatcher" in folders and set(folders) <= set(tool.COPIED)


def test_ideas_are_folders(project):
    def idea(file):
        return project.tool.Mutant("m", "", file, (), (), "", None).idea

    assert idea("dispatcher/src/keys/alias_keys.cpp") == "keys"
    assert idea("dispatcher/include/opyard/detail/registry/typed.h") == "registry"
    assert idea("kernels/src/reduction/sum.cpp") == "kernels"
    assert idea("pyfallback/objects/arrays/source.cpp") == "objects"
    assert idea("pyfallback/opyard/_core/ops.py") == "opyard"


def test_a_line_that_has_changed_is_named_before_anything_is_built(project):
    project.source.write_text(CLAMP.replace("number > high", "high < number"))
    code, lines, err = project.run()
    assert (code, lines) == (2, [])
    assert err == (
        "no-upper-limit no longer applies: its line must be once in "
        f"{SOURCE}, and is there 0 times; write there what the line is now, or plant the same "
        "defect elsewhere, in test/mutants.txt:\n        if number > high:\n"
    )
    assert not project.copy.exists()


def test_a_line_that_is_there_twice_needs_the_one_before_it(project):
    project.source.write_text(CLAMP + CLAMP.replace("clamp", "other").replace("- ", ""))
    code, _, err = project.run("--only", "no-upper-limit")
    assert code == 2
    assert "is there 2 times; write the line before it in front of it" in err
    twice = CLAMP.replace("    return number", "    if number > high:\n        raise\n    return 2")
    project.source.write_text(CLAMP + twice.replace("clamp", "other"))
    context = "".join(f"  {line}\n" for line in CLAMP.splitlines()[1:4])
    head = LIST[: LIST.index("== low-for-high")] + LIST[LIST.index("== no-upper-limit") :]
    project.list.write_text(head.replace("-     if", context + "-     if"))
    code, lines, _ = project.run()
    assert (code, lines[-2][:19]) == (0, "mutants: 1 of 1 kil"), lines


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("== low-for-high", "== Low for high", "should be '== a-name'"),
        ("-         return high", "         return high", "should be '== a-name'"),
        ("+         return low", "+         return low\n+ x", "should be '== a-name'"),
        ("+         return low", "+         return high", "low-for-high changes nothing"),
        ("== low-for-high", "== no-upper-limit", "two are called no-upper-limit"),
        (SOURCE, "dispatcher/src/keys/nope.py", "there is no dispatcher/src/keys/nope.py"),
        (SOURCE, "docs/src/keys/clamp.py", "is in none of"),
        (
            f"{SOURCE}\n",
            f"{SOURCE}\n! test_nope\n",
            "low-for-high names test_nope, which is no test",
        ),
        (LIST, "# nothing\n", "test/mutants.txt holds no mutants"),
    ],
)
def test_a_malformed_list(project, old, new, complaint):
    assert old in LIST
    project.list.write_text(LIST.replace(old, new, 1))
    code, lines, err = project.run()
    assert (code, lines) == (2, [])
    assert complaint in err


def test_an_unknown_name(project):
    code, _, err = project.run("--only", "nope", "no-upper-limit")
    assert (code, err) == (2, "no mutant is called nope; --list says which there are\n")


def test_the_list_is_shown_and_nothing_run(project):
    code, lines, _ = project.run("--list")
    assert code == 0
    assert lines[0] == "keys/low-for-high: A number that is too large becomes the least one."
    assert len(lines) == 3
    assert not project.copy.exists()


def test_the_sources_are_never_touched_and_a_run_that_was_broken_off_is_mended(project):
    times = os.stat(project.source).st_mtime_ns

    def break_off(source, idea):
        assert project.source.read_text() == CLAMP
        if source != CLAMP:
            raise KeyboardInterrupt

    project.tests = break_off
    with pytest.raises(KeyboardInterrupt):
        project.run()
    assert project.copy.read_text() != CLAMP
    assert (project.source.read_text(), os.stat(project.source).st_mtime_ns) == (CLAMP, times)
    del project.tests
    assert project.run("--at-least", "66")[0] == 0
    assert project.copy.read_text() == CLAMP


def test_the_copy_follows_the_sources_and_leaves_alone_what_is_right(project):
    extra = project.folder / "test/more/extra.txt"
    extra.parent.mkdir()
    extra.write_text("1")
    project.run("--only", "another-comment")
    copied = project.folder / "build/mutants/tree/test/more/extra.txt"
    built = project.folder / "build/mutants/tree/build/made"
    built.parent.mkdir()
    built.write_text("made by the build")
    os.utime(copied, ns=(1, 1))
    project.run("--only", "another-comment")
    assert os.stat(copied).st_mtime_ns == 1
    extra.unlink()
    project.run("--only", "another-comment")
    assert not copied.exists()
    assert built.exists()


def test_the_projects_own_list_applies(tool):
    mutants = tool.read_list(ROOT)
    assert len(mutants) >= 199
    folders = {mutant.idea for mutant in mutants}
    assert {
        "base",
        "text",
        "keys",
        "interpreter",
        "thread",
        "tensor",
        "value",
        "schema",
        "registry",
    } <= folders
    assert {"ffi", "plugin", "c_api", "kernels", "opyard"} <= folders


def test_the_copy_holds_every_folder_that_the_build_reads(tool):
    read = set()
    for top in ("dispatcher", "kernels", "pyfallback", "test"):
        for file in (ROOT / top).rglob("meson.build"):
            up = "../" * len(file.parent.relative_to(ROOT).parts)
            read |= set(re.findall(rf"'{re.escape(up)}(\w+)/", file.read_text("utf-8")))
    assert "examples" in read
    assert read <= set(tool.COPIED)
