"""Selection of test files for a run: `--part`, by the marks that a file has as a whole.

    pytestmark = pytest.mark.once               says the same on every CPython: runs on one, 3.11
    pytestmark = pytest.mark.memory             also runs with the address sanitizer
    pytestmark = pytest.mark.threads            also runs with the thread sanitizer
    pytestmark = [pytest.mark.once, pytest.mark.memory]

The marks are read from the text, so a run imports only files of its part: with a sanitizer, imports
are slow.
"""

import ast
import re
from collections.abc import Container
from pathlib import Path

import pytest

PARTS = ("all", "elsewhere", "memory", "threads")
MARKS = {"once", "memory", "threads"}


def marks_of(path: Path, registered: Container[str]) -> set[str]:
    """The names of the marks of a file as a whole, which must all be registered."""
    text = path.read_text("utf-8")
    if not re.search(r"^pytestmark\b", text, re.MULTILINE):
        return set()
    values = [
        statement.value
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark"
    ]
    names = {
        node.attr
        for value in values
        for node in ast.walk(value)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
    }
    for name in sorted(names):
        if name not in registered:
            raise pytest.UsageError(
                f"{path}: no mark is called {name}; pyproject.toml lists those of this project"
            )
    return names


def is_left_out(path: Path, part: str, registered: Container[str]) -> bool:
    """Whether a file is a test file that does not belong to a part."""
    if part == "all" or path.suffix != ".py" or not path.name.startswith("test_"):
        return False
    marks = marks_of(path, registered)
    return "once" in marks if part == "elsewhere" else part not in marks
