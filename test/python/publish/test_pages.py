"""test_pages.py: the pages about publishing run where the frameworks are, with nothing left out.

How a page becomes programs is in test/python/pages.py. Suspect the page.
"""

import re

import pytest
from frameworks import require
from pages import DOCS, is_there, run_page

pytestmark = pytest.mark.once

PAGES = [DOCS / "guides" / "publishing.md", DOCS / "tutorials" / "kernel_author.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_whole_page_runs(page, tmp_path):
    require("torch")
    needed = re.findall(r"^```python needs ([\w. ]+)\n", page.read_text("utf-8"), re.M)
    for module in " ".join(needed).split():
        if module.startswith("opyard.") and not is_there(module):
            continue  # this build has no such module, and its part of the page is not run
        require(module)
    run_page(page, tmp_path, timeout=300)
