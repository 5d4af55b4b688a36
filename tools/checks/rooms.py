"""tools/checks/rooms.py: folders are in the orders and not too full, and every source is built."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .orders import IDEAS, LAYERS, ROOMS, idea_of
from .sources import LONGEST_FILE, listed, text_of

MOST_FILES_OF_A_ROOM = 35
# Texts and bytes that fuzzers found, one a file: the one folder below test/ that is no room.
CORPUS = Path("test/fuzz/corpus")
SOURCES = [".h", ".cpp", ".def", ".py"]


def check_rooms() -> Iterator[str]:
    """No folder is too full, and none of the product is unknown to the orders."""
    count: dict[Path, int] = {}
    for path in listed(*(f"{layer}/*{suffix}" for layer in LAYERS for suffix in SOURCES)):
        layer = path.parts[0]
        count[path.parent] = count.get(path.parent, 0) + 1
        if path.suffix == ".py":
            continue
        number = idea_of(path)[0]
        if layer == "pyfallback" and number == len(ROOMS) and path.name != "module.cpp":
            yield f"{path}: is in no room; ROOMS in tools/checks/orders.py lists them"
        if layer in IDEAS and number == len(IDEAS[layer]):
            yield f"{path}: is of no idea; IDEAS in tools/checks/orders.py lists them"
    for path in listed("test/*"):
        if CORPUS not in path.parents:
            count[path.parent] = count.get(path.parent, 0) + 1
    for folder, files in count.items():
        if files > MOST_FILES_OF_A_ROOM:
            yield f"{folder}: {files} files; {MOST_FILES_OF_A_ROOM} are enough for a folder"


def check_tests() -> Iterator[str]:
    """The rooms of tests: who runs a test by its name finds one file, and Python one module."""
    for path in listed("test/python/*.py", "test/cpp/*.cpp", "test/cpp/*.h"):
        length = text_of(path).count("\n")
        if length > LONGEST_FILE:
            yield f"{path}: {length} lines, of {LONGEST_FILE}; split it by subject"
    first: dict[str, Path] = {}
    for path in listed("test/python/*.py"):
        if path.name == "conftest.py":
            continue
        other = first.setdefault(path.name, path)
        if other != path:
            yield f"{path}: {other} has this name, too; modules of tests are found by it alone"
        if not path.name.startswith("test_"):
            continue
        if len(path.parts) != 4:
            yield f"{path}: a test is in a room, test/python/<room>/"
        if "suspect" not in (ast.get_docstring(ast.parse(text_of(path))) or "").lower():
            yield f"{path}: its head does not say whom to suspect if it fails"
    for path in listed("test/cpp/*/test_*.cpp"):
        text = text_of(path)
        head = re.match(r"(//[^\n]*\n)*", text)
        if head is None or "suspect" not in head[0].lower():
            yield f"{path}: its head does not say whom to suspect if it fails"
        if re.search(r"^TEST(_[FP])?\(", text, re.MULTILINE) and f"::{path.stem} {{" not in text:
            yield (
                f"{path}: its tests are in no namespace opyard::{path.stem}; several files of a "
                f"room are compiled as one, and two may say the same name"
            )


def check_listed() -> Iterator[str]:
    """A source that no meson.build names is not built."""
    builds = "\n".join(text_of(path) for path in listed("meson.build", "*/meson.build"))
    words = set(re.findall(r"'([^'\n]+)'", builds))
    # What a benchmark compiles by itself, against a library that need not be there.
    for path in listed("test/bench/*.py"):
        words |= set(re.findall(r'"(\w+\.cpp)"', text_of(path)))
    for path in listed(*(f"{layer}/*" for layer in LAYERS), "test/cpp/*", "test/bench/*"):
        if path.suffix not in (".h", ".cpp", ".def", ".py", ".pyi"):
            continue
        if path.suffix in (".h", ".def") and "include" not in path.parts:
            continue
        if path.suffix == ".py" and path.parts[0] == "test":
            continue
        wanted = path.stem.removeprefix("test_") if path.parts[0] == "test" else path.name
        if not any(word in (wanted, path.name) or word.endswith("/" + path.name) for word in words):
            yield f"{path}: is in no meson.build"
