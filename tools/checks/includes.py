"""tools/checks/includes.py: includes of C++ point downward, and in no circle."""

import re
from collections.abc import Iterator
from pathlib import Path

from .circles import circle_in
from .orders import NEEDS_ONLY, PLACES, idea_of, is_private, is_without_python, layer_of, place_of
from .sources import is_text, listed, text_of

ONLY_PYFALLBACK = re.compile(
    r"""[<"](python3[.\w]*/)?(Python|structmember|frameobject|datetime|pybind11/.*)(\.h)?[>"]"""
)
# What users read and write, which needs no header below opyard/detail/.
FOR_USERS = [
    "README.md",
    "docs/README.md",
    "docs/guides/*",
    "docs/tutorials/*",
    "examples/*",
    "kernels/*",
]
INNER_INCLUDE = re.compile(r'#\s*include\s+([<"]opyard/detail/[^>"]+[>"])')
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])', re.MULTILINE)


class Includes:
    """Finds the file of ours that an #include means, public or private."""

    def __init__(self, files: list[Path]) -> None:
        self.files = set(files)
        self.public = {
            str(path).split("/include/")[1]: path for path in files if "/include/" in str(path)
        }
        # The folders that private headers are named from, each a layer's own.
        self.roots = [Path(layer, *more) for layer in PLACES for more in ((), ("src",))]

    def find(self, path: Path, name: str) -> Path | None:
        if name in self.public:
            return self.public[name]
        beside = Path(*_normal((path.parent / name).parts))
        layer = layer_of(path)
        own = [root / name for root in self.roots if layer_of(root / "_") == layer]
        others = [root / name for root in self.roots if layer_of(root / "_") != layer]
        candidates = [beside, *own, Path(name), *others]
        return next((each for each in candidates if each in self.files), None)


def _normal(parts: tuple[str, ...]) -> list[str]:
    normal: list[str] = []
    for part in parts:
        if part == ".." and normal:
            normal.pop()
        elif part != ".":
            normal.append(part)
    return normal


def check_layers() -> Iterator[str]:
    files = listed("*.h", "*.cpp", "*.def", "*.in")
    includes = Includes(files)
    by_file: dict[str, set[str]] = {}
    by_folder: dict[str, set[str]] = {}
    for path in files:
        place = place_of(path)
        for included in INCLUDE.findall(text_of(path)):
            name = included.strip('<>"')
            outside = path.parts[0] not in ("pyfallback", "test", "pch")
            if ONLY_PYFALLBACK.fullmatch(included) and outside and is_without_python(path):
                yield f"{path}: includes {included}; only pyfallback/ and <layer>/python/ do"
            if name.startswith("fmt/") and path.suffix == ".h" and "include" in path.parts:
                yield f"{path}: includes {included}; fmt stays in .cpp files"
            header = includes.find(path, name)
            private = header is not None and layer_of(header) in PLACES and is_private(header)
            if path.parts[0] == "programs" and private:
                yield f"{path}: includes {included}, which {layer_of(header)}/ keeps to itself"
            if place is None or header is None or name == "opyard/version.h":
                continue
            other = place_of(header)
            by_file.setdefault(str(path), set()).add(str(header))
            if other is None:
                yield f"{path}: includes {included}, which is in no layer"
                continue
            if layer_of(path) == layer_of(header):
                folders = idea_of(path)[1], idea_of(header)[1]
                if folders[0] != folders[1] and "" not in folders:
                    by_folder.setdefault(f"{path.parts[0]}/{folders[0]}", set()).add(
                        f"{path.parts[0]}/{folders[1]}"
                    )
            elif is_private(header):
                yield f"{path}: includes {included}, which {layer_of(header)}/ keeps to itself"
            elif layer_of(header) not in NEEDS_ONLY.get(layer_of(path), [layer_of(header)]):
                yield f"{path}: includes {included}, which its layer does without"
            if other > place:
                yield f"{path}: includes {included}, which is above it"
    for arrows, what in ((by_file, "files"), (by_folder, "folders")):
        circle = circle_in(arrows)
        if circle:
            yield f"{circle[0]}: {what} include each other in a circle: {' -> '.join(circle)}"


def check_inner_headers() -> Iterator[str]:
    for path in listed(*FOR_USERS):
        if is_text(path):
            for header in INNER_INCLUDE.findall(text_of(path)):
                yield f"{path}: includes {header}, which is an inner header: use one that is not"
