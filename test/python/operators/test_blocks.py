"""Files of operators that are compiled into the kernels: what the program of the build refuses,
with file, line and column, and that blocks say what answers say. Suspect kernels/blocks/ and
jit/src/text/operator_file.cpp."""

import os
import re
import subprocess

import pytest
from built import ROOT, build_folder

import opyard
from opyard import ops

pytestmark = pytest.mark.once

PROGRAM = build_folder() / "kernels" / "write_operators"
KERNELS = build_folder() / "kernels" / "opyard_kernels.so"
FILES = sorted((ROOT / "kernels/operators").glob("*.ops"))

needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built here")


def run(*arguments):
    # What a sanitizer counts as leaked lives as long as the process.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, env=environment)  # fmt: skip


@pytest.fixture
def refused(tmp_path):
    """What the program says of a file, without the folder that it is in."""

    def refused(text, mode="literals"):
        file = tmp_path / "new.ops"
        file.write_text("namespace aten\n" + text)
        source = tmp_path / "new.cpp"
        source.write_text("Tensor there(const Tensor& x) { return x; }\n")
        rest = ("--sources", source) if mode == "literals" else ("--plugin", KERNELS)
        made = run(mode, tmp_path / "out", *rest, "--operators", file)
        assert made.returncode == 1 and made.stdout == "", (made.returncode, made.stdout)
        return made.stderr.replace(f"{tmp_path}/", "")

    return refused


@needs_program
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("operator f(Tensor x) -> Tensor {", "new.ops:2:33: "),
        ("operator f(Tenso x) -> Tensor { body { x } }", "new.ops:2:"),
        ("operator f(Tensor x) -> Tensor {\n  kernl there }", "new.ops:3:3: no line begins with"),
        ("operator f(Tensor x) -> Tensor {\n  kernel here }",
         "new.ops:3:10: no source of kernels/src has a function here()"),
        ("operator f(Tensor x) -> Tensor {\n  kernel there body { x } }",
         "new.ops:2:10: a block has one of 'body', 'kernel', 'numpy' and 'scipy'"),
        ("operator f(Tensor x) -> Tensor { body { x } }\noperator f(Tensor x) -> Tensor { }",
         "new.ops:3:10: f has a block already, in line 2"),
    ],
)  # fmt: skip
def test_the_build_refuses_a_block_with_its_place(refused, text, message):
    assert refused(text).startswith(message), refused(text)


@needs_program
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("operator abs(Tensor self) -> Tensor {\n  body {\n    nothing(self)\n  }\n}",
         "new.ops:4:5: the body of aten::abs:1:1: "),
        ("operator abs(Tensor self) -> Tensor { body { self.dim() } }", "new.ops:2:46: "),
        ("operator abs(Tensor self) -> Tensor { body { self.abs() } }",
         "the body of aten::abs calls it again"),
        ("operator fmod.answered(Tensor self) -> Tensor {\n  scipy\n"
         "  derivative self { nothing(grad) }\n}",
         "new.ops:4:21: the derivative of aten::fmod.answered"),
    ],
)  # fmt: skip
def test_the_build_refuses_what_does_not_go_with_the_library(refused, text, message):
    assert message in refused(text, "header"), refused(text, "header")


@needs_program
def test_what_is_made_twice_is_the_same(tmp_path):
    sources = sorted((ROOT / "kernels/src").rglob("*.cpp"))
    for out in ("a", "b"):
        made = run("literals", tmp_path / out, "--sources", *sources, "--operators", *FILES)
        assert (made.returncode, made.stderr) == (0, "")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def blocks():
    for file in FILES:
        text = file.read_text()
        for block in re.split(r"^operator ", text, flags=re.MULTILINE)[1:]:
            schema = block[: re.search(r" \{$", block, re.MULTILINE).start()]
            yield re.search(r"^namespace (\w+)$", text, re.MULTILINE)[1], schema, block


def test_blocks_have_the_schemas_that_are_answered():
    for name_space, schema, block in blocks():
        if not re.search(r"^  (numpy|scipy)$", block, re.MULTILINE):
            continue
        pytest.importorskip("scipy")
        name = f"{name_space}::{schema.partition('(')[0]}"
        found = getattr(getattr(ops, name_space), name.partition("::")[2].partition(".")[0])
        overload = name.partition(".")[2] or "default"
        written = opyard.schema.parse(f"{name_space}::{schema}")
        assert str(getattr(found, overload)._schema) == str(written)
