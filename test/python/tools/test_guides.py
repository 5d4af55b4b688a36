"""test_guides.py: the programs of the guides and tutorials in docs/ run as they are there.

How a page becomes programs is in test/python/pages.py. Suspect the page.
"""

import os
import re
import subprocess
import sys

import pytest
from pages import DOCS, blocks, is_there, run_page

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


def test_the_commands_of_the_slow_program_run(tmp_path):
    text = (TUTORIALS / "slow_program.md").read_text("utf-8")
    (tmp_path / "shop.py").write_text(blocks(text, "python")[0], "utf-8")
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', "utf-8")
    (tmp_path / "python").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    commands = "".join(blocks(text, "sh"))
    for file in ("before.html", "after.html", "change.svg"):
        assert file in commands
    done = subprocess.run(
        ["sh", "-e", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for file in ("before.html", "change.svg"):
        assert (tmp_path / file).stat().st_size > 1000


@pytest.mark.parametrize("name", ["operators_page.py", "tangents_page.py"])
def test_a_page_is_as_its_tool_writes_it(name):
    tool = GUIDES.parents[1] / "tools" / name
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, f"run tools/python tools/{name}\n" + done.stderr


@pytest.mark.parametrize("folder", [GUIDES, TUTORIALS], ids=lambda folder: folder.name)
def test_the_page_of_readers_lists_every_guide_once(folder):
    text = (folder.parent / "README.md").read_text("utf-8")
    listed = re.findall(rf"\({folder.name}/(\w+)\.md\)", text)
    assert sorted(listed) == sorted(page.stem for page in folder.glob("*.md"))
