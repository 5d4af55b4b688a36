"""tools/checks/imports.py: imports of the package's modules point downward, and in no circle."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .circles import circle_in
from .orders import (
    NEEDS_ONLY,
    PACKAGE,
    PACKAGE_SLICES,
    PACKAGE_TOP,
    PACKAGES,
    in_opyard,
    is_roomless,
    layer_of,
    package_room,
)
from .sources import listed, text_of


def in_package(*suffixes: str) -> list[Path]:
    files = listed(*(f"{folder}/*" for folder in PACKAGES))
    return [path for path in files if path.suffix in suffixes]


def imports_of(path: Path, modules: dict[str, Path]) -> Iterator[tuple[int, Path]]:
    """What a module imports of the package, at any time but for types alone: (line, file)."""
    tree = ast.parse(text_of(path))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for branch in node.body
        for inner in ast.walk(branch)
    }
    package = "opyard." + ".".join(in_opyard(path).with_suffix("").parts)
    package = (
        package.removesuffix(".__init__")
        if path.name == "__init__.py"
        else package.rpartition(".")[0]
    )
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in modules else base for name in names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # The tables of names that are found when they are first asked for.
            names = [node.value] if re.fullmatch(r"opyard\._\w+\.\w+", node.value) else []
        for name in names:
            if name in modules and modules[name] != path:
                yield node.lineno, modules[name]


def may_import(path: Path, other: Path) -> bool:
    """Whether the slice of a module is above that of the other one, and may need it."""
    mine, owner = layer_of(path), layer_of(other)
    if mine in ("pyfallback", owner) or path.name in PACKAGE_TOP:
        return True
    if owner not in NEEDS_ONLY.get(mine, [owner]):
        return False
    return is_roomless(other) or PACKAGE_SLICES.index(owner) < PACKAGE_SLICES.index(mine)


def check_package() -> Iterator[str]:
    """The rooms of the package point one way, and no modules import each other in a circle, also by
    what is imported late.
    """
    files = in_package(".py", ".pyi", ".in")
    modules = {}
    for path in files:
        parts = [part.split(".")[0] for part in in_opyard(path).parts]
        modules[".".join(["opyard", *parts]).removesuffix(".__init__")] = path
    arrows: dict[str, set[str]] = {}
    for path in files:
        if path.suffix != ".py":
            continue
        for line, other in imports_of(path, modules):
            arrows.setdefault(str(path), set()).add(str(other))
            if package_room(other) > package_room(path):
                yield f"{path}:{line}: imports {other}, which is above it"
            elif not may_import(path, other):
                yield f"{path}:{line}: imports {other}, which {layer_of(path)}/ does without"
            is_plain = path.is_relative_to(PACKAGE) and path.name not in PACKAGE_TOP
            if is_plain and not other.is_relative_to(PACKAGE):
                yield f"{path}:{line}: imports {other}, a layer's; ask by name, see _hooks.py"
    circle = circle_in(arrows)
    if circle:
        yield f"{circle[0]}: modules import each other in a circle: {' -> '.join(circle)}"
