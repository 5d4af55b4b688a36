"""test_map.py: the pages that say where things are name files that exist.

Suspect the page; a file that moved moves there too.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/concepts/a_call.md", "docs/concepts/layers.md", "CONTRIBUTING.md"]
FOLDERS = "dispatcher|jit|autograd|profiler|remote|kernels|pyfallback|test|tools|docs|examples"


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


def test_every_room_is_on_the_page_of_layers_in_its_order():
    """The lists that the linter checks, as the page draws them."""
    lists = {}
    for node in ast.parse((ROOT / "tools" / "lint.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            lists[node.targets[0].id] = ast.literal_eval(node.value)
    page = " ".join((ROOT / PAGES[1]).read_text("utf-8").split())
    for name in ("ROOMS", "PACKAGE_ROOMS"):
        assert " → ".join(f"`{room}`" for room in lists[name]) in page
    layers = re.findall(r"^\| `(\w+)/` \|", (ROOT / PAGES[1]).read_text("utf-8"), re.MULTILINE)
    assert layers == lists["LAYERS"]


def test_the_readme_leads_to_both_on_its_first_screen():
    screen = "\n".join((ROOT / "README.md").read_text("utf-8").split("\n")[:40])
    for page in PAGES[:2]:
        assert f"({page})" in screen
