"""test_operator_files.py: operators in files. Suspect text/operator_file.cpp, operator_files.py,
operator_command.py."""

import re
import subprocess
import sys

import pytest
from built import ROOT

import opyard
from opyard import autograd, ops
from opyard.dispatch import metadata
from opyard.library import load_operators

PAGE = (ROOT / "docs/reference/operator_files.md").read_text("utf-8")
ON_PAGE = re.search(r"^```text\n(.*?)^```$", PAGE, re.M | re.S)[1]


@pytest.fixture
def write(tmp_path, ns):
    """Writes a file of operators, and gives its path."""

    def write(text, name="some.ops"):
        path = tmp_path / name
        path.write_text(text.replace("NS", ns))
        return path

    return write


@pytest.fixture
def load(write):
    made = []

    def load(text, **more):
        made.append(load_operators(write(text, **more)))
        return made[-1]

    yield load
    for library in made:
        library.close()


def test_the_file_of_the_page(load, ns):
    x = opyard.tensor([1.0, 3.0, 5.0], dtype=opyard.float64)
    library = load(ON_PAGE.replace("namespace shop", "namespace NS"))
    assert library.operators == [
        f"{ns}::{name}" for name in ("lerp_to", "centered", "twice_rounded")
    ]
    here = getattr(ops, ns)
    assert here.lerp_to(x, x + 2).tolist() == [2.0, 4.0, 6.0]
    assert here.centered(x).tolist() == [-2.0, 0.0, 2.0]
    told = metadata(here.lerp_to.default)
    assert told["doc"] == (
        "Goes a part of the way from one tensor to another. Source: x + (to - x) * by."
    )
    assert told["tags"] == ("pointwise",) or "pointwise" in str(told["tags"])
    library.impl("twice_rounded", lambda x: (x * 2).round(), "CPU")
    x.requires_grad_()
    assert autograd.grad(here.twice_rounded(x).sum(), [x])[0].tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("operator f(Tensor x) -> Tensor {}", "1:1", "expected 'namespace'"),
        ("namespace NS\noperater f(Tensor x) -> Tensor {}", "2:1", "expected 'operator'"),
        ("namespace NS\noperator f(Tensor x) -> Tenser {}", "2:10", "Tenser"),
        ("namespace NS\noperator f(Tensor x) -> Tensor {\n  bodi { x }\n}", "3:3",
         "lines of a block begin with doc, tags, derivative, tangent and body; "
         "'body' may be meant"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { body { x } body { x } }", "2:50",
         "a block has one 'body'"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { body { x }", "2:44", "found the end"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { body { x }\n}\n"
         "operator NS2(Tensor x) -> Tensor { }\noperator f(Tensor x) -> Tensor { }", "5:10",
         "f has a block already, in line 2"),
        ("namespace NS\noperator f(Tensor x) -> Tensor {\n  body {\n    let y = x;\n"
         "    nothing(y)\n  }\n}", "5:5", "nothing"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { body { x, x } }", "2:41",
         "this gives 2 values"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { body { f(x) } }", "2:41", "f"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { tags pointwize }", "2:10", "pointwize"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { derivative y { grad } }", "2:49",
         "'y', which is no argument"),
        ("namespace NS\noperator f(Tensor x) -> Tensor {\n  derivative x {\n  grad *\n} }", "4:9",
         "expected a value"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { derivative x { grad }\n"
         " derivative x { grad } }", "3:13", "has a derivative already"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { body { " + "(" * 300 + "x", "2:",
         "expected '}'"),
        ("namespace NS\noperator f(Tensor x) -> Tensor { body { " + "(" * 300 + "x" + ")" * 300
         + "} }", "2:", "nested too deeply"),
        ("\n" * 10_000_000, "", "too long"),
        ("namespace NS\n" + "operator f " * 400_000, "", "too"),
    ],
)  # fmt: skip
def test_a_bad_file_registers_nothing(write, ns, text, place, message):
    good = "operator good(Tensor x) -> Tensor { body { x + 1 } }\n"
    path = write(text)
    with pytest.raises((ValueError, RuntimeError)) as error:
        load_operators(path)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}:{place}"), str(error.value)[:200]
    if text.startswith("namespace NS\n"):
        with pytest.raises((ValueError, RuntimeError)):
            load_operators(write(text.replace("namespace NS\n", "namespace NS\n" + good)))
    assert not hasattr(getattr(ops, ns), "good") and not hasattr(getattr(ops, ns), "f")


def test_a_file_that_is_loaded_again_replaces_its_former_self(load, ns):
    block = "namespace NS\noperator f(Tensor x) -> Tensor { body { x + %s } }"
    x = opyard.tensor([1.0])
    load(block % 1)
    f = getattr(ops, ns).f
    assert f(x).tolist() == [2.0]
    load(block % 2)
    assert f(x).tolist() == [3.0]
    with pytest.raises(ValueError, match="there is no input 'z'"):
        load(block % "z")
    assert f(x).tolist() == [3.0]


def test_it_is_gone_when_it_is_closed(load, ns):
    library = load("namespace NS\noperator f(Tensor x) -> Tensor { body { x } }")
    library.close()
    assert not hasattr(getattr(ops, ns), "f")


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "opyard", "operators", *map(str, arguments)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_the_command_checks_and_writes(write, tmp_path, ns):
    path = write(ON_PAGE, "shop.ops")
    assert run(path).stdout == f"{path}: 3 operators of shop\n"
    header, stubs, page_made = (tmp_path / "include/shop.h", tmp_path / "shop.pyi",
                                tmp_path / "shop.md")  # fmt: skip
    made = run(path, "--header", header, "--stubs", stubs, "--page", page_made)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    assert (
        "inline opyard::Tensor lerp_to(const opyard::Tensor& x, const opyard::Tensor& to, "
        "double by = 0.5) {"
    ) in header.read_text()
    assert "std::optional<std::int64_t> dim = std::nullopt" in header.read_text()
    assert "def __call__" in stubs.read_text() and "lerp_to" in stubs.read_text()
    assert "| `x` | `grad * 2` |" in page_made.read_text()
    bad = run(write("namespace NS\noperator f(Tensor x) -> Tensor { body { y } }", "bad.ops"))
    assert bad.returncode == 1
    assert bad.stderr.startswith(f"{tmp_path}/bad.ops:2:41: ") and "Traceback" not in bad.stderr


def test_the_header_compiles(write, tmp_path):
    import shutil

    from opyard import _build_info

    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    path = write(ON_PAGE, "shop.ops")
    assert run(path, "--header", tmp_path / "shop.h").returncode == 0
    source = tmp_path / "uses.cpp"
    source.write_text(
        '#include "shop.h"\n'
        "opyard::Tensor middle(const opyard::Tensor& x) { return shop::lerp_to(x, x); }\n"
        "opyard::Tensor rest(const opyard::Tensor& x) { return shop::centered(x, 1); }\n"
    )
    folders = [f"-I{folder}" for folder in _build_info.include_dirs]
    made = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", *folders,
                           str(source)], capture_output=True, text=True)  # fmt: skip
    assert made.returncode == 0, made.stderr[:2000]
