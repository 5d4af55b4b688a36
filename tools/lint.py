"""tools/lint.py: what can be said about the sources without building them.

`tools/test --lint` calls this in a virtual environment that has the pinned formatters; call that.
A check is a function that yields one sentence a fault, beginning with the place. With --fix the
formatters write first.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import doors
from file_scope_names import file_scope_names

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent

# Lowest first: a file includes from its own place and from those before it.
LAYERS = ["dispatcher", "jit", "models", "autograd", "profiler", "kernels", "pyfallback"]
# What they have of Python, in <layer>/python: above the plugin, of which it sees what is public.
SLICES = [f"{layer}/python" for layer in ("jit", "models", "autograd", "profiler", "kernels")]
PLACES = LAYERS + SLICES
# What a layer may do without the ones between.
NEEDS_ONLY = {
    "profiler": ["dispatcher"],
    "profiler/python": ["dispatcher", "profiler", "pyfallback"],
}
# The folders of a layer, with the same order.
IDEAS = {
    "dispatcher": [
        "base",
        "text",
        "keys",
        "interpreter",
        "thread",
        "observe",
        "pool",
        "tensor",
        "value",
        "schema",
        "registry",
        "inspect",
        "ffi",
        "plugin",
        "c_api",
    ],
    "jit": ["ir", "text", "fusion", "code", "passes", "trace"],
    "models": ["files", "exported", "model"],
    "profiler": ["capture", "profile", "files", "exports"],
    "kernels": [
        "loops",
        "common",
        "matrix",
        "pointwise",
        "reduction",
        "geometry",
        "creation",
        "indexing",
        "neural",
        "gradients",
        "composition",
    ],
}
# The rooms of the Python plugin, and those of its package; `include` is what it offers others.
ROOMS = [
    "include",
    "runtime",
    "objects/values",
    "objects/arrays",
    "objects/tensor",
    "objects/convert",
    "operators",
    "kernels",
    "registering",
    "vtable",
    "bind",
    "embed",
]
MOST_FILES_OF_A_ROOM = 35
# Their folders are rooms, too.
TESTS = ["test/python", "test/cpp"]
SOURCES = [".h", ".cpp", ".def", ".py"]
PACKAGE = Path("pyfallback/opyard")
# Its folder, and those of the layers' parts of it.
PACKAGES = [PACKAGE, *(Path(slice_, "opyard") for slice_ in SLICES)]
PACKAGE_ROOMS = [
    "_core",
    "_tensor",
    "_dispatch",
    "_autograd",
    "_nn",
    "_library",
    "_numpy",
    "_plugins",
    "_files",
    "_jit",
    "_profile",
]
# The modules of the package that may name what a layer brings.
PACKAGE_TOP = ["__init__.py", "__main__.py", "_hooks.py"]
ONLY_PYFALLBACK = re.compile(r"<(Python|structmember|frameobject|datetime|pybind11/.*)(\.h)?>")
LONGEST_FILE = 600
LONGEST_LINE = 100
# What users read and write, which needs no header below opyard/detail/.
FOR_USERS = ["README.md", "docs/README.md", "docs/guides/*", "examples/*", "kernels/*"]
# What fuzzers found is kept byte by byte.
NOT_OURS = ":!test/fuzz/corpus"

INNER_INCLUDE = re.compile(r'#\s*include\s+([<"]opyard/detail/[^>"]+[>"])')
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])', re.MULTILINE)


def listed(*patterns: str) -> list[Path]:
    """The files that git knows or would add, as paths from the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    command.append(NOT_OURS)
    names = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [Path(name) for name in sorted(set(names)) if (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    return (ROOT / path).read_text("utf-8")


def is_text(path: Path) -> bool:
    return b"\0" not in (ROOT / path).read_bytes()[:4096]


def python_files() -> list[Path]:
    scripts = [
        path
        for path in listed("tools/*")
        if not path.suffix and text_of(path).startswith("#!/usr/bin/env python3")
    ]
    return listed("*.py", "*.pyi") + scripts


def run(*command: object) -> list[str]:
    """The lines that a tool prints when it is not content; no line when it is."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return (lines or [f"{command[0]} ended with code {done.returncode}"]) if done.returncode else []


def check_cpp_format() -> Iterator[str]:
    for path in listed("*.h", "*.cpp"):
        complaints = run(TOOLS / "clang-format", "--dry-run", "--Werror", "--ferror-limit=1", path)
        if complaints:
            place = ":".join(complaints[0].split(":")[:2])
            yield f"{place}: clang-format would change this; tools/test --lint --fix does"


def check_python() -> Iterator[str]:
    yield from run(
        TOOLS / "ruff", "check", "--quiet", "--output-format=concise", "--no-cache", *python_files()
    )
    yield from run(TOOLS / "ruff", "format", "--check", "--quiet", "--no-cache", *python_files())


def check_spelling() -> Iterator[str]:
    yield from run(TOOLS / "codespell", *[path for path in listed() if is_text(path)])


def check_whitespace() -> Iterator[str]:
    for path in listed():
        if not is_text(path) or path.suffix in (".csv", ".patch"):
            continue
        text = text_of(path)
        if text and not text.endswith("\n"):
            yield f"{path}: the last line has no end"
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                yield f"{path}:{number}: blanks at the end of the line"
            if line.startswith("\t"):
                yield f"{path}:{number}: indented with a tab"


def check_version() -> Iterator[str]:
    version = re.search(r"version: '([^']+)'", text_of(Path("meson.build")))[1]
    major, minor, patch = version.split(".")
    wanted = {
        "pyfallback/opyard/_version.py": [f'__version__ = "{version}"'],
        "dispatcher/include/opyard/version.h": [
            f"#define OPYARD_VERSION_MAJOR {major}\n",
            f"#define OPYARD_VERSION_MINOR {minor}\n",
            f"#define OPYARD_VERSION_PATCH {patch}\n",
        ],
        "CHANGELOG.md": [f"## {version}"],
    }
    for name, phrases in wanted.items():
        for phrase in phrases:
            if phrase not in text_of(Path(name)):
                yield f"{name}: does not say {phrase.strip()!r}; meson.build says {version}"


def check_machine_paths() -> Iterator[str]:
    """Nothing that is committed may name a place of the machine it was written on."""
    places = [f"{ROOT}/", f"{Path.home()}/", f"{ROOT.parent}/"]
    places = [place for place in places if len(place) > 3]
    for path in listed():
        if is_text(path):
            for number, line in enumerate(text_of(path).splitlines(), 1):
                for place in places:
                    if re.search(rf"(?<![\w.}}]){re.escape(place)}", line):
                        yield f"{path}:{number}: names the place {place} of this machine"


def layer_of(path: Path) -> str | None:
    """The layer, or the slice of one, that a file is in."""
    slice_ = "/".join(path.parts[:2])
    if slice_ in SLICES:
        return slice_
    return path.parts[0] if path.parts[0] in LAYERS else None


def idea_of(path: Path) -> tuple[int, str]:
    """The number and the name of the folder of a layer that a file is in, lowest first."""
    parts = path.parts[1:-1]
    if layer_of(path) in SLICES:
        return 0, ""
    if path.parts[0] == "pyfallback":
        for number, room in enumerate(ROOMS):
            if parts[: room.count("/") + 1] == tuple(room.split("/")):
                return number, room
        return len(ROOMS), "/".join(parts)
    # <layer>/include/opyard/[detail/][<layer>/]<idea>/ or <layer>/src/<idea>/
    inner = [part for part in parts if part not in ("include", "src", "opyard", "detail")]
    idea = inner[0] if inner and inner[0] != path.parts[0] else inner[1] if len(inner) > 1 else ""
    ideas = IDEAS.get(path.parts[0], [""])
    if idea in ideas:
        return ideas.index(idea), idea
    if idea:
        return len(ideas), idea
    # Headers of a layer as a whole gather its ideas in dispatcher/, elsewhere all ideas share them.
    is_shared = path.suffix != ".cpp" and path.parts[0] != "dispatcher"
    return (-1 if is_shared else len(ideas) - 1), idea


def place_of(path: Path) -> tuple[int, int] | None:
    """Where a file of a layer is: (layer, idea). Includes go from later to earlier places."""
    layer = layer_of(path)
    return None if layer is None else (PLACES.index(layer), idea_of(path)[0])


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


def circle_in(arrows: dict[str, set[str]]) -> list[str] | None:
    """The nodes of a circle, the first one again at the end; None without one."""
    done: set[str] = set()

    def walk(node: str, way: list[str]) -> list[str] | None:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in done:
            return None
        for other in sorted(arrows.get(node, ())):
            found = walk(other, [*way, node])
            if found:
                return found
        done.add(node)
        return None

    for start in sorted(arrows):
        found = walk(start, [])
        if found:
            return found
    return None


def is_without_python(path: Path) -> bool:
    """Whether a file is in no folder for Python."""
    return layer_of(path) not in SLICES


def is_private(path: Path) -> bool:
    return "include" not in path.parts


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


def in_package(*suffixes: str) -> list[Path]:
    files = listed(*(f"{folder}/*" for folder in PACKAGES))
    return [path for path in files if path.suffix in suffixes]


def in_opyard(path: Path) -> Path:
    """The path of a module inside the package."""
    return path.relative_to(next(each for each in PACKAGES if path.is_relative_to(each)))


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
            yield f"{path}: is in no room; ROOMS in tools/lint.py lists them"
        if layer in IDEAS and number == len(IDEAS[layer]):
            yield f"{path}: is of no idea; IDEAS in tools/lint.py lists them"
    for path in listed(*(f"{tests}/*" for tests in TESTS)):
        count[path.parent] = count.get(path.parent, 0) + 1
    for folder, files in count.items():
        if files > MOST_FILES_OF_A_ROOM:
            yield f"{folder}: {files} files; {MOST_FILES_OF_A_ROOM} are enough for a folder"


def check_tests() -> Iterator[str]:
    """The rooms of tests: who runs a test by its name finds one file, and Python one module."""
    first: dict[str, Path] = {}
    for path in listed("test/python/*.py"):
        if path.name == "conftest.py":
            continue
        other = first.setdefault(path.name, path)
        if other != path:
            yield f"{path}: {other} has this name, too; modules of tests are found by it alone"
        length = text_of(path).count("\n")
        if length > LONGEST_FILE:
            yield f"{path}: {length} lines, of {LONGEST_FILE}; split it by subject"
        if not path.name.startswith("test_"):
            continue
        if len(path.parts) != 4:
            yield f"{path}: a test is in a room, test/python/<room>/"
        if "suspect" not in (ast.get_docstring(ast.parse(text_of(path))) or "").lower():
            yield f"{path}: its head does not say whom to suspect if it fails"


def package_room(path: Path) -> int:
    """The number of the room of a module: the modules that people import are above all rooms."""
    folder = in_opyard(path).parts[0]
    if folder in PACKAGE_ROOMS:
        return PACKAGE_ROOMS.index(folder)
    # Extension modules, what the build wrote down, and the version, which need nothing.
    if path.stem.split(".")[0] in (
        "_C",
        "_bind",
        "_build_info",
        "_gradients",
        "_graphs",
        "_models",
        "_tracer",
        "_version",
    ):
        return -1
    return len(PACKAGE_ROOMS) + (path.name in ("__init__.py", "__main__.py"))


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
            is_plain = path.is_relative_to(PACKAGE) and path.name not in PACKAGE_TOP
            if is_plain and not other.is_relative_to(PACKAGE):
                yield f"{path}:{line}: imports {other}, a layer's; ask by name, see _hooks.py"
    circle = circle_in(arrows)
    if circle:
        yield f"{circle[0]}: modules import each other in a circle: {' -> '.join(circle)}"


def library_of(path: Path) -> str:
    """What is linked together, by its folder."""
    layer, *rest = path.parts
    if layer_of(path) in SLICES:
        return f"{layer}/python"
    if layer == "pyfallback":
        apart = ("embed", "bind")
        return f"{layer}/{rest[0]}" if rest[0] in apart else f"{layer}/_C"
    return f"{layer}/loops" if layer == "kernels" and rest[0] == "loops" else layer


def check_file_scope_names() -> Iterator[str]:
    """Ten sources of a library may be compiled as one, so names of file scope are unique in it."""
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


def check_shape() -> Iterator[str]:
    for path in listed("*.h", "*.cpp", "*.def"):
        text = text_of(path)
        head = text.split("\n", 1)[0]
        if not re.match(rf"// (\S*/)?{re.escape(path.name)}: \S", head):
            yield f"{path}:1: begins with '// <path>/{path.name}: <its purpose>'"
        if path.suffix == ".h" and "pch" not in path.parts and "#pragma once" not in text:
            yield f"{path}: has no #pragma once"
        length = text.count("\n")
        if length > LONGEST_FILE and "one piece" not in text[:3000]:
            yield f"{path}: {length} lines, and its head does not say why the file is one piece"
    for path in listed("*.h", "*.cpp", "*.py", "*.build", "tools/*"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if re.search(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b", line):
                yield f"{path}:{number}: a note to do something later; do it, or drop it"


def check_comments() -> Iterator[str]:
    """Comments keep to the columns of the code, which no formatter breaks for them."""
    for path in listed("*.h", "*.cpp", "*.def"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if len(line) <= LONGEST_LINE or number == 1:
                continue
            comment = line.strip()
            is_table_or_code = "   " in comment
            if comment.startswith("//") and not is_table_or_code and "://" not in comment:
                yield f"{path}:{number}: a comment of {len(line)} columns, of {LONGEST_LINE}"


def check_inner_headers() -> Iterator[str]:
    for path in listed(*FOR_USERS):
        if is_text(path):
            for header in INNER_INCLUDE.findall(text_of(path)):
                yield f"{path}: includes {header}, which is an inner header: use one that is not"


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


def knowing_python() -> list[Path]:
    """The C++ that calls Python."""
    folders = ["pyfallback", *SLICES]
    return listed(*(f"{folder}/*{suffix}" for folder in folders for suffix in (".h", ".cpp")))


def check_cleared() -> Iterator[str]:
    """An exception is given up by its type: PyErr_Clear() itself would lose every other one too."""
    for path in knowing_python():
        # embed/ knows no types of exceptions; there what is set has become the text of an Error.
        if path.name == "clear.h" or path.parent.name == "embed":
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if "PyErr_Clear" in line.partition("//")[0]:
                yield (
                    f"{path}:{number}: PyErr_Clear() gives up any exception; name the type that "
                    "may be, with clear_if() or clear_or_report() of opyard/detail/python/clear.h"
                )


def check_looked_up() -> Iterator[str]:
    """These functions of CPython take any exception for a name that is missing, and lose it."""
    lossy = re.compile(
        r"\b(PyDict_GetItem(?:String)?|PyObject_HasAttr(?:String)?|PyMapping_HasKey(?:String)?)\("
    )
    for path in knowing_python():
        if path.parent.name == "embed":  # there, what a look-up leaves has become a text already
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if found := lossy.search(line.partition("//")[0]):
                yield (
                    f"{path}:{number}: {found[1]}() loses what it raises; look up with find_item() "
                    "or has_attribute() of python/look_up.h"
                )


# Structs of function pointers in headers that are no doors: formats of others, what is registered
# or called back, and parts of one layer.
NO_DOORS = {
    "Allocator",
    "BlockFunction",
    "BlockRows",
    "BlockTail",
    "Collector",
    "DLManagedTensor",
    "DLManagedTensorVersioned",
    "DLPackExchangeAPI",
    "FusedProgram",
    "Hooks",
    "Kernel",
    "Mutex",
    "Operator",
    "PythonRun",
    "Record",
    "Returner",
    "Runtime",
    "opyard_block",
    "opyard_device_functions",
    "opyard_exception",
    "opyard_kernel",
    "opyard_task",
}


def check_doors() -> Iterator[str]:
    """What lets a lower floor call a higher one is in the list of doors, and what is made of that
    list is as it says."""
    known, hooks = doors.rows(ROOT)
    for file, text, wanted in doors.parts(ROOT):
        if text != wanted:
            yield f"{file}: is not what {doors.LIST} says; run tools/python tools/doors.py"
    names = {door.name for door in known}
    struct = re.compile(
        r"^(?:typedef )?(?:struct|class)(?: OPYARD_API)? (\w+)[^;{]*\{(.*?)^\}", re.M | re.S
    )
    pointer = re.compile(r"\(\*\w+\)\s*\(")
    listener = re.compile(r"^using (\w+(?:Listener|Handler)) = \w+ \(\*\)", re.M)
    for path in listed(*(f"{folder}/*.h" for folder in PLACES)):
        text = text_of(path)
        found = [name for name, body in struct.findall(text) if pointer.search(body)]
        if not is_private(path):
            found += listener.findall(text)
        for name in found:
            if name not in names | NO_DOORS:
                yield f"{path}: {name} is a door upward that is not in {doors.LIST}"
    for door in known:
        header = next((p for p in listed("*.h") if str(p).endswith(f"/{door.first}")), None)
        if header is None or door.name not in text_of(header):
            yield f"{doors.LIST}: {door.name} is not in {door.first}"
    asked = re.compile(r"""\bhooks\[["'](\w+)["']\]|(?:require|call|ask)_hook\([^";]*"(\w+)"\)""")
    for path in [*in_package(".py"), *knowing_python()]:
        for match in asked.finditer(text_of(path)):
            name = match[1] or match[2]
            if name not in {hook.name for hook in hooks}:
                yield f"{path}: asks for the hook {name!r}, which is not in {doors.LIST}"


def check_scripts() -> Iterator[str]:
    for path in [*listed("tools/*"), *listed(".ci/*")]:
        if text_of(path).startswith("#!") and not (ROOT / path).stat().st_mode & 0o100:
            yield f"{path}: begins with #! and is not executable"
        if text_of(path).startswith("#!/usr/bin/env bash"):
            yield from run("bash", "-n", path)


CHECKS = {
    "C++ formatting": check_cpp_format,
    "Python formatting and faults": check_python,
    "spelling": check_spelling,
    "whitespace": check_whitespace,
    "one version": check_version,
    "no place of this machine": check_machine_paths,
    "layers": check_layers,
    "rooms": check_rooms,
    "rooms of tests": check_tests,
    "rooms of the package": check_package,
    "inner headers": check_inner_headers,
    "file names": check_names,
    "names of file scope": check_file_scope_names,
    "heads and lengths": check_shape,
    "width of comments": check_comments,
    "every source is built": check_listed,
    "exceptions given up": check_cleared,
    "exceptions lost in look-ups": check_looked_up,
    "doors upward": check_doors,
    "scripts": check_scripts,
}


def fix() -> None:
    subprocess.run([TOOLS / "clang-format", "-i", *listed("*.h", "*.cpp")], cwd=ROOT, check=True)
    subprocess.run(
        [TOOLS / "ruff", "check", "--quiet", "--fix", "--exit-zero", "--no-cache", *python_files()],
        cwd=ROOT,
    )
    subprocess.run(
        [TOOLS / "ruff", "format", "--quiet", "--no-cache", *python_files()], cwd=ROOT, check=True
    )


def main() -> int:
    parser = argparse.ArgumentParser("tools/test --lint", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--fix", action="store_true", help="let the formatters write")
    if parser.parse_args().fix:
        fix()
    failed = 0
    for name, check in CHECKS.items():
        faults = list(check())
        failed += bool(faults)
        print(f"{'failed' if faults else 'ok':6}  {name}", flush=True)
        for fault in faults:
            print(f"        {fault}")
    print(f"lint: {len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
