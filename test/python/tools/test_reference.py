"""test_reference.py: the pages of docs/reference say what the parsers and the sources do.

Each example of a grammar is parsed, or refused with its message; each environment variable that a
source reads is on its page, and none is there that no source reads. Suspect the page.
"""

import re

import pytest
from built import ROOT
from processes import run

import opyard
from opyard import autograd, jit

pytestmark = pytest.mark.once

REFERENCE = ROOT / "docs" / "reference"


def page(name):
    return (REFERENCE / f"{name}.md").read_text("utf-8")


def rows(text, heading):
    """The rows of the table whose head begins so, each as its cells without backticks."""
    _, found, rest = text.partition(f"\n| {heading} |")
    assert found, heading
    lines = rest.split("\n\n")[0].strip().split("\n")[1:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


# Formulas.

FORMULAS = page("formulas")
SCHEMA = re.search(r"^mix(\(.*)$", FORMULAS, re.MULTILINE)[1]


def read_formula(of, formula):
    """Reads a formula of an operator that lives as long."""
    assert opyard.ops.aten.add  # the first look loads the operators that formulas call
    with opyard.library.Library("on_page", "DEF") as library:
        library.define("mix" + SCHEMA)
        library.derivative("mix", {of: formula})
        autograd.check_formulas(opyard.ops.on_page.mix.default)


@pytest.mark.parametrize("formula", [row[0] for row in rows(FORMULAS, "formula | what it shows")])
def test_a_formula_of_the_page_is_read(formula):
    read_formula("a", formula)


@pytest.mark.parametrize(
    "formula", [row[0] for row in rows(FORMULAS, "formula of `a, b` | what it shows")]
)
def test_a_formula_of_two_arguments_is_read(formula):
    read_formula("a, b", formula)


@pytest.mark.parametrize(
    ("formula", "message"), [row[:2] for row in rows(FORMULAS, "formula | message | write")]
)
def test_a_formula_that_the_page_refuses_is_refused(formula, message):
    with pytest.raises((ValueError, LookupError)) as error:
        read_formula("a", formula)
    assert message in str(error.value)


# Bodies.


@pytest.mark.parametrize(("schema", "body"), [
    row[:2] for row in rows(FORMULAS, "schema | body | what it shows")
])  # fmt: skip
def test_a_body_of_the_page_is_read(schema, body):
    with opyard.library.Library("on_page", "DEF") as library:
        library.composite("f" + schema, body)


@pytest.mark.parametrize(("schema", "body", "message"), rows(FORMULAS, "schema | body | message"))
def test_a_body_that_the_page_refuses_is_refused(schema, body, message):
    with opyard.library.Library("on_page", "DEF") as library:
        with pytest.raises(ValueError) as error:
            library.composite("f" + schema, body)
        assert message in str(error.value)
        assert library.operators == [] and library.kernels == []


# Graphs.

GRAPHS = page("graph_text")


@pytest.mark.parametrize("text", re.findall(r"^```graph\n(.*?)^```$", GRAPHS, re.M | re.S))
def test_a_graph_of_the_page_is_read_compiled_and_printed(text):
    graph = jit.parse_ir(text)
    jit.compile(graph)
    printed = str(graph)
    assert str(jit.parse_ir(printed)) == printed


@pytest.mark.parametrize(
    ("literal", "given"), [row[:2] for row in rows(GRAPHS, "literal | type of the result")]
)
def test_a_constant_of_the_page_is_read(literal, given):
    graph = jit.parse_ir(f"graph():\n  %c : {given} = prim::Constant[{literal}]()\n  return (%c)\n")
    (output,) = graph.outputs()
    assert str(output.type) == given
    jit.compile(graph)()


@pytest.mark.parametrize("text", [row[0] for row in rows(GRAPHS, "type | what it is")])
def test_a_type_of_the_page_is_read(text):
    jit.parse_ir(f"graph(%x : {text}):\n  return (%x)\n")


@pytest.mark.parametrize(("text", "message"), rows(GRAPHS, "text | message"))
def test_a_graph_that_the_page_refuses_is_refused(text, message):
    with pytest.raises(ValueError) as error:
        jit.parse_ir(text)
    assert message in str(error.value)


def test_the_element_types_of_the_page_are_those_of_the_parser():
    names = re.findall(
        r"^OPYARD_ELEMENT_NAME\(\w+, (\w+)\)",
        (ROOT / "jit/include/opyard/detail/jit/element_names.def").read_text("utf-8"),
        re.MULTILINE,
    )
    rule = re.search(r"^element +=(.*?)^base", GRAPHS, re.MULTILINE | re.DOTALL)[1]
    assert set(re.findall(r'"(\w+)"', rule)) == set(names)


# Environment variables.

SHIPPED = ("dispatcher", "jit", "models", "autograd", "profiler", "remote", "kernels", "pyfallback")
SHIPPED += ("publish", "programs")
# Where a source asks for a variable, and what it asks for: a text, or the name of a constant.
ASKED = re.compile(
    r"""\b(?:getenv|secure_getenv|environ\.get|environ\.pop|environ\.setdefault)\(\s*([^,)]*)"""
    r"""|\b_?environ\[([^\]]*)\]|("\w+")\s+(?:not\s+)?in\s+(?:os\.)?_?environ\b"""
)


def variables_of(folders, suffixes):
    """What the sources ask for, by the file that does."""
    found = {}
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in suffixes or not path.is_file():
                continue
            text = path.read_text("utf-8")
            for asked in ASKED.finditer(text):
                name = next(group for group in asked.groups() if group is not None).strip()
                if not name.startswith(('"', "'")):  # a constant of the same file
                    value = re.search(rf'\b{re.escape(name)}\s*=\s*"(\w+)"', text)
                    assert value, f"{path}: which variable is {name}?"
                    name = value[1]
                found.setdefault(name.strip("\"'"), path)
    return found


def test_every_variable_that_the_product_reads_is_on_the_page():
    read = variables_of(SHIPPED, {".cpp", ".h", ".c", ".py", ".def", ".in"})
    assert len(read) > 9
    table = rows(page("environment"), "variable | read | values | what it does")
    assert {row[0] for row in table} == set(read)


def test_every_variable_that_the_tools_read_is_on_the_page():
    read = set(variables_of(["tools"], {".py"}))
    for path in (ROOT / "tools").iterdir():
        if path.is_file():
            read |= set(re.findall(r"\$\{(OPYARD_\w+)", path.read_text("utf-8")))
    read = {name for name in read if name.startswith("OPYARD_")}
    table = rows(page("environment"), "variable | read by | what it does")
    assert {row[0] for row in table} == read


def test_no_other_page_names_a_variable_that_nothing_reads():
    table = rows(page("environment"), "variable | read | values | what it does")
    known = {row[0] for row in table}
    for path in [*(ROOT / "test").rglob("*.py"), *(ROOT / "tools").iterdir()]:
        if path.is_file() and path.suffix in ("", ".py"):
            known |= set(re.findall(r"\bOPYARD_\w+", path.read_text("utf-8")))
    for path in (ROOT / "docs").rglob("*.md"):
        for name in re.findall(r"`(OPYARD_\w+)=", path.read_text("utf-8")):
            assert name in known, f"{path.name} names {name}"


# The change log.


def test_the_figures_of_the_change_log_are_near_what_is_there():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = re.search(r"some ([\d,]+) operators with ([\d,]+) over", text)
    operators, overloads = (int(each.replace(",", "")) for each in found.groups())
    counted = """
        import opyard
        assert opyard.ops.aten.add  # the first look loads them
        print(*(name for name in opyard._bind.operator_names() if name.startswith("aten::")))
    """
    names = run(counted).stdout.split()  # others come as they are used, and by other tests
    assert len(names) == pytest.approx(overloads, rel=0.05)
    assert len({name.partition(".")[0] for name in names}) == pytest.approx(operators, rel=0.05)
    layers = [each for each in vars(opyard.nn).values() if isinstance(each, type)]
    modules = [each for each in layers if issubclass(each, opyard.nn.Module)]
    assert len(modules) == int(re.search(r"`nn` has (\d+) of", text)[1])
    optimizers = [getattr(opyard.optim, name) for name in opyard.optim.__all__]
    of_users = [each for each in optimizers if isinstance(each, type)]
    assert len(of_users) - 1 == int(re.search(r"`optim` has (\d+) optim", text)[1])
