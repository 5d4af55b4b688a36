"""test_guides.py: the programs of the guides and tutorials in docs/ run as they are there.

How a page becomes programs is in test/python/pages.py. Suspect the page.
"""

import re
import subprocess
import sys

import pytest
from pages import DOCS, is_there, run_page

pytestmark = pytest.mark.once

GUIDES = DOCS / "guides"
TUTORIALS = DOCS / "tutorials"
PAGES = sorted(GUIDES.glob("*.md")) + sorted(TUTORIALS.glob("*.md"))

# What all of a page needs to be installed.
NEEDS = {"publishing": "torch"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_programs_of_a_page_work(page, tmp_path):
    if not is_there(NEEDS.get(page.stem, "sys")):
        pytest.skip(f"{NEEDS[page.stem]} is not installed")
    run_page(page, tmp_path)


def test_the_page_of_operators_is_as_the_tool_writes_it():
    tool = GUIDES.parents[1] / "tools" / "operators_page.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, "run tools/python tools/operators_page.py\n" + done.stderr


def test_the_order_for_readers_names_every_guide():
    text = (GUIDES.parent / "README.md").read_text("utf-8")
    order = text[text.index("| you want to") : text.index("What each page has")]
    assert set(re.findall(r"\(guides/(\w+)\.md\)", order)) == {g.stem for g in GUIDES.glob("*.md")}
    assert set(re.findall(r"\(tutorials/(\w+)\.md\)", order)) == {
        t.stem for t in TUTORIALS.glob("*.md")
    }
