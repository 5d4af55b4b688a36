"""test_site.py: what tools/docs writes from docstrings, stubs and headers, and links of all pages.

The site itself is built, and checked by its generator, in .ci/run. Suspect tools/site/, or the
docstring, header or page that is named.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from built import ROOT

import opyard

pytestmark = pytest.mark.once

SITE = ROOT / "tools" / "site"
sys.path.append(str(SITE))  # last: a module of the tests is called pages as well

import headers  # noqa: E402
import python_pages  # noqa: E402


def with_our_path():
    """The environment of a program that imports what the tests import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


# Links.


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`(?!\])", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def pages():
    roots = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    return [*roots, *ROOT.glob("*/README.md"), *(ROOT / "docs").glob("*/**/*.md")]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page):
    for to in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text("utf-8"))):
        if re.match(r"https?:", to):
            continue
        file, _, anchor = to.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), to
        if anchor:
            assert anchor in anchors(target), to


# Python.


@pytest.fixture(scope="module")
def modules():
    done = subprocess.run(
        [sys.executable, str(SITE / "python_names.py")],
        env=with_our_path(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {module["name"]: module for module in json.loads(done.stdout)}


def entries(modules):
    for module in modules.values():
        for entry in module["names"]:
            yield f"{module['name']}.{entry['name']}", entry
            for member in entry.get("members", []):
                yield f"{module['name']}.{entry['name']}.{member['name']}", member


def test_every_public_module_has_a_docstring_and_a_page(modules):
    assert len(modules) > 13
    assert [name for name, module in modules.items() if not module["doc"]] == []
    assert set(python_pages.pages(list(modules.values()))) == {
        f"reference/python/{name}.md" for name in [*modules, "tensor_methods"]
    }


def test_every_public_name_has_a_docstring(modules):
    kinds = ("function", "class", "property")
    missing = [
        name for name, entry in entries(modules) if entry["kind"] in kinds and not entry["doc"]
    ]
    assert missing == []


def test_every_public_function_has_a_signature(modules):
    missing = [
        name
        for name, entry in entries(modules)
        if entry["kind"] == "function" and not entry["signatures"]
    ]
    assert missing == []


def test_no_signature_shows_an_address_or_a_private_module(modules):
    for name, entry in entries(modules):
        for signature in entry.get("signatures", []):
            assert " at 0x" not in signature, name
            assert "opyard._" not in signature, name


def test_no_text_of_pybind11_is_shown(modules):
    for name, entry in entries(modules):
        assert not re.match(r"\w*\((?:arg0|self): ", entry["doc"]), name
        assert "pybind11_object" not in entry.get("bases", []), name


def test_every_operator_that_is_a_method_has_a_signature(modules):
    [tensor] = [one for one in modules["opyard"]["names"] if one["name"] == "Tensor"]
    given = {one["name"]: one["signatures"] for one in tensor["operators"]}
    assert given["sum"][0] == "(*, dtype: Optional[dtype] = None) -> Tensor"
    assert [name for name, signatures in given.items() if not signatures] == []
    named = given.keys() | {one["name"] for one in tensor["members"]}
    public = {name for name in dir(opyard.zeros(1)) if not name.startswith("_")}
    assert [name for name in public - named if takes_tensor_first(name)] == []
    assert {"arange", "zeros", "cat"} <= public - named


def takes_tensor_first(name):
    packet = getattr(opyard.ops.aten, name)
    return any(
        str(argument.type) in ("Tensor", "Tensor?")
        for overload in packet.overloads()
        for argument in getattr(packet, overload)._schema.arguments[:1]
    )


def test_a_method_has_the_parameters_after_its_tensor(modules):
    [tensor] = [one for one in modules["opyard"]["names"] if one["name"] == "Tensor"]
    given = {one["name"]: one["signatures"] for one in tensor["operators"]}
    assert given["bitwise_left_shift"] == [
        "(other: Tensor) -> Tensor",
        "(other: bool | int | float | complex) -> Tensor",
    ]
    assert given["gelu_backward"] == ["(self: Tensor, *, approximate: str = 'none') -> Tensor"]
    for name, signatures in given.items():
        for text in signatures:
            first = text[1:].partition(")")[0].partition(",")[0].strip()
            assert re.match(r"(\w+(: .*)?|\*\w*|)$", first), (name, text)


# Examples.

EXAMPLES = python_pages.examples((SITE / "examples.txt").read_text("utf-8"))
# Modules whose names need something else: a standard, a device, PyTorch, JAX.
ELSEWHERE = ("opyard.array_api.", "opyard.gpu_trace.", "opyard.torch.", "opyard.jax.")
# Names without an example.
WITHOUT = {"opyard.jit.from_exported"}  # of a program of PyTorch
# Classes that an example makes or meets without their name.
UNNAMED = {"opyard.jit.CompiledFunction"}


RUN = """
import json, os, sys, tempfile, traceback
failed = {}
for code in json.load(sys.stdin):
    os.chdir(tempfile.mkdtemp(dir=sys.argv[1]))
    try:
        import opyard
        exec(compile(code, "example", "exec"), {"opyard": opyard, "__name__": "example"})
    except BaseException:
        failed[code] = traceback.format_exc()
json.dump(failed, open(os.path.join(sys.argv[1], "failed.json"), "w"))
"""


def test_every_example_runs(tmp_path):
    codes = sorted(set(EXAMPLES.values()))
    assert len(codes) > 70
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)],
        cwd=tmp_path,
        env=with_our_path(),
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    failed = json.loads((tmp_path / "failed.json").read_text("utf-8"))
    assert not failed, "\n".join(code + error for code, error in failed.items())


def test_every_public_name_has_an_example(modules):
    names = {
        f"{module['name']}.{entry['name']}"
        for module in modules.values()
        for entry in module["names"]
        if entry["kind"] in ("function", "class")
        and not re.search(r"^ {2,}\S", entry["doc"], re.MULTILINE)
    }
    names = {name for name in names if not name.startswith(ELSEWHERE)}
    assert names - set(EXAMPLES) == WITHOUT


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - UNNAMED))
def test_an_example_uses_what_it_is_of(name):
    assert re.search(rf"\b{name.rpartition('.')[2]}\b", EXAMPLES[name])


# C and C++.


def test_a_header_that_is_marked_keeps_its_lines():
    for path in headers.public_headers():
        text = path.read_text("utf-8")
        assert headers.marked(text).count("\n") == text.count("\n"), path.name


def test_comments_become_those_of_what_follows_them():
    marked = headers.marked("// a/b.h: x.\n\n// Adds.\nint add(int a);  // of one\n\n// Alone.\n\n")
    assert "/*! \\verbatim Adds. \\endverbatim */" in marked
    assert "int add(int a); /*!< \\verbatim of one \\endverbatim */" in marked
    assert "Alone" not in marked


def test_what_is_indented_in_a_comment_is_shown_as_it_is():
    lines = ["Says *this*:", "", "  f(x);   for you", "", "and that."]
    assert headers.as_markdown(lines) == (
        "Says \\*this\\*:\n\n```text\nf(x);   for you\n```\n\nand that."
    )


@pytest.fixture(scope="module")
def of_headers(tmp_path_factory):
    if shutil.which("doxygen") is None:
        pytest.skip("there is no Doxygen here; tools/docs installs it")
    return headers.pages(tmp_path_factory.mktemp("doxygen"))


def test_every_function_of_the_c_api_is_on_its_page(of_headers):
    text = (ROOT / "dispatcher" / "include" / "opyard" / "c_api.h").read_text("utf-8")
    names = set(re.findall(r"^OPYARD_API [^;(]*?\b(opyard_\w+)\(", text, re.MULTILINE))
    assert len(names) > 50
    page = of_headers["reference/c/c_api.md"]
    assert {name for name in names if f"{name}(" not in page} == set()


def test_every_public_header_is_on_one_page(of_headers):
    for path in headers.public_headers():
        include = f'#include "{headers.include_path(path)}"'
        assert sum(include in page for page in of_headers.values()) == 1, include


def test_a_comment_and_its_declaration_stay_together(of_headers):
    page = of_headers["reference/cpp/registry.md"]
    _, found, rest = page.partition("void set_dispatch_log(bool on)")
    assert found and rest.startswith("\nbool dispatch_log()\n```")
    [after] = re.findall(r"void fallback\(Kernel kernel\)\n```\n\n(.*)", page)
    assert after.startswith("A kernel for every operator at the library's key.")


def test_the_rows_of_a_list_are_in_its_place(of_headers):
    """Without them an enum of error_kinds.def would have no value."""
    base = of_headers["reference/cpp/base.md"]
    assert "enum class ErrorKind { Internal, OutOfMemory, NoKernel, " in base
    assert "- `BadShape`: shapes do not fit each other\n" in base
    passes = of_headers["reference/cpp/jit.md"].partition("### eliminate\\_dead\\_code\n")[2]
    assert "Takes away what no output, effect or visible write needs" in passes[:400]
    for page in of_headers.values():
        assert not re.search(r"^### .*\bOPYARD\\_[XY]\b", page, re.MULTILINE)


def test_every_name_of_the_headers_has_a_text(of_headers):
    """Its own, that of a field, or that of a name beside it."""
    bare = set()
    for name, page in of_headers.items():
        if name.endswith("c_dlpack.md"):
            continue  # DLPack's own names
        parts = re.split(r"^(#{2,6} .*)$", page, flags=re.MULTILINE)
        for heading, body in zip(parts[1::2], parts[2::2], strict=True):
            text = re.sub(r"```.*?```", "", body, flags=re.DOTALL).strip()
            if not text and "//" not in body:
                bare.add(f"{name}: {heading}")
    assert {each for each in bare if not each.endswith(("# to", "kMarkInfo"))} == set()
