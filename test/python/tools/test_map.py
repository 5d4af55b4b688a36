"""test_map.py: the pages that say where things are name files that exist.

Suspect the page; a file that moved moves there too.
"""

import ast
import contextlib
import re

import pytest
from built import ROOT

pytestmark = pytest.mark.once

PAGES = ["docs/concepts/a_call.md", "docs/concepts/layers.md", "CONTRIBUTING.md"]
FOLDERS = (
    "dispatcher|jit|models|autograd|profiler|remote|kernels|pyfallback|test|tools|docs|examples"
)


def files_in(page):
    """What is written as a path from the root, to a file."""
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"`((?:{FOLDERS})/[\w./]*\.\w+)`", text)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page):
    missing = [name for name in files_in(page) if not (ROOT / name).is_file()]
    assert missing == []


def test_the_journeys_and_the_changes_are_there():
    journeys = (ROOT / PAGES[0]).read_text("utf-8")
    numbers = re.findall(r"^## (\d+)\.", journeys, re.MULTILINE)
    assert numbers == [str(number + 1) for number in range(10)]
    for part in journeys.split("\n## ")[1:]:
        assert len(re.findall(r"`\w+/[\w./]+`", part)) >= 4, part.split("\n")[0]
    rows = re.findall(r"^\| .* \| `\w+/.*` \|$", (ROOT / PAGES[1]).read_text("utf-8"), re.MULTILINE)
    assert len(rows) >= 20


# A step of a journey, and a text of the first file that it names.
STEPS = {
    (1, 4): "the highest key names the slot",
    (3, 3): "PyObject* call_boxed(PyObject* self",
    (3, 5): "bool CallPlan::push_all(",
    (5, 6): "void throw_python_error(",
    (6, 3): "void dispatch_to_handlers(",
    (7, 2): "GraphPtr parse_graph(",
    (7, 3): "void lint(",
    (7, 7): "void Code::run(",
    (8, 8): "void write_chrome(",
    (10, 4): "Tensor add_tensor(",
}


@pytest.mark.parametrize(("journey", "step"), STEPS)
def test_the_first_file_of_a_step_does_what_the_step_says(journey, step):
    text = (ROOT / PAGES[0]).read_text("utf-8")
    part = text.partition(f"\n## {journey}. ")[2].partition("\n## ")[0]
    said = re.search(rf"^{step}\. (.*?)(?=^\d+\. |\Z)", part, re.MULTILINE | re.DOTALL)[1]
    first = re.search(rf"`((?:{FOLDERS})/[\w./]*\.\w+)`", said)[1]
    assert STEPS[journey, step] in (ROOT / first).read_text("utf-8")


NOT_YET = re.compile(r"^ *[-*]? *Not here yet: (.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def not_yet():
    pages = [*ROOT.glob("*/README.md"), *(ROOT / "docs").rglob("*.md")]
    return [
        (path, part.strip())
        for path in pages
        for said in NOT_YET.findall(path.read_text("utf-8"))
        for part in re.split(r";\s", said)
    ]


@pytest.mark.parametrize(("path", "said"), not_yet(), ids=lambda value: str(value)[-20:])
def test_what_a_page_calls_not_here_yet_raises(path, said):
    import opyard

    calls = re.findall(r"`(opyard\.[^`]*\))`", said)
    assert calls, f"{path}: name a call that raises: {said}"
    for call in calls:
        with pytest.raises((NotImplementedError, ValueError, RuntimeError, TypeError)):
            eval(call, {"opyard": opyard})


def test_there_is_something_that_is_not_here_yet():
    assert any(path.parent.name == "kernels" for path, _ in not_yet())


# A change of the table, and a text of the lines that have to be changed for it.
LEADS_THERE = {
    "how a default is filled in, how names are bound": "stack.push(*default_value)",
    "the sentence of an error without a kernel": " has no kernel at {}, where this call goes.",
    "the lines below it: each key, and why it was passed over": "  no kernel at {}",
    "how a NumPy array becomes an argument": '"numpy.ndarray"',
    "how `override()` stacks": "class override:",
    "which kernels a sub-interpreter sees": "InterpreterTable::add(",
    "how the text of a schema is parsed": "parse_default(cursor_",
    "a new dtype": "OPYARD_DTYPE(",
    "which calls skip the stack": "Ready::Never",
    "how a plugin is loaded and unloaded": "unload_and_report(const std::string& file)",
    "which rules a graph has to keep": "lint(",
    "a new pass over graphs": "OPYARD_PASS(",
}


@pytest.mark.parametrize("change", LEADS_THERE)
def test_the_first_file_of_a_row_has_the_lines_of_its_change(change):
    table = (ROOT / PAGES[1]).read_text("utf-8")
    (row,) = re.findall(rf"^\| {re.escape(change)}.* \| (.*) \|$", table, re.MULTILINE)
    first = re.findall(r"`([^`]*)`", row)[0]
    assert LEADS_THERE[change] in (ROOT / first).read_text("utf-8")


def test_every_room_is_on_the_page_of_layers_in_its_order():
    """The lists that the linter checks, as the page draws them."""
    lists = {}
    for node in ast.parse((ROOT / "tools" / "checks" / "orders.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            with contextlib.suppress(ValueError):  # a list that is made of another
                lists[node.targets[0].id] = ast.literal_eval(node.value)
    page = " ".join((ROOT / PAGES[1]).read_text("utf-8").split())
    for name in ("ROOMS", "PACKAGE_ROOMS", "PACKAGE_SLICES"):
        assert " → ".join(f"`{room}`" for room in lists[name]) in page
    layers = re.findall(r"^\| `(\w+)/` \|", (ROOT / PAGES[1]).read_text("utf-8"), re.MULTILINE)
    assert layers == lists["LAYERS"]


def test_the_page_of_readers_leads_to_both():
    text = (ROOT / "docs" / "README.md").read_text("utf-8")
    for page in PAGES[:2]:
        assert f"({page.removeprefix('docs/')})" in text
