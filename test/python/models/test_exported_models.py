"""Protects docs/models.md, the table of exported models: programs that PyTorch exports here and now
have the results that the page says, and the page is what its rows come to.

Suspect models/src/exported/. The programs are those of test/torch/exported/; they run where PyTorch
and torchvision are installed, and have to be there in the suite citizens.
"""

import importlib
import os
import subprocess
import sys

import pytest
from built import TESTS

pytestmark = pytest.mark.once

PAGE = TESTS.parent / "docs" / "models.md"
PROGRAM = TESTS / "torch" / "exported_models.py"


def page_module(monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    return importlib.import_module("exported.page")


@pytest.mark.parametrize("source", ["features", "database", "torchvision"])
def test_programs_have_the_results_that_the_page_says(source):
    for framework in ("torch", "torchvision"):
        if importlib.util.find_spec(framework) is None:
            assert not os.environ.get("OPYARD_FRAMEWORKS"), f"{framework} is not installed"
            pytest.skip(f"{framework} is not installed")
    command = [sys.executable, PROGRAM, "--short", "--source", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0 and " agree" in done.stderr, done.stdout + done.stderr


def test_the_page_is_what_its_rows_come_to(monkeypatch):
    page = page_module(monkeypatch)
    text, rows = PAGE.read_text(), page.read_rows(PAGE)
    assert page.page_of(rows, *page.read_facts(PAGE)) == text, "tools/models writes it"
    agree, counted = page.counts_of(rows)
    assert counted > 250 and agree >= 0.95 * counted
    assert all(one.reason for one in rows if one.result != "agrees")
