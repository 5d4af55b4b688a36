"""tools/checks/names.py: names of files, and names of file scope in a library."""

import re
from collections.abc import Iterator
from pathlib import Path

from .file_scope_names import file_scope_names
from .orders import LAYERS, library_of
from .sources import listed, text_of


def check_file_scope_names() -> Iterator[str]:
    """25 sources of a library may be compiled as one, so names of file scope are unique in it."""
    first: dict[tuple[str, str], Path] = {}
    for path in listed(*(f"{layer}/*.cpp" for layer in [*LAYERS, "programs"])):
        for line, name in file_scope_names(text_of(path)):
            other = first.setdefault((library_of(path), name), path)
            if other != path:
                yield f"{path}:{line}: {other} has a {name} of its own, too; give one another name"


def check_names() -> Iterator[str]:
    # _C is the extension module of that name.
    good = re.compile(r"(_C|[a-z_][a-z0-9_]*)(\.[a-z0-9_]+)*")
    for path in listed("*.h", "*.cpp", "*.def", "*.py", "*.pyi", "*.graph"):
        if not good.fullmatch(path.name):
            yield f"{path}: file names are snake_case"
    for path in listed("test/cpp/*.cpp", "test/python/*.py"):
        has_tests = re.search(
            r"^(TEST|TEST_[FP]|TYPED_TEST)\(|^def test_", text_of(path), re.MULTILINE
        )
        if has_tests and not path.name.startswith("test_"):
            yield f"{path}: a file with tests is called test_<what it tests>"
