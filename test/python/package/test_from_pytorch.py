"""Protects the table of docs/guides/from_pytorch.md: its names are there, on both sides.

Suspect the guide. Its Python block is run by test_guides.py.
"""

import inspect
import os
import re
import subprocess
import sys

import pytest
from built import ROOT

import opyard

GUIDE = ROOT / "docs" / "guides" / "from_pytorch.md"


def rows():
    table = GUIDE.read_text("utf-8").partition("## Names\n")[2].partition("\n## ")[0]
    found = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert all(len(row) == 2 for row in found)
    return found[2:]


def codes(text):
    return re.findall(r"`([^`]*)`", text)


def find(root, name):
    """What a dotted name stands for below a module."""
    for part in name.split(".")[1:]:
        root = getattr(root, part)
    return root


def dotted(text, package):
    """The names of a cell that begin with `package`, and those behind them, which continue it."""
    names, before = [], None
    for code in codes(text):
        if re.match(rf"{package}\.[\w.]+", code):
            names.append(re.match(rf"{package}\.[\w.]+", code).group())
            before = names[-1].rpartition(".")[0]
        elif before is not None and re.fullmatch(r"_?[A-Za-z]\w+", code):
            names.append(f"{before}.{code}")
    return names


def is_expression(text):
    return re.fullmatch(r"x\.\w+(\(.*\))?(\.\w+.*)?", text) is not None


def test_every_name_of_opyard_in_the_table_is_there():
    seen = 0
    for pytorch, ours in rows():
        for name in dotted(ours, "opyard"):
            if name.startswith("opyard.ops.ns"):
                continue
            find(opyard, name)
            seen += 1
        if same := re.match(r"the same in (.*)", ours):
            modules = [find(opyard, name) for name in codes(same.group(1)) if "opyard" in name]
            names = [name.rpartition(".")[2] for name in codes(pytorch)]
            for name in names:
                assert any(hasattr(module, name) for module in modules), name
                seen += 1
            if len(modules) == 2 and "and in" in ours:
                assert all(hasattr(module, name) for module in modules for name in names)
    assert seen > 80


def test_every_name_of_the_headers_in_the_table_is_there():
    headers = "\n".join(
        path.read_text("utf-8")
        for path in ROOT.glob("*/include/opyard/**/*.h")
        if not path.is_symlink()
    )
    names = {name for _, ours in rows() for name in re.findall(r"(?:opyard::|OPYARD_)\w+", ours)}
    assert len(names) == 13
    for name in names:
        assert re.search(rf"\b{name.removeprefix('opyard::')}\b", headers), name
    for path in re.findall(r"`(opyard/\w+\.h)`", GUIDE.read_text("utf-8")):
        assert list(ROOT.glob(f"*/include/{path}")), path


def test_every_expression_of_the_table_can_be_written():
    x = opyard.tensor([[0.5, 2.0], [3.0, 4.0]])
    written = 0
    for _, ours in rows():
        for code in codes(ours):
            if is_expression(code) and "cuda" not in code and "accessor" not in code:
                eval(code.replace("…", ""), {"x": x, "y": x, "opyard": opyard})
                written += 1
    assert written >= 12
    with pytest.raises(NotImplementedError, match="from cpu to cpu only"):
        x.to("cuda")


def test_every_name_of_pytorch_in_the_table_is_there():
    torch = pytest.importorskip("torch")
    x = torch.tensor([[0.5, 2.0], [3.0, 4.0]])
    for pytorch, _ in rows():
        for name in dotted(pytorch, "torch"):
            if name != "torch.ops.ns.op":
                find(torch, name)
        for code in codes(pytorch):
            if is_expression(code) and "cuda()" not in code and "accessor" not in code:
                eval(code, {"x": x.clone(), "y": x, "torch": torch})


def lists():
    """The modules of the last section, with what it says is the same and what is not here."""
    text = GUIDE.read_text("utf-8").partition("## Every name of")[2]
    found = re.findall(r"^\*\*`(.*?)`\*\*, (\d+) of (\d+)\n\n(.*?)(?=^\*\*|\Z)", text, re.M | re.S)
    assert len(found) >= 8
    return [(name, int(here), int(of), body) for name, here, of, body in found]


@pytest.mark.parametrize(("name", "here", "of", "body"), lists(), ids=[row[0] for row in lists()])
def test_the_lists_of_names_are_those_of_the_modules(name, here, of, body):
    module = find(opyard, "opyard" + name.removeprefix("torch"))
    parts = dict(re.findall(r"^- (same|differs in|not here): (.*)$", body, re.M))
    same, absent = codes(parts["same"]), codes(parts["not here"])
    differs = [each for each in codes(parts.get("differs in", "")) if hasattr(module, each)]
    assert all(hasattr(module, each) for each in same)
    assert not any(hasattr(module, each) for each in absent)
    layers = re.findall(r"`(\w+)`: `nn\.(\w+)`", body)
    assert all(hasattr(opyard.nn, layer) for _, layer in layers)
    functions = [function for function, _ in layers]
    assert len({*same, *differs, *functions}) == here and here + len(absent) == of
    if name not in ("torch.autograd", "torch.autograd.forward_ad"):  # which have more here
        public = {each for each in module.__all__ if not inspect.ismodule(getattr(module, each))}
        assert public <= {*same, *differs}


def test_the_lists_of_names_are_those_of_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    version = torch.__version__.partition("+")[0]
    if f"with PyTorch {version}." not in GUIDE.read_text("utf-8"):
        pytest.skip("the lists are those of another version of PyTorch")
    program = ROOT / "test" / "torch" / "names_page.py"
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, program, "--check"], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0, "run test/torch/names_page.py"
