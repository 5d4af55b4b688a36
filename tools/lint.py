"""tools/lint.py: what can be said about the sources without building them.

`tools/test --lint` calls this in a virtual environment that has the pinned formatters; call that.
A check is a function that yields one sentence a fault, beginning with the place. With --fix the
formatters write first.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent

# Lowest first: a file includes from its own place and from those before it.
LAYERS = ["dispatcher", "autograd", "jit", "profiler", "kernels", "pyfallback"]
IDEAS = [
    "base",
    "text",
    "keys",
    "slot",
    "tensor",
    "value",
    "schema",
    "observe",
    "registry",
    "ffi",
    "plugin",
]
ONLY_PYFALLBACK = re.compile(r"<(Python|structmember|frameobject|datetime|pybind11/.*)(\.h)?>")
LONGEST_FILE = 600
# What fuzzers found is kept byte by byte.
NOT_OURS = ":!test/fuzz/corpus"

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


def place_of(path: Path) -> tuple[int, int] | None:
    """Where a file of a layer stands: (layer, idea). Includes go from later to earlier places."""
    parts = path.parts
    if parts[0] not in LAYERS:
        return None
    if parts[0] != "dispatcher":
        return LAYERS.index(parts[0]), 0
    ideas = [part for part in parts[1:-1] if part in IDEAS]
    return 0, IDEAS.index(ideas[0]) if ideas else len(IDEAS)


def header_files() -> dict[str, Path]:
    """opyard/base/error.h -> dispatcher/include/opyard/base/error.h"""
    return {str(path).split("/include/")[1]: path for path in listed("*/include/*")}


def check_layers() -> Iterator[str]:
    headers = header_files()
    for path in listed("*.h", "*.cpp", "*.def", "*.in"):
        place = place_of(path)
        for included in INCLUDE.findall(text_of(path)):
            name = included.strip('<>"')
            outside = path.parts[0] not in ("pyfallback", "test")
            if ONLY_PYFALLBACK.fullmatch(included) and outside:
                yield f"{path}: includes {included}; only pyfallback/ knows Python"
            if name.startswith("fmt/") and path.suffix == ".h" and "include" in path.parts:
                yield f"{path}: includes {included}; fmt stays in .cpp files"
            if place is None or name not in headers or name == "opyard/version.h":
                continue
            other = place_of(headers[name])
            if other is not None and other > place:
                yield f"{path}: includes {included}, which stands above it"


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
        if path.suffix == ".h" and "#pragma once" not in text:
            yield f"{path}: has no #pragma once"
        length = text.count("\n")
        if length > LONGEST_FILE and "one piece" not in text[:3000]:
            yield f"{path}: {length} lines, and its head does not say why the file is one piece"
    for path in listed("*.h", "*.cpp", "*.py", "*.build", "tools/*"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if re.search(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b", line):
                yield f"{path}:{number}: a note to do something later; do it, or drop it"


def check_listed() -> Iterator[str]:
    """A source that no meson.build names is built by nobody."""
    builds = "\n".join(text_of(path) for path in listed("meson.build", "*/meson.build"))
    words = set(re.findall(r"'([^'\n]+)'", builds))
    # What a benchmark compiles by itself, against a library that need not be there.
    for path in listed("test/bench/*.py"):
        words |= set(re.findall(r'"(\w+\.cpp)"', text_of(path)))
    for path in listed("dispatcher/*", "kernels/*", "pyfallback/*", "test/cpp/*", "test/bench/*"):
        if path.suffix not in (".h", ".cpp", ".def", ".py", ".pyi"):
            continue
        if path.suffix in (".h", ".def") and "include" not in path.parts:
            continue
        if path.suffix == ".py" and path.parts[0] == "test":
            continue
        wanted = path.stem.removeprefix("test_") if path.parts[0] == "test" else path.name
        if not any(word in (wanted, path.name) or word.endswith("/" + path.name) for word in words):
            yield f"{path}: stands in no meson.build"


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
    "file names": check_names,
    "heads and lengths": check_shape,
    "every source is built": check_listed,
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
